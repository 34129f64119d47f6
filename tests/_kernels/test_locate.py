import numpy as np
import pytest
import reference
import strategies as own
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from semimetric._kernels.locate import PositionFeatures, ValueRanges, clipped, positions_of
from semimetric.data.grid import Grid


@given(st.data(), own.grids(max_knots=6))
def test_agrees_with_algorithm_1(data, grid):
    X = data.draw(own.points(grid, 4))
    located = grid.locate(X)
    for i, x in enumerate(X):
        for f, knots in enumerate(grid.knots):
            got = tuple(part[i, f] for part in located)
            assert got == pytest.approx(reference.locate(x[f], list(knots)), abs=1e-15)


@pytest.mark.parametrize(
    ("value", "want"),
    [(-9.0, (0, 1, 0.0)), (0.0, (0, 1, 0.0)), (0.5, (0, 1, 0.5)), (1.0, (0, 1, 1.0)), (2.5, (1, 2, 0.5)), (4.0, (1, 2, 1.0)),
     (9.0, (1, 2, 1.0)), (-0.0, (0, 1, 0.0)), (np.nextafter(1.0, 2.0), (1, 2, pytest.approx(0.0, abs=1e-15)))],
)  # fmt: skip
def test_the_upper_knot_is_the_first_that_is_not_smaller(value, want):
    located = Grid([[0.0, 1.0, 4.0]]).locate([[value]])
    assert tuple(part[0, 0] for part in located) == want


def test_a_constant_feature_has_no_cell():
    assert [part.tolist() for part in Grid([[2.0]]).locate([[1.0], [2.0], [3.0]])] == [[[0]] * 3, [[0]] * 3, [[0.0]] * 3]


def test_no_rows_give_no_rows():
    assert Grid([[0.0, 1.0]]).locate(np.empty((0, 1))).fraction.shape == (0, 1)


@pytest.mark.parametrize(
    ("position", "want"), [(-1e300, 0.0), (-0.5, 0.0), (np.nan, 0.0), (2.5, 2.5), (4e19, 4.0), (np.inf, 4.0)]
)
def test_what_becomes_an_integer_lies_among_the_vertices(position, want):
    assert clipped(position, 4.0) == want


@given(seed=st.integers(0, 2**31))
def test_positions_are_those_of_the_grid_feature_by_feature(seed):
    rng = np.random.default_rng(seed)
    knots = [np.unique(np.round(rng.normal(size=rng.integers(1, 9)), 1)) for _ in range(4)]
    grid, unit = Grid(knots), np.array([max(k[-1] - k[0], 1e-3) for k in knots])
    x = np.round(rng.normal(size=(50, 4)) * 2, 1)
    located, features = grid.locate(x), np.array([3, 1, 0])
    want = (located.lower + located.fraction + grid.excess(x) / unit)[:, features]
    ranges = ValueRanges(grid.flat, grid.starts, np.full(4, 1e3))
    places = PositionFeatures(features, grid.starts[features], grid.counts[features], unit[features])
    found = np.empty((50, 3))
    positions_of(x, ranges, places, found)
    assert_array_equal(found, want)
    for row, wrong in enumerate((np.nan, np.inf, -np.inf, 1e4)):
        x[row, rng.integers(4)] = wrong
    positions_of(x, ranges, places, found)
    assert_array_equal(np.isnan(found[:, 0]), np.arange(50) < 4)
