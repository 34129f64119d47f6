"""QuadrupletLearner: the order that y may turn, and what is refused."""

import numpy as np
import pytest
from cases import assert_refused
from comparisons import FAST, INDEX, ITEMS, QUADRUPLETS, learned
from learners import made

from semimetric import QuadrupletLearner


def test_quadruplets_may_say_the_opposite():
    flip = np.arange(600) % 3 == 0
    turned = np.where(flip[:, None], QUADRUPLETS[:, [2, 3, 0, 1]], QUADRUPLETS)
    y = np.where(flip, -1, 1)
    one = made(QuadrupletLearner, **FAST, preprocessor=ITEMS).fit(turned, y)
    other = made(QuadrupletLearner, **FAST, preprocessor=ITEMS).fit(QUADRUPLETS)
    np.testing.assert_allclose(one.decision_function(turned), y * other.decision_function(QUADRUPLETS), atol=1e-12)
    assert one.score(turned, y) == other.score(QUADRUPLETS)
    assert one.score(turned) < 0.8


def test_items_that_are_not_there_are_refused():
    learner = QuadrupletLearner(preprocessor=ITEMS)
    assert_refused(lambda: learner.fit([[0, 1, 2, 99]]), "quadruplet 0 is (0, 1, 2, 99)", "80 items")


def test_swapping_the_pairs_turns_the_decision():
    model, quadruplets, _ = learned("quadruplets")
    turned = quadruplets[:, [2, 3, 0, 1]]
    np.testing.assert_allclose(model.decision_function(turned), -model.decision_function(quadruplets), atol=1e-12)
    np.testing.assert_allclose(model.decision_function(quadruplets[:, [1, 0, 3, 2]]), model.decision_function(quadruplets))


def test_scores_weigh_quadruplets(rng):
    model, quadruplets, _ = learned("quadruplets")
    y, weight = np.where(rng.random(600) < 0.3, -1, 1), rng.random(600)
    want = weight @ (model.predict(quadruplets) == y) / weight.sum()
    assert model.score(quadruplets, y, sample_weight=weight) == pytest.approx(want)
    assert 0.5 < want < 0.9


@pytest.mark.parametrize("shape", [(600, 3), (600, 5)], ids=str)
def test_what_is_turned_round_must_be_quadruplets(shape):
    """y = -1 exchanges the pairs of a quadruplet; tuples of another length are refused as they are without y."""
    wrong, y = np.resize(INDEX, shape), np.where(np.arange(600) % 2, 1, -1)
    model = made(QuadrupletLearner, **FAST, preprocessor=ITEMS)
    for said in ((), (y,)):
        assert_refused(lambda s=said: model.fit(wrong, *s), str(shape), "4", "", ValueError)


def test_the_opposite_of_quadruplets_is_learned_as_their_pairs_exchanged():
    y = np.where(np.arange(600) % 3, 1, -1)
    turned = np.where((y < 0)[:, None], QUADRUPLETS[:, [2, 3, 0, 1]], QUADRUPLETS)
    want = made(QuadrupletLearner, **FAST, preprocessor=ITEMS).fit(QUADRUPLETS)
    given = made(QuadrupletLearner, **FAST, preprocessor=ITEMS).fit(turned, y)
    np.testing.assert_array_equal(given.semimetric_.weights, want.semimetric_.weights)
    assert given.score(turned, y) == want.score(QUADRUPLETS)


def test_weights_have_two_names(rng):
    weight = rng.random(600)
    learner = made(QuadrupletLearner, **FAST, preprocessor=ITEMS)
    one = learner.fit(QUADRUPLETS, weights=weight).decision_function(QUADRUPLETS)
    other = learner.fit(QUADRUPLETS, sample_weight=weight).decision_function(QUADRUPLETS)
    np.testing.assert_array_equal(one, other)
    assert_refused(lambda: learner.fit(QUADRUPLETS, None, weight, weight), "both are given", "give one of them")
