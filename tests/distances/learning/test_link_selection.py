"""The exponent of the link is found on held-out pairs, and 1 where nothing speaks against it."""

from dataclasses import replace

import numpy as np
import pytest
from cases import assert_refused, candidate, cityblock
from learners import made

from semimetric import DistanceApproximator, DistanceRegressor, NotSupportedError, Program, SemimetricWarning, gower
from semimetric._foundation.types import Pairs
from semimetric.distances.learning import measured_fit as link_selection
from semimetric.distances.learning.measured import MeasuredDistances
from semimetric.distances.learning.measured_fit import choose_link, least_loss_of_exponents
from semimetric.distances.learning.options import DISTANCES, Recipe
from semimetric.distances.model.links import PowerLink

RNG = np.random.default_rng(3)
ITEMS, INDEX = RNG.random((80, 2)), RNG.integers(0, 80, (500, 2))
SUMS = np.abs(ITEMS[INDEX[:, 0]] - ITEMS[INDEX[:, 1]]) @ [1.0, 3.0]
NOISE = 1 + 0.05 * RNG.normal(size=len(SUMS))
WEIGHT = np.full(len(SUMS), 1 / len(SUMS))


def chosen(y, *, knots=False, alpha=False, **parameters):
    recipe = Recipe(**{"n_knots": 3, "alpha": 1e-4, "random_state": 0} | parameters).checked()
    data = MeasuredDistances.of_arrays(Pairs(ITEMS, INDEX), y, WEIGHT)
    return choose_link(recipe, data, ("u", "v"), knots=knots, alpha=alpha)


@pytest.mark.slow
@pytest.mark.parametrize("p", [1.0, 0.8, 0.6])
@pytest.mark.parametrize("open_", [True, False])
def test_the_exponent_that_made_the_distances_is_found(p, open_):
    recipe, choices = chosen(SUMS**p * NOISE, link="power", knots=open_, alpha=open_)
    assert recipe.link == (PowerLink(p) if p < 1 else "identity")
    tried = {c.settings["link"] for c in choices}
    assert {1.0, 0.75, 0.5, p} <= tried <= {1.0, 0.9, 0.8, 0.75, 0.7, 0.6, 0.5}
    assert (0.6 in tried) == (p < 1.0)  # finer ones lie around the best of the coarse ones
    assert choices.chosen.settings["link"] == p
    assert "link" in repr(choices)
    assert "link" in choices.to_frame()


def test_the_exponent_of_a_base_distance_is_found():
    y = cityblock(ITEMS[INDEX[:, 0]], ITEMS[INDEX[:, 1]]) ** 0.6 * NOISE
    bases = {"base_distances": (cityblock,), "tables": "warped", "n_knots": 2}
    recipe, choices = chosen(y, base_exponents="auto", **bases)
    assert recipe.base_exponents == choices.chosen.settings["base_exponents"] == (0.6,)
    model = made(DistanceRegressor, alpha=1e-4, preprocessor=ITEMS, base_exponents="auto", **bases).fit(INDEX, y)
    assert model.semimetric_.base_distances[0].power == 0.6
    assert model.score(INDEX, y) > 0.95


@pytest.mark.parametrize("p", [1.0, 0.8, 0.5])
def test_the_default_finds_the_form_of_a_distance(p):
    model = DistanceRegressor(preprocessor=ITEMS, effort="fast").fit(INDEX, SUMS**p * NOISE)
    assert model.recipe_.link == model.semimetric_.link == (PowerLink(p) if p < 1 else "identity")
    assert model.link_choices_.chosen.settings["link"] == p
    assert {c.settings["link"] for c in model.link_choices_} >= {1.0, 0.75, 0.5}
    assert "relative error" in repr(model.link_choices_)
    assert model.semimetric_.axioms.name == "semimetric"


@pytest.mark.parametrize("p", [1.0, 0.8, 0.5])
def test_many_weights_are_compared_at_one_strength(p, monkeypatch):
    monkeypatch.setattr(link_selection, "_FEW_COLUMNS", 4)
    model = DistanceRegressor(preprocessor=ITEMS, effort="fast", n_knots=6).fit(INDEX, SUMS**p * NOISE)
    assert [c.settings["link"] for c in model.link_choices_] == [1.0, 0.75, 0.5]
    assert {c.settings["alpha"] for c in model.link_choices_} == {1e-4}
    assert model.semimetric_.link == ({1.0: "identity", 0.8: PowerLink(0.75), 0.5: PowerLink(0.5)}[p])


@pytest.mark.parametrize(
    ("link", "n_pairs", "n_knots"), [("auto", 25, 3), ("power", 25, 3), ("auto", 1000, 3), ("power", 1000, 3)]
)
def test_links_are_compared_at_few_knots_where_weights_are_many(link, n_pairs, n_knots, monkeypatch):
    """No more than two weights a pair, and no more than are quickly fitted, unless tables could not bend."""
    monkeypatch.setattr(link_selection, "_FEW_COLUMNS", 4)
    X, index = np.random.default_rng(0).random((80, 8)), np.concatenate([INDEX, INDEX[:, ::-1]])[:n_pairs]
    y = np.sqrt(np.abs(X[index[:, 0]] - X[index[:, 1]]).sum(axis=1))
    model = DistanceRegressor(preprocessor=X, effort="fast", link=link, tables="full").fit(index, y)
    assert {c.settings["n_knots"] for c in model.link_choices_} == {n_knots}
    strengths = {}
    for c in model.link_choices_:
        strengths.setdefault(c.settings["link"], []).append(c.settings["alpha"])
    assert len(strengths) >= 3
    assert len(set(map(tuple, strengths.values()))) == 1  # links are compared at the same ones


def test_a_constant_feature_is_told_once():
    X = np.column_stack([np.ones(len(ITEMS)), ITEMS])
    with pytest.warns(SemimetricWarning) as told:
        DistanceRegressor(preprocessor=X, effort="fast").fit(INDEX, SUMS)
    assert ["constant" in str(w.message) for w in told] == [True]


def test_a_metric_stays_one_under_the_link_that_is_found():
    model = DistanceRegressor(preprocessor=ITEMS, effort="fast", axioms="metric").fit(INDEX, np.sqrt(SUMS))
    assert model.semimetric_.link == PowerLink(0.5)
    assert model.semimetric_.axioms.triangle


@pytest.mark.parametrize(
    "given",
    [
        {"n_knots": 3, "alpha": 1e-4},
        {"tables": "warped"},
        {"axioms": None},
        {"link": "identity"},
        {"program": Program(prior=gower(ITEMS))},
    ],
    ids=str,
)
def test_the_sum_is_the_distance_where_nothing_is_held_out_or_no_link_goes_with_the_rest(given):
    model = DistanceRegressor(preprocessor=ITEMS, effort="fast", **given).fit(INDEX, np.sqrt(SUMS))
    assert model.semimetric_.link == model.recipe_.link == "identity"
    assert not model.link_choices_
    assert hasattr(model, "transform") == (given == {"tables": "warped"})


def test_few_items_keep_the_sum():
    with pytest.warns(SemimetricWarning, match="nothing was compared"):
        model = DistanceRegressor(preprocessor=ITEMS[:3]).fit([[0, 1], [1, 2]], [1.0, 2.0])
    assert model.semimetric_.link == "identity"


def test_pairs_of_equal_items_and_zeros_do_not_decide():
    index = np.concatenate([INDEX, np.repeat(np.arange(80)[:, None], 2, axis=1)])
    y = np.sqrt(np.concatenate([SUMS, np.zeros(80)]))
    assert DistanceRegressor(preprocessor=ITEMS, effort="fast").fit(index, y).semimetric_.link == PowerLink(0.5)


@pytest.mark.parametrize(("distance", "least"), [
    (lambda x, y: max(0.0, np.abs(x - y).sum() - 0.8), 0.8), (lambda x, y: float(np.abs(x - y).sum() > 1.0), 0.4)
], ids=["far enough", "yes or no"])  # fmt: skip
def test_many_different_items_at_distance_0_do_not_decide(distance, least):
    X = np.random.default_rng(0).random((150, 4))
    model = DistanceApproximator(distance, DistanceRegressor(effort="fast"), n_pairs=4_000).fit(X)
    assert (model.distances_ == 0.0).mean() > 0.15
    assert model.error_.r2 > least  # .24 and -1.5 where zeros count as a twentieth of the mean distance


def test_what_is_given_is_kept():
    recipe, choices = chosen(SUMS, link=0.7)
    assert (recipe.link, choices) == (PowerLink(0.7), ())


@pytest.mark.slow
def test_both_are_chosen_by_an_estimator_which_says_what_it_compared():
    model = DistanceRegressor(link="power", n_knots=3, preprocessor=ITEMS).fit(INDEX, SUMS**0.6 * NOISE)
    assert model.semimetric_.link == model.recipe_.link == PowerLink(0.6)
    assert model.choices_.chosen.settings["link"] == 0.6
    assert model.link_choices_.chosen.settings["link"] == 0.6
    slow = DistanceApproximator(
        lambda x, y: float(np.abs(x - y).sum() ** 0.6), DistanceRegressor(n_knots=2, alpha=1e-5, link="power"), n_pairs=400
    )
    assert slow.fit(ITEMS).semimetric_.link == PowerLink(0.6)
    assert slow.error_quantiles_[0.9] < 0.01


def test_of_few_pairs_a_warning_says_what_is_taken():
    data = MeasuredDistances.of_arrays(Pairs(ITEMS, INDEX[:2]), SUMS[:2], np.full(2, 0.5))
    with pytest.warns(SemimetricWarning, match="link='identity' is taken"):
        recipe, choices = choose_link(Recipe(link="power"), data, ("u", "v"), knots=True, alpha=True)
    assert (recipe.link, choices) == ("identity", ())


def test_where_nothing_can_be_held_out_a_number_is_asked_for():
    y = SUMS**0.6
    open_ = DistanceRegressor(link="power", n_knots=3, alpha=1e-3, preprocessor=ITEMS)
    assert_refused(lambda: open_.partial_fit(INDEX, y), 'link="identity"', "partial_fit", error=NotSupportedError)
    assert_refused(open_.recipe_for_parts, "link='power' is chosen on held-out pairs", "give a number", error=NotSupportedError)
    vertices = DistanceApproximator(cityblock, DistanceRegressor(n_knots=3, link="power"), method="vertices")
    assert_refused(lambda: vertices.fit(ITEMS), "learns nothing", "give a number", error=NotSupportedError)
    given = vertices.set_params(learner__link=0.5, distance=lambda x, y: float(np.abs(x - y).sum() ** 0.5)).fit(ITEMS)
    assert given.error_quantiles_[0.9] < 1e-6


@pytest.mark.parametrize("given", [{"link": "power"}, {"base_distances": [cityblock], "base_exponents": "auto"}])
def test_of_too_many_features_a_number_is_asked_for_before_anything_is_compared(monkeypatch, given):
    monkeypatch.setitem(DISTANCES, "default", replace(DISTANCES["default"], n_columns={"full": 20}))
    monkeypatch.setattr(link_selection, "compare", None)
    X = RNG.random((40, 30))
    rows = INDEX[(INDEX < 40).all(axis=1)]
    call = made(DistanceRegressor, preprocessor=X, **given).fit
    name = list(given)[-1]
    assert_refused(lambda: call(rows, cityblock(X[rows[:, 0]], X[rows[:, 1]])), "more than 20 weights", f"in place of {name}=")


def test_the_least_loss_is_taken_and_of_ties_the_exponent_nearest_to_1():
    tied = [candidate(3, 1e-3, (1.0, 1.2), link=p) for p in (0.6, 0.9, 0.7)]
    assert least_loss_of_exponents(tied).settings["link"] == 0.9
    assert least_loss_of_exponents([*tied, candidate(3, 1e-3, (0.9, 1.2), link=0.5)]).settings["link"] == 0.5


def test_of_the_strengths_at_that_exponent_the_largest_within_one_standard_error_is_taken():
    found = [candidate(3, a, losses, link=0.8) for a, losses in ((1e-4, (1.0, 1.2)), (1e-3, (1.1, 1.15)), (1e-2, (2.0, 2.2)))]
    assert least_loss_of_exponents([*found, candidate(3, 1.0, (1.1, 1.15), link=1.0)]).settings["alpha"] == 1e-3
