"""The exponent of the link is found on held-out pairs, and 1 where nothing speaks against it."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from cases import assert_refused, candidate, cityblock
from hypothesis import given, settings
from hypothesis import strategies as st
from learners import made

from semimetric import DistanceApproximator, DistanceRegressor, NotSupportedError, SemimetricWarning, load
from semimetric._foundation.types import Pairs
from semimetric.distances.learning import measured_fit as link_selection
from semimetric.distances.learning.measured import MeasuredDistances
from semimetric.distances.learning.measured_fit import (
    choose_link,
    least_loss_beyond,
    least_loss_of_exponents,
    shorter_and_longer,
)
from semimetric.distances.learning.options import DISTANCES, Recipe
from semimetric.distances.learning.structure import build_structure
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


@pytest.mark.parametrize("p", [1.0, 0.8, 0.6])
@pytest.mark.parametrize("open_", [True, False])
def test_the_exponent_that_made_the_distances_is_found(p, open_):
    recipe, choices = chosen(SUMS**p * NOISE, link="power", knots=open_, alpha=open_)
    assert recipe.link == (PowerLink(p) if p < 1 else "identity")
    assert {c.settings["link"] for c in choices} == {1.0, 0.9, 0.8, 0.7, 0.6, 0.5}
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


def test_what_is_given_is_kept():
    recipe, choices = chosen(SUMS, link=0.7)
    assert (recipe.link, choices) == (PowerLink(0.7), ())


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


@pytest.mark.parametrize("parameters", [{"link": "power"}, {"base_distances": [cityblock], "base_exponents": "auto"}])
def test_of_too_many_features_a_number_is_asked_for_before_anything_is_compared(monkeypatch, parameters):
    monkeypatch.setitem(DISTANCES, "default", replace(DISTANCES["default"], n_columns={"full": 20}))
    monkeypatch.setattr(link_selection, "compare", None)
    X = RNG.random((40, 30))
    rows = INDEX[(INDEX < 40).all(axis=1)]
    call = made(DistanceRegressor, preprocessor=X, **parameters).fit
    name = list(parameters)[-1]
    assert_refused(lambda: call(rows, cityblock(X[rows[:, 0]], X[rows[:, 1]])), "more than 20 weights", f"in place of {name}=")


def test_the_least_loss_is_taken_and_of_ties_the_exponent_nearest_to_1():
    tied = [candidate(3, 1e-3, (1.0, 1.2), link=p) for p in (0.6, 0.9, 0.7)]
    assert least_loss_of_exponents(tied).settings["link"] == 0.9
    assert least_loss_of_exponents([*tied, candidate(3, 1e-3, (0.9, 1.2), link=0.5)]).settings["link"] == 0.5


def test_of_the_strengths_at_that_exponent_the_largest_within_one_standard_error_is_taken():
    found = [candidate(3, a, losses, link=0.8) for a, losses in ((1e-4, (1.0, 1.2)), (1e-3, (1.1, 1.15)), (1e-2, (2.0, 2.2)))]
    assert least_loss_of_exponents([*found, candidate(3, 1.0, (1.1, 1.15), link=1.0)]).settings["alpha"] == 1e-3


LOSSES = st.lists(st.tuples(*[st.floats(0.5, 2.0)] * 3), min_size=3, max_size=3)


def scored(exponent, alpha, losses, beyond):
    return replace(candidate(3, alpha, losses, link=exponent), beyond=beyond)


@given(LOSSES, LOSSES)
@settings(max_examples=200, deadline=None)
def test_of_exponents_within_one_standard_error_the_least_loss_beyond_is_taken(losses, beyond):
    found = [scored(p, 1e-3, a, b) for p, a, b in zip((1.0, 0.8, 0.6), losses, beyond, strict=True)]
    best = min(found, key=lambda c: c.loss)
    taken = least_loss_beyond(found)
    assert not best.better_than(taken)
    assert taken.loss_beyond == min(c.loss_beyond for c in found if not best.better_than(c))


def test_an_exponent_has_the_loss_of_its_best_strength_and_ties_go_to_the_one_nearest_to_1():
    strengths = {1e-4: ((1.0, 1.2), (5.0, 5.0)), 1e-3: ((1.1, 1.15), (2.0, 2.0)), 1e-2: ((4.0, 4.0), (9.0, 9.0))}
    rest = [scored(0.7, a, losses, beyond) for a, (losses, beyond) in strengths.items()]
    tied = [scored(p, 1e-4, (1.0, 1.2), (2.0, 2.0)) for p in (0.5, 0.9)]
    assert least_loss_beyond([*rest, *tied]).settings["link"] == 0.9
    taken = least_loss_beyond([*rest, *(replace(c, beyond=(2.1, 2.1)) for c in tied)])
    assert (taken.settings["link"], taken.settings["alpha"]) == (0.7, 1e-3)
    assert least_loss_beyond([*rest, scored(0.9, 1e-4, (3.0, 3.2), (0.1, 0.1))]).settings["link"] == 0.7


def test_folds_are_taken_of_both_losses():
    one = scored(0.7, 1e-3, (1.0, 2.0, 3.0), (4.0, 5.0, 6.0))
    assert one.of_folds([0, 2]) == scored(0.7, 1e-3, (1.0, 3.0), (4.0, 6.0))
    assert replace(one, beyond=()).of_folds([1]) == candidate(3, 1e-3, (2.0,), link=0.7)


def half_and_half(y, noise=1.0):
    """Splits into rows in turn, of which the shorter ones are trained on."""
    recipe = Recipe(n_knots=3).checked()
    data = MeasuredDistances.of_arrays(Pairs(ITEMS, INDEX), y * noise, WEIGHT)
    rows = np.arange(len(INDEX))
    splits = [(rows[rows % 2 == k], rows[rows % 2 != k]) for k in (0, 1)]
    return splits, shorter_and_longer(recipe, build_structure(recipe, ITEMS, ("u", "v")), data, splits)


@pytest.mark.parametrize("noise", [1.0, np.exp(0.3 * np.random.default_rng(1).normal(size=len(SUMS)))])
def test_pairs_are_shorter_or_longer_by_their_items_whatever_was_measured(noise):
    splits, found = half_and_half(SUMS, noise)
    for (train, test), (shorter, longer) in zip(splits, found, strict=True):
        assert set(shorter) < set(train)
        assert set(longer) < set(test)
        assert len(shorter) + len(longer) > 0.9 * len(INDEX) / 2
        assert SUMS[shorter].max() < 1.1 * SUMS[longer].min()  # the fitted weights are nearly 1 and 3
    if np.ndim(noise):
        assert any((SUMS * noise)[shorter].max() > 2 * (SUMS * noise)[longer].min() for shorter, longer in found)


def split_by_what_was_measured(recipe, structure, data, splits):
    longer = data.y > np.median(data.y)
    return [(train[~longer[train]], test[longer[test]]) for train, test in splits]


@pytest.mark.parametrize(("split", "exponent"), [(shorter_and_longer, 0.7), (split_by_what_was_measured, 0.8)])
def test_pairs_that_are_long_as_measured_would_ask_for_too_straight_a_link(monkeypatch, split, exponent):
    monkeypatch.setattr(link_selection, "shorter_and_longer", split)
    noise = np.exp(0.1 * np.random.default_rng(1).normal(size=len(SUMS)))
    _, choices = chosen(SUMS**0.7 * noise, link="power", tables="warped")
    assert min(choices, key=lambda c: c.loss_beyond).settings["link"] == exponent


def test_where_all_pairs_are_equally_long_the_least_loss_is_taken():
    kinds = pd.DataFrame({"kind": list("abcdefghijkl")})
    index = np.array([(i, j) for i in range(12) for j in range(i)])
    y = 1.0 + np.random.default_rng(0).random(len(index))
    model = DistanceRegressor(link="power", n_knots=2, alpha=1e-4, preprocessor=kinds, validation_fraction=0).fit(index, y)
    choices = model.link_choices_
    assert all(c.beyond == () for c in choices)
    assert choices.rule is least_loss_of_exponents
    assert "beyond" not in repr(choices)
    assert "loss_beyond" not in choices.to_frame()


def nearer_half(seed):
    """Pairs of the power .7 of an L1 distance with an error of 10 %: items, pairs, distances, and which are long."""
    rng = np.random.default_rng(seed)
    X, index = rng.random((80, 2)), rng.integers(0, 80, (600, 2))
    index = index[index[:, 0] != index[:, 1]]
    gaps = X[index[:, 0]] - X[index[:, 1]]
    length = np.linalg.norm(gaps, axis=1)
    return X, index, (np.abs(gaps) @ [1.0, 2.0]) ** 0.7, length > np.median(length), rng.normal(size=len(index))


def test_an_exponent_that_is_best_within_by_chance_is_not_taken_and_the_table_says_why(tmp_path):
    X, index, y, far, noise = nearer_half(3)
    parameters = {"n_knots": 4, "alpha": 1e-4, "preprocessor": X, "validation_fraction": 0}
    noisy = y * np.exp(0.1 * noise)
    model = DistanceRegressor(link="power", **parameters).fit(index[~far], noisy[~far])
    choices = model.link_choices_
    within = least_loss_of_exponents(choices).settings["link"]
    assert (within, choices.chosen.settings["link"]) == (0.6, 0.7)
    other = DistanceRegressor(link=within, **parameters).fit(index[~far], noisy[~far])
    errors = [np.abs(m.predict(index[far]) - y[far]).sum() / y[far].sum() for m in (model, other)]
    assert errors[0] < 0.02 < errors[1]
    assert "beyond" in repr(choices)
    assert "least loss beyond" in repr(choices)
    frame = choices.to_frame()
    assert frame["loss_beyond"].idxmin() == frame["chosen"].idxmax()
    assert choices.cost.n_fits == sum(len(c.losses) + len(c.beyond) for c in choices) == 48
    model.save(tmp_path / "model.smm")
    assert load(tmp_path / "model.smm").link_choices_ == choices
