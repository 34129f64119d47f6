"""What does a service of single queries pay: along a graph, exactly, by name, with a filter, and from several threads?

Points, distance and queries are those of search.py. Times are those of the processor (medians), as other programs may run
beside: microseconds of one query, and of each query that 1, 2, 4 and 8 Python threads ask of one searcher. "overhead_us" is
what an exact query takes beside the compiled search in lists. Rows by name are read of a table of 15 columns:
numbers, truth values, an angle and categories. Seconds to build an index are those of the clock and of the processor, on two
threads.

    python benchmarks/single_query.py [--points 1000000] [--index FOLDER] [--results FILE]

--index FOLDER keeps the index with its graph there, and reads it if it is there.
"""

import argparse
import statistics
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
from report import add_results, append, report, with_origin
from search import K, learned, more

import semimetric
from semimetric import NeighborIndex, Semimetric, SemimetricWarning
from semimetric.distances.search import item_lists

WIDTH = 24  # nearest that a walk keeps
THREADS, SECONDS = (1, 2, 4, 8), 1.0


def each(ask: Callable, queries: list, n_before: int = 20) -> float:
    """Median microseconds of the processor that a query takes."""
    for query in queries[:n_before]:
        ask(query)
    spent = []
    for query in queries:
        start = time.process_time_ns()
        ask(query)
        spent.append(time.process_time_ns() - start)
    return statistics.median(spent) / 1e3


def service(ask: Callable, queries: np.ndarray, threads: int) -> dict:
    """Queries a second by the clock, and microseconds of the processor for each, that so many threads ask of one searcher."""

    def run(k: int) -> int:
        count, stop = 0, time.perf_counter() + SECONDS
        while time.perf_counter() < stop:
            ask(queries[(k * 997 + count) % len(queries)])
            count += 1
        return count

    ask(queries[0])
    with ThreadPoolExecutor(threads) as pool:
        start = time.process_time()
        n = sum(pool.map(run, range(threads)))
    return {f"service_{threads}": n / SECONDS, f"service_{threads}_us": (time.process_time() - start) / n * 1e6}


def overhead(ask: Callable, queries: np.ndarray) -> float:
    """Median microseconds of an exact query outside of the compiled search in lists."""
    spent = [0]

    def timed(function: Callable) -> Callable:
        def call(*arguments):
            start = time.process_time_ns()
            try:
                return function(*arguments)
            finally:
                spent[0] += time.process_time_ns() - start

        return call

    before, rest = item_lists.search_lists, []
    item_lists.search_lists = timed(before)
    try:
        for query in queries:
            spent[0], start = 0, time.process_time_ns()
            ask(query)
            rest.append(time.process_time_ns() - start - spent[0])
    finally:
        item_lists.search_lists = before
    return statistics.median(rest) / 1e3


def by_name(n: int) -> dict:
    """Microseconds of a query in each form, and of reading it, over a table of 15 columns; beside an encoded array."""
    rng = np.random.default_rng(0)
    columns = {"age": rng.integers(0, 90, n), "hour": rng.random(n) * 24, "member": rng.random(n) < 0.5}
    columns |= {f"colour {k}": rng.choice(list("abcdefgh"), n) for k in range(6)} | {
        f"size {k}": rng.normal(size=n) for k in range(6)
    }
    frame = pd.DataFrame(columns)
    d = Semimetric.gower(frame, periodic={"hour": 24})
    nearest = NeighborIndex(d, verbose=False).fit(frame).searcher(K)
    rows = [frame.iloc[k] for k in range(200)]
    forms = {
        "series": rows, "dict": [row.to_dict() for row in rows], "list": [row.tolist() for row in rows],
        "frame": [frame.iloc[k : k + 1] for k in range(200)],
    }  # fmt: skip
    found = {f"{name}_us": each(nearest, given) for name, given in forms.items()}
    return found | {f"{name}_read_us": each(nearest._reader.read, given) for name, given in forms.items()}


def built(d: Semimetric, points: np.ndarray, n_lists: int | str) -> dict:
    """Seconds to fit an index on two threads, by the clock and of the processor."""
    NeighborIndex(d, verbose=False).fit(points[:5_000])
    clock, processor = time.perf_counter(), time.process_time()
    NeighborIndex(d, n_lists=n_lists, n_jobs=2, verbose=False).fit(points)
    return {"n_lists": n_lists, "build_s": time.perf_counter() - clock, "build_cpu_s": time.process_time() - processor}


def rows(n: int, folder: str | None) -> list[dict]:
    d, X = learned("landsat_satimage", 32)
    points, queries = more(X, n, 1), more(X, 2_000, 2)
    out = [{"points": n, "what": "build"} | built(d, points, n_lists) for n_lists in (1, "auto")]
    if folder is not None and Path(folder).is_dir():
        index = semimetric.load(folder)
    else:
        index = NeighborIndex(d, n_jobs=2, verbose=False).fit(points).build_graph()
        if folder is not None:
            index.save(folder)
    index.set_params(n_jobs=1)
    few = list(queries[:500])
    for algorithm, options, asked in (("graph", {"n_candidates": WIDTH}, list(queries)), ("exact", {}, few)):
        nearest = index.searcher(K, algorithm=algorithm, **options)
        row = {"points": n, "what": algorithm, "query_us": each(nearest, asked)}
        row |= {"overhead_us": overhead(nearest, queries[:500])} if algorithm == "exact" else {}
        for threads in THREADS:
            row |= service(nearest, queries, threads)
        out.append(row)
    values = index.segments_[0].points.raw[:, 0]
    condition = f"x0 < {float(np.quantile(values, 1e-3))!r}"
    nearest = index.searcher(K, where=condition)
    row = {"points": n, "what": "where", "eligible": int(index.searcher(K, where=condition)._items.n_eligible)}
    row |= {"query_us": each(nearest, few), "exact_us": out[-1]["query_us"]}
    start = time.process_time()
    index.kneighbors(queries[:256], K, where=condition)
    row["batch_us"] = (time.process_time() - start) / 256 * 1e6
    start = time.process_time()
    index.kneighbors(queries[:256], K)
    row["batch_exact_us"] = (time.process_time() - start) / 256 * 1e6
    out.append(row)
    out.append({"points": min(n, 20_000), "what": "by name"} | by_name(min(n, 20_000)))
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--index", help="a folder that keeps the index with its graph")
    add_results(parser)
    options = parser.parse_args()
    warnings.simplefilter("ignore", SemimetricWarning)
    found = rows(options.points, options.index)
    report("single queries, microseconds of the processor", found)
    for row in found:
        append(options.results, with_origin({"benchmark": "single_query", "k": K} | row, "semimetric"))


if __name__ == "__main__":
    main()
