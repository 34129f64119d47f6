"""Items and pairs in CSV or Parquet files, by extension; pandas comes with the extra ``cli``."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ._errors import InputError
from ._extras import optional
from ._types import Floats, Integers

__all__ = ["ItemTable", "read_items", "read_pairs", "read_table", "read_target", "write_table"]

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
        One a row: the ``--id`` column, or row numbers.
    named : bool
        Whether the ids come from a column.
    """

    path: str
    values: Floats
    names: tuple[str, ...]
    ids: tuple[Any, ...]
    named: bool

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
        row = self._rows.get(_as_key(name))
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


def read_table(path: str) -> Any:
    """A pandas frame from ``path``.

    Raises
    ------
    InputError
        If the extension is unknown, or the file cannot be read as what it says.
    """
    pandas, suffix = optional("pandas"), _suffix(path)
    if suffix in _PARQUET:
        optional("pyarrow")
    if not Path(path).is_file():
        raise InputError(f"there is no file {path}; check the path")
    try:
        frame = pandas.read_parquet(path) if suffix in _PARQUET else pandas.read_csv(path)
    except Exception as error:  # pandas and pyarrow raise many kinds; the user's file is named
        kind = "Parquet" if suffix in _PARQUET else "CSV"
        raise InputError(f"{path} cannot be read as {kind} ({_brief(error)}); check its content and extension") from error
    frame.columns = [str(column) for column in frame.columns]
    return frame


def read_items(path: str, id_column: str | None = None) -> ItemTable:
    """Items: rows of a table with numeric columns, named by ``id_column`` or by their numbers."""
    frame = read_table(path)
    ids: Sequence[Any] = range(len(frame))
    if id_column is not None:
        ids = _column(frame, id_column, path).tolist()
        frame = frame.drop(columns=id_column)
        repeated = next((name for name in ids if ids.count(name) > 1), None) if len(set(ids)) < len(ids) else None
        if repeated is not None:
            raise InputError(f"the id {repeated!r} is on more than one row of {path}; every item needs its own")
    numeric = frame.select_dtypes("number")
    if not numeric.shape[1] or not len(numeric):
        raise InputError(
            f"{path} has {len(frame)} rows and {numeric.shape[1]} numeric columns; items need at least one of each"
        )
    values = numeric.to_numpy(dtype=np.float64)
    _check_finite(values, list(numeric.columns), path)
    return ItemTable(path, values, tuple(numeric.columns), tuple(ids), id_column is not None)


def read_pairs(path: str, columns: tuple[str, str], left: ItemTable, right: ItemTable) -> tuple[Integers, Any]:
    """Rows of ``left`` and ``right`` that a table of pairs names, shape (n_pairs, 2), and the whole table."""
    frame = read_table(path)
    sides = zip(columns, (left, right), strict=True)
    rows = [[table.row(name) for name in _column(frame, column, path)] for column, table in sides]
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
    target = optional("pandas").to_numeric(_column(frame, column, path), errors="coerce").to_numpy(dtype=np.float64)
    bad = np.flatnonzero(~np.isfinite(target))
    if len(bad):
        given = frame[column].iloc[int(bad[0])]
        raise InputError(
            f"row {bad[0]} of {path} has {column}={given}; a finite number is required: correct it or drop the row"
        )
    return target


def write_table(frame: Any, path: str) -> None:
    """Write a pandas frame as CSV or Parquet, by extension."""
    if _suffix(path) in _PARQUET:
        optional("pyarrow")
        frame.to_parquet(path, index=False)
    else:
        frame.to_csv(path, index=False)


def _suffix(path: str) -> str:
    suffix = Path(path).suffix.lower()
    if suffix not in (".csv", *_PARQUET):
        raise InputError(f"{path} ends in {suffix or 'no extension'}; tables end in .csv, .parquet or .pq")
    return suffix


def _column(frame: Any, name: str, path: str) -> Any:
    if name not in frame.columns:
        columns = ", ".join(frame.columns[:10]) + (", ..." if len(frame.columns) > 10 else "")
        raise InputError(f"{path} has no column {name!r}; its columns are {columns}")
    return frame[name]


def _check_finite(values: Floats, names: list[str], path: str) -> None:
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        row, column = bad[0]
        raise InputError(
            f"row {row} of {path} has {names[column]}={values[row, column]} ({len(bad)} such values in all); finite "
            "numbers are required: fill them in or drop the rows"
        )


def _as_key(name: object) -> str:
    """'3' for 3.0: pandas reads whole numbers beside gaps as floats."""
    return str(int(name)) if isinstance(name, float) and name.is_integer() else str(name)


def _brief(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
