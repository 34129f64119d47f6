"""The answers to queries: found block by block over threads in several segments, and merged into one."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from scipy import sparse
from tqdm import tqdm

from .._foundation.threads import map_blocks
from .._foundation.types import Floats, Integers, Pairs
from ..distances.callables import DistanceFunction
from .ordered_segments import nearest_in_order, pays
from .query_tables import QueryBlock, QueryView
from .search_arguments import SearchRequest
from .segment import Segment

__all__ = [
    "Collection",
    "Neighbors",
    "Recall",
    "as_graph",
    "as_objects",
    "merged",
    "merged_within",
    "no_neighbors",
    "without_own",
]

_BLOCK = 128  # At most so many queries are tabulated together,
_PIECES = 1 << 23  # and at most so many linear pieces, of 16 bytes.


class Neighbors(NamedTuple):
    """Distances and ids of the nearest items, both (n_queries, k), and how much was computed to find them.

    ``refined`` counts the items whose exact distance was computed for each query; ``at_once`` says whether the items
    that were found first are the nearest.
    """

    distances: Floats
    ids: NDArray[Any]
    refined: Integers
    at_once: NDArray[np.bool_]


class Recall(NamedTuple):
    """Share of the true neighbours that the approximate search finds: its mean and 5th percentile over queries."""

    mean: float
    p5: float
    n_queries: int
    n_neighbors: int

    @classmethod
    def of(cls, true: Floats, got: Floats) -> "Recall":
        """The recall of found distances, given the exact ones, both (n_queries, k) and increasing in every row."""
        shares = (got <= true[:, -1:]).mean(axis=1)
        return cls(float(shares.mean()), float(np.quantile(shares, 0.05)), *true.shape)

    def __str__(self) -> str:
        return f"recall@{self.n_neighbors} {self.mean:.4f} (5th percentile {self.p5:.3f}, {self.n_queries} queries)"


class Collection(NamedTuple):
    """Segments under one distance, and which of their items may be answered (all where a mask is None)."""

    view: QueryView
    segments: Sequence[Segment]
    masks: Sequence[NDArray[np.bool_] | None]

    @property
    def n_eligible(self) -> int:
        """Number of items that may be answered."""
        masked = zip(self.segments, self.masks, strict=True)
        return sum(s.n_alive if mask is None else int((s.alive & mask).sum()) for s, mask in masked)

    def nearest(self, X: NDArray[Any], search: SearchRequest, *, n_jobs: int | None, verbose: bool) -> Neighbors:
        """The k nearest items of every row of X; k must be at most `n_eligible`."""
        found = self.sums(X, search, n_jobs=n_jobs, verbose=verbose)
        return found._replace(distances=self.view.linked(found.distances))

    def sums(self, X: NDArray[Any], search: SearchRequest, *, n_jobs: int | None, verbose: bool) -> Neighbors:
        """`nearest` with the sums before the link for distances: what nearest of several collections are merged by."""
        blocks = self._answered(lambda queries: self.of_block(queries, search), X, n_jobs, verbose)
        return Neighbors(*(np.concatenate(arrays) for arrays in zip(*blocks, strict=True)))

    def _answered(self, answer: Callable[[QueryBlock], Any], X: NDArray[Any], n_jobs: int | None, verbose: bool) -> list[Any]:
        """What ``answer`` returns for every block of the queries X, in order; blocks run in parallel."""
        with tqdm(total=len(X), desc="queries", disable=not verbose) as bar:

            def answered(rows: slice) -> Any:
                queries = self.view.block(self.view.points(X[rows]))
                found = answer(queries)
                bar.update(len(queries))
                return found

            size = min(_block_size(len(X), n_jobs), max(_PIECES // max(self.view.n_pieces, 1), 1))
            return map_blocks(answered, len(X), size=size, n_jobs=n_jobs)

    def of_block(self, queries: QueryBlock, search: SearchRequest) -> Neighbors:
        """The k nearest of every query of a block, with sums for distances."""
        if pays(self.view, self.segments, search):
            return Neighbors(*nearest_in_order(self.view, self.segments, self.masks, queries, search))
        answers = [s.nearest(queries, search, mask) for s, mask in zip(self.segments, self.masks, strict=True)]
        sums = np.hstack([a.sums for a in answers])
        ids = np.hstack([s.ids[a.rows] for s, a in zip(self.segments, answers, strict=True)])
        refined, at_once = np.sum([a.refined for a in answers], axis=0), np.all([a.at_once for a in answers], axis=0)
        found = Neighbors(sums, ids, refined, at_once)
        return found if len(answers) == 1 else _smallest(found, search.k)  # One segment answers in order already.

    def within(self, X: NDArray[Any], radius: float, *, n_jobs: int | None, verbose: bool) -> list[tuple[Floats, NDArray[Any]]]:
        """Distances and ids of all items within ``radius`` of every row of X, nearest first, ties of the sum by id."""
        return [(self.view.linked(sums), ids) for sums, ids in self.sums_within(X, radius, n_jobs=n_jobs, verbose=verbose)]

    def sums_within(
        self, X: NDArray[Any], radius: float, *, n_jobs: int | None, verbose: bool
    ) -> list[tuple[Floats, NDArray[Any]]]:
        """`within` with the sums before the link for distances: what answers of several collections are merged by."""
        blocks = self._answered(lambda queries: self._within(queries, radius), X, n_jobs, verbose)
        return [found for block in blocks for found in block]

    def _within(self, queries: QueryBlock, radius: float) -> list[tuple[Floats, NDArray[Any]]]:
        limit, found = self.view.unlinked(radius), []
        limit += 1e-12 * abs(limit)
        prepared = [(s, s.bounds(queries), mask) for s, mask in zip(self.segments, self.masks, strict=True)]
        for q in range(len(queries)):
            answers = [s.within(queries, q, limit, bounds, mask) for s, bounds, mask in prepared]
            sums = np.concatenate([sums for sums, _ in answers])
            ids = np.concatenate([s.ids[rows] for s, (_, rows) in zip(self.segments, answers, strict=True)])
            near = self.view.linked(sums) <= radius
            found.append(_increasing(sums[near], ids[near]))
        return found

    def vectors(self, ids: NDArray[Any]) -> NDArray[Any]:
        """Encoded vectors of items by id, of the dtype that they were given in: shape (*ids.shape, n_features)."""
        rows = [np.flatnonzero(s.alive & np.isin(s.ids, ids)) for s in self.segments]
        found = np.concatenate([s.ids[of_segment] for s, of_segment in zip(self.segments, rows, strict=True)])
        vectors = np.concatenate([s.points.raw[of_segment] for s, of_segment in zip(self.segments, rows, strict=True)])
        order = np.argsort(found, kind="stable")
        return vectors[order[np.searchsorted(found, ids, sorter=order)]]

    def reranked(
        self, X: NDArray[Any], found: Neighbors, distance: Callable, k: int, *, n_jobs: int | None, verbose: bool
    ) -> Neighbors:
        """Of the neighbours that were found, the k nearest by another distance, with its values as distances."""
        n, m = found.ids.shape
        vectors = np.concatenate([X, self.vectors(found.ids).reshape(n * m, -1)]).astype(np.float64)
        pairs = np.column_stack([np.repeat(np.arange(n), m), n + np.arange(n * m)])
        pairs = pairs if self.view.side == "query-first" else pairs[:, ::-1]
        function = DistanceFunction.detect(distance, vectors, schema=self.view.semimetric.schema)
        true = function.evaluate(Pairs(vectors, pairs), n_jobs=n_jobs, verbose=verbose).reshape(n, m)
        order = np.lexsort((found.ids, true), axis=-1)[:, :k]
        return found._replace(
            distances=np.take_along_axis(true, order, axis=1), ids=np.take_along_axis(found.ids, order, axis=1)
        )


def _increasing(sums: Floats, ids: NDArray[Any]) -> tuple[Floats, NDArray[Any]]:
    """Sums and their ids by increasing sum; ties go to the smallest id."""
    order = np.lexsort((ids, sums))
    return sums[order], ids[order]


def _block_size(n: int, n_jobs: int | None) -> int:
    """The number of queries in a block, so that there are blocks for every thread."""
    return max(min(_BLOCK, -(-n // effective_n_jobs(n_jobs))), 1)


def merged(answers: Sequence[Neighbors], k: int) -> Neighbors:
    """The k nearest of several answers to the same queries."""
    sums, ids = np.hstack([a.distances for a in answers]), np.hstack([a.ids for a in answers])
    refined, at_once = np.sum([a.refined for a in answers], axis=0), np.all([a.at_once for a in answers], axis=0)
    return _smallest(Neighbors(sums, ids, refined, at_once), k)


def merged_within(answers: Sequence[tuple[Floats, NDArray[Any]]]) -> tuple[Floats, NDArray[Any]]:
    """Several answers of sums and ids to the same query as one, increasing; ties go to the smallest id."""
    sums, ids = (np.concatenate(arrays) for arrays in zip(*answers, strict=True))
    return _increasing(sums, ids)


def _smallest(found: Neighbors, k: int) -> Neighbors:
    """The k neighbours of the smallest distances in every row, increasing; ties go to the smallest id."""
    order = np.lexsort((found.ids, found.distances), axis=-1)[:, :k]
    return found._replace(
        distances=np.take_along_axis(found.distances, order, axis=1), ids=np.take_along_axis(found.ids, order, axis=1)
    )


def as_graph(values: Floats, ids: NDArray[Any], all_ids: NDArray[Any]) -> sparse.csr_matrix:
    """Values of ids (n_queries, k) as a sparse matrix with a column for each of ``all_ids``; rows keep their order."""
    order = np.argsort(all_ids, kind="stable")
    columns = order[np.searchsorted(all_ids, ids.ravel(), sorter=order)]
    indptr = np.arange(len(ids) + 1) * ids.shape[1]
    return sparse.csr_matrix((values.ravel(), columns, indptr), shape=(len(ids), len(all_ids)))


def as_objects(arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Arrays of any lengths as an array of objects, shape (len(arrays),)."""
    out = np.empty(len(arrays), dtype=object)
    out[:] = arrays
    return out


def no_neighbors(n: int, dtype: np.dtype) -> Neighbors:
    """The answer to n queries where no item may be answered; ids are of type ``dtype``."""
    return Neighbors(np.empty((n, 0)), np.empty((n, 0), dtype), np.zeros(n, np.int64), np.ones(n, dtype=bool))


def without_own(found: Neighbors, own: NDArray[Any]) -> Neighbors:
    """Neighbours (n, k - 1) without the id ``own`` (n,) of the query itself, or without the last where it is not among them."""
    drop = found.ids == own[:, None]
    drop[~drop.any(axis=1), -1] = True
    shape = (len(own), found.ids.shape[1] - 1)
    return found._replace(distances=found.distances[~drop].reshape(shape), ids=found.ids[~drop].reshape(shape))
