"""What users give, as parts: arrays, mapped files, paths of .npy and Parquet files."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..._foundation.errors import InputError
from .row_parts import LazyRows, array_rows, parquet_rows
from .tuple_parts import TargetSpec, TuplePart, TupleTable, tuple_columns

__all__ = [
    "columns_needed",
    "is_parquet",
    "item_rows",
    "named_in",
    "names_of",
    "rows_of",
    "tuple_parts",
    "tuple_size",
    "tuples_of_rows",
    "width_of",
]


def is_parquet(source: Any) -> bool:
    """Whether ``source`` is a path, and not that of a .npy file."""
    return isinstance(source, (str, os.PathLike)) and Path(source).suffix != ".npy"


def tuple_size(n_features: int, limit: int, size: int = 2) -> int:
    """Tuples of ``size`` a part, so that what is made of them takes less than half of ``limit`` bytes.

    Vectors in up to four copies (as read, as float64, gathered, located), and what a tuple has besides.
    """
    return max(limit // 2 // (size * n_features * 36 + 160), 1)


def item_rows(X: Any, size: int, name: str = "X", *, even: bool = True) -> list[LazyRows]:
    """The rows of a table of items, in parts of at most ``size``: all alike, or (not ``even``) of ``size`` but for the last."""
    if is_parquet(X):
        return parquet_rows(X, size)
    rows = array_rows(X, size, name, even=even)
    if not rows:
        raise InputError(f"{name} has no rows; at least one is required")
    return rows


def tuple_parts(
    tuples: Any, y: Any, weight: Any, items: Any, spec: TargetSpec, *, limit: int
) -> tuple[list[TuplePart], TupleTable]:
    """Parts of at most ``limit`` bytes of work, and what they have in common.

    Parameters
    ----------
    tuples : ndarray, memmap, or path of a .npy or Parquet file or folder
    y, weight : arrays or paths of .npy files, or names of columns of a Parquet file, or None
    items : what row numbers are of, or None
    spec : TargetSpec
    limit : int
    """
    there = None if items is None else rows_of(items)
    if not is_parquet(tuples):
        array = np.load(tuples, mmap_mode="r") if isinstance(tuples, (str, os.PathLike)) else np.asanyarray(tuples)
        _check_shape(array, there, spec)
        names = names_of(items, there.view().shape[1] if there is not None else array.shape[2])
        rows = array_rows(array, tuple_size(len(names), limit, spec.kind.size), spec.called)
        return tuples_of_rows(rows, y, weight, spec.called), TupleTable(names, spec, there)
    names = names_of(items, there.view().shape[1]) if there is not None else _named(tuples, spec)
    told = [c for c in (y, weight) if isinstance(c, str) and not c.endswith(".npy")]
    columns = [*tuple_columns(spec.kind, names, by_row=there is not None), *told]
    rows = parquet_rows(tuples, tuple_size(len(names), limit, spec.kind.size), columns)
    return tuples_of_rows(rows, y, weight, spec.called), TupleTable(names, spec, there)


def tuples_of_rows(rows: Sequence[LazyRows], y: Any, weight: Any, called: str = "pairs") -> list[TuplePart]:
    """Parts of tuples with the same rows of what is said of them and of their weights; names of columns stay names."""
    counts = [len(r) for r in rows]
    parts = zip(rows, *(_beside(v, counts, name, called) for v, name in ((y, "y"), (weight, "sample_weight"))), strict=True)
    return [TuplePart(r.name, r, said, weights) for r, said, weights in parts]


def _beside(values: Any, counts: Sequence[int], name: str, called: str) -> list[Any]:
    """Rows of ``values``, one array for each count."""
    if values is None or (isinstance(values, str) and not values.endswith(".npy")):
        return [values] * len(counts)
    array = np.load(values, mmap_mode="r") if isinstance(values, (str, os.PathLike)) else np.asanyarray(values)
    if array.shape != (sum(counts),):
        raise InputError(f"{name} has shape {array.shape} for {sum(counts)} {called}; one entry a {called[:-1]} is required")
    ends = np.cumsum([0, *counts]).tolist()
    return [array_rows(array[a:b], b - a, name)[0] for a, b in zip(ends[:-1], ends[1:], strict=True)]


def rows_of(items: Any) -> LazyRows:
    """The items as one part."""
    array = np.load(items, mmap_mode="r") if isinstance(items, (str, os.PathLike)) else np.asanyarray(items)
    if array.ndim != 2 or not len(array) or array.dtype.kind not in "iufb":
        raise InputError(
            f"preprocessor has shape {array.shape} and dtype {array.dtype}; numbers of shape (n, n_features) are required"
        )
    return array_rows(array, len(array), "preprocessor")[0]


def names_of(items: Any, n: int) -> tuple[str, ...]:
    """Names of the features of items: columns of a frame, or x0, x1, ..."""
    columns = getattr(items, "columns", None)
    return tuple(f"x{k}" for k in range(n)) if columns is None else tuple(map(str, columns))


def named_in(columns: Sequence[str], spec: TargetSpec) -> tuple[str, ...]:
    """Names of the features in the columns of a table of tuples: those of its first members."""
    prefix = spec.kind.sides[0] + "."
    return tuple(c.removeprefix(prefix) for c in columns if c.startswith(prefix))


def columns_needed(spec: TargetSpec) -> str:
    """The columns of a table of tuples in words, for messages."""
    *first, last = spec.kind.sides
    by_point = f"{', '.join(f'{s}.NAME' for s in first)} and {last}.NAME of every feature"
    return f"{by_point} are required, or {', '.join(first)} and {last} with row numbers of the preprocessor="


def _named(path: Any, spec: TargetSpec) -> tuple[str, ...]:
    """Names of the features of a Parquet file of tuples."""
    columns = parquet_rows(path, 1)[0].columns  # type: ignore[attr-defined]
    names = named_in(columns, spec)
    if not names:
        raise InputError(f"{path} has the columns {', '.join(columns[:6])}; {columns_needed(spec)}")
    return names


def _check_shape(array: Any, there: LazyRows | None, spec: TargetSpec) -> None:
    called, size = spec.called, spec.kind.size
    if there is None and (array.ndim != 3 or array.shape[1] != size):
        raise InputError(
            f"{called} have shape {array.shape}; (n_{called}, {size}, n_features) is required, or row numbers and a "
            "preprocessor= with the items"
        )
    if there is not None and (array.ndim != 2 or array.shape[1] != size or array.dtype.kind not in "iu"):
        raise InputError(
            f"{called} have shape {array.shape} and dtype {array.dtype}; row numbers (n_{called}, {size}) are required"
        )
    if not len(array):
        raise InputError(f"there are 0 {called}; at least one is required")


def width_of(X: Any) -> int:
    """Columns of items."""
    if is_parquet(X):
        return len(item_rows(X, 1)[0].columns)  # type: ignore[attr-defined]
    array = np.load(X, mmap_mode="r") if isinstance(X, (str, os.PathLike)) else np.asanyarray(X)
    if array.ndim != 2:
        raise InputError(f"X has shape {array.shape}; items of shape (n, n_features) are required: reshape it")
    return int(array.shape[1])
