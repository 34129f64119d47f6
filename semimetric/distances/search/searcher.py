"""A search that is asked again and again: what does not depend on the query is checked and computed once."""

from __future__ import annotations

import os
import sys
from contextlib import AbstractContextManager, nullcontext
from threading import RLock, Semaphore
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..._foundation.errors import InputError, NotSupportedError
from ..._foundation.types import ArrayLike
from ..._foundation.validation import check_n_jobs
from ...data.rows import single_row
from .items import Collection
from .search_arguments import SearchRequest, candidate_count, check_neighbors

_LONG = ("exact", "brute")
_turns: dict[str, AbstractContextManager[object]] = {}


def _renew() -> None:
    """Make turns that nobody has; also in a process that was forked while a thread had one."""
    locked = getattr(sys, "_is_gil_enabled", lambda: True)()
    # A thread that has a turn may ask again, as a handler of a signal does.
    _turns["short"] = RLock() if locked else nullcontext()
    _turns["long"] = Semaphore(max(effective_n_jobs(-1), 2)) if locked else nullcontext()


_renew()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


def turn(algorithm: str) -> AbstractContextManager[object]:
    """What a thread enters while it answers one query by this algorithm."""
    return _turns["long" if algorithm in _LONG else "short"]


class Searcher:
    """The k nearest items of a query, of an index as it was when its method `searcher` made this.

    Arguments and ``where`` were checked then, and rows of floating-point numbers are taken as they are, so that little is done
    beside the search. Items that are added to the index or removed later change nothing here; threads may share a searcher.
    Their single queries take turns, so that they do not hinder one another; for more a second, ask in batches, or from several
    processes.
    """

    def __init__(self, index: Any, collection: Collection, request: SearchRequest, n_jobs: int | None) -> None:
        self._index, self._collection, self._request, self.n_jobs = index, collection, request, n_jobs
        self._takes_rows = collection.view.semimetric.schema.plain

    @property
    def k(self) -> int:
        """The number of neighbours that are answered."""
        return self._request.k

    def __repr__(self) -> str:
        return f"Searcher of the {self.k} nearest of {self._collection.n_eligible} items, {self._request.algorithm}"

    def __call__(self, X: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
        """The nearest items of one query, or of each row of X.

        Parameters
        ----------
        X : array-like of shape (n_features,) or (n_queries, n_features), or frame

        Returns
        -------
        distances, ids : ndarray of shape (k,) or (n_queries, k)
            Those of `NeighborIndex.kneighbors`, to the bit.
        """
        items, single = self._items(X)
        collection = self._collection
        if len(items) == 1:
            with turn(self._request.algorithm):
                queries = collection.view.block(collection.view.points(items))
                found = collection.of_block(queries, self._request)
                found = found._replace(distances=collection.view.linked(found.distances))
        else:
            found = collection.nearest(items, self._request, n_jobs=self.n_jobs, verbose=False)
        return (found.distances[0], found.ids[0]) if single else (found.distances, found.ids)

    def _items(self, X: ArrayLike) -> tuple[NDArray[Any], bool]:
        """The queries, encoded, and whether X is a single one."""
        d = self._collection.view.semimetric
        if isinstance(X, np.ndarray) and self._takes_rows and X.dtype in (np.float32, np.float64):
            items = X[None] if X.ndim == 1 else X
            if items.shape == (len(items), d.n_features) and np.isfinite(items).all():
                return items, X.ndim == 1
        if np.ndim(X) == 1:  # type: ignore[arg-type]  # frames have two dimensions too
            return single_row(X, d.schema)[0], True
        return self._index._items(X), False


class SearchedRepeatedly:
    """The part of `NeighborIndex` that makes a `Searcher`."""

    algorithm: str
    n_probe: int
    n_candidates: int | None
    n_jobs: int | None
    rerank: Any
    _collection: Any

    def searcher(
        self, k: int = 5, *, algorithm: str | None = None, n_candidates: int | None = None, where: Any = None,
        n_jobs: int | None = None,
    ) -> Searcher:  # fmt: skip
        """A function of queries that answers their ``k`` nearest, for services that ask one query after another.

        Parameters
        ----------
        k : int, default 5
        algorithm, n_candidates, where : as in `kneighbors`
            The items that ``where`` names are looked up once.
        n_jobs : int or None
            Threads of batches; None is ``n_jobs`` of the index.

        Returns
        -------
        Searcher
            Called with one query, of shape (n_features,), or several, (n_queries, n_features), it gives distances and ids.

        Raises
        ------
        InputError
            If no item may be answered, or k is larger than the number of items.
        NotSupportedError
            If the index has ``rerank``, which is asked item by item.

        Examples
        --------
        >>> import numpy as np, semimetric as sm
        >>> X = np.random.default_rng(0).random((100, 2))
        >>> nearest = sm.NeighborIndex("l1").fit(X).searcher(k=2)
        >>> distances, ids = nearest(X[7])
        >>> int(ids[0]), float(distances[0])
        (7, 0.0)
        """
        check_is_fitted(self)
        if self.rerank is not None:
            raise NotSupportedError("a searcher does not call rerank=; use kneighbors, or an index without it")
        algorithm = self.algorithm if algorithm is None else algorithm
        wanted = check_neighbors(algorithm, k, len(self.ids_))  # type: ignore[attr-defined]  # a property
        check_n_jobs(n_jobs)
        collection = self._collection(where)
        if not collection.n_eligible:
            raise InputError(f"where={where!r} leaves no item that may be answered; give a condition that some items fulfil")
        candidates = candidate_count(self.n_candidates if n_candidates is None else n_candidates, wanted)
        request = SearchRequest(min(wanted, collection.n_eligible), algorithm, candidates, self.n_probe)
        return Searcher(self, collection, request, self.n_jobs if n_jobs is None else n_jobs)
