"""Tables of the command line with text among the numbers: classes, categories, and cells that are empty.

Columns of numbers are features, and so are columns of text, whose cells are categories as they are written. Empty cells are
missing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._foundation.errors import InputError, warn
from .._foundation.optional_imports import optional
from ..data.schema import Feature
from ..distances.semimetric import Semimetric
from .numeric_tables import as_key, column_in, ids_in, like_ids, numbers_in, read_table

__all__ = ["MixedTable", "labels_of", "read_features_of", "read_mixed"]

_TOLD_APART = 0.5  # of the rows have another text each: names, not categories


@dataclass(frozen=True, eq=False)
class MixedTable:
    """Features of items, and what the rows are called.

    Parameters
    ----------
    path : str
    features : DataFrame
        Numbers as float64, NaN where they are missing; categories as str, None where they are.
    categories : tuple of str
        The columns of categories.
    ids : tuple
        One a row: the ``--id`` column as text, or row numbers.
    labels : ndarray of shape (n_items,)
        Classes, as text; empty where no column of classes is known.
    """

    path: str
    features: Any
    categories: tuple[str, ...]
    ids: tuple[Any, ...]
    labels: NDArray[Any]


def read_mixed(path: str, label: str, id_column: str | None = None, *, missing: bool = False) -> MixedTable:
    """Items with their classes; every other column of numbers or text is a feature.

    Parameters
    ----------
    path : str
    label : str
        Column of the classes.
    id_column : str or None
    missing : bool
        Whether empty cells of features may be; else they are refused.

    Raises
    ------
    InputError
        If a class or an id is missing, no column is a feature, or an empty or infinite cell may not be.
    """
    kept = [label] if id_column is None else [label, id_column]
    if id_column == label:
        raise InputError(f"--id and --label both name the column {label!r}; the ids and the classes are two columns")
    frame = read_table(path, kept)
    labels, ids = labels_of(frame, label, path), _named(frame, id_column, path)
    columns = {name: numbers_in(frame[name], name, path) for name in frame.columns if name not in kept}
    text = [name for name, numbers in columns.items() if numbers is None]
    written = read_table(path, text)
    features = {name: _categories(written[name]) if n is None else n for name, n in columns.items()}
    for name in _unused(features, text, frame):
        del features[name]
    if not features or not len(frame):
        raise InputError(
            f"{path} has {len(frame)} rows and {len(features)} columns of features; at least one of each is required"
        )
    _check_cells(features, path, missing)
    _warn_of_ids(features, path, id_column)
    table = optional("pandas").DataFrame(features)
    return MixedTable(path, table, tuple(name for name in text if name in features), ids, labels)


def labels_of(frame: Any, label: str, path: str) -> NDArray[Any]:
    """The classes of a table that was read with this column as text.

    Raises
    ------
    InputError
        If there is no such column, or a cell of it is empty.
    """
    cells = column_in(frame, label, path)
    labels = ["" if gone else as_key(cell) for cell, gone in zip(cells, cells.isna(), strict=True)]
    empty = [row for row, name in enumerate(labels) if not name]
    if empty:
        raise InputError(
            f"row {empty[0]} of {path} has no {label} ({len(empty)} such rows in all); a class is required on every row: fill "
            "it in or drop the row"
        )
    return np.array(labels, dtype=object)


def read_features_of(d: Semimetric, path: str, id_column: str | None = None, label: str | None = None) -> MixedTable:
    """The features of a model from a table, by their names, as `Semimetric` takes them; an id where the table has the column.

    Raises
    ------
    InputError
        If a feature is missing, or is no number where one is required.
    """
    schema = d.schema
    text = [f.name for f in schema.features if f.kind == "categorical"]
    frame = read_table(path, [*text, *(name for name in (id_column, label) if name is not None)])
    absent = [name for name in schema.names if name not in frame.columns]
    if absent:
        raise InputError(
            f"{path} has no column {absent[0]!r} (of {len(schema.names)} that the model needs, {len(absent)} are missing); "
            "give a table with the features that the model was fitted on"
        )
    features = {f.name: _feature(frame[f.name], f, path) for f in schema.features}
    _check_cells(features, path, any(schema.missing))
    labels = np.empty(0) if label is None else labels_of(frame, label, path)
    table = optional("pandas").DataFrame(features)
    return MixedTable(path, table, tuple(text), _named(frame, id_column, path), labels)


def _named(frame: Any, id_column: str | None, path: str) -> tuple[Any, ...]:
    return tuple(range(len(frame))) if id_column is None else tuple(ids_in(frame, id_column, path))


def _categories(column: Any) -> NDArray[Any]:
    """Cells as text; None where they are empty."""
    cells = [None if gone or not str(cell).strip() else str(cell) for cell, gone in zip(column, column.isna(), strict=True)]
    return np.array(cells, dtype=object)


def _feature(column: Any, feature: Feature, path: str) -> NDArray[Any]:
    """A column as the feature has it: text stands for the category that is written so."""
    if feature.kind == "categorical":
        places = {as_key(category): category for category in feature.categories}
        cells = _categories(column)
        return np.array([cell if cell is None else places.get(as_key(cell), cell) for cell in cells], dtype=object)
    numbers = numbers_in(column, feature.name, path)
    if numbers is None:
        raise InputError(f"column {feature.name!r} of {path} is not of numbers, as the model has it; correct its cells")
    return numbers


def _unused(features: dict[str, NDArray[Any]], text: Sequence[str], frame: Any) -> list[str]:
    """Columns that are neither numbers nor categories, with a warning."""
    pandas = optional("pandas")
    types = pandas.api.types
    dates = [name for name in text if not (types.is_object_dtype(frame[name]) or types.is_string_dtype(frame[name])
             or isinstance(frame[name].dtype, pandas.CategoricalDtype))]  # fmt: skip
    names = [n for n in text if n not in dates and len({*features[n]} - {None}) > max(_TOLD_APART * len(frame), 2)]
    empty = [
        name for name, cells in features.items() if name not in dates and len(frame) and optional("pandas").isna(cells).all()
    ]
    if dates:
        warn(f"columns that are neither numbers nor text are not used: {', '.join(dates)}")
    if names:
        warn(f"columns with another text on most rows are no categories and are not used: {', '.join(names)}")
    if empty:
        warn(f"columns that are empty are not used: {', '.join(empty)}")
    return list(dict.fromkeys([*dates, *names, *empty]))


def _check_cells(features: dict[str, NDArray[Any]], path: str, missing: bool) -> None:
    isna = optional("pandas").isna
    for name, cells in features.items():
        gone = np.flatnonzero(isna(cells))
        if len(gone) and not missing:
            raise InputError(
                f"row {gone[0]} of {path} has no {name} ({len(gone)} such rows in all); fill them in, drop the rows, or learn "
                "with --missing level, which makes a missing value a level of its own"
            )
        endless = np.flatnonzero(np.isinf(cells)) if cells.dtype.kind == "f" else np.empty(0, dtype=np.int64)
        if len(endless):
            raise InputError(
                f"row {endless[0]} of {path} has {name}={cells[endless[0]]}; finite numbers are required: correct it"
            )


def _warn_of_ids(features: dict[str, NDArray[Any]], path: str, id_column: str | None) -> None:
    likely = next((name for name, cells in features.items() if cells.dtype.kind == "f" and like_ids(cells)), None)
    if id_column is None and likely:
        warn(
            f"column {likely} of {path} has another whole number on every row and is used as a feature; if it names the items, "
            f"give --id {likely}"
        )
