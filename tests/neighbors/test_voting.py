"""Votes count alike or by nearness."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from semimetric import InputError
from semimetric.neighbors.voting import nearness, shares

LABELS = np.array([[0, 1, 1], [2, 2, 2]])


def test_shares_are_counted_votes():
    assert_allclose(shares(LABELS, 3), [[1 / 3, 2 / 3, 0], [0, 0, 1]])


def test_near_votes_count_more_and_those_at_no_distance_alone():
    weight = nearness(np.array([[1.0, 2.0, 4.0], [0.0, 0.0, 3.0]]), "distance")
    assert_allclose(weight, [[1, 0.5, 0.25], [1, 1, 0]])
    assert_allclose(shares(LABELS, 3, weight)[0], [1 / 1.75, 0.75 / 1.75, 0])
    assert_allclose(nearness(np.array([[1.0, 2.0]]), "uniform"), 1.0)
    assert_allclose(nearness(np.array([[np.inf, np.inf], [1.0, np.inf]]), "distance"), [[1, 1], [1, 0]])


def test_unknown_weights_are_refused():
    with pytest.raises(InputError, match="uniform"):
        nearness(np.ones((1, 1)), "even")
