"""Rows by their keys: the values of one column or of several, of which rows with equal values make a group.

As in SQL, a missing value equals none: a row where a number, a text or a time is missing, or a text is "", is in no group.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..._foundation.types import Integers
from ...data.payload import PayloadColumn
from ...data.texts import DistinctTexts


@dataclass(frozen=True, eq=False)
class Keys:
    """The keys of queries: columns with a cell for each of them."""

    columns: tuple[PayloadColumn, ...]

    def __len__(self) -> int:
        return len(self.columns[0].cells)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)

    def take(self, rows: NDArray[Any] | slice) -> Keys:
        """Return the keys of these queries, given as numbers, as a mask or as a slice."""
        return Keys(tuple(replace(column, cells=column.cells[rows]) for column in self.columns))

    @classmethod
    def joined(cls, parts: Sequence[Keys]) -> Keys:
        """Return the keys of several lots of queries by the same columns, one lot after another."""
        return (
            parts[0]
            if len(parts) == 1
            else cls(tuple(map(PayloadColumn.joined, zip(*(p.columns for p in parts), strict=True))))
        )


@dataclass(frozen=True, eq=False)
class _Values:
    """The values of a column that differ: numbers, increasing, or numbers of texts."""

    values: NDArray[Any]
    texts: DistinctTexts | None

    @classmethod
    def of(cls, column: PayloadColumn, rows: NDArray[np.bool_]) -> tuple[Self, NDArray[np.bool_], Integers]:
        """Return the values of a column in some rows, a mask of those where none is missing, and its place in each of these."""
        there = rows & ~_missing(column)
        values, place = np.unique(column.cells[there], return_inverse=True)
        return cls(values, column.texts), there, place

    def find(self, column: PayloadColumn) -> Integers:
        """Return the place of every cell of another column of the same kind, -1 where it is missing or not here."""
        if not len(self.values):
            return np.full(len(column.cells), -1)
        cells = column.cells.astype(self.values.dtype)
        if self.texts is not None and column.texts is not None:
            cells = self.texts.numbers(column.texts)[column.cells]  # 0, which is not here, for other texts
        place = np.minimum(np.searchsorted(self.values, cells), len(self.values) - 1)
        return np.where((self.values[place] == cells) & ~_missing(column), place, -1)


def _missing(column: PayloadColumn) -> NDArray[np.bool_]:
    if column.texts is None:
        return np.isnan(column.cells)
    return (column.cells == 0) | column.texts.equal("")[column.cells]


@dataclass(frozen=True, eq=False)
class KeyGroups:
    """Rows of a segment by key: group g has the rows ``order[starts[g]:starts[g + 1]]``, which increase."""

    order: Integers  # (n_rows_with_a_key,)
    starts: Integers  # (n_groups + 1,)
    _values: tuple[_Values, ...]
    _pairs: tuple[Integers, ...]  # for each column the pairs of a group by those before it and of a value of it, as one number

    @classmethod
    def of(cls, columns: Sequence[PayloadColumn], alive: NDArray[np.bool_]) -> Self:
        """Group the rows that are alive by columns with a cell for each row."""
        group = np.where(alive, 0, -1)
        values: list[_Values] = []
        pairs: list[Integers] = []
        for column in columns:
            found, there, place = _Values.of(column, group >= 0)
            used = np.arange(len(found.values))
            if values:
                used, place = np.unique(group[there] * len(found.values) + place, return_inverse=True)
            group[:] = -1
            group[there] = place
            values.append(found)
            pairs.append(used)
        counts = np.bincount(group + 1, minlength=len(pairs[-1]) + 1)
        order = np.argsort(group, kind="stable")[counts[0] :]
        return cls(order, np.append(0, np.cumsum(counts[1:])), tuple(values), tuple(pairs))

    def find(self, keys: Keys) -> Integers:
        """Return the group of every query, (n_queries,); -1 where none has its key."""
        group = np.zeros(len(keys), np.int64)
        for column, values, pairs in zip(keys.columns, self._values, self._pairs, strict=True):
            place = values.find(column)
            if not len(pairs):
                return np.full(len(keys), -1)
            pair = group * len(values.values) + place
            at = np.minimum(np.searchsorted(pairs, pair), len(pairs) - 1)
            group = np.where((group >= 0) & (place >= 0) & (pairs[at] == pair), at, -1)
        return group

    def among(self, mask: NDArray[np.bool_] | None) -> KeyGroups:
        """Return the groups without the rows that a mask leaves out; None leaves out none."""
        if mask is None:
            return self
        kept = mask[self.order]
        return replace(self, order=self.order[kept], starts=np.append(0, np.cumsum(kept))[self.starts])

    def sizes(self, groups: Integers) -> Integers:
        """Return the numbers of rows of groups, of any shape; 0 of the group -1."""
        return np.where(groups < 0, 0, self.starts[groups + 1] - self.starts[groups])

    def rows(self, groups: Integers) -> Integers:
        """Return the rows of groups (B,) side by side, of which -1 ends those of each: shape (B, R)."""
        sizes = self.sizes(groups)
        column = np.arange(sizes.max(initial=0))
        there = column < sizes[:, None]
        out = np.full(there.shape, -1)
        out[there] = self.order[(self.starts[groups][:, None] + column)[there]]
        return out

    def rows_of(self, group: int) -> Integers:
        """Return the rows of one group; none of the group -1."""
        return self.order[:0] if group < 0 else self.order[self.starts[group] : self.starts[group + 1]]

    def arrays(self) -> Iterator[NDArray[Any]]:
        """Yield the arrays that are held."""
        yield from (self.order, self.starts, *self._pairs)
        yield from (values.values for values in self._values)
