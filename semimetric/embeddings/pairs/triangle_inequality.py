"""The triangle inequality on the grid points of every group: where it holds there, it holds everywhere.

The theory is in docs/mathematics.md, section 2.

    w_ab + w_bc - w_ac >= 0      for all grid points a, b, c of a group

f(x, y) + f(y, z) - f(x, z) is linear on every Kuhn simplex of the grid of (x, y, z), so its least value is at grid points. Sums
over groups keep the inequality. The missing level, categories and the seam of a circle are grid points like others; monotone
scales need no rows. Tables must be whole: of vertices that no pair touches the inequality decides too.
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

__all__ = ["Detour", "TOLERANCE", "Triangles"]

TOLERANCE = 1e-12  # of the largest weight of a table: what rounding leaves of an inequality that holds
_PASSES = 64  # of the closure; two or three are needed


@dataclass(frozen=True)
class Detour:
    """The worst triple of one group: w_ac - w_ab - w_bc, and the largest weight of its table."""

    group: int
    points: tuple[int, int, int]
    excess: float
    largest: float

    @property
    def holds(self) -> bool:
        """Whether the excess is no more than rounding leaves."""
        return self.excess <= TOLERANCE * self.largest


@dataclass(frozen=True, eq=False)
class Triangles:
    """Columns of the grid points of every group that has a table.

    Attributes
    ----------
    tables : tuple of ndarray (C, C), int
        Column of every vertex (a, b); ``n_columns`` where there is none: its weight is 0.
    owners : tuple of int
        The group of each table.
    n_columns : int
    symmetric : bool
    free : bool
        Whether columns of a table are tied by symmetry alone, so that shortest paths may repair it.
    """

    tables: tuple[NDArray[np.int64], ...]
    owners: tuple[int, ...]
    n_columns: int
    symmetric: bool
    free: bool = True

    @classmethod
    def of(cls, embedding: PairMap) -> "Triangles":
        """Those of an embedding.

        Raises
        ------
        NotSupportedError
            If the embedding is not continuous, has weights on the diagonal, or tables that are not whole.
        """
        n = embedding.n_columns
        if isinstance(embedding, WarpedEmbedding):
            return cls((), (), n, True)
        if isinstance(embedding, MixedEmbedding):
            first, groups = embedding.scales.n_columns, len(embedding.scales.groups)
            side = cls.of(embedding.side_tables)
            return cls(tuple(t + first for t in side.tables), tuple(g + groups for g in side.owners), n, True)
        if not isinstance(embedding, PairEmbedding) or not embedding.continuous or not embedding.zero_diagonal:
            raise NotSupportedError(
                "the triangle inequality is proved on the grid for tables that are continuous and 0 on the diagonal; use "
                'symmetry="tie" and axioms that are not None'
            )
        if not embedding.whole or not embedding.holds_tables:
            raise NotSupportedError(
                "the triangle inequality needs whole tables, and some group's is too large to be held; use fewer knots, "
                "or smaller groups"
            )
        columns = embedding.vertex_columns()
        free = not any(v.by_difference for v in embedding.vertices)
        return cls(tuple(columns), tuple(range(len(columns))), n, embedding.symmetric, free)

    @cached_property
    def n_rows(self) -> int:
        """About how many rows there are."""
        sizes = np.array([len(t) for t in self.tables], dtype=np.int64)
        return int((sizes * (sizes - 1) * (sizes - 2)).sum()) // (2 if self.symmetric else 1)

    def values(self, w: Floats) -> list[Floats]:
        """Tables (C, C) of the weights."""
        padded = np.append(w[: self.n_columns], 0.0)
        return [padded[t] for t in self.tables]

    def worst(self, w: Floats) -> list[Detour]:
        """The worst triple of every table with three points or more."""
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
        """The largest w_ac - w_ab - w_bc, at least 0."""
        return max((0.0, *(d.excess for d in self.worst(w))))

    def separate(self, w: Floats, tol: float) -> sparse.csr_array:
        """Of every (a, c) whose detour is shorter by more than ``tol``, the row of the shortest: exact separation."""
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
        """All rows, each once."""
        return self._matrix(np.concatenate([np.empty((0, 3), np.int64), *self.triples()]))

    def triples(self) -> list[Integers]:
        """Of every table the columns (ab, bc, ac) of its rows, each once."""
        return [_triples(t, self.n_columns, self.symmetric) for t in self.tables]

    def _matrix(self, triples: Integers) -> sparse.csr_array:
        m = len(triples)
        entries = (np.tile([1.0, 1.0, -1.0], m), (np.repeat(np.arange(m), 3), triples.ravel()))
        return sparse.csr_array(entries, shape=(m, self.n_columns))

    def closed(self, w: Floats) -> Floats:
        """Every table replaced by its shortest paths: the largest tables below these that satisfy every row.

        Repeated until no sum of two floats is smaller than a third. Lower bounds that are equal for a table stay, and ceilings;
        monotonicity stays in tables of one feature, not in joint ones; other lower bounds do not stay. Columns tied by
        difference stay tied: the smallest of the shortest paths of each, again and again, until none is smaller; no tied table
        in between satisfies every row.
        """
        out = np.array(w, dtype=np.float64)
        for columns, table in zip(self.tables, self.values(w), strict=True):
            real = columns < self.n_columns
            close_table(table, _PASSES)
            while not self.free:
                least = np.full(self.n_columns, np.inf)
                np.minimum.at(least, columns[real], table[real])
                if np.array_equal(least[columns[real]], table[real]):
                    break
                table[real] = least[columns[real]]
                close_table(table, _PASSES)
            out[columns[real]] = table[real]
        return out


def _detours(table: Floats) -> tuple[Floats, Integers]:
    length, via = np.empty_like(table), np.empty(table.shape, np.int64)
    detours(table, length, via)
    return length, via


def _triples(columns: NDArray[np.int64], none: int, symmetric: bool) -> Integers:
    """Rows of one table; where every two points have a column of their own, each is met once."""
    n = len(columns)
    a, b, c = (side.ravel() for side in np.indices((n,) * 3, dtype=np.int32))
    keep = (a != b) & (b != c) & ((a < c) if symmetric else (a != c))
    a, b, c = a[keep], b[keep], c[keep]
    rows = np.column_stack([columns[a, b], columns[b, c], columns[a, c]])
    own = len(np.unique(columns[columns < none])) == n * (n - 1) // (2 if symmetric else 1)
    return rows if own else _reduced(rows, none)


def _reduced(triples: Integers, none: int) -> Integers:
    """Each row once, without those that hold for all weights >= 0."""
    ab, bc, ac = triples.T
    says = (ac < none) & (ab < none) & (bc < none) & (ab != ac) & (bc != ac)
    triples = np.column_stack([np.minimum(ab, bc), np.maximum(ab, bc), ac])[says]
    return np.unique(triples, axis=0)
