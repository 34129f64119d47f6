"""One full table that all features share: d(x, y) = sum_f c_f w · ID([x_f, y_f]; [V_f; V_f]), with the same w for all.

Many distances of histograms are such sums: L1, chi-squared, and, under a root, Jensen-Shannon, Hellinger and Euclid's. Tables
of F single features have F times the weights, each learned from a part of the values. So shared knots can be fine. With factors
c_f, and knots that lie alike in the range of each feature, such sums are Euclid's distance of columns in any units, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from scipy import sparse

from ..._foundation.errors import InputError
from ..._foundation.types import Floats, Integers
from ..._kernels.jit import read_only
from ..._kernels.products import scatter
from ..._kernels.simplex import Singles, single_rows
from ...data.grid import Grid
from .base import Items, PairMap, Table, check_columns, check_rows
from .full_tables import PairEmbedding, pairwise_of_singles
from .rows import DenseRows


class SharedTable(PairMap):
    """The embedding of pairs in one table that all features share, whose row is the sum of the rows of the features.

    What is learned becomes a table for each feature again, see `expanded`. So a distance never holds this embedding.
    The grid is of numbers that are all there, with as many knots for every feature: the same ones, or at the same shares of its
    range. The table of each feature is multiplied by its one of the ``factors``, > 0.

    Examples
    --------
    >>> SharedTable(Grid([[0.0, 1.0, 2.0], [0.0, 1.0, 2.0]])).n_columns
    3
    """

    def __init__(
        self, grid: Grid, factors: Sequence[float] | Floats | None = None, *, symmetry: str = "tie", zero_diagonal: bool = True
    ) -> None:
        alike = np.array_equal if factors is None else _alike
        if not grid.plain or any(not alike(knots, grid.knots[0]) for knots in grid.knots):
            raise InputError(
                'tables="shared" has one table of all features; numbers that are all there, and the same knots of each, are '
                'required: use tables="full"'
            )
        if factors is not None and len(factors) != grid.n_features:
            raise InputError(f"there are {len(factors)} factors for {grid.n_features} features and directions; give each one")
        self.grid, self.groups = grid, ((0,),)
        self.factors = None if factors is None else np.asarray(factors, dtype=np.float64)
        self.n_sharing = grid.n_features
        self._one = PairEmbedding(grid.select(np.arange(1)), symmetry=symmetry, zero_diagonal=zero_diagonal)
        self.symmetric, self.zero_diagonal = self._one.symmetric, self._one.zero_diagonal

    @property
    def n_columns(self) -> int:
        return self._one.n_columns

    @property
    def group_of_column(self) -> Integers:
        return np.zeros(self.n_columns, dtype=np.int64)

    @cached_property
    def _singles(self) -> Singles:
        """The columns of the vertices of every feature, which are those of one."""
        n, size = self.grid.n_features, int(self.grid.sizes[0])
        columns = self._one.vertex_columns()[0].ravel().astype(np.int32)
        return Singles(np.arange(n), np.full(n, size), np.zeros(n, dtype=np.int64), columns)

    def rows(self, x: Items, i: Integers, y: Items, j: Integers) -> DenseRows:
        check_rows(x, i, y, j, self.grid.n_features)
        columns = np.empty((len(i), 3 * self.grid.n_features), np.int32)
        values = np.empty(columns.shape)
        i, j = np.ascontiguousarray(i), np.ascontiguousarray(j)
        single_rows(read_only(x.located), i, read_only(y.located), j, read_only(self._singles), columns, values)
        if self.factors is not None:
            values *= np.repeat(self.factors, 3)
        dense = np.zeros((len(i), self.n_columns + 1))  # the last is of vertices without a column
        scatter(columns, values, np.ones(len(i)), dense)
        return DenseRows(dense[:, :-1])

    def contributions(self, x: Items, i: Integers, y: Items, j: Integers, w: Floats) -> Floats:
        check_columns(w, self.n_columns)
        return self.rows(x, i, y, j).matvec(w)[:, None]

    def pairwise(self, x: Items, y: Items, w: Floats, *, n_jobs: int | None = None) -> Floats:
        check_columns(w, self.n_columns)
        if self.factors is not None:
            embedding, weights = self.expanded(w)
            return embedding.pairwise(x, y, weights, n_jobs=n_jobs)
        return pairwise_of_singles(x.located, y.located, self._singles, np.append(w, 0.0), n_jobs=n_jobs)

    def tables(self, w: Floats) -> list[Table]:
        return self._one.tables(w)

    def prior(self, slopes: Floats) -> Floats:
        """Return the weights of the L1 distance with the mean rise across the range of a feature, which all share."""
        widths = self.grid.widths
        return self._one.prior(np.array([(slopes * widths).mean() / widths[0]]))

    def differences(self, kind: str) -> sparse.csr_array:
        return self._one.differences(kind)

    def select(self, keep: Integers, features: Integers) -> SharedTable:
        factors = None if self.factors is None else self.factors[features]
        return SharedTable(self.grid.select(features), factors, symmetry=self._one.symmetry, zero_diagonal=self.zero_diagonal)

    def expanded(self, w: Floats) -> tuple[PairEmbedding, Floats]:
        """Return the same distance with a table for each feature, and its weights; w has the shape (..., n_columns)."""
        n = self.grid.n_features
        whole = PairEmbedding(self.grid, symmetry=self._one.symmetry, zero_diagonal=self.zero_diagonal)
        factors = np.ones(n) if self.factors is None else self.factors
        return whole, np.concatenate([factor * w for factor in factors], axis=-1)


def _alike(knots: Floats, others: Floats) -> bool:
    """Return True if knots are those of another feature, or lie at the same shares of its range."""
    if np.array_equal(knots, others):
        return True
    if len(knots) != len(others) or not (knots[-1] > knots[0] and others[-1] > others[0]):
        return False
    one, other = ((each - each[0]) / (each[-1] - each[0]) for each in (knots, others))
    rounding = max(float(np.abs(each).max() / (each[-1] - each[0])) for each in (knots, others))
    return bool(np.abs(one - other).max() < 1e-9 + 8 * np.finfo(float).eps * rounding)
