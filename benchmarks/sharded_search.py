"""What do bounds of shards spare? Exact queries to 1 to 16 shards, whose items follow one another or are clusters. One thread.

Data are real pixels with noise under rough learned tables, as in search.py; 16 well separated Gaussian clusters, and uniform
points, both under the L1 distance. Rows tell the processor's time of a query of a batch, and how many of the shards can hold an
answer by their bounds, in the mean over queries; `all_shards_ms` is the time where each query asks all shards for all. Answers
are compared with those of one index, to the bit.
"""

import argparse
import tempfile
import time
import warnings
from contextlib import nullcontext
from pathlib import Path
from unittest.mock import patch

import numpy as np
from report import add_results, append, once, report, use_one_thread, with_origin
from search import K, learned, more

from semimetric import NeighborIndex, Semimetric, SemimetricWarning, ShardedIndex
from semimetric.distances.search import items as results


def drawn(kind: str, n: int, n_queries: int) -> tuple[Semimetric, np.ndarray, np.ndarray]:
    """The distance, the points and the queries of one kind of data."""
    if kind == "pixels":
        d, X = learned("landsat_satimage", 32)
        return d, more(X, n, 1), more(X, n_queries, 2)
    rng = np.random.default_rng(0)
    centres = rng.random((16, 32)) * 20 if kind == "clusters" else np.zeros((1, 32))

    def points(m: int) -> np.ndarray:
        noise = rng.normal(size=(m, 32)) if kind == "clusters" else rng.random((m, 32))
        return (centres[rng.integers(0, len(centres), m)] + noise).astype(np.float32)

    X = points(n)
    return Semimetric.l1(X[:100_000]), X, points(n_queries)


def processor_time(index: ShardedIndex, queries: np.ndarray, *, bounds: bool) -> tuple[float, tuple[np.ndarray, np.ndarray]]:
    """The least seconds of the processor that a batch takes of two, after one, and its answer."""
    with nullcontext() if bounds else patch.object(results.SegmentedItems, "_bounds_can_exclude_segments", False):
        times = []
        for _ in range(3):
            start = time.process_time()
            found = index.kneighbors(queries, K)
            times.append(time.process_time() - start)
    return min(times[1:]), found


def rows(kind: str, n: int, n_queries: int, counts: list[int]) -> list[dict]:
    """Time and share of shards that can hold an answer, for every number of shards and both ways to divide the items."""
    d, points, queries = drawn(kind, n, n_queries)
    one, out = NeighborIndex(d).fit(points), []
    want = one.kneighbors(queries, K)
    for partition in ("rows", "kmeans"):
        for n_shards in counts if partition == "rows" else counts[1:]:
            with tempfile.TemporaryDirectory() as folder:
                build_s, index = once(
                    lambda f=folder, s=n_shards, p=partition: ShardedIndex.build(
                        Path(f) / "s", d, points, n_shards=s, partition=p, memory_limit="8 GiB"
                    )
                )
                all_s, found = processor_time(index, queries, bounds=False)
                batch_s, ordered = processor_time(index, queries, bounds=True)
                equal = all(np.array_equal(a, b) and np.array_equal(a, c) for a, b, c in zip(found, ordered, want, strict=True))
                parts = [place.open().segments_[0] for place in index.locations]
                least = np.column_stack([p.least(p.view.block(p.view.points(queries.astype(np.float64)))) for p in parts])
                row = {"data": kind, "partition": partition, "shards": len(parts), "build_s": build_s}
                row |= {"batch_cpu_ms": batch_s / n_queries * 1e3, "all_shards_ms": all_s / n_queries * 1e3}
                row |= {"shards_that_can_answer": float((least <= want[0][:, -1:]).sum(axis=1).mean())}
                out.append(row | {"equals_one_index": equal})
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument(
        "--data", nargs="+", default=["pixels", "clusters", "uniform"], choices=["pixels", "clusters", "uniform"]
    )
    parser.add_argument("--shards", nargs="+", type=int, default=[1, 2, 4, 8, 16])
    add_results(parser)
    options = parser.parse_args()
    warnings.simplefilter("ignore", SemimetricWarning)
    for kind in options.data:
        found = rows(kind, options.points, options.queries, options.shards)
        report(f"sharded search: {options.points} points x 32 features, k = {K}, exact, one thread", found)
        for row in found:
            about = {"benchmark": "sharded_search", "points": options.points, "features": 32, "k": K}
            append(options.results, with_origin(about | row, "semimetric"))


if __name__ == "__main__":
    use_one_thread()
    main()
