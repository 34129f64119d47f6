"""Searching shards where they can be opened: every block of queries goes to every shard, and answers are merged here."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..._foundation.types import ArrayLike, Floats
from ..._foundation.validation import check_choice
from ...data.parts.engine import Engine
from ...data.parts.row_parts import slices
from ..results import Neighbors, as_graph, merged, merged_within
from ..search_arguments import SearchRequest, candidate_count, check_neighbors, check_radius
from .shard_files import Place

__all__ = ["graph", "nearest", "within"]

_FEW = 64  # A call is worth its cost from so many queries on.


def nearest(
    engine: Engine,
    places: Sequence[Place],
    X: ArrayLike,
    k: int,
    *,
    algorithm: str | None = None,
    n_candidates: int | None = None,
) -> Neighbors:
    """The k nearest of all items for every row of X, as one index would answer."""
    index = places[0].open()
    queries = index._items(X)
    algorithm = index.algorithm if algorithm is None else algorithm
    check_neighbors(algorithm, k, sum(place.shard.n for place in places))
    candidates = candidate_count(index.n_candidates if n_candidates is None else n_candidates, k)
    search = SearchRequest(k, algorithm, candidates, index.n_probe)
    found = []
    for answers in _answers(engine, places, queries, _shard_nearest, search):
        best = merged(answers, k)
        found.append(best._replace(distances=index._view.linked(best.distances)))
    return Neighbors(*(np.concatenate(part) for part in zip(*found, strict=True)))


def within(engine: Engine, places: Sequence[Place], X: ArrayLike, radius: float) -> list[tuple[Floats, NDArray[Any]]]:
    """Distances and ids of all items within ``radius`` of every row of X, nearest first."""
    index, out = places[0].open(), []
    check_radius(radius, index._view.least)
    for answers in _answers(engine, places, index._items(X), _shard_within, radius):
        for of_shards in zip(*answers, strict=True):
            sums, ids = merged_within(of_shards)
            out.append((index._view.linked(sums), ids))
    return out


def graph(engine: Engine, places: Sequence[Place], X: ArrayLike, k: int, mode: str, **options: Any) -> sparse.csr_matrix:
    """`nearest` as a sparse matrix; columns are in the order of the ids, shard after shard."""
    check_choice("mode", mode, ("connectivity", "distance"))
    found = nearest(engine, places, X, k, **options)
    ids = np.concatenate(list(engine.each(_shard_ids, list(places))))
    return as_graph(found.distances if mode == "distance" else np.ones(found.ids.shape), found.ids, ids)


def _answers(engine: Engine, places: Sequence[Place], queries: NDArray[Any], function: Any, request: Any) -> list[list[Any]]:
    """The answers of all shards to every block of queries; there are as few blocks as keep all workers busy.

    ``function`` takes a place with a block of queries, and the request.
    """
    wanted = -(-2 * engine.width // len(places))
    blocks = slices(len(queries), max(-(-len(queries) // wanted), _FEW))
    tasks = [(place, queries[block]) for block in blocks for place in places]
    near = [b if len(places) == 1 else 0 for b in range(len(blocks)) for _ in places]  # All workers open a single index.
    found = list(engine.each_near(function, tasks, near, request))
    return [found[b * len(places) : (b + 1) * len(places)] for b in range(len(blocks))]


def _shard_nearest(task: tuple[Place, NDArray[Any]], search: SearchRequest) -> Neighbors:
    """The nearest items of one shard with their sums before the link, so that ties are those of one index."""
    place, queries = task
    index = place.open()
    search = search._replace(k=min(search.k, place.shard.n))
    return index._collection(None).sums(queries, search, n_jobs=None, verbose=False)


def _shard_within(task: tuple[Place, NDArray[Any]], radius: float) -> list[tuple[Floats, NDArray[Any]]]:
    """The items of one shard within the radius with their sums before the link, so that ties are those of one index."""
    place, queries = task
    return place.open()._collection(None).sums_within(queries, radius, n_jobs=None, verbose=False)


def _shard_ids(place: Place) -> NDArray[Any]:
    return place.open().ids_
