"""The arrays, mapped files, and paths of .npy and Parquet files that users give, divided into parts."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..._foundation.errors import InputError
from ..._foundation.validation import check_some
from .row_parts import LazyRows, array_rows, open_numbers, parquet_rows
from .tuples import TargetSpec, TuplePart, TupleTable, tuple_columns


def is_parquet(source: Any) -> bool:
    """Return True if ``source`` is the path of a Parquet file or folder: it does not end in .npy."""
    return isinstance(source, (str, os.PathLike)) and Path(source).suffix != ".npy"


def tuple_size(n_features: int, limit: int, size: int = 2) -> int:
    """Return the number of tuples of ``size`` items in a part, so that the work on it takes less than half of ``limit`` bytes.

    That counts up to four copies of the vectors: as read, as float64, side by side, and located on the grid. The numbers that
    every tuple has besides are counted too.
    """
    return max(limit // 2 // (size * n_features * 36 + 160), 1)


def item_rows(X: Any, size: int, *, even: bool = True) -> Sequence[LazyRows]:
    """Return the rows of a table of items in parts of at most ``size`` rows, where row groups of Parquet are not larger.

    Parts of an array have almost the same length if ``even``; else all of them but the last have ``size`` rows.
    """
    if is_parquet(X):
        return parquet_rows(X, size)
    rows = array_rows(_open_items(X), size, "X", even=even)
    if not rows:
        raise InputError("X has no rows; at least one is required")
    return rows


def tuple_parts(
    tuples: Any, y: Any, weight: Any, items: Any, spec: TargetSpec, *, limit: int
) -> tuple[list[TuplePart], TupleTable]:
    """Return parts of tuples, the work on each of which takes at most ``limit`` bytes, and what all parts have in common.

    ``items``: the items, of shape (n_items, n_features), if tuples are row numbers.
    """
    item_table = None if items is None else rows_of(items)
    rows: Sequence[LazyRows]
    if not is_parquet(tuples):
        array = open_numbers(tuples, spec.called)
        _check_shape(array, spec, by_row=item_table is not None)
        names = names_of(items, array.shape[2] if item_table is None else item_table.view().shape[1])
        rows = array_rows(array, tuple_size(len(names), limit, spec.kind.size), spec.called)
    else:
        names = _feature_names(tuples, spec) if item_table is None else names_of(items, item_table.view().shape[1])
        label_columns = [name for name in map(column_named, (y, weight)) if name is not None]
        columns = [*tuple_columns(spec.kind, names, by_row=item_table is not None), *label_columns]
        rows = parquet_rows(tuples, tuple_size(len(names), limit, spec.kind.size), columns)
    return tuples_of_rows(rows, y, weight, spec.called), TupleTable(names, spec, item_table)


def column_named(values: Any) -> str | None:
    """Return the name of a column, if targets, classes or weights are given by one; None for arrays and paths of .npy files."""
    return values if isinstance(values, str) and not values.endswith(".npy") else None


def tuples_of_rows(rows: Sequence[LazyRows], y: Any, weight: Any, called: str) -> list[TuplePart]:
    """Return parts of tuples, each with the same rows of the targets and of the weights; names of columns stay names."""
    counts = [len(r) for r in rows]
    targets = _divided_values(y, counts, "y", called)
    weights = _divided_values(weight, counts, "sample_weight", called)
    return [TuplePart(r.name, r, t, w) for r, t, w in zip(rows, targets, weights, strict=True)]


def _divided_values(values: Any, counts: Sequence[int], name: str, called: str) -> list[Any]:
    """Return entries of ``values`` for each part: `LazyRows` of the lengths ``counts``, or None, or the name of a column."""
    if values is None or column_named(values) is not None:
        return [values] * len(counts)
    array = open_numbers(values, name)
    if array.shape != (sum(counts),):
        raise InputError(f"{name} has shape {array.shape} for {sum(counts)} {called}; one entry a {called[:-1]} is required")
    ends = np.cumsum([0, *counts]).tolist()
    return [array_rows(array[a:b], b - a, name)[0] for a, b in zip(ends[:-1], ends[1:], strict=True)]


def rows_of(items: Any) -> LazyRows:
    """Return all items that row numbers stand for, as one part of shape (n_items, n_features)."""
    array = open_numbers(items, "preprocessor")
    if array.ndim != 2 or not len(array) or array.dtype.kind not in "iufb":
        raise InputError(
            f"preprocessor has shape {array.shape} and dtype {array.dtype}; numbers of shape (n, n_features) are required"
        )
    return array_rows(array, len(array), "preprocessor")[0]


def names_of(items: Any, n: int) -> tuple[str, ...]:
    """Return names of the n features of items: the columns of a frame, else x0, x1, ..."""
    columns = getattr(items, "columns", None)
    return tuple(f"x{k}" for k in range(n)) if columns is None else tuple(map(str, columns))


def named_in(columns: Sequence[str], spec: TargetSpec) -> tuple[str, ...]:
    """Return names of the features in a table of tuples, from the columns of the first member of each tuple."""
    prefix = spec.kind.sides[0] + "."
    return tuple(c.removeprefix(prefix) for c in columns if c.startswith(prefix))


def columns_needed(spec: TargetSpec) -> str:
    """Return the columns that a table of tuples needs, as words of an error message."""
    *first, last = spec.kind.sides
    by_point = f"{', '.join(f'{s}.NAME' for s in first)} and {last}.NAME of every feature"
    return f"{by_point} are required, or {', '.join(first)} and {last} with row numbers of the preprocessor="


def _feature_names(path: Any, spec: TargetSpec) -> tuple[str, ...]:
    columns = parquet_rows(path, 1)[0].columns
    names = named_in(columns, spec)
    if not names:
        raise InputError(f"{path} has the columns {', '.join(columns[:6])}; {columns_needed(spec)}")
    return names


def _check_shape(array: Any, spec: TargetSpec, *, by_row: bool) -> None:
    called, size = spec.called, spec.kind.size
    if not by_row and (array.ndim != 3 or array.shape[1] != size or not array.shape[2]):
        raise InputError(
            f"{called} have shape {array.shape}; (n_{called}, {size}, n_features) is required, or row numbers and a "
            "preprocessor= with the items"
        )
    if by_row and (array.ndim != 2 or array.shape[1] != size or array.dtype.kind not in "iu"):
        raise InputError(
            f"{called} have shape {array.shape} and dtype {array.dtype}; row numbers (n_{called}, {size}) are required"
        )
    check_some(len(array), called)


def width_of(X: Any) -> int:
    """Return the number of columns of a table of items, which is not read."""
    if is_parquet(X):
        return len(parquet_rows(X, 1)[0].columns)
    return int(_open_items(X).shape[1])


def _open_items(X: Any) -> Any:
    """Return a table of items as an array, mapped if it is; it is not read."""
    array = open_numbers(X, "X")
    if array.ndim != 2:
        raise InputError(f"X has shape {array.shape}; items of shape (n, n_features) are required: reshape it")
    return array
