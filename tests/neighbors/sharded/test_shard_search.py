"""Shards searched one by one answer as one index, block by block of queries."""

import numpy as np
import pytest
from cases import assert_refused
from numpy.testing import assert_array_equal
from searches import search_problem

from semimetric import NeighborIndex, ShardedIndex
from semimetric.data.parts.engine import SerialEngine
from semimetric.neighbors.sharded import shard_search
from semimetric.neighbors.sharded.shard_files import places_of
from semimetric.neighbors.sharded.shard_search import graph, nearest, within

D, ITEMS, QUERIES = search_problem(120)
ITEMS = np.round(ITEMS, 1)  # so that distances tie
ONE = NeighborIndex(D).fit(ITEMS)
ENGINE = SerialEngine()


@pytest.fixture(params=[1, 3])
def places(request, tmp_path, monkeypatch):
    """The places of one shard or of three; blocks of two queries."""
    monkeypatch.setattr(shard_search, "_FEW", 2)
    ShardedIndex.build(tmp_path / "index", D, ITEMS, n_shards=request.param)
    return places_of(tmp_path / "index")


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
