"""How many queries a second does each engine answer at each recall? One thread; graphs are built on two.

Points and queries are those of search.py: real pixels moved towards their neighbours. Our searches answer under a learned
distance of rough tables, for which the other engines have no metric. They answer under Euclid's distance on the same points,
which is cheaper to compute. The recall of each engine is that of the exact 10 nearest under its own distance. So a curve says
what an engine costs for the distance that it can search, not which of two engines finds the better neighbours.
Queries a second are those of a batch, by seconds of the processor.
"""

import argparse
import warnings
from collections.abc import Callable, Iterator
from importlib.metadata import version
from itertools import chain

import numpy as np
from report import add_results, append, once, report, with_origin
from search import K, clocks, learned, more, recall

from semimetric import NeighborIndex, SemimetricWarning

WIDTHS = (10, 16, 24, 40, 64, 100, 200)
PROBES = (2, 4, 8, 16, 32, 64)
CANDIDATES = (20, 50, 100, 200, 400, 800)


def measured(search: Callable[[np.ndarray], np.ndarray], queries: np.ndarray, true: np.ndarray) -> dict:
    """Recall of the true ids, and queries a second of one processor, a median of three batches."""
    found = search(queries)
    cpu = np.median([clocks(lambda: search(queries))[1] for _ in range(3)])
    return {"recall": recall(found, true), "queries_a_second": len(queries) / cpu}


def ours(points: np.ndarray, queries: np.ndarray) -> Iterator[dict]:
    """Exact, by lists and along the graph, under the learned distance."""
    d, _ = learned("landsat_satimage", 32)
    compiled = NeighborIndex(d).fit(points[:20_000]).build_graph()  # before it is timed
    compiled.kneighbors(queries[:2], K, algorithm="graph")
    fit_s, index = once(lambda: NeighborIndex(d, n_jobs=2).fit(points))
    index.set_params(n_jobs=1)
    true = index.kneighbors(queries, K, return_distance=False)

    def row(engine: str, build_s: float, **options: object) -> dict:
        nearest = index.searcher(K, **options)
        about = {"engine": engine, "distance": "learned", "build_s": build_s, "setting": options.get("n_candidates")}
        return about | measured(lambda q: nearest(q)[1], queries, true)

    yield row("semimetric, exact", fit_s)
    for candidates in CANDIDATES:
        yield row("semimetric, lists", fit_s, algorithm="approximate", n_candidates=candidates)
    index.set_params(n_jobs=2)
    graph_s, _ = once(index.build_graph)
    index.set_params(n_jobs=1)
    for width in WIDTHS:
        yield row("semimetric, graph", fit_s + graph_s, algorithm="graph", n_candidates=width)


def peers(points: np.ndarray, queries: np.ndarray) -> Iterator[dict]:
    """FAISS, hnswlib and pynndescent under Euclid's distance, at their usual settings of the build."""
    import faiss
    import hnswlib
    import pynndescent

    faiss.omp_set_num_threads(1)
    flat = faiss.IndexFlatL2(points.shape[1])
    flat.add(points)
    true = flat.search(queries, K)[1]

    def row(engine: str, build_s: float, setting: float | None, search: Callable[[np.ndarray], np.ndarray]) -> dict:
        about = {"engine": engine, "distance": "Euclid", "build_s": build_s, "setting": setting}
        return about | measured(search, queries, true)

    yield row("FAISS flat", 0.0, None, lambda q: flat.search(q, K)[1])
    n_lists = int(np.sqrt(len(points)))
    built = {
        f"FAISS {name}": faiss.index_factory(points.shape[1], spec) for name, spec in
        (("IVF flat", f"IVF{n_lists},Flat"), ("HNSW", "HNSW16"), ("NSG", "NSG32"))
    }  # fmt: skip
    for engine, index in built.items():
        faiss.omp_set_num_threads(2)
        build_s, _ = once(lambda i=index: (i.train(points), i.add(points)))
        faiss.omp_set_num_threads(1)
        name, values = {
            "FAISS IVF flat": ("nprobe", PROBES), "FAISS HNSW": ("efSearch", WIDTHS), "FAISS NSG": ("search_L", WIDTHS)
        }[engine]  # fmt: skip
        for value in values:
            if engine == "FAISS NSG":
                index.nsg.search_L = value
            else:
                faiss.ParameterSpace().set_index_parameter(index, name, value)
            yield row(engine, build_s, value, lambda q, i=index: i.search(q, K)[1])
    graph = hnswlib.Index("l2", points.shape[1])
    graph.init_index(len(points), ef_construction=200, M=16, random_seed=0)
    graph.set_num_threads(2)
    build_s, _ = once(lambda: graph.add_items(points))
    graph.set_num_threads(1)
    for width in WIDTHS:
        graph.set_ef(width)
        yield row("hnswlib", build_s, width, lambda q: graph.knn_query(q, K)[0].astype(np.int64))
    pynndescent.NNDescent(points[:2_000], "euclidean", random_state=0).prepare()  # compiled before it is timed
    build_s, descent = once(lambda: pynndescent.NNDescent(points, "euclidean", random_state=0, n_jobs=2))
    build_s += once(descent.prepare)[0]
    for epsilon in (0.0, 0.05, 0.1, 0.2, 0.3):
        yield row("pynndescent", build_s, epsilon, lambda q, e=epsilon: descent.query(q, K, epsilon=e)[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=2_000)
    add_results(parser)
    options = parser.parse_args()
    warnings.simplefilter("ignore", SemimetricWarning)
    _, X = learned("landsat_satimage", 32)
    points, queries = more(X, options.points, 1), more(X, options.queries, 2)
    about = {"benchmark": "search_curves", "points": options.points, "features": 32, "k": K}
    about["peers"] = {peer: version(peer) for peer in ("faiss-cpu", "hnswlib", "pynndescent")}
    found = []
    for row in chain(ours(points, queries), peers(points, queries)):
        append(options.results, with_origin(about | row, "semimetric"))
        found.append(row)
    report(f"recall and queries a second: {options.points} points x 32 features, k = {K}", found)


if __name__ == "__main__":
    main()
