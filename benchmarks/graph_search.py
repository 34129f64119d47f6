"""Is a walk along a graph faster than inverted lists where an approximate answer is enough? One thread.

Points, distance and queries are those of search.py: rough learned tables on real pixels. Both searches are those of one
`NeighborIndex`: inverted lists with scans of 4-bit codes, and the graph of `NeighborIndex.build_graph`. Each is tuned to
recalls of .95 and .99 by 400 other queries, and the graph is also measured at fixed numbers of nearest items that a walk keeps.
Queries a second are those that one processor answers in a batch.
"""

import argparse
import warnings

from report import add_results, append, once, report, use_one_thread, with_origin
from search import K, learned, more, recall, timed

from semimetric import NeighborIndex, SemimetricWarning

WIDTHS = (10, 16, 24, 40, 64, 100)


def rows(n: int, n_queries: int) -> list[dict]:
    """What lists and graph answer at n points, and what they take."""
    d, X = learned("landsat_satimage", 32)
    points, queries, others = more(X, n, 1), more(X, n_queries, 2), more(X, 1000, 3)
    compiled = NeighborIndex(d).fit(points[:20_000]).build_graph()  # before it is timed
    compiled.kneighbors(queries[:2], K, algorithm="graph")
    fit_s, index = once(lambda: NeighborIndex(d).fit(points))
    true = index.kneighbors(queries, K, return_distance=False)

    def row(engine: str, algorithm: str, **options: object) -> dict:
        nearest = index.searcher(K, algorithm=algorithm, **options)
        out = {"engine": engine, "n_candidates": nearest._request.n_candidates, "recall": recall(nearest(queries)[1], true)}
        out |= timed(nearest, queries, 200)
        return out | {"queries_a_second": 1e3 / out["batch_cpu_ms"], "bytes_a_point": index.nbytes / n}

    out = []
    for least in (0.95, 0.99):
        index.tune(others, recall=least, n_neighbors=K)
        of_lists = {"n_probe": index.n_probe} if index.algorithm == "approximate" else {}
        of_lists |= row(f"lists, tuned to {least}", index.algorithm)
        out.append(of_lists | {"build_s": fit_s})
    build_s, _ = once(index.build_graph)
    index.set_params(n_candidates=None)
    out += [row("graph", "graph", n_candidates=width) for width in WIDTHS]
    for least in (0.95, 0.99):
        index.tune(others, recall=least, n_neighbors=K)
        out.append(row(f"all, tuned to {least}", index.algorithm) | {"chosen": index.algorithm})
    for of_graph in out[2:]:
        of_graph["build_s"] = fit_s + build_s
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--queries", type=int, default=2_000)
    add_results(parser)
    options = parser.parse_args()
    warnings.simplefilter("ignore", SemimetricWarning)
    found = rows(options.points, options.queries)
    report(f"graph search: {options.points} points x 32 features, k = {K}, one thread", found)
    for row in found:
        about = {"benchmark": "graph_search", "points": options.points, "features": 32, "k": K}
        append(options.results, with_origin(about | row, "semimetric"))


if __name__ == "__main__":
    use_one_thread()
    main()
