"""Items and pairs in CSV or Parquet files, by extension; pandas comes with the extra ``cli``."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from .._foundation.errors import InputError
from .._foundation.optional_imports import optional
from .._foundation.types import Floats, Integers

__all__ = [
    "ItemTable", "as_key", "check_table_name", "column_in", "ids_in", "like_ids", "numbers_in", "read_items", "read_pairs",
    "read_table", "read_target", "write_table",
]  # fmt: skip

_PARQUET = (".parquet", ".pq")


@dataclass(frozen=True, eq=False)
class ItemTable:
    """Numeric columns of a table of items, and what its rows are called.

    Parameters
    ----------
    path : str
        Where it came from, for messages.
    values : ndarray of shape (n_items, n_features)
    names : tuple of str
        Of the features.
    ids : tuple of str or int
        One a row: the ``--id`` column as text, or row numbers.
    named : bool
        Whether the ids come from a column.
    unused : tuple of str
        Columns that are no features: text, dates.
    likely_id : str
        A column that looks like ids, if they come from none.
    """

    path: str
    values: Floats
    names: tuple[str, ...]
    ids: tuple[Any, ...]
    named: bool
    unused: tuple[str, ...] = ()
    likely_id: str = ""

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {str(name): row for row, name in enumerate(self.ids)}

    def row(self, name: object) -> int:
        """Row of the item called ``name``.

        Raises
        ------
        InputError
            If there is no such item.
        """
        key = as_key(name)
        row = self._rows.get(key if self.named or not key.isdecimal() else str(int(key)))
        if row is None:
            kind = "id" if self.named else f"row number (0 to {len(self.ids) - 1})"
            hint = "correct it" if self.named else "correct it, or name the column of ids with --id"
            raise InputError(f"{name!r} is no {kind} of {self.path}; {hint}")
        return row

    def features(self, names: Sequence[str]) -> Floats:
        """The columns called ``names``, in that order; x0, x1, ... also name columns by their place.

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


def read_table(path: str, text: Sequence[str] = ()) -> Any:
    """A pandas frame from ``path``; the columns ``text`` of a CSV file come as they are written there.

    Raises
    ------
    InputError
        If the extension is unknown, or the file cannot be read as what it says.
    """
    optional("pandas")
    suffix = check_table_name(path)
    if suffix in _PARQUET:
        optional("pyarrow")
    if not Path(path).is_file():
        raise InputError(f"there is no file {path}; check the path")
    try:
        frame = _read_parquet(path) if suffix in _PARQUET else _read_csv(path, text)
    except InputError:
        raise
    except Exception as error:  # pandas and pyarrow raise many kinds; the user's file is named
        kind = "Parquet" if suffix in _PARQUET else "CSV"
        raise InputError(f"{path} cannot be read as {kind} ({_brief(error)}); check its content and extension") from error
    frame.columns = [str(column) for column in frame.columns]
    _check_columns(list(frame.columns), path)
    return frame


def _check_columns(names: list[str], path: str) -> None:
    if len(names) == 1 and (mark := next((m for m in ";\t|" if m in names[0]), None)):
        raise InputError(f"{path} has one column, {names[0]!r}: it seems to be separated by {mark!r}; separate it by commas")
    repeated = next((name for name, count in Counter(names).items() if count > 1), None)
    if repeated is not None:
        raise InputError(f"{path} has more than one column {repeated!r}; every column needs its own name: rename them")


def _read_parquet(path: str) -> Any:
    """A frame; an index that has a name is a column."""
    frame = optional("pandas").read_parquet(path)
    return frame.reset_index() if any(name is not None for name in frame.index.names) else frame


def _read_csv(path: str, text: Sequence[str]) -> Any:
    """A frame whose columns ``text`` keep leading zeros, and words such as NA."""
    pandas = optional("pandas")
    header = pandas.read_csv(path, header=None, nrows=1, dtype=str, keep_default_na=False)
    _check_columns([name for name in header.iloc[0] if name], path)
    frame = pandas.read_csv(path)
    if wanted := [name for name in dict.fromkeys(text) if name in frame.columns]:
        written = pandas.read_csv(path, usecols=wanted, dtype=str, keep_default_na=False)
        for name in wanted:
            frame[name] = written[name].to_numpy(dtype=object)
    return frame


def read_items(path: str, id_column: str | None = None) -> ItemTable:
    """Items: rows of a table, named by ``id_column`` or by their numbers.

    Columns of numbers, and of true and false (1 and 0), are features; others are `ItemTable.unused`.

    Raises
    ------
    InputError
        If an id is missing or repeated, a value is missing, a cell of a column that is mostly numbers is none, or there is
        no column of numbers.
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
    values, unused = np.column_stack(list(numeric.values())), tuple(name for name, n in columns if n is None)
    _check_finite(values, list(numeric), path, None if id_column is None else ids)
    likely = "" if id_column is not None else next((name for name, n in numeric.items() if like_ids(n)), "")
    return ItemTable(path, values, tuple(numeric), tuple(ids), id_column is not None, unused, likely)


def read_pairs(path: str, columns: tuple[str, str], left: ItemTable, right: ItemTable) -> tuple[Integers, Any]:
    """Rows of ``left`` and ``right`` that a table of pairs names, shape (n_pairs, 2), and the whole table."""
    frame = read_table(path, columns)
    sides = zip(columns, (left, right), strict=True)
    rows = [[table.row(name) for name in ids_in(frame, column, path)] for column, table in sides]
    if not len(frame):
        raise InputError(f"{path} has no rows; at least one pair is required")
    return np.array(rows, dtype=np.int64).T, frame


def read_target(frame: Any, column: str, path: str) -> Floats:
    """The column of measured distances.

    Raises
    ------
    InputError
        If it is missing, or holds something that is no finite number.
    """
    target = optional("pandas").to_numeric(column_in(frame, column, path), errors="coerce").to_numpy(dtype=np.float64)
    bad = np.flatnonzero(~np.isfinite(target))
    if len(bad):
        given = frame[column].iloc[int(bad[0])]
        raise InputError(
            f"row {bad[0]} of {path} has {column}={given}; a finite number is required: correct it or drop the row"
        )
    return target


def write_table(frame: Any, path: str) -> None:
    """Write a pandas frame as CSV or Parquet, by extension."""
    if check_table_name(path) in _PARQUET:
        optional("pyarrow")
        frame.to_parquet(path, index=False)
    else:
        frame.to_csv(path, index=False)


def check_table_name(path: str) -> str:
    """The extension of a table's name, or an error that says which are known."""
    suffix = Path(path).suffix.lower()
    if suffix not in (".csv", *_PARQUET):
        raise InputError(f"{path} ends in {suffix or 'no extension'}; tables end in .csv, .parquet or .pq")
    return suffix


def column_in(frame: Any, name: str, path: str) -> Any:
    """The column, or an error that lists those that there are."""
    if name not in frame.columns:
        columns = ", ".join(frame.columns[:10]) + (", ..." if len(frame.columns) > 10 else "")
        raise InputError(f"{path} has no column {name!r}; its columns are {columns}")
    return frame[name]


def ids_in(frame: Any, column: str, path: str) -> list[str]:
    """What the cells of a column call items."""
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
    """A column as floats; None if it is no column of numbers.

    Raises
    ------
    InputError
        If more than half of its cells are numbers written as text, and some are none.
    """
    types = optional("pandas").api.types
    if types.is_numeric_dtype(column) or types.is_bool_dtype(column):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    if not (types.is_object_dtype(column) or types.is_string_dtype(column)):
        return None
    numbers = optional("pandas").to_numeric(column, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    given, text = column.notna().to_numpy(), np.array([isinstance(cell, str) for cell in column], dtype=bool)
    wrong = np.flatnonzero(given & np.isnan(numbers))
    if not len(wrong) and not text.any():
        return numbers
    n = int(given.sum()) - len(wrong)
    if len(wrong) and 2 * n > given.sum():
        raise InputError(
            f"row {wrong[0]} of {path} has {name}={column.iloc[int(wrong[0])]}, which is no number, but {n} cells of this "
            "column are; a column of numbers or one of text is required: correct the cell or drop the column"
        )
    return None


def like_ids(numbers: Floats) -> bool:
    """Whether a column holds another whole number on every row."""
    return len(numbers) > 2 and bool((numbers % 1 == 0).all()) and len(np.unique(numbers)) == len(numbers)


def _check_finite(values: Floats, names: list[str], path: str, ids: Sequence[Any] | None) -> None:
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        row, column = bad[0]
        item = "" if ids is None else f", the item {ids[row]!r},"
        raise InputError(
            f"row {row} of {path}{item} has {names[column]}={values[row, column]} ({len(bad)} such values in all); finite "
            "numbers are required: fill them in or drop the rows"
        )


def as_key(name: object) -> str:
    """An id as text: 3, 3.0 and "3.0" are '3', but "03" is itself."""
    return re.sub(r"^([+-]?\d+)\.0*$", r"\1", str(name).strip())


def _brief(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
