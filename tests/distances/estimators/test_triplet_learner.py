"""TripletLearner: what it bears, and what it refuses."""

import warnings

import numpy as np
import pytest
from cases import assert_refused
from comparisons import FAST, ITEMS, PAIRS, TRIPLETS, learned
from learners import made

from semimetric import SemimetricWarning, TripletLearner


def test_triplets_that_repeat_an_item_are_borne():
    triplets = np.vstack([TRIPLETS, [[1, 2, 2], [1, 1, 1]]])
    assert made(TripletLearner, **FAST, preprocessor=ITEMS).fit(triplets).score(TRIPLETS) > 0.9


def test_a_constant_feature_says_nothing():
    items = np.column_stack([ITEMS, np.full(80, 7.0)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SemimetricWarning)
        model = TripletLearner(n_knots=4, alpha=1e-3, preprocessor=items).fit(TRIPLETS)
    assert model.score(TRIPLETS) > 0.9


BAD = {
    "shape": (lambda: TripletLearner().fit(ITEMS[PAIRS]), "triplets have shape (600, 2, 3)", "(n_triplets, 3, n_features)"),
    "index": (lambda: TripletLearner(preprocessor=ITEMS).fit(PAIRS), "triplets have shape (600, 2)", "(n_triplets, 3)"),
    "float index": (lambda: TripletLearner(preprocessor=ITEMS).fit([[0.0, 1, 2]]), "dtype float64", "must be integers", "drop"),
    "empty": (lambda: TripletLearner().fit(np.empty((0, 3, 2))), "there are 0 triplets", "at least one"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused(name):
    assert_refused(*BAD[name])


def test_swapping_the_outer_items_turns_the_decision():
    model, triplets, _ = learned("triplets")
    turned = model.decision_function(triplets[:, [0, 2, 1]])
    np.testing.assert_allclose(turned, -model.decision_function(triplets), atol=1e-12)


def test_scores_weigh_triplets_and_y_is_ignored(rng):
    model, triplets, _ = learned("triplets")
    mixed = np.where((rng.random(600) < 0.3)[:, None], triplets[:, [0, 2, 1]], triplets)
    weight = rng.random(600)
    want = weight @ (model.decision_function(mixed) > 0) / weight.sum()
    assert model.score(mixed, sample_weight=weight) == pytest.approx(want)
    assert model.score(mixed, -np.ones(600), weight) == pytest.approx(want)
    assert 0.5 < want < 0.9
    right = triplets[model.decision_function(triplets) > 0]
    assert all(model.score(right[:n]) == 1.0 for n in range(1, 200))  # to the last bit
