"""The vertices of the tables of a group of features, and which of them have a column.

A vertex is a pair (a, b) of grid points of the group; for C grid points its number is ``a C + b``. Grid points are numbered
with the first feature of the group running slowest. Either all vertices have a column, or only those that training pairs use
(paper 2, section 2: O(kn)).
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..._foundation.errors import InputError
from ..._foundation.types import Floats, FrozenValue, Integers, freeze
from ...data.grid import Grid

WHOLE_TABLE = 1 << 20  # tables of up to so many vertices are held in memory as a whole: 4 MiB of column numbers
_MOST_POINTS = math.isqrt(2**63 - 1)  # C² must be an int64


@dataclass(frozen=True, eq=False)
class Vertices(FrozenValue):
    """The vertices of one group, and which of them have a column.

    Several vertices can share a column; the smallest of them in number, called canonical, stands for all.
    """

    group: tuple[int, ...]  # the features of the group, and their numbers of grid points
    sizes: tuple[int, ...]
    tied: bool  # True if (a, b) and (b, a) share a column
    zero_diagonal: bool  # True if (a, a) has no column
    kept: Integers | None = None  # the sorted canonical vertices that have a column; None if all have
    # For each feature that is periodic, its grid point that is the same as its grid point 0; 0 for the others.
    seams: tuple[int, ...] = ()
    # True if vertices (a, b) with the same b - a share a column; only for groups of one numeric feature.
    by_difference: bool = False
    # True if all vertices off the diagonal share one column; only for groups of one categorical feature.
    one_weight: bool = False

    def __post_init__(self) -> None:
        if self.kept is not None:
            freeze(self, "kept")

    @classmethod
    def of(cls, grid: Grid, group: tuple[int, ...], *, tied: bool, zero_diagonal: bool) -> "Vertices":
        """Return the vertices of ``group`` on ``grid``, all with columns."""
        sizes = tuple(int(grid.sizes[f]) for f in group)
        seams = tuple(int(grid.seams[f]) for f in group)
        vertices = cls(group, sizes, tied, zero_diagonal, None, seams)
        if vertices.n_points > _MOST_POINTS:
            raise InputError(
                f"group {group} has {vertices.n_points} grid points; at most {_MOST_POINTS} can be numbered: "
                "use smaller groups or fewer knots"
            )
        return vertices

    @property
    def n_points(self) -> int:
        """The number C of grid points of the group."""
        return math.prod(self.sizes)

    @property
    def whole(self) -> bool:
        """True if every vertex off the diagonal has a column."""
        return self.kept is None

    @property
    def fits(self) -> bool:
        """True if the whole table is small enough to be held in memory."""
        return self.n_points**2 <= WHOLE_TABLE

    @property
    def held(self) -> bool:
        """True if the whole table has columns and is held in memory."""
        return self.whole and self.fits

    @property
    def n_columns(self) -> int:
        """The number of columns, computed without listing them."""
        if self.kept is not None:
            return len(self.kept)
        n = math.prod(size - (seam > 0) for size, seam in zip(self.sizes, self.seams or (0,) * len(self.sizes), strict=True))
        above, diagonal = n * (n - 1) // 2, n
        if self.one_weight:
            return min(above, 1) + diagonal * (not self.zero_diagonal)
        if self.by_difference:
            above, diagonal = n - 1, 1
        return above * (1 if self.tied else 2) + diagonal * (not self.zero_diagonal)

    @property
    def strides(self) -> list[int]:
        """By how much the number of a grid point grows in one step along each feature."""
        return [math.prod(self.sizes[k + 1 :]) for k in range(len(self.sizes))]

    @cached_property
    def keys(self) -> Integers:
        """The canonical vertices that have a column, in the order of the columns."""
        if self.kept is not None:
            return self.kept
        vertices = np.arange(self.n_points**2, dtype=np.int64)
        a, b = np.divmod(vertices, self.n_points)
        keep = a <= b if self.tied else np.ones(len(a), dtype=bool)
        if any(self.seams):
            keep &= self._without_seam(a) == a
            keep &= self._without_seam(b) == b
        if self.by_difference:
            keep &= (a == 0) | (b == 0)
        if self.one_weight:
            keep &= (a == b) | (vertices == 1)
        return vertices[keep & (a != b)] if self.zero_diagonal else vertices[keep]

    def _without_seam(self, points: Integers) -> Integers:
        for stride, size, seam in zip(self.strides, self.sizes, self.seams, strict=False):
            if seam:
                points = points - np.where(points // stride % size == seam, seam * stride, 0)
        return points

    def canonical(self, vertices: Integers) -> Integers:
        """Return the canonical vertex of each vertex (a, b): at no seam, and the smaller of tied (a, b) and (b, a)."""
        if self.one_weight:
            return np.where(self.on_diagonal(vertices), vertices, 1)
        if not self.tied and not any(self.seams) and not self.by_difference:
            return vertices
        a, b = map(self._without_seam, np.divmod(vertices, self.n_points))
        if self.by_difference:
            a, b = np.maximum(a - b, 0), np.maximum(b - a, 0)  # (0, b - a), or (a - b, 0)
        if not self.tied:
            return a * self.n_points + b
        return np.minimum(a, b) * self.n_points + np.maximum(a, b)

    def on_diagonal(self, vertices: Integers) -> NDArray[np.bool_]:
        """Return True for each vertex (a, b) at which a and b stand for the same value."""
        a, b = map(self._without_seam, np.divmod(vertices, self.n_points))
        return a == b

    def restricted(self, vertices: Integers) -> "Vertices":
        """Return the same group in which only these vertices, and those that share a column with them, have columns."""
        if vertices.ndim != 1:
            raise InputError(f"group {self.group} is given vertices of shape {vertices.shape}; (n_vertices,) is required")
        if len(vertices) and not 0 <= vertices.min() <= vertices.max() < self.n_points**2:
            raise InputError(
                f"group {self.group} has {self.n_points**2} vertices, but {vertices.min()} to {vertices.max()} are given; "
                "numbers of its vertices are required"
            )
        keys = np.unique(self.canonical(vertices))
        return replace(self, kept=keys[~self.on_diagonal(keys)] if self.zero_diagonal else keys)

    def columns(self, vertices: Integers, *, base: int, none: int, unseen: int) -> NDArray[np.int32]:
        """Return the column of each vertex from ``base`` on; ``none`` on the diagonal, ``unseen`` for others without one."""
        keys = self.canonical(vertices)
        position = np.minimum(np.searchsorted(self.keys, keys), max(len(self.keys) - 1, 0))
        found = self.keys[position] == keys if len(self.keys) else np.zeros(len(keys), dtype=bool)
        out = np.where(found, base + position, unseen).astype(np.int32)
        if self.zero_diagonal:
            out[self.on_diagonal(vertices)] = none
        return out

    def lookup(self, *, base: int, none: int, unseen: int) -> NDArray[np.int32]:
        """Return the `columns` of all C² vertices, in the order of their numbers."""
        return self.columns(np.arange(self.n_points**2, dtype=np.int64), base=base, none=none, unseen=unseen)

    def coordinates(self, grid: Grid, points: Integers) -> list[Floats]:
        """Return the values of the features of the group at the given grid points; NaN is the level of missing values."""
        return [grid.vertices(f)[places] for f, places in zip(self.group, self._places(points), strict=True)]

    def _places(self, points: Integers) -> list[Integers]:
        return [(points // stride) % size for stride, size in zip(self.strides, self.sizes, strict=True)]

    def weighted_l1(self, grid: Grid, vertices: Integers, slopes: Floats) -> Floats:
        """Return the weighted L1 distance sum_f slopes[f] gap_f(a, b) at the given vertices (a, b), see `Grid.gap`."""
        a, b = map(self._places, np.divmod(vertices, self.n_points))
        total = np.zeros(len(vertices))
        for f, u, v in zip(self.group, a, b, strict=True):
            total += slopes[f] * grid.gap(f, u, v)
        return total
