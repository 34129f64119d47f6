"""Items that tuples name instead of holding their points: by row number, by label, or by what a function makes of a name.

    preprocessor            tuples of shape (n_tuples, size), or items of shape (n_items,), hold
    array, frame            row numbers from 0 to n_items - 1
    pandas frame            the labels of its index, if they are no integers
    function                whatever ``preprocessor(names)`` takes: it returns a table with one row for each of the names

Integers are row numbers, always: a frame whose index holds other integers, as after a shuffle, is asked for its rows in the
order that they have now, and learning from it warns of that.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._foundation.errors import InputError, warn
from .._foundation.input_arrays import input_errors, n_axes
from .._foundation.near_names import did_you_mean
from .._foundation.tables import take_rows
from .._foundation.types import ArrayLike, Integers

__all__ = ["item_rows", "items_named", "warn_of_integer_index"]

_MOST_SHOWN = 3  # labels in a message


def item_rows(tuples: ArrayLike, preprocessor: Any, name: str) -> tuple[ArrayLike, Any]:
    """The tuples as row numbers, and the items that they number; the tuples as they are and None if they hold points.

    Parameters
    ----------
    tuples : array-like of shape (n_tuples, size) or (n_tuples, size, n_features)
    preprocessor : array-like, frame, callable or None
    name : str
        What messages call the tuples.

    Raises
    ------
    InputError
        If a label is not in the index, the index has it twice, or the function fails or returns another number of rows.
    """
    if preprocessor is None or n_axes(tuples) == 3:
        return tuples, None
    if callable(preprocessor):
        return _made_by(preprocessor, tuples, name)
    labels = getattr(preprocessor, "index", None) if hasattr(preprocessor, "iloc") else None
    if labels is None:
        return tuples, preprocessor
    with input_errors():
        names = np.asanyarray(tuples)
    if not _are_labels(names, labels):
        return tuples, preprocessor
    return _rows_of(names, labels, name), preprocessor


def items_named(X: Any, preprocessor: Any) -> Any:
    """The table whose rows a one-dimensional X names, of the kind of the preprocessor; X itself if it is a table."""
    if preprocessor is None or hasattr(X, "columns") or n_axes(X) != 1:
        return X
    rows, items = item_rows(np.asanyarray(X)[:, None], preprocessor, "item")
    rows = np.asarray(rows).ravel()
    if rows.dtype.kind not in "iu":
        raise InputError(
            f"X has shape {rows.shape} and dtype {rows.dtype}; with preprocessor= it must hold row numbers or labels of its "
            "index, or be a table of shape (n_items, n_features)"
        )
    n = items.shape[0] if hasattr(items, "shape") else len(items)
    if rows.size and (rows.min() < 0 or rows.max() >= n):
        bad = rows[(rows < 0) | (rows >= n)][0]
        raise InputError(f"X has the row number {bad}, but there are {n} items; give numbers from 0 to {n - 1}")
    return take_rows(items, rows)


def warn_of_integer_index(tuples: ArrayLike, preprocessor: Any) -> None:
    """Warn if integers could be meant as labels of a frame whose index holds integers other than its row numbers."""
    labels = getattr(preprocessor, "index", None) if hasattr(preprocessor, "iloc") else None
    if labels is None or n_axes(tuples) == 3 or getattr(labels.dtype, "kind", "O") not in "iu":
        return
    if not np.array_equal(labels, np.arange(len(labels))):
        warn(
            "the items are given as row numbers, in the order of the preprocessor, whose index holds other integers; if "
            "its labels are meant, give preprocessor.index.get_indexer(labels), else preprocessor.reset_index(drop=True)"
        )


def _are_labels(names: NDArray[Any], labels: Any) -> bool:
    """Whether names are looked up in an index: such as are no numbers, in an index that holds no numbers either."""
    if names.dtype.kind == "O" and all(isinstance(name, (int, np.integer)) for name in names.flat):
        return False
    return names.dtype.kind not in "iuf" and getattr(labels.dtype, "kind", "O") not in "iuf"


def _rows_of(names: NDArray[Any], labels: Any, name: str) -> Integers:
    """The row numbers of labels, of the same shape; an error names those that are missing or not unique."""
    if not labels.is_unique:
        twice = labels[labels.duplicated()][0]
        raise InputError(f"the index of the preprocessor has {twice!r} twice; unique labels are required to name items by them")
    rows = labels.get_indexer(names.ravel()).reshape(names.shape)
    if (rows < 0).any():
        unknown = list(dict.fromkeys(names[rows < 0].tolist()))
        shown = ", ".join(map(repr, unknown[:_MOST_SHOWN])) + (", ..." if len(unknown) > _MOST_SHOWN else "")
        raise InputError(
            f"{name}s name {shown}, which {'is' if len(unknown) == 1 else 'are'} not in the index of the preprocessor "
            f"({len(unknown)} in all); give labels of its index, such as "
            f"{', '.join(map(repr, labels[:_MOST_SHOWN].tolist()))}, or row numbers{did_you_mean(unknown[0], labels)}"
        )
    return rows.astype(np.int64)


def _made_by(function: Callable[[Any], Any], tuples: ArrayLike, name: str) -> tuple[Integers, Any]:
    """The row numbers and the table that a function makes of the distinct names, each of which it is given once."""
    with input_errors():
        names, rows = np.unique(np.asarray(tuples), return_inverse=True)
    try:
        items = function(names)
    except Exception as error:  # a user's function may raise anything
        raise InputError(
            f"the preprocessor failed on the {len(names)} names of the {name}s ({type(error).__name__}: {error}); a table with "
            "one row for each name is required: correct it"
        ) from error
    table = items if hasattr(items, "shape") else np.asarray(items)
    if len(table.shape) != 2 or table.shape[0] != len(names):
        raise InputError(
            f"the preprocessor returned shape {table.shape} for {len(names)} names; (n_names, n_features) is required, one row "
            "for each name"
        )
    return rows.reshape(np.shape(tuples)).astype(np.int64), table
