"""Learning from labels: the program, its passes, its choices, and what the learner promises and refuses."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

import semimetric as sm
from semimetric import InputError, LargeMarginLearner, NotSupportedError, SemimetricClassifier, SemimetricWarning
from semimetric._foundation.types import Pairs
from semimetric.data.schema import Schema
from semimetric.learning.candidates import Candidate, Choices
from semimetric.learning.large_margin import fit as lm
from semimetric.learning.large_margin import in_memory_items
from semimetric.learning.large_margin.in_memory_items import InMemoryItems
from semimetric.learning.large_margin.labeled_items import LabeledDataset, LargeMargin
from semimetric.learning.large_margin.selection import first_unless_better
from semimetric.learning.prior import spread_of_pairs
from semimetric.learning.recipe import Recipe
from semimetric.programs.losses import Hinge, SquaredHinge
from semimetric.solvers import InteriorPoint, Newton, Reference, Status

RNG = np.random.default_rng(0)
X, Y = load_wine(return_X_y=True)
FAST = {"n_knots": 5, "alpha": 1e-2, "directions": None, "tables": "warped"}


def learned(**changes):
    return LargeMarginLearner(**FAST | changes)


def setting(tables="warped", mu=1.0, penalty="ridge", loss="squared_hinge", rows=60):
    keep = np.arange(0, len(X), len(X) // rows)
    classes = LabeledDataset(X[keep, :4], Y[keep], np.full(len(keep), 1.0 / len(keep)))
    recipe = Recipe(
        n_knots=3, tables=tables, penalty=penalty, alpha=1e-2, loss=sm.Hinge() if loss == "hinge" else SquaredHinge()
    )
    items, rule = InMemoryItems(classes), LargeMargin(mu=mu)
    structure = items.structure(recipe, Schema.numeric([f"x{k}" for k in range(4)]))
    with items.searchable(recipe, rule, structure) as located:
        problem, _ = lm.make_problem(recipe, rule, structure, located)
        terms = lm.make_terms(recipe, structure, problem.prior)
        return located.neighbors(problem, terms.columns.prior), terms


@pytest.mark.filterwarnings("ignore:Solution.Reference")
@pytest.mark.parametrize("tables", ["warped", "full"])
@pytest.mark.parametrize("mu", [1.0, 0.5])
@pytest.mark.parametrize(("loss", "penalty"), [("squared_hinge", "ridge"), ("hinge", "ridge"), ("hinge", None)])
def test_the_program_agrees_with_cvxpy(tables, mu, loss, penalty):
    near, terms = setting(tables, mu, penalty, loss)
    program = lm.program_of_pass(near.problem, near, terms)
    assert isinstance(program.loss, Hinge if loss == "hinge" else SquaredHinge)
    solver = InteriorPoint(tol=1e-8) if loss == "hinge" else Newton(tol=1e-10)
    ours, reference = solver.solve(program), Reference().solve(program)
    assert ours.objective == pytest.approx(reference.objective, rel=1e-5, abs=1e-9)
    if loss == "squared_hinge" and penalty:
        assert ours.objective <= reference.objective * (1 + 1e-6)


def test_the_objective_is_that_of_the_docstring():
    near, terms = setting(mu=0.25, penalty=None)
    program, found, embedding = lm.program_of_pass(near.problem, near, terms), near.found, near.problem.embedding
    w = RNG.random(embedding.n_columns)
    d = embedding.pairwise(near.located, near.located, w)
    i, j, l = found.triplets().T  # noqa: E741 - as in the formula
    push = (np.maximum(1 + d[i, j] - d[i, l], 0) ** 2 / 2).mean()
    pull = np.mean([d[a, b] for a, row in enumerate(found.near) for b in row if b >= 0])
    assert program.objective(w) == pytest.approx(push + 3 * pull)


def test_the_objective_does_not_rise_within_a_pass_and_ends_certified():
    model = learned(n_passes=4).fit(X, Y)
    assert len(model.passes_) == 4
    for p in model.passes_:
        assert p.after <= p.before * (1 + 1e-9)
        assert 0 <= p.n_violated <= p.n_triplets
        assert p.solution.relative_gap < 1e-6
    assert model.solution_ is model.passes_[-1].solution


@pytest.mark.parametrize("directions", [None, "nca", "lda", "discriminant"])
def test_units_do_not_matter(directions):
    scale, shift = 10.0 ** RNG.integers(-4, 5, X.shape[1]), RNG.normal(size=X.shape[1])
    a = learned(directions=directions).fit(X, Y).semimetric_
    b = learned(directions=directions).fit(X * scale + shift, Y).semimetric_
    assert_allclose(a.pairwise(X[:20], X), b.pairwise(X[:20] * scale + shift, X * scale + shift), rtol=1e-3, atol=1e-4)


def test_it_beats_euclid_where_a_feature_is_noise():
    noisy = np.column_stack([RNG.normal(size=(200, 6)) * 5, np.repeat([0, 1], 100) + 0.2 * RNG.normal(size=200)])
    labels = np.repeat([0, 1], 100)
    euclid = cross_val_score(KNeighborsClassifier(3), noisy, labels, cv=4).mean()
    ours = cross_val_score(SemimetricClassifier(learned()), noisy, labels, cv=4).mean()
    assert ours > 0.93 > 0.8 > euclid


def test_a_circle_is_seen_by_a_periodic_feature_only():
    hour = RNG.uniform(0, 24, (300, 1))
    labels = (np.minimum(np.abs(hour[:, 0] - 0.5), 24 - np.abs(hour[:, 0] - 0.5)) < 4).astype(int)
    d = learned(periodic={0: 24.0}).fit(hour, labels).semimetric_
    assert d([23.9], [0.1]) < 0.2 * d([23.9], [12.0])
    flat = learned().fit(hour, labels).semimetric_
    assert flat([23.9], [0.1]) > d([23.9], [0.1])


@pytest.mark.parametrize("tables", ["warped", "full"])
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_increasing_maps_leave_the_distance_where_the_knots_follow(tables, seed):
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(X))[:80]
    items, labels = X[rows, :3], Y[rows]
    knots = [np.unique(np.quantile(column, np.linspace(0, 1, 4))) for column in items.T]
    moved = [np.cumsum(rng.exponential(size=len(k)) ** 2 + 1e-3) for k in knots]
    other = np.column_stack([np.interp(c, k, m) for c, k, m in zip(items.T, knots, moved, strict=True)])
    found = [
        learned(knots=k, tables=tables, even="places", n_passes=1, solver=Newton(tol=1e-10)).fit(v, labels)
        for k, v in ((knots, items), (moved, other))
    ]
    a, b = (m.semimetric_.pairwise(v) for m, v in zip(found, (items, other), strict=True))
    assert_allclose(a, b, rtol=1e-6, atol=1e-7 * a.max())


def test_places_are_for_numbers_and_not_for_constraints():
    frame = pd.DataFrame({"kind": pd.Categorical(RNG.choice(list("abc"), 90)), "size": RNG.exponential(size=90)})
    labels = np.where((frame["kind"] == "b") ^ (frame["size"] > 1), "yes", "no")
    frame.loc[::9, "size"] = np.nan
    model = SemimetricClassifier(learned(missing="level", even="places")).fit(frame, labels)
    assert model.score(frame, labels) > 0.85
    with pytest.raises(NotSupportedError, match="constraints= are in units"):
        learned(even="places", tables="full", constraints=[sm.Monotone()]).fit(X, Y)
    with pytest.raises(InputError, match="even='ranks' is not known"):
        learned(even="ranks").fit(X, Y)


def test_frames_with_categories_and_gaps():
    frame = pd.DataFrame({"kind": pd.Categorical(RNG.choice(list("abc"), 120)), "size": RNG.random(120)})
    labels = np.where((frame["kind"] == "b") ^ (frame["size"] > 0.8), "yes", "no")
    frame.loc[::9, "size"] = np.nan
    model = SemimetricClassifier(learned(missing="level")).fit(frame, labels)
    assert model.score(frame, labels) > 0.85
    assert model.learner_.feature_importances_.shape == (2,)
    assert model.learner_.feature_importances_.sum() == pytest.approx(1)
    other = pd.DataFrame({"kind": ["b"], "size": [np.nan]})
    assert len(repr(model.explain_neighbors(other)).splitlines()) == 3


def test_auto_chooses_on_items_held_out_and_says_what_it_compared():
    model = LargeMarginLearner().fit(X[::2], Y[::2])
    choices = model.choices_
    assert {c.tables for c in choices} == {"warped", "full"}
    assert {str(c.directions) for c in choices} == {"None", "combined"}
    assert repr(choices).count("*") == 2  # in the title, and at the choice
    chosen = choices.chosen
    assert (model.recipe_.alpha, model.recipe_.n_knots, model.recipe_.tables) == (chosen.alpha, chosen.n_knots, chosen.tables)
    again = LargeMarginLearner().fit(X[::2], Y[::2])
    assert_array_equal(again.semimetric_.weights, model.semimetric_.weights)


def test_the_simplest_within_a_standard_error_is_taken():
    def choice(tables, directions, alpha, *losses):
        return Candidate(16, alpha, losses, tables, directions)

    plain = choice("warped", None, 1e-2, 0.20, 0.22, 0.21)
    near = choice("warped", None, 1e-3, 0.19, 0.23, 0.20)
    worse = choice("warped", "nca", 1e-2, 0.30, 0.31, 0.32)
    better = choice("full", None, 1e-2, 0.10, 0.12, 0.11)
    assert Choices([plain, near, worse], rule=first_unless_better).chosen is plain
    assert Choices([plain, near, worse, better], rule=first_unless_better).chosen is better


def test_a_feature_that_no_drawn_pair_varies_is_not_steep():
    rare = np.column_stack([X, np.arange(len(X)) == 77])
    items, schema = InMemoryItems(LabeledDataset(rare, Y, Y)), Schema.numeric([f"x{k}" for k in range(14)])
    structure = items.structure(Recipe(n_knots=3, tables="warped"), schema)
    alike = Pairs(rare, np.array([[0, 1], [2, 90]]))
    spread = spread_of_pairs(structure, lm.l1_embedding(structure), alike, np.full(2, 0.5), None, least=1e-3)
    others = spread[:13] / np.ptp(X, axis=0)
    assert others.min() <= spread[13] <= others.max()


def test_transform_is_the_distance_or_says_what_to_use():
    model = learned().fit(X, Y)
    at = model.transform(X)
    assert_allclose(np.abs(at[:30, None] - at[None, :30]).sum(axis=2), model.semimetric_.pairwise(X[:30]), atol=1e-9)
    assert model.semimetric_.axioms.name == "metric"
    with pytest.raises(NotSupportedError, match="pairwise"):
        learned(tables="full").fit(X, Y).transform(X)


def test_metric_learn_s_names():
    model = learned(preprocessor=X).fit(X, Y)
    pairs = np.array([[0, 1], [0, 100]])
    assert_array_equal(model.pair_score(pairs), -model.pair_distance(pairs))
    assert model.get_metric()(X[0], X[1]) == model.pair_distance(pairs)[0]


def test_weights_and_items_of_weight_zero():
    keep = np.arange(len(X)) % 3 > 0
    a = learned().fit(X, Y, sample_weight=keep.astype(float)).semimetric_
    b = learned().fit(X[keep], Y[keep]).semimetric_
    assert_allclose(a.weights, b.weights, rtol=1e-6, atol=1e-9)


def test_identical_points_few_members_and_binary_features_are_learned_from():
    binary = RNG.integers(0, 2, (150, 7)).astype(float)  # most distances are 0
    labels = binary[:, 0].astype(int)
    d = learned().fit(binary, labels).semimetric_
    assert np.isfinite(d.weights).all()
    assert d.contributions(np.ones(7), np.zeros(7))[:7].argmax() == 0
    rare = np.r_[Y, 9]
    with pytest.warns(SemimetricWarning, match="9: 1"):
        model = learned().fit(np.vstack([X, X[0]]), rare)
    assert len(model.classes_) == 4


@pytest.mark.parametrize(
    ("changes", "data", "message"),
    [
        ({}, (X, np.zeros(len(X), int)), "one class only"),
        ({}, (X[:9], np.arange(9)), "every class has one item"),
        ({}, (X, Y[:-1]), "177 classes for 178"),
        ({}, (X, None), "requires y"),
        ({"mu": 0.0}, (X, Y), "mu"),
        ({"mu": 1.5}, (X, Y), "mu"),
        ({"n_targets": 0}, (X, Y), "n_targets"),
        ({"tables": "half"}, (X, Y), "tables"),
        ({"directions": "best"}, (X, Y), "best"),
        ({"n_knots": "many"}, (X, Y), "n_knots"),
        ({"loss": "squared"}, (X, Y), "hinge"),
        ({"n_jobs": 0}, (X, Y), "n_jobs=0: a number of threads"),
        ({}, (np.ones_like(X), Y), "constant"),
        ({}, (np.where(X > 0, np.nan, X), Y), "NaN"),
    ],
)
def test_what_cannot_be_is_refused(changes, data, message):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SemimetricWarning)
        with pytest.raises(ValueError, match=message):
            learned(**changes).fit(*data)


def test_labels_of_several_types_or_missing_are_refused():
    pd = pytest.importorskip("pandas")
    for other in (pd.NA, np.nan, None, 1):
        with pytest.raises(InputError, match="several types, or missing ones"):
            learned().fit(X, pd.Series([other, *np.array(["a", "b", "c"])[Y[1:]]], dtype=object))


def test_float_labels_are_refused():
    with pytest.raises(ValueError, match="continuous"):
        learned().fit(X, RNG.random(len(X)))


def test_it_clones_pickles_saves_and_stands_in_a_pipeline(tmp_path):
    model = learned().fit(X, Y)
    assert clone(model).get_params() == model.get_params()
    copy = pickle.loads(pickle.dumps(model))
    assert_array_equal(copy.transform(X), model.transform(X))
    model.semimetric_.save(tmp_path / "wine.smm")
    assert_array_equal(sm.load(tmp_path / "wine.smm").pairwise(X[:9]), model.semimetric_.pairwise(X[:9]))
    graph = sm.SemimetricNeighborsTransformer(learner=learned(), n_neighbors=3)
    pipeline = make_pipeline(graph, KNeighborsClassifier(3, metric="precomputed")).fit(X[::2], Y[::2])
    direct = SemimetricClassifier(learned()).fit(X[::2], Y[::2])
    assert_array_equal(pipeline.predict(X[1::2]), direct.predict(X[1::2]))


def test_the_transformer_wants_a_distance_or_a_learner():
    for chosen in ({}, {"semimetric": learned().fit(X, Y).semimetric_, "learner": learned()}):
        with pytest.raises(InputError, match="one of"):
            sm.SemimetricNeighborsTransformer(**chosen).fit(X, Y)


def test_a_refitted_transformer_forgets():
    frame = pd.DataFrame(X[:, :2], columns=["a", "b"])
    graph = sm.SemimetricNeighborsTransformer(learner=learned()).fit(frame, Y).fit(X, Y)
    assert not hasattr(graph, "feature_names_in_")
    graph.set_params(learner=None, semimetric=graph.learner_.semimetric_).fit(X)
    assert not hasattr(graph, "learner_")


def test_an_interruption_between_passes_keeps_what_was_reached(monkeypatch):
    calls = []

    def stop(*args, real=in_memory_items.find_neighbors, **keywords):
        calls.append(1)
        if len(calls) == 2:  # for the first pass, and then
            raise KeyboardInterrupt
        return real(*args, **keywords)

    monkeypatch.setattr(in_memory_items, "find_neighbors", stop)
    model = learned(n_passes=5)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    assert len(model.passes_) == 1
    assert model.solution_.status is Status.INTERRUPTED
    assert np.isfinite(model.semimetric_.pairwise(X)).all()


def test_rows_too_many_to_hold_are_made_as_they_are_needed(monkeypatch):
    held = learned().fit(X, Y)
    monkeypatch.setattr(in_memory_items, "_HELD", 0)
    assert_allclose(learned().fit(X, Y).semimetric_.weights, held.semimetric_.weights, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("options", [{}, {"knots": [np.quantile(column, [0.2, 0.5, 0.8]) for column in X.T]}])
def test_many_items_are_searched_by_the_index(monkeypatch, options):
    brute = learned(**options).fit(X, Y)
    monkeypatch.setattr(in_memory_items, "_MANY", 0)
    assert_allclose(learned(**options).fit(X, Y).semimetric_.weights, brute.semimetric_.weights, rtol=1e-5, atol=1e-9)


def test_features_with_items_beyond_given_knots_are_clipped():
    knots = [np.quantile(X[:, 0], [0.2, 0.5, 0.8]), *(np.quantile(column, [0.0, 0.5, 1.0]) for column in X.T[1:])]
    with pytest.warns(SemimetricWarning, match=r"some lie beyond the knots \(x0: 7\d\)"):
        model = learned(knots=knots, n_passes=1).fit(X, Y)
    further = X[:1] + [[1e6] + [0.0] * (X.shape[1] - 1)]
    assert model.semimetric_.pairwise(X[:1], further)[0, 0] < 10


@pytest.mark.parametrize("kind", ["discriminant", "combined"])
def test_directions_of_a_fit_can_be_given_to_another(kind):
    first = learned(directions=kind, n_passes=1).fit(X[:, :3], Y)
    again = learned(directions=first.semimetric_.directions, n_passes=1).fit(X[:, :3], Y)
    assert again.solution_.objective == pytest.approx(first.solution_.objective, rel=1e-9)


def test_importances_find_what_tells():
    flowers, kinds = load_iris(return_X_y=True)
    noisy = np.column_stack([flowers, RNG.normal(size=(150, 2))])
    for directions in (None, "discriminant", "lda"):
        found = learned(directions=directions).fit(noisy, kinds).feature_importances_
        assert found.sum() == pytest.approx(1)
        assert found[2:4].min() > found[4:].max()
