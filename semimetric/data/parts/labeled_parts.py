"""Labelled items in parts: they are read, checked and sampled before anything is learned; errors name the part."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._foundation.errors import InputError
from ..._foundation.types import Floats, Integers
from ..knots import sampled_rows
from .engine import Engine
from .readers import column_named, item_rows, names_of
from .row_parts import LazyRows, ParquetRows, open_array


@dataclass(frozen=True, eq=False)
class LabeledPart:
    """Some labelled items."""

    name: str  # what error messages call the part
    items: LazyRows | Any  # the items, or rows from which they are read
    n: int | None = None  # how many items these are; None where that is known only once they are read
    keep: NDArray[np.bool_] | None = None  # (n,) or None: which of the items have a weight > 0; None for all


@dataclass(frozen=True)
class LabeledTable:
    """Facts that all parts share."""

    names: tuple[str, ...]  # names of the features
    y: str | None = None  # names of the columns that hold classes and weights; None where these are given apart from the items
    weight: str | None = None


class ItemSample(NamedTuple):
    """Items that knots are placed among, and items picked by row number, both of shape (n, n_features)."""

    items: Floats
    picked: Floats


def labeled_parts(X: Any, y: Any, weight: Any, size: int) -> tuple[list[LabeledPart], LabeledTable]:
    """Return parts of at most ``size`` items of an array, mapped or not, of a .npy file, or of Parquet."""
    rows = item_rows(X, size)
    label_columns = [column_named(v) for v in (y, weight)]
    if isinstance(rows[0], ParquetRows):
        names = features_of(rows[0].columns, label_columns, "X")
    else:
        shape = np.shape(rows[0].view())
        if len(shape) != 2:
            raise InputError(f"X has rows of shape {shape[1:]}; items of shape (n, n_features) are required")
        named = next((name for name in label_columns if name is not None), None)
        if named is not None:
            raise InputError(
                f"{named!r} names a column, and X is read as an array, which has none; Parquet or a Dask frame is required: "
                "give the values instead"
            )
        names = names_of(X, shape[1])
    return [LabeledPart(r.name, r, len(r)) for r in rows], LabeledTable(names, *label_columns)


def loaded(values: Any) -> Any:
    """Return classes or weights as they are given, or the mapped array if that is the path of a .npy file."""
    is_path = isinstance(values, (str, os.PathLike)) and column_named(values) is None
    return open_array(values) if is_path else values


def features_of(columns: Sequence[str], label_columns: Sequence[str | None], name: str) -> tuple[str, ...]:
    """Return the columns that are features: all but those that hold classes or weights.

    ``name`` is what messages call the table.
    """
    missing = [c for c in label_columns if c is not None and c not in columns]
    if missing:
        raise InputError(f"{name} has the columns {', '.join(columns[:6])}, and none is called {missing[0]!r}; name another")
    return tuple(c for c in columns if c not in label_columns)


def read_items(part: LabeledPart, table: LabeledTable) -> Floats:
    """Return the items of a part that have a weight > 0, shape (n, n_features), float64."""
    frame = _frame(part)
    if hasattr(frame, "columns"):
        missing = [c for c in table.names if c not in frame.columns]
        if missing:
            raise InputError(f"{part.name}: it has no column {missing[0]!r}; all parts need the same: write it again")
        frame = frame[list(table.names)]
    values, n = np.asarray(frame), len(table.names)
    if values.ndim != 2 or values.shape[1] != n or values.dtype.kind not in "iufb":
        raise InputError(
            f"{part.name}: items have shape {values.shape} and dtype {values.dtype}; numbers of shape (n, {n}) are required: "
            "convert them, or leave columns out"
        )
    values = np.ascontiguousarray(values if part.keep is None else values[part.keep], dtype=np.float64)
    if not np.isfinite(values).all():
        row, feature = np.argwhere(~np.isfinite(values))[0].tolist()
        number = row if part.keep is None else int(np.flatnonzero(part.keep)[row])
        raise InputError(
            f"{part.name}: feature {table.names[feature]!r} of item {number} is {values[row, feature]}; finite numbers are "
            "required: fill them in, or drop those items"
        )
    return values


def _frame(part: LabeledPart) -> Any:
    """Return the rows of a part, as an array or a frame of at least one row."""
    frame = part.items.read() if isinstance(part.items, LazyRows) else part.items
    if not len(frame):
        raise InputError(f"{part.name} is empty; every part needs some items: leave it out, or repartition")
    return frame


class LabelColumns(NamedTuple):
    """Number of items of one part, and its classes and weights, of shape (n,), if it has such columns."""

    n: int
    y: NDArray[Any] | None = None
    weight: NDArray[Any] | None = None


def read_label_columns(part: LabeledPart, table: LabeledTable) -> LabelColumns:
    """Return the classes and weights in the columns of a part."""
    frame = _frame(part)
    y, weight = (None if name is None else _label_column(part, frame, name) for name in (table.y, table.weight))
    if weight is not None and not (weight.dtype.kind in "iufb" and np.isfinite(weight).all() and (weight >= 0).all()):
        raise InputError(
            f"{part.name}: the weights in {table.weight!r} have dtype {weight.dtype}; finite numbers >= 0 are required: "
            "correct them, or drop those items"
        )
    return LabelColumns(len(frame), y, weight)


def _label_column(part: LabeledPart, frame: Any, name: str) -> NDArray[Any]:
    if name not in getattr(frame, "columns", ()):
        raise InputError(f"{part.name}: it has no column {name!r}; name another, or add it")
    missing = np.flatnonzero(frame[name].isna())
    if len(missing):
        raise InputError(
            f"{part.name}: {name!r} of item {missing[0]} is missing; one for every item is required: fill it in, or drop those "
            "items"
        )
    return np.asarray(frame[name])


def check_same_kind(parts: Sequence[LabeledPart], columns: Sequence[LabelColumns]) -> None:
    """Refuse classes that are numbers in some parts and not in others."""
    types = [None if c.y is None else c.y.dtype for c in columns]
    for part, dtype in zip(parts, types, strict=True):
        if dtype is not None and types[0] is not None and (dtype.kind in "iufb") != (types[0].kind in "iufb"):
            raise InputError(
                f"{part.name}: classes have dtype {dtype}, those of {parts[0].name} {types[0]}; one type in all parts is "
                "required: convert them"
            )


def sample_items(
    engine: Engine,
    parts: Sequence[LabeledPart],
    table: LabeledTable,
    counts: Sequence[int],
    rows: Integers,
    random_state: int | None,
) -> ItemSample:
    """Read every part once, and take the items that are needed before learning.

    ``counts``: the number of items of each part. ``rows``: row numbers, among the items of all parts, of those to be picked.
    ``random_state``: the seed with which `Grid.fit` of all items would draw the sample that it places knots among.
    """
    sampled = sampled_rows(sum(counts), random_state)
    tasks = list(zip(parts, divided(sampled, counts), divided(rows, counts), strict=True))
    samples = list(engine.each(_sample_part, tasks, table))
    items = np.concatenate([s.sample for s in samples])
    if sampled is not None:
        low, high = np.min([s.low for s in samples], axis=0), np.max([s.high for s in samples], axis=0)
        items = np.vstack([items[np.argsort(np.argsort(sampled))], low, high])  # in the order of the draw
    return ItemSample(items, np.concatenate([s.picked for s in samples]))


def divided(rows: Integers | None, counts: Sequence[int]) -> Iterator[Integers | None]:
    """Return the row numbers that lie in each of parts of ``counts`` rows, numbered within the part; None for all rows."""
    start, order = 0, None if rows is None else np.sort(rows)
    for n in counts:
        yield None if order is None else order[np.searchsorted(order, start) : np.searchsorted(order, start + n)] - start
        start += n


class _PartItems(NamedTuple):
    """Sums of one part for an `ItemSample`: items of the sample, items picked, the least and largest value of each feature."""

    sample: Floats
    picked: Floats
    low: Floats
    high: Floats


def _sample_part(task: tuple[LabeledPart, Integers | None, Integers], table: LabeledTable) -> _PartItems:
    part, sampled, picked = task
    items = read_items(part, table)
    sample = items if sampled is None else items[sampled]
    return _PartItems(sample, items[picked], items.min(axis=0), items.max(axis=0))
