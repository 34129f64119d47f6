"""How long do all nearest neighbours of all items take: exactly, and along a graph that is built for it? Beside other engines.

Points and distance are those of search.py: rough learned tables on real pixels. Ours are `kneighbors(None)`, exact, and
`build_graph`, whose walks are then measured by 2,000 other queries. pynndescent, hnswlib and FAISS answer under Euclid's
distance of the same points, which is another question of the same size. Their recall is that of 1,000 of the points, whose true
neighbours FAISS's flat index finds. The flat index itself is timed on 2,000 queries, and scaled. Peers that are not installed
are left out.

    python benchmarks/self_join.py [--points 1000000] [--threads 2] [--only ours] [--results FILE]
"""

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import faiss
import numpy as np
from report import add_results, append, once, report, with_origin
from search import K, learned, more, recall

from semimetric import NeighborIndex, Semimetric, SemimetricWarning

SAMPLED = 1_000  # points whose true neighbours are found by brute force
WIDTHS = (16, 24, 40, 64)


def measured(call: Callable[[], Any]) -> tuple[dict[str, float], Any]:
    """Seconds by the clock and of the processors, and the result."""
    start, cpu = time.perf_counter(), time.process_time()
    out = call()
    return {"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - cpu}, out


def ours(d: Semimetric, points: np.ndarray, queries: np.ndarray, threads: int) -> list[dict]:
    """The exact join, and the graph with what its walks find."""
    small = NeighborIndex(d, n_jobs=threads).fit(points[:20_000])  # compiled before it is timed
    small.kneighbors(None, K)
    small.build_graph().kneighbors(queries[:2], K, algorithm="graph")
    fit_s, index = once(lambda: NeighborIndex(d, n_jobs=threads, n_lists=1, verbose=True).fit(points))
    lists, _ = measured(lambda: index.kneighbors(queries[:1], K))
    join, (_, ids) = measured(lambda: index.kneighbors(None, K))
    some = np.random.default_rng(0).choice(len(points), SAMPLED // 10, replace=False)
    brute = index.kneighbors(points[some], K + 1, algorithm="brute", return_distance=False)
    same = [set(row[row != own][:K]) == set(found) for row, own, found in zip(brute, some, ids[some], strict=True)]
    rows = [
        {"engine": "exact join", "build_s": fit_s, "lists_s": lists["seconds"]} | join | {"equals_brute": float(np.mean(same))}
    ]
    graph, _ = measured(index.build_graph)
    true = index.kneighbors(queries, K, return_distance=False)
    row = {"engine": "graph", "build_s": fit_s} | graph
    for width in WIDTHS:
        nearest = index.searcher(K, algorithm="graph", n_candidates=width, n_jobs=1)
        nearest(queries[:10])
        asked, (_, got) = measured(lambda n=nearest: n(queries))
        row |= {f"recall_{width}": recall(true, got), f"us_{width}": asked["cpu_seconds"] / len(queries) * 1e6}
    return [*rows, row]


def peers(points: np.ndarray, threads: int) -> list[dict]:
    """Graphs of the K nearest by other engines, and the exact neighbours by FAISS's flat index, scaled."""
    faiss.omp_set_num_threads(threads)
    flat = faiss.IndexFlatL2(points.shape[1])
    flat.add(points)
    sampled = np.random.default_rng(0).choice(len(points), SAMPLED, replace=False)
    true = flat.search(points[sampled], K + 1)[1]
    took, _ = measured(lambda: flat.search(points[:2000], K + 1))
    rows = [{"engine": "FAISS flat (Euclid), scaled from 2,000"} | {k: v * len(points) / 2000 for k, v in took.items()}]

    def add(engine: str, took: dict[str, float], ids: np.ndarray, **more: object) -> None:
        rows.append({"engine": engine} | took | {"recall": recall(true, ids[sampled][:, : K + 1])} | more)

    hnsw = faiss.IndexHNSWFlat(points.shape[1], 16)
    hnsw.hnsw.efConstruction = 80
    built, _ = measured(lambda: hnsw.add(points))
    hnsw.hnsw.efSearch = 48
    asked, (_, ids) = measured(lambda: hnsw.search(points, K + 1))
    add("FAISS HNSW (Euclid)", {k: built[k] + asked[k] for k in built}, ids, built_s=built["seconds"])
    try:
        import hnswlib

        index = hnswlib.Index(space="l2", dim=points.shape[1])
        index.init_index(max_elements=len(points), ef_construction=80, M=16, random_seed=0)
        index.set_num_threads(threads)
        built, _ = measured(lambda: index.add_items(points))
        index.set_ef(48)
        asked, (ids, _) = measured(lambda: index.knn_query(points, K + 1))
        add("hnswlib (Euclid)", {k: built[k] + asked[k] for k in built}, ids.astype(np.int64), built_s=built["seconds"])
    except ImportError:
        print("hnswlib is not installed")
    try:
        from pynndescent import NNDescent

        NNDescent(points[:5000], n_neighbors=K + 1, n_jobs=threads, random_state=0)  # compiled before it is timed
        took, index = measured(lambda: NNDescent(points, n_neighbors=K + 1, n_jobs=threads, random_state=0))
        add("pynndescent (Euclid)", took, index.neighbor_graph[0])
    except ImportError:
        print("pynndescent is not installed")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", choices=("ours", "peers"))
    add_results(parser)
    options = parser.parse_args()
    warnings.simplefilter("ignore", SemimetricWarning)
    d, X = learned("landsat_satimage", 32)
    points, queries = more(X, options.points, 1), more(X, 2_000, 2)
    rows = [] if options.only == "peers" else ours(d, points, queries, options.threads)
    rows += [] if options.only == "ours" else peers(points, options.threads)
    about = {"benchmark": "self_join", "points": options.points, "features": 32, "k": K, "threads": options.threads}
    report(f"self join: {options.points} points x 32 features, k = {K}, {options.threads} threads", rows)
    for row in rows:
        append(options.results, with_origin(about | row, "semimetric"))


if __name__ == "__main__":
    main()
