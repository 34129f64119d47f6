"""Distances are finite: what lies too far outside is refused in one sentence, by every way to a distance."""

import numpy as np
import pytest
from cases import assert_refused
from searches import rough_distance

from semimetric import Grid, NeighborIndex, PairEmbedding, Semimetric
from semimetric.distances.model.limits import MOST, ValueLimits

GRID = Grid([[0.0, 1.0, 2.0], [0.0, 1e-300], [5.0]])
D = Semimetric(PairEmbedding(GRID), np.ones(PairEmbedding(GRID).n_columns), np.array([1.0, 0.0, 1e10]), ("a", "b", "c"))
INSIDE = np.array([[1.0, 0.0, 5.0], [2.0, 1e-300, 5.0]])
CALLS = {
    "call": lambda x: D(x[0], INSIDE[0]),
    "paired": lambda x: D.paired(INSIDE[:1], x),
    "pairwise": lambda x: D.pairwise(x),
    "contributions": lambda x: D.contributions(x, INSIDE[:1]),
    "items": lambda x: NeighborIndex(D).fit(x),
    "queries": lambda x: NeighborIndex(D).fit(INSIDE).kneighbors(x, 1),
    "radius": lambda x: NeighborIndex(D).fit(INSIDE).radius_neighbors(x, 1.0),
}


@pytest.mark.parametrize("value", [(1.7e308, 0.0, 5.0), (-1.7e308, 0.0, 5.0), (1.0, 1e10, 5.0), (1.0, 0.0, 1e300)])
@pytest.mark.parametrize("call", CALLS)
def test_a_value_from_which_distances_overflow_is_refused_everywhere(call, value):
    name = "abc"[int(np.flatnonzero(np.array(value) != INSIDE[0])[0])]
    assert_refused(lambda: CALLS[call](np.array([value])), f"{name!r} is", "distances overflow", "correct the value")


def test_at_the_end_of_the_reach_everything_is_finite():
    ends = np.where(np.arange(6)[:, None] % 3 == np.arange(3), np.repeat([1.0, -1.0], 3)[:, None] * D.value_limits.most, 0.0)
    items = np.vstack([INSIDE, INSIDE[0] + ends])
    every = D.pairwise(items)
    assert np.isfinite(every).all()
    assert every.max() < 2 * MOST
    distances, ids = NeighborIndex(D).fit(items).kneighbors(items, len(items))
    np.testing.assert_allclose(distances, np.sort(every, axis=1), rtol=1e-12, atol=1e-300)


def test_the_reach_is_as_wide_as_the_slope_and_the_range_allow():
    reach = ValueLimits.of(GRID, np.array([[0.0, 0.0], [0.0, 0.0], [0.5, 0.1]]), "abc")
    np.testing.assert_array_equal(reach.most, [MOST, MOST * 1e-300, MOST / 1.5])
    assert ValueLimits.of(GRID, np.full((3, 2), 1e308), "abc").most.max() == 0


def test_radii_and_queries_of_any_size_are_answered_without_a_warning(rng):
    d = rough_distance(Grid([[0.0, 1.0], [-1.0, 1.0]]), link="sqrt")
    items = np.vstack([rng.random((20, 2)), rng.random((20, 2)) * 1e200])
    index = NeighborIndex(d).fit(items)
    for radius in (0.0, 1e-300, 1.0, 1e90, np.float64(1e300)):
        distances, ids = index.radius_neighbors(items[:1], radius)
        assert ids[0].tolist() == index.kneighbors(items[:1], 40)[1][0][: len(ids[0])].tolist()
        assert (distances[0] <= radius).all()
