"""The items of an index under an expensive distance: opaque objects, and beside them what a learned distance reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._foundation.errors import InputError, NotSupportedError
from .._foundation.types import ArrayLike, Floats, Integers
from .._kernels.search import SearchedItems
from ..data.object_lists import listed_objects
from ..data.schema import Schema
from ..distances.object_calls import counted_calls
from ..distances.semimetric import Semimetric
from .ids import masks_of
from .item_columns import ItemColumns
from .query_tables import QueryView
from .refinement import Refinement

__all__ = ["RefinedItems"]


@dataclass(frozen=True, eq=False)
class _Rows:
    """Encoded items in the form of a segment of an index, of which none was removed."""

    raw: Floats
    ids: NDArray[Any]

    @property
    def points(self) -> _Rows:
        return self

    @property
    def alive(self) -> NDArray[np.bool_]:
        return np.ones(len(self.ids), dtype=bool)

    @property
    def n_alive(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, eq=False)
class RefinedItems:
    """Objects, as the expensive distance takes them, and the features that a learned one reads.

    Parameters
    ----------
    objects : list
    features : ndarray of shape (n, n_features) or None
        Encoded; None without a learned distance.
    view : QueryView or None
        The learned distance, as a query sees it.
    n_calls : ndarray of shape (n,) or None
        How often the expensive distance was called for the features of each object; None where features were given.
    """

    objects: list[Any]
    features: Floats | None
    view: QueryView | None
    n_calls: Integers | None = None

    @classmethod
    def encoded(cls, X: Any, encode: Callable[[Any], Floats], semimetric: Semimetric, *, name: str = "X") -> RefinedItems:
        """Objects whose features a model makes; what it calls the expensive distance for is shared out evenly among them."""
        objects = listed_objects(X, name)
        with counted_calls() as count:
            rows = encode(objects)
        ends = np.arange(len(objects) + 1, dtype=np.int64) * count.n // len(objects)
        return cls(objects, semimetric.schema.encode(rows), QueryView(semimetric), ends[1:] - ends[:-1])

    @classmethod
    def read(cls, X: Any, features: Any, semimetric: Semimetric | None, *, name: str = "X") -> RefinedItems:
        """The items that a user gives: vectors that both distances read, or objects with features beside them.

        Raises
        ------
        InputError
            If features and objects differ in number, there are features without a distance that reads them, or vectors that
            it does not read.
        """
        if semimetric is None:
            if features is not None:
                raise InputError("features= are for a learned distance, and there is no semimetric=; drop them, or give one")
            return cls(listed_objects(X, name), None, None)
        view = QueryView(semimetric)
        if features is None:
            encoded = semimetric.schema.encode(X, name=name)
            return cls(list(semimetric.schema.decode(encoded)), encoded, view)
        objects, encoded = listed_objects(X, name), semimetric.schema.encode(features, name="features")
        if len(objects) != len(encoded):
            raise InputError(f"{name} has {len(objects)} objects, and features= {len(encoded)} rows; give one row for each")
        return cls(objects, encoded, view)

    def __len__(self) -> int:
        return len(self.objects)

    @cached_property
    def _refinement(self) -> Refinement | None:
        if self.view is None or self.features is None:
            return None
        points = self.view.points(self.features)
        return Refinement(self.view, points, SearchedItems(points.positions, np.empty(0, dtype=np.int64), self.view.least))

    def estimates(self, queries: RefinedItems, q: int, rows: Integers) -> Floats | None:
        """The learned distances of a query to some items, shape (len(rows),); None without a learned distance."""
        refinement = self._refinement
        if refinement is None or self.view is None or queries.features is None:
            return None
        block = self.view.block(self.view.points(queries.features[q : q + 1]))
        return self.view.linked(refinement.sums(block, 0, rows))

    def mask(self, where: ArrayLike | Iterable | None, ids: NDArray[Any]) -> NDArray[np.bool_]:
        """Which items a query may answer, shape (n_items,): see `NeighborIndex.kneighbors`."""
        if where is None:
            return np.ones(len(self), dtype=bool)
        if self.view is None or self.features is None:
            if isinstance(where, str):
                raise NotSupportedError(
                    f"where={where!r} is a condition on features, and without semimetric= the items have none; give a mask "
                    "over ids_, or a list of ids"
                )
            schema, raw = Schema.numeric(()), np.empty((len(self), 0))
        else:
            schema, raw = self.view.semimetric.schema, self.features
        (mask,) = masks_of(where, ItemColumns(schema.names, schema, (_Rows(raw, ids),)))  # type: ignore[arg-type]
        return np.asarray(mask)
