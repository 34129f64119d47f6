"""Support points in tiles against all points at once, and where points are equally near."""

import numpy as np
import pytest

from semimetric._kernels.support import nearest_points, tightest_bisectors


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


def test_the_first_of_equally_near_points_is_found():
    points = np.zeros((2, 1200))
    points[:, [700, 900]] = 1.0  # in two tiles
    found = np.empty(2, np.int64)
    nearest_points(points, np.array([[1.0, 1.0], [0.0, 0.0]]), found)
    assert found.tolist() == [700, 0]


def test_a_bisector_that_is_known_keeps_its_place_among_equal_ones():
    points, x, s = np.array([[1.0, 1.0]]), np.array([[1.0]]), np.array([[0.0]])
    for known, want in ((0.5, 7), (0.6, 0)):
        which, cut = np.array([7]), np.array([known])
        tightest_bisectors(points, x, s, which, cut)
        assert (which[0], cut[0]) == (want, 0.5)
