"""Workers that are killed in the middle of their work: the same answer, and nothing twice, lost or half written."""

import os
import signal
from dataclasses import dataclass
from pathlib import Path

import cases
import numpy as np
import pytest
from learners import made

from semimetric import DistanceRegressor, LargeMarginLearner, NeighborIndex, ShardedIndex, TripletLearner, out_of_core
from semimetric.data.parts import readers
from semimetric.distances.learning import items as partitioned_items
from semimetric.distances.search.shard_files import ShardLocation, shard_locations
from semimetric.distances.search.shard_search import nearest
from semimetric.out_of_core.dask import Cluster

dask = pytest.importorskip("dask", reason="Dask comes with the extra distributed")
da = pytest.importorskip("dask.array")
engine = pytest.importorskip("distributed")
pytestmark = pytest.mark.slow
ITEMS, INDEX, Y = cases.sample()
POINTS = ITEMS[INDEX]
X = np.round(np.random.default_rng(1).random((700, 3)), 2)


@pytest.fixture(scope="module")
def client():
    """Two processes; when one was lost, Dask's cluster looks much later than 15 s if it is there again, and then stops it.

    It may be lost for the second time at that moment, and would then never come back.
    """
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1 hour"}),
        engine.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as local,
        engine.Client(local) as client,
    ):
        yield client


def test_a_call_right_after_a_death(client, tmp_path):
    """The scheduler may not know yet that a worker is dead when the next call asks for versions."""
    d, queries = cases.fitted("singles")[0].semimetric_, X[:20]
    index = NeighborIndex(d).fit(X)
    index.save(tmp_path / "index")
    for _ in range(3):
        client.wait_for_workers(2)
        os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
        found = out_of_core.kneighbors(tmp_path / "index", queries, 3, client=client)
        assert all((a == b).all() for a, b in zip(found, index.kneighbors(queries, 3), strict=True))


def die_once(marker):
    """Kill this process, the first time."""
    try:
        Path(marker).touch(exist_ok=False)
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


def deadly(block, marker=None, last=None):
    if (block[-1] == last).all():
        die_once(marker)
    return block


def dying(array, chunks, marker):
    """A Dask array whose last chunk kills the first worker that makes it."""
    return da.from_array(array, chunks=chunks).map_blocks(deadly, marker=str(marker), last=array[-1], meta=array[:0])


@dataclass(frozen=True)
class DeadlyPlace(ShardLocation):
    marker: str = ""

    def open(self):
        die_once(self.marker)
        return super().open()


def test_learning(client, tmp_path, monkeypatch):
    monkeypatch.setattr(readers, "tuple_size", lambda *_: 30)
    here = out_of_core.fit(DistanceRegressor(**cases.FAST), POINTS, Y)
    there = out_of_core.fit(DistanceRegressor(**cases.FAST), dying(POINTS, (30, 2, 3), tmp_path / "m"), Y, client=client)
    assert (tmp_path / "m").exists()
    assert there.semimetric_.weights.tobytes() == here.semimetric_.weights.tobytes()


def test_learning_from_triplets(client, tmp_path, monkeypatch):
    monkeypatch.setattr(readers, "tuple_size", lambda *_: 30)
    options, triplets = {"n_knots": 3, "alpha": 1e-2, "directions": None}, np.random.default_rng(0).random((150, 3, 3))
    here = out_of_core.fit(made(TripletLearner, **options), triplets)
    there = out_of_core.fit(made(TripletLearner, **options), dying(triplets, (30, 3, 3), tmp_path / "m"), client=client)
    assert (tmp_path / "m").exists()
    assert there.semimetric_.weights.tobytes() == here.semimetric_.weights.tobytes()


def test_learning_from_classes(client, tmp_path, monkeypatch):
    monkeypatch.setattr("semimetric.out_of_core.calls.item_bytes", lambda *_: 3000)
    monkeypatch.setattr(partitioned_items, "shard_size", lambda *_: 300)
    options = {"n_knots": 4, "alpha": 1e-2, "directions": None, "tables": "warped", "n_passes": 2}
    y = X[:, 0] + X[:, 1] > 1
    here = out_of_core.fit(made(LargeMarginLearner, **options), X, y, memory_limit=1_000_000)

    def deadly(*args, real=partitioned_items.build_item_shards):
        *others, last = real(*args)
        return [*others, DeadlyPlace(last.root, last.shard, last.distance, marker=str(tmp_path / "m"))]

    monkeypatch.setattr(partitioned_items, "build_item_shards", deadly)
    there = made(LargeMarginLearner, **options)
    out_of_core.fit(there, X, y, block_size=1_000_000, client=client)
    assert (tmp_path / "m").exists()
    assert there.semimetric_.weights.tobytes() == here.semimetric_.weights.tobytes()
    assert [p.n_triplets for p in there.passes_] == [p.n_triplets for p in here.passes_]


def test_building_and_asking(client, tmp_path):
    d, queries = cases.fitted("singles")[0].semimetric_, X[:70] + 0.003
    one = NeighborIndex(d).fit(X)
    shards = out_of_core.build_index(tmp_path / "index", d, dying(X, (200, 3), tmp_path / "m"), client=client)
    assert (tmp_path / "m").exists()
    assert {p.name for p in (tmp_path / "index").iterdir()} == {"shards.smm", *(s.name for s in shards)}
    assert (np.sort(ShardedIndex(tmp_path / "index").ids_) == np.arange(700)).all()
    places = shard_locations(tmp_path / "index")
    last = places[-1]
    places[-1] = DeadlyPlace(last.root, last.shard, last.distance, marker=str(tmp_path / "n"))
    found = nearest(Cluster(client), places, queries, 7)
    assert (tmp_path / "n").exists()
    for a, b in zip(found, one.kneighbors(queries, 7), strict=False):
        assert (a == b).all()
