"""A distance as a query sees it: its parts add up to the distance, on either side."""

import numpy as np
import pytest
from cases import cityblock, fitted
from numpy.testing import assert_allclose, assert_array_equal
from searches import rough_distance

from semimetric import ConcaveLink, Grid
from semimetric._kernels.search import values
from semimetric.distances.search.query_tables import SIDES, QueryView

RNG = np.random.default_rng(0)
ITEMS, QUERIES = RNG.normal(size=(30, 3)), 2 * RNG.normal(size=(4, 3))
DISTANCES = {kind: rough_distance(Grid.fit(ITEMS, n_knots=4), kind=kind, link=link) for kind, link in (
    ("singles", "identity"), ("asymmetric", "sqrt"), ("overlapping", "identity"), ("touched", "identity"), ("swapped", "sqrt"),
)}  # fmt: skip
LINKS = (0.7, ConcaveLink((1.0,), (1.0, 0.5)))
DISTANCES |= {str(link): rough_distance(Grid.fit(ITEMS, n_knots=4), link=link) for link in LINKS}
DISTANCES["base"] = fitted("base")[0].semimetric_
DISTANCES["pca"] = fitted("pca")[0].semimetric_


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("name", DISTANCES)
def test_tabulated_parts_and_the_rest_are_the_distance(name, side):
    d, rows = DISTANCES[name], np.arange(len(ITEMS))[::-1].copy()
    view = QueryView(d, side)
    queries, items, sums = view.block(view.points(QUERIES)), view.points(ITEMS), np.empty(len(rows))
    for q in range(len(queries)):
        values(view.scales, queries.profiles, q, items.positions, rows, -np.inf, sums)
        rest = view.rest(queries, q, items, rows)
        assert len(rest) == (0 if view.simple else len(rows))
        total = sums + (0.0 if view.simple else rest)
        want = d.pairwise(QUERIES, ITEMS)[q] if side == "query-first" else d.pairwise(ITEMS, QUERIES)[:, q]
        assert_allclose(view.linked(np.maximum(total, view.least)), want[rows], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", DISTANCES)
def test_taken_items_are_those_located_alone(name):
    view, rows = QueryView(DISTANCES[name]), np.array([5, 2, 2])
    taken, alone = view.points(ITEMS).take(rows), view.points(ITEMS[rows])
    assert len(taken) == 3
    assert_array_equal(taken.raw, alone.raw)
    assert_array_equal(taken.positions, alone.positions)
    assert (taken.joint is None) == (alone.joint is None) == (view.joint is None)
    if taken.joint is not None:
        assert_array_equal(taken.joint.order, alone.joint.order)
        assert all((a == b).all() for a, b in zip(taken.joint.located, alone.joint.located, strict=True))


def test_the_link_is_undone():
    for d in DISTANCES.values():
        view = QueryView(d)
        assert view.linked(np.array([view.unlinked(1.7)]))[0] == pytest.approx(1.7)


def test_only_distances_of_one_grid_and_one_kind_of_groups_have_the_same_cells():
    grid = Grid.fit(ITEMS, n_knots=4)
    one = QueryView(rough_distance(grid))
    assert one.same_cells(QueryView(rough_distance(grid, seed=5, link="sqrt"), "query-last"))
    for other in (rough_distance(Grid.fit(ITEMS, n_knots=5)), rough_distance(grid, kind="joint"), DISTANCES["pca"]):
        assert not one.same_cells(QueryView(other))


def test_base_distances_bound_nothing_when_negative():
    assert QueryView(DISTANCES["base"]).bounded
    assert not QueryView(DISTANCES["base"]).simple
    assert DISTANCES["base"].base_distances[0].paired(ITEMS, ITEMS[::-1]) == pytest.approx(
        DISTANCES["base"].base_distances[0].weight * cityblock(ITEMS, ITEMS[::-1])
    )
