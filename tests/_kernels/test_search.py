"""The kernels of the search against the distance itself."""

import numpy as np
import pytest
import strategies as our
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from searches import rough_distance

from semimetric import Semimetric
from semimetric._kernels.search import BestItems, Candidates, SearchedItems, cell_minima, nearest, values
from semimetric.distances.pairs.full_tables import PairEmbedding
from semimetric.distances.search.query_tables import QueryView

NOTHING, NO_RANK = np.empty(0), np.empty(0, np.int64)


def no_items_yet(k):
    return BestItems(np.full(k, np.inf), np.full(k, -1), np.zeros(1, np.int64))


@given(data=st.data(), seed=st.integers(0, 1000))
def test_values_are_the_distance(data, seed):
    grid = data.draw(our.grids())
    items, queries = data.draw(our.points(grid, 8)), data.draw(our.points(grid, 3))
    d = rough_distance(grid, seed=seed)
    view = QueryView(d)
    profiles, points, out = view.profiles(view.points(queries)), view.points(items), np.empty(8)
    for b in range(3):
        values(view.scales, profiles, b, points.positions, np.arange(8), 0.0, out)
        assert_allclose(out, d.pairwise(queries[b : b + 1], items)[0], rtol=1e-12, atol=1e-12)
        values(view.scales, profiles, b, profiles.position, np.arange(3), 0.0, out[:3])
        assert out[b] == 0  # to the bit


@given(data=st.data(), seed=st.integers(0, 1000))
def test_the_least_value_of_a_cell_is_that_of_a_fine_sample(data, seed):
    grid = data.draw(our.grids(max_features=1, min_knots=2))
    queries = data.draw(our.points(grid, 2))
    view = QueryView(rough_distance(grid, seed=seed))
    profiles = view.profiles(view.points(queries))
    top = grid.sizes[0] - 1
    ends = np.sort(np.array(data.draw(st.lists(st.floats(-1, top + 1), min_size=2, max_size=2))))
    out = np.empty((2, 1, 1))
    cell_minima(view.scales, profiles, np.array([0]), ends[:1, None], ends[1:, None], out)
    fine = np.linspace(*ends, 2001)[:, None]
    sampled = np.empty(len(fine))
    for b in range(2):
        values(view.scales, profiles, b, fine, np.arange(len(fine)), -np.inf, sampled)
        assert out[b, 0, 0] <= sampled.min() + 1e-12
        assert out[b, 0, 0] >= sampled.min() - 20 * (np.diff(ends)[0] + 1e-9) / 2000


@given(seed=st.integers(0, 2**31), k=st.integers(1, 12), ranked=st.booleans())
def test_the_nearest_are_sorted_by_value_then_rank(seed, k, ranked):
    rng = np.random.default_rng(seed)
    grid = our.Grid([np.array([0.0, 1.0])] * 2)
    items = rng.integers(0, 3, (30, 2)) / 2.0  # many ties
    view = QueryView(rough_distance(grid))
    profiles, points = view.profiles(view.points(items[:1])), view.points(items)
    rank = rng.permutation(30) if ranked else NO_RANK
    best, every = no_items_yet(k), np.empty(30)
    candidates = Candidates(rng.permutation(30), NOTHING, NOTHING)
    nearest(view.scales, profiles, 0, SearchedItems(points.positions, rank, 0.0), candidates, 0.0, best)
    values(view.scales, profiles, 0, points.positions, np.arange(30), 0.0, every)
    order = np.lexsort((rank if ranked else np.arange(30), every))[:k]
    assert best.refined[0] == 30
    assert_array_equal(best.rows, order)
    assert_array_equal(best.sums, every[order])


def test_bounds_that_exceed_the_kth_value_end_the_list():
    grid = our.Grid([np.array([0.0, 1.0])])
    view = QueryView(rough_distance(grid))
    items = np.linspace(0, 1, 11)[:, None]
    profiles, points = view.profiles(view.points(items[:1])), view.points(items)
    every = np.empty(11)
    values(view.scales, profiles, 0, points.positions, np.arange(11), 0.0, every)
    searched = SearchedItems(points.positions, NO_RANK, 0.0)
    for slack, n_refined in ((0.0, 3), (1.5 * every[1], 4)):
        best = no_items_yet(3)
        candidates = Candidates(np.arange(11), NOTHING, every - 1e-9)
        nearest(view.scales, profiles, 0, searched, candidates, slack, best)
        assert best.rows.tolist() == [0, 1, 2]
        assert best.refined[0] == n_refined
    ended = Candidates(np.array([4, -1, 0]), NOTHING, NOTHING)
    nearest(view.scales, profiles, 0, searched, ended, 0.0, best)
    assert best.refined[0] == 1  # a row of -1 ends the list too


@pytest.mark.parametrize("high", [3.0, 1e17, 9e18, 1e19, 4e19, 1e300])
@pytest.mark.parametrize("low", [-1e300, -1e19, -1.0, 0.5])
def test_no_breakpoint_is_left_out_however_far_a_cell_reaches(low, high):
    """Positions beyond 9.2e18 are no 64-bit integers; the table has its only 0 at a knot inside."""
    grid = our.Grid([np.array([0.0, 1.0, 2.0, 3.0])])
    table = np.array([[5.0, 4.0, 0.0, 4.0]] * 4)
    embedding = PairEmbedding(grid, symmetry="none", zero_diagonal=False)
    weights = np.empty(embedding.n_columns)
    weights[embedding.vertex_columns()[0]] = table
    view = QueryView(Semimetric(embedding, weights, np.ones(1), ("x",)))
    profiles, out = view.profiles(view.points(np.array([[0.3]]))), np.empty((1, 1, 1))
    cell_minima(view.scales, profiles, np.array([0]), np.array([[low]]), np.array([[high]]), out)
    assert out[0, 0, 0] == 0


def test_items_that_are_infinitely_far_come_last_in_the_order_of_their_ranks():
    sums, best = np.array([np.inf, 2.0, np.inf, np.inf]), no_items_yet(3)
    view = QueryView(rough_distance(our.Grid([np.array([0.0, 1.0])])))
    positions = np.array([[0.5]] * 4)
    searched = SearchedItems(positions, np.array([3, 2, 1, 0]), 0.0)
    nearest(
        view.scales, view.profiles(view.points(positions[:1])), 0, searched, Candidates(np.arange(4), sums, NOTHING), 0.0, best
    )
    assert best.rows.tolist() == [1, 3, 2]
    assert best.sums.tolist() == [2.0, np.inf, np.inf]
