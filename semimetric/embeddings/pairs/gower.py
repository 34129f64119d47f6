"""Gower's distance as columns: one a feature, the gap between its values in units of the largest (`Grid.gap`, `Grid.widths`).

    d(x, y) = sum_f w_f gap_f(x_f, y_f) / width_f

It stands to tables of any features as two knots a feature do to those of numbers: what pairs say before tables are learned.
"""

import numpy as np
from scipy import sparse

from ..._foundation.threads import map_blocks
from ..._foundation.types import ArrayLike, Floats, Integers
from ...data.grid import Grid
from .base import Items, PairMap, Table, check_rows
from .rows import DenseRows

__all__ = ["GapEmbedding"]


class GapEmbedding(PairMap):
    """One column for every feature of a grid that varies.

    Parameters
    ----------
    grid : Grid
    """

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

    def locate(self, X: ArrayLike) -> Items:
        located = self.grid.locate(X)
        return Items(located, np.empty((len(located.fraction), 0), np.int64))

    def _gaps(self, x: Items, i: Integers, y: Items, j: Integers) -> Floats:
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

    def pairwise(self, x: Items, y: Items, w: Floats, *, n_jobs: int | None = None) -> Floats:
        out, every = np.empty((len(x), len(y))), np.arange(len(y))

        def fill(block: slice) -> None:
            for i in range(block.start, block.stop):
                out[i] = self._gaps(x, np.full(len(y), i), y, every) @ w

        map_blocks(fill, len(x), size=16, n_jobs=n_jobs)
        return out

    def tables(self, w: Floats) -> list[Table]:
        places = [np.arange(float(size)) for size in self.grid.sizes]
        return [
            Table(group, (self.grid.vertices(group[0]),), u * self._table(group[0], places[group[0]]))
            for group, u in zip(self.groups, w, strict=True)
        ]

    def _table(self, f: int, places: Floats) -> Floats:
        a, b = (side.ravel() for side in np.meshgrid(places, places, indexing="ij"))
        return self.grid.gap(f, a, b).reshape(len(places), -1) / self.grid.widths[f]

    def prior(self, slopes: Floats) -> Floats:
        return (slopes * self.grid.widths)[[f for (f,) in self.groups]]

    def differences(self, kind: str) -> sparse.csr_array:
        return sparse.csr_array((0, self.n_columns))
