import pickle
from dataclasses import replace

import cases
import numpy as np
import pytest
from cases import assert_refused, candidate
from learners import made

from semimetric import DistanceRegressor, Program, SemimetricWarning, Tables
from semimetric._foundation.types import Pairs
from semimetric.distances.learning import measured_fit as selection
from semimetric.distances.learning.measured import MeasuredDistances
from semimetric.distances.learning.measured_fit import HeldOutDistances, choose_numbers
from semimetric.distances.learning.options import DISTANCES, Recipe
from semimetric.distances.learning.search import Candidate, Choices

ITEMS, INDEX, Y = cases.sample(n_items=60, n_pairs=400)
WEIGHT = np.full(len(Y), 1 / len(Y))


def chosen(recipe=None, *, knots=True, alpha=True, y=Y):
    data = MeasuredDistances.of_arrays(Pairs(ITEMS, INDEX), y, WEIGHT)
    return choose_numbers(recipe or Recipe(), data, ("u", "v", "w"), knots=knots, alpha=alpha)


@pytest.mark.parametrize(("knots", "alpha"), [(True, True), (True, False), (False, True)])
def test_what_is_chosen_is_near_the_best_on_held_out_pairs(knots, alpha):
    recipe, choices = chosen(knots=knots, alpha=alpha)
    losses = {(c.settings["n_knots"], c.settings["alpha"]): c.loss for c in choices}
    assert losses[recipe.n_knots, recipe.alpha] <= 2 * min(losses.values()) < max(losses.values())
    assert (len({c.settings["n_knots"] for c in choices}) > 1) == knots
    assert (len({c.settings["alpha"] for c in choices}) > 1) == alpha
    assert all(isinstance(c, Candidate) and np.isfinite(c.loss) and c.loss >= 0 for c in choices)


def test_what_is_given_is_not_chosen():
    assert chosen(Recipe(), knots=False, alpha=False) == (Recipe(), ())
    assert DistanceRegressor().auto_numbers == {"knots": True, "alpha": True}
    given = DistanceRegressor(tables=Tables(knots=[[0.0, 1.0]] * 3), program=Program(penalty=None))
    assert given.auto_numbers == {"knots": False, "alpha": False}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.* lie outside the range of the fit")
@pytest.mark.parametrize("tables", ["full", "warped"])
@pytest.mark.parametrize("loss", ["squared", "absolute"])
def test_auto_predicts_unseen_items_better_than_the_mean(tables, loss):
    model = DistanceRegressor(tables=tables, loss=loss, preprocessor=ITEMS).fit(INDEX, Y)
    assert model.choices_
    fresh = np.random.default_rng(5).random((300, 2, 3))
    again = made(DistanceRegressor, **model.recipe_.__dict__).fit(ITEMS[INDEX], Y)
    assert again.score(fresh, cases.warped_sum(fresh[:, 0], fresh[:, 1])) > 0.9


@pytest.mark.slow
def test_choices_are_seeded():
    one, again, other = (chosen(Recipe(random_state=seed)) for seed in (1, 1, 2))
    assert one == again
    assert one[1] != other[1]


def limited(monkeypatch, **limits):
    """The default effort, with other limits."""
    monkeypatch.setitem(DISTANCES, "default", replace(DISTANCES["default"], **limits))


def test_candidates_with_too_many_weights_are_left_out(monkeypatch):
    limited(monkeypatch, n_columns={"full": 30})
    recipe, _ = chosen(alpha=False)
    assert 3 * recipe.n_knots * (recipe.n_knots - 1) / 2 <= 30
    limited(monkeypatch, n_columns={"full": 1})
    assert_refused(chosen, "every number of knots", "more than 1 weights", "set n_knots= and alpha=")


def test_more_weights_than_pairs_can_tell_are_left_out_but_for_the_fewest_knots(monkeypatch):
    most_columns = HeldOutDistances.most_columns
    monkeypatch.setattr(selection, "_FEW_COLUMNS", 1)
    monkeypatch.setattr(HeldOutDistances, "most_columns", lambda held, recipe, n_pairs: most_columns(held, recipe, 9))
    assert {c.settings["n_knots"] for c in chosen(alpha=False)[1]} == {3, 4}  # 4 knots make 18 weights, twice as many as pairs
    recipe = Recipe(n_knots=8)
    assert {c.settings["n_knots"] for c in chosen(recipe, knots=False)[1]} == {8}  # what is given is compared, however wide


@pytest.mark.slow
def test_of_many_weights_more_knots_are_compared_only_where_those_before_have_gained(monkeypatch):
    monkeypatch.setattr(selection, "_FEW_COLUMNS", 10)
    every = {c.settings["n_knots"] for c in chosen()[1]}
    monkeypatch.setattr(selection, "_FAR_STRENGTH", np.inf)  # every strength is near
    monkeypatch.setattr(selection, "_GAIN_OF_KNOTS", 0.0)  # nothing is a gain
    found = chosen()[1]
    assert {c.settings["n_knots"] for c in found} == {3, 4} < every  # 3 knots have 9 weights, and 4 are the first of more
    assert len([c for c in found if c.settings["n_knots"] == 3]) == 2 * len([c for c in found if c.settings["n_knots"] == 4])


def test_of_many_weights_strengths_are_compared_only_where_they_were_near_the_best_before(monkeypatch):
    monkeypatch.setattr(selection, "_FEW_COLUMNS", 10)
    monkeypatch.setattr(selection, "_GAIN_OF_KNOTS", np.inf)  # everything is a gain
    by_knots = {}
    for c in chosen()[1]:
        by_knots.setdefault(c.settings["n_knots"], {})[c.settings["alpha"]] = c.loss
    few, more = by_knots[3], by_knots[4]  # 3 knots have 9 weights, and 4 are the first of more than 10
    every_other = list(few)[::2]
    near = {a for a in every_other if few[a] <= 1.5 * min(few[b] for b in every_other)}
    assert set(more) == near < set(every_other)


@pytest.mark.slow
def test_large_data_are_sampled(monkeypatch):
    limited(monkeypatch, n_rows=150)
    recipe, choices = chosen()
    assert f"of a sample of 150 of {choices.cost.n_all} pairs; * the choice" in repr(choices)
    assert len(choices) > 1
    assert recipe.alpha in {c.settings["alpha"] for c in choices}


@pytest.mark.slow
def test_choices_print_as_a_table_with_a_star_at_the_choice():
    def choice(n_knots, alpha, *losses):
        return candidate(n_knots, alpha, losses)

    choices = Choices([choice(3, 0.1, 2.0, 2.1), choice(3, 1.0, 2.0, 2.1), choice(4, 0.1, 1.0, 1.0), choice(4, 1.0, 1.1, 0.9)])
    assert repr(choices).splitlines() == [
        "held-out loss, mean of 2 folds; * the choice",
        "n_knots \\ alpha   0.1      1 ",
        "              3  2.05   2.05 ",
        "              4     1      1*",
        "taken: the simplest within one standard error of the best: the fewest knots, which come first, then the largest alpha",
        "alpha=1.0 is an end of what was tried; give alpha= to go beyond",
        "n_knots=4 is an end of what was tried; give n_knots= to go beyond",
    ]
    assert "nothing" in repr(Choices())
    recipe, found = chosen()
    assert (found.chosen.settings["n_knots"], found.chosen.settings["alpha"]) == (recipe.n_knots, recipe.alpha)
    assert repr(found).count("*") == 2
    assert pickle.loads(pickle.dumps(found)) == found


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_few_pairs_are_compared_at_every_effort_or_at_none(seed):
    """More folds once meant that one of them left too few pairs, so that "thorough" compared nothing where "fast" did."""
    pairs = np.random.default_rng(seed).random((20, 2, 3))
    y = cases.cityblock(pairs[:, 0], pairs[:, 1])
    models = {effort: DistanceRegressor(effort=effort, tables="full").fit(pairs, y) for effort in DISTANCES}
    for effort, model in models.items():
        assert {len(c.losses) for c in model.choices_} == {DISTANCES[effort].n_folds}
        assert model.score(pairs, y) > 0.9
    assert len(models["fast"].choices_) < len(models["default"].choices_) < len(models["thorough"].choices_)


@pytest.mark.parametrize("effort", DISTANCES)
def test_pairs_that_cannot_be_held_out_are_told_in_one_warning_that_is_true(effort):
    pairs = np.random.default_rng(0).random((4, 2, 2))
    pairs[:, 0] = 0.5  # all pairs share an item, which is on one side
    y = cases.cityblock(pairs[:, 0], pairs[:, 1])
    said = r"4 pairs over 5 different items are too few to hold some out \(0 of 100 ways .*, so nothing was compared"
    with pytest.warns(SemimetricWarning, match=said) as caught:
        model = DistanceRegressor(effort=effort).fit(pairs, y)
    assert len(caught) == 1
    assert (model.recipe_.n_knots, model.recipe_.alpha, len(model.choices_)) == (3, 1e-2, 0)
