"""Ctrl-C at random moments of building, changing, saving and searching: it ends the call soon, and nothing is half done."""

import shutil
import time

import numpy as np
from numpy.testing import assert_array_equal
from searches import rough_distance

from semimetric import Grid, NeighborIndex, ShardedIndex, load
from soak.attack import Attack
from soak.interruption import SOON, interrupted

_INTERRUPTIONS = 6  # of each case
CALLS = (
    "fit", "add", "remove", "exact", "brute", "approximate", "radius", "graph", "build graph", "save", "build", "add to shards",
)  # fmt: skip


def draw(rng):
    case = {"call": str(rng.choice(CALLS)), "n": int(rng.integers(20_000, 150_000)), "n_features": int(rng.integers(2, 17))}
    return case | {"n_jobs": int(rng.integers(1, 3)), "n_lists": int(rng.choice([1, 50])), "seed": int(rng.integers(2**32))}


def answers(index, queries):
    """What an index answers to a few queries, and its ids."""
    return *index.kneighbors(queries[:5], 3), np.sort(index.ids_)


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def attempt(case, folder):
    rng = np.random.default_rng(case["seed"])
    items = rng.normal(size=(case["n"], case["n_features"]))
    queries = rng.normal(size=(300, case["n_features"]))
    d = rough_distance(Grid.fit(items[:2_000], n_knots=6), seed=case["seed"], low=0.02)
    index = NeighborIndex(d, n_jobs=case["n_jobs"], n_lists=case["n_lists"]).fit(items)
    more = items[: len(items) // 3] + 0.01
    radius = float(np.median(index.kneighbors(queries[:5], 3)[0]))
    shards = None
    if case["call"] == "add to shards":
        shards = ShardedIndex.build(folder / "shards", d, items, n_shards=3)

    def fresh():
        copy = index.with_semimetric(d)
        copy.segments_ = list(index.segments_)
        return copy

    built = folder / "built"
    calls = {
        "fit": lambda subject: subject.fit(items[::2]),
        "add": lambda subject: subject.add(more),
        "remove": lambda subject: subject.remove(np.arange(len(items) // 3)),
        "exact": lambda subject: subject.kneighbors(queries, 10),
        "brute": lambda subject: subject.kneighbors(queries, 10, algorithm="brute"),
        "approximate": lambda subject: subject.kneighbors(np.tile(queries, (10, 1)), 10, algorithm="approximate"),
        "radius": lambda subject: subject.radius_neighbors(queries, radius),
        "graph": lambda subject: subject.kneighbors_graph(queries, 10, algorithm="approximate"),
        "build graph": lambda subject: subject.build_graph(),
        "save": lambda subject: subject.save(built),
        "build": lambda subject: ShardedIndex.build(built, d, items, n_shards=4, n_jobs=case["n_jobs"]),
        "add to shards": lambda subject: subject.add(more),
    }
    call, subject = calls[case["call"]], shards or fresh()
    start = time.perf_counter()
    call(subject)
    lasted, after = time.perf_counter() - start, answers(subject, queries)
    outcomes = {"ended": 0, "interrupted": 0}
    for _ in range(_INTERRUPTIONS):
        subject = fresh() if shards is None else ShardedIndex.build(folder / "shards", d, items, n_shards=3)
        if case["call"] in ("save", "build"):
            shutil.rmtree(built, ignore_errors=True)
        before = answers(subject, queries)
        ended = interrupted(lambda s=subject: call(s), rng.uniform(0, lasted), within=SOON * case["n_jobs"])
        outcomes["interrupted" if ended else "ended"] += 1
        now = answers(subject, queries)
        assert same(now, before) or same(now, after), f"{case['call']} was interrupted, and the answers are neither old nor new"
        if shards is not None:
            reopened = ShardedIndex(folder / "shards")
            assert same(answers(reopened, queries), now)
            named = {shard.name for shard in reopened.shards} | {"shards.smm"}
            assert {path.name for path in (folder / "shards").iterdir()} == named
        elif case["call"] in ("save", "build"):
            call(subject)  # over what the interrupted one has left
            assert_array_equal(load(built).kneighbors(queries[:5], 3)[1], before[1])
    return outcomes


INTERRUPTED = Attack(draw, attempt, seconds=240, mebibytes=1024, short=4)
