"""Type aliases of arrays, frozen values, and pairs, triplets and quadruplets of items given by row numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]

# Types of parameters, so that signatures are short where editors show them.
Exponents: TypeAlias = float | Sequence[float] | str  # one number for all base distances, one for each, or "auto"
KnotCounts: TypeAlias = int | Sequence[int] | str  # one number for all features, one for each, or "auto"
Knots: TypeAlias = str | Sequence[ArrayLike]  # how knots are placed, or the knots of every feature
FeatureChoice: TypeAlias = str | Sequence[int | str] | None  # features by number or name, or a word for some of them
Periods: TypeAlias = Mapping[int | str, float | str] | None  # of features, by number or name; of times by word


class FrozenValue:
    """The base of frozen dataclasses with arrays, pickled as their arguments so that copies are read only too."""

    def __reduce__(self) -> tuple[Any, ...]:
        value: Any = self  # every subclass is a dataclass
        return type(self), tuple(getattr(self, f.name) for f in fields(value))


def freeze(value: Any, *names: str) -> None:
    """Replace the arrays called ``names`` of a frozen dataclass by read-only copies; to be called in ``__post_init__``."""
    for name in names:
        array = np.array(getattr(value, name))
        array.setflags(write=False)
        object.__setattr__(value, name, array)


@dataclass(frozen=True)
class Tuples:
    """Tuples of items, given by their row numbers, so that items are never copied."""

    items: Floats  # (n_items, n_features)
    index: Integers  # (n_tuples, size); the row numbers in ``items`` of the members of each tuple
    name: ClassVar[str]  # what messages call several of them
    size: ClassVar[int]  # the number of items in a tuple
    sides: ClassVar[tuple[str, ...]]  # the names of the members of a tuple where they are columns of a table

    def __len__(self) -> int:
        return len(self.index)

    @property
    def used(self) -> Floats:
        """The items that are in some tuple, each once: shape (n_used, n_features)."""
        rows = np.unique(self.index)
        return self.items if len(rows) == len(self.items) else self.items[rows]

    @property
    def occurrences(self) -> Integers:
        """Number of occurrences of each of the items `used` as a member of a tuple, shape (n_used,)."""
        return np.unique(self.index, return_counts=True)[1]

    def take(self, rows: NDArray[Any] | slice) -> Self:
        """Some of the tuples, over the same items; ``rows`` are their numbers, a slice or a mask."""
        return type(self)(self.items, self.index[rows])


class Pairs(Tuples):
    """Pairs of items; the index has shape (n_pairs, 2)."""

    name = "pairs"
    size = 2
    sides = ("left", "right")

    @property
    def left(self) -> Integers:
        """The row numbers of the first items, shape (n_pairs,)."""
        return self.index[:, 0]

    @property
    def right(self) -> Integers:
        """The row numbers of the second items, shape (n_pairs,)."""
        return self.index[:, 1]


class RelativeComparisons(Tuples):
    """Tuples of which two members are a near pair and two a far pair, with d(near pair) < d(far pair)."""

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


class TripletTuples(RelativeComparisons):
    """Triplets (i, j, l) with d(i, j) < d(i, l); the index has shape (n_triplets, 3)."""

    name = "triplets"
    size = 3
    sides = ("i", "j", "l")
    _near, _far = (0, 1), (0, 2)


class Quadruplets(RelativeComparisons):
    """Quadruplets (a, b, c, e) with d(a, b) < d(c, e); the index has shape (n_quadruplets, 4)."""

    name = "quadruplets"
    size = 4
    sides = ("a", "b", "c", "e")
    _near, _far = (0, 1), (2, 3)


def distinct(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names, with (2), (3), ... appended to those that an earlier name has taken."""
    taken: dict[str, None] = {}
    last: dict[str, int] = {}  # the last number that was tried for each name, so that many equal names take no longer
    for name in names:
        k = last.get(name, 1)
        free = name if k == 1 else f"{name} ({k})"
        while free in taken:
            k += 1
            free = f"{name} ({k})"
        last[name] = k
        taken[free] = None
    return tuple(taken)
