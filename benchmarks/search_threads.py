"""Do two threads answer twice as many queries as one, and does a service of many small queries keep its pace?

Points, distance and queries are those of search.py. In a batch, `n_jobs` is 1 and 2, and FAISS's flat index has as many OpenMP
threads. In the service, 1, 2, 4 and 8 Python threads ask one query after another, each through a searcher of its own with one
thread inside, and beside them FAISS's flat index with one. Queries a second by the clock, the median of several rounds: the
machine has to do nothing else meanwhile. "clock_share" is how many processors were really to be had, by two loops of pure
arithmetic side by side against one.

    python benchmarks/search_threads.py [--points 1000000] [--results FILE]
"""

import argparse
import statistics
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import faiss
import numpy as np
from report import add_results, append, report, with_origin
from search import K, learned, more

from semimetric import NeighborIndex, SemimetricWarning
from semimetric._kernels.jit import kernel

ROUNDS, SECONDS = 5, 1.0


@kernel
def counted(n):
    """A loop of pure arithmetic that no memory slows down."""
    x = np.uint64(1)
    for _ in range(n):
        x = x * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
    return x


def processors() -> float:
    """How many times as much two threads compute as one."""

    def wall(threads: int) -> float:
        start = time.perf_counter()
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(counted, [300_000_000] * threads))
        return time.perf_counter() - start

    counted(10)
    return statistics.median(2 * wall(1) / wall(2) for _ in range(3))


def batches(ask: Callable[[np.ndarray], object], queries: np.ndarray) -> float:
    """Queries a second in a batch."""
    ask(queries[:10])
    rates = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        ask(queries)
        rates.append(len(queries) / (time.perf_counter() - start))
    return statistics.median(rates)


def service(make: Callable[[], Callable[[np.ndarray], object]], queries: np.ndarray, threads: int) -> float:
    """Single queries a second that so many Python threads get answered together."""

    def ask(k: int) -> int:
        one, count, stop = make(), 0, time.perf_counter() + SECONDS
        while time.perf_counter() < stop:
            row = (k * 997 + count) % len(queries)
            one(queries[row : row + 1])
            count += 1
        return count

    make()(queries[:1])
    with ThreadPoolExecutor(threads) as pool:
        return statistics.median(sum(pool.map(ask, range(threads))) / SECONDS for _ in range(ROUNDS))


def rows(n: int) -> list[dict]:
    """What one and two threads reach, in a batch and in a service."""
    d, X = learned("landsat_satimage", 32)
    points, queries = more(X, n, 1), more(X, 2_000, 2)
    index = NeighborIndex(d, n_jobs=2).fit(points).build_graph()
    flat = faiss.IndexFlatL2(points.shape[1])
    flat.add(points.astype(np.float32))
    single = queries.astype(np.float32)
    calls = {"exact": {}, "approximate": {"n_candidates": 117}, "graph": {"n_candidates": 24}}
    out = []
    for algorithm, options in calls.items():
        row = {"points": n, "engine": algorithm}
        asked = queries[:500] if algorithm == "exact" else queries
        for threads in (1, 2):
            index.set_params(n_jobs=threads)
            row[f"batch_{threads}"] = batches(index.searcher(K, algorithm=algorithm, **options), asked)
        index.set_params(n_jobs=1)
        for threads in (1, 2, 4, 8):
            row[f"service_{threads}"] = service(
                lambda a=algorithm, o=options: index.searcher(K, algorithm=a, **o), queries, threads
            )
        out.append(row)
    row = {"points": n, "engine": "IndexFlatL2 (Euclid)"}
    for threads in (1, 2):
        faiss.omp_set_num_threads(threads)
        row[f"batch_{threads}"] = batches(lambda q: flat.search(q, K), single[:200])
    faiss.omp_set_num_threads(1)
    for threads in (1, 2, 4, 8):
        row[f"service_{threads}"] = service(lambda: lambda q: flat.search(q, K), single, threads)
    out.append(row)
    for row in out:
        row |= {"batch_ratio": row["batch_2"] / row["batch_1"], "service_ratio": row["service_8"] / row["service_1"]}
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=1_000_000)
    add_results(parser)
    options = parser.parse_args()
    warnings.simplefilter("ignore", SemimetricWarning)
    share = processors()
    found = [row | {"clock_share": share} for row in rows(options.points)]
    report("queries a second by the clock", found)
    for row in found:
        append(options.results, with_origin({"benchmark": "search_threads", "k": K} | row, "semimetric"))


if __name__ == "__main__":
    main()
