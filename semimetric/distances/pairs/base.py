"""The interface of every embedding of pairs, through which programs and distances use it.

An embedding of pairs makes a row of the design matrix A from two located items. The distance of the items before the link is
the product of their row and the weights, a sum over groups of features.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..._foundation.errors import InputError
from ..._foundation.optional_imports import optional
from ..._foundation.pictures import Axes, picture
from ..._foundation.text import cell_text, html_table, number_text
from ..._foundation.threads import blocks, map_blocks
from ..._foundation.types import ArrayLike, Floats, Integers
from ..._kernels.simplex import Located
from ...data.grid import Grid
from ...data.schema import Feature
from .rows import PairRows

_MOST_POINTS = 12  # rows and columns of a table in a notebook
_MOST_TABLES = 50  # of which a notebook shows a line


class Items(NamedTuple):
    """Items on the grid."""

    located: Located  # the cells and fractions of their values
    order: np.ndarray  # (n_items, n_features), sorts the fractions of each item; no columns if no group needs it

    def __len__(self) -> int:  # a NamedTuple would give the number of its fields
        return len(self.located.fraction)

    @property
    def sorted_order(self) -> Integers:
        """Order that sorts the fractions of each item, shape (n_items, n_features), computed if ``order`` is None."""
        return np.argsort(self.located.fraction, axis=1, kind="stable")


def check_rows(x: Items, i: Integers, y: Items, j: Integers, n_features: int) -> None:
    """Refuse pairs (x[i[r]], y[j[r]]) with rows out of range or items of another grid: kernels do not check this."""
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
    """Refuse weights whose number is not that of the columns."""
    if np.shape(w) != (n_columns,):
        raise InputError(f"weights have shape {np.shape(w)}; one for each of the {n_columns} columns is required")


def mirror(out: Floats) -> None:
    """Copy the upper triangle of a square matrix onto its lower triangle, in place and block by block."""
    for block in blocks(len(out), 512):
        out[block.stop :, block] = out[block, block.stop :].T
        square = out[block, block]
        square[...] = np.triu(square) + np.triu(square, 1).T


class Table(NamedTuple):
    """The part of a distance that depends on one group of features.

    ``values[a, b]`` is the value between the grid points a and b, which are numbered with the first feature running slowest.

    Examples
    --------
    >>> Table((0,), (np.array([1.0, 2.0]),), np.array([[0.0, 3.0], [3.0, 0.0]]), ("age",), ((1.0, 2.0),)).to_frame()
    age  1.0  2.0
    age
    1.0  0.0  3.0
    2.0  3.0  0.0
    """

    features: tuple[int, ...]  # the numbers of the features of the group
    # The values of each feature at its grid points: of a circle the last is the first again, of categories the last code is
    # that of new ones, and NaN is the level of missing values.
    knots: tuple[Floats, ...]
    values: Floats  # (C, C), C being the product of the numbers of knots
    names: tuple[str, ...] = ()  # where they are known
    levels: tuple[tuple[Any, ...], ...] = ()  # the knots as people read them: numbers, categories, "(other)", "(missing)"
    columns: tuple[Feature, ...] = ()  # how the features are read, where that is known
    part_of: str = "distance"  # that the values add up to: it has another name before a link

    def to_frame(self) -> Any:
        """Return the values as a frame of pandas, whose rows and columns are the grid points by their levels."""
        pandas = optional("pandas")
        names = list(self.names or map(str, self.features))
        levels = [list(level) for level in self.levels or self.knots]
        axis = pandas.Index(levels[0], name=names[0])
        if len(levels) > 1:
            axis = pandas.MultiIndex.from_product(levels, names=names)
        return pandas.DataFrame(self.values, axis, axis)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the table of one feature in colors; see `semimetric.plotting.plot_table`."""
        return picture("plot_table")(self, ax=ax)

    def __repr__(self) -> str:
        knots = " x ".join(str(len(k)) for k in self.knots)
        name = " * ".join(self.names or map(str, self.features))
        return f"Table of {name}: values {self.values.min():.4g} to {self.values.max():.4g} between {knots} grid points"

    def _repr_html_(self) -> str:
        points = [", ".join(map(cell_text, levels)) for levels in product(*(self.levels or self.knots))]
        shown = range(min(len(points), _MOST_POINTS))
        rows = [["", *(points[b] for b in shown)], *([points[a], *(f"{self.values[a, b]:.4g}" for b in shown)] for a in shown)]
        rest = [f"{len(points)} grid points, of which the first {len(shown)} are shown"] if len(shown) < len(points) else []
        return html_table(rows, title=repr(self), notes=rest)


class NamedTables(dict[str, Table]):
    """The tables of a distance by the names of their terms; in a notebook, one line each."""

    def plot(self, ax: Axes | None = None, *, most: int = 12) -> Axes:
        """Draw a bar for each table, as long as its largest value; see `semimetric.plotting.plot_tables`."""
        return picture("plot_tables")(self, ax, most=most)

    def _repr_html_(self) -> str:
        rows = [("term", "grid points", "least", "largest")]
        for name, table in list(self.items())[:_MOST_TABLES]:
            sizes = " x ".join(str(len(k)) for k in table.knots)
            rows.append((name, sizes, number_text(table.values.min()), number_text(table.values.max())))
        more = len(self) - _MOST_TABLES
        notes = [f"{more} more tables"] if more > 0 else []
        return html_table(rows, title=f"{len(self)} tables", notes=[*notes, "show one by its name, as in tables()[name]"])


class PairMap(ABC):
    """An embedding of pairs of items, whose columns belong to groups of features."""

    grid: Grid
    groups: tuple[tuple[int, ...], ...]  # the features of each group
    symmetric: bool  # True if the columns alone guarantee symmetry for all weights
    zero_diagonal: bool  # and zeros on the diagonal
    continuous: bool = True  # True if the distance is, for all weights
    metric: bool = False  # True if the triangle inequality holds for all weights >= 0
    whole: bool = True  # True if every vertex off the diagonal has a column
    holds_tables: bool = True  # True if the tables are small enough for memory, as their differences require
    n_sharing: int = 1  # the number of features that share each column

    @property
    @abstractmethod
    def n_columns(self) -> int:
        """The number of columns, which is that of the weights."""

    def locate(self, X: ArrayLike) -> Items:
        """Return the items on the grid. An item is located once, whatever the number of its pairs."""
        located = self.grid.locate(X)
        return Items(located, np.empty((len(located.fraction), 0), np.int64))

    @abstractmethod
    def rows(self, x: Items, i: Integers, y: Items, j: Integers) -> PairRows:
        """Return the rows of A for the pairs (x[i[r]], y[j[r]])."""

    def paired(self, x: Items, i: Integers, y: Items, j: Integers, w: Floats) -> Floats:
        """Return the distances of the pairs before the link, shape (B,): A w plus the values of vertices without a column."""
        check_columns(w, self.n_columns)
        return self.rows(x, i, y, j).matvec(w)

    def positive_groups(self, w: Floats) -> NDArray[np.bool_]:
        """Return True for each group with a value > 0 for all points that differ in its features, shape (n_groups,)."""
        least = np.full(len(self.groups), np.inf)
        np.minimum.at(least, self.group_of_column, w)
        return least > 0

    @abstractmethod
    def contributions(self, x: Items, i: Integers, y: Items, j: Integers, w: Floats) -> Floats:
        """Return value of every group for the pairs, shape (B, n_groups); the sum of a row is the distance before the link."""

    def pairwise(self, x: Items, y: Items, w: Floats, *, n_jobs: int | None = None) -> Floats:
        """Return the distances before the link of all items x to all items y, shape (n, m)."""
        check_columns(w, self.n_columns)
        check_rows(x, np.arange(0), y, np.arange(0), self.grid.n_features)
        out = np.empty((len(x), len(y)))

        def fill(block: slice) -> None:
            for i in range(block.start, block.stop):
                for part in blocks(len(y), 2048):
                    j = np.arange(part.start, part.stop)
                    out[i, part] = self.rows(x, np.full(len(j), i), y, j).matvec(w)

        map_blocks(fill, len(x), size=16, n_jobs=n_jobs)
        return out

    @abstractmethod
    def tables(self, w: Floats) -> list[Table]:
        """Return the table of every group."""

    @abstractmethod
    def prior(self, slopes: Floats) -> Floats:
        """Return the weights of the weighted L1 distance sum_f slopes[f] |x_f - y_f|, which holds in the range of the grid.

        For features of any kind it is Gower's distance, sum_f slopes[f] gap_f(x_f, y_f), where the gap is that of `Grid.gap`.
        """

    def units(self, slopes: Floats) -> Floats:
        """Return the weights by which penalties measure the columns: those of `prior`, but none that are 0 there by nature."""
        return self.prior(slopes)

    @abstractmethod
    def differences(self, kind: str) -> sparse.csr_array:
        """Return the sparse matrix D of differences of the tables, shape (n_differences, n_columns).

        For "tables", D w is 0 on warped L1 distances; for "curves", it is 0 on weighted L1 distances. For "shifts",
        D (w / unit) is 0 on tables whose slopes depend on the difference of the indices only.
        """

    @property
    @abstractmethod
    def group_of_column(self) -> Integers:
        """The group that owns each column, non-decreasing, shape (n_columns,)."""

    @property
    def cells(self) -> Floats:
        """The number of cells of the features of each group, at least 1: shape (n_groups,)."""
        return np.array([max(sum(int(self.grid.sizes[f]) - 1 for f in g), 1) for g in self.groups], dtype=np.float64)

    @abstractmethod
    def select(self, keep: Integers, features: Integers) -> PairMap:
        """Return embedding with only the groups ``keep``, over a grid with only the ``features``; the weights stay the same."""

    def expanded(self, w: Floats) -> tuple[PairMap, Floats]:
        """Return the same distance with a column for every vertex of the tables that can be held in memory, and its weights.

        w has the shape (n_columns,), or (..., n_columns) for several distances under the same embedding.
        """
        return self, w

    def with_unseen(self, w: Floats, *, over_all: bool = False) -> Floats:
        """Compute the weights of new categories from those of categories in the fit: see `fill_unseen`."""
        return w

    def in_unit(self, unit: float | Floats) -> PairMap:
        """Return the embedding for weights multiplied by ``unit``: one number, or one a feature of single groups."""
        return self

    def csr(self, x: Items, i: Integers, y: Items, j: Integers) -> sparse.csr_array:
        """Return the rows of A for the pairs as a CSR matrix, shape (B, n_columns)."""
        return self.rows(x, i, y, j).csr(self.n_columns)

    @property
    def covered(self) -> frozenset[int]:
        """The numbers of the features that are in some group."""
        return frozenset(f for group in self.groups for f in group)


def signs_on_grid(x: Items, i: Integers, y: Items, j: Integers) -> NDArray[np.int8]:
    """Return the signs of x[i] - y[j] on the grid, shape (B, n_features)."""
    cells = np.sign(x.located.lower[i].astype(np.int64) - y.located.lower[j])
    return np.where(cells != 0, cells, np.sign(x.located.fraction[i] - y.located.fraction[j])).astype(np.int8)
