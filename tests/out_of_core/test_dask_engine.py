"""A Dask cluster as an engine: what is no cluster is told, and what it adds up are the bits of the serial engine."""

import threading
from operator import add
from pathlib import Path
from threading import Thread
from time import monotonic, sleep
from uuid import uuid4

import cases
import numpy as np
import pytest
from cases import assert_refused

from semimetric import ClusterError, NotSupportedError
from semimetric.data.parts.engine import Call, SerialEngine
from semimetric.out_of_core import dask as dask_engine
from semimetric.out_of_core.dask import Cluster

dask = pytest.importorskip("dask", reason="Dask comes with the extra distributed")
engine = pytest.importorskip("distributed")
from distributed import Client, Future, LocalCluster  # noqa: E402

ITEMS, INDEX, Y = cases.sample()
POINTS = ITEMS[INDEX]


def test_a_worker_of_other_versions_that_comes_later_is_told(client, monkeypatch):
    engine = Cluster(client)
    there = dask_engine.required_versions()

    def versions():
        """Another NumPy on the side of the client, whose calls come from the main thread."""
        return {**there, "numpy": "0.1"} if threading.current_thread() is threading.main_thread() else there

    monkeypatch.setattr(dask_engine, "required_versions", versions)
    for call in (lambda: engine.each(shifted, PARTS, 1.0), lambda: engine.each_near(joined, [("place", 1.0)], [0], "!")):
        assert_refused(call, "worker inproc://", "0.1 here", "the same on both sides", error=NotSupportedError)
    monkeypatch.undo()
    lacking = {"tcp://w:1": ModuleNotFoundError("No module named 'numba'")}
    monkeypatch.setattr(dask_engine, "_asked", lambda *_: (lacking, {}))
    call = lambda: engine.each(failing, PARTS)  # noqa: E731
    assert_refused(call, "worker tcp://w:1 cannot run semimetric (No module named 'numba')", "install", error=NotSupportedError)


def failing(part):
    raise ZeroDivisionError(part)


def test_errors_of_the_work_stay_what_they_are(client):
    with pytest.raises(ZeroDivisionError):
        Cluster(client).each(failing, PARTS)


def waiting(part, marker):
    Path(marker).touch()
    sleep(1)


@pytest.mark.parametrize("way", ["each", "total", "each_near", "drain"])
def test_work_that_the_scheduler_lets_go_of_is_told(client, way, tmp_path):
    engine = Cluster(client)
    calls = iter([Call(("p", 0), print)])
    given = (
        (lambda: next(calls, None),)
        if way == "drain"
        else ([("p", 0)], [0])
        if way == "each_near"
        else (add, [0, 1])
        if way == "total"
        else ([0, 1],)
    )

    def cancel():
        while not (tmp_path / "begun").exists():
            sleep(0.01)
        with client.as_current():
            client.cancel([Future(key) for key in client.futures])

    Thread(target=cancel, daemon=True).start()
    call = lambda: getattr(engine, way)(waiting, *given, str(tmp_path / "begun"))  # noqa: E731
    assert_refused(call, "let go of the work", "nothing is kept", "call again", error=ClusterError)


def test_waiting_ends_where_all_workers_are_lost(monkeypatch):
    """Workers in threads of this process cannot be killed, so they are let go."""
    monkeypatch.setattr(dask_engine, "PATIENCE", 0.2)
    monkeypatch.setattr(dask_engine, "_WATCHED", 0.05)
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0") as local,
        Client(local) as own,
    ):
        engine = Cluster(own)
        own.retire_workers(list(own.nthreads()))
        assert_refused(lambda: engine.each(shifted, PARTS, 1.0), "all workers were lost", "dask worker", error=ClusterError)
        calls = iter([Call(("p", 1.0), print)])
        call = lambda: engine.drain(joined, lambda: next(calls, None), "!")  # noqa: E731
        assert_refused(call, "all workers were lost", "dask worker", error=ClusterError)


def test_calls_that_have_not_begun_are_taken_back(client, tmp_path):
    engine = Cluster(client)
    with pytest.raises(ZeroDivisionError):
        engine.each(failing_first, range(20), str(tmp_path))
    deadline = monotonic() + 60
    while client.processing() and any(client.processing().values()) and monotonic() < deadline:
        sleep(0.05)
    assert len(list(tmp_path.iterdir())) < 20


def failing_first(part, folder):
    if part == 0:
        raise ZeroDivisionError
    Path(folder, str(part)).touch()
    sleep(0.3)


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


@pytest.mark.parametrize("way", ["persist", "stored"])
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
    assert {("place", 0), ("place", 1), ("other", 1)} <= set(client._semimetric_anchors)


def joined(task, mark):
    return f"{task[0]}{task[1]}{mark}"


@pytest.mark.slow
@pytest.mark.parametrize("serial", [True, False])
def test_results_lead_to_further_calls_until_nothing_runs(client, serial):
    engine, waiting, heard = SerialEngine() if serial else Cluster(client), [1], []
    most = 0

    def following():
        nonlocal most
        most = max(most, len(asked) - len(heard))
        if not waiting:
            return None
        asked.append(waiting.pop())
        return Call(("place", asked[-1]), heard_of, asked[-1] % 2)

    def heard_of(text):
        heard.append(text)
        n = int(text.removeprefix("place").removesuffix("!"))
        waiting.extend([2 * n, 2 * n + 1] if n < 50 else [])

    asked = []
    engine.drain(joined, following, "!")
    assert sorted(heard) == sorted(f"place{n}!" for n in asked)
    assert len(heard) == len(set(heard)) > 50
    assert most <= (1 if serial else dask_engine._AHEAD * 2)
    calls = iter([Call(("place", 1), heard.append)])
    with pytest.raises(ZeroDivisionError):
        engine.drain(failing, lambda: next(calls, None))


def test_every_worker_is_asked_and_counted(client, tmp_path):
    engine = Cluster(client)
    assert engine.width == 2
    engine.everywhere(marked, str(tmp_path))
    assert len(list(tmp_path.iterdir())) == 2


def marked(folder):
    Path(folder, uuid4().hex).touch()
