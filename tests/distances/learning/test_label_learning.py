"""Which way leads from labelled items to a distance."""

import numpy as np
import pytest
from learners import made
from numpy.testing import assert_allclose

from semimetric import LargeMarginLearner, Monotone, SemimetricClassifier, SemimetricWarning, Triplets
from semimetric.distances.estimators.votes import as_chosen
from semimetric.distances.search.votes import VoteRule


@pytest.fixture
def numbers(rng):
    X = rng.normal(size=(60, 2))
    return X, np.where(X[:, 0] * X[:, 1] > 0, "yes", "no")


def test_defaults_are_a_sum(numbers):
    model = LargeMarginLearner().fit(*numbers)
    assert model.choices_[0].settings["directions"] == "1/2 components + 1/2 forest"
    assert model.held_out_neighbors_ is not None
    assert model.semimetric_.axioms.triangle is True


@pytest.mark.parametrize(
    "changes",
    [
        {"directions": None},
        {"tables": "warped"},
        {"axioms": "metric"},
        {"groups": "pairs"},
        {"constraints": [Monotone()]},
        {"base": "positions"},
    ],
)
def test_what_asks_for_one_program_has_one(numbers, changes):
    model = made(LargeMarginLearner, n_knots=4, alpha=1e-2, n_passes=1, **changes).fit(*numbers)
    assert model.held_out_neighbors_ is None


def test_two_items_of_each_class_are_enough(rng):
    X, y = rng.normal(size=(6, 2)), np.repeat(["a", "b", "c"], 2)
    with pytest.warns(SemimetricWarning, match="nothing was compared"):
        model = LargeMarginLearner(n_targets=1).fit(X, y)
    assert np.isfinite(model.semimetric_.pairwise(X)).all()


def test_votes_follow_the_neighbour_that_the_width_follows(numbers):
    X, y = numbers
    model = SemimetricClassifier(LargeMarginLearner(n_knots=4, alpha=1e-2, directions=None, triplets=Triplets(n_passes=1))).fit(
        X, y
    )
    model.vote_rule_ = VoteRule(3, "kernel", bandwidth=0.2, bandwidth_neighbor=30)
    queries = X[:7] + 0.01
    every = model.semimetric_.pairwise(queries, X)
    order = np.argsort(every, axis=1, kind="stable")
    codes, shares = np.unique(y, return_inverse=True)[1], np.array([(y == c).mean() for c in model.classes_])
    want = model.vote_rule_.probabilities(np.take_along_axis(every, order, axis=1), codes[order], shares)
    assert_allclose(model.predict_proba(queries), want, atol=1e-9)


def test_class_weights_do_not_change_how_many_neighbours_an_item_is(numbers):
    X, y = numbers
    model = SemimetricClassifier(class_weight={"yes": 4.0, "no": 0.5}).fit(X, y)
    for part in model._stored_parts(np.where(y == "yes", 4.0, 0.5)):
        assert_allclose(part.neighbor_weight, 1.0)


@pytest.mark.slow
def test_folds_of_a_learned_sum_learn_their_own_trees(numbers):
    fitted = LargeMarginLearner().fit(*numbers)
    again = as_chosen(LargeMarginLearner(), fitted)
    assert (again.directions, again.tables) == ("auto", "auto")
    assert again.n_knots == fitted.recipe_.n_knots
