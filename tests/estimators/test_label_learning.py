"""Which way leads from labelled items to a distance."""

import numpy as np
import pytest

from semimetric import LargeMarginLearner, Monotone, SemimetricWarning


@pytest.fixture
def numbers(rng):
    X = rng.normal(size=(60, 2))
    return X, np.where(X[:, 0] * X[:, 1] > 0, "yes", "no")


def test_defaults_are_a_sum(numbers):
    model = LargeMarginLearner().fit(*numbers)
    assert model.choices_[0].directions == "1/2 components + 1/2 forest"
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
        {"even": "places"},
    ],
)
def test_what_asks_for_one_program_has_one(numbers, changes):
    model = LargeMarginLearner(n_knots=4, alpha=1e-2, n_passes=1, **changes).fit(*numbers)
    assert model.held_out_neighbors_ is None


def test_two_items_of_each_class_are_enough(rng):
    X, y = rng.normal(size=(6, 2)), np.repeat(["a", "b", "c"], 2)
    with pytest.warns(SemimetricWarning, match="nothing was compared"):
        model = LargeMarginLearner(n_targets=1).fit(X, y)
    assert np.isfinite(model.semimetric_.pairwise(X)).all()
