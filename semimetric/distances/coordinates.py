"""Coordinates between which the L1 distance is a distance: scales of numbers, and the leaves of trees.

    |phi_f(x) - phi_f(y)|        one coordinate, phi_f(x)
    w_t [leaf_t(x) != leaf_t(y)]  one coordinate a leaf, w_t / 2 if the item is in it, else 0

Two leaves differ in two coordinates, by w_t / 2 in each, which add up to w_t. So does every table of categories whose values
are all the same off its diagonal, such as that of two categories. No other table is sure to be an L1 distance, be it a metric:
of five categories on, some are none (Deza & Laurent 1997).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .._foundation.errors import NotSupportedError
from .._foundation.types import ArrayLike, Floats, Integers, distinct
from ..data.schema import Schema
from ..embeddings.directions.linear_directions import Directions
from ..embeddings.pairs.base import PairMap
from ..embeddings.pairs.full_tables import PairEmbedding
from ..embeddings.pairs.monotone_scales import WarpedEmbedding
from ..embeddings.pairs.scales_and_tables import MixedEmbedding
from .base_distances import BaseDistance
from .reach import GridPoints, rise_outside

__all__ = ["DistanceWithCoordinates"]

_ROUNDING = 1e-12  # of the value of a table, by which its entries may differ


class Levels(NamedTuple):
    """Embedded features that are one value apart at any two of their levels.

    Attributes
    ----------
    features : ndarray of int64 of shape (n_tables,)
    counts : ndarray of int64 of shape (n_tables,)
        How many levels each has.
    values : ndarray of shape (n_tables,)
        How far two levels are apart.
    """

    features: Integers
    counts: Integers
    values: Floats

    @property
    def starts(self) -> Integers:
        """The first coordinate of each feature, and the number of coordinates: shape (n_tables + 1,)."""
        return np.concatenate([[0], np.cumsum(self.counts)])

    def coordinates(self, x: GridPoints) -> sparse.csr_array:
        """Half the value of each feature in the coordinate of the level that an item has: (n_items, n_levels)."""
        located, n = x.items.located, len(x.raw)
        vertices = np.where(located.fraction == 1.0, located.upper, located.lower)[:, self.features].astype(np.int64)
        columns = (vertices + self.starts[:-1]).ravel().astype(np.int32)  # scikit-learn's distances of sparse rows want these
        rows = np.arange(n + 1, dtype=np.int32) * len(self.features)
        return sparse.csr_array((np.tile(self.values / 2, n), columns, rows), shape=(n, int(self.starts[-1])))


class DistanceWithCoordinates:
    """The part of `Semimetric` that maps into L1."""

    embedding: PairMap
    weights: Floats
    epsilon: Floats
    directions: Directions | None
    base_distances: tuple[BaseDistance, ...]
    link: Any
    schema: Schema
    n_features: Any
    columns: Any
    _points: Any
    _levels: Any

    def transform(self, X: ArrayLike, *, sparse_output: bool = False) -> Any:
        """Coordinates between which the L1 distance is exactly this distance: of scales, and of the leaves of trees.

        A scale is one coordinate, and is continued outside its range. A tree that has one weight, w [leaf(x) != leaf(y)], has a
        coordinate a leaf, w / 2 if the item is in it; so has a feature whose categories are all equally far apart, as two are.

        Parameters
        ----------
        X : array-like or frame of shape (n, n_features)
        sparse_output : bool, default False
            Whether the result is sparse: of each tree an item has one coordinate that is not 0.

        Returns
        -------
        ndarray or csr_array of shape (n, n_coordinates)
            The scale of every group, then the rise outside its range of each feature that is in no group, then the leaves of
            every tree. `coordinate_names` names them.

        Raises
        ------
        NotSupportedError
            If the model has other tables than those, base distances, or another link than the identity.

        Examples
        --------
        >>> import numpy as np
        >>> from semimetric import Semimetric
        >>> table = [["red", 1.0], ["red", 2.0], ["blue", 3.0], ["blue", 5.0]]
        >>> d = Semimetric.gower(table)
        >>> u, v = d.transform(table[1:3])
        >>> float(np.abs(u - v).sum()) == d(table[1], table[2])
        True
        """
        x = self._points(self.schema.encode(X))
        scales, weights, levels = self._l1_parts
        of_scales, of_levels = self._coordinates(scales, weights, x), levels.coordinates(x)
        if sparse_output:
            return sparse.csr_array(sparse.hstack([sparse.csr_array(of_scales), of_levels], format="csr"))
        return np.hstack([of_scales, of_levels.toarray()]) if len(levels.features) else of_scales

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """The names of the columns of `transform`: of features, where only what is outside counts so named, and of leaves.

        The coordinate of a leaf is called "tree3 leaf 5"; what an item in it has, `rules` says. That of a category is called
        "colour=red".
        """
        scales, _, levels = self._l1_parts
        groups, rest = self._sloped_alone(scales)
        named = (*(self.columns[f] for f in groups), *(f"{self.columns[f]} outside range" for f in rest))
        return distinct((*named, *(name for f, n in zip(*levels[:2], strict=True) for name in self._names_of_levels(f, n))))

    def _names_of_levels(self, f: int, n: int) -> list[str]:
        """The names of the coordinates of an embedded feature with n levels."""
        if f >= self.n_features:
            return [f"{self.columns[f]} leaf {k}" for k in range(n)]
        return [f"{self.columns[f]}={level}" for level in self._levels(f)]

    @cached_property
    def _l1_parts(self) -> tuple[WarpedEmbedding, Floats, Levels]:
        """The scales of numbers, their weights, and what is one value apart; an error if there is more to the distance."""
        embedding = self.embedding
        if self.link != "identity" or self.base_distances:
            raise _no_coordinates()
        if isinstance(embedding, WarpedEmbedding):
            return embedding, self.weights, Levels(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
        if isinstance(embedding, MixedEmbedding):
            scales, tables = embedding.scales, embedding.side_tables
        elif isinstance(embedding, PairEmbedding):
            scales, tables = WarpedEmbedding(embedding.grid, ()), embedding
        else:
            raise _no_coordinates()
        of_scales, of_tables = np.split(self.weights, [scales.n_columns])
        return scales, of_scales, _levels_of(tables, of_tables, self.columns, self.n_features)

    def _coordinates(self, scales: WarpedEmbedding, weights: Floats, x: GridPoints) -> Floats:
        """The coordinates of scales. These and what continues them both rise, so their L1 distances add up."""
        outside = rise_outside(x.excess, self.epsilon)
        groups, rest = self._sloped_alone(scales)
        return np.hstack([scales.coordinates(x.items, weights) + outside[:, groups], outside[:, rest]])

    def _sloped_alone(self, scales: WarpedEmbedding) -> tuple[list[int], Integers]:
        """The embedded features that have a scale, and those without one that have a slope outside their range."""
        groups = [g[0] for g in scales.groups]
        return groups, np.setdiff1d(np.flatnonzero((self.epsilon > 0).any(axis=1) & scales.grid.extends), groups)


def _no_coordinates(what: str = "", advice: str = 'fit with tables="warped"') -> NotSupportedError:
    return NotSupportedError(
        'only warped models (tables="warped", link="identity", no base distances), and trees with one weight each, map exactly '
        f"into L1{what}; use pairwise(X) as a precomputed metric, or {advice}"
    )


def _levels_of(tables: PairEmbedding, weights: Floats, names: Sequence[str], n_raw: int) -> Levels:
    """The features of tables that are one value apart at any two levels; an error if there are other tables.

    Leaves of a tree have no other level, since every item is in one of them.
    """
    if not (tables.singles and tables.symmetric and tables.zero_diagonal and tables.whole and tables.holds_tables):
        raise _no_coordinates()
    features = np.array([f for (f,) in tables.groups], dtype=np.int64)
    counts, values = np.empty(len(features), np.int64), np.empty(len(features))
    for k, table in enumerate(tables.tables(weights)):
        (f,) = table.features
        counts[k] = n = len(table.values) - (f >= n_raw)
        apart = table.values[:n, :n][~np.eye(n, dtype=bool)]
        values[k] = apart.max()
        if tables.grid.kinds[f] != "categorical" or apart.min() < 0 or np.ptp(apart) > _ROUNDING * values[k]:
            told = f"{tables.grid.kinds[f]}{' and may be missing' if tables.grid.missing[f] else ''}"
            advice = (
                {} if tables.grid.extends[f] and not tables.grid.missing[f] else {"advice": "give it as numbers without gaps"}
            )
            raise _no_coordinates(f", and {names[f]!r}, which is {told}, has a table of many values", **advice)
    return Levels(features, counts, values)
