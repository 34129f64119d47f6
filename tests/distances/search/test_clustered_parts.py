"""Shards of near items: every item is in one of them, and exact answers are those of one index."""

import numpy as np
import pytest
from cases import assert_refused
from numpy.testing import assert_array_equal
from searches import rough_distance

from semimetric import Grid, NeighborIndex, NotSupportedError, ShardedIndex
from semimetric.distances.search import scaled_clusters, segment
from semimetric.distances.search import sharded as clustered_parts

RNG = np.random.default_rng(0)
CENTRES = RNG.normal(size=(5, 3)) * 6
ITEMS = np.round(CENTRES[RNG.integers(0, 5, 400)] + RNG.normal(size=(400, 3)), 1)  # so that distances tie
QUERIES = CENTRES[RNG.integers(0, 5, 30)] + RNG.normal(size=(30, 3))
D = rough_distance(Grid.fit(ITEMS, n_knots=5), low=0.1)


@pytest.fixture(autouse=True)
def scans_for_few(monkeypatch):
    monkeypatch.setattr(segment, "_FEW", 0)
    monkeypatch.setattr(segment, "_WORTH", 0)
    monkeypatch.setattr(clustered_parts, "_ROWS", 64)


@pytest.mark.parametrize("storage", ["float64", "uint16"])
@pytest.mark.parametrize("n", [1, 2, 16])
def test_no_distance_is_below_the_bound_of_the_ranges_of_clusters(monkeypatch, storage, n):
    monkeypatch.setattr(scaled_clusters, "_ROWS", 64)
    monkeypatch.setattr(scaled_clusters, "_SAMPLE", 100)
    part = NeighborIndex(D, storage=storage).fit(ITEMS).segments_[0]
    low, high = scaled_clusters.ranges_of(part, n)
    assert low.shape == high.shape == (3, min(n, low.shape[1]))
    block = part.view.block(part.view.points(QUERIES))
    least = segment.least_sums(part.view, block, low, high).min(axis=1)
    far, near = high.max(axis=1, keepdims=True) + 5.0, D.pairwise(QUERIES, ITEMS).min(axis=1)
    rounded = scaled_clusters.RangeBounds.of([low, far], [high, far]).least(part.view, block)
    assert (rounded[:, 0] <= near).all()
    assert (rounded[:, 0] <= least).all()
    alone = segment.least_sums(part.view, block, far, far)[:, 0]
    assert (rounded[:, 1] <= alone).all()
    assert (rounded[:, 0] >= part.least(block) - 0.5 * near).all()  # bins are not much wider than ranges
    limits = np.random.default_rng(1).choice(rounded.ravel(), len(QUERIES)) * 1.01
    limited = scaled_clusters.RangeBounds.of([low, far], [high, far]).least(part.view, block, limits)
    assert (limited <= rounded).all()  # they end early above the limit, and only there
    clear = np.abs(rounded - limits[:, None]) > 1e-9
    assert_array_equal((limited > limits[:, None])[clear], (rounded > limits[:, None])[clear])
    near_limit = (limited <= limits[:, None]) & clear
    assert_array_equal(limited[near_limit], rounded[near_limit])
    assert (least <= near).all()
    assert (least >= part.least(block) - 1e-9).all()
    if n == 16:
        assert (least > part.least(block) + 0.01).any()  # several ranges are narrower than one


@pytest.mark.parametrize("storage", ["float64", "uint16"])
@pytest.mark.parametrize("partition", ["rows", "kmeans"])
@pytest.mark.parametrize("n_shards", [1, 3, 8])
def test_answers_are_those_of_one_index_to_the_bit(tmp_path, partition, n_shards, storage):
    ids = RNG.permutation(400)
    one = NeighborIndex(D).fit(ITEMS, ids=ids)
    shards = ShardedIndex.build(
        tmp_path / "s", D, ITEMS, ids=ids, n_shards=n_shards, memory_limit="1 MiB", partition=partition, storage=storage
    )
    assert_array_equal(np.sort(shards.ids_), np.arange(400))
    assert {place.open().storage for place in shards.locations} == {storage}
    for k in (1, 7, 200):  # more than a shard holds
        for got, want in zip(shards.kneighbors(QUERIES, k), one.kneighbors(QUERIES, k), strict=True):
            assert_array_equal(got, want)
    where = ids[ITEMS[:, 0] > 0]
    for got, want in zip(shards.kneighbors(QUERIES, 3, where=where), one.kneighbors(QUERIES, 3, where=where), strict=True):
        assert_array_equal(got, want)


def test_shards_that_can_hold_no_answer_are_not_searched(tmp_path, monkeypatch):
    asked = []
    nearest = segment.Segment.nearest

    def counted(self, queries, *arguments):
        asked.append(len(queries))
        return nearest(self, queries, *arguments)

    monkeypatch.setattr(segment.Segment, "nearest", counted)
    counts = {}
    for partition in ("rows", "kmeans"):
        shards = ShardedIndex.build(tmp_path / partition, D, ITEMS, n_shards=5, partition=partition)
        asked.clear()
        shards.kneighbors(QUERIES, 3)
        counts[partition] = sum(asked)
    assert len(QUERIES) <= counts["kmeans"] < counts["rows"]


def test_no_distance_is_below_the_bound_of_its_segment():
    index = NeighborIndex(D).fit(ITEMS)
    part = index.segments_[0]
    least = part.least(part.view.block(part.view.points(QUERIES)))
    distances = D.pairwise(QUERIES, ITEMS)
    assert (least <= distances.min(axis=1)).all()


def test_chosen_rows_of_a_mapped_file_are_those_of_the_array(tmp_path):
    np.save(tmp_path / "items.npy", ITEMS)
    one, two = (
        ShardedIndex.build(tmp_path / name, D, X, n_shards=4, partition="kmeans")
        for name, X in (("a", ITEMS), ("b", tmp_path / "items.npy"))
    )
    assert_array_equal(one.ids_, two.ids_)
    assert_array_equal(one.kneighbors(QUERIES, 3)[1], two.kneighbors(QUERIES, 3)[1])


def test_what_cannot_be_clustered_is_refused(tmp_path):
    joint = rough_distance(Grid.fit(ITEMS, n_knots=3), kind="joint")
    with pytest.raises(NotSupportedError, match="partition='rows'"):
        ShardedIndex.build(tmp_path / "s", joint, ITEMS, n_shards=2, partition="kmeans")
    assert_refused(lambda: ShardedIndex.build(tmp_path / "s", D, ITEMS, partition="hash"), "partition='hash'", "'kmeans'")
    assert_refused(lambda: ShardedIndex.build(tmp_path / "s", D, ITEMS, storage="int8"), "storage='int8'", "'uint16'")


def test_items_of_a_shard_lie_in_the_order_of_their_lists(tmp_path):
    ids, payload = np.arange(400)[::-1] * 3, {"row": np.arange(400)}
    shards = ShardedIndex.build(
        tmp_path / "s", D, ITEMS, ids=ids, n_shards=2, memory_limit="1 MiB", partition="kmeans", payload=payload
    )
    apart = []
    for index in (place.open() for place in shards.locations):
        raw = index.segments_[0].points.raw
        rows = (1197 - index.ids_) // 3
        assert_array_equal(raw, ITEMS[rows])
        assert_array_equal(index.payload_["row"].cells, rows)
        assert_array_equal(index.segments_[0].list_scan.lists.arrays.rows, np.arange(len(raw)))
        apart.append(D.paired(raw[1:], raw[:-1]).mean() / D.pairwise(raw, raw).mean())
    assert max(apart) < 0.6  # those one after another are near
