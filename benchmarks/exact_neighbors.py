"""How many exact Earth Mover's Distances does a proved top 10 of 1,500 digits take, and how long beside all of them?

The data and the learned distance of emd_digits.py: digits 8 x 8 as histograms, Euclidean ground distance; the queries are
images that neither the learned distance nor the bounds saw; one thread. Every answer is compared with brute force, ids and
distances. POT's exact solver runs beside it, on one pair after the other and on a matrix of targets. What is varied is what
the index knows: landmarks; potentials that need no histograms (projections, distances to bins); potentials learned from
duals; the dual of every exact distance of the query itself; and the learned distance, which only orders the calls.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import ot
from emd_digits import FEATURES, GROUND, SEED, C, X, distinct, exact
from report import append, once, report, use_one_thread, with_origin

from semimetric import (
    DistanceRegressor,
    EarthMoversDistance,
    FilterRefineIndex,
    HistogramFeatures,
    LandmarkBounds,
    Program,
    TransportBounds,
)

RESULTS = Path(__file__).parent / "results" / "exact_neighbors.jsonl"
K = 10


def setting(n_queries: int) -> dict:
    """Queries and items of emd_digits.py, and all exact distances between them with their seconds a query."""
    order = np.random.RandomState(SEED).permutation(len(X))
    first, others = order[:1000], order[1000:]
    shuffled = np.random.default_rng(SEED).permutation(others)
    queries, items = X[shuffled[:n_queries]], X[np.concatenate([first, shuffled[100:600]])]
    targets = np.ascontiguousarray(items.T)
    one_by_one, truth = timed(lambda: np.array([[plain(q, y) for y in items] for q in queries]))
    in_one, _ = timed(lambda: [ot.emd2(q, targets, GROUND) for q in queries[:10]])
    emd = EarthMoversDistance(GROUND)
    ours, with_duals = timed(lambda: np.array([[emd(q, y) for y in items] for q in queries]))
    assert np.abs(truth - with_duals).max() < 1e-12  # they round differently in the last bits
    return {
        "queries": queries, "items": items, "truth": {True: with_duals, False: truth},
        "one_by_one": one_by_one / n_queries, "in_one": in_one / 10, "ours": ours / n_queries,
    }  # fmt: skip


def timed(call: Callable[[], object]) -> tuple[np.ndarray, object]:
    """Wall seconds and processor seconds of one call, and its result; on a busy machine the second say more."""
    processor = time.process_time()
    wall, result = once(call)
    return np.array([wall, time.process_time() - processor]), result


def seconds(s: dict, spent: np.ndarray) -> dict:
    """Milliseconds of a query, and how many times as fast that is as all distances by POT, by the processor's time."""
    return {"ms_query": 1e3 * spent[0], "processor_ms": 1e3 * spent[1], "times_faster_than_all": s["one_by_one"][1] / spent[1]}


def learned(n_pairs: int) -> object:
    """The learned distance of emd_digits.py, from pairs of the first 1,000 images."""
    pairs = distinct(np.random.default_rng(SEED), np.random.RandomState(SEED).permutation(len(X))[:1000], n_pairs)
    model = DistanceRegressor(
        directions=HistogramFeatures(C, **FEATURES),
        preprocessor=X,
        program=Program(relative=True),
        tables="warped",
        n_knots=2,
        alpha=1e-7,
    )
    return model.fit(pairs, exact(pairs)).semimetric_


def searched(name: str, s: dict, semimetric, rerank, bounds, *, few: int | None = None) -> dict:
    """One index: calls and seconds a query, and whether its answers are those of brute force."""
    queries = s["queries"][:few]
    order = "bounds" if semimetric is None else "learned"
    fit, index = once(lambda: FilterRefineIndex(semimetric, rerank, bounds=bounds, order=order).fit(s["items"]))
    index.search(queries[:1], K)
    took, calls, right = [], [], True
    for q, query in enumerate(queries):
        spent, found = timed(lambda query=query: index.search(query[None], K))
        took.append(spent)
        calls.append(int(found.n_calls[0]))
        true = s["truth"][hasattr(rerank, "with_dual")][q]  # by the very function that the index calls
        want = np.argsort(true, kind="stable")[:K]
        right &= bool((found.ids[0] == want).all() and (found.distances[0] == true[want]).all() and found.certified.all())
    return {
        "index": name, "calls": float(np.mean(calls)), "median_calls": float(np.median(calls)), "most_calls": max(calls),
        "as_brute_force": right, "queries": len(queries), "fit_s": fit,
    } | seconds(s, np.mean(took, axis=0))  # fmt: skip


def plain(x: np.ndarray, y: np.ndarray) -> float:
    """The exact distance without its dual."""
    return ot.emd2(x, y, GROUND)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--pairs", type=int, default=20_000)
    options = parser.parse_args()
    s = setting(options.queries)
    d, emd = learned(options.pairs), EarthMoversDistance(GROUND)

    def potentials(n: int) -> TransportBounds:
        return TransportBounds(GROUND, bin_coordinates=C, n_learned=n)

    n = len(s["items"])
    rows = [
        {"index": "POT emd2, pair by pair", "calls": n} | seconds(s, s["one_by_one"]),
        {"index": "POT emd2, a matrix of targets", "calls": n} | seconds(s, s["in_one"]),
        {"index": "EarthMoversDistance, pair by pair", "calls": n} | seconds(s, s["ours"]),
        searched("16 landmarks", s, None, plain, LandmarkBounds(plain, n_landmarks=16), few=20),
        searched("projections and bins", s, None, plain, potentials(0)),
        searched("+ learned order", s, d, plain, potentials(0)),
        searched("256 learned potentials", s, None, plain, potentials(256)),
        searched("+ learned order", s, d, plain, potentials(256)),
        searched("duals of the query, projections and bins", s, None, emd, potentials(0)),
        searched("+ learned order", s, d, emd, potentials(0)),
        searched("duals of the query, 256 learned potentials", s, None, emd, potentials(256)),
        searched("+ learned order", s, d, emd, potentials(256)),
        searched("duals of the query, 1024 learned potentials", s, None, emd, potentials(1024)),
    ]  # fmt: skip
    report("exact_neighbors", rows)
    for row in rows:
        append(RESULTS, with_origin({"benchmark": "exact_neighbors"} | row, "semimetric"))


if __name__ == "__main__":
    use_one_thread()
    main()
