"""Items that are opaque: a sequence of any objects, which are handed on as they are and never turned into arrays."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

import numpy as np

from .._foundation.errors import InputError
from .._foundation.sparse_tables import refuse_sparse

__all__ = ["listed_objects", "shown"]

_LONGEST = 60  # characters of an object in a message


def listed_objects(X: Any, name: str = "X", *, minimum: int = 1) -> list[Any]:
    """The objects of a sequence as a list: the rows of an array or a frame, the entries of anything else, uncopied.

    Raises
    ------
    InputError
        If it is a text, has no order, cannot be gone through, or has too few objects.
    """
    if isinstance(X, (str, bytes, Mapping, Set)):
        raise InputError(f"{name} is a {type(X).__name__}; a list of objects is required: give [x, y, ...] in a fixed order")
    refuse_sparse(X, name)
    if hasattr(X, "columns") and hasattr(X, "to_numpy"):
        X = X.to_numpy()
    if isinstance(X, np.ndarray) and X.ndim == 0:
        raise InputError(f"{name} is one number; a list of objects is required: give [x, y, ...]")
    try:
        found = list(X)
    except TypeError as error:
        raise InputError(f"{name} is a {type(X).__name__}; a list of objects is required: give [x, y, ...]") from error
    if len(found) < minimum:
        raise InputError(f"{name} has {len(found)} objects; at least {minimum} required: give more")
    return found


def shown(item: Any) -> str:
    """An object in a few words, for a message."""
    text = " ".join(repr(item).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
