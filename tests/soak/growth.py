"""Calls repeated many times: what each leaves behind would fill the memory of a service that runs for weeks."""

from functools import cache
from pathlib import Path

import cases
import numpy as np
import searches

import semimetric
from semimetric import LargeMarginLearner, NeighborIndex, TripletLearner, Triplets
from soak.attack import Attack
from soak.memory import status

TRIES = 120  # the first third fills caches and the allocator's free lists
ALLOWED = 4 * 2**20  # bytes that the rest may leave: less than 64 kB a call


@cache
def problem():
    """A distance, 500 items and 7 queries."""
    return searches.search_problem()


def fit_distances(folder):
    cases.fitted("singles")


def fit_triplets(folder):
    triplets = np.random.default_rng(0).random((60, 3, 3))
    TripletLearner(n_knots=3, alpha=1e-2, directions=None).fit(triplets)


def fit_labels(folder):
    X = problem()[1][:80]
    LargeMarginLearner(n_knots=3, alpha=1e-2, directions=None, tables="warped", triplets=Triplets(n_passes=1)).fit(
        X, X[:, 0] > 0
    )


def build_and_ask(folder):
    d, items, queries = problem()
    NeighborIndex(d).fit(items).add(items[:20]).remove(np.arange(10)).kneighbors(queries, 5)


def save_and_load(folder, mmap=False):
    d, items, queries = problem()
    path = folder / "index"
    if not path.exists():
        NeighborIndex(d).fit(items).save(path)
    index = semimetric.load(path, mmap=mmap)
    index.save(path)
    index.radius_neighbors(queries, 1.0)


def save_and_load_mapped(folder):
    save_and_load(folder, mmap=True)


def measure_distances(folder):
    d, items, queries = problem()
    d.pairwise(queries, items)
    d.contributions(items[:50], items[50:100])


CALLS = {
    f.__name__: f
    for f in (fit_distances, fit_triplets, fit_labels, build_and_ask, save_and_load, save_and_load_mapped, measure_distances)
}


def draw(rng):
    return {"call": str(rng.choice(list(CALLS)))}


def attempt(case, folder: Path):
    call, before = CALLS[case["call"]], 0
    for k in range(TRIES):
        if k == TRIES // 3:
            before = status("VmRSS")
        call(folder)
    grown = status("VmRSS") - before
    assert grown < ALLOWED, f"{grown / 2**20:.1f} MiB more after {TRIES - TRIES // 3} calls of {case['call']}"
    return case["call"]


GROWTH = Attack(draw, attempt, seconds=300, short=3)
