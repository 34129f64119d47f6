"""Which vertices of a group's grid are columns: all of them, or those that training touched (paper 2, section 2: O(kn)).

A vertex of a group with C grid points is (a, b), flat ``a C + b``; a grid point is numbered with the first feature of
the group running slowest.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..._foundation.errors import InputError
from ..._foundation.types import Floats, FrozenValue, Integers, freeze
from ...data.grid import Grid

__all__ = ["WHOLE_TABLE", "Vertices"]

WHOLE_TABLE = 1 << 20  # tables of up to this many vertices are held whole: 4 MiB of columns
_MOST_POINTS = math.isqrt(2**63 - 1)  # C² must fit an int64


@dataclass(frozen=True, eq=False)
class Vertices(FrozenValue):
    """The vertices of one group, and the columns among them.

    Parameters
    ----------
    group, sizes : tuple of int
        The features and their numbers of vertices.
    tied, zero_diagonal : bool
        Whether (a, b) and (b, a) share a column; whether (a, a) has none.
    touched : ndarray of int64 or None
        Sorted canonical vertices that are columns; None means all.
    seams : tuple of int
        Of each feature the vertex that is vertex 0 again, because the feature is periodic; 0 for none.
    by_difference : bool
        Whether (a, b) share a column where b - a is the same; of one numeric feature.
    """

    group: tuple[int, ...]
    sizes: tuple[int, ...]
    tied: bool
    zero_diagonal: bool
    touched: Integers | None = None
    seams: tuple[int, ...] = ()
    by_difference: bool = False

    def __post_init__(self) -> None:
        if self.touched is not None:
            freeze(self, "touched")

    @classmethod
    def of(cls, grid: Grid, group: tuple[int, ...], *, tied: bool, zero_diagonal: bool) -> "Vertices":
        """All vertices of ``group`` on ``grid``."""
        sizes, seams = (tuple(int(values[f]) for f in group) for values in (grid.sizes, grid.seams))
        vertices = cls(group, sizes, tied, zero_diagonal, None, seams)
        if vertices.n_points > _MOST_POINTS:
            raise InputError(
                f"group {group} has {vertices.n_points} grid points; at most {_MOST_POINTS} can be numbered: "
                "use smaller groups or fewer knots"
            )
        return vertices

    @property
    def n_points(self) -> int:
        """C: grid points of one item."""
        return math.prod(self.sizes)

    @property
    def whole(self) -> bool:
        """Whether every vertex off the diagonal is a column."""
        return self.touched is None

    @property
    def fits(self) -> bool:
        """Whether the whole table is small enough to be held."""
        return self.n_points**2 <= WHOLE_TABLE

    @property
    def held(self) -> bool:
        """Whether the group has a table that is at hand."""
        return self.whole and self.fits

    @property
    def strides(self) -> list[int]:
        """Step of each feature in the number of a grid point."""
        return [math.prod(self.sizes[k + 1 :]) for k in range(len(self.sizes))]

    @cached_property
    def keys(self) -> Integers:
        """Canonical vertices that are columns, in column order."""
        if self.touched is not None:
            return self.touched
        everything = np.arange(self.n_points**2, dtype=np.int64)
        a, b = np.divmod(everything, self.n_points)
        keep = a <= b if self.tied else np.ones(len(a), dtype=bool)
        if any(self.seams):
            keep &= self._first(a) == a
            keep &= self._first(b) == b
        if self.by_difference:
            keep &= (a == 0) | (b == 0)
        return everything[keep & (a != b)] if self.zero_diagonal else everything[keep]

    def _first(self, points: Integers) -> Integers:
        """The grid point that stands for each: vertex 0 of a periodic feature, for its seam."""
        for stride, size, seam in zip(self.strides, self.sizes, self.seams, strict=False):
            if seam:
                points = points - np.where(points // stride % size == seam, seam * stride, 0)
        return points

    def canonical(self, vertices: Integers) -> Integers:
        """The vertex that stands for (a, b): at no seam, and the smaller of (a, b) and (b, a) where they are tied."""
        if not self.tied and not any(self.seams) and not self.by_difference:
            return vertices
        a, b = map(self._first, np.divmod(vertices, self.n_points))
        if self.by_difference:
            a, b = np.maximum(a - b, 0), np.maximum(b - a, 0)
        if not self.tied:
            return a * self.n_points + b
        return np.minimum(a, b) * self.n_points + np.maximum(a, b)

    def on_diagonal(self, vertices: Integers) -> NDArray[np.bool_]:
        """Whether a == b, or both are the same value."""
        a, b = map(self._first, np.divmod(vertices, self.n_points))
        return a == b

    def restricted(self, vertices: Integers) -> "Vertices":
        """Only these vertices are columns."""
        keys = np.unique(self.canonical(vertices))
        return replace(self, touched=keys[~self.on_diagonal(keys)] if self.zero_diagonal else keys)

    def columns(self, vertices: Integers, *, base: int, none: int, unseen: int) -> NDArray[np.int32]:
        """Column of each vertex, numbered from ``base``; ``none`` on the diagonal, ``unseen`` where training never was."""
        keys = self.canonical(vertices)
        position = np.minimum(np.searchsorted(self.keys, keys), max(len(self.keys) - 1, 0))
        found = self.keys[position] == keys if len(self.keys) else np.zeros(len(keys), dtype=bool)
        out = np.where(found, base + position, unseen).astype(np.int32)
        if self.zero_diagonal:
            out[self.on_diagonal(vertices)] = none
        return out

    def lookup(self, *, base: int, none: int, unseen: int) -> NDArray[np.int32]:
        """`columns` of all C² vertices."""
        return self.columns(np.arange(self.n_points**2, dtype=np.int64), base=base, none=none, unseen=unseen)

    def coordinates(self, grid: Grid, points: Integers) -> list[Floats]:
        """Values of the group's features at numbered grid points; NaN is the missing level."""
        return [grid.vertices(f)[places] for f, places in zip(self.group, self._places(points), strict=True)]

    def _places(self, points: Integers) -> list[Integers]:
        return [(points // stride) % size for stride, size in zip(self.strides, self.sizes, strict=True)]

    def weighted_l1(self, grid: Grid, vertices: Integers, slopes: Floats) -> Floats:
        """sum_f slopes[f] gap_f(a, b) at vertices, |v_f(a) - v_f(b)| of numbers; ``slopes`` over all features of the grid."""
        a, b = map(self._places, np.divmod(vertices, self.n_points))
        total = np.zeros(len(vertices))
        for f, u, v in zip(self.group, a, b, strict=True):
            total += slopes[f] * grid.gap(f, u, v)
        return total
