"""Constraints at given pairs of points: at least, or at most, a distance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from .._foundation.errors import InputError
from .._foundation.storable import storable
from .._foundation.types import ArrayLike
from ..embeddings.directions.linear_directions import with_directions
from .constraints import Constraint
from .inequalities import Inequalities
from .table_layout import TableLayout

__all__ = ["AtLeast", "AtMost"]


@storable
@dataclass(frozen=True, eq=False)
class AtLeast(Constraint):
    """d(x, y) >= the distance given, at the pairs given.

    The inequality is a·w >= D for the row a of the pair and its distance D. It is exact at these points, wherever in the range
    of the knots they are, and says nothing about other points.

    Parameters
    ----------
    pairs : array-like of shape (n_pairs, 2, n_features)
        The points as numbers, in the range of the knots.
    distances : array-like of shape (n_pairs,)
        The smallest distance of each pair, >= 0.

    Examples
    --------
    >>> import numpy as np
    >>> from semimetric import DistanceRegressor, AtLeast
    >>> pairs = np.random.default_rng(0).random((200, 2, 2))
    >>> y = np.abs(pairs[:, 0] - pairs[:, 1]) @ [1.0, 3.0]
    >>> model = DistanceRegressor(n_knots=3, alpha=1e-3, constraints=[AtLeast([[[0.2, 0.5], [0.4, 0.5]]], [0.5])]).fit(pairs, y)
    >>> model.semimetric_([0.2, 0.5], [0.4, 0.5]) >= 0.5 - 1e-9
    True
    """

    pairs: ArrayLike
    distances: ArrayLike

    def rows(self, layout: TableLayout) -> Inequalities:
        return _rows_at_pairs(layout, self.pairs, self.distances, type(self).__name__)


@storable
@dataclass(frozen=True, eq=False)
class AtMost(Constraint):
    """d(x, y) <= the distance given, at the pairs given: the opposite of `AtLeast`.

    Parameters
    ----------
    pairs : array-like of shape (n_pairs, 2, n_features)
        The points as numbers, in the range of the knots.
    distances : array-like of shape (n_pairs,)
        The largest distance of each pair, >= 0.

    Examples
    --------
    >>> import numpy as np
    >>> from semimetric import DistanceRegressor, AtMost
    >>> pairs = np.random.default_rng(0).random((200, 2, 2))
    >>> y = np.abs(pairs[:, 0] - pairs[:, 1]) @ [1.0, 3.0]
    >>> model = DistanceRegressor(n_knots=3, alpha=1e-3, constraints=[AtMost([[[0.2, 0.2], [0.8, 0.8]]], [1.0])]).fit(pairs, y)
    >>> model.semimetric_([0.2, 0.2], [0.8, 0.8]) <= 1.0 + 1e-9
    True
    """

    pairs: ArrayLike
    distances: ArrayLike

    def rows(self, layout: TableLayout) -> Inequalities:
        rows = _rows_at_pairs(layout, self.pairs, self.distances, type(self).__name__)
        return Inequalities(sparse.csr_array(-rows.matrix), -rows.bound)


def _rows_at_pairs(layout: TableLayout, pairs: ArrayLike, distances: ArrayLike, kind: str) -> Inequalities:
    """The inequalities a·w >= D, one for each of the pairs, whose row is a and whose distance is D."""
    n = len(layout.names)
    try:
        points = np.asarray(pairs, dtype=np.float64)
        values = np.asarray(distances, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{kind} has pairs or distances that are no arrays of numbers; give points as numbers") from error
    if values.ndim != 1:
        raise InputError(f"{kind} has distances of shape {values.shape}; one distance for each pair is required: give a list")
    if points.shape != (len(values), 2, n) or not np.isfinite(points).all():
        raise InputError(
            f"{kind} has pairs of shape {points.shape} for {len(values)} distances; finite points of shape "
            f"({len(values)}, 2, {n}) are required"
        )
    if not np.isfinite(values).all() or (values < 0).any():
        raise InputError(f"{kind} has distances that are negative or not finite; numbers >= 0 are required")
    items = with_directions(layout.directions, points.reshape(-1, n))
    if layout.embedding.grid.excess(items).any():
        raise InputError(
            f"{kind} has points outside the knots, where the tables end; give points in range, or knots= that hold them"
        )
    located = layout.embedding.locate(items)
    first = 2 * np.arange(len(values))
    return Inequalities(layout.embedding.csr(located, first, located, first + 1), layout.scaled(values, kind))
