"""What is no cluster, has no workers, or workers of other versions, is told in one sentence before any work."""

import asyncio
import socket
from contextlib import suppress

import cases
import pytest
from cases import assert_refused

from semimetric import DistanceRegressor, NotSupportedError, out_of_core
from semimetric.out_of_core import dask as dask_workers
from semimetric.out_of_core.dask import Cluster

engine = pytest.importorskip("distributed")
from distributed.comm import CommClosedError  # noqa: E402

ITEMS, INDEX, Y = cases.sample()
POINTS = ITEMS[INDEX]


def test_what_is_no_cluster_is_told(client, monkeypatch):
    model = DistanceRegressor(**cases.FAST)
    assert_refused(
        lambda: out_of_core.fit(model, POINTS, Y, client="tcp://x"), "no Dask client", "distributed.Client", "out_of_core"
    )
    monkeypatch.setattr(dask_workers, "_CONNECTING", 0.2)
    assert_refused(lambda: out_of_core.connect("tcp://127.0.0.1:9"), "no Dask scheduler answers", "127.0.0.1:9", "start one")

    def fails(**options):
        raise RuntimeError("Cluster failed to start: no room")

    with monkeypatch.context() as patch:
        patch.setattr("distributed.Client", fails)
        assert_refused(
            lambda: out_of_core.connect(workers=3), "no Dask cluster starts on this machine (Cluster failed to start: no room)",
            "workers=3", "ask for fewer",
        )  # fmt: skip
    other = {"tcp://w:1": {**dask_workers.required_versions(), "numpy": "0.1"}}
    monkeypatch.setattr(dask_workers, "_asked", lambda *_: (other, {}))
    call = lambda: out_of_core.fit(model, POINTS, Y, client=client)  # noqa: E731
    assert_refused(call, "worker tcp://w:1 has other versions (numpy 0.1", "the same on both sides", error=NotSupportedError)
    other["tcp://w:1"] = ModuleNotFoundError("No module named 'semimetric'")
    assert_refused(call, "worker tcp://w:1 cannot run semimetric", "install", error=NotSupportedError)


def test_a_worker_that_dies_while_it_is_asked_is_none(client, monkeypatch):
    """What Dask answers for a worker that was killed a moment ago says nothing of the versions there."""
    lost, asked = ({}, {"tcp://w:1": CommClosedError("in <TCP (closed)>")}), dask_workers._asked
    answers = [lambda *_: lost, asked]
    monkeypatch.setattr(dask_workers, "_asked", lambda *given: answers.pop(0)(*given))
    Cluster(client)
    assert not answers
    monkeypatch.setattr(dask_workers, "_asked", lambda *_: lost)
    monkeypatch.setattr(dask_workers, "PATIENCE", 0.2)
    assert_refused(lambda: Cluster(client), "no workers after 0.2 s", "w:1 did not answer (in <TCP (closed)>)", "dask worker")


class Asked:
    """A client of one worker that lives, one that is dead, and one that dies while it is asked, which Dask does not notice."""

    async def nthreads(self):
        return {"lives": 1, "dead": 1, "dies": 1}

    async def run(self, function, *, workers, on_error):
        if workers == ["dead"]:
            raise CommClosedError
        if workers == ["dies"]:
            await asyncio.sleep(1e6)
        return {"lives": function()}


def test_one_silent_worker_holds_up_nobody(monkeypatch):
    monkeypatch.setattr(dask_workers, "_SILENCE", 0.1)
    found = asyncio.run(dask_workers.ask(Asked(), 60.0, dask_workers.required_versions))
    assert found.keys() == {"lives", "dead"}
    assert found["lives"] == dask_workers.required_versions()
    assert isinstance(found["dead"], OSError)


def test_a_client_that_is_closed_is_told(client):
    closed = engine.Client(client.scheduler.address)
    address = closed.scheduler.address
    closed.close()
    error = assert_refused(lambda: Cluster(closed), "the client", "is closed; a client that is connected", "make a new one")
    assert "None" not in str(error)
    assert address


def test_a_cluster_starts_where_the_port_of_its_pages_is_taken():
    """By another cluster, as a rule; it takes any free one without a word, since warnings are errors here."""
    with socket.socket() as taken:
        with suppress(OSError):  # somebody has it already
            taken.bind(("", 8787))
            taken.listen()
        with out_of_core.connect(workers=1) as own:
            assert own.submit(sum, [1, 2]).result() == 3
            own.shutdown()
