"""Tables of items, whose columns are features, ids and labels."""

from collections import Counter
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .._foundation.errors import InputError
from .keys import as_key, no_such_column

Frame: TypeAlias = Any  # a frame of pandas, which is not imported for its type


class SplitTable(NamedTuple):
    """The features of items as a frame of pandas, and the ids and labels of its rows."""

    frame: Frame  # features only
    ids: NDArray[Any]  # (n_items,): text of the column of ids, or row numbers
    labels: NDArray[Any] | None  # (n_items,): text of the column of labels
    name: str  # for messages, such as "flats.csv"

    @property
    def is_named(self) -> bool:
        """True if the ids come from a column."""
        return self.ids.dtype == object


def split_table(frame: Any, *, id: str | None = None, label: str | None = None, name: str = "X") -> SplitTable:
    """Split a frame of pandas into features, ids (row numbers without ``id``) and labels, by the names of their columns."""
    if id is not None and id == label:
        raise InputError(f"the ids and the labels of {name} are both the column {id!r}; two columns are required")
    ids = np.arange(len(frame)) if id is None else keys_of(frame, id, name)
    if id is not None and len(set(ids)) < len(ids):
        repeated = Counter(ids.tolist()).most_common(1)[0][0]
        raise InputError(f"the id {repeated!r} is on more than one row of {name}; every item needs its own")
    labels = None if label is None else keys_of(frame, label, name)
    return SplitTable(frame.drop(columns=[column for column in (id, label) if column is not None]), ids, labels, name)


def column_named(frame: Any, column: str, name: str) -> Any:
    """Return a column of a frame; if there is none, the error lists the columns."""
    if column not in frame.columns:
        raise no_such_column(name, column, list(frame.columns))
    return frame[column]


def keys_of(frame: Any, column: str, name: str) -> NDArray[Any]:
    """Return the cells of a column as text that is the same however a number is written; empty cells are refused."""
    cells = column_named(frame, column, name)
    empty = cells.isna().tolist()
    keys = ["" if is_empty else as_key(cell) for cell, is_empty in zip(cells, empty, strict=True)]
    missing = [row for row, key in enumerate(keys) if not key]
    if missing:
        raise InputError(
            f"row {missing[0]} of {name} has no {column} ({len(missing)} such rows in all), which every row needs: fill it in "
            "or drop the row"
        )
    return np.array(keys, dtype=object)
