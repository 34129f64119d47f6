"""Shards searched one by one answer as one index, block by block of queries."""

import numpy as np
import pytest
from cases import assert_refused
from numpy.testing import assert_array_equal
from searches import search_problem

from semimetric import NeighborIndex, Semimetric, ShardedIndex
from semimetric.data.parts.engine import SerialEngine
from semimetric.distances.search import sharded as shard_building
from semimetric.distances.search import sharded as shard_search
from semimetric.distances.search import sharded as sharded_index
from semimetric.distances.search.shard_files import shard_locations
from semimetric.distances.search.sharded import graph, nearest, within

D, ITEMS, QUERIES = search_problem(120)
ITEMS = np.round(ITEMS, 1)  # so that distances tie
ONE = NeighborIndex(D).fit(ITEMS)
ENGINE = SerialEngine()


@pytest.fixture(params=[1, 3])
def places(request, tmp_path, monkeypatch):
    """The places of one shard or of three; blocks of two queries."""
    monkeypatch.setattr(shard_search, "_FEW", 2)
    ShardedIndex.build(tmp_path / "index", D, ITEMS, n_shards=request.param)
    return shard_locations(tmp_path / "index")


@pytest.mark.parametrize("algorithm", [None, "exact", "brute", "approximate"])
def test_the_nearest_are_those_of_one_index(places, algorithm):
    for k in (1, 7, 120):  # more than a shard holds
        found = nearest(ENGINE, places, QUERIES, k, algorithm=algorithm)
        distances, ids = ONE.kneighbors(QUERIES, k)
        assert_array_equal(found.ids, ids)
        assert_array_equal(found.distances, distances)


def test_all_within_a_radius_are_those_of_one_index(places):
    radius = float(np.median(ONE.kneighbors(QUERIES, 9)[0]))
    distances, ids = ONE.radius_neighbors(QUERIES, radius)
    for q, (found, rows) in enumerate(within(ENGINE, places, QUERIES, radius)):
        assert_array_equal(found, distances[q])
        assert_array_equal(rows, ids[q])


@pytest.mark.parametrize("mode", ["distance", "connectivity"])
def test_the_graph_is_that_of_one_index(places, mode):
    assert (graph(ENGINE, places, QUERIES, 4, mode) != ONE.kneighbors_graph(QUERIES, 4, mode)).nnz == 0


def test_what_no_index_answers_no_shards_answer(places):
    assert_refused(lambda: nearest(ENGINE, places, QUERIES, 121), "n_neighbors=121", "there are 120 items")
    assert_refused(lambda: nearest(ENGINE, places, QUERIES, 1, algorithm="fast"), "algorithm='fast'", "'exact'")
    assert_refused(lambda: within(ENGINE, places, QUERIES, -1.0), "radius=-1.0", "a finite number")
    assert_refused(lambda: graph(ENGINE, places, QUERIES, 1, "lengths"), "mode='lengths'", "'distance'")


def test_ties_of_the_sum_are_ties_within_a_radius_too(tmp_path):
    """Square roots make sums tie that differ; a shard must not order them by id."""
    d = Semimetric(D.embedding, D.weights, D.epsilon, D.feature_names, link="sqrt")
    origin = np.zeros((1, 4))
    items = origin + np.array([0.0, 0, 0, 1]) * (0.5 + np.arange(64)[::-1, None] * 2**-53)
    assert len(np.unique(d.paired(np.repeat(origin, 64, axis=0), items))) < len(np.unique(items[:, 3]))
    one = NeighborIndex(d).fit(items)
    ShardedIndex.build(tmp_path / "index", d, items, n_shards=3)
    want = one.radius_neighbors(origin, 10.0)
    for got, expected in zip(within(ENGINE, shard_locations(tmp_path / "index"), origin, 10.0)[0], want, strict=True):
        assert_array_equal(got, expected[0])


def test_what_is_interrupted_leaves_the_old_index_and_no_folder_beside_it(tmp_path, monkeypatch):
    index = ShardedIndex.build(tmp_path / "index", D, ITEMS, n_shards=2)
    before, files = index.kneighbors(QUERIES, 5), sorted(tmp_path.rglob("*"))
    saved = sharded_index.save_shard

    def interrupted(*arguments):
        saved(*arguments)
        raise KeyboardInterrupt

    for module in (sharded_index, shard_building):
        monkeypatch.setattr(module, "save_shard", interrupted)
    for call in (lambda: index.add(ITEMS), lambda: index.rebalance(3), lambda: ShardedIndex.build(index.folder, D, ITEMS[:9])):
        with pytest.raises(KeyboardInterrupt):
            call()
        assert sorted(tmp_path.rglob("*")) == files
        for got, want in zip(index.kneighbors(QUERIES, 5), before, strict=True):
            assert_array_equal(got, want)


def test_an_interruption_after_the_switch_leaves_the_new_index(tmp_path, monkeypatch):
    index = ShardedIndex.build(tmp_path / "index", D, ITEMS, n_shards=2)
    switch = sharded_index.switch

    def interrupted(*arguments, **options):
        switch(*arguments, **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(sharded_index, "switch", interrupted)
    with pytest.raises(KeyboardInterrupt):
        index.add(ITEMS[:3])
    assert index.n_samples_fit_ == ShardedIndex(index.folder).n_samples_fit_ == 123
