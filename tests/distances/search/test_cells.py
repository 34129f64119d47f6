"""Cells bound what their items add to a distance, tightly for one feature."""

import cases
import numpy as np
import pytest
import strategies as our
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from searches import rough_distance, search_problem

from semimetric import Grid
from semimetric.distances.search import cells as cells_module
from semimetric.distances.search.cells import CODES, MOST_COLUMNS, CellLayout, Cells, Filter, Warp, packed_codes
from semimetric.distances.search.query_tables import QueryView


def codes_of(layout, packed):
    return np.stack([packed & 15, packed >> 4], axis=-1).reshape(len(packed), -1)[:, : layout.n_columns]


def built(d, items, side="query-first"):
    view = QueryView(d, side)
    layout = CellLayout.fit(view, items, 0)
    cells, packed = Cells.of(layout, view, view.points(items))
    return view, layout, cells, packed


@pytest.mark.parametrize("kind", cases.EMBEDDINGS)
@given(data=st.data(), seed=st.integers(0, 1000), side=st.sampled_from(["query-first", "query-last"]))
@settings(max_examples=20)
def test_the_sum_of_the_least_values_is_below_the_distance(kind, data, seed, side):
    grid = data.draw(our.grids(max_features=3, max_knots=5))
    items, queries = data.draw(our.points(grid, 20)), data.draw(our.points(grid, 3))
    d = rough_distance(grid, kind=kind, seed=seed)
    view, layout, cells, packed = built(d, items, side)
    points = view.points(queries)
    filter_ = Filter(cells, view)
    tables = filter_.minima(view.block(points))
    codes = codes_of(layout, packed)
    bounds = tables[:, np.arange(layout.n_columns), codes].sum(axis=2) + filter_.floor
    true = d.pairwise(queries, items) if side == "query-first" else d.pairwise(items, queries).T
    assert (bounds <= true + 1e-9).all()


def test_the_least_value_of_one_feature_is_reached():
    """At an end of the cell, at a knot, at the query's fraction, or at the query itself outside the range."""
    rng = np.random.default_rng(0)
    items, queries = np.sort(rng.normal(size=(4000, 1)), axis=0), 2 * rng.normal(size=(20, 1))
    d = rough_distance(Grid([np.array([-1.0, -0.2, 0.4, 1.1])]), seed=3)
    view, _, cells, packed = built(d, items)
    points = view.points(queries)
    tables = Filter(cells, view).minima(view.block(points))[:, 0]
    code = packed[:, 0] & 15
    true = d.pairwise(queries, items)
    for c in range(CODES):
        inside = true[:, code == c]
        if inside.size:
            assert (tables[:, c] <= inside.min(axis=1) + 1e-12).all()
            assert np.median(inside.min(axis=1) - tables[:, c]) < 0.01 * true.max()
        else:
            assert np.isinf(tables[:, c]).all()


@pytest.mark.parametrize("far", [1.0, 1e100, 1e303, 1e308])
@pytest.mark.parametrize("rise", [1e-9, 1.0, 1e200])
def test_edges_never_fall_however_far_the_items_are(far, rise):
    knots, scale = np.array([-far, 0.0, 1e-11 * far]), rise * np.array([0.0, 1.0, 2.0])
    edges = Warp(knots, scale, rise * np.linspace(0.0, 1.9, 40)).edges(CODES)
    assert (edges[1:] >= edges[:-1]).all()
    if far < 1e308:
        assert np.isfinite(edges).all()
        assert edges[0] < 0 < edges[-1]


@pytest.mark.parametrize("n_parts", [1, 255, 256, 257, 400, 512, 513, 900, 1024, 1500])
def test_parts_are_packed_into_at_most_256_columns(n_parts):
    rng = np.random.default_rng(0)
    items = rng.normal(size=(60, n_parts))
    layout = CellLayout.fit(QueryView(rough_distance(Grid.fit(items, n_knots=2))), items, 0)
    assert layout.n_columns == min(n_parts, MOST_COLUMNS)
    cells_of_column = np.ones(layout.n_columns, np.int64)
    np.multiply.at(cells_of_column, layout.column, layout.count)
    assert (cells_of_column <= CODES).all()
    seen = {(c, s) for c, s, n in zip(layout.column, layout.step, layout.count, strict=True) if n > 1}
    assert len(seen) == (layout.count > 1).sum()  # no two parts share digits


def test_cells_follow_steepness_and_items():
    """Where the table is flat, or no item is, few cells end."""
    rng = np.random.default_rng(0)
    items = rng.uniform(0, 2, (5000, 1))
    d = rough_distance(Grid([np.array([0.0, 1.0, 2.0])]))
    flat = d.weights.copy()
    flat[:] = [1e-6, 1.0, 1.0]  # (0, 1), (0, 2), (1, 2): nothing happens between 0 and 1
    steep = type(d)(d.embedding, flat, d.epsilon, d.feature_names)
    edges = CellLayout.fit(QueryView(steep), items, 0).edges[0]
    assert (edges[np.isfinite(edges)] > 1).mean() > 0.8


def test_codes_of_other_vectors_are_those_of_items():
    rng = np.random.default_rng(0)
    items = rng.normal(size=(200, 5))
    view, layout, _, packed = built(rough_distance(Grid.fit(items, n_knots=4)), items)
    assert (packed_codes(layout, view.points(items).positions) == packed).all()


@pytest.mark.parametrize("kind", ["singles", "pairs", "singles and pairs"])
def test_cells_and_codes_do_not_depend_on_blocks_or_threads(monkeypatch, kind):
    _, items, _ = search_problem(500)
    view = QueryView(rough_distance(Grid.fit(items, n_knots=5), kind=kind))
    layout, points = CellLayout.fit(view, items, 0), view.points(items)
    one, codes = Cells.of(layout, view, points)
    monkeypatch.setattr(cells_module, "_ENCODED", 7 * layout.n_columns)
    two, again = Cells.of(layout, view, points, n_jobs=2)
    assert_array_equal(codes, again)
    for name in ("low", "high", "typical"):
        assert_array_equal(getattr(one, name), getattr(two, name))
