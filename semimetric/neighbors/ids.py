"""Ids of items, and which of them a query may answer."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._foundation.errors import InputError
from .._foundation.near_names import did_you_mean
from .._foundation.types import ArrayLike
from .item_columns import ItemColumns, items_that_fulfil

__all__ = ["check_ids", "check_known", "ids_to_remove", "known_ids", "masks_of", "new_ids", "next_ids"]


def next_ids(old_ids: NDArray[Any], n: int) -> NDArray[Any]:
    """The n integers after the largest of the ids that are in the index."""
    if old_ids.dtype.kind != "i":
        raise InputError("this index has strings as ids; give ids= for the new items too")
    return int(old_ids.max(initial=-1)) + 1 + np.arange(n)


def new_ids(ids: ArrayLike | None, n: int, old_ids: NDArray[Any]) -> NDArray[Any]:
    """Ids for n new items, of the kind of ``old_ids`` and none of them; None numbers on."""
    given = check_ids(next_ids(old_ids, n) if ids is None else ids, n, old_ids.dtype.kind)
    if np.isin(given, old_ids).any():
        raise InputError(f"id {given[np.isin(given, old_ids)][0]} is in the index already; remove it first, or give another")
    return given


def ids_to_remove(ids: ArrayLike, old_ids: NDArray[Any]) -> NDArray[Any]:
    """Distinct ids, increasing, all of which are among ``old_ids``."""
    removed = np.unique(check_ids(ids, None, old_ids.dtype.kind, unique=False))
    check_known(removed, old_ids, "; nothing was removed")
    return removed


def check_known(wanted: NDArray[Any], ids: NDArray[Any], then: str = "") -> None:
    """Refuse ids that are not among those of an index; ``then`` says what follows from it."""
    if missing := np.setdiff1d(wanted, ids).tolist():
        near = did_you_mean(missing[0], ids.tolist())
        raise InputError(f"id {missing[0]!r} is not in the index{then}: drop it from ids{near}")


def known_ids(ids: ArrayLike, old_ids: NDArray[Any]) -> NDArray[Any]:
    """Ids, or one id, in the order given, all of which are among ``old_ids``: shape (n,)."""
    given = check_ids(ids, None, old_ids.dtype.kind, unique=False)
    check_known(given, old_ids)
    return given


def masks_of(where: ArrayLike | Iterable | None, columns: ItemColumns) -> list[NDArray[np.bool_] | None]:
    """Masks over the rows of each segment, from a condition on columns, a mask over the items that are alive, or ids.

    None keeps all items.
    """
    segments = columns.segments
    if where is None:
        return [None] * len(segments)
    if isinstance(where, str):
        where = items_that_fulfil(where, columns)
    if not isinstance(where, Iterable) and not hasattr(where, "__array__"):
        raise InputError(f"where is {where!r}; a condition as text, a mask or a list of ids is required: where=[{where!r}]")
    given = np.asarray(where if hasattr(where, "__array__") else list(where))
    if given.dtype.kind != "b":
        wanted = check_ids(given, None, segments[0].ids.dtype.kind, unique=False)
        return [np.isin(s.ids, wanted) for s in segments]
    alive = [s.n_alive for s in segments]
    if given.shape != (sum(alive),):
        raise InputError(f"where is a mask of shape {given.shape} for {sum(alive)} items; give one value for each of ids_")
    masks: list[NDArray[np.bool_] | None] = []
    for s, of_segment in zip(segments, np.split(given, np.cumsum(alive)[:-1]), strict=True):
        mask = s.alive.copy()
        mask[s.alive] = of_segment
        masks.append(mask)
    return masks


def check_ids(ids: ArrayLike | Iterable, n: int | None, kind: str | None = None, *, unique: bool = True) -> NDArray[Any]:
    """Ids as int64 or as strings, shape (n,) where n is given; of ``kind`` "i" or "U", and distinct, where that is asked."""
    given = np.asarray(list(ids) if isinstance(ids, (set, frozenset)) else ids).ravel()
    if given.dtype.kind == "O" and all(isinstance(value, str) for value in given):
        given = given.astype(str)
    if not given.size:
        given = given.astype(np.int64 if kind in (None, "i") else str)
    if given.dtype.kind == "u" and given.max(initial=0) <= np.iinfo(np.int64).max:
        given = given.astype(np.int64)
    if given.dtype.kind not in "iU":
        raise InputError(f"ids are {given.dtype}; 64-bit integers or strings are required")
    if kind is not None and given.dtype.kind != kind:
        raise InputError(f"ids are {given.dtype}, those of the index {'integers' if kind == 'i' else 'strings'}; give the same")
    given = given.astype(np.int64) if given.dtype.kind == "i" else given
    if n is not None and len(given) != n:
        raise InputError(f"there are {len(given)} ids for {n} rows; give one for each")
    if unique and len(np.unique(given)) < len(given):
        values, counts = np.unique(given, return_counts=True)
        raise InputError(f"id {values[counts > 1][0]} is given twice; ids must be distinct")
    return given
