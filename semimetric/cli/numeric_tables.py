"""Tables of items and of pairs: ids, columns of numbers, and measured distances."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._foundation.errors import InputError, warn
from .._foundation.optional_imports import optional
from .._foundation.types import Floats, Integers
from .named_ids import as_key, no_such_id
from .table_files import read_table
from .table_names import no_such_column


@dataclass(frozen=True, eq=False)
class NamedRows:
    """The ids of the rows of a table.

    Parameters
    ----------
    path : str
        The file, for messages.
    ids : tuple of str or int
        The cells of the ``--id`` column as text, or row numbers.
    named : bool
        Whether the ids come from a column.
    """

    path: str
    ids: tuple[Any, ...]
    named: bool

    @cached_property
    def _row_of_id(self) -> dict[str, int]:
        return {str(name): row for row, name in enumerate(self.ids)}

    def row(self, name: object) -> int:
        """The row number of the item whose id is ``name``.

        Raises
        ------
        InputError
            If there is no such item.
        """
        key = as_key(name)
        row = self._row_of_id.get(key if self.named or not key.isdecimal() else str(int(key)))
        if row is None:
            if self.named:
                raise no_such_id(key, self.path, self.ids)
            raise InputError(
                f"{name!r} is no row number (0 to {len(self.ids) - 1}) of {self.path}; correct it, or name the column of ids "
                "with --id"
            )
        return row


@dataclass(frozen=True, eq=False)
class ItemTable(NamedRows):
    """The numeric columns of a table of items, and the ids of its rows.

    Parameters
    ----------
    path, ids, named : as in `NamedRows`
    values : ndarray of shape (n_items, n_features)
    names : tuple of str
        Names of the features.
    unused : tuple of str
        Columns that are no features, since they hold text or dates.
    likely_id : str
        A column that looks like ids, if the ids come from no column; else empty.
    """

    values: Floats
    names: tuple[str, ...]
    unused: tuple[str, ...] = ()
    likely_id: str = ""

    def features(self, names: Sequence[str]) -> Floats:
        """The columns called ``names``, in that order, shape (n_items, len(names)).

        If x0, x1, ... are asked for and there are no such columns, they are the columns in the order of the table.

        Raises
        ------
        InputError
            If a column is missing.
        """
        missing = [name for name in names if name not in self.names]
        if not missing:
            return np.ascontiguousarray(self.values[:, [self.names.index(name) for name in names]])
        if list(names) == [f"x{k}" for k in range(len(self.names))]:
            return self.values
        raise InputError(
            f"{self.path} has no numeric column {missing[0]!r} (of {len(names)} that the model needs, {len(missing)} are "
            "missing); give a table with the features that the model was fitted on"
        )


def read_items(path: str, id_column: str | None = None) -> ItemTable:
    """The items in the rows of a table, whose ids are the cells of ``id_column`` or row numbers.

    Columns of numbers are features, and so are columns of true and false, as 1 and 0; others are `ItemTable.unused`.

    Raises
    ------
    InputError
        If an id is missing or repeated, a value is missing, a cell in a column that is mostly numbers is no number, or no
        column is of numbers.
    """
    frame = read_table(path, [] if id_column is None else [id_column])
    ids: Sequence[Any] = range(len(frame))
    if id_column is not None:
        ids = ids_in(frame, id_column, path)
        frame = frame.drop(columns=id_column)
        if len(set(ids)) < len(ids):
            repeated = next(name for name in ids if ids.count(name) > 1)
            raise InputError(f"the id {repeated!r} is on more than one row of {path}; every item needs its own")
    columns = [(name, numbers_in(frame[name], name, path)) for name in frame.columns]
    numeric = {name: numbers for name, numbers in columns if numbers is not None}
    if not numeric or not len(frame):
        raise InputError(f"{path} has {len(frame)} rows and {len(numeric)} numeric columns; items need at least one of each")
    values = np.column_stack(list(numeric.values()))
    _check_finite(values, list(numeric), path, None if id_column is None else ids)
    likely_id = ""
    if id_column is None:
        likely_id = next((name for name, numbers in numeric.items() if looks_like_ids(numbers)), "")
    return ItemTable(
        path=path,
        values=values,
        names=tuple(numeric),
        ids=tuple(ids),
        named=id_column is not None,
        unused=tuple(name for name, numbers in columns if numbers is None),
        likely_id=likely_id,
    )


def read_pairs(path: str, columns: tuple[str, str], left: NamedRows, right: NamedRows) -> tuple[Integers, Any]:
    """The rows of ``left`` and ``right`` that a table of pairs names, shape (n_pairs, 2), and the frame of the table."""
    frame = read_table(path, columns)
    rows = []
    for column, table in zip(columns, (left, right), strict=True):
        rows.append([table.row(name) for name in ids_in(frame, column, path)])
    if not len(frame):
        raise InputError(f"{path} has no rows; at least one pair is required")
    return np.array(rows, dtype=np.int64).T, frame


def read_target(frame: Any, column: str, path: str) -> Floats:
    """The column of measured distances as floats, shape (n_rows,).

    Raises
    ------
    InputError
        If there is no such column, or a cell is no finite number.
    """
    target = optional("pandas").to_numeric(column_in(frame, column, path), errors="coerce").to_numpy(dtype=np.float64)
    bad = np.flatnonzero(~np.isfinite(target))
    if len(bad):
        given = frame[column].iloc[int(bad[0])]
        raise InputError(
            f"row {bad[0]} of {path} has {column}={given}; a finite number is required: correct it or drop the row"
        )
    return target


def frame_of(values: Floats, names: Sequence[str]) -> Any:
    """A pandas frame of an array (n_rows, n_columns) and the names of its columns."""
    return optional("pandas").DataFrame(values, columns=list(names))


def column_in(frame: Any, name: str, path: str) -> Any:
    """The column of this name; if there is none, the error lists the columns of the frame."""
    if name not in frame.columns:
        raise no_such_column(path, name, list(frame.columns))
    return frame[name]


def ids_in(frame: Any, column: str, path: str) -> list[str]:
    """The cells of a column as ids, one a row; empty cells are refused."""
    cells = column_in(frame, column, path)
    ids = [as_key(cell) for cell in cells]
    missing = [row for row, (cell, key) in enumerate(zip(cells.isna(), ids, strict=True)) if cell or not key]
    if missing:
        raise InputError(
            f"row {missing[0]} of {path} has no {column} ({len(missing)} such rows in all); an id is required on every row: "
            "fill it in or drop the row"
        )
    return ids


def numbers_in(column: Any, name: str, path: str) -> Floats | None:
    """A column as floats, NaN where cells are empty; None if it is no column of numbers.

    Raises
    ------
    InputError
        If more than half of its cells are numbers written as text, but not all of them.
    """
    types = optional("pandas").api.types
    if types.is_numeric_dtype(column) or types.is_bool_dtype(column):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    if not (types.is_object_dtype(column) or types.is_string_dtype(column)):
        return None
    numbers = optional("pandas").to_numeric(column, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    filled = column.notna().to_numpy()
    wrong = np.flatnonzero(filled & np.isnan(numbers))
    if not len(wrong) and not any(isinstance(cell, str) for cell in column):
        return numbers
    n_numbers = int(filled.sum()) - len(wrong)
    if len(wrong) and 2 * n_numbers > filled.sum():
        raise InputError(
            f"row {wrong[0]} of {path} has {name}={column.iloc[int(wrong[0])]}, which is no number, but {n_numbers} cells of "
            "this column are; a column of numbers or one of text is required: correct the cell or drop the column"
        )
    return None


def warn_of_likely_id(name: str, path: str) -> None:
    """Warn that the column ``name``, which looks like ids, is used as a feature."""
    warn(
        f"column {name} of {path} has another whole number on every row and is used as a feature; if it names the items, "
        f"give --id {name}"
    )


def looks_like_ids(numbers: Floats) -> bool:
    """Whether a column has at least three cells and a different whole number in each."""
    return len(numbers) > 2 and bool((numbers % 1 == 0).all()) and len(np.unique(numbers)) == len(numbers)


def _check_finite(values: Floats, names: list[str], path: str, ids: Sequence[Any] | None) -> None:
    """Refuse values (n_rows, n_columns) with NaN or infinity; the message names the first."""
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        row, column = bad[0]
        item = "" if ids is None else f", the item {ids[row]!r},"
        raise InputError(
            f"row {row} of {path}{item} has {names[column]}={values[row, column]} ({len(bad)} such values in all); finite "
            "numbers are required: fill them in or drop the rows"
        )
