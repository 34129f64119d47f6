"""A search that is asked again and again: what does not depend on the query is checked and computed once.

Threads that ask single queries at the same time share locks. A walk along a graph is one compiled call of microseconds, which
holds the interpreter's lock. To hand that over and to wait for it would take as long as the walk, and eight threads then were
answered less together than one. Other short searches are some Python and some compiled calls, so they run one at a time. Exact
ones are mostly compiled, so that as many run at a time as there are processors. Where the interpreter has no lock, nothing
waits (`benchmarks/single_query.py`).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from threading import RLock, Semaphore
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._foundation.arrays import all_finite
from ..._foundation.errors import InputError
from ..._foundation.threads import thread_count
from ..._foundation.types import ArrayLike
from ...data.rows import RowReader, single_row
from .grouped import KeyedItems
from .items import SegmentedItems
from .segment import SearchRequest
from .single_query import SingleQueries

_LONG = ("exact", "brute", "merge")
_locks: dict[str, AbstractContextManager[object]] = {}


class Searcher:
    """The k nearest items of a query, of an index as it was when its method `searcher` made this.

    Items that are added to the index or removed later change nothing here. Threads may share a searcher. Eight of them get as
    many answers a second as one; for more, ask in batches, or from several processes. A query is a vector, a list, a dict, a
    series of pandas or a frame of one row.
    """

    def __init__(
        self, encode: Callable[[Any], NDArray[Any]], items: SegmentedItems, request: SearchRequest, n_jobs: int | None,
        takes_objects: bool = False, columns: Sequence[str] | None = None, groups: KeyedItems | None = None,
    ) -> None:  # fmt: skip
        self._encode = encode
        self._items = items
        self._groups = groups  # of the items, where answers equal their query in some columns
        self._request = request
        self.n_jobs = n_jobs
        self._takes_objects = takes_objects  # which are no rows: several are a sequence
        schema = items.view.semimetric.schema
        self._takes_rows = schema.plain
        self._reader = RowReader(schema, columns)  # of frames with the columns of the fit, and of rows by name

    @property
    def k(self) -> int:
        """The number of neighbours that are answered."""
        return self._request.k

    def __repr__(self) -> str:
        return f"Searcher of the {self.k} nearest of {self._items.n_eligible} items, {self._request.algorithm}"

    def __call__(self, X: ArrayLike, *, by: Mapping[str, ArrayLike] | None = None) -> tuple[NDArray[Any], NDArray[Any]]:
        """Find the nearest items of one query (n_features,), or of each row or object of X, as `NeighborIndex.kneighbors` does.

        Distances and ids are arrays of shape (k,) or (n_queries, k). ``by`` has the values of the queries in the columns that
        `searcher` was given, where X has not; else an InputError is raised.
        """
        items = self._items
        if self._groups is not None:
            queries, single, keys = self._groups.encode(X, by, self._queries)
            grouped = self._groups.asked(keys).nearest(queries, self._request, n_jobs=self.n_jobs, verbose=False)
            return (grouped.distances[0], grouped.ids[0]) if single else (grouped.distances, grouped.ids)
        if by is not None:
            raise InputError(
                f"by={by!r:.80} is given to a searcher without groups; make one by index.searcher(by={list(by)!r})"
            )
        queries, single = self._queries(X)
        if len(queries) == 1 and self._single is not None:
            one = self._single.nearest(queries)
            if one is not None:
                sums, ids = items.view.linked(one[0]), items.segments[0].ids[one[1]]
                return (sums, ids) if single else (sums[None], ids[None])
        if len(queries) == 1:
            with query_lock(self._request.algorithm):
                found = items.nearest_of_block(items.view.block(items.view.points(queries)), self._request)
                found = found._replace(distances=items.view.linked(found.distances))
        else:
            found = items.nearest(queries, self._request, n_jobs=self.n_jobs, verbose=False)
        return (found.distances[0], found.ids[0]) if single else (found.distances, found.ids)

    @cached_property
    def _single(self) -> SingleQueries | None:
        """Single queries of the only segment; None where several are searched, and merged."""
        (segment, *others), mask = self._items.segments, self._items.masks[0]
        return None if others else SingleQueries(segment, self._request, mask)

    def _queries(self, X: Any) -> tuple[NDArray[Any], bool]:
        """Return the encoded queries, and True if X is a single one."""
        d = self._items.view.semimetric
        if self._takes_objects:
            return self._encode(X), False
        if isinstance(X, np.ndarray) and self._takes_rows and X.dtype in (np.float32, np.float64):
            rows = X[None] if X.ndim == 1 else X
            if rows.shape == (len(rows), d.n_features) and all_finite(rows):
                return rows, X.ndim == 1
        if (row := self._reader.read(X)) is not None:
            return row, not isinstance(X, dict) and not hasattr(X, "columns")
        if np.ndim(X) == 1:  # frames have two dimensions too
            return single_row(X, d.schema)[0], True
        return self._encode(X), False


def _renew() -> None:
    """Make locks that nobody holds; also in a process that was forked while a thread held one."""
    locked = getattr(sys, "_is_gil_enabled", lambda: True)()
    # A thread that holds the lock may ask again, as a handler of a signal does.
    _locks["short"] = RLock() if locked else nullcontext()
    _locks["long"] = Semaphore(max(thread_count(-1), 2)) if locked else nullcontext()


_renew()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


def query_lock(algorithm: str) -> AbstractContextManager[object]:
    """Return the lock that a thread holds while it answers one query by this algorithm."""
    return _locks["long" if algorithm in _LONG else "short"]
