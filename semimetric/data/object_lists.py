"""Sequences of objects of any kind, such as strings, graphs or arrays of different lengths, which are never copied."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence, Set
from typing import Any, TypeAlias

import joblib
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._foundation.arrays import is_missing, refuse_sparse
from .._foundation.errors import InputError, TooFewError
from .._foundation.types import Integers
from .columns import cells_of, column_of, has_gaps, holds_numbers, holds_truth, numbers_of

Objects: TypeAlias = Sequence[Any]  # or whatever has a length and entries by number: the rows of an array, a Series of text

_ADVICE = "give a list of objects, such as strings or arrays"


def as_objects(X: Any, *, name: str = "X", min_objects: int = 1) -> Objects:
    """Return X as it is, if it is a sequence of objects; of a pandas Series its values, of which none is copied."""
    if hasattr(X, "iloc") and getattr(X, "ndim", 0) == 1:
        X = X.array  # a Series finds entries by label, its values by number
    whole = "a frame" if hasattr(X, "columns") else "a sparse matrix" if sparse.issparse(X) else None
    if whole is not None:
        raise InputError(f"{name} is {whole}, whose entries are no objects in a row; {_ADVICE}, or list(rows) of an array")
    if isinstance(X, (str, bytes)):
        raise InputError(f"{name} is one text of {len(X)} characters, which would be taken letter by letter; {_ADVICE}")
    numbered = hasattr(X, "__len__") and hasattr(X, "__getitem__") and getattr(X, "shape", None) != ()
    if isinstance(X, (Mapping, Set)) or not numbered:
        raise InputError(f"{name} is of type {type(X).__name__}, which has no entries by number; {_ADVICE}")
    if len(X) < min_objects:
        called = "object" if min_objects == 1 else "objects"
        raise TooFewError(f"{name} has {len(X)} objects; at least {min_objects} {called} are required")
    objects: Objects = X
    return objects


def listed_objects(X: Any, name: str = "X", *, minimum: int = 1) -> list[Any]:
    """Return a list of the objects, none copied: rows of an array or a frame, entries of any other sequence.

    Rows of a frame of numbers and truth values are numbers, NaN where one is missing; those of integers are integers. Those of
    another frame are objects, with truth values as such, and None where a cell is missing that is no number.
    """
    refuse_sparse(X, name)
    if hasattr(X, "columns") and hasattr(X, "to_numpy"):
        X = frame_rows(X)
    return list(as_objects(list(X) if isinstance(X, Iterator) else X, name=name, min_objects=minimum))


def frame_rows(frame: Any) -> NDArray[Any]:
    """Return the rows of a frame as `listed_objects` has them, shape (n_rows, n_columns): of numbers, or of objects."""
    columns = [column_of(frame, k) for k in range(frame.shape[1])]
    numeric = [holds_numbers(column) for column in columns]
    whole = (str(column.dtype).lower().startswith("int") and not has_gaps(column) for column in columns)
    if columns and all(numeric) and all(whole):
        return np.column_stack([np.asarray(column, dtype=np.int64) for column in columns])
    rows = np.empty(frame.shape, dtype=np.float64 if all(numeric) else object)
    for k, column in enumerate(columns):
        if numeric[k] and (all(numeric) or not holds_truth(column)):
            rows[:, k] = numbers_of(column, str(frame.columns[k]), "X")
        else:
            for row, cell in enumerate(cells_of(column)):  # one by one, as cells may be arrays
                rows[row, k] = None if not isinstance(cell, np.ndarray) and is_missing(cell) else cell
    return rows


def object_key(value: Any) -> Hashable:
    """Return a key that is equal for equal objects only: the object itself, or a hash of its content."""
    if _is_hashable(value):
        key: Hashable = value
        return key
    try:
        return ("hash", joblib.hash(value))
    except Exception as error:  # pickling runs code of the object, which may raise anything
        raise InputError(
            f"objects of type {type(value).__name__} can neither be hashed nor pickled, so that nothing can be remembered of "
            "them; leave cache= out"
        ) from error


def hold_out_objects(objects: Objects, fraction: float, random_state: int | None) -> tuple[Integers, Integers]:
    """Return sorted positions to learn from, and those held out, as `hold_out`; equal objects stay on one side."""
    number = object_numbers(objects)
    n = int(number.max()) + 1
    n_held = int(fraction * n)
    held = np.zeros(n, dtype=bool)
    held[np.random.default_rng(random_state).permutation(n)[: n_held if n_held >= 2 and n - n_held >= 2 else 0]] = True
    return np.flatnonzero(~held[number]), np.flatnonzero(held[number])


def object_numbers(objects: Objects) -> Integers:
    """Return the number of each object among the distinct ones, from 0 on in the order of their first positions."""
    numbers: dict[Hashable, int] = {}
    number = np.empty(len(objects), np.int64)
    for i in range(len(objects)):
        value = objects[i]
        try:
            key = object_key(value)
        except InputError:
            key = ("position", i)  # nothing says whether it is equal to another
        number[i] = numbers.setdefault(key, len(numbers))
    return number


def object_pairs(pairs: Any) -> tuple[list[Any], Integers]:
    """Return the objects of pairs, each once where that is seen, and the pairs as positions among them, shape (n_pairs, 2)."""
    given = as_objects(pairs, name="pairs")
    found: list[Any] = []
    places: dict[Hashable, int] = {}
    index = np.empty((len(given), 2), np.int64)
    for k in range(len(given)):
        pair = given[k]
        if isinstance(pair, (str, bytes, Mapping, Set)) or not hasattr(pair, "__len__") or len(pair) != 2:
            raise InputError(f"pairs[{k}] is of type {type(pair).__name__} and no pair; give a list of (one, other) objects")
        for side in (0, 1):
            value = pair[side]
            key = value if _is_hashable(value) else ("identity", id(value))  # nothing that `found` keeps shares it
            place = places.setdefault(key, len(found))
            if place == len(found):
                found.append(value)
            index[k, side] = place
    return found, index


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True
