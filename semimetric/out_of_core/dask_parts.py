"""Chunks of Dask arrays and partitions of Dask frames as parts: what `semimetric.distributed` reads its data as."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._foundation.errors import InputError
from ..data.parts.labeled_parts import LabeledPart, LabeledTable, features_of, loaded
from ..data.parts.readers import column_named, columns_needed, item_rows, named_in, names_of, rows_of
from ..data.parts.row_parts import parse_memory
from ..data.parts.tuple_parts import TargetSpec, TuplePart, TupleTable, tuple_columns
from ..neighbors.sharded.shard_building import ItemPart

__all__ = ["computed", "dask_items", "dask_tuples", "is_dask", "item_parts"]


def item_parts(X: Any, block_size: str | int) -> list[ItemPart]:
    """Items in parts: chunks of a Dask array, partitions of a Dask frame, or slices of what is no Dask collection."""
    if not is_dask(X):
        size = max(parse_memory(block_size) // 20_000, 1)
        return [ItemPart(r.name, (r,), 0, len(r)) for r in item_rows(X, size, even=False)]
    return _dask_item_parts(X)


def _dask_item_parts(X: Any) -> list[ItemPart]:
    """Chunks of a Dask array of shape (n, n_features), or partitions of a Dask frame, of unknown lengths."""
    if hasattr(X, "columns"):
        chunks, counts = list(X.to_delayed()), [np.nan] * X.npartitions
    else:
        if X.ndim != 2:
            raise InputError(f"X has shape {X.shape}; (n, n_features) is required")
        chunks, counts = _chunks_of(X), list(_lengths(X, "X"))
    return [ItemPart(f"partition {k} of X", (c,), 0, n) for k, (c, n) in enumerate(zip(chunks, counts, strict=True))]


def is_dask(value: Any) -> bool:
    """Whether a value is a Dask array, frame or series."""
    return hasattr(value, "__dask_graph__")


def computed(values: Any) -> Any:
    """A Dask collection as an array or a frame in memory; other values as they are."""
    return values.compute() if is_dask(values) else values


def dask_items(X: Any, y: Any, weight: Any) -> tuple[list[LabeledPart], LabeledTable]:
    """Chunks of a Dask array, or partitions of a Dask frame, of labelled items as parts."""
    label_columns = [column_named(values) for values in (y, weight)]
    if hasattr(X, "columns"):
        names = features_of(list(map(str, X.columns)), label_columns, "X")
    else:
        names = tuple(f"x{k}" for k in range(X.shape[1])) if X.ndim == 2 else ()  # _dask_item_parts refuses others
    parts = [LabeledPart(p.name, p.pieces[0], None if np.isnan(p.n) else int(p.n)) for p in _dask_item_parts(X)]
    return parts, LabeledTable(names, *label_columns)


def dask_tuples(tuples: Any, y: Any, weight: Any, items: Any, spec: TargetSpec) -> tuple[list[TuplePart], TupleTable]:
    """Chunks of a Dask array, or partitions of a Dask frame, of tuples as parts; ``items`` is what row numbers are of."""
    called, size = spec.called, spec.kind.size
    item_table = None if items is None else rows_of(items)
    by_row = item_table is not None
    if hasattr(tuples, "columns"):
        columns = list(map(str, tuples.columns))
        names = named_in(columns, spec) if item_table is None else names_of(items, item_table.view().shape[1])
        _check_columns(columns, tuple_columns(spec.kind, names, by_row=by_row), spec)
        chunks, counts = list(tuples.to_delayed()), None
    else:
        if tuples.ndim != (2 if by_row else 3) or tuples.shape[1] != size:
            raise InputError(
                f"{called} have shape {tuples.shape}; (n_{called}, {size}, n_features), or row numbers (n_{called}, {size}) "
                "with preprocessor=, are required"
            )
        names = names_of(items, tuples.shape[2] if item_table is None else item_table.view().shape[1])
        counts = _lengths(tuples, called)
        chunks = _chunks_of(tuples)
    targets = _divided_values(y, counts, len(chunks), "y", called)
    weights = _divided_values(weight, counts, len(chunks), "sample_weight", called)
    members = enumerate(zip(chunks, targets, weights, strict=True))
    return [TuplePart(f"partition {k} of {called}", *given) for k, given in members], TupleTable(names, spec, item_table)


def _chunks_of(array: Any) -> list[Any]:
    """The delayed chunks of an array, one for each chunk of its rows, with all columns together."""
    by_rows = array.rechunk(dict.fromkeys(range(1, array.ndim), -1))
    return list(by_rows.to_delayed().ravel())


def _lengths(array: Any, name: str) -> tuple[int, ...]:
    """The number of rows of each chunk, which must be known and above 0; ``name`` is what messages call the array."""
    counts = array.chunks[0]
    if np.isnan(counts).any():
        raise InputError(
            f"chunk {int(np.argmax(np.isnan(counts)))} of {name} has an unknown size; call compute_chunk_sizes() first"
        )
    if 0 in counts:
        raise InputError(f"partition {counts.index(0)} of {name} is empty; every part needs some rows: rechunk it")
    return tuple(counts)


def _divided_values(values: Any, counts: Sequence[int] | None, n: int, name: str, called: str) -> list[Any]:
    """The targets or weights of each of n parts: a chunk, a slice, or the name of a column; None where there are none."""
    values = loaded(values)
    if values is None or isinstance(values, str):
        return [values] * n
    if is_dask(values) and not hasattr(values, "chunks"):  # a series; lengths are compared where it is read
        if values.npartitions != n:
            raise InputError(
                f"{name} has {values.npartitions} partitions, the {called} have {n}; repartition one like the other"
            )
        return list(values.to_delayed())
    if counts is None:
        raise InputError(f"{name} is an array beside a frame of unknown lengths; give the name of a column, or a series")
    if values.shape != (sum(counts),):
        raise InputError(f"{name} has shape {values.shape} for {sum(counts)} {called}; one entry a {called[:-1]} is required")
    if is_dask(values):
        return list(values.rechunk((tuple(counts),)).to_delayed().ravel())
    return np.split(np.asarray(values), np.cumsum(counts)[:-1])


def _check_columns(columns: Sequence[str], required: Sequence[str], spec: TargetSpec) -> None:
    """Refuse a frame of tuples that lacks required columns, or that has none."""
    missing = [c for c in required if c not in columns]
    if missing or not required:
        which = f": {missing[0]} is missing" if missing else ""
        raise InputError(f"{spec.called} have the columns {', '.join(columns[:6])}; {columns_needed(spec)}{which}")
