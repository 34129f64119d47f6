"""Shards searched one by one answer as one index, block by block of queries."""

from tempfile import TemporaryDirectory

import numpy as np
import pytest
from cases import assert_refused
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from searches import rough_distance, search_problem

from semimetric import Grid, NeighborIndex, Semimetric, ShardedIndex
from semimetric.data.parts.engine import SerialEngine
from semimetric.distances.search import segment as segments
from semimetric.distances.search import shard_search
from semimetric.distances.search import sharded as shard_building
from semimetric.distances.search import sharded as sharded_index
from semimetric.distances.search.shard_files import shard_locations
from semimetric.distances.search.shard_search import SearchTraffic, graph, nearest, within

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


RNG = np.random.default_rng(1)
CENTRES = RNG.normal(size=(6, 4)) * 8
CLUSTERED = np.round(CENTRES[RNG.integers(0, 6, 400)] + RNG.normal(size=(400, 4)), 1)  # so that distances tie
NEAR = CENTRES[RNG.integers(0, 6, 50)] + RNG.normal(size=(50, 4))
OF_CLUSTERS = rough_distance(Grid.fit(CLUSTERED, n_knots=5), low=0.1)


class WideEngine(SerialEngine):
    """Three workers, whose calls come back in any order: the last of those that wait first."""

    width = 3

    def drain(self, function, following, *shared):
        running = []
        while True:
            while len(running) < 6 and (call := following()) is not None:
                running.append(call)
            if not running:
                return
            call = running.pop()
            call.then(function(call.part, *shared))


@pytest.fixture
def scanned(monkeypatch):
    """Scans and small calls for few items and queries too."""
    for module, name, value in (
        (segments, "_FEW", 0), (segments, "_WORTH", 0), (shard_search, "_FEW", 2), (shard_search, "_MOST", 9),
        (shard_search, "_BLOCK", 16), (shard_search, "_HERE", 5),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, value)


@pytest.mark.slow
@pytest.mark.parametrize("engine", [ENGINE, pytest.param(WideEngine(), marks=pytest.mark.slow)], ids=["serial", "wide"])
@pytest.mark.parametrize("partition", ["rows", "kmeans"])
@pytest.mark.parametrize("storage", ["float64", pytest.param("uint16", marks=pytest.mark.slow)])
def test_shards_in_the_order_of_their_bounds_answer_as_one_index(tmp_path, scanned, engine, partition, storage):
    ids = RNG.permutation(400)
    one = NeighborIndex(OF_CLUSTERS).fit(CLUSTERED, ids=ids)
    index = ShardedIndex.build(
        tmp_path / "s", OF_CLUSTERS, CLUSTERED, ids=ids, n_shards=7, partition=partition, storage=storage
    )
    if partition == "rows":  # segments of several shards, and items that were removed
        index.add(CLUSTERED[:9] + 0.1, ids=np.arange(1000, 1009)).remove(ids[50:90])
        one.add(CLUSTERED[:9] + 0.1, ids=np.arange(1000, 1009)).remove(ids[50:90])
    places = shard_locations(tmp_path / "s")
    for k in (1, 5, 100):  # more than a shard holds
        traffic = SearchTraffic()
        found = nearest(engine, places, NEAR, k, traffic=traffic)
        distances, named = one.kneighbors(NEAR, k)
        assert_array_equal(found.ids, named)
        assert_array_equal(found.distances, distances)
        assert traffic.queries <= traffic.asked <= 7 * traffic.queries
        itself = nearest(engine, places, None, k)
        distances, named = one.kneighbors(None, k)
        order = np.argsort(one.ids_)[np.argsort(np.argsort(index.ids_))]  # the rows of one in the order of the shards
        assert_array_equal(itself.ids, named[order])
        assert_array_equal(itself.distances, distances[order])
    radius = float(np.median(one.kneighbors(NEAR, 9)[0]))
    for got, *want in zip(within(engine, places, NEAR, radius), *one.radius_neighbors(NEAR, radius), strict=True):
        assert_array_equal(got[0], want[0])
        assert_array_equal(got[1], want[1])


FEW_VALUES = Grid.fit(np.repeat(np.arange(4.0)[:, None], 2, axis=1), n_knots=4)


@pytest.mark.slow
@given(seed=st.integers(0, 1000), k=st.integers(1, 12), n_shards=st.integers(2, 6))
@settings(max_examples=15)
def test_the_nearest_in_shards_are_those_of_brute_force(seed, k, n_shards):
    """Few values, so that many items tie, also across shards."""
    rng = np.random.default_rng(seed)
    items, queries = rng.integers(0, 4, (60, 2)).astype(float), rng.integers(0, 7, (9, 2)) / 2
    d, ids = rough_distance(FEW_VALUES, seed=seed), rng.permutation(60)
    one, every = NeighborIndex(d).fit(items, ids=ids), d.pairwise(queries, items)
    radius = float(np.quantile(every, 0.3)) + 1e-6  # no distance is so near that rounding decides
    with TemporaryDirectory() as folder:
        ShardedIndex.build(f"{folder}/s", d, items, ids=ids, n_shards=n_shards, partition="kmeans")
        places = shard_locations(f"{folder}/s")
        found = nearest(WideEngine(), places, queries, k)
        inside = within(WideEngine(), places, queries, radius)
    distances, named = one.kneighbors(queries, k, algorithm="brute")
    assert_array_equal(found.distances, distances)
    assert_array_equal(found.ids, named)
    assert_allclose(found.distances, np.sort(every, axis=1)[:, :k], rtol=1e-12, atol=1e-14)
    for (_, got), row in zip(inside, every, strict=True):
        assert set(got) == set(ids[row <= radius])


def test_shards_whose_items_lie_too_far_away_are_not_asked(tmp_path, scanned, monkeypatch):
    asked = []
    for step in (shard_search.AskNearest, shard_search.AskWithin):
        answer = step.answer

        def counted(self, location, request, answer=answer):
            asked.extend([location] * len(self.queries))
            return answer(self, location, request)

        monkeypatch.setattr(step, "answer", counted)
    ShardedIndex.build(tmp_path / "s", OF_CLUSTERS, CLUSTERED, n_shards=6, partition="kmeans")
    places, counts = shard_locations(tmp_path / "s"), {}
    for algorithm in ("exact", "brute"):
        traffic = SearchTraffic()
        nearest(ENGINE, places, NEAR, 2, algorithm=algorithm, traffic=traffic)
        assert traffic.asked == len(asked)
        assert traffic.queries == len(NEAR)
        assert min(traffic.sent, traffic.received) > 0
        counts[algorithm] = len(asked)
        asked.clear()
    assert len(NEAR) <= counts["exact"] < 3 * len(NEAR) < counts["brute"] == 6 * len(NEAR)
    smallest = float(OF_CLUSTERS.pairwise(NEAR, CLUSTERED).min())
    within(ENGINE, places, NEAR, smallest)
    assert len(asked) < 3 * len(NEAR)
    asked.clear()
    traffic = SearchTraffic()
    nearest(ENGINE, places, None, 2, traffic=traffic)
    assert traffic.queries == 400
    assert 400 + len(asked) == traffic.asked < 3 * 400


def test_joint_tables_ask_all_shards(tmp_path):
    items = np.round(RNG.normal(size=(90, 3)), 1)
    d = rough_distance(Grid.fit(items, n_knots=3), kind="joint")
    one = NeighborIndex(d).fit(items)
    ShardedIndex.build(tmp_path / "s", d, items, n_shards=3)
    places, traffic = shard_locations(tmp_path / "s"), SearchTraffic()
    for X in (items[:7] + 0.05, None):
        found = nearest(WideEngine(), places, X, 4, traffic=traffic)
        for got, want in zip(found[:2], one.kneighbors(X, 4), strict=True):
            assert_array_equal(got, want)
    assert traffic.asked == 3 * traffic.queries == 3 * 97


def test_ids_that_are_text_are_joined_too(tmp_path):
    ids = np.array([f"item {'x' * (n % 5)}{n}" for n in range(400)])
    one = NeighborIndex(OF_CLUSTERS).fit(CLUSTERED, ids=ids)
    ShardedIndex.build(tmp_path / "s", OF_CLUSTERS, CLUSTERED, ids=ids, n_shards=5)
    places = shard_locations(tmp_path / "s")
    for X in (NEAR, None):
        for got, want in zip(nearest(ENGINE, places, X, 3)[:2], one.kneighbors(X, 3), strict=True):
            assert_array_equal(got, want)
    assert (graph(ENGINE, places, None, 3, "distance") != one.kneighbors_graph(None, 3, "distance")).nnz == 0


@pytest.mark.parametrize("n_shards", [1, 3])
@pytest.mark.parametrize("by", ["shop", ["x1", "shop"]])
def test_groups_are_those_of_one_index(n_shards, by, tmp_path, monkeypatch):
    monkeypatch.setattr(shard_search, "_FEW", 2)
    rng = np.random.default_rng(0)
    items, queries = ITEMS.copy(), QUERIES.copy()
    items[:, 1], queries[:, 1] = rng.integers(0, 2, len(items)), rng.integers(0, 2, len(queries))
    payload = {"shop": rng.choice(["a", "b", "c", ""], len(items))}
    one = NeighborIndex(D).fit(items, payload=payload)
    ShardedIndex.build(tmp_path / "index", D, items, n_shards=n_shards, payload=payload)
    places, keys = shard_locations(tmp_path / "index"), {"shop": rng.choice(["a", "b", "unknown", ""], len(queries))}
    keys |= {"x1": queries[:, 1]} if "x1" in by else {}
    for k in (1, 7, 120):  # more than a group holds
        found = nearest(ENGINE, places, queries, k, by=keys)
        distances, ids = one.kneighbors(queries, k, by=keys)
        assert_array_equal(found.ids, ids)
        assert_array_equal(found.distances, distances)
    radius = float(np.median(one.kneighbors(queries, 9)[0]))
    distances, ids = one.radius_neighbors(queries, radius, by=keys)
    for q, (found, rows) in enumerate(within(ENGINE, places, queries, radius, by=keys)):
        assert_array_equal(found, distances[q])
        assert_array_equal(rows, ids[q])
