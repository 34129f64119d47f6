"""Lists of items: they hold every item once, their bounds are bounds, and the search in them answers as brute force does."""

import cases
import numpy as np
import pytest
import strategies as our
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from searches import rough_distance

from semimetric import Grid, NeighborIndex, Semimetric, load
from semimetric._kernels.list_scan import BINS, MOST_IN_LIST, BinTables, SumLimits, _down, bin_minima
from semimetric._kernels.search import _value
from semimetric._kernels.simd import LANES
from semimetric.distances.search import items as answers
from semimetric.distances.search import segment as module
from semimetric.distances.search.cells import CellLayout
from semimetric.distances.search.item_lists import ItemLists, ListScan
from semimetric.distances.search.query_tables import QueryView
from semimetric.distances.search.segment import SearchRequest, Segment


def segment_of(d, items, storage="float64", ids=None):
    view = QueryView(d)
    ids = np.arange(len(items)) if ids is None else ids
    layout = CellLayout.fit(view, items, 0)
    return Segment.build(view, layout, ids, items, n_lists=1, n_jobs=1, seed=0, storage=storage)


def problem(seed, n, n_features=5, kind="singles"):
    """Clustered items that tie, and queries near to and far from them."""
    rng = np.random.default_rng(seed)
    centers, m = rng.normal(size=(9, n_features)), max(n, 100)
    items = np.round(centers[rng.integers(0, 9, m)] + 0.3 * rng.normal(size=(m, n_features)), 1)
    queries = np.vstack([items[:40] + 0.05, 3 * rng.normal(size=(30, n_features))])
    return rough_distance(Grid.fit(items, n_knots=6), kind=kind, seed=seed), items[:n], queries


@pytest.mark.parametrize("storage", ["float64", "uint16"])
@pytest.mark.parametrize("kind", ["singles", "warped"] if "warped" in cases.EMBEDDINGS else ["singles"])
@given(seed=st.integers(0, 2**31), n=st.integers(1, 1200), k=st.integers(1, 40), share=st.sampled_from([0.02, 0.7, 1.0]))
@settings(max_examples=20)
def test_the_nearest_are_those_of_brute_force(storage, kind, seed, n, k, share):
    d, items, queries = problem(seed, n, kind=kind)
    rng = np.random.default_rng(seed)
    segment = segment_of(d, items, storage, rng.permutation(n))
    keep = None if share == 1.0 else rng.random(n) < share
    block = segment.view.block(segment.view.points(queries))
    want = segment._brute(block, k, segment.eligible(keep).rows)
    found = segment.list_scan.nearest(block, k, keep)
    assert_array_equal(found.sums, want.sums)
    assert_array_equal(found.rows, want.rows)
    assert (found.refined <= n).all()
    limits = want.sums[:, -1] if np.isfinite(want.sums).all() else None
    limited = segment.list_scan.nearest(block, k, keep, limits)
    assert_array_equal(limited.sums, want.sums)


def wide_index(n=600, n_features=300, **options):
    """An index of few items of many values, as many queries as make lists of them, and brute force."""
    d, items, queries = problem(0, n, n_features=n_features)
    queries = np.resize(queries, (module._LOOKS, n_features))
    return NeighborIndex(d, **options).fit(items), NeighborIndex(d, algorithm="brute", **options).fit(items), queries


def has_lists(index):
    return "_item_lists" in vars(index.segments_[0])


@pytest.mark.parametrize("storage", ["float64", "uint16"])
def test_few_items_of_many_values_are_searched_in_lists_once_that_pays(storage, tmp_path):
    index, brute, queries = wide_index(storage=storage)
    wanted = brute.kneighbors(queries, 7)
    index.kneighbors(queries[:-1], 7)
    index.radius_neighbors(queries[-1:], 1.0)
    assert not has_lists(index)
    for _ in range(3):  # The first query looks at all items once more, and the next ones go through lists.
        for found, want in zip(index.kneighbors(queries, 7), wanted, strict=True):
            assert_array_equal(found, want)
    assert has_lists(index)
    for found, want in zip(index.radius_neighbors(queries, 1.0), brute.radius_neighbors(queries, 1.0), strict=True):
        assert all(map(np.array_equal, found, want))
    index.save(tmp_path / "index")
    loaded = load(tmp_path / "index")
    assert has_lists(loaded)
    gone = wanted[1][0, :3]
    for one in (index, loaded, brute):
        one.remove(gone)
    assert has_lists(index)
    for one in (index, loaded):
        for found, want in zip(one.kneighbors(queries, 7), brute.kneighbors(queries, 7), strict=True):
            assert_array_equal(found, want)


WITHOUT = {  # what is asked, and how many items of how many features there are
    "narrow": ({}, 600, 218),
    "few": ({}, 512, 300),
    "many neighbours": ({"n_neighbors": 75}, 600, 300),
    "few eligible": ({"where": np.arange(3000) < 700}, 3000, 300),
    "brute": ({"algorithm": "brute"}, 600, 300),
    "approximate": ({"algorithm": "approximate", "n_candidates": 7}, 600, 300),
}


@pytest.mark.parametrize("name", WITHOUT)
def test_others_make_no_lists_and_are_answered_as_before(name):
    options, n, n_features = WITHOUT[name]
    index, brute, queries = wide_index(n, n_features)
    options = {"n_neighbors": 7} | options
    if name == "few eligible":  # of a segment that has lists
        index.kneighbors(queries, 7)
    before = has_lists(index)
    wanted = brute.kneighbors(
        queries, **{key: value for key, value in options.items() if key != "n_candidates"} | {"algorithm": "brute"}
    )
    for _ in range(2):
        for found, want in zip(index.kneighbors(queries, **options), wanted, strict=True):
            assert_array_equal(found, want)
    assert has_lists(index) == before
    assert not index.segments_[0]._few_are_listed(700 if name == "few eligible" else n, options["n_neighbors"])


def test_just_more_than_the_limits_are_listed():
    for n, n_features, k in ((600, 219, 7), (513, 300, 7), (601, 300, 75)):
        index, _, queries = wide_index(n, n_features)
        index.kneighbors(queries, k)
        assert index.segments_[0]._few_are_listed(n, k)


@given(seed=st.integers(0, 2**31), n=st.integers(1, 1200), k=st.integers(1, 40))
@settings(max_examples=20)
def test_items_near_by_their_bins_are_those_of_the_least_sums_but_for_those_far_by_cells(seed, n, k):
    """Where all lists are visited; the sum between two bins is the least over the one, from the middle of the other."""
    d, items, _ = problem(seed, n)
    scan = segment_of(d, items, "float64").list_scan
    k, in_order, n_lists = min(k, n), scan.lists.arrays.rows, len(scan.lists.arrays.starts) - 1
    bins = scan.refinement.items.positions.astype(np.int64)
    for e, edges in enumerate(scan.lists.edges):
        bins[:, e] = np.searchsorted(edges, scan.refinement.items.positions[:, e])
    sums, by_cells = np.zeros((n, n), np.float32), np.zeros((n, n), np.float32)
    for e, of_feature in enumerate(bins.T):
        sums += scan._of_bins.above[:, e][of_feature][:, of_feature]
        by_cells += scan._of_bins.cells.reshape(64, -1, 16)[:, e][of_feature][:, of_feature // 4]
    assert (np.diagonal(sums) <= sums.min(axis=1) + 1e-6).all()
    sums, by_cells = sums[in_order], by_cells[in_order]
    for first in (0, n // 3):  # n // 3 is a place within a list
        found = scan.near_items(slice(first, n), k, n_lists, n_lists)
        got = np.take_along_axis(sums[first:], found, axis=1)
        assert all(len(set(row)) == k for row in found)
        assert (np.diff(got, axis=1) >= -1e-5 * got[:, 1:] - 1e-6).all()
        left_out = np.ones((n - first, n), dtype=bool)
        np.put_along_axis(left_out, found, False, axis=1)
        nearer = left_out & (sums[first:] < (1 - 1e-5) * got[:, -1:] - 1e-6)
        assert (by_cells[first:] > (1 - 1e-5) * got[:, -1:])[nearer].all()
        assert nearer.sum() <= 0.2 * found.size


@pytest.mark.parametrize("storage", ["float64", "uint16"])
@given(seed=st.integers(0, 2**31), n=st.integers(1, 900), share=st.sampled_from([0.0, 0.01, 0.5, 1.0, 2.0]))
@settings(max_examples=20)
def test_all_items_within_a_limit_are_named_once(storage, seed, n, share):
    d, items, queries = problem(seed, n)
    segment = segment_of(d, items, storage)
    block, every = segment.view.block(segment.view.points(queries)), d.pairwise(queries, items)
    limit = share * float(every.max()) * (1 + 1e-9)  # which no distance is within rounding of
    found = segment.list_scan.within(block, limit, None)
    assert len(found) == len(queries)
    for q, (sums, rows) in enumerate(found):
        assert len(set(rows)) == len(rows)
        assert_array_equal(np.sort(rows[sums <= limit]), np.flatnonzero(every[q] <= limit))


@given(data=st.data(), seed=st.integers(0, 1000), side=st.sampled_from(["query-first", "query-last"]))
@settings(max_examples=30)
def test_missing_periodic_and_categorical_features_and_points_outside(data, seed, side):
    grid = data.draw(our.mixed_grids())
    items, queries = data.draw(our.points(grid, 24)), data.draw(our.points(grid, 5))
    items = items[np.random.default_rng(seed).integers(0, 24, 300)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_FEW", 0)
        index = NeighborIndex(rough_distance(grid, seed=seed), side=side).fit(items)
        found, want = (index.kneighbors(queries, 7, algorithm=a) for a in ("exact", "brute"))
    for one, other in zip(found, want, strict=True):
        assert_array_equal(one, other)


@pytest.mark.parametrize("outside", [1.0, 0.0, 1e300])
@pytest.mark.parametrize("scale", [1e-300, 1e-40, 1e-37, 1.0, 1e37, 1e40, 1e300])
def test_distances_of_any_size_are_bounded(scale, outside):
    """Also where they rise far more steeply outside of the range than their tables, or not at all."""
    d, items, queries = problem(3, 700)
    items[::7] *= 40
    slopes = d.epsilon * min(scale * max(outside, 1.0), 1e290) * (outside > 0)
    scaled = Semimetric(d.embedding, d.weights * scale, slopes, d.feature_names)
    segment = segment_of(scaled, items)
    block = segment.view.block(segment.view.points(queries))
    found, want = segment.list_scan.nearest(block, 5, None), segment._brute(block, 5, np.arange(700))
    assert_array_equal(found.rows, want.rows)
    assert_array_equal(found.sums, want.sums)


@given(st.floats(allow_nan=False))
def test_numbers_are_rounded_down_to_32_bits(value):
    with np.errstate(over="ignore", under="ignore"):
        assert _down(value) <= value or value == -np.inf


@given(seed=st.integers(0, 2**31), n=st.integers(1, 3000), kind=st.sampled_from(["varied", "equal", "two"]))
@settings(max_examples=25)
def test_every_item_is_in_one_list(seed, n, kind):
    d, items, _ = problem(seed, n)
    items = {"varied": items, "equal": items[:1].repeat(n, axis=0), "two": items[:2][np.arange(n) % min(n, 2)]}[kind]
    view = QueryView(d)
    points = view.points(items)
    lists = ItemLists.of(view, points)
    arrays, (low, high) = lists.arrays, lists.ranges
    assert_array_equal(np.sort(arrays.rows), np.arange(n))
    again = ItemLists.loaded(view, points, lists.large, lists.small, lambda: None)
    for one, other in zip((*again.arrays, *again.ranges), (*arrays, low, high), strict=True):
        assert_array_equal(one, other)
    sizes = np.diff(arrays.starts)
    assert sizes.min() > 0
    assert sizes.max() <= MOST_IN_LIST
    assert np.ptp(sizes) <= 2 + n // len(sizes) // 8
    held = arrays.bins.reshape(-1, view.n_tables, LANES)
    where = [(arrays.blocks[i] + r // LANES, r % LANES) for i, size in enumerate(sizes) for r in range(size)]
    every = np.array([held[block, :, lane] for block, lane in where])
    positions = points.positions[arrays.rows][:, : view.n_tables]
    for e in range(view.n_tables):
        assert (low[e, every[:, e]] <= positions[:, e]).all()
        assert (positions[:, e] <= high[e, every[:, e]]).all()
    for i, (a, z) in enumerate(zip(arrays.starts[:-1], arrays.starts[1:], strict=True)):
        covered = [set(range(s % BINS, s % BINS + (1 << s // BINS))) for s in arrays.spans[i].ravel().tolist()]
        for e in range(view.n_tables):
            own = every[a:z, e]
            assert covered[2 * e] | covered[2 * e + 1] == set(range(own.min(), own.max() + 1))


@pytest.mark.slow
def test_the_value_of_a_bin_is_its_least():
    """What lists and codes are dropped by, against a fine sample of every bin."""
    d, items, queries = problem(5, 600)
    scan = segment_of(d, items).list_scan
    view, bins = scan.view, scan.bins
    block = view.block(view.points(queries))
    n, n_parts = len(queries), len(bins.low)
    shapes = (n, n_parts, BINS), (n, 16 * n_parts)
    out = BinTables(*(np.empty(shape, np.float32) for shape in shapes), np.zeros((n, n_parts + 1)), np.empty(n))
    for q in range(n):
        bin_minima(view.scales, block.profiles, q, bins, SumLimits(np.empty(n), np.empty(n), 1.0, 1.0), out)
        for e, c in zip(*np.nonzero(bins.low <= bins.high), strict=True):
            fine = np.linspace(bins.low[e, c], bins.high[e, c], 200)
            own = np.array([_value(x, e, view.scales, block.profiles, q) for x in fine])
            least = out.above[q, e, c] + out.rest[q, e] - out.rest[q, e + 1]
            assert own.min() - 0.2 <= least <= own.min() + 1e-9
            assert out.cells[q, 16 * e + c // 4] <= out.above[q, e, c]


def test_queries_are_put_in_an_order_and_answered_in_their_own(monkeypatch):
    d, items, _ = problem(7, 4000)
    queries = items[::-1][:1500] + 0.01
    index = NeighborIndex(d, n_jobs=2).fit(items)
    order = index.segments_[0].list_scan.lists.order(index._view, queries)
    assert_array_equal(np.sort(order), np.arange(len(queries)))
    assert (order != np.arange(len(queries))).any()
    ordered = index.search(queries, 4)
    radius = float(np.median(ordered.distances[:, -1]))
    within = index.radius_neighbors(queries, radius)
    monkeypatch.setattr(answers, "_FEW", len(queries))
    plain = index.search(queries, 4)
    for one, other in zip(ordered, plain, strict=True):
        assert one.shape == other.shape
    assert_array_equal(ordered.ids, plain.ids)
    assert_array_equal(ordered.distances, plain.distances)
    for one, other in zip(within, index.radius_neighbors(queries, radius), strict=True):
        for a, b in zip(one, other, strict=True):
            assert_array_equal(a, b)


@pytest.mark.slow
def test_all_items_are_joined_with_themselves_as_by_brute_force():
    d, items, _ = problem(11, 5000)
    index = NeighborIndex(d, n_jobs=2).fit(items[:4000]).add(items[4000:]).remove(np.arange(0, 500, 7))
    for one, other in zip(index.kneighbors(None, 6), index.kneighbors(None, 6, algorithm="brute"), strict=True):
        assert_array_equal(one, other)
    graph = index.kneighbors_graph(n_neighbors=6, mode="distance")
    assert graph.shape == (index.n_samples_fit_,) * 2
    assert (graph.diagonal() == 0).all()
    distances, ids = index.radius_neighbors(None, 0.05)
    every = d.pairwise(index.encoded_items_, index.encoded_items_)
    for i in range(0, len(ids), 97):
        near = np.flatnonzero(every[i] <= 0.05)
        assert_array_equal(np.sort(ids[i]), np.sort(index.ids_[near[near != i]]))


def test_lists_are_shared_by_distances_of_the_same_cells():
    d, items, queries = problem(13, 3000)
    segment = segment_of(d, items)
    lists = segment.list_scan.lists
    other = segment.under(QueryView(rough_distance(d.embedding.grid, seed=99)))
    assert isinstance(other.list_scan, ListScan)
    assert other.list_scan.lists is lists
    block = other.view.block(other.view.points(queries))
    found, want = (other.nearest(block, SearchRequest(5, a), None) for a in ("exact", "brute"))
    assert_array_equal(found.rows, want.rows)
