"""Gower's distance as an embedding of pairs: one column a feature, the gap of its values divided by the largest.

    d(x, y) = sum_f w_f gap_f(x_f, y_f) / width_f      (see `Grid.gap` and `Grid.widths`)

It is fitted before tables of features of any kind are learned, just as a weighted L1 distance, with two knots for each feature,
is fitted before tables of numeric features are learned.
"""

import numpy as np
from scipy import sparse

from ..._foundation.types import Floats, Integers
from ...data.grid import Grid
from .base import Items, PairMap, Table, check_rows
from .rows import DenseRows


class GapEmbedding(PairMap):
    """Gower's distance, with one column for every feature of the grid that varies."""

    symmetric = zero_diagonal = True

    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        self.groups = tuple((int(f),) for f in np.flatnonzero(grid.varies))

    @property
    def n_columns(self) -> int:
        return len(self.groups)

    @property
    def group_of_column(self) -> Integers:
        return np.arange(len(self.groups))

    @property
    def cells(self) -> Floats:
        return np.ones(len(self.groups))

    def select(self, keep: Integers, features: Integers) -> "GapEmbedding":
        return GapEmbedding(self.grid.select(np.array([f for g in keep for f in self.groups[g]])))

    def _gaps(self, x: Items, i: Integers, y: Items, j: Integers) -> Floats:
        """Return the gap of every feature in units of the largest, for the pairs (x[i[r]], y[j[r]]): shape (B, n_columns)."""
        check_rows(x, i, y, j, self.grid.n_features)
        out = np.empty((len(i), len(self.groups)))
        for g, (f,) in enumerate(self.groups):
            a, b = (s.located.lower[r, f] + s.located.fraction[r, f] for s, r in ((x, i), (y, j)))
            out[:, g] = self.grid.gap(f, a, b) / self.grid.widths[f]
        return out

    def rows(self, x: Items, i: Integers, y: Items, j: Integers) -> DenseRows:
        return DenseRows(self._gaps(x, i, y, j))

    def contributions(self, x: Items, i: Integers, y: Items, j: Integers, w: Floats) -> Floats:
        return self._gaps(x, i, y, j) * w

    def tables(self, w: Floats) -> list[Table]:
        return [
            Table((f,), (self.grid.vertices(f),), weight * self._table(f)) for (f,), weight in zip(self.groups, w, strict=True)
        ]

    def _table(self, f: int) -> Floats:
        """Return the gaps between all vertices of a feature in units of the largest, shape (C, C)."""
        places = np.arange(float(self.grid.sizes[f]))
        a, b = (side.ravel() for side in np.meshgrid(places, places, indexing="ij"))
        return self.grid.gap(f, a, b).reshape(len(places), -1) / self.grid.widths[f]

    def prior(self, slopes: Floats) -> Floats:
        return (slopes * self.grid.widths)[[f for (f,) in self.groups]]

    def differences(self, kind: str) -> sparse.csr_array:
        return sparse.csr_array((0, self.n_columns))
