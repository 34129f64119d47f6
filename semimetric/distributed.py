"""The calls of `semimetric.out_of_core` with a Dask client first: the same parts, the same sums, on many machines.

    client = distributed.Client("tcp://scheduler:8786")
    fit(client, model, pairs, y)

Parts are chunks of Dask arrays, partitions of Dask frames, row groups of Parquet files, and slices of mapped files that every
worker sees. Dask comes with the extra ``distributed``.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._errors import InputError
from ._threads import one_blas_thread
from .block_fitting import check_learns, fit_parts
from .blocks import parse_memory
from .cluster import Cluster, connect
from .estimators.regressor import DistanceRegressor
from .pair_blocks import PairPart, PairTable, pair_columns
from .sources import names_of, pair_parts, rows_of

__all__ = ["connect", "fit"]


def fit(
    client: Any, model: DistanceRegressor, pairs: Any, y: Any, sample_weight: Any = None, *, block_size: str | int = "256 MiB"
) -> DistanceRegressor:
    """Learn from pairs on a cluster; ``model`` is fitted and returned.

    Squared losses by second moments that add up along a tree of the parts: the same parts give the same bits on any number of
    workers, and here. Other losses by `FirstOrder`: the workers keep their rows, weights go out and products come back.

    Parameters
    ----------
    client : distributed.Client
    model : DistanceRegressor
        As in `semimetric.out_of_core.fit`; row numbers of its ``preprocessor`` need all items on every worker.
    pairs : Dask array of shape (n_pairs, 2, n_features) or (n_pairs, 2), Dask frame, or what `semimetric.out_of_core.fit` takes
    y : Dask array of shape (n_pairs,), NumPy array, or name of a column of ``pairs``
    sample_weight : as y, or None
    block_size : str or int
        Bytes of work of a part, where ``pairs`` are not in parts yet.

    Raises
    ------
    NotSupportedError
        If the model cannot be learned from parts, or versions of client and workers differ.
    InputError
        If a part cannot be used, naming it; if the scheduler is not there, or lengths of chunks are unknown.
    """
    check_learns(model)
    engine = Cluster(client)
    least = 0.0 if model.axioms is not None else -np.inf
    items = _here(model.preprocessor)
    if _is_dask(pairs):
        parts, table = _dask_parts(pairs, y, sample_weight, items, least)
    else:
        parts, table = pair_parts(pairs, y, sample_weight, items, least, limit=parse_memory(block_size))
    with one_blas_thread():
        return fit_parts(engine, model, parts, table)


def _is_dask(value: Any) -> bool:
    return hasattr(value, "__dask_graph__")


def _here(items: Any) -> Any:
    """What row numbers are of, in memory: every worker needs all of them."""
    return items.compute() if _is_dask(items) else items


def _dask_parts(pairs: Any, y: Any, weight: Any, items: Any, least: float) -> tuple[list[PairPart], PairTable]:
    """Chunks or partitions as parts."""
    there = None if items is None else rows_of(items)
    if hasattr(pairs, "columns"):
        columns = list(map(str, pairs.columns))
        names = names_of(items, there.view().shape[1]) if there is not None else _named(columns)
        _check_columns(columns, pair_columns(names, by_row=there is not None))
        chunks, counts = list(pairs.to_delayed()), None
    else:
        if pairs.ndim != (3 if there is None else 2) or pairs.shape[1] != 2:
            raise InputError(
                f"pairs have shape {pairs.shape}; (n_pairs, 2, n_features), or row numbers (n_pairs, 2) with preprocessor=, "
                "are required"
            )
        names = names_of(items, there.view().shape[1] if there is not None else pairs.shape[2])
        counts = _lengths(pairs, "pairs")
        chunks = chunks_of(pairs)
    beside = [_beside(values, counts, len(chunks), name) for values, name in ((y, "y"), (weight, "sample_weight"))]
    parts = [PairPart(f"partition {k} of pairs", *part) for k, part in enumerate(zip(chunks, *beside, strict=True))]
    return parts, PairTable(names, least, there)


def chunks_of(array: Any) -> list[Any]:
    """Delayed chunks of rows."""
    whole = array.rechunk({axis: -1 for axis in range(1, array.ndim)})
    return list(whole.to_delayed().ravel())


def _lengths(array: Any, name: str) -> tuple[int, ...]:
    """Rows of every chunk, each some."""
    counts = array.chunks[0]
    if np.isnan(counts).any():
        raise InputError(
            f"chunk {int(np.argmax(np.isnan(counts)))} of {name} has an unknown size; call compute_chunk_sizes() first"
        )
    if 0 in counts:
        raise InputError(f"partition {counts.index(0)} of {name} is empty; every part needs some rows: rechunk it")
    return tuple(counts)


def _beside(values: Any, counts: Sequence[int] | None, n: int, name: str) -> list[Any]:
    """One entry for each part of the pairs: a chunk, a slice, or the name of a column."""
    if values is None or isinstance(values, str):
        return [values] * n
    if _is_dask(values) and not hasattr(values, "chunks"):  # a series; lengths are compared where it is read
        if values.npartitions != n:
            raise InputError(f"{name} has {values.npartitions} partitions, the pairs have {n}; repartition one like the other")
        return list(values.to_delayed())
    if counts is None:
        raise InputError(f"{name} is an array beside a frame of unknown lengths; give the name of a column, or a series")
    if values.shape != (sum(counts),):
        raise InputError(f"{name} has shape {values.shape} for {sum(counts)} pairs; one number a pair is required")
    if _is_dask(values):
        return list(values.rechunk((tuple(counts),)).to_delayed().ravel())
    return np.split(np.asarray(values), np.cumsum(counts)[:-1])


def _named(columns: Sequence[str]) -> tuple[str, ...]:
    return tuple(c.removeprefix("left.") for c in columns if c.startswith("left."))


def _check_columns(columns: Sequence[str], wanted: Sequence[str]) -> None:
    missing = [c for c in wanted if c not in columns]
    if missing or not wanted:
        raise InputError(
            f"pairs have the columns {', '.join(columns[:6])}; left.NAME and right.NAME of every feature are required, or left "
            f"and right with preprocessor={f': {missing[0]} is missing' if missing else ''}"
        )
