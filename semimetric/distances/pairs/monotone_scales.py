"""Warped L1 distances: one monotone piecewise-linear scale for each feature (docs/mathematics.md, section 2).

    d(x, y) = sum_f |phi_f(x_f) - phi_f(y_f)|,   phi_f(t) = sum_k w_fk clip(position_f(t) - k, 0, 1),   w >= 0

The position is the lower vertex plus the fraction. These distances are a subset of those of one-feature tables, with c - 1
weights for a feature with c knots instead of c (c - 1) / 2. They are metrics for all w > 0, and exact L1 distances between
coordinates.

A number that may be missing has two scales that add up to phi_f, with rises u_fk and v_fk >= 0, and a weight e_f >= 0 more. A
missing value lies below all values on the first scale and above them on the second, e_f / 2 beyond the ends of both:

    d_f(x, missing) = e_f + sum_k (u_fk t_k + v_fk (1 - t_k)),   t_k = clip(position_f(x) - k, 0, 1)

So it may be near to the values in the middle, or to those at one end. With u = v, from which learning starts, it is as far from
every value: e_f + (the length of phi_f) / 2, and no constant below that half keeps the triangle inequality.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
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


class GapScale(NamedTuple):
    """The weights of one number that may be missing."""

    up: Floats  # (n_cells,): rises of the scale above which no value is missing
    down: Floats  # (n_cells,): rises of the scale that has missing values above all others
    level: float  # by how much a missing value lies beyond both ends, added up

    @classmethod
    def of(cls, table: Floats) -> GapScale:
        """Return the scale of a table (c + 1, c + 1) between c knots and the level of missing values.

        Of a table of another form it has the distances between neighbouring knots, and those to the level as nearly as a
        metric may have them: their steps, if these are no longer than between the knots, and their mean, if it is large enough.
        """
        rises, to_level = np.diagonal(table, 1)[:-1], table[:-1, -1]
        up = np.clip((rises + np.diff(to_level)) / 2, 0.0, rises)
        nearest = cls(up, rises - up, 0.0)
        return nearest._replace(level=max(float((to_level - nearest.table[:-1, -1]).mean()), 0.0))

    @property
    def scales(self) -> list[Floats]:
        """Both scales at the knots, 0 at the first, and then the level of missing values: shapes (n_cells + 2,)."""
        up, down = (np.append(0.0, np.cumsum(rises)) for rises in (self.up, self.down))
        return [np.append(up, -self.level / 2), np.append(down, down[-1] + self.level / 2)]

    @property
    def table(self) -> Floats:
        """The distances between the knots and the level of missing values, shape (n_cells + 2, n_cells + 2)."""
        up, down = (np.abs(scale[:, None] - scale[None, :]) for scale in self.scales)
        return up + down

    @property
    def weights(self) -> Floats:
        """The weights in the order of the columns: rises of both scales, and the level."""
        return np.concatenate([self.up, self.down, [self.level]])

    def at_knots(self, own: Floats, knots: Floats) -> GapScale:
        """Return the scale, which has the knots ``own``, between other knots; beyond its range it is constant."""
        up, down = (np.diff(np.interp(knots, own, scale[:-1])) for scale in self.scales)
        return GapScale(up, down, self.level)


@storable
class WarpedEmbedding(PairMap):
    """Monotone scales on the knots of a grid; the weight of column k of a feature is the rise of its scale over cell k.

    A number that may be missing has the rises of its first scale, then those of its second, and a last column for the level.
    """

    symmetric = zero_diagonal = metric = True

    def __init__(self, grid: Grid, groups: Sequence[tuple[int, ...]] | None = None) -> None:
        self.grid = grid
        self.groups = resolve_groups("singles" if groups is None else groups, grid.n_features) if groups != () else ()
        check_singles(self.groups)
        if odd := [g[0] for g in self.groups if not grid.extends[g[0]]]:
            raise NotSupportedError(f"feature {odd[0]} has no scale: it is {grid.kinds[odd[0]]}; use full tables")
        self._features = np.array([g[0] for g in self.groups], dtype=np.int64)
        cells = grid.counts[self._features] - 1
        self._may_miss = np.array(grid.missing, dtype=bool)[self._features]
        places = [[*range(c), *range(c), c] if gap else range(c) for c, gap in zip(cells, self._may_miss, strict=True)]
        columns = np.array([len(place) for place in places], dtype=np.int64)
        self._starts = np.concatenate([[0], np.cumsum(columns)])
        self._owner = np.repeat(np.arange(len(columns)), columns)
        self._cell = np.array([k for place in places for k in place], dtype=np.int64)
        self._is_level = self._may_miss[self._owner] & (self._cell == cells[self._owner])
        before = np.arange(len(self._owner)) - self._starts[:-1][self._owner]
        self._is_up = self._may_miss[self._owner] & (before < cells[self._owner])
        doubled = 1 + self._may_miss
        self._first = np.cumsum(doubled) - doubled  # the first coordinate of every group
        self._owner_of_coordinate = np.repeat(np.arange(len(columns)), doubled)

    @property
    def n_columns(self) -> int:
        return int(self._starts[-1])

    @property
    def group_of_column(self) -> Integers:
        return self._owner

    @property
    def cells(self) -> Floats:
        return np.maximum(np.diff(self._starts), 1).astype(np.float64)

    @property
    def has_gaps(self) -> bool:
        """True if some feature may be missing."""
        return bool(self._may_miss.any())

    @property
    def feature_of_coordinate(self) -> Integers:
        """The feature of each of the `coordinates`, of which a number that may be missing has two."""
        return self._features[self._owner_of_coordinate]

    @property
    def rises_outside(self) -> NDArray[np.bool_]:
        """True for coordinates that go on below the range of their feature, and above it: shape (n_coordinates, 2).

        Both do, but of a number that may be missing the second coordinate goes on below, and the first above.
        """
        owner = self._owner_of_coordinate
        is_first = self._first[owner] == np.arange(len(owner))
        may_miss = self._may_miss[owner]
        return np.column_stack([~(may_miss & is_first), ~may_miss | is_first])

    def select(self, keep: Integers, features: Integers) -> WarpedEmbedding:
        number = {int(f): k for k, f in enumerate(features)}
        return WarpedEmbedding(self.grid.select(features), [(number[self.groups[g][0]],) for g in keep])

    def positive_groups(self, w: Floats) -> NDArray[np.bool_]:
        positive = super().positive_groups(w)
        for g, table in enumerate(self.tables(w) if self.has_gaps else ()):
            if self._may_miss[g]:
                positive[g] = bool((np.diagonal(table.values, 1)[:-1] > 0).all() and (table.values[:-1, -1] > 0).all())
        return positive

    def thermometer(self, X: Floats) -> Floats:
        """Return the part of every cell that lies below the value of its feature, in [0, 1]: shape (n_items, n_columns)."""
        return self._thermometer(self.grid.locate(X), np.arange(len(X)))

    def _thermometer(self, located: Located, rows: Integers) -> Floats:
        """Return clip(position - k, 0, 1) for every cell k, shape (len(rows), n_columns): the distance is their weighted L1.

        A missing value has 0 on its first scale and 1 on its second, and 1 at the level, where others have 0.
        """
        position = (located.lower[rows] + located.fraction[rows])[:, self._features]
        out = np.clip(position[:, self._owner] - self._cell, 0.0, 1.0)
        if self.has_gaps:
            missing = (located.upper[rows] == self.grid.counts)[:, self._features]
            out[missing[:, self._owner] & self._is_up] = 0.0
        return out

    def rows(self, x: Items, i: Integers, y: Items, j: Integers) -> DenseRows:
        return DenseRows(np.abs(self._thermometer(x.located, i) - self._thermometer(y.located, j)))

    def coordinates(self, x: Items, w: Floats, rise: Floats | None = None) -> Floats:
        """Return the coordinates whose L1 distance is the distance, shape (n, n_coordinates).

        A number has phi_f(x_f), and one that may be missing its two scales. ``rise``, of shape (n, n_features), is how far
        values outside their range go on: up on the first scale, and down on the second, away from missing values.
        """
        scales = self.heights(w)
        heights, first = np.concatenate([np.empty(0), *scales]), np.cumsum([0, *map(len, scales)])[:-1]
        feature = self.feature_of_coordinate
        low = heights[first + x.located.lower[:, feature]]
        high = heights[first + x.located.upper[:, feature]]
        out: Floats = low + x.located.fraction[:, feature] * (high - low)
        if rise is None:
            return out
        rise = rise[:, feature]
        if self.has_gaps:
            below, above = self.rises_outside.T
            rise = np.clip(rise, np.where(below, -np.inf, 0.0), np.where(above, np.inf, 0.0))
        return out + rise

    def heights(self, w: Floats) -> list[Floats]:
        """Return each coordinate at the vertices of its feature; it is 0 at the first knot."""
        scales: list[Floats] = []
        for part, gap in zip(np.split(w, self._starts[1:-1]), self._may_miss, strict=False):
            n = len(part) // 2
            gapped = GapScale(part[:n], part[n:-1], float(part[-1])) if gap else None
            scales += [np.append(0.0, np.cumsum(part))] if gapped is None else gapped.scales
        return scales

    def paired(self, x: Items, i: Integers, y: Items, j: Integers, w: Floats) -> Floats:
        return np.abs(self.coordinates(x, w)[i] - self.coordinates(y, w)[j]).sum(axis=1)

    def contributions(self, x: Items, i: Integers, y: Items, j: Integers, w: Floats) -> Floats:
        apart = np.abs(self.coordinates(x, w)[i] - self.coordinates(y, w)[j])
        return np.add.reduceat(apart, self._first, axis=1) if self.has_gaps else apart

    def pairwise(self, x: Items, y: Items, w: Floats, *, n_jobs: int | None = None) -> Floats:
        return l1_pairwise(self.coordinates(x, w), self.coordinates(y, w), n_jobs=n_jobs)

    def tables(self, w: Floats) -> list[Table]:
        apart = [np.abs(scale[:, None] - scale[None, :]) for scale in self.heights(w)]
        sums = [sum(apart[k + 1 : k + 1 + gap], apart[k]) for k, gap in zip(self._first, self._may_miss, strict=True)]
        return [Table((f,), (self.grid.vertices(f),), values) for (f,), values in zip(self.groups, sums, strict=True)]

    def prior(self, slopes: Floats) -> Floats:
        return self._measured(slopes, (self.grid.widths - (self.grid.high - self.grid.low)) / 2)

    def units(self, slopes: Floats) -> Floats:
        """See `PairMap.units`: a level is measured by the gap of a missing value in Gower's distance (see `Grid.gap`)."""
        return self._measured(slopes, self.grid.widths / 2)

    def _measured(self, slopes: Floats, levels: Floats) -> Floats:
        """Return the widths of cells, half for each of two scales, and ``levels`` (n_features,), times the slopes."""
        share = slopes / np.maximum(np.bincount(self._features, minlength=len(slopes)), 1)
        out = [np.empty(0)]
        for f in self._features:
            widths = np.diff(self.grid.knots[f])
            out.append(share[f] * (GapScale(widths / 2, widths / 2, levels[f]).weights if self.grid.missing[f] else widths))
        return np.concatenate(out)

    def differences(self, kind: str) -> sparse.csr_array:
        """Return differences of slopes in neighbouring cells ("curves", in mean widths) or of weights ("shifts")."""
        if kind == "tables":
            return sparse.csr_array((0, self.n_columns))
        rises = ~self._is_level
        left = np.flatnonzero((np.diff(self._owner) == 0) & (np.diff(self._cell) == 1) & rises[1:])  # of neighbouring cells
        row = np.arange(len(left))
        width = np.concatenate([np.empty(0), *(np.append(np.diff(self.grid.knots[f]), 1.0) for f in self._features)])
        width = width[(np.cumsum([0, *self.grid.counts[self._features]])[:-1])[self._owner] + self._cell]
        n_cells = np.bincount(self._owner[rises], minlength=len(self.groups))
        mean = np.bincount(self._owner[rises], weights=width[rises], minlength=len(self.groups)) / np.maximum(n_cells, 1)
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
