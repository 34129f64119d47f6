"""Frames of any library: those of pandas and polars as they are, all others as narwhals reads them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from .errors import InputError

__all__ = ["check_numbers", "offer", "read_table", "take_rows"]

_FEW = 20  # different texts in a column may well be categories, and more if they repeat as often
_REPEATED = 10


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


def check_numbers(X: Any, name: str) -> None:
    """Refuse a frame that holds something that is no number, naming its first such column."""
    for column in getattr(X, "columns", ()):
        try:
            np.asarray(X[column]).astype(np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"column {column!r} of {name} is not of numbers ({error}); {offer(list(X[column]))}") from error


def offer(cells: Sequence[Any]) -> str:
    """What to do about a column that holds something else than numbers, by how many different texts it holds."""
    texts = [cell for cell in cells if isinstance(cell, str)]
    if texts and _is_time(texts[0]) and _is_time(texts[-1]):
        return "it reads like times: make its dtype datetime, as by pandas.to_datetime, and such columns are read"
    n = len(set(texts))
    if n > max(_FEW, len(texts) / _REPEATED):
        return (
            f"it holds {n} different texts in {len(texts)} rows, as names and free text do: drop it, or encode it in numbers, "
            "such as lengths or the vectors of a text embedding; if they are categories, name it in categorical_features="
        )
    return (
        f"it holds {n} different texts; if it holds categories, name it in categorical_features= where there is such a "
        "parameter, or make its dtype category; else drop it, or encode it in numbers"
    )


def _is_time(text: str) -> bool:
    """Whether a text is a date, or a time with a date, as ISO 8601 writes it with dashes."""
    try:
        return "-" in text and datetime.fromisoformat(text.strip()) is not None
    except ValueError:
        return False
