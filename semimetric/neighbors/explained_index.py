"""The part of an index that says why its items are near."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._foundation.errors import InputError
from .._foundation.types import ArrayLike
from ..data.single_rows import single_row
from ..distances.explanations import Explanation
from .ids import known_ids
from .query_tables import QueryView

__all__ = ["ExplainedIndex"]


class ExplainedIndex:
    """The part of `NeighborIndex` that explains neighbours."""

    _view: QueryView
    _answer: Any
    _collection: Any

    def explain(
        self, x: ArrayLike, ids: ArrayLike | None = None, n_neighbors: int = 5, *, by: str = "features", where: Any = None
    ) -> Explanation:
        """Why items are near a query: what every feature adds to their distances, beside the values of both.

        Parameters
        ----------
        x : array-like of shape (n_features,), series of pandas, or table of one row
        ids : an id, array-like of ids, or None
            The items to explain; None is for the nearest.
        n_neighbors : int, default 5
            How many of the nearest.
        by : {"features", "terms"}, default "features"
            See `Semimetric.contributions`.
        where : str, boolean mask over `ids_`, or ids; None
            Of which items the nearest are, as in `NeighborIndex.kneighbors`; not beside ``ids``.

        Raises
        ------
        InputError
            If an id is not in the index, there are ids and a condition, no item is left to explain, or x is not one item.
        """
        check_is_fitted(self)
        if ids is not None and where is not None:
            raise InputError("ids= names the items to explain, and where= chooses among the nearest; give one of the two")
        if isinstance(x, str):
            raise InputError(f"x={x!r} is no item; for that of an id of the index give index.get_items([{x!r}])")
        d = self._view.semimetric
        query, label = single_row(x, d.schema)
        if ids is None:
            known = self._answer(query, None, n_neighbors, where=where).ids[0]
        else:
            known = known_ids(ids, self.ids_)  # type: ignore[attr-defined]  # a property of NeighborIndex
        if not len(known):
            raise InputError("there is no item to explain; give ids of items, or a condition where= that some items fulfil")
        items = self._collection(None).vectors(known).astype(np.float64)
        return d.explanation(query, items, by=by, flip=self._view.side == "query-last", indices=known, label=label)
