"""Answers of shards that are opened where they are: those of one index, whatever the number of shards."""

import cases
import numpy as np
import pytest
from cases import assert_refused

from semimetric import NeighborIndex, ShardedIndex
from semimetric.data.parts.engine import SerialEngine
from semimetric.distances.search.shard_files import shard_locations
from semimetric.distances.search.shard_search import graph, nearest, within

RNG = np.random.default_rng(0)
ITEMS = np.round(RNG.random((300, 3)), 1)  # so that distances tie
QUERIES = np.vstack([RNG.random((80, 3)), ITEMS[:20]])  # more than go to a shard at once


@pytest.fixture(scope="module", params=["singles", "joint", "premetric", "square root"])
def d(request):
    return cases.fitted(request.param)[0].semimetric_


@pytest.fixture(scope="module", params=[1, 4])
def places(d, request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("shards") / "index"
    ShardedIndex.build(folder, d, ITEMS, n_shards=request.param)
    return shard_locations(folder)


@pytest.fixture(scope="module")
def one(d):
    return NeighborIndex(d).fit(ITEMS)


@pytest.mark.parametrize("k", [1, 7, 300])
def test_the_nearest_of_all_shards_are_those_of_one_index(k, places, one):
    found = nearest(SerialEngine(), places, QUERIES, k)
    distances, ids = one.kneighbors(QUERIES, k)
    np.testing.assert_array_equal(found.ids, ids)
    np.testing.assert_array_equal(found.distances, distances)


@pytest.mark.parametrize("radius", [0.0, 0.15, 10.0])
def test_all_within_a_radius_are_found(radius, places, one, d):
    found = within(SerialEngine(), places, QUERIES, radius)
    want = list(zip(*one.radius_neighbors(QUERIES, radius), strict=True))
    assert len(found) == len(want) == len(QUERIES)
    for (distances, ids), (expected, wanted) in zip(found, want, strict=True):
        np.testing.assert_array_equal(distances, expected)
        if d.link == "identity":
            np.testing.assert_array_equal(ids, wanted)
        else:  # different sums may have the same root
            np.testing.assert_array_equal(np.sort(ids), np.sort(wanted))


@pytest.mark.parametrize("mode", ["connectivity", "distance"])
def test_the_graph_has_a_column_for_every_item(mode, places, one):
    found, want = graph(SerialEngine(), places, QUERIES, 5, mode), one.kneighbors_graph(QUERIES, 5, mode)
    assert found.shape == want.shape == (100, 300)
    assert (found != want).nnz == 0
    np.testing.assert_array_equal(found.indices, want.indices)


def test_what_cannot_be_answered_is_refused(places):
    assert_refused(lambda: nearest(SerialEngine(), places, QUERIES, 301), "n_neighbors=301", "300 items", "ask for fewer")
    for radius in (np.nan, np.inf, -1.0, "wide"):
        assert_refused(
            lambda r=radius: within(SerialEngine(), places, QUERIES, r), f"radius={radius!r}", "finite number", ">= 0"
        )
    call = lambda: graph(SerialEngine(), places, QUERIES, 3, "weights")  # noqa: E731
    assert_refused(call, "mode='weights'", "'connectivity', 'distance'")
