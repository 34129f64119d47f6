"""The exported metric of two vectors against the distance that it is made from."""

import numpy as np
import pytest
import strategies as our
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from searches import rough_distance

from semimetric import Grid
from semimetric._kernels.metric import FeatureSum, distance_of_two, make_metric
from semimetric.distances.model.compiled_sum import feature_sum


@given(data=st.data(), seed=st.integers(0, 1000), link=st.sampled_from(["identity", "sqrt"]))
@settings(max_examples=5)  # every metric is compiled
def test_two_vectors_have_their_distance_also_outside_the_range(data, seed, link):
    grid = data.draw(our.grids())
    X, Y = data.draw(our.points(grid, 6)), data.draw(our.points(grid, 6))
    d = rough_distance(grid, seed=seed, link=link)
    metric = d.get_numba_metric()
    assert_allclose([metric(x, y) for x, y in zip(X, Y, strict=True)], d.paired(X, Y), rtol=1e-12, atol=1e-12)
    assert all(metric(x, x) == 0 for x in X)


@pytest.mark.parametrize("kind", ["pairs", "joint", "singles and pairs", "overlapping", "asymmetric"])
@given(data=st.data(), seed=st.integers(0, 1000))
def test_joint_groups_of_two_vectors_have_their_value_in_one_call(kind, data, seed):
    grid = data.draw(our.grids())
    X, Y = data.draw(our.points(grid, 6)), data.draw(our.points(grid, 6))
    d = rough_distance(grid, kind=kind, seed=seed)
    parts = feature_sum(d)
    assert_allclose([distance_of_two(x, y, *parts) for x, y in zip(X, Y, strict=True)], d.paired(X, Y), rtol=1e-11, atol=1e-11)
    assert all(distance_of_two(x, x, *parts) == 0 for x in X)
    assert np.isnan(distance_of_two(np.full(grid.n_features, np.nan), X[0], *parts))


@pytest.mark.parametrize("dtype", [np.float32, pytest.param(np.float64, marks=pytest.mark.slow)])
def test_takes_the_arrays_that_its_caller_has(dtype, rng):
    X = rng.random((5, 2)).astype(dtype)
    X.flags.writeable = False
    d = rough_distance(Grid.fit(rng.random((50, 2)), n_knots=4))
    assert_allclose(d.get_numba_metric()(X[0], X[1]), d(X[0], X[1]), rtol=1e-12)


def test_a_part_may_stand_on_a_combination_of_features():
    """One table on the difference of two features, between the knots 0 and 1, with the distance 3 between them."""
    knots, tables = np.array([0.0, 0.0, 0.0, 1.0]), np.array([0.0, 3.0, 3.0, 0.0])
    places = np.array([[0, -1, 0], [1, -1, 0], [2, 0, -1], [4, -1, -1]])
    outside = np.array([[0.0, 0.0, np.inf], [0.0, 0.0, np.inf], [2.0, 5.0, 100.0]])
    parts = FeatureSum(knots, places, tables, outside, np.array([[1.0], [-1.0]]), np.empty(0))
    metric, root = (make_metric(parts, exponent) for exponent in (1.0, 0.5))
    x, y = np.array([2.0, 2.0]), np.array([1.5, 1.0])
    assert metric(x, y) == pytest.approx(1.5)
    assert root(x, y) == pytest.approx(np.sqrt(1.5))
    assert metric(x, np.array([2.0, 0.0])) == pytest.approx(3.0 + 5.0)  # one unit beyond the last knot
    assert metric(y, np.array([0.0, 3.0])) == pytest.approx(1.5 + 2.0 * 3.0)  # three units below the first knot
    assert np.isnan(metric(x, np.array([102.0, 0.0])))  # further outside than the excess that is allowed
    assert np.isnan(distance_of_two(x, np.array([np.nan, 0.0]), *parts))
