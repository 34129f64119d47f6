"""Spreads of numbers whose squares overflow, and what cannot be squared."""

import numpy as np
import pytest
from cases import assert_refused

from semimetric._foundation.arrays import check_squares, spread


@pytest.mark.parametrize("size", [1e-140, 1.0, 1e149, 1e151, 1e300])
def test_a_spread_is_that_of_the_same_numbers_in_another_unit(size, rng):
    values = rng.normal(size=(50, 3))
    np.testing.assert_allclose(spread(values * size), values.std(axis=0) * size, rtol=1e-12, atol=0)


def test_a_spread_of_nothing_is_nothing():
    assert spread(np.zeros(4)) == 0.0


def test_what_cannot_be_squared_is_refused():
    check_squares(np.array([-1e150, 1e-300]), "y")
    check_squares(np.empty(0), "y")
    assert_refused(lambda: check_squares(np.array([1.0, -1e151]), "y"), "y reaches 1e+151", "at most 1e+150", "rescale")
