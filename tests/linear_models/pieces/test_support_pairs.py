"""Equations 3 and 7 in tiles against their slow twin; items on a coarse grid, so that ties occur."""

import numpy as np
import pytest
import reference
from hypothesis import given
from strategies import labelled_items

from semimetric._kernels.support import nearest_points, tightest_bisectors
from semimetric.linear_models.pieces.support_pairs import find_distinct_places, find_support_pairs


@given(labelled_items())
def test_support_pairs_equal_the_slow_ones(made):
    X, y = made
    places = find_distinct_places(X, y, 3)
    assert len(places.points) == len(X)  # all apart
    X, y = places.points, places.codes
    pairs = find_support_pairs(places)
    for i in range(len(X)):
        own, other, cut = reference.support_pair(X.tolist(), y.tolist(), i)
        assert (pairs.own[i], pairs.other[i], pairs.cut[i]) == (own, other, cut)


@pytest.mark.parametrize("n", [1, 511, 512, 513, 1300])
def test_tiles_of_any_number_of_items(rng, n):
    points, x, s = rng.normal(size=(n, 3)), rng.normal(size=(4, 3)), rng.normal(size=(4, 3)) * 3
    found = np.empty(4, np.int64)
    nearest_points(points.T.copy(), x, found)
    assert np.array_equal(found, ((points[None] - x[:, None]) ** 2).sum(axis=2).argmin(axis=1))
    which, cut = np.full(4, -1), np.full(4, np.inf)
    tightest_bisectors(points.T.copy(), x, s, which, cut)
    apart = points[None] - s[:, None]
    inner = (apart * (x - s)[:, None]).sum(axis=2)
    value = np.where(inner > 0, (apart**2).sum(axis=2) / np.where(inner > 0, 2 * inner, 1), np.inf)
    assert np.allclose(cut, value.min(axis=1))
    assert np.array_equal(which, np.where(np.isinf(cut), -1, value.argmin(axis=1)))
