"""How fast are nearest neighbours under joint tables, exact, beside brute force in the same run?

Distances of 15 joint groups of two features x 5 knots: all pairs of 6 features, and 15 of 30 features that share none. A
third has one group of four features x 12 knots. Its rows for a query exceed 65,536 numbers, so every search merges there.
They are least squares on real pixels with real labels (Landsat, 20,000 pairs: 0.1 for the same class, else 1), with a light
penalty: rough tables. Points are real ones moved towards a random neighbour, with noise; queries are made the same way and are
not among the points. One thread.

Brute force is here three times. That of the index reads the rows of tables that a query lies among. The merge of precomputed
orders (``algorithm="merge"``) is the search of Pele & Ben-Aliz 2016, section 3. What that paper calls naive embeds every pair
anew. FAISS's flat L2 of the raw features is for scale: it is another distance. Every answer is compared with brute force, ids
and distances.
"""

import argparse
import itertools
import time
import warnings
from collections.abc import Callable

import numpy as np
from report import add_results, append, data, report, use_one_thread, with_origin
from search import K, more

from semimetric import DistanceRegressor, NeighborIndex, Semimetric, SemimetricWarning, Tables

GROUPS = {
    "all pairs of 6 features": list(itertools.combinations(range(6), 2)),
    "15 pairs of 30 features": [(2 * k, 2 * k + 1) for k in range(15)],
    "one group of 4 features, 12 knots": [(0, 1, 2, 3)],
}


def learned(groups: list[tuple[int, int]]) -> tuple[Semimetric, np.ndarray]:
    """A distance with these joint groups, and the real rows that it was learned from."""
    arrays = data("landsat_satimage")
    X = np.vstack([arrays["X_train"], arrays["X_test"]])[:, : max(map(max, groups)) + 1].astype(np.float64)
    y = np.concatenate([arrays["y_train"], arrays["y_test"]])
    pairs = np.random.default_rng(0).integers(0, len(X), (20_000, 2))
    target = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 0.1, 1.0)
    n_knots = 12 if len(groups) == 1 else 5
    model = DistanceRegressor(n_knots=n_knots, alpha=1e-4, tables=Tables(groups=groups), preprocessor=X).fit(pairs, target)
    print(f"{len(groups)} groups of {X.shape[1]} features: R2 on the training pairs {model.score(pairs, target):.3f}")
    return model.semimetric_, X


def naive(d: Semimetric, points: np.ndarray, query: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The k nearest of a query: every pair is located, sorted and embedded anew."""
    every = d.paired(np.broadcast_to(query, points.shape), points)
    near = np.lexsort((np.arange(len(every)), every))[:K]
    return every[near], near


def timed(search: Callable[[np.ndarray], object], queries: np.ndarray) -> dict:
    """Milliseconds of the clock and of the processor for a query alone, medians over the queries."""
    search(queries[:1])
    clock, processor = [], []
    for q in queries:
        starts = time.perf_counter(), time.process_time()
        search(q[None])
        clock.append(time.perf_counter() - starts[0])
        processor.append(time.process_time() - starts[1])
    p99 = float(np.quantile(clock, 0.99))
    return {"ms": float(np.median(clock)) * 1e3, "p99_ms": p99 * 1e3, "processor_ms": float(np.median(processor)) * 1e3}


def compared(name: str, d: Semimetric, X: np.ndarray, n: int, n_queries: int) -> list[dict]:
    """One row for each way to search n points."""
    import faiss

    points, queries = more(X, n, 1), more(X, n_queries, 2)
    starts = time.perf_counter(), time.process_time()
    index = NeighborIndex(d).fit(points)
    index.kneighbors(queries[:1], K)  # which makes the codes
    built = {"build_s": time.perf_counter() - starts[0], "build_processor_s": time.process_time() - starts[1]}
    few = queries[: max(n_queries // (1 + n // 20_000), 5)]
    rows = [{"engine": "exact"} | timed(lambda q: index.kneighbors(q, K), queries) | built]
    starts = time.perf_counter(), time.process_time()
    found = index.search(queries, K)
    batch, processor = ((now - start) / n_queries * 1e3 for now, start in zip(
        (time.perf_counter(), time.process_time()), starts, strict=True))  # fmt: skip
    true = index.kneighbors(few, K, algorithm="brute")
    same = all((a[: len(few)] == b).all() for a, b in zip((found.distances, found.ids), true, strict=True))
    (segment,) = index.segments_
    codes = segment._joint_codes.codes.nbytes / n if segment.searchable else 0.0
    rows[0] |= {"batch_ms": batch, "batch_processor_ms": processor, "refined": float(found.refined.mean())}
    rows[0] |= {"first_scan": float(found.at_once.mean()), "equals_brute": same, "bytes_a_point_of_codes": codes}
    rows.append({"engine": "brute force, rows of tables"} | timed(lambda q: index.kneighbors(q, K, algorithm="brute"), few))
    rows.append({"engine": "merge of every pair"} | timed(lambda q: index.kneighbors(q, K, algorithm="merge"), few[:5]))
    rows.append({"engine": "every pair anew"} | timed(lambda q: naive(d, points, q), few[:5]))
    by_merge = index.kneighbors(few[:5], K, algorithm="merge")
    rows[2]["equals_brute"] = all((a == b[:5]).all() for a, b in zip(by_merge, true, strict=True))
    assert np.allclose(naive(d, points, few[:1])[0], true[0][0], rtol=1e-9)
    flat = faiss.IndexFlatL2(points.shape[1])
    flat.add(points)
    rows.append({"engine": "FAISS's IndexFlatL2 of raw features"} | timed(lambda q: flat.search(q, K), queries))
    for row in rows:
        asked = n_queries if "L2" in row["engine"] else 5 if "pair" in row["engine"] else len(few)
        row |= {"groups": name, "points": n, "k": K, "queries": asked}
        row["of_brute"] = row["processor_ms"] / rows[1]["processor_ms"]
        row["of_merge"] = row["processor_ms"] / rows[2]["processor_ms"]
    rows[0]["queries"] = n_queries
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, nargs="+", default=[20_000, 1_000_000])
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--groups", nargs="+", choices=list(GROUPS), default=list(GROUPS))
    add_results(parser)
    options = parser.parse_args()
    use_one_thread()
    warnings.simplefilter("ignore", SemimetricWarning)
    for name in options.groups:
        d, X = learned(GROUPS[name])
        for n in options.points:
            rows = compared(name, d, X, n, options.queries)
            report(f"joint search: {name}, {n} points, k = {K}", rows)
            for row in rows:
                append(options.results, with_origin({"benchmark": "joint_search"} | row, "semimetric"))


if __name__ == "__main__":
    main()
