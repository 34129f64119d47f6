"""QuadrupletLearner: the order that y may turn, and what is refused."""

import numpy as np
import pytest
from cases import assert_refused
from comparisons import FAST, ITEMS, QUADRUPLETS, learned

from semimetric import QuadrupletLearner


def test_quadruplets_may_say_the_opposite():
    flip = np.arange(600) % 3 == 0
    turned = np.where(flip[:, None], QUADRUPLETS[:, [2, 3, 0, 1]], QUADRUPLETS)
    y = np.where(flip, -1, 1)
    one = QuadrupletLearner(**FAST, preprocessor=ITEMS).fit(turned, y)
    other = QuadrupletLearner(**FAST, preprocessor=ITEMS).fit(QUADRUPLETS)
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
