"""Frames of any library: those of pandas and polars as they are, all others as narwhals reads them."""

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from .errors import InputError

__all__ = ["numbered_rows", "read_table", "row_labels", "take_rows"]


def read_table(X: Any, *, name: str = "X") -> Any:
    """What a user gives as a table, if it is a frame, with names in ``columns``, a ``shape``, and columns ``[:, k]``.

    A frame of pandas or polars, and what is no frame, such as an array or a list, is returned as it is. A frame of another
    library, such as a table of pyarrow, is returned as one of narwhals.

    Raises
    ------
    InputError
        If it is a lazy frame, which has no rows yet.
    """
    if isinstance(X, np.ndarray | list | tuple) or hasattr(X, "iloc"):
        return X
    frame = nw.from_native(nw.to_native(X, pass_through=True), pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        raise InputError(
            f"{name} is a lazy frame ({type(X).__module__.split('.')[0]}), whose rows are not computed yet; a table is "
            f"required: give {name}.collect()"
        )
    if not isinstance(frame, nw.DataFrame):
        return X
    return frame.to_native() if frame.implementation.is_pandas() or frame.implementation.is_polars() else frame


def take_rows(X: Any, rows: Any) -> Any:
    """The rows with these numbers of an array, a frame, a sparse matrix or a list of rows, in a thing of the same kind."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if hasattr(X, "tocsr"):
        return X.tocsr()[rows]
    table = read_table(X)
    return nw.to_native(table[rows], pass_through=True) if hasattr(table, "shape") else np.asarray(table)[rows]


def numbered_rows(X: Any) -> Any:
    """A frame of pandas whose index is its row numbers, of which only the index is new; all else as it is."""
    return X.reset_index(drop=True) if hasattr(X, "iloc") else X


def row_labels(X: Any, n: int) -> Any:
    """What a frame of pandas calls its n rows, shape (n,); the row numbers of anything else."""
    return np.asarray(X.index) if hasattr(X, "iloc") else np.arange(n)
