"""The items of an index: how many there are, under which ids, what they are, and how they are added and removed."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from .._foundation.types import ArrayLike
from .ids import ids_to_remove, known_ids, new_ids
from .segment import Segment
from .updates import with_items, without_items

__all__ = ["IndexedItems"]


class IndexedItems:
    """The part of `NeighborIndex` that holds its items."""

    segments_: list[Segment]
    n_lists: int | str
    n_jobs: int | None
    random_state: int | None
    storage: str
    semimetric_: Any
    _collection: Any
    _has_graph: Any
    _with_graphs: Any

    def __len__(self) -> int:
        return self.n_samples_fit_ if hasattr(self, "segments_") else 0

    def __bool__(self) -> bool:
        return True  # an estimator is one, even without items

    def __contains__(self, id: object) -> bool:
        check_is_fitted(self)
        kind = str if self.segments_[0].ids.dtype.kind == "U" else (int, np.integer)
        if not isinstance(id, kind) or isinstance(id, bool):
            return False
        return any(bool((s.alive & (s.ids == id)).any()) for s in self.segments_)

    @property
    def n_samples_fit_(self) -> int:
        """Number of items that have not been removed."""
        return sum(s.n_alive for s in self.segments_)

    @property
    def ids_(self) -> NDArray[Any]:
        """Ids of the items that have not been removed, shape (n_samples_fit_,)."""
        return np.concatenate([s.ids[s.alive] for s in self.segments_])

    def get_items(self, ids: ArrayLike) -> NDArray[Any]:
        """The items of these ids, as they were given: exact, with categories in words, and angles within their period.

        Times on a scale are `datetime` objects. A category that the distance does not know is "(other)", which it
        takes for one again.

        Parameters
        ----------
        ids : array-like of shape (n,), or one id

        Returns
        -------
        ndarray of shape (n, n_features), or (n_features,) of one id
            Floating-point numbers as they were given, or objects where there are categories, periods or missing values.

        Raises
        ------
        InputError
            If an id is not in the index.
        """
        check_is_fitted(self)
        found = self.semimetric_.schema.told(self._collection(None).vectors(known_ids(ids, self.ids_)))
        return found[0] if np.ndim(ids) == 0 and not isinstance(ids, (set, frozenset)) else found

    def add(self, X: ArrayLike, ids: ArrayLike | None = None) -> Self:
        """Add the rows of X.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        ids : array-like of shape (n,) or None
            New ids, of the kind of those that are there; None numbers on from the largest integer.

        Raises
        ------
        InputError
            If an id is there already, or ids are of another kind.
        """
        check_is_fitted(self)
        items = self._items(X)
        segments = with_items(self.segments_, new_ids(ids, len(items), self.ids_), items, self._build_options)
        self.segments_ = self._with_graphs(segments) if self._has_graph() else segments
        return self

    def remove(self, ids: ArrayLike) -> Self:
        """Remove items by id; if one is not in the index, it is an error and nothing is removed."""
        check_is_fitted(self)
        segments = without_items(self.segments_, ids_to_remove(ids, self.ids_), self._build_options)
        self.segments_ = self._with_graphs(segments) if self._has_graph() else segments
        return self

    @property
    def _build_options(self) -> dict[str, Any]:
        return {"n_lists": self.n_lists, "n_jobs": self.n_jobs, "seed": self.random_state, "storage": self.storage}

    def _items(self, X: ArrayLike, *, reset: bool = False) -> NDArray[Any]:
        """The rows of X, encoded."""
        raise NotImplementedError
