"""Labelled items in parts: read and checked under the name of their part, and surveyed before anything is learned."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._foundation.errors import InputError
from ..._foundation.types import Floats, Integers
from ..knots import sampled_rows
from .engine import Engine
from .readers import is_parquet, item_rows, names_of
from .row_parts import LazyRows
from .tuple_parts import divided

__all__ = [
    "ItemSurvey",
    "LabeledPart",
    "LabeledTable",
    "LabelColumns",
    "check_one_type",
    "column_named",
    "features_of",
    "labeled_parts",
    "loaded",
    "read_items",
    "read_label_columns",
    "survey_items",
]


@dataclass(frozen=True, eq=False)
class LabeledPart:
    """Some items: rows to be read, or what was read; how many (None: only reading tells); those that count (None: all)."""

    name: str
    items: Any
    n: int | None = None
    keep: NDArray[np.bool_] | None = None


@dataclass(frozen=True)
class LabeledTable:
    """Names of the features of all parts, and of the columns of tables that hold classes and weights, if they do."""

    names: tuple[str, ...]
    y: str | None = None
    weight: str | None = None


class ItemSurvey(NamedTuple):
    """Items that knots are placed among, and items that were asked for by row."""

    items: Floats
    picked: Floats


def labeled_parts(X: Any, y: Any, weight: Any, size: int) -> tuple[list[LabeledPart], LabeledTable]:
    """Parts of at most ``size`` items of an array, mapped or not, of a .npy file, or of Parquet."""
    rows = item_rows(X, size)
    said = [column_named(v) for v in (y, weight)]
    if is_parquet(X):
        columns: Sequence[str] = rows[0].columns  # type: ignore[attr-defined]
        names = features_of(columns, said, "X")
    else:
        shape = np.shape(rows[0].view())
        if len(shape) != 2:
            raise InputError(f"X has rows of shape {shape[1:]}; items of shape (n, n_features) are required")
        named = next((name for name in said if name is not None), None)
        if named is not None:
            raise InputError(
                f"{named!r} names a column, and X is read as an array, which has none; Parquet or a Dask frame is required: "
                "give the values instead"
            )
        names = names_of(X, shape[1])
    return [LabeledPart(r.name, r, len(r)) for r in rows], LabeledTable(names, *said)


def column_named(values: Any) -> str | None:
    """The name of a column, where that is what is given."""
    return values if isinstance(values, str) and not values.endswith(".npy") else None


def loaded(values: Any) -> Any:
    """Classes or weights: those of a .npy file, else as they are given."""
    if isinstance(values, os.PathLike) or (isinstance(values, str) and column_named(values) is None):
        return np.load(values, mmap_mode="r")
    return values


def features_of(columns: Sequence[str], said: Sequence[str | None], name: str) -> tuple[str, ...]:
    """The columns that are features: all that say nothing else."""
    missing = [c for c in said if c is not None and c not in columns]
    if missing:
        raise InputError(f"{name} has the columns {', '.join(columns[:6])}, and none is called {missing[0]!r}; name another")
    return tuple(c for c in columns if c not in said)


def read_items(part: LabeledPart, table: LabeledTable) -> Floats:
    """The items of a part that count.

    Raises
    ------
    InputError
        If they cannot be used; the message names the part.
    """
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
        row, feature = np.argwhere(~np.isfinite(values))[0]
        raise InputError(
            f"{part.name}: feature {table.names[feature]!r} of item {row} is {values[row, feature]}; finite numbers are "
            "required: fill them in, or drop those items"
        )
    return values


def _frame(part: LabeledPart) -> Any:
    frame = part.items.read() if isinstance(part.items, LazyRows) else part.items
    if not len(frame):
        raise InputError(f"{part.name} is empty; every part needs some items: leave it out, or repartition")
    return frame


class LabelColumns(NamedTuple):
    """Of one part: how many items it has, and what columns say of them."""

    n: int
    y: NDArray | None = None
    weight: NDArray | None = None


def read_label_columns(part: LabeledPart, table: LabeledTable) -> LabelColumns:
    """What a part says of its items.

    Raises
    ------
    InputError
        If columns do not say it of all; the message names the part.
    """
    frame = _frame(part)
    y, weight = (None if name is None else _told(part, frame, name) for name in (table.y, table.weight))
    if weight is not None and not (weight.dtype.kind in "iufb" and np.isfinite(weight).all() and (weight >= 0).all()):
        raise InputError(
            f"{part.name}: the weights in {table.weight!r} have dtype {weight.dtype}; finite numbers >= 0 are required: "
            "correct them, or drop those items"
        )
    return LabelColumns(len(frame), y, weight)


def _told(part: LabeledPart, frame: Any, name: str) -> NDArray:
    if name not in getattr(frame, "columns", ()):
        raise InputError(f"{part.name}: it has no column {name!r}; name another, or add it")
    missing = np.flatnonzero(frame[name].isna())
    if len(missing):
        raise InputError(
            f"{part.name}: {name!r} of item {missing[0]} is missing; one for every item is required: fill it in, or drop those "
            "items"
        )
    return np.asarray(frame[name])


def check_one_type(parts: Sequence[LabeledPart], said: Sequence[LabelColumns]) -> None:
    """Refuse classes that are numbers in some parts and not in others."""
    types = [None if s.y is None else s.y.dtype for s in said]
    for part, dtype in zip(parts, types, strict=True):
        if dtype is not None and types[0] is not None and (dtype.kind in "iufb") != (types[0].kind in "iufb"):
            raise InputError(
                f"{part.name}: classes have dtype {dtype}, those of {parts[0].name} {types[0]}; one type in all parts is "
                "required: convert them"
            )


def survey_items(
    engine: Engine,
    parts: Sequence[LabeledPart],
    table: LabeledTable,
    counts: Sequence[int],
    rows: Integers,
    random_state: int | None,
) -> ItemSurvey:
    """One pass over the parts, of ``counts`` items each: those that `Grid.fit` would use, and ``rows``, which increase."""
    wanted = sampled_rows(sum(counts), random_state)
    tasks = list(zip(parts, divided(wanted, counts), divided(rows, counts), strict=True))
    found = list(engine.each(_surveyed, tasks, table))
    items, picked = (np.concatenate([f[k] for f in found]) for k in (0, 1))
    if wanted is not None:
        low, high = (reach([f[k] for f in found], axis=0) for k, reach in ((2, np.min), (3, np.max)))
        items = np.vstack([items[np.argsort(np.argsort(wanted))], low, high])  # in the order of the draw
    return ItemSurvey(items, picked)


def _surveyed(
    task: tuple[LabeledPart, Integers | None, Integers], table: LabeledTable
) -> tuple[Floats, Floats, Floats, Floats]:
    part, wanted, rows = task
    items = read_items(part, table)
    return items if wanted is None else items[wanted], items[rows], items.min(axis=0), items.max(axis=0)
