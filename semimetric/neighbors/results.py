"""Queries in blocks over threads, and the answers of several segments as one."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from scipy import sparse
from tqdm import tqdm

from .._foundation.threads import map_blocks
from .._foundation.types import Floats, Integers, Pairs
from ..distances.callables import DistanceFunction
from .query_tables import QueryView
from .segment import SearchRequest, Segment

__all__ = ["Collection", "Neighbors", "Recall", "as_graph", "merged", "nothing", "without_own"]

_BLOCK = 128  # queries that are tabulated together, at most


class Neighbors(NamedTuple):
    """Distances and ids (n_queries, k), and what it took.

    ``refined`` counts the items whose exact distance was computed for each query; ``at_once`` says whether the first scan
    was enough.
    """

    distances: Floats
    ids: NDArray
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
        """Of exact and found distances (n_queries, k)."""
        shares = (got <= true[:, -1:]).mean(axis=1)
        return cls(float(shares.mean()), float(np.quantile(shares, 0.05)), *true.shape)

    def __str__(self) -> str:
        return f"recall@{self.n_neighbors} {self.mean:.4f} (5th percentile {self.p5:.3f}, {self.n_queries} queries)"


class Collection(NamedTuple):
    """Segments under one distance, and which of their items may be answered (all where a mask is None)."""

    oriented: QueryView
    segments: Sequence[Segment]
    keeps: Sequence[NDArray[np.bool_] | None]

    @property
    def n_eligible(self) -> int:
        """Number of items that may be answered."""
        pairs = zip(self.segments, self.keeps, strict=True)
        return sum(s.n_alive if keep is None else int((s.alive & keep).sum()) for s, keep in pairs)

    def nearest(self, X: NDArray, search: SearchRequest, *, n_jobs: int | None, verbose: bool) -> Neighbors:
        """The k nearest items of every row of X; k must be at most `n_eligible`."""
        found = self.sums(X, search, n_jobs=n_jobs, verbose=verbose)
        return found._replace(distances=self.oriented.linked(found.distances))

    def sums(self, X: NDArray, search: SearchRequest, *, n_jobs: int | None, verbose: bool) -> Neighbors:
        """`nearest` with the sums before the link for distances: what nearest of several collections are merged by."""
        with tqdm(total=len(X), desc="queries", disable=not verbose) as bar:

            def answered(block: slice) -> Neighbors:
                found = self._nearest(X[block], search)
                bar.update(len(found.ids))
                return found

            parts = map_blocks(answered, len(X), size=_block(len(X), n_jobs), n_jobs=n_jobs)
        return Neighbors(*(np.concatenate(part) for part in zip(*parts, strict=True)))

    def _nearest(self, X: NDArray, search: SearchRequest) -> Neighbors:
        queries = self.oriented.points(X)
        block = self.oriented.profiles(queries)
        answers = [s.nearest(queries, block, search, keep) for s, keep in zip(self.segments, self.keeps, strict=True)]
        sums = np.hstack([a.sums for a in answers])
        ids = np.hstack([s.ids[a.rows] for s, a in zip(self.segments, answers, strict=True)])
        refined, at_once = np.sum([a.refined for a in answers], axis=0), np.all([a.at_once for a in answers], axis=0)
        found = Neighbors(sums, ids, refined, at_once)
        return found if len(answers) == 1 else smallest(found, search.k)  # a segment alone is sorted

    def within(self, X: NDArray, radius: float, *, n_jobs: int | None, verbose: bool) -> list[tuple[Floats, NDArray]]:
        """Distances and ids of all items within ``radius`` of every row of X, nearest first, ties of the sum by id."""
        with tqdm(total=len(X), desc="queries", disable=not verbose) as bar:

            def answered(block: slice) -> list[tuple[Floats, NDArray]]:
                found = self._within(X[block], radius)
                bar.update(len(found))
                return found

            parts = map_blocks(answered, len(X), size=_block(len(X), n_jobs), n_jobs=n_jobs)
        return [pair for part in parts for pair in part]

    def _within(self, X: NDArray, radius: float) -> list[tuple[Floats, NDArray]]:
        queries, limit = self.oriented.points(X), self.oriented.unlinked(radius) * (1 + 1e-12)
        block, found = self.oriented.profiles(queries), []
        ready = [s.prepared(queries, block) for s in self.segments]
        for q in range(len(X)):
            parts = zip(self.segments, ready, self.keeps, strict=True)
            answers = [s.within(queries, block, r, q, limit, keep) for s, r, keep in parts]
            sums = np.concatenate([sums for sums, _ in answers])
            ids = np.concatenate([s.ids[rows] for s, (_, rows) in zip(self.segments, answers, strict=True)])
            order = np.lexsort((ids, sums))
            distances = self.oriented.linked(sums[order])
            found.append((distances[distances <= radius], ids[order][distances <= radius]))
        return found

    def vectors(self, ids: NDArray) -> NDArray:
        """Raw vectors of items by id, shape (*ids.shape, n_features)."""
        alive = [np.flatnonzero(s.alive) for s in self.segments]  # an id that was removed may be there again
        there = np.concatenate([s.ids[rows] for s, rows in zip(self.segments, alive, strict=True)])
        owner = np.repeat(np.arange(len(alive)), [len(rows) for rows in alive])
        order = np.argsort(there, kind="stable")
        place = order[np.searchsorted(there[order], ids)]
        row = np.concatenate(alive)[place]
        out = np.empty((*ids.shape, self.segments[0].points.raw.shape[1]))
        for k, s in enumerate(self.segments):
            here = owner[place] == k
            out[here] = s.points.raw[row[here]]
        return out

    def reranked(
        self, X: NDArray, found: Neighbors, distance: Callable, k: int, *, n_jobs: int | None, verbose: bool
    ) -> Neighbors:
        """The k nearest of the answers by another distance, with its values."""
        n, m = found.ids.shape
        vectors = np.concatenate([X, self.vectors(found.ids).reshape(n * m, -1)]).astype(np.float64)
        pairs = np.column_stack([np.repeat(np.arange(n), m), n + np.arange(n * m)])
        pairs = pairs if self.oriented.side == "query-first" else pairs[:, ::-1]
        function = DistanceFunction.detect(distance, vectors, schema=self.oriented.semimetric.schema)
        true = function.evaluate(Pairs(vectors, pairs), n_jobs=n_jobs, verbose=verbose).reshape(n, m)
        order = np.lexsort((found.ids, true), axis=-1)[:, :k]
        return found._replace(
            distances=np.take_along_axis(true, order, axis=1), ids=np.take_along_axis(found.ids, order, axis=1)
        )


def _block(n: int, n_jobs: int | None) -> int:
    """Queries a block: enough of them for every thread."""
    return max(min(_BLOCK, -(-n // effective_n_jobs(n_jobs))), 1)


def merged(parts: Sequence[Neighbors], k: int) -> Neighbors:
    """The k nearest of several answers to the same queries."""
    sums, ids = (np.hstack([getattr(p, name) for p in parts]) for name in ("distances", "ids"))
    refined, at_once = np.sum([p.refined for p in parts], axis=0), np.all([p.at_once for p in parts], axis=0)
    return smallest(Neighbors(sums, ids, refined, at_once), k)


def smallest(found: Neighbors, k: int) -> Neighbors:
    """The k smallest of every row, ties by id."""
    order = np.lexsort((found.ids, found.distances), axis=-1)[:, :k]
    return found._replace(
        distances=np.take_along_axis(found.distances, order, axis=1), ids=np.take_along_axis(found.ids, order, axis=1)
    )


def as_graph(values: Floats, ids: NDArray, there: NDArray) -> sparse.csr_matrix:
    """Values of ids (n_queries, k) as a sparse matrix whose columns are the ids ``there``; rows keep their order."""
    order = np.argsort(there, kind="stable")
    columns = order[np.searchsorted(there, ids.ravel(), sorter=order)]
    ends = np.arange(len(ids) + 1) * ids.shape[1]
    return sparse.csr_matrix((values.ravel(), columns, ends), shape=(len(ids), len(there)))


def nothing(n: int, dtype: np.dtype) -> Neighbors:
    """Answers without neighbours."""
    return Neighbors(np.empty((n, 0)), np.empty((n, 0), dtype), np.zeros(n, np.int64), np.ones(n, dtype=bool))


def without_own(found: Neighbors, own: NDArray) -> Neighbors:
    """Leave out each item itself, or the last where it is not there."""
    drop = found.ids == own[:, None]
    drop[~drop.any(axis=1), -1] = True
    shape = (len(own), found.ids.shape[1] - 1)
    return found._replace(distances=found.distances[~drop].reshape(shape), ids=found.ids[~drop].reshape(shape))
