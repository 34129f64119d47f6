"""Warped L1 distances: one monotone piecewise-linear scale for each feature (docs/mathematics.md, section 2).

    d(x, y) = sum_f |phi_f(x_f) - phi_f(y_f)|,   phi_f(t) = sum_k w_fk clip(position_f(t) - k, 0, 1),   w >= 0

The position is the lower vertex plus the fraction. These distances are a subset of those of one-feature tables, with c - 1
weights for a feature with c knots instead of c (c - 1) / 2. They are metrics for all w > 0, and exact L1 distances between
coordinates.
"""

from collections.abc import Sequence

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist

from ..._foundation.errors import NotSupportedError
from ..._foundation.stored import storable
from ..._foundation.threads import map_blocks
from ..._foundation.types import Floats, Integers
from ..._kernels.l1 import l1_of_changed, l1_to_columns
from ..._kernels.simplex import Located
from ...data.feature_groups import resolve_groups
from ...data.grid import Grid
from .base import Items, PairMap, Table
from .rows import DenseRows

_FEW = 8  # rows: of fewer, the copy that a compiled loop needs takes longer than it saves
_ALIKE = 0.25  # Rows are alike that differ from one of them in at most this share of their cells.
_BLOCK = 64  # rows whose distances a thread computes at a time


@storable
class WarpedEmbedding(PairMap):
    """Monotone scales on the knots of a grid; the weight of column k of a feature is the rise of its scale over cell k."""

    symmetric = zero_diagonal = metric = True

    def __init__(self, grid: Grid, groups: Sequence[tuple[int, ...]] | None = None) -> None:
        self.grid = grid
        self.groups = resolve_groups("singles" if groups is None else groups, grid.n_features) if groups != () else ()
        check_singles(self.groups)
        if odd := [g[0] for g in self.groups if not grid.extends[g[0]] or grid.missing[g[0]]]:
            raise NotSupportedError(
                f"feature {odd[0]} has no scale: it is {grid.kinds[odd[0]]}, or may be missing; use full tables"
            )
        self._features = np.array([g[0] for g in self.groups], dtype=np.int64)
        cells = self.grid.sizes[self._features] - 1
        self._starts = np.concatenate([[0], np.cumsum(cells)])
        self._cell = np.concatenate([np.arange(c) for c in cells]) if len(cells) else np.empty(0, np.int64)
        self._owner = np.repeat(np.arange(len(cells)), cells)

    @property
    def n_columns(self) -> int:
        return int(self._starts[-1])

    @property
    def group_of_column(self) -> Integers:
        return self._owner

    def select(self, keep: Integers, features: Integers) -> "WarpedEmbedding":
        number = {int(f): k for k, f in enumerate(features)}
        return WarpedEmbedding(self.grid.select(features), [(number[self.groups[g][0]],) for g in keep])

    def thermometer(self, X: Floats) -> Floats:
        """Return the part of every cell that lies below the value of its feature, in [0, 1]: shape (n_items, n_columns)."""
        return self._thermometer(self.grid.locate(X), np.arange(len(X)))

    def _thermometer(self, located: Located, rows: Integers) -> Floats:
        """Return clip(position - k, 0, 1) for every cell k, shape (len(rows), n_columns): the distance is their weighted L1."""
        position = (located.lower[rows] + located.fraction[rows])[:, self._features]
        return np.clip(position[:, self._owner] - self._cell, 0.0, 1.0)

    def rows(self, x: Items, i: Integers, y: Items, j: Integers) -> DenseRows:
        return DenseRows(np.abs(self._thermometer(x.located, i) - self._thermometer(y.located, j)))

    def coordinates(self, x: Items, w: Floats) -> Floats:
        """Return phi_f(x_f) for every group, shape (n, n_groups): the distance is the L1 distance between these coordinates."""
        scales = self._scales(w)
        first_knot = self._starts[:-1] + np.arange(len(self.groups))
        low = scales[first_knot + x.located.lower[:, self._features]]
        high = scales[first_knot + x.located.upper[:, self._features]]
        return low + x.located.fraction[:, self._features] * (high - low)

    def _scales(self, w: Floats) -> Floats:
        """Return phi at the knots of all groups, one group after another; each begins with 0."""
        return np.concatenate([np.append(0.0, np.cumsum(part)) for part in np.split(w, self._starts[1:-1])])

    def paired(self, x: Items, i: Integers, y: Items, j: Integers, w: Floats) -> Floats:
        return self.contributions(x, i, y, j, w).sum(axis=1)

    def contributions(self, x: Items, i: Integers, y: Items, j: Integers, w: Floats) -> Floats:
        return np.abs(self.coordinates(x, w)[i] - self.coordinates(y, w)[j])

    def pairwise(self, x: Items, y: Items, w: Floats, *, n_jobs: int | None = None) -> Floats:
        return l1_pairwise(self.coordinates(x, w), self.coordinates(y, w), n_jobs=n_jobs)

    def tables(self, w: Floats) -> list[Table]:
        scales = np.split(self._scales(w), (self._starts[1:-1] + np.arange(1, len(self.groups))))
        return [
            Table(group, (self.grid.knots[group[0]],), np.abs(scale[:, None] - scale[None, :]))
            for group, scale in zip(self.groups, scales, strict=True)
        ]

    def prior(self, slopes: Floats) -> Floats:
        share = slopes / np.maximum(np.bincount(self._features, minlength=len(slopes)), 1)
        return np.concatenate([share[f] * np.diff(self.grid.knots[f]) for f in self._features])

    def differences(self, kind: str) -> sparse.csr_array:
        """Return differences of slopes in neighbouring cells ("curves", in mean widths) or of weights ("shifts")."""
        if kind == "tables":
            return sparse.csr_array((0, self.n_columns))
        left = np.flatnonzero(np.diff(self._owner) == 0)  # the left one of every two neighbouring cells of a feature
        row = np.arange(len(left))
        width = np.concatenate([np.diff(self.grid.knots[f]) for f in self._features])
        mean = np.bincount(self._owner, weights=width) / np.maximum(np.bincount(self._owner), 1)
        slope = mean[self._owner] / width if kind == "curves" else np.ones(len(width))
        values = np.concatenate([slope[left + 1], -slope[left]])
        places = (np.concatenate([row, row]), np.concatenate([left + 1, left]))
        return sparse.csr_array((values, places), shape=(len(row), self.n_columns))


def check_singles(groups: Sequence[tuple[int, ...]]) -> None:
    """Refuse groups of several features."""
    if any(len(g) != 1 for g in groups):
        raise NotSupportedError('tables="warped" has one scale a feature; use Tables(groups="singles"), or tables="full"')


def l1_pairwise(left: Floats, right: Floats, *, n_jobs: int | None = None) -> Floats:
    """Return L1 distances of all rows of ``left`` to all rows of ``right``, shape (n, m), computed by ``n_jobs`` threads."""
    if not left.shape[1]:
        return np.zeros((len(left), len(right)))
    if len(left) < _FEW:  # for which the columns would be copied in vain
        return cdist(left, right, "cityblock")
    out, columns, rows = np.empty((len(left), len(right))), np.ascontiguousarray(right.T), np.ascontiguousarray(left)
    map_blocks(lambda b: l1_to_columns(rows[b], columns, out[b]), len(left), size=_BLOCK, n_jobs=n_jobs)
    return out


def l1_of_alike(left: Floats, columns: Floats, *, n_jobs: int | None = None) -> Floats:
    """Return `l1_pairwise` of rows that share most of their values to rounding; ``columns`` are the transposed other rows.

    The distances of a row with the middle value of each column are computed once. A row changes by the columns that differ.
    """
    base = np.sort(left, axis=0)[len(left) // 2]
    if not columns.size or (left != base).mean() > _ALIKE:
        return l1_pairwise(left, columns.T, n_jobs=n_jobs)
    out, shared = np.empty((len(left), columns.shape[1])), np.empty((1, columns.shape[1]))
    l1_to_columns(base[None], columns, shared)
    map_blocks(lambda b: l1_of_changed(left[b], columns, base, shared[0], out[b]), len(left), size=_BLOCK, n_jobs=n_jobs)
    return out
