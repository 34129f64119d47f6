"""Recall against queries per CPU second: our searches beside FAISS, hnswlib and pynndescent. Graphs are built on two threads.

Points and queries are those of search.py: real pixels moved towards their neighbours. Our searches answer under a learned
distance of rough tables, for which the other engines have no metric. They answer under Euclid's distance on the same points,
which is cheaper to compute. The recall of each engine is that of the exact 10 nearest under its own distance. So a curve says
what an engine costs for the distance that it can search, not which of two engines finds the better neighbours.
Queries a second are those of a batch, by CPU seconds.
"""

import argparse
import warnings
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from itertools import chain
from typing import Any, NamedTuple

import faiss
import hnswlib
import numpy as np
import pynndescent
from report import add_results, append, once, report, with_origin
from search import K, clocks, learned, more, recall
from threadpoolctl import threadpool_limits

from semimetric import NeighborIndex, SemimetricWarning

WIDTHS = (10, 16, 24, 40, 64, 100, 200)
CANDIDATES = (20, 50, 100, 200, 400, 800)


def measured(search: Callable[[np.ndarray], np.ndarray], queries: np.ndarray, true: np.ndarray) -> dict:
    """Measure the recall of the true ids, and queries per CPU second, a median of three batches."""
    with threadpool_limits(1):  # or threads of FAISS's matrix products wait, and their seconds count
        found = search(queries)
        cpu = np.median([clocks(lambda: search(queries))[1] for _ in range(3)])
    return {"recall": recall(found, true), "queries_a_second": len(queries) / cpu}


def ours(points: np.ndarray, queries: np.ndarray) -> Iterator[dict]:
    """Search under the learned distance: exactly, by lists and along the graph."""
    d, _ = learned("landsat_satimage", 32)
    compiled = NeighborIndex(d).fit(points[:20_000]).build_graph()  # before it is timed
    compiled.kneighbors(queries[:2], K, algorithm="graph")
    n_lists = int(np.sqrt(len(points)))  # exact searches and walks do without them
    fit_s, index = once(lambda: NeighborIndex(d, n_lists=n_lists, n_jobs=2).fit(points))
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


class Peer(NamedTuple):
    """An index of another package: a function that builds it, its settings, and a function that searches under one of them."""

    build: Callable[[np.ndarray], Any]
    settings: tuple[float | None, ...]
    search: Callable[[Any, float | None, np.ndarray], np.ndarray]


def built_by_faiss(spec: str) -> Callable[[np.ndarray], Any]:
    """Return a function that builds what FAISS's factory makes of a text, on two threads."""

    def build(points: np.ndarray) -> Any:
        faiss.omp_set_num_threads(2)
        index = faiss.index_factory(points.shape[1], spec.format(n_lists=int(np.sqrt(len(points)))))
        if isinstance(index, faiss.IndexNSG):
            index.build_type = 1  # NN-descent; the default compares all pairs
        index.train(points)
        index.add(points)
        faiss.omp_set_num_threads(1)
        return index

    return build


def asked_of_faiss(name: str) -> Callable[[Any, float | None, np.ndarray], np.ndarray]:
    """Return a function that sets the parameter of this name, and searches."""

    def search(index: Any, value: float | None, queries: np.ndarray) -> np.ndarray:
        if name == "search_L":
            index.nsg.search_L = value
        elif name:
            faiss.ParameterSpace().set_index_parameter(index, name, value)
        return index.search(queries, K)[1]

    return search


def build_hnswlib(points: np.ndarray) -> Any:
    graph = hnswlib.Index("l2", points.shape[1])
    graph.init_index(len(points), ef_construction=200, M=16, random_seed=0)
    graph.set_num_threads(2)
    graph.add_items(points)
    graph.set_num_threads(1)
    return graph


def search_hnswlib(graph: Any, width: float | None, queries: np.ndarray) -> np.ndarray:
    graph.set_ef(width)
    return graph.knn_query(queries, K)[0].astype(np.int64)


def build_pynndescent(points: np.ndarray) -> Any:
    descent = pynndescent.NNDescent(points, "euclidean", random_state=0, n_jobs=2)
    descent.prepare()
    return descent


def search_pynndescent(descent: Any, epsilon: float | None, queries: np.ndarray) -> np.ndarray:
    return descent.query(queries, K, epsilon=epsilon)[0]


PEERS = {
    "FAISS flat": Peer(built_by_faiss("Flat"), (None,), asked_of_faiss("")),
    "FAISS IVF flat": Peer(built_by_faiss("IVF{n_lists},Flat"), (2, 4, 8, 16, 32, 64), asked_of_faiss("nprobe")),
    "FAISS HNSW": Peer(built_by_faiss("HNSW16"), WIDTHS, asked_of_faiss("efSearch")),
    "FAISS NSG": Peer(built_by_faiss("NSG32"), WIDTHS, asked_of_faiss("search_L")),
    "hnswlib": Peer(build_hnswlib, WIDTHS, search_hnswlib),
    "pynndescent": Peer(build_pynndescent, (0.0, 0.05, 0.1, 0.2, 0.3), search_pynndescent),
}


def theirs(points: np.ndarray, queries: np.ndarray, engines: Sequence[str]) -> Iterator[dict]:
    """Search by other packages under Euclid's distance, at their usual settings of the build."""
    exact = PEERS["FAISS flat"]
    true = exact.search(exact.build(points), None, queries)
    for engine in engines:
        peer = PEERS[engine]
        peer.search(peer.build(points[:2_000]), peer.settings[0], queries[:2])  # compiled before it is timed
        build_s, index = once(lambda: peer.build(points))  # noqa: B023
        for setting in peer.settings:
            about = {"engine": engine, "distance": "Euclid", "build_s": build_s, "setting": setting}
            yield about | measured(lambda q: peer.search(index, setting, q), queries, true)  # noqa: B023


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=2_000)
    parser.add_argument("--engines", nargs="*", default=["semimetric", *PEERS], choices=["semimetric", *PEERS])
    add_results(parser)
    options = parser.parse_args()
    warnings.simplefilter("ignore", SemimetricWarning)
    _, X = learned("landsat_satimage", 32)
    points, queries = more(X, options.points, 1), more(X, options.queries, 2)
    about = {"benchmark": "search_curves", "points": options.points, "features": 32, "k": K, "queries": options.queries}
    about["peers"] = {peer: version(peer) for peer in ("faiss-cpu", "hnswlib", "pynndescent")}
    found = []
    others = theirs(points, queries, [engine for engine in options.engines if engine in PEERS])
    for row in chain(ours(points, queries) if "semimetric" in options.engines else (), others):
        append(options.results, with_origin(about | row, "semimetric"))
        found.append(row)
    report(f"recall and queries a second: {options.points} points x 32 features, k = {K}", found)


if __name__ == "__main__":
    main()
