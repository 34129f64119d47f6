"""What users give, as parts: arrays, mapped files, paths of .npy and Parquet files."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ._errors import InputError
from .blocks import Rows, array_rows, parquet_rows
from .pair_blocks import PairPart, PairTable

__all__ = ["is_parquet", "item_rows", "names_of", "pair_parts", "pair_size", "pairs_of_rows", "rows_of"]


def is_parquet(source: Any) -> bool:
    """Whether ``source`` is a path, and not that of a .npy file."""
    return isinstance(source, (str, os.PathLike)) and Path(source).suffix != ".npy"


def pair_size(n_features: int, limit: int) -> int:
    """Pairs a part, so that what is made of them takes less than half of ``limit`` bytes.

    Two vectors in up to four copies (as read, as float64, gathered, located), and what a pair has besides.
    """
    return max(limit // 2 // (2 * n_features * 36 + 160), 1)


def item_rows(X: Any, size: int, name: str = "X", *, even: bool = True) -> list[Rows]:
    """The rows of a table of items, in parts of at most ``size``: all alike, or (not ``even``) of ``size`` but for the last."""
    if is_parquet(X):
        return parquet_rows(X, size)
    rows = array_rows(X, size, name, even=even)
    if not rows:
        raise InputError(f"{name} has no rows; at least one is required")
    return rows


def pair_parts(pairs: Any, y: Any, weight: Any, items: Any, least: float, *, limit: int) -> tuple[list[PairPart], PairTable]:
    """Parts of at most ``limit`` bytes of work, and what they have in common.

    Parameters
    ----------
    pairs : ndarray, memmap, or path of a .npy or Parquet file or folder
    y, weight : arrays or paths of .npy files, or names of columns of a Parquet file; no weights are None
    items : what row numbers are of, or None
    least : float
        The smallest distance allowed.
    limit : int
    """
    there = None if items is None else rows_of(items)
    if not is_parquet(pairs):
        array = np.load(pairs, mmap_mode="r") if isinstance(pairs, (str, os.PathLike)) else np.asanyarray(pairs)
        _check_shape(array, there)
        names = names_of(items, there.view().shape[1] if there is not None else array.shape[2])
        rows = array_rows(array, pair_size(len(names), limit), "pairs")
        return pairs_of_rows(rows, y, weight), PairTable(names, least, there)
    names = names_of(items, there.view().shape[1]) if there is not None else _sides(pairs)
    wanted = ["left", "right"] if there is not None else [f"{side}.{n}" for side in ("left", "right") for n in names]
    told = [c for c in (y, weight) if isinstance(c, str)]
    rows = parquet_rows(pairs, pair_size(len(names), limit), [*wanted, *told])
    return pairs_of_rows(rows, y, weight), PairTable(names, least, there)


def pairs_of_rows(rows: Sequence[Rows], y: Any, weight: Any) -> list[PairPart]:
    """Parts of pairs with the same rows of their distances and weights; names of columns stay names."""
    counts = [len(r) for r in rows]
    parts = zip(rows, _beside(y, counts, "y"), _beside(weight, counts, "sample_weight"), strict=True)
    return [PairPart(r.name, r, target, weights) for r, target, weights in parts]


def _beside(values: Any, counts: Sequence[int], name: str) -> list[Any]:
    """Rows of ``values``, one array for each count."""
    if values is None or (isinstance(values, str) and not values.endswith(".npy")):
        return [values] * len(counts)
    array = np.load(values, mmap_mode="r") if isinstance(values, (str, os.PathLike)) else np.asanyarray(values)
    if array.shape != (sum(counts),):
        raise InputError(f"{name} has shape {array.shape} for {sum(counts)} pairs; one number a pair is required")
    ends = np.cumsum([0, *counts]).tolist()
    return [array_rows(array[a:b], b - a, name)[0] for a, b in zip(ends[:-1], ends[1:], strict=True)]


def rows_of(items: Any) -> Rows:
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


def _sides(path: Any) -> tuple[str, ...]:
    """Names of the features of a Parquet file of pairs: its columns left.NAME."""
    columns = parquet_rows(path, 1)[0].columns  # type: ignore[attr-defined]
    names = tuple(c.removeprefix("left.") for c in columns if c.startswith("left."))
    if not names:
        raise InputError(
            f"{path} has the columns {', '.join(columns[:6])}; left.NAME and right.NAME of every feature are required, or left "
            "and right with row numbers of the preprocessor="
        )
    return names


def _check_shape(array: Any, there: Rows | None) -> None:
    if there is None and (array.ndim != 3 or array.shape[1] != 2):
        raise InputError(
            f"pairs have shape {array.shape}; (n_pairs, 2, n_features) is required, or row numbers and a preprocessor= with "
            "the items"
        )
    if there is not None and (array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iu"):
        raise InputError(f"pairs have shape {array.shape} and dtype {array.dtype}; row numbers (n_pairs, 2) are required")
    if not len(array):
        raise InputError("there are 0 pairs; at least one is required")
