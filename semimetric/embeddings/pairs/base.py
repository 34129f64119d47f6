"""What every embedding of pairs promises: the one interface that programs and distances see.

A pair map turns two located items into a row of A; the distance before the link is ``A w``, a sum over groups.
"""

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..._foundation.errors import InputError
from ..._foundation.threads import blocks
from ..._foundation.types import ArrayLike, Floats, Integers
from ..._kernels.simplex import Located
from ...data.grid import Grid
from .rows import PairRows

__all__ = ["Items", "PairMap", "Table", "check_columns", "check_rows", "mirror"]


class Items(NamedTuple):
    """Items on the grid: cells and fractions, and the sorted order of the fractions where groups need it."""

    located: Located
    order: np.ndarray

    def __len__(self) -> int:  # the number of items, not of fields
        return len(self.located.fraction)


def check_rows(x: Items, i: Integers, y: Items, j: Integers, n_features: int) -> None:
    """Refuse pairs that name no items, or items of another grid: kernels do not look.

    Raises
    ------
    InputError
    """
    for side, rows in ((x, i), (y, j)):
        if side.located.fraction.shape[1] != n_features:
            raise InputError(f"items were located on {side.located.fraction.shape[1]} features, but the grid has {n_features}")
        if len(rows) and not 0 <= rows.min() <= rows.max() < len(side):
            raise InputError(
                f"pairs name the items {rows.min()} to {rows.max()}; row numbers from 0 to {len(side) - 1} are required"
            )
    if len(i) != len(j):
        raise InputError(f"{len(i)} rows of x and {len(j)} of y make no pairs; the same number is required")


def check_columns(w: Floats, n_columns: int) -> None:
    """Refuse weights that are not one a column."""
    if np.shape(w) != (n_columns,):
        raise InputError(f"weights have shape {np.shape(w)}; one for each of the {n_columns} columns is required")


def mirror(out: Floats) -> None:
    """Copy the upper triangle onto the lower one, in blocks."""
    for block in blocks(len(out), 512):
        out[block.stop :, block] = out[block, block.stop :].T
        square = out[block, block]
        square[...] = np.triu(square) + np.triu(square, 1).T


class Table(NamedTuple):
    """One group's part of a distance.

    ``knots`` are the values of each feature at its grid points: of a periodic one the last is the first again, a categorical
    one has codes, the last being that of categories that were not in the fit, and NaN is the level of missing values.
    ``values[a, b]`` is its value between grid points a and b; for a group of several features, grid points are
    numbered with the first feature running slowest, and ``values`` has shape (C, C), C the product of their knots.
    """

    features: tuple[int, ...]
    knots: tuple[Floats, ...]
    values: Floats


class PairMap(ABC):
    """Joint embedding of pairs of items.

    Attributes
    ----------
    grid : Grid
    groups : tuple of tuple of int
        The features of each group.
    symmetric, zero_diagonal : bool
        What the columns themselves guarantee, whatever the weights.
    continuous : bool
        Whether the distance is continuous for all weights.
    metric : bool
        Whether the triangle inequality holds for all weights >= 0.
    whole : bool
        Whether every vertex off the diagonal is a column.
    holds_tables : bool
        Whether the tables are small enough to be held, touched or not; differences of tables need that.
    """

    grid: Grid
    groups: tuple[tuple[int, ...], ...]
    symmetric: bool
    zero_diagonal: bool
    continuous: bool = True
    metric: bool = False
    whole: bool = True
    holds_tables: bool = True

    @property
    @abstractmethod
    def n_columns(self) -> int:
        """Number of weights."""

    @abstractmethod
    def locate(self, X: ArrayLike) -> Items:
        """Items on the grid: done once for an item, whatever the number of its pairs."""

    @abstractmethod
    def rows(self, x: Items, i: Integers, y: Items, j: Integers) -> PairRows:
        """Rows of A for the pairs (x[i[r]], y[j[r]])."""

    def paired(self, x: Items, i: Integers, y: Items, j: Integers, w: Floats) -> Floats:
        """Distance before the link for the pairs, shape (B,): A w and the value of unseen vertices."""
        check_columns(w, self.n_columns)
        return self.rows(x, i, y, j).matvec(w)

    def positive_groups(self, w: Floats) -> NDArray[np.bool_]:
        """Whether each group's value is > 0 for all points whose features in the group differ."""
        least = np.full(len(self.groups), np.inf)
        np.minimum.at(least, self.group_of_column, w)
        return least > 0

    @abstractmethod
    def contributions(self, x: Items, i: Integers, y: Items, j: Integers, w: Floats) -> Floats:
        """Value of every group for the pairs, shape (B, n_groups); row sums are the distance before the link."""

    @abstractmethod
    def pairwise(self, x: Items, y: Items, w: Floats, *, n_jobs: int | None = None) -> Floats:
        """Distances before the link between all of x and all of y, shape (n, m)."""

    @abstractmethod
    def tables(self, w: Floats) -> list[Table]:
        """One table a group."""

    @abstractmethod
    def prior(self, slopes: Floats) -> Floats:
        """The weights whose distance is weighted L1, sum_f slopes[f] |x_f - y_f| in range, or of any features Gower's.

        That is sum_f slopes[f] gap_f(x_f, y_f), with `Grid.gap`.
        """

    @abstractmethod
    def differences(self, kind: str) -> sparse.csr_array:
        """Differences of the tables: D w is 0 on warped L1 for "tables", on weighted L1 for "curves".

        D (w / unit) is 0 for "shifts" on tables whose slopes depend on the difference of the indices only.
        """

    @property
    @abstractmethod
    def group_of_column(self) -> Integers:
        """The group that owns each column, non-decreasing, shape (n_columns,)."""

    @property
    def cells(self) -> Floats:
        """Over how many cells the columns of each group stand, shape (n_groups,), each >= 1."""
        return np.array([max(sum(int(self.grid.sizes[f]) - 1 for f in g), 1) for g in self.groups], dtype=np.float64)

    @abstractmethod
    def select(self, keep: Integers, features: Integers) -> "PairMap":
        """The same map with only the groups ``keep``, over a grid with only the ``features``; their weights carry over."""

    def expanded(self, w: Floats) -> "tuple[PairMap, Floats]":
        """The same distance with columns for all vertices whose table can be held, and its weights."""
        return self, w

    def with_unseen(self, w: Floats) -> Floats:
        """The weights, those of categories that were not in the fit being made of those that were."""
        return w

    def in_unit(self, unit: float) -> "PairMap":
        """The map for weights that are multiplied by ``unit``."""
        return self

    def csr(self, x: Items, i: Integers, y: Items, j: Integers) -> sparse.csr_array:
        """Rows of A as one CSR matrix."""
        return self.rows(x, i, y, j).csr(self.n_columns)

    @property
    def covered(self) -> frozenset[int]:
        """Features that are in some group."""
        return frozenset(f for group in self.groups for f in group)
