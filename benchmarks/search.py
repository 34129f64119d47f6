"""How fast are nearest neighbours under a learned distance, exact and approximate, beside Euclid's and other engines?

The distance is least squares on real pixels with real labels (Landsat, 32 of its 36 features x 8 knots, 20,000 pairs: 0.1 for
the same class, else 1), with a light penalty: rough tables. Points are real ones moved towards a random neighbour, with
noise. Queries are made the same way and are not among the points. Ground truth is our brute force.

--figure PATH draws time and bytes a point from 1e4 to 1e7 points.
"""

import argparse
import time
import warnings
from functools import partial

import numpy as np
from numba import njit
from report import add_results, append, data, once, report, seconds, with_origin
from scipy.spatial.distance import cdist
from sklearn.neighbors import NearestNeighbors

from semimetric import DistanceRegressor, Grid, NeighborIndex, Semimetric, SemimetricWarning
from semimetric._kernels.simplex import _merge

K = 10


def learned(name: str, n_features: int) -> tuple[Semimetric, np.ndarray]:
    """A distance, and the real rows that it was learned from."""
    arrays = data(name)
    X = np.vstack([arrays["X_train"], arrays["X_test"]])[:, :n_features].astype(np.float64)
    y = np.concatenate([arrays["y_train"], arrays["y_test"]])
    rng = np.random.default_rng(0)
    pairs = rng.integers(0, len(X), (20_000, 2))
    target = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 0.1, 1.0)
    model = DistanceRegressor(n_knots=8, alpha=1e-5, preprocessor=X).fit(pairs, target)
    print(f"{name}: R2 on the training pairs {model.score(pairs, target):.3f}")
    return model.semimetric_, X


def more(X: np.ndarray, n: int, seed: int) -> np.ndarray:
    """n rows between real rows and their neighbours, with noise of 5 % of the spread, float32."""
    rng = np.random.default_rng(seed)
    near = NearestNeighbors(n_neighbors=6).fit(X).kneighbors(X, return_distance=False)
    out = np.empty((n, X.shape[1]), np.float32)
    for start in range(0, n, 100_000):
        part = out[start : start + 100_000]
        i = rng.integers(0, len(X), len(part))
        j = near[i, rng.integers(1, 6, len(part))]
        part[...] = X[i] + rng.random((len(part), 1)) * (X[j] - X[i]) + 0.05 * X.std(axis=0) * rng.normal(size=part.shape)
    return out


def timed(search, queries: np.ndarray, n_single: int) -> dict:
    """Milliseconds a query: in a batch (median of 3 after one), and one by one (median and 99th percentile).

    Milliseconds of all processors stand beside: those tell searches apart where other programs run too.
    """
    search(queries)
    batch = np.median([clocks(lambda: search(queries)) for _ in range(3)], axis=0) / len(queries) * 1e3
    for _ in range(2):
        single = np.array([clocks(lambda q=q: search(q[None])) for q in queries[:n_single]]) * 1e3
    (wall, cpu), p99 = np.median(single, axis=0), np.quantile(single[:, 0], 0.99)
    return {"batch_ms": batch[0], "batch_cpu_ms": batch[1], "single_ms": wall, "single_cpu_ms": cpu, "p99_ms": p99}


def clocks(call) -> tuple[float, float]:
    """Seconds on the wall, and of all processors, that a call takes."""
    start = time.process_time()
    wall = once(call)[0]
    return wall, time.process_time() - start


def recall(found: np.ndarray, true: np.ndarray) -> float:
    return float(np.mean([np.isin(a, b).mean() for a, b in zip(true, found, strict=True)]))


def large(d: Semimetric, X: np.ndarray, n: int, n_queries: int) -> list[dict]:
    """Against Euclid's flat index and brute force, on one thread and two."""
    import faiss

    points, queries = more(X, n, 1), more(X, n_queries, 2)
    flat, rows = faiss.IndexFlatL2(points.shape[1]), []
    flat.add(points)
    for threads in (1, 2):
        faiss.omp_set_num_threads(threads)
        rows.append({"engine": "IndexFlatL2 (Euclid)", "threads": threads} | timed(lambda q: flat.search(q, K), queries, 100))
    faiss.omp_set_num_threads(1)
    base = {row["threads"]: row for row in rows}
    NeighborIndex(d).fit(points[:5000]).kneighbors(queries[:2], K)  # compiled before it is timed
    points.flags.writeable = False  # so that an index of 16-bit places does not copy them
    indexes = {name: once(lambda o=o: NeighborIndex(d, **o).fit(points)) for name, o in
               {"flat": {"n_lists": 1}, "lists": {}, "16 bits": {"storage": "uint16"}}.items()}  # fmt: skip
    brute_s, (_, true) = once(lambda: indexes["flat"][1].kneighbors(queries[:20], K, algorithm="brute"))
    rows.append({"engine": "brute force, same distance", "threads": 1, "batch_ms": brute_s / 20 * 1e3})
    _, exact = indexes["flat"][1].kneighbors(queries, K)
    for label, name, options in (
        ("exact", "flat", {}), ("approximate, 400 candidates", "flat", {"algorithm": "approximate", "n_candidates": 400}),
        ("exact, lists", "lists", {}), ("exact, lists, places in 16 bits", "16 bits", {}),
        ("approximate, lists, 100 candidates", "lists", {"algorithm": "approximate"}),
        ("approximate, lists, 400 candidates", "lists", {"algorithm": "approximate", "n_candidates": 400}),
    ):  # fmt: skip
        build, index = indexes[name]
        for threads in (1, 2):
            index.set_params(n_jobs=threads)
            nearest = index.searcher(K, **options)
            row = {"engine": label, "threads": threads, "build_s": build}
            row |= timed(lambda q, s=nearest: s(q), queries, 100) | {"bytes_a_point": bytes_a_point(index, points)}
            got = index.search(queries, K, **options)
            row |= {"recall": recall(got.ids, exact), "refined": float(got.refined.mean())}
            if label.startswith("exact"):
                row |= {"first_scan": float(got.at_once.mean()), "equals_brute": bool((got.ids[:20] == true).all())}
            rows.append(row)
    build, index = indexes["lists"]
    for least in (0.95, 0.99):
        index.set_params(n_jobs=1)
        tune_s, tuning = once(lambda r=least: index.tune(more(X, 1000, 3), recall=r, n_neighbors=K))
        row = {"engine": f"tuned to {least}", "threads": 1, "build_s": build, "tune_s": tune_s}
        row |= {"n_probe": index.n_probe, "n_candidates": index.n_candidates, "told": tuning.recall.mean}
        row |= timed(index.searcher(K), queries, 100) | {"bytes_a_point": bytes_a_point(index, points)}
        rows.append(row | {"recall": recall(index.search(queries, K).ids, exact)})
    for row in rows:
        peer = base[row["threads"]]
        row["batch_of_flat"] = row["batch_ms"] / peer["batch_ms"]
        if "single_ms" in row:
            row["single_of_flat"] = row["single_ms"] / peer["single_ms"]
            row["batch_cpu_of_flat"] = row["batch_cpu_ms"] / peer["batch_cpu_ms"]
            row["single_cpu_of_flat"] = row["single_cpu_ms"] / peer["single_cpu_ms"]
    return rows


def bytes_a_point(index: NeighborIndex, points: np.ndarray) -> float:
    """Bytes of an index for each item, without those of items that it did not copy."""
    shared = sum(s.points.raw.nbytes for s in index.segments_ if np.shares_memory(s.points.raw, points))
    return (index.nbytes - shared) / index.n_samples_fit_


def peers(d: Semimetric, X: np.ndarray, n: int, n_queries: int) -> list[dict]:
    """Engines that take a metric of one's own, on one thread."""
    points, queries = more(X, n, 1), more(X, n_queries, 2)
    ours = NeighborIndex(d)
    build, _ = once(lambda: ours.fit(points))
    _, true = ours.kneighbors(queries, K)
    rows = []
    for label, options in (("exact", {}), ("approximate", {"algorithm": "approximate"})):
        row = {"engine": f"semimetric, {label}", "build_s": build} | timed(
            lambda q, o=options: ours.kneighbors(q, K, **o), queries, 100
        )
        rows.append(row | {"recall": recall(ours.kneighbors(queries, K, **options)[1], true)})
    rows += pynndescent(d, points, queries, true) + usearch(d, points, queries, true)
    slow = NearestNeighbors(n_neighbors=K, algorithm="brute", metric=d).fit(points[:2000])
    took, _ = once(lambda: slow.kneighbors(queries[:2]))
    rows.append({"engine": f"scikit-learn, callable (2,000 of {n} points, scaled)", "batch_ms": took / 2 * n / 2000 * 1e3})
    for row in rows:
        row["queries_a_second"] = 1e3 / row["batch_ms"]
    return rows


def pynndescent(d: Semimetric, points: np.ndarray, queries: np.ndarray, true: np.ndarray) -> list[dict]:
    try:
        from pynndescent import NNDescent
    except ImportError:
        return []
    metric, rows = d.get_numba_metric(), []
    build, index = once(lambda: NNDescent(points, metric=metric, n_neighbors=30, random_state=0, n_jobs=1))
    prepare, _ = once(index.prepare)
    for epsilon in (0.1, 0.3):
        row = timed(lambda q, e=epsilon: index.query(q, k=K, epsilon=e), queries, 20)
        found = index.query(queries, k=K, epsilon=epsilon)[0]
        rows.append(
            {"engine": f"pynndescent, epsilon {epsilon}", "build_s": build + prepare} | row | {"recall": recall(found, true)}
        )
    return rows


def usearch(d: Semimetric, points: np.ndarray, queries: np.ndarray, true: np.ndarray) -> list[dict]:
    try:
        from usearch.index import CompiledMetric, Index, MetricKind, MetricSignature
    except ImportError:
        return []
    from numba import carray, cfunc, types

    metric, n_features = d.get_numba_metric(), points.shape[1]

    @cfunc(types.float32(types.CPointer(types.float32), types.CPointer(types.float32)))
    def pointer(a, b):
        return np.float32(metric(carray(a, n_features), carray(b, n_features)))

    compiled = CompiledMetric(pointer=pointer.address, kind=MetricKind.Unknown, signature=MetricSignature.ArrayArray)
    index, rows = Index(ndim=n_features, metric=compiled, dtype="f32"), []
    build, _ = once(lambda: index.add(np.arange(len(points)), points, threads=1))
    for expansion in (64, 128):
        index.expansion_search = expansion
        row = timed(lambda q: index.search(q, K, threads=1), queries, 20)
        found = index.search(queries, K, threads=1).keys
        rows.append({"engine": f"usearch, expansion {expansion}", "build_s": build} | row | {"recall": recall(found, true)})
    return rows


@njit
def merged(fractions, orders, i, j, out):
    """The order of the fractions of each pair, from the orders of its items."""
    for r in range(len(i)):
        _merge(fractions[i[r]], fractions[j[r]], orders[i[r]], orders[j[r]], out)


@njit
def sorted_anew(fractions, orders, i, j, out):
    """The same, by sorting each pair."""
    for r in range(len(i)):
        out[:] = np.argsort(np.concatenate((fractions[i[r]], fractions[j[r]])))


def claims(d: Semimetric, X: np.ndarray) -> list[dict]:
    """The paper's: a merge of precomputed orders against sorting each pair, and all pairs against Mahalanobis."""
    rng, rows, points = np.random.default_rng(0), [], X[:2000]
    i, j = rng.integers(0, 2000, (2, 20_000))
    for n in (8, 16, 32):
        fractions = Grid.fit(points[:, :n]).locate(points[:, :n]).fraction
        given = (fractions, np.argsort(fractions, axis=1, kind="stable"), i, j, np.empty(2 * n, np.int64))
        for work, order in (("merge of precomputed orders", merged), ("sorting each pair", sorted_anew)):
            ns = seconds(partial(order, *given)) / len(i) * 1e9
            rows.append({"work": f"{work}, 2 x {n} fractions", "ns_a_pair": ns})
    inverse = np.linalg.inv(np.cov(X.T) + 1e-3 * np.eye(X.shape[1]))
    mapped = points @ np.linalg.cholesky(inverse)
    for work, pairwise in (
        ("all pairs, learned tables", partial(d.pairwise, points[:500], points)),
        ("all pairs, SciPy's Mahalanobis", partial(cdist, points[:500], points, "mahalanobis", VI=inverse)),
        ("all pairs, SciPy's Euclid after a linear map", partial(cdist, mapped[:500], mapped)),
    ):
        rows.append({"work": work, "ns_a_pair": seconds(pairwise) / (500 * len(points)) * 1e9})
    return rows


def growth(d: Semimetric, X: np.ndarray, most: int, figure: str | None) -> list[dict]:
    """Time and bytes a point, from 1e4 to 1e7."""
    queries, rows = more(X, 200, 2), []
    for n in [10**e for e in range(4, 8) if 10**e <= most]:
        points = more(X, n, 1)
        build, index = once(lambda p=points: NeighborIndex(d, n_jobs=2).fit(p))
        index.set_params(n_jobs=1)
        for algorithm in ("exact", "approximate"):
            row = timed(lambda q, i=index, a=algorithm: i.kneighbors(q, K, algorithm=a), queries, 30)
            rows.append({"points": n, "algorithm": algorithm, "build_s": build, "bytes_a_point": index.nbytes / n} | row)
        del index, points
    if figure:
        draw(rows, figure)
    return rows


def draw(rows: list[dict], path: str) -> None:
    import matplotlib.pyplot as plt

    fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
    for algorithm in ("exact", "approximate"):
        part = [row for row in rows if row["algorithm"] == algorithm]
        left.loglog([r["points"] for r in part], [r["batch_ms"] for r in part], "o-", label=algorithm)
    left.set(xlabel="points", ylabel="ms a query (batch, one thread)")
    left.legend()
    right.semilogx([r["points"] for r in part], [r["bytes_a_point"] for r in part], "o-")
    right.set(xlabel="points", ylabel="bytes a point", ylim=(0, None))
    fig.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--most", type=int, default=1_000_000, help="largest index of the growth table; 1e7 takes 15 GB")
    parser.add_argument("--figure")
    parser.add_argument("--part", choices=("large", "all"), default="all", help="large: the first table alone")
    add_results(parser)
    options = parser.parse_args()
    warnings.simplefilter("ignore", SemimetricWarning)
    start = time.perf_counter()
    d, X = learned("landsat_satimage", 32)
    rows = large(d, X, options.points, options.queries)
    report(f"search: {options.points} points x 32 features, k = {K}", rows)
    for row in rows:
        about = {"benchmark": "search", "points": options.points, "features": 32, "k": K}
        append(options.results, with_origin(about | row, "semimetric"))
    if options.part == "large":
        return
    report("search: growth", growth(d, X, options.most, options.figure))
    report("search: the paper's claims", claims(d, X))
    d, X = learned("pendigits", 16)
    report(
        "search: 50000 points x 16 features, one thread, engines with a metric of one's own",
        peers(d, X, 50_000, options.queries),
    )
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
