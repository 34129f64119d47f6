"""Array aliases and the index arrays that say which items belong together."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "ArrayLike",
    "Comparisons",
    "Floats",
    "Integers",
    "Pairs",
    "Quadruplets",
    "Triplets",
    "Tuples",
    "FrozenValue",
    "distinct",
    "freeze",
]

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]


class FrozenValue:
    """A frozen dataclass with arrays: pickled as the arguments that make it, so that a copy is frozen too."""

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, f.name) for f in fields(self))  # type: ignore[arg-type]


def freeze(value: Any, *names: str) -> None:
    """Replace the arrays called ``names`` of a frozen dataclass by read-only copies, for its ``__post_init__``."""
    for name in names:
        array = np.array(getattr(value, name))
        array.setflags(write=False)
        object.__setattr__(value, name, array)


@dataclass(frozen=True)
class Tuples:
    """Tuples of rows of ``items``: an index, never a copy of the items.

    Parameters
    ----------
    items : ndarray of shape (n_items, n_features), float64
    index : ndarray of shape (n_tuples, size of a tuple), int64
        Rows of ``items``.

    Attributes
    ----------
    size : int
        Items in a tuple.
    sides : tuple of str
        What its members are called where they are columns of a table.
    """

    items: Floats
    index: Integers
    size: ClassVar[int]
    sides: ClassVar[tuple[str, ...]]

    def __len__(self) -> int:
        return len(self.index)

    @property
    def used(self) -> Floats:
        """The items that are in some tuple."""
        rows = np.unique(self.index)
        return self.items if len(rows) == len(self.items) else self.items[rows]

    def take(self, rows: NDArray) -> Self:
        """The tuples at ``rows`` (integers or a mask), over the same items."""
        return type(self)(self.items, self.index[rows])


class Pairs(Tuples):
    """Pairs of items, index of shape (n_pairs, 2)."""

    size = 2
    sides = ("left", "right")

    @property
    def left(self) -> Integers:
        """Rows of the first items, shape (n_pairs,)."""
        return self.index[:, 0]

    @property
    def right(self) -> Integers:
        """Rows of the second items, shape (n_pairs,)."""
        return self.index[:, 1]


class Comparisons(Tuples):
    """Tuples that say d(near pair) < d(far pair)."""

    _near: tuple[int, int]
    _far: tuple[int, int]

    @property
    def near(self) -> Pairs:
        """The pairs whose distance should be the smaller, over the same items."""
        return Pairs(self.items, self.index[:, self._near])

    @property
    def far(self) -> Pairs:
        """The pairs whose distance should be the larger, over the same items."""
        return Pairs(self.items, self.index[:, self._far])


class Triplets(Comparisons):
    """Triplets (i, j, l): d(i, j) < d(i, l), index of shape (n_triplets, 3)."""

    size = 3
    sides = ("i", "j", "l")
    _near, _far = (0, 1), (0, 2)


class Quadruplets(Comparisons):
    """Quadruplets (a, b, c, e): d(a, b) < d(c, e), index of shape (n_quadruplets, 4)."""

    size = 4
    sides = ("a", "b", "c", "e")
    _near, _far = (0, 1), (2, 3)


def distinct(names: Sequence[str]) -> tuple[str, ...]:
    """The names, with (2), (3), ... behind those that one before has taken."""
    taken: dict[str, None] = {}
    for name in names:
        k, free = 1, name
        while free in taken:
            free = f"{name} ({(k := k + 1)})"
        taken[free] = None
    return tuple(taken)
