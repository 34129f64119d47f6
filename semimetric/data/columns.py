"""Columns of tables as numbers, or as codes of categories.

Frames are those of pandas and polars, which are asked for what they can do and not imported.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from .._foundation.errors import InputError
from .._foundation.types import Floats

__all__ = ["Category", "as_table", "categories_of", "cells_of", "codes_of", "column_of", "is_categorical", "numbers_of"]

Category: TypeAlias = str | bool | int | float
_DTYPES = ("category", "categorical", "enum")  # pandas; polars
_TIMES = ("date", "time", "duration")


def is_categorical(column: Any) -> bool:
    """Whether the dtype of a column says that it holds categories."""
    return str(column.dtype).lower().split("(")[0] in _DTYPES


def as_table(X: Any) -> Any:
    """A frame or an array as it is, anything else as an array that keeps numbers beside text."""
    if hasattr(X, "columns") or isinstance(X, np.ndarray):
        return X
    return np.asarray(X) if hasattr(X, "__array__") else np.asarray(X, dtype=object)


def column_of(X: Any, k: int) -> Any:
    """Column k of a frame or array."""
    return X.iloc[:, k] if hasattr(X, "iloc") else X[:, k]


def cells_of(column: Any) -> Sequence[Any]:
    """The cells of a column as objects."""
    if hasattr(column, "to_list"):
        return column.to_list()
    return column.tolist()


def is_missing(cell: Any) -> bool:
    """NaN, None, NaT, or NA of pandas, which is equal to nothing and has no truth."""
    return cell is None or type(cell).__name__ == "NAType" or bool(cell != cell)


def numbers_of(column: Any, title: str, source: str) -> Floats:
    """A column as float64, NaN where a value is missing.

    Raises
    ------
    InputError
        If a cell is no number, naming the column and saying how to declare categories.
    """
    if str(getattr(column, "dtype", "")).lower().startswith(_TIMES):
        raise InputError(
            f"column {title!r} of {source} holds times ({column.dtype}); numbers are required: turn them into such, as days, "
            "or the hour with periodic={...: 24}"
        )
    try:
        return np.array(column, dtype=np.float64)
    except (TypeError, ValueError):
        cells = [np.nan if is_missing(cell) else cell for cell in cells_of(column)]
    try:
        return np.array(cells, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"column {title!r} of {source} is not of numbers ({error}); if it holds categories, name it in "
            "categorical_features= of the learner, or make its dtype category; else drop it, or encode it in numbers"
        ) from error


def codes_of(cells: Sequence[Any], categories: Sequence[Category], source: str) -> Floats:
    """Places of cells among the categories: K for one that is none of them, NaN for a missing one."""
    place: dict[Any, float] = {category: float(k) for k, category in enumerate(categories)}
    try:
        codes = [place.get(cell, -1.0) for cell in cells]
    except TypeError as error:
        raise InputError(f"{source} holds values that are no categories ({error}); text or numbers are required") from error
    out = np.array(codes)
    for row in np.flatnonzero(out < 0).tolist():
        out[row] = np.nan if is_missing(cells[row]) else len(categories)
    return out


def categories_of(column: Any, source: str) -> tuple[Category, ...]:
    """Those that the dtype lists, in its order, or those that occur, sorted.

    Raises
    ------
    InputError
        If there are none, or one is neither text nor a truth value nor a finite number.
    """
    listed = getattr(getattr(column, "dtype", None), "categories", None)
    ordered = listed is not None and not str(column.dtype).startswith("Categorical")  # polars lists those of all frames
    if ordered:
        found = list(cells_of(listed))
    else:
        try:
            found = list({cell: None for cell in cells_of(column) if not is_missing(cell)})
        except TypeError as error:
            raise InputError(f"column {source} holds values that are no categories ({error}); give text or numbers") from error
    values = [c.item() if isinstance(c, np.generic) else c for c in found]
    wrong = [c for c in values if not isinstance(c, str) and not (isinstance(c, (bool, int, float)) and np.isfinite(c))]
    if wrong:
        raise InputError(
            f"column {source} has the category {wrong[0]!r} of type {type(wrong[0]).__name__}; text, truth values or finite "
            "numbers are required: convert the column, as by astype(str)"
        )
    if not values:
        raise InputError(f"column {source} holds nothing but missing values, so it has no categories; drop it")
    return tuple(values if ordered else sorted(values, key=lambda c: (isinstance(c, str), c)))
