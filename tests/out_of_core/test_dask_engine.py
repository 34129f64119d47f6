"""A Dask cluster as an engine: what is no cluster is told, and what it adds up are the bits of the serial engine."""

import cases
import pytest
from cases import assert_refused

from semimetric import DistanceRegressor, NotSupportedError, distributed
from semimetric.out_of_core import dask_engine

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
