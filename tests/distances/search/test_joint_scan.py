"""Bounds of joint groups are below the distance, whatever its kind, and exact search by them is brute force to the bit."""

import cases
import mixed_distances
import numpy as np
import pytest
import strategies as our
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from searches import rough_distance

from semimetric import Grid, NeighborIndex, Semimetric
from semimetric.distances.pairs.full_tables import PairEmbedding
from semimetric.distances.search import joint as joint_scan
from semimetric.distances.search import query_tables as joint_tables
from semimetric.distances.search import segment
from semimetric.distances.search import segment as scan_choice
from semimetric.distances.search.cells import CellLayout
from semimetric.distances.search.joint import has_boxes
from semimetric.distances.search.query_tables import QueryView
from semimetric.distances.search.segment import Segment

SIDES = st.sampled_from(["query-first", "query-last"])
JOINT = ["pairs", "joint", "overlapping", "swapped", "asymmetric", "touched"]


@pytest.fixture(autouse=True)
def scans_for_few(monkeypatch):
    """Small sets are scanned too, over boxes wherever there are any."""
    monkeypatch.setattr(segment, "_FEW", 0)
    monkeypatch.setattr(segment, "_WORTH", 0)
    monkeypatch.setattr(scan_choice, "_COLUMN", 1e9)


def built(d, items, side="query-first"):
    view = QueryView(d, side)
    layout = CellLayout.fit(view, items, 0)
    return Segment.build(view, layout, np.arange(len(items)), items, n_lists=1, n_jobs=None, seed=0)


def assert_bounds_hold(d, items, queries, side="query-first"):
    """Both the bounds of boxes and the whole numbers that they are rounded down to; returns how far below they are."""
    built_segment = built(d, items, side)
    scan, block = built_segment._joint_scan, built_segment.view.block(built_segment.view.points(queries))
    every = d.link_function.invert(d.pairwise(queries, items) if side == "query-first" else d.pairwise(items, queries).T)
    slacks = []
    for q in range(len(queries)):
        codes, bounds, scanned = scan.codes.codes, scan.bounds(block, q), scan.scanned(block, q)
        exact = bounds[np.arange(len(codes))[:, None], codes].sum(axis=0) + scan._floor
        rounding = 1e-12 * (scan.view.size + np.abs(every[q]).max())
        assert (exact <= every[q] + rounding).all()
        assert (scanned.bounds(scanned.sums) <= every[q] + scanned.slack + rounding).all()
        slacks.append(every[q] - exact)
    return np.array(slacks)


@pytest.mark.parametrize("kind", JOINT)
@given(data=st.data(), seed=st.integers(0, 2**31), side=SIDES)
@settings(max_examples=25)
def test_bounds_of_boxes_are_below_the_distance(kind, data, seed, side):
    grid = data.draw((our.grids if kind == "touched" else our.mixed_grids)(max_features=3, max_knots=4))
    items, queries = data.draw(our.points(grid, 24)), data.draw(our.points(grid, 3))
    d = rough_distance(grid, kind=kind, seed=seed)
    if has_boxes(QueryView(d)):  # one feature alone has no joint group
        assert_bounds_hold(d, items, np.vstack([queries, items[:2]]), side)


@pytest.mark.slow
@pytest.mark.parametrize("way", [{"_MOST_EXPANDED": -1}, {"_MOST_EXPANDED": -1, "_MOST_GATHERED": 60}])
@pytest.mark.parametrize("side", ["query-first", "query-last"])
@given(seed=st.integers(0, 2**31))
@settings(max_examples=10)
def test_bounds_hold_for_gathered_rows_and_merged_groups(way, side, seed):
    rng = np.random.default_rng(seed)
    grid = Grid([np.sort(rng.random(k)) for k in (4, 3, 5)])
    symmetry = str(rng.choice(["tie", "swap", "none"]))
    whole = PairEmbedding(grid, [(0, 2), (2, 1, 0), (1,)], symmetry=symmetry)
    touched = [v.keys[::3] for v in whole.vertices]
    embedding = PairEmbedding(grid, whole.groups, symmetry=symmetry, touched=touched, unseen_slopes=rng.random(3))
    d = Semimetric(embedding, rng.normal(size=embedding.n_columns), rng.random(3), ("a", "b", "c"))
    with pytest.MonkeyPatch.context() as patched:
        for name, value in way.items():
            patched.setattr(joint_tables, name, value)
        items, queries = rng.uniform(-0.2, 1.2, (200, 3)), rng.uniform(-0.2, 1.2, (4, 3))
        assert_bounds_hold(d, items, queries, side)
        index = NeighborIndex(d, side=side).fit(items)
        exact, brute = index.search(queries, 3), index.search(queries, 3, algorithm="brute")
    assert_array_equal(exact.ids, brute.ids)
    assert_array_equal(exact.distances, brute.distances)


def test_the_bound_of_a_box_is_nearly_reached():
    """Of many items in a box the nearest comes close, but where the box holds a diagonal of its cell."""
    rng = np.random.default_rng(0)
    items, queries = rng.random((30_000, 2)), rng.random((5, 2))
    d = rough_distance(Grid([np.linspace(0, 1, 5)] * 2), kind="pairs")
    slack = assert_bounds_hold(d, items, queries)
    codes = built(d, items)._joint_codes.codes[0]
    assert len(np.unique(codes)) == 256
    least = np.array([slack[:, codes == c].min(axis=1) for c in range(256)])
    assert np.median(least) < 0.05 * np.median(d.pairwise(queries, items[:100]))


def test_the_bound_of_an_interval_of_one_value_is_reached():
    rng = np.random.default_rng(0)
    grid = Grid([np.arange(5.0), np.arange(4.0)], ("categorical", "categorical"))
    items = np.column_stack([rng.integers(0, 5, 300), rng.integers(0, 4, 300)]).astype(float)
    d = rough_distance(grid, kind="pairs")
    assert np.abs(assert_bounds_hold(d, items, items[:20])).max() < 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("groups", [name for name in mixed_distances.GROUPS if name != "singles"])
@pytest.mark.parametrize("gaps", [False, True])
@given(seed=st.integers(0, 2**31), side=SIDES, link=st.sampled_from(["identity", "sqrt"]), k=st.integers(1, 6))
@settings(max_examples=8)
def test_exact_search_is_brute_force_on_mixed_tables_with_directions(groups, gaps, seed, side, link, k):
    rng = np.random.default_rng(seed)
    d = mixed_distances.distance(seed, groups, gaps=gaps, link=link, bends=bool(seed % 2), low=0.0)
    items, queries = mixed_distances.items(rng, 150, gaps), mixed_distances.items(rng, 5, gaps)
    items = items[rng.integers(0, 150, 300)]  # duplicates, whose distances tie
    queries[0] = items[0]
    storage = "uint16" if seed % 3 == 0 else "float64"
    index = NeighborIndex(d, side=side, storage=storage).fit(items, ids=rng.permutation(300))
    keep = rng.random(300) < 0.4
    for where in (None, keep):
        exact, brute = (index.search(queries, k, algorithm=a, where=where) for a in ("exact", "brute"))
        assert_array_equal(exact.ids, brute.ids)
        assert_array_equal(exact.distances, brute.distances)
    radius = float(np.median(index.kneighbors(queries, 20, algorithm="brute")[0]))
    distances, ids = index.kneighbors(queries, 300, algorithm="brute")
    within, near = index.radius_neighbors(queries, radius)
    for q in range(len(queries)):
        assert_array_equal(near[q], ids[q][distances[q] <= radius])
        assert_array_equal(within[q], distances[q][distances[q] <= radius])


@pytest.mark.compiled
@pytest.mark.parametrize("kind", ["pairs", "asymmetric", "swapped"])
def test_few_items_are_refined(kind):
    rng = np.random.default_rng(0)
    items, queries = rng.random((20_000, 3)), rng.random((20, 3))
    d = rough_distance(Grid.fit(items, n_knots=4), kind=kind, low=0.2)
    index = NeighborIndex(d).fit(items)
    exact, brute = index.search(queries, 5), index.search(queries, 5, algorithm="brute")
    assert_array_equal(exact.ids, brute.ids)
    assert_array_equal(exact.distances, brute.distances)
    assert np.median(exact.refined) < 2_000


def test_other_weights_keep_the_codes():
    rng = np.random.default_rng(0)
    items = rng.random((3000, 3))
    grid = Grid.fit(items, n_knots=4)
    index = NeighborIndex(rough_distance(grid, kind="pairs")).fit(items)
    index.kneighbors(items[:2], 3)
    other = index.with_semimetric(rough_distance(grid, kind="pairs", seed=1))
    assert other.segments_[0]._joint_codes is index.segments_[0]._joint_codes
    got, want = (other.kneighbors(items[:9], 3, algorithm=a) for a in ("exact", "brute"))
    assert_array_equal(got[0], want[0])
    assert_array_equal(got[1], want[1])


def test_items_that_are_removed_or_left_out_are_never_answered():
    rng = np.random.default_rng(0)
    items = rng.random((3000, 3))
    d = rough_distance(Grid.fit(items, n_knots=4), kind="pairs", low=0.2)
    index = NeighborIndex(d).fit(items).remove(np.arange(20))
    got, want = (index.kneighbors(items[:20], 4, algorithm=a) for a in ("exact", "brute"))
    assert got[1].min() >= 20
    assert_array_equal(got[1], want[1])
    one = index.kneighbors(items[:3], 4, where=[2000, 2500])
    assert_array_equal(np.sort(one[1], axis=1), [[2000, 2500]] * 3)


def test_groups_of_many_features_keep_the_scan_of_columns():
    d = rough_distance(Grid([np.arange(2.0)] * 5), kind="joint")
    assert not has_boxes(QueryView(d))
    assert has_boxes(QueryView(rough_distance(Grid([np.arange(2.0)] * 4), kind="joint")))
    assert not has_boxes(QueryView(rough_distance(Grid([np.arange(2.0)] * 4))))
    assert joint_scan.MOST_FEATURES == 4


def test_a_flat_table_names_every_item():
    grid = Grid([np.array([0.0, 1.0])] * 2)
    embedding = PairEmbedding(grid, "pairs")
    d = Semimetric(embedding, np.zeros(embedding.n_columns), np.zeros(2), ("a", "b"))
    items = np.random.default_rng(0).random((50, 2))
    found = NeighborIndex(d).fit(items).search(items[:3], 4)
    assert_array_equal(found.ids, [[0, 1, 2, 3]] * 3)
    assert_array_equal(NeighborIndex(d).fit(items).radius_neighbors(items[:1], 0.0)[1][0], np.arange(50))


@pytest.mark.parametrize("name", ["pairs", "joint", "touched", "concave link", "periodic"])
def test_learned_models_are_searched_exactly(name):
    model, items, *_ = cases.fitted(name)
    index = NeighborIndex(model).fit(items)
    exact, brute = (index.search(items, 5, algorithm=a) for a in ("exact", "brute"))
    assert_array_equal(exact.ids, brute.ids)
    assert_array_equal(exact.distances, brute.distances)
