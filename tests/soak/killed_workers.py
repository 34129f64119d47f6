"""Workers of a Dask cluster are killed at random moments of a call: the same answer, or one sentence that is true."""

import logging
import os
import random
import signal
import tempfile
import threading
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster
from learners import made

from semimetric import (
    ClusterError,
    DistanceRegressor,
    FirstOrder,
    LargeMarginLearner,
    SemimetricError,
    ShardedIndex,
    TripletLearner,
    out_of_core,
)
from soak.attack import Attack
from soak.saving import inventory, problem

_NUMBERS = {"n_knots": 3, "alpha": 1e-2, "directions": None}


@cache
def cluster():
    """Three processes, which are started again when they are killed; they live as long as this process."""
    dask.config.set({"distributed.comm.timeouts.connect": "3s"})  # Dask waits 30 s for a worker that is dead
    return LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.CRITICAL)


@cache
def client():
    return Client(cluster())


def wait_for_workers():
    """Wait until three workers live. Dask gives up one that is killed while it starts: then another cluster is started."""
    try:
        client().wait_for_workers(3, timeout=60)
    except TimeoutError:
        client().close()
        cluster().close()
        client.cache_clear()
        cluster.cache_clear()
        client().wait_for_workers(3, timeout=60)


def chunks(values, n=12):
    """An array in some parts."""
    return da.from_array(values, chunks=(-(-len(values) // n), *values.shape[1:]))


@cache
def sample():
    """Tuples of items, and a number for each."""
    rng = np.random.default_rng(0)
    return rng.random((4000, 2, 3)), rng.random(4000), rng.random((400, 3, 3))


def regression(folder, **options):
    pairs, y, _ = sample()
    model = out_of_core.fit(made(DistanceRegressor, **_NUMBERS, **options), chunks(pairs), chunks(y), client=client())
    return model.semimetric_.weights


def comparisons(folder):
    return out_of_core.fit(
        TripletLearner(**_NUMBERS, loss="squared_hinge"), chunks(sample()[2], 4), client=client()
    ).semimetric_.weights


def classes(folder):
    X, model = problem()[2], made(LargeMarginLearner, **_NUMBERS, tables="warped", n_passes=2)
    scratch = folder / "scratch"
    scratch.mkdir()
    try:
        return out_of_core.fit(model, chunks(X, 6), X[:, 0] > 0, scratch=scratch, client=client()).semimetric_.weights
    finally:
        assert inventory(scratch) == []


def built(folder):
    """A sharded index that takes the place of another; what is there then is one of both."""
    path, (d, _, items, queries) = folder / "index", problem()
    ShardedIndex.build(path, d, items[:50])
    old = [path.name, f"{path.name}/shards.smm"]
    try:
        out_of_core.build_index(path, d, chunks(items, 12), client=client())
    except SemimetricError:
        assert ShardedIndex(path).n_samples_fit_ == 50
        raise
    finally:
        time.sleep(0.2)  # late workers may still write
        names = [name for name in inventory(folder) if name.count("/") == 1]
        assert len(names) == 1 + len(ShardedIndex(path).shards), names
        assert old[1] in names
    distances, ids = ShardedIndex(path).kneighbors(queries, 5)
    return np.concatenate([distances.ravel(), ids.ravel()])


def searched(folder):
    path, (d, _, items, _) = folder / "index", problem()
    ShardedIndex.build(path, d, items, n_shards=4)
    found = [out_of_core.kneighbors(path, items[k::7], 5, client=client()) for k in range(7)]
    return np.concatenate([part.ravel() for pair in found for part in pair])


def joined(folder):
    """The neighbours of all items in files; what a lost cluster has not done is done without one."""
    path, (d, _, items, _) = folder / "index", problem()
    ShardedIndex.build(path, d, items, n_shards=4)
    try:
        to = out_of_core.kneighbors(path, None, 5, to=folder / "answers", client=client())
    except ClusterError:
        assert not (folder / "answers").exists()
        to = out_of_core.kneighbors(path, None, 5, to=folder / "answers")
    assert sorted(p.name for p in folder.iterdir()) == ["answers", "index"]
    return np.concatenate([np.load(to / f"{name}.npy").ravel() for name in ("distances", "ids")])


CALLS = {
    "squares": regression,
    "huber": lambda folder: regression(folder, loss="huber", solver=FirstOrder(max_iter=8)),
    "comparisons": comparisons,
    "classes": classes,
    "built": built,
    "searched": searched,
    "joined": joined,
}


def draw(rng):
    moments = sorted((rng.random(int(rng.integers(1, 4))) * 1.1).tolist())  # in units of the time that the call takes
    return {"what": str(rng.choice(list(CALLS))), "moments": moments, "seed": int(rng.integers(2**32))}


@cache
def known(what):
    """The answer where no worker is killed, and how many seconds it takes when workers have imported what they need."""
    for _ in range(2):
        with tempfile.TemporaryDirectory(prefix="soak-") as folder:
            start = time.perf_counter()
            answer = CALLS[what](Path(folder))
    return answer, time.perf_counter() - start


def kill(chosen):
    """Kill one of the workers that live."""
    pids = [nanny.pid for nanny in cluster().workers.values() if nanny.pid]
    if pids:
        with suppress(ProcessLookupError):
            os.kill(chosen.choice(pids), signal.SIGKILL)


def attempt(case, folder):
    wait_for_workers()
    answer, seconds = known(case["what"])
    chosen = random.Random(case["seed"])
    killers = [threading.Timer(moment * seconds, kill, (chosen,)) for moment in case["moments"]]
    for killer in killers:
        killer.start()
    try:
        found = CALLS[case["what"]](folder)
    except SemimetricError as error:
        said = str(error)
    else:
        assert found.tobytes() == answer.tobytes(), "the answer is another one"
        return "the same answer"
    finally:
        for killer in killers:
            killer.join()
    assert "\n" not in said, said
    assert "worker" in said or "scheduler" in said, said
    return "one sentence"


KILLS = Attack(draw, attempt, seconds=600, mebibytes=1024, short=6)
