"""The columns of the items of an index, and which items fulfil a condition on them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._foundation.errors import InputError
from ..data.conditions import Cells, read_condition
from ..data.moments import TimeCells
from ..data.schema import Schema
from ..data.times import SCALE
from .segment import Segment

__all__ = ["ItemColumns", "items_that_fulfil"]


@dataclass(frozen=True, eq=False)
class ItemColumns(Mapping[str, Cells]):
    """The features of the items that have not been removed, by name: an array of numbers or of text for each, or times.

    A category that is text is "" where it is missing or was not in the fit; a number is then NaN. Where some categories of a
    feature are text, all are.

    Parameters
    ----------
    names : sequence of str
    schema : Schema
    segments : sequence of Segment
    """

    names: Sequence[str]
    schema: Schema
    segments: Sequence[Segment]

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __getitem__(self, name: str) -> Cells:
        k = self.names.index(name)
        feature = self.schema.features[k]
        cells = np.concatenate([s.points.raw[s.alive, k] for s in self.segments])
        if feature.time == SCALE:
            return TimeCells(cells.astype(np.float64), feature.zone)
        if feature.kind != "categorical":
            return cells
        values = feature.decode(cells)
        if any(isinstance(category, str) for category in feature.categories):
            return np.array(["" if value is None else str(value) for value in values], dtype=object)
        return values.astype(np.float64)


def items_that_fulfil(condition: str, columns: ItemColumns) -> NDArray[np.bool_]:
    """Which of the items that have not been removed fulfil a condition, shape (n_items,).

    Raises
    ------
    InputError
        If the text is no condition, as where it is meant as an id, or does not go with the columns.
    """
    try:
        read = read_condition(condition)
    except InputError as error:
        raise InputError(f"where is {condition!r}: {error}; ids are given as a list, where=[{condition!r}]") from error
    return read.holds(columns)
