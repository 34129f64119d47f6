"""Tables of items with text among the numbers: a column of classes, columns of categories, and empty cells.

Columns of numbers are features, and so are columns of text, whose cells are categories, or times if all of them are dates as in
2026-11-22 or times as in 2026-11-22 16:30 (ISO 8601). Empty cells are missing values.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._foundation.errors import InputError, warn
from .._foundation.optional_imports import optional
from ..data.schema import Feature, Schema
from .named_ids import as_key
from .numeric_tables import column_in, ids_in, looks_like_ids, numbers_in, warn_of_likely_id
from .table_files import read_table

_OFFSET = re.compile(r"(?:Z|[+-]\d{2}:?\d{2})$")
_TIME = re.compile(r"\d{4}-\d{2}-\d{2}(?:[ T]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?)?")
_MOST_CATEGORIES = 0.5  # text with more different values than this share of the rows is taken for names, not categories


@dataclass(frozen=True, eq=False)
class MixedTable:
    """Features of items, and the ids and classes of the rows.

    Parameters
    ----------
    path : str
        The file, for messages.
    features : DataFrame or None
        Numbers as float64, NaN where they are missing; categories as str, None where they are missing; times, NaT where they
        are missing. None if the features are not needed.
    categories : tuple of str
        The names of the columns of categories.
    ids : tuple
        The cells of the ``--id`` column as text, or row numbers.
    labels : ndarray of shape (n_items,), or (0,)
        Classes, as text; of length 0 if no column of classes was named.
    unused : tuple of str
        The columns that a model does not use.
    """

    path: str
    features: Any
    categories: tuple[str, ...]
    ids: tuple[Any, ...]
    labels: NDArray[Any]
    unused: tuple[str, ...] = ()


def read_mixed(path: str, label: str, id_column: str | None = None, *, missing: bool = False) -> MixedTable:
    """Items with their classes; all other columns of numbers, times or text are features.

    Parameters
    ----------
    path : str
    label : str
        Name of the column of classes.
    id_column : str or None
        Name of the column of ids.
    missing : bool
        Whether cells of features may be empty.

    Raises
    ------
    InputError
        If a class or an id is missing, no column is a feature, or a cell is infinite, or empty although it may not be.
    """
    kept = [label] if id_column is None else [label, id_column]
    if id_column == label:
        raise InputError(f"--id and --label both name the column {label!r}; the ids and the classes are two columns")
    frame = read_table(path, kept)
    labels = labels_of(frame, label, path)
    ids = _ids(frame, id_column, path)
    columns = {name: numbers_in(frame[name], name, path) for name in frame.columns if name not in kept}
    text = [name for name, numbers in columns.items() if numbers is None]
    as_written = read_table(path, text)
    times = {name: cells for name in text if (cells := _times(as_written[name])) is not None}
    text = [name for name in text if name not in times]
    features = {
        name: times[name] if name in times else _categories(as_written[name]) if numbers is None else numbers
        for name, numbers in columns.items()
    }
    for name in _unused_columns(features, text, frame):
        del features[name]
    if not features or not len(frame):
        raise InputError(
            f"{path} has {len(frame)} rows and {len(features)} columns of features; at least one of each is required"
        )
    _check_cells(features, path, missing)
    _warn_of_ids(features, path, id_column)
    table = optional("pandas").DataFrame(features)
    return MixedTable(path, table, tuple(name for name in text if name in features), ids, labels)


def read_categorical(
    path: str, categorical: Sequence[str], id_column: str | None = None, *, missing: bool = False
) -> MixedTable:
    """Items without classes, whose features are the columns of numbers, and the columns ``categorical``.

    Raises
    ------
    InputError
        If there is no such column, or an id is missing, or a cell is infinite, or empty unless ``missing``.
    """
    frame = read_table(path, [*categorical, *([] if id_column is None else [id_column])])
    if absent := [name for name in categorical if name not in frame.columns or name == id_column]:
        raise InputError(f"--categorical names {absent[0]!r}, which is no column of features of {path}; correct it")
    names = [name for name in frame.columns if name != id_column]
    columns = {name: _categories(frame[name]) if name in categorical else numbers_in(frame[name], name, path) for name in names}
    features = {name: cells for name, cells in columns.items() if cells is not None}
    if unused := [name for name in names if name not in features]:
        warn(f"columns of {path} that are not numeric are not used: {', '.join(unused)}; name categories by --categorical")
    _check_cells(features, path, missing)
    _warn_of_ids(features, path, id_column)
    table = optional("pandas").DataFrame(features)
    return MixedTable(path, table, tuple(categorical), _ids(frame, id_column, path), np.empty(0))


def labels_of(frame: Any, label: str, path: str) -> NDArray[Any]:
    """The classes as text, shape (n_rows,), from the column ``label`` of a table that was read with this column as text.

    Raises
    ------
    InputError
        If there is no such column, or a cell of it is empty.
    """
    cells = column_in(frame, label, path)
    labels = ["" if is_missing else as_key(cell) for cell, is_missing in zip(cells, cells.isna(), strict=True)]
    empty = [row for row, name in enumerate(labels) if not name]
    if empty:
        raise InputError(
            f"row {empty[0]} of {path} has no {label} ({len(empty)} such rows in all); a class is required on every row: fill "
            "it in or drop the row"
        )
    return np.array(labels, dtype=object)


def read_features_of(schema: Schema, path: str, id_column: str | None = None, label: str | None = None) -> MixedTable:
    """Items with the features of a model, which are columns of these names; other columns are ignored.

    Raises
    ------
    InputError
        If a feature has no column, or a column of text although it is numeric, or an empty cell although it may not.
    """
    text = [f.name for f in schema.features if f.kind == "categorical"]
    frame = read_table(path, [*text, *(name for name in (id_column, label) if name is not None)])
    absent = [name for name in schema.names if name not in frame.columns]
    if absent:
        raise InputError(
            f"{path} has no column {absent[0]!r} (of {len(schema.names)} that the model needs, {len(absent)} are missing); "
            "give a table with the features that the model was fitted on"
        )
    features = features_in(schema, frame, path)
    labels = np.empty(0) if label is None else labels_of(frame, label, path)
    unused = tuple(name for name in frame.columns if name not in (*schema.names, id_column, label))
    return MixedTable(path, features, tuple(text), _ids(frame, id_column, path), labels, unused)


def features_in(schema: Schema, frame: Any, path: str) -> Any:
    """The columns of a frame that are features, as the model has them: a frame of numbers and categories."""
    features = {f.name: _feature(frame[f.name], f, path) for f in schema.features}
    _check_cells(features, path, any(schema.missing))
    return optional("pandas").DataFrame(features)


def _ids(frame: Any, id_column: str | None, path: str) -> tuple[Any, ...]:
    """The cells of the column of ids, or row numbers."""
    return tuple(range(len(frame))) if id_column is None else tuple(ids_in(frame, id_column, path))


def _categories(column: Any) -> NDArray[Any]:
    """The cells of a column as text, None where they are empty."""
    cells = [
        None if is_missing or not str(cell).strip() else str(cell)
        for cell, is_missing in zip(column, column.isna(), strict=True)
    ]
    return np.array(cells, dtype=object)


def _feature(column: Any, feature: Feature, path: str) -> NDArray[Any]:
    """A column as the model has the feature: numbers, or the categories that are written like the cells."""
    if feature.kind == "categorical":
        category_of_text = {as_key(category): category for category in feature.categories}
        cells = _categories(column)
        return np.array([cell if cell is None else category_of_text.get(as_key(cell), cell) for cell in cells], dtype=object)
    values = _times(column) if feature.time else numbers_in(column, feature.name, path)
    if values is None:
        kind = "times, such as 2026-11-22 or 2026-11-22 16:30" if feature.time else "numbers"
        raise InputError(f"column {feature.name!r} of {path} is not of {kind}, as the model has it; correct its cells")
    return values


def _times(column: Any) -> Any:
    """The cells of a column as times, NaT where they are empty; None if they are none, or all are empty.

    Times with offsets from UTC are given in UTC.

    Raises
    ------
    InputError
        If some have an offset and others have none, so that they cannot be compared.
    """
    pandas = optional("pandas")
    if pandas.api.types.is_datetime64_any_dtype(column):
        return column.array
    cells = _categories(column)
    written = [cell for cell in cells if cell is not None]
    if not written or not all(map(_TIME.fullmatch, written)):
        return None
    offset = [_OFFSET.search(cell) is not None for cell in written]
    if any(offset) and not all(offset):
        raise InputError(
            f"column {column.name!r} has times with an offset from UTC, such as {written[offset.index(True)]}, and without, "
            f"such as {written[offset.index(False)]}; give an offset to all of them, or to none"
        )
    times = pandas.to_datetime(pandas.Series(cells, dtype=object), format="ISO8601", errors="coerce", utc=offset[0])
    return None if (times.isna() & ~pandas.isna(cells)).any() else times.array


def _unused_columns(features: dict[str, NDArray[Any]], text: Sequence[str], frame: Any) -> list[str]:
    """Names of the columns that can be no features, with warnings: dates, names of items, and columns without a value."""
    isna = optional("pandas").isna
    dates = [name for name in text if not _is_text(frame[name])]
    names = []
    for name in text:
        n_categories = len({*features[name]} - {None})
        if name not in dates and n_categories > max(_MOST_CATEGORIES * len(frame), 2):
            names.append(name)
    empty = [name for name, cells in features.items() if name not in dates and len(frame) and isna(cells).all()]
    if dates:
        warn(f"columns that are neither numbers nor text are not used: {', '.join(dates)}")
    if names:
        warn(f"columns with another text on most rows are no categories and are not used: {', '.join(names)}")
    if empty:
        warn(f"columns that are empty are not used: {', '.join(empty)}")
    return list(dict.fromkeys([*dates, *names, *empty]))


def _is_text(column: Any) -> bool:
    """Whether a column may hold text; dates have a type of their own."""
    pandas = optional("pandas")
    types = pandas.api.types
    is_categorical = isinstance(column.dtype, pandas.CategoricalDtype)
    return types.is_object_dtype(column) or types.is_string_dtype(column) or is_categorical


def _check_cells(features: dict[str, NDArray[Any]], path: str, missing: bool) -> None:
    """Refuse infinite numbers, and empty cells unless ``missing``."""
    isna = optional("pandas").isna
    for name, cells in features.items():
        empty = np.flatnonzero(isna(cells))
        if len(empty) and not missing:
            raise InputError(
                f"row {empty[0]} of {path} has no {name} ({len(empty)} such rows in all); fill them in, drop the rows, or "
                "learn with --missing level, which makes a missing value a level of its own"
            )
        if cells.dtype.kind == "f" and np.isinf(cells).any():
            row = int(np.argmax(np.isinf(cells)))
            raise InputError(f"row {row} of {path} has {name}={cells[row]}; finite numbers are required: correct it")


def _warn_of_ids(features: dict[str, NDArray[Any]], path: str, id_column: str | None) -> None:
    """Warn of the first column of numbers that looks like ids, unless a column of ids was named."""
    if id_column is not None:
        return
    likely = next((name for name, cells in features.items() if cells.dtype.kind == "f" and looks_like_ids(cells)), None)
    if likely is not None:
        warn_of_likely_id(likely, path)
