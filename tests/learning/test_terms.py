import warnings

import cases
import numpy as np
import pytest
from cases import assert_refused

from semimetric import DistanceRegressor, InputError, NotSupportedError, SemimetricWarning
from semimetric._foundation.types import Pairs
from semimetric.embeddings.pairs.full_tables import PairEmbedding
from semimetric.learning import kept_columns
from semimetric.learning.prior import fit_l1_prior
from semimetric.learning.recipe import Recipe
from semimetric.learning.regression.pair_targets import PairTargets
from semimetric.learning.structure import build_structure, l1_embedding
from semimetric.learning.terms import make_terms
from semimetric.programs.penalties import Lasso, Ridge

ITEMS, INDEX, Y = cases.sample()
NAMES = ("u", "v", "w")

BAD = {
    "axioms": ({"axioms": "norm"}, "axioms='norm'", "not known", "use one of 'semimetric'"),
    "tables": ({"tables": "sparse"}, "tables='sparse'", "not known", "'warped'"),
    "symmetry": ({"symmetry": "none"}, "symmetry='none'", "not known", "'swap'"),
    "link": ({"link": "log"}, "link='log'", "not known", "'sqrt'"),
    "delta": ({"delta": -1.0}, "delta=-1.0", "must be >= 0"),
    "alpha": ({"alpha": np.nan}, "alpha=nan", "must be a finite number"),
    "relative": ({"relative": 0.0}, "relative=0.0", "must be > 0"),
    "loss": ({"loss": "cubic"}, "loss='cubic'", "not known", "'huber'"),
    "penalty": ({"penalty": "smooth"}, "penalty='smooth'", "not known", "'ridge'"),
    "solver": ({"solver": "bogus"}, "solver='bogus'", "not known", "use 'auto'"),
    "signed squares": ({"link": "sqrt", "axioms": None}, 'link="sqrt"', "no sign", 'axioms="premetric"', NotSupportedError),
    "penalties": ({"penalty": [1.0]}, "penalty=[1.0]", "a sequence of them"),
    "metric": (
        {"axioms": "metric", "base_distances": (cases.cityblock,)},
        "axioms='metric'",
        "cannot be claimed",
        "leave them out",
        NotSupportedError,
    ),
    "warped premetric": ({"tables": "warped", "axioms": None}, 'tables="warped"', "needs", 'tables="full"', NotSupportedError),
}


@pytest.mark.parametrize("name", BAD)
def test_recipes_that_do_not_go_together_are_refused_before_any_work(name):
    parameters, *parts = BAD[name]
    error = parts.pop() if len(parts) == 4 else InputError
    assert assert_refused(lambda: Recipe(**parameters).checked(), *parts, error=error)
    for model in (DistanceRegressor(**parameters), cases.DistanceApproximator(cases.cityblock, **parameters)):
        with pytest.raises(error):
            model.fit(np.ones((2, 2, 1)) if type(model) is DistanceRegressor else ITEMS, np.ones(2))


@pytest.mark.parametrize("name", ["auto", "ridge", "ridge-zero", "roughness", "roughness-2", "lasso"])
def test_penalties_by_name_scale_with_alpha(name):
    once, twice = (Recipe(penalty=name, alpha=a).penalties() for a in (0.1, 0.2))
    assert [type(p) for p in once] == [type(p) for p in twice]
    np.testing.assert_allclose([p.alpha for p in twice], [2 * p.alpha for p in once])


def test_penalties_as_objects():
    assert Recipe(penalty=None).penalties() == ()
    assert Recipe(penalty=Ridge(0.5)).penalties() == (Ridge(0.5),)
    assert Recipe(penalty=[Ridge(0.5), Lasso(0.1)]).penalties() == (Ridge(0.5), Lasso(0.1))


def task_of(recipe, items=ITEMS, y=Y):
    structure = build_structure(recipe, items, NAMES)
    return structure, PairTargets.of(recipe, structure, Pairs(items, INDEX), y, np.full(len(y), 1 / len(y)))


def test_targets_are_in_units_of_their_mean():
    _, task = task_of(Recipe(n_knots=3))
    assert task.target.mean() == pytest.approx(1.0)
    assert task.unit == pytest.approx(Y.mean())
    _, squared = task_of(Recipe(n_knots=3, link="sqrt", relative=0.5))
    np.testing.assert_allclose(squared.target * squared.unit, Y**2)
    np.testing.assert_allclose(squared.scale, 1 / np.maximum(squared.target, 0.5))
    part = squared.take(np.arange(10))
    assert part.weight.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(part.targets, squared.targets[:10])


def test_the_baseline_is_the_fitted_weighted_l1():
    slopes = np.array([1.0, 0.0, 4.0])
    y = np.abs(ITEMS[INDEX[:, 0]] - ITEMS[INDEX[:, 1]]) @ slopes
    structure, task = task_of(Recipe(n_knots=5), y=y)
    base = fit_l1_prior(structure, task.design(structure, l1_embedding(structure), None).moments(task.targets, task.weight))
    np.testing.assert_allclose(base.slopes * task.unit, slopes, atol=0.05 * slopes.max())
    gaps = ITEMS[INDEX[:, 0]] - ITEMS[INDEX[:, 1]]
    np.testing.assert_allclose(base.spread, np.sqrt((gaps**2).mean(axis=0)))
    terms = make_terms(Recipe(delta=0.5), structure, base)
    np.testing.assert_allclose(terms.lower, 0.5 * terms.columns.prior.mean())


def test_explicit_knots_and_groups_make_the_structure():
    knots = [[0.0, 0.5, 1.0]] * 3 + [[-1.0, 1.0]]
    structure = build_structure(Recipe(knots=knots, directions=[[1.0, -1.0, 0.0]], groups=[(0, 1), (3,)]), ITEMS, NAMES)
    assert structure.embedding.groups == ((0, 1), (3,))
    assert structure.n_raw == 3
    assert_refused(lambda: build_structure(Recipe(knots=knots), ITEMS, NAMES), "knots are given for 4 features", "there are 3")


def test_directions_without_weight_are_left_out():
    y = np.abs(ITEMS[INDEX[:, 0]] - ITEMS[INDEX[:, 1]]) @ [1.0, 2.0, 3.0]
    useless = [[1.0, 1.0, 0.0], [0.0, 1.0, -1.0]]
    model = DistanceRegressor(
        n_knots=2, penalty="lasso", alpha=1e-2, directions=useless, tables="warped", preprocessor=ITEMS
    ).fit(INDEX, y)  # fmt: skip
    d = model.semimetric_
    kept = 0 if d.directions is None else len(d.directions.names)
    assert kept < 2
    assert d.columns[:3] == ("x0", "x1", "x2")
    assert np.corrcoef(model.predict(INDEX), y)[0, 1] > 0.99


@pytest.mark.parametrize("name", ["touched", "joint"])
def test_tables_too_large_hold_touched_vertices_and_a_prior_elsewhere(name):
    model = cases.fitted(name)[0]
    embedding = model.semimetric_.embedding
    assert isinstance(embedding, PairEmbedding)
    assert embedding.whole == (name == "joint")
    corners = np.array([embedding.grid.low, embedding.grid.high])
    assert model.semimetric_(*corners) > 0.1 * Y.mean()  # an unseen vertex is never silently 0


def test_many_columns_are_restricted_to_those_that_pairs_touch(monkeypatch):
    """The distance is that of the whole table: untouched vertices take the prior, which is where a ridge puts them."""
    options = cases.RECIPES["pairs"] | {"penalty": "ridge", "preprocessor": ITEMS, "n_knots": 6}
    models = []
    for many in (10**9, 10):
        monkeypatch.setattr(kept_columns, "_MANY_COLUMNS", many)
        models.append(DistanceRegressor(**options).fit(INDEX, Y).semimetric_)
    assert models[1].embedding.whole
    table = models[0].pairwise(ITEMS)
    np.testing.assert_allclose(models[1].pairwise(ITEMS), table, atol=0.02 * table.mean())


@pytest.mark.parametrize("options", [{}, {"solver": "interior_point"}, {"tables": "warped", "knots": "uniform"}, {"stream": 1}])
def test_without_a_penalty_what_no_pair_touches_takes_the_prior(options):
    """Two clusters and no pair between them: the distance across is that of the weighted L1 distance, not 0."""
    rng = np.random.default_rng(0)
    items = np.concatenate([rng.random((30, 1)), 5 + rng.random((30, 1))])
    index = np.concatenate([rng.integers(0, 30, (300, 2)), rng.integers(30, 60, (300, 2))])
    y = cases.cityblock(items[index[:, 0]], items[index[:, 1]])
    learn = DistanceRegressor.partial_fit if "stream" in options else DistanceRegressor.fit
    options = {name: value for name, value in options.items() if name != "stream"}
    model = learn(DistanceRegressor(n_knots=8, alpha=1e-3, penalty=None, preprocessor=items, **options), index, y)
    assert model.semimetric_([0.2], [5.8]) == pytest.approx(5.6, rel=0.05)
    np.testing.assert_allclose(model.predict(index), y, atol=1e-3)


@pytest.mark.parametrize("tables", ["full", "warped"])
def test_features_learned_clipped_stay_clipped_and_say_so(tables):
    """Items beyond given knots: the table already holds what lies outside, so its mean slope must not be added again."""
    items = np.random.default_rng(0).random((100, 2))
    index = cases.sample_pairs(items, 400, random_state=0)
    y = np.abs(items[index[:, 0]] - items[index[:, 1]]) @ [1.0, 3.0]
    options = {"knots": [[0.25, 0.5, 0.75], [0.0, 0.5, 1.0]], "alpha": 1e-6, "tables": tables, "preprocessor": items}
    n = int(((items[:, 0] < 0.25) | (items[:, 0] > 0.75)).sum())
    with pytest.warns(SemimetricWarning, match=rf"of 100 items some lie beyond the knots \(x0: {n}\)"):
        d = DistanceRegressor(**options).fit(index, y).semimetric_
    assert d([0, 0], [1, 0]) == pytest.approx(d([0.25, 0], [0.75, 0]), rel=1e-3)
    assert d([0.4, 0], [0.4, 2]) == pytest.approx(6.0, rel=0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", SemimetricWarning)
        clipped = DistanceRegressor(**options, outside="clip").fit(index, y).semimetric_
    assert clipped.epsilon[0] == d.epsilon[0]


@pytest.mark.parametrize(("link", "factor"), [("sqrt", 1e160), ("sqrt", 1e-160), ("identity", 1e300), ("identity", 1e-300)])
def test_targets_that_floating_point_cannot_hold_are_refused(link, factor):
    model = DistanceRegressor(**cases.FAST, link=link, preprocessor=ITEMS)
    assert_refused(lambda: model.fit(INDEX, Y * factor), "the distances reach", "is required", "rescale the distances")
    near = factor**0.85
    np.testing.assert_allclose(model.fit(INDEX, Y * near).predict(INDEX) / near, model.fit(INDEX, Y).predict(INDEX), rtol=1e-6)


def test_under_the_swap_groups_without_weight_stay():
    """Tables numbered under the swap keep their values: what is left alone is not renumbered as tied."""
    y = np.abs(ITEMS[INDEX[:, 0]] - ITEMS[INDEX[:, 1]]) @ [1.0, 2.0, 3.0]
    model = DistanceRegressor(
        n_knots=3, penalty="lasso", alpha=1e-2, directions=[[1.0, 1.0, 0.0], [0.0, 1.0, -1.0]], symmetry="swap",
        groups=[(0,), (1,), (2,), (3, 4)], preprocessor=ITEMS,
    ).fit(INDEX, y)  # fmt: skip
    assert model.score(INDEX, y) > 0.8
