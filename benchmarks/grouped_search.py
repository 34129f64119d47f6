"""What does a search among the items of the query's own group cost, beside a condition of each query?

A million items of 8 features under a distance with rough tables, and queries whose group is that of a random item. The groups
are 100,000 of about 10 items, 1,000, 100, 10, or 1 of all. "batch_ms" is ``kneighbors(Q, 10, by=...)`` of all queries at once,
and "single_ms" of one query after another. "where_ms" is one query after another with ``where="shop == 77"``, and "plain_ms"
one batch among all items. They are milliseconds of the processor for a query, with one thread. "first_ms" is the first query,
which sorts the items by their key. Answers by conditions are compared with those of the batch.

    python benchmarks/grouped_search.py [--points 1000000] [--queries 10000]
"""

import argparse
import time
from collections.abc import Callable

import numpy as np
from report import report, use_one_thread

from semimetric import Grid, NeighborIndex, PairEmbedding, Semimetric

K, SINGLE, CONDITIONS = 10, 50, 20


def spent(call: Callable[[], object]) -> tuple[float, object]:
    """Milliseconds of the processor, and the result of a call."""
    start = time.process_time()
    result = call()
    return (time.process_time() - start) * 1e3, result


def rough(X: np.ndarray, rng: np.random.Generator) -> Semimetric:
    """A distance with random tables of single features, as learned ones may be."""
    embedding = PairEmbedding(Grid.fit(X[:20_000], n_knots=8))
    weights = 0.05 + rng.random(embedding.n_columns) ** 3
    return Semimetric(embedding, weights, rng.random((X.shape[1], 2)), tuple(f"x{f}" for f in range(X.shape[1])))


def rows_of(n: int, n_queries: int) -> list[dict]:
    """A row for each number of groups."""
    rng = np.random.default_rng(0)
    X, Q = rng.normal(size=(n, 8)), rng.normal(size=(n_queries, 8))
    counts = sorted({max(n // 10, 1), *(c for c in (1000, 100, 10, 1) if c <= n // 10)}, reverse=True)
    shops = {f"shop{c}": rng.integers(0, c, n) for c in counts}
    index = NeighborIndex(rough(X, rng), n_jobs=1).fit(X, payload=shops)
    few = Q[: max(n_queries // 10, SINGLE)]
    index.kneighbors(few[:5], K)
    plain, _ = spent(lambda: index.kneighbors(few, K))
    plain_ms = round(plain / len(few), 4)
    # A query of a large group takes as long as one among all items.
    return [
        {"points": n, **row_of(index, Q if c >= 100 else few, c, shops[f"shop{c}"], rng), "plain_ms": plain_ms} for c in counts
    ]


def row_of(index: NeighborIndex, Q: np.ndarray, count: int, shops: np.ndarray, rng: np.random.Generator) -> dict:
    """What queries cost among so many groups, which are the values of a column of the payload."""
    name, own = f"shop{count}", shops[rng.integers(0, len(shops), len(Q))]

    def ask(rows: slice) -> tuple[np.ndarray, np.ndarray]:
        return index.kneighbors(Q[rows], K, by={name: own[rows]})

    first, _ = spent(lambda: ask(slice(0, 1)))
    single, _ = spent(lambda: [ask(slice(q, q + 1)) for q in range(SINGLE)])
    batch, found = spent(lambda: ask(slice(None)))
    conditions = [f"{name} == {own[q]}" for q in range(CONDITIONS)]
    condition, one_by_one = spent(lambda: [index.kneighbors(Q[q : q + 1], K, where=c) for q, c in enumerate(conditions)])
    for q, (distances, ids) in enumerate(one_by_one):
        k = ids.shape[1]
        if not ((found[1][q, :k] == ids[0]).all() and (found[0][q, :k] == distances[0]).all()):
            raise AssertionError(f"query {q} among {count} groups is answered in two ways")
    times = {"batch_ms": batch / len(Q), "single_ms": single / SINGLE, "where_ms": condition / CONDITIONS, "first_ms": first}
    return {"groups": count, "queries": len(Q)} | {key: round(value, 4) for key, value in times.items()}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--queries", type=int, default=10_000)
    arguments = parser.parse_args()
    use_one_thread()
    rows_of(3000, SINGLE)  # kernels are compiled
    report("search within groups", rows_of(arguments.points, arguments.queries))
