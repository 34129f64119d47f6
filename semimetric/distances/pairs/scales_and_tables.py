"""Warped L1 distances of numeric features, plus a learned table for each feature of another kind.

    d(x, y) = sum over numbers |phi_f(x_f) - phi_f(y_f)| + sum over others w_f · ID([x_f, y_f])

Categories and angles have no monotone scale. The first sum satisfies the triangle inequality; the second need not.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..._foundation.errors import InputError, NotSupportedError
from ..._foundation.stored import storable
from ..._foundation.types import Floats, Integers
from ...data.feature_groups import resolve_groups
from ...data.grid import Grid
from .base import Items, PairMap, Table, check_columns, check_rows
from .full_tables import PairEmbedding
from .monotone_scales import WarpedEmbedding, check_singles
from .rows import SparseRows


class _WeightedMap(NamedTuple):
    embedding: PairMap
    weights: Floats


def scales_of(
    grid: Grid, groups: Sequence[tuple[int, ...]], one_weight: Collection[int] = (), *, tabled: Collection[int] = ()
) -> PairMap:
    """Return the embedding of ``tables="warped"``, which has scales, tables or both, depending on the kinds of the features.

    The numbers ``tabled``, which may be missing, have tables too.
    """
    check_singles(groups)
    gaps = [f for f in np.flatnonzero(grid.missing).tolist() if f not in tabled]
    scaled, others = _split(grid, groups, gaps)
    if not others:
        return WarpedEmbedding(grid, scaled)
    return MixedEmbedding(grid, groups, one_weight, gaps) if scaled else _tables(grid, others, one_weight)


def _split(
    grid: Grid, groups: Sequence[tuple[int, ...]], gaps: Collection[int]
) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
    """Return the groups of the features that have a scale, and the others; ``gaps`` have one though they may be missing."""
    scaled = [g for g in groups if grid.extends[g[0]] and (g[0] in gaps or not grid.missing[g[0]])]
    return scaled, [g for g in groups if g not in scaled]


def _tables(grid: Grid, groups: Sequence[tuple[int, ...]], one_weight: Collection[int]) -> PairEmbedding:
    tables = PairEmbedding(grid, groups, one_weight=one_weight)
    if not tables.holds_tables:
        large = max(groups, key=lambda g: grid.sizes[g[0]])[0]
        raise NotSupportedError(
            f'feature {large} has {grid.sizes[large]} levels, and tables="warped" holds its whole table; use tables="full", '
            "which keeps the vertices that pairs touch, or merge rare categories"
        )
    return tables


@storable
class MixedEmbedding(PairMap):
    """The columns of a `WarpedEmbedding` of numbers, followed by those of a `PairEmbedding` of the other single features.

    The tables of the features ``one_weight`` have one column each, for all (a, b) with a != b. Of the numbers that may be
    missing ``gaps`` have a scale, and the others a table, as all have in files that name none.
    """

    symmetric = zero_diagonal = True
    one_weight: tuple[int, ...]
    gaps: tuple[int, ...]

    def __init__(
        self, grid: Grid, groups: Sequence[tuple[int, ...]], one_weight: Collection[int] = (), gaps: Collection[int] = ()
    ) -> None:
        groups = resolve_groups(groups, grid.n_features)
        check_singles(groups)
        scaled, others = _split(grid, groups, gaps)
        if not scaled or not others:
            raise InputError("scales and tables need numbers and other features; use scales_of")
        self.grid = grid
        self.groups = (*scaled, *others)
        self.scales = WarpedEmbedding(grid, scaled)
        self.gaps = tuple(f for (f,) in scaled if grid.missing[f])
        self.side_tables = _tables(grid, others, one_weight)
        self.one_weight = self.side_tables.one_weight

    def with_one_weight(self, features: set[int]) -> "MixedEmbedding":
        """Return the same columns, but that the tables of these features have one each, for all (a, b) with a != b."""
        return MixedEmbedding(self.grid, self.groups, features, self.gaps)

    def expanded(self, w: Floats) -> tuple[PairMap, Floats]:
        of_scales, of_tables = np.split(w, [self.scales.n_columns], axis=-1)
        expanded = self.side_tables.expanded(of_tables)[1]
        return MixedEmbedding(self.grid, self.groups, (), self.gaps), np.concatenate([of_scales, expanded], axis=-1)

    @property
    def n_columns(self) -> int:
        return self.scales.n_columns + self.side_tables.n_columns

    @property
    def group_of_column(self) -> Integers:
        return np.concatenate([self.scales.group_of_column, len(self.scales.groups) + self.side_tables.group_of_column])

    @property
    def cells(self) -> Floats:
        return np.concatenate([self.scales.cells, self.side_tables.cells])

    def _parts(self, w: Floats) -> list[_WeightedMap]:
        check_columns(w, self.n_columns)
        n = self.scales.n_columns
        return [_WeightedMap(self.scales, w[:n]), _WeightedMap(self.side_tables, w[n:])]

    def select(self, keep: Integers, features: Integers) -> PairMap:
        number = {int(f): k for k, f in enumerate(features)}
        groups = [(number[self.groups[g][0]],) for g in keep]
        one_weight = [number[f] for f in self.one_weight if f in number]
        tabled = [number[f] for (f,) in self.side_tables.groups if f in number]
        return scales_of(self.grid.select(features), groups, one_weight, tabled=tabled)

    def positive_groups(self, w: Floats) -> NDArray[np.bool_]:
        return np.concatenate([e.positive_groups(part) for e, part in self._parts(w)])

    def rows(self, x: Items, i: Integers, y: Items, j: Integers) -> SparseRows:
        check_rows(x, i, y, j, self.grid.n_features)
        scales = self.scales.rows(x, i, y, j).values
        tables = self.side_tables.rows(x, i, y, j)
        n = self.scales.n_columns
        columns_of_scales = np.broadcast_to(np.arange(n, dtype=np.int32), scales.shape)
        columns = np.hstack([columns_of_scales, tables.columns + np.int32(n)])
        values = np.hstack([scales, tables.values])
        cells = np.bincount(self.scales.group_of_column, minlength=len(self.scales.groups))
        return SparseRows(columns, values, np.concatenate([[0], np.cumsum(cells), n + tables.slot[1:]]))

    def paired(self, x: Items, i: Integers, y: Items, j: Integers, w: Floats) -> Floats:
        return sum((e.paired(x, i, y, j, part) for e, part in self._parts(w)), np.zeros(len(i)))

    def contributions(self, x: Items, i: Integers, y: Items, j: Integers, w: Floats) -> Floats:
        return np.hstack([e.contributions(x, i, y, j, part) for e, part in self._parts(w)])

    def pairwise(self, x: Items, y: Items, w: Floats, *, n_jobs: int | None = None) -> Floats:
        return sum((e.pairwise(x, y, part, n_jobs=n_jobs) for e, part in self._parts(w)), np.zeros((len(x), len(y))))

    def tables(self, w: Floats) -> list[Table]:
        return [table for e, part in self._parts(w) for table in e.tables(part)]

    def prior(self, slopes: Floats) -> Floats:
        return np.concatenate([self.scales.prior(slopes), self.side_tables.prior(slopes)])

    def units(self, slopes: Floats) -> Floats:
        return np.concatenate([self.scales.units(slopes), self.side_tables.units(slopes)])

    def differences(self, kind: str) -> sparse.csr_array:
        parts = [self.scales.differences(kind), self.side_tables.differences(kind)]
        return sparse.csr_array(sparse.block_diag(parts, format="csr"))

    def with_unseen(self, w: Floats, *, over_all: bool = False) -> Floats:
        return np.concatenate([e.with_unseen(part, over_all=over_all) for e, part in self._parts(w)])
