"""The triangle inequality on the grid points of every group; if it holds there, it holds everywhere.

    w_ab + w_bc - w_ac >= 0      for all grid points a, b, c of a group

f(x, y) + f(y, z) - f(x, z) is linear on every Kuhn simplex of the grid of (x, y, z), so its least value is at grid points. Sums
over groups keep the inequality. The level of missing values, categories and the seam of a circle are grid points like all
others. Monotone scales satisfy the inequality by themselves. Every vertex off the diagonal must have a column, because the
inequality also concerns vertices that no training pair uses. The theory is in docs/mathematics.md, section 2.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..._foundation.errors import NotSupportedError
from ..._foundation.types import Floats, Integers
from ..._kernels.triangles import close_table, detours
from .base import PairMap
from .full_tables import PairEmbedding
from .monotone_scales import WarpedEmbedding
from .scales_and_tables import MixedEmbedding

TOLERANCE = 1e-12  # an excess of at most this share of the largest weight of a table is rounding
_PASSES = 64  # the most passes that compute shortest paths; two or three are needed


@dataclass(frozen=True)
class Detour:
    """The three grid points of one group that violate the triangle inequality most, or come nearest to violating it.

    Attributes
    ----------
    group : int
        The number of the group.
    points : tuple of int
        The grid points (a, b, c).
    excess : float
        The value of w_ac - w_ab - w_bc, which is > 0 if they violate the inequality.
    largest : float
        The largest weight of the table of the group.
    """

    group: int
    points: tuple[int, int, int]
    excess: float
    largest: float

    @property
    def holds(self) -> bool:
        """True if the excess is no more than rounding."""
        return self.excess <= TOLERANCE * self.largest


@dataclass(frozen=True, eq=False)
class Triangles:
    """The tables that must satisfy the triangle inequality, by the columns of their vertices."""

    # (C, C), the column of every vertex (a, b); ``n_columns`` for a vertex without a column, whose weight is 0.
    tables: tuple[NDArray[np.int64], ...]
    owners: tuple[int, ...]  # the number of the group of each table
    n_columns: int
    symmetric: bool
    # True if vertices of a table share columns by symmetry alone, so that shortest paths may repair violations.
    free: bool = True

    @classmethod
    def of(cls, embedding: PairMap) -> "Triangles":
        """Return the tables of an embedding."""
        n = embedding.n_columns
        if isinstance(embedding, WarpedEmbedding):
            return cls((), (), n, True)
        if isinstance(embedding, MixedEmbedding):
            first_column = embedding.scales.n_columns
            first_group = len(embedding.scales.groups)
            side = cls.of(embedding.side_tables)
            tables = tuple(t + first_column for t in side.tables)
            return cls(tables, tuple(g + first_group for g in side.owners), n, True)
        if not isinstance(embedding, PairEmbedding) or not embedding.continuous or not embedding.zero_diagonal:
            raise NotSupportedError(
                "the triangle inequality is proved on the grid for tables that are continuous and 0 on the diagonal; use "
                'Tables(symmetry="tie") and axioms that are not None'
            )
        if not embedding.whole or not embedding.holds_tables:
            raise NotSupportedError(
                "the triangle inequality needs whole tables, and some group's is too large to be held; use fewer knots, "
                "or smaller groups"
            )
        columns = embedding.vertex_columns()
        free = not any(v.by_difference or v.one_weight for v in embedding.vertices)
        return cls(tuple(columns), tuple(range(len(columns))), n, embedding.symmetric, free)

    @property
    def binding(self) -> bool:
        """True if weights >= 0 may violate an inequality: they do not where every table has one weight, as trees have."""
        return any(len(np.unique(t[t < self.n_columns])) > 1 for t in self.tables)

    @cached_property
    def n_rows(self) -> int:
        """About how many inequalities there are."""
        sizes = np.array([len(t) for t in self.tables], dtype=np.int64)
        return int((sizes * (sizes - 1) * (sizes - 2)).sum()) // (2 if self.symmetric else 1)

    def values(self, w: Floats) -> list[Floats]:
        """Return the values of every table, shape (C, C), for the weights ``w``."""
        padded = np.append(w[: self.n_columns], 0.0)
        return [padded[t] for t in self.tables]

    def worst(self, w: Floats) -> list[Detour]:
        """Return the worst triple of every table with at least three grid points."""
        found = []
        for owner, table in zip(self.owners, self.values(w), strict=True):
            if len(table) < 3:
                continue
            length, via = _detours(table)
            a, c = np.unravel_index(np.argmax(table - length), table.shape)
            triple = (int(a), int(via[a, c]), int(c))
            found.append(Detour(owner, triple, float(table[a, c] - length[a, c]), float(np.abs(table).max())))
        return found

    def excess(self, w: Floats) -> float:
        """Return the largest w_ac - w_ab - w_bc of all tables, at least 0."""
        return max((0.0, *(d.excess for d in self.worst(w))))

    def separate(self, w: Floats, tol: float) -> sparse.csr_array:
        """Return an inequality, (n_found, n_columns), for every (a, c) that a detour shortens by more than ``tol``."""
        found = [np.empty((0, 3), np.int64)]
        for columns, table in zip(self.tables, self.values(w), strict=True):
            if len(table) < 3:
                continue
            length, via = _detours(table)
            a, c = np.nonzero(table - length > tol)
            b = via[a, c]
            found.append(np.column_stack([columns[a, b], columns[b, c], columns[a, c]]))
        return self._matrix(_reduced(np.concatenate(found), self.n_columns))

    def rows(self) -> sparse.csr_array:
        """Return all inequalities, each once, as a matrix of shape (n_inequalities, n_columns)."""
        return self._matrix(np.concatenate([np.empty((0, 3), np.int64), *self.triples()]))

    def triples(self) -> list[Integers]:
        """Return columns (ab, bc, ac) of the inequalities of every table, each inequality once: shapes (n_inequalities, 3)."""
        return [_triples(t, self.n_columns, self.symmetric) for t in self.tables]

    def _matrix(self, triples: Integers) -> sparse.csr_array:
        m = len(triples)
        entries = (np.tile([1.0, 1.0, -1.0], m), (np.repeat(np.arange(m), 3), triples.ravel()))
        return sparse.csr_array(entries, shape=(m, self.n_columns))

    def closed(self, w: Floats) -> Floats:
        """Replace every table by its shortest paths: the largest tables below it that satisfy the inequality exactly.

        Equal lower bounds of a table, ceilings and monotone tables of one feature still hold afterwards; other lower
        bounds, and monotone joint tables, need not. Vertices that share a column get the smallest of their shortest paths.
        """
        out = np.array(w, dtype=np.float64)
        for columns, table in zip(self.tables, self.values(w), strict=True):
            has_column = columns < self.n_columns
            close_table(table, _PASSES)
            while not self.free:
                least = np.full(self.n_columns, np.inf)
                np.minimum.at(least, columns[has_column], table[has_column])
                if np.array_equal(least[columns[has_column]], table[has_column]):
                    break
                table[has_column] = least[columns[has_column]]
                close_table(table, _PASSES)
            out[columns[has_column]] = table[has_column]
        return out


def _detours(table: Floats) -> tuple[Floats, Integers]:
    """Return the length of the shortest detour from a to c over one point, and that point: both of shape (C, C)."""
    length = np.empty_like(table)
    via = np.empty(table.shape, np.int64)
    detours(table, length, via)
    return length, via


def _triples(columns: NDArray[np.int64], none: int, symmetric: bool) -> Integers:
    """Return the columns (ab, bc, ac) of the inequalities of one table, each once: shape (n_inequalities, 3)."""
    n = len(columns)
    a, b, c = (side.ravel() for side in np.indices((n,) * 3, dtype=np.int32))
    keep = (a != b) & (b != c) & ((a < c) if symmetric else (a != c))
    a, b, c = a[keep], b[keep], c[keep]
    rows = np.column_stack([columns[a, b], columns[b, c], columns[a, c]])
    # if no two vertices share a column but by symmetry, no inequality occurs twice
    distinct = len(np.unique(columns[columns < none])) == n * (n - 1) // (2 if symmetric else 1)
    return rows if distinct else _reduced(rows, none)


def _reduced(triples: Integers, none: int) -> Integers:
    """Return each inequality once, without those that hold for all weights >= 0."""
    ab, bc, ac = triples.T
    informative = (ac < none) & (ab < none) & (bc < none) & (ab != ac) & (bc != ac)
    triples = np.column_stack([np.minimum(ab, bc), np.maximum(ab, bc), ac])[informative]
    return np.unique(triples, axis=0)
