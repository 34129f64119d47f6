"""Lower and upper bounds: coordinates of items, from which the bounds of any two are computed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..._foundation.errors import InputError
from ..._foundation.estimator import ShortRepr
from ..._foundation.types import ArrayLike, Floats, Integers
from ...data.object_lists import listed_objects
from ..model.semimetric import Semimetric
from .index import encoder_of

Proof = Callable[[Integers], Floats]  # rows of items to lower bounds of the distances to them


class Coordinates(NamedTuple):
    """Items, as bounds see them."""

    values: Floats  # (n, n_coordinates), whose largest difference no distance of two items falls below
    histograms: Floats  # (n, n_bins), for bounds of histograms alone
    masses: Floats  # (n,), likewise

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: Any) -> Coordinates:
        """Return the items of some rows, or of a slice."""
        return Coordinates(*(array[rows] for array in self))


@dataclass(frozen=True, eq=False)
class QueryBounds:
    """The bounds of the distances of one query to all items of a fit, some of which were called to locate it."""

    bounds: Bounds
    query: Coordinates
    known: dict[int, float] = field(default_factory=dict)  # called distances to items, by row
    n_calls: int = 0  # that locating the query took

    def lower(self, rows: Integers | slice = slice(None)) -> Floats:
        """Return lower bounds of the distances to the items of these rows, shape (n_rows,)."""
        return self.bounds.lower_at(self.query, self._items(rows))

    def quick(self, rows: Integers) -> Floats:
        """Return lower bounds that take little time where the bounds have such, shape (n_rows,)."""
        return self.bounds.quick_at(self.query, self._items(rows))

    def upper(self, rows: Integers | slice = slice(None)) -> Floats:
        """Return upper bounds of the distances to the items of these rows, shape (n_rows,)."""
        return self.bounds.upper_at(self.query, self.bounds.items_.take(rows))

    def _items(self, rows: Integers | slice) -> Coordinates:
        """Return the items of these rows; all of them are not copied."""
        every = not isinstance(rows, slice) and np.array_equal(rows, np.arange(len(self.bounds.items_)))
        return self.bounds.items_.take(slice(None) if every else rows)

    def proof(self, row: int, value: float, dual: Any) -> Proof | None:
        """Return the lower bounds that the exact distance of one item proves for others, as a function of their rows."""
        return self.bounds.proof_at(self, row, value, dual)

    def lower_from_dual(self, dual: Any, rows: Integers) -> Floats:
        """Return lower bounds that the dual of one exact distance of the query proves for other items, shape (n_rows,)."""
        items = self.bounds.items_
        without_values = Coordinates(items.values[rows, :0], items.histograms[rows], items.masses[rows])
        return self.bounds.lower_at_dual(self.query, without_values, dual)


class Bounds(ShortRepr, BaseEstimator, ABC):
    """Numbers between which an expensive distance is sure to lie."""

    items_: Coordinates
    reads_duals = False
    has_quick = False  # lower bounds that take less time, and show for which items those of `lower_at` are needed

    @abstractmethod
    def fit(self, X: Any, y: Any = None) -> Self:
        """Prepare the items X, to which queries will be compared; y is ignored."""

    @abstractmethod
    def _placed(self, objects: list[Any], name: str) -> Coordinates:
        """Return the coordinates of objects."""

    @abstractmethod
    def lower_at(self, query: Coordinates, items: Coordinates) -> Floats:
        """Return lower bounds of the distances of one query to items."""

    def quick_at(self, query: Coordinates, items: Coordinates) -> Floats:
        """Return lower bounds that take little time: those of `lower_at`, unless the class ``has_quick`` ones."""
        return self.lower_at(query, items)

    @abstractmethod
    def upper_at(self, query: Coordinates, items: Coordinates) -> Floats:
        """Return upper bounds of the distances of one query to items."""

    def proof_at(self, query: QueryBounds, row: int, value: float, dual: Any) -> Proof | None:
        """Return what `QueryBounds.proof` does for a query: nothing, unless the bounds read duals, or distances themselves."""
        return partial(query.lower_from_dual, dual) if dual is not None and self.reads_duals else None

    def lower_at_dual(self, query: Coordinates, items: Coordinates, dual: Any) -> Floats:
        """Return the lower bounds that a dual proves: 0, unless the bounds read duals."""
        return np.zeros(len(items))

    def at(self, query: Any) -> QueryBounds:
        """Return the bounds of one query to all items of the fit."""
        check_is_fitted(self)
        return QueryBounds(self, self._placed([query], "query"))

    def at_item(self, row: int) -> QueryBounds:
        """Return the bounds of one item of the fit to all of them; whatever was called for it is known."""
        check_is_fitted(self)
        return QueryBounds(self, self.items_.take(slice(row, row + 1)))

    @property
    def n_query_calls(self) -> int:
        """The number of calls of the distance that the bounds of one query take."""
        return 0

    def bounds(self, x: Any, y: Any) -> tuple[float, float]:
        """Return the lower and the upper bound of the distance of two objects."""
        low, high = self.paired([x], [y])
        return float(low[0]), float(high[0])

    def lower(self, query: Any, items: Any = None) -> Floats:
        """Return lower bounds of the distances of one query to items, or to those of the fit: shape (n_items,)."""
        return self._one_to_many(query, items, self.lower_at)

    def upper(self, query: Any, items: Any = None) -> Floats:
        """Return upper bounds of the distances of one query to items, or to those of the fit: shape (n_items,)."""
        return self._one_to_many(query, items, self.upper_at)

    def paired(self, X: Any, Y: Any) -> tuple[Floats, Floats]:
        """Return lower and upper bounds of the distances of the objects of X to the same ones of Y, both of shape (n,)."""
        x, y = self._both(X, Y)
        if len(x) != len(y):
            raise InputError(f"X has {len(x)} objects and Y {len(y)}; the same number is required: use pairwise for all pairs")
        parts = [(x.take(slice(k, k + 1)), y.take(slice(k, k + 1))) for k in range(len(x))]
        low, high = (np.concatenate([of(*part) for part in parts]) for of in (self.lower_at, self.upper_at))
        return low, high

    def pairwise(self, X: Any, Y: Any = None) -> tuple[Floats, Floats]:
        """Return lower and upper bounds of the distances of all objects of X to all of Y (of X if it is None), both (n, m)."""
        x, y = self._both(X, X if Y is None else Y)
        rows = [x.take(slice(k, k + 1)) for k in range(len(x))]
        low, high = (np.stack([of(row, y) for row in rows]) for of in (self.lower_at, self.upper_at))
        return low, high

    def _one_to_many(self, query: Any, items: Any, of: Callable[[Coordinates, Coordinates], Floats]) -> Floats:
        check_is_fitted(self)
        many = self.items_ if items is None else self._placed(listed_objects(items, "items"), "items")
        return of(self._placed([query], "query"), many)

    def _both(self, X: Any, Y: Any) -> tuple[Coordinates, Coordinates]:
        check_is_fitted(self)
        x = self._placed(listed_objects(X), "X")
        return x, x if Y is X else self._placed(listed_objects(Y, "Y"), "Y")


def chebyshev(query: Coordinates, items: Coordinates) -> Floats:
    """Return the largest difference of the values of one query to those of each item, shape (n_items,)."""
    return cdist(query.values, items.values, "chebyshev")[0]


class BoundedDistance:
    """A learned distance, and beside it numbers between which the expensive distance that it approximates is sure to lie.

    Bounds know nothing of the learned distance, and it knows nothing of them: it is a sum of tables, which is searched,
    explained and saved as such. A value that is clipped into bounds is no such sum, and may break axioms that the learned
    distance keeps. So it has an object of its own.

    Parameters
    ----------
    distance : Semimetric or fitted learner
        What has ``paired`` and ``pairwise``, or has learned it as ``semimetric_``. Of objects give the model that encodes
        them; both distances are then of the objects.
    bounds : Bounds
        `TransportBounds` or `LandmarkBounds`, fitted.
    clip : bool, default True
        True returns distances within the bounds: the learned value, or the bound that it passes.

    Examples
    --------
    >>> import numpy as np
    >>> from semimetric import BoundedDistance, LandmarkBounds, Semimetric
    >>> X = np.random.default_rng(0).random((50, 2))
    >>> euclid = lambda x, y: float(np.linalg.norm(np.subtract(x, y)))
    >>> d = BoundedDistance(Semimetric.l1(X), LandmarkBounds(euclid, n_landmarks=4).fit(X))
    >>> low, high = d.bounds(X[0], X[1])
    >>> low <= d(X[0], X[1]) <= high
    True
    """

    def __init__(self, distance: Any, bounds: Bounds, *, clip: bool = True) -> None:
        learned = getattr(distance, "semimetric_", distance)
        if not all(callable(getattr(learned, name, None)) for name in ("paired", "pairwise")):
            raise InputError(
                f"distance= is a {type(distance).__name__}, which has no paired and pairwise; give a Semimetric, or a "
                "fitted learner"
            )
        self._encode = encoder_of(distance)
        if self._encode is None and isinstance(learned, Semimetric) and learned.schema.encoded:
            raise InputError(
                f"distance= compares the {learned.n_features} features that a model made of objects, and bounds= are of the "
                "objects; give the fitted model in place of its semimetric_"
            )
        if not isinstance(bounds, Bounds):
            raise InputError(f"bounds={bounds!r} must be fitted bounds, such as TransportBounds(cost_matrix).fit(X)")
        self.distance = learned
        self.bounds_ = bounds
        self.clip = clip

    def __repr__(self) -> str:
        return f"BoundedDistance({type(self.distance).__name__}, {type(self.bounds_).__name__}, clip={self.clip})"

    def bounds(self, x: ArrayLike, y: ArrayLike) -> tuple[float, float]:
        """Return the lower and the upper bound of the expensive distance of two vectors."""
        return self.bounds_.bounds(x, y)

    def __call__(self, x: ArrayLike, y: ArrayLike) -> float:
        """Return the learned distance of two vectors, within the bounds if ``clip``."""
        value = float(self.distance(*self._read([x, y])))
        return float(np.clip(value, *self.bounds(x, y))) if self.clip else value

    def paired(self, X: ArrayLike, Y: ArrayLike, *, n_jobs: int | None = None) -> Floats:
        """Return the distances of the rows of X to the same rows of Y, shape (n,); threads compute those that were learned."""
        values = self.distance.paired(self._read(X), self._read(Y), n_jobs=n_jobs)
        return np.clip(values, *self.bounds_.paired(X, Y)) if self.clip else values

    def pairwise(self, X: ArrayLike, Y: ArrayLike | None = None, *, n_jobs: int | None = None) -> Floats:
        """Return the distances of all rows of X to all rows of Y (of X if Y is None), shape (n, m)."""
        values = self.distance.pairwise(self._read(X), None if Y is None else self._read(Y), n_jobs=n_jobs)
        return np.clip(values, *self.bounds_.pairwise(X, Y)) if self.clip else values

    def _read(self, X: Any) -> Any:
        """Return what the learned distance reads: features of objects, or X itself."""
        return X if self._encode is None else self._encode(listed_objects(X))
