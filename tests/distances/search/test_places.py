"""Places in 16 bits: estimates err by no more than they say, for features of every kind, and items stay where they lie."""

import cases
import numpy as np
import pytest
import strategies as our
from cases import assert_refused
from hypothesis import given, settings, target
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from searches import rough_distance, search_problem

from semimetric import Grid, NeighborIndex
from semimetric._kernels.places import FAR, Estimates, estimate
from semimetric._kernels.search import Candidates, values
from semimetric.distances.search.query_tables import QueryView
from semimetric.distances.search.refinement import estimate_errors, located_items

NOTHING = np.empty(0)


@given(data=st.data(), seed=st.integers(0, 1000), mixed=st.booleans())
@settings(max_examples=40)
def test_the_bound_stays_below_the_exact_sum(data, seed, mixed):
    grid = data.draw(our.mixed_grids() if mixed else our.grids())
    items, queries = data.draw(our.points(grid, 12)), data.draw(our.points(grid, 2))
    if grid.kinds[0] == "numeric":
        items[0, 0], queries[0, 0] = 1e5, data.draw(st.sampled_from([0.0, -1e5, 1e5]))
    view = QueryView(rough_distance(grid, seed=seed), data.draw(st.sampled_from(["query-first", "query-last"])))
    points, block = located_items(view, items, "uint16"), view.block(view.points(queries))
    assert_array_equal(points.positions[3:7], view.points(items).positions[3:7])
    slack = estimate_errors(points.coded, view, block.profiles)
    far = (points.coded.codes == FAR).any(axis=1)
    for b in range(2):
        exact, found = np.empty(12), Estimates(np.empty((1, 12)), np.full((1, 3), np.inf), np.empty(1, np.int64))
        values(view.scales, block.profiles, b, points.positions[:], np.arange(12), -np.inf, exact)
        named = Candidates(np.arange(12), NOTHING, NOTHING)
        estimate(view.scales, block.profiles, b, points.coded, named, 0.0, found)
        assert (found.sums[0] - slack[b] <= exact).all()
        assert (found.sums[0, ~far] + slack[b] >= exact[~far]).all()
        assert_array_equal(far, np.isneginf(found.sums[0]))
        assert_array_equal(found.smallest[0], np.sort(np.append(found.sums[0, ~far], [np.inf] * 3))[:3])
        target(
            float(np.max(np.abs(found.sums[0, ~far] - exact[~far]) / slack[b], initial=0.0)), label=f"worst share of query {b}"
        )


def test_the_bound_is_not_idle():
    d, items, queries = search_problem(2000)
    view = QueryView(d)
    points, block = located_items(view, items, "uint16"), view.block(view.points(queries))
    slack, exact = estimate_errors(points.coded, view, block.profiles), np.empty(2000)
    found = Estimates(np.empty((1, 2000)), np.full((1, 1), np.inf), np.empty(1, np.int64))
    values(view.scales, block.profiles, 0, points.positions[:], np.arange(2000), -np.inf, exact)
    estimate(view.scales, block.profiles, 0, points.coded, Candidates(np.arange(2000), NOTHING, NOTHING), 0.0, found)
    error = np.abs(found.sums[0] - exact).max()
    assert 0.0 < slack[0] / 100 < error < slack[0] < 1e-3 * exact.mean()


def test_categories_and_missing_values_have_no_error():
    grid = Grid([np.arange(4.0), np.array([0.0, 1.0, 2.5])], ["categorical", "numeric"], [True, True])
    items = np.array([[0.0, 1.0], [np.nan, 2.5], [2.0, np.nan], [1.0, 0.0]])
    for storage in ("float64", "uint16"):
        assert len(located_items(QueryView(rough_distance(grid)), items, storage)) == 4
    assert (located_items(QueryView(rough_distance(grid)), items, "uint16").coded.error == 0.0).all()


def test_a_file_is_neither_copied_nor_read_whole(tmp_path):
    d, items, queries = search_problem(3000)
    np.save(tmp_path / "items.npy", items.astype(np.float32))
    mapped = np.load(tmp_path / "items.npy", mmap_mode="r")
    index = NeighborIndex(d, storage="uint16").fit(mapped)
    assert index.segments_[0].points.raw.base is not None
    assert np.shares_memory(index.segments_[0].points.raw, mapped)
    usage = index.memory_usage()
    assert (usage["items"], usage["positions"], usage["mapped"]) == (0, 3000 * 2 * 4, mapped.nbytes)
    want = NeighborIndex(d).fit(np.array(mapped)).kneighbors(queries, 5)
    for one, two in zip(index.kneighbors(queries, 5), want, strict=True):
        assert_array_equal(one, two)
    own = items.copy()
    for storage in ("float64", "uint16"):  # what its owner may change is copied
        assert not np.shares_memory(NeighborIndex(d, storage=storage).fit(own).segments_[0].points.raw, own)
    assert not np.shares_memory(NeighborIndex(d).fit(mapped).segments_[0].points.raw, mapped)


def test_other_storages_are_refused():
    d, items, _ = search_problem(60)
    assert_refused(lambda: NeighborIndex(d, storage="int8").fit(items), "storage='int8'", "'float64', 'uint16'")


@pytest.mark.parametrize("kind", cases.EMBEDDINGS)
def test_another_distance_of_the_same_cells_reads_the_same_places(kind):
    _, items, queries = search_problem(400)
    grid = Grid.fit(items, n_knots=4)
    one, two = (rough_distance(grid, kind=kind, seed=seed, low=0.05) for seed in (0, 1))
    index = NeighborIndex(one, storage="uint16").fit(items).with_semimetric(two)
    assert index.storage == index.segments_[0].storage == "uint16"
    for found, want in zip(index.kneighbors(queries, 5), NeighborIndex(two).fit(items).kneighbors(queries, 5), strict=True):
        assert_array_equal(found, want)
