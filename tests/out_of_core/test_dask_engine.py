"""A Dask cluster as an engine: what is no cluster is told, and what it adds up are the bits of the serial engine."""

from operator import add
from pathlib import Path
from uuid import uuid4

import cases
import numpy as np
import pytest
from cases import assert_refused

from semimetric import DistanceRegressor, NotSupportedError, distributed
from semimetric.data.parts.engine import SerialEngine
from semimetric.out_of_core import dask_engine
from semimetric.out_of_core.dask_engine import Cluster

dask = pytest.importorskip("dask", reason="Dask comes with the extra distributed")
ITEMS, INDEX, Y = cases.sample()
POINTS = ITEMS[INDEX]


@pytest.fixture(scope="module")
def client():
    engine = pytest.importorskip("distributed")
    with engine.LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None) as local:
        with engine.Client(local) as client:
            yield client


def test_what_is_no_cluster_is_told(client, monkeypatch):
    model = DistanceRegressor(**cases.FAST)
    assert_refused(lambda: distributed.fit("tcp://x", model, POINTS, Y), "no Dask client", "distributed.Client", "out_of_core")
    monkeypatch.setattr(dask_engine, "_PATIENCE", "200ms")
    assert_refused(lambda: distributed.connect("tcp://127.0.0.1:9"), "no Dask scheduler answers", "127.0.0.1:9", "start one")
    other = {"tcp://w:1": dask_engine._versions() | {"numpy": "0.1"}}
    monkeypatch.setattr(type(client), "run", lambda *_, **__: other)
    call = lambda: distributed.fit(client, model, POINTS, Y)  # noqa: E731
    assert_refused(call, "worker tcp://w:1 has other versions (numpy 0.1", "the same on both sides", error=NotSupportedError)
    other["tcp://w:1"] = ModuleNotFoundError("No module named 'semimetric'")
    assert_refused(call, "worker tcp://w:1 cannot run semimetric", "install", error=NotSupportedError)


def shifted(part, by):
    return part + by


def plus_one(task):
    return task[0] + task[1]


PARTS = list(np.random.default_rng(0).random(11) * 10.0 ** np.arange(11))


def test_calls_come_back_in_their_order(client):
    assert list(Cluster(client).each(shifted, PARTS, 1.0)) == [p + 1.0 for p in PARTS]
    assert list(Cluster(client).each(shifted, [], 1.0)) == []


@pytest.mark.parametrize("n", [1, 2, 5, 8, 11])
def test_sums_have_the_bits_of_the_serial_engine(client, n):
    parts = PARTS[:n]
    assert Cluster(client).total(shifted, add, parts, 0.1) == SerialEngine().total(shifted, add, parts, 0.1)
    text = [str(k) for k in range(n)]
    assert Cluster(client).total(str, by_name, text) == SerialEngine().total(str, by_name, text)


def by_name(left, right):
    return f"({left}{right})"


@pytest.mark.parametrize("way", ["kept", "stored"])
def test_parts_that_are_kept_stand_for_their_values(client, way):
    engine = Cluster(client)
    parts = getattr(engine, way)(shifted, PARTS, 2.0)
    assert list(engine.each(shifted, parts, 1.0)) == [p + 2.0 + 1.0 for p in PARTS]
    assert list(engine.each(plus_one, [(p, 1.0) for p in parts])) == [p + 2.0 + 1.0 for p in PARTS]


def test_calls_go_where_their_first_member_was(client):
    engine = Cluster(client)
    near = [k % 2 for k in range(4)]
    tasks = [("place", 1.0), ("place", 2.0), ("place", 3.0), ("other", 4.0)]
    for _ in range(2):
        assert list(engine.each_near(joined, tasks, near, "!")) == ["place1.0!", "place2.0!", "place3.0!", "other4.0!"]
    assert {("place", 0), ("place", 1), ("other", 1)} == set(client._semimetric_anchors)


def joined(task, mark):
    return f"{task[0]}{task[1]}{mark}"


def test_every_worker_is_asked_and_counted(client, tmp_path):
    engine = Cluster(client)
    assert engine.width == 2
    engine.everywhere(marked, str(tmp_path))
    assert len(list(tmp_path.iterdir())) == 2


def marked(folder):
    Path(folder, uuid4().hex).touch()


def test_a_client_that_is_closed_is_told(client):
    engine = pytest.importorskip("distributed")
    closed = engine.Client(client.scheduler.address)
    closed.close()
    assert_refused(lambda: Cluster(closed), "is closed", "the client of", "connect it again")
