"""The calls of `semimetric.out_of_core` with a Dask client first: the same parts, the same sums, on many machines.

    client = distributed.Client("tcp://scheduler:8786")
    fit(client, model, pairs, y)

Parts are chunks of Dask arrays, partitions of Dask frames, row groups of Parquet files, and slices of mapped files that every
worker sees. Dask comes with the extra ``distributed``.
"""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ._foundation.errors import InputError, SemimetricError
from ._foundation.optional_imports import optional
from ._foundation.threads import one_blas_thread
from ._foundation.types import Floats
from .data.parts.labeled_parts import LabeledPart, LabeledTable, column_named, features_of, labeled_parts, loaded
from .data.parts.readers import columns_needed, item_rows, named_in, names_of, rows_of, tuple_parts, width_of
from .data.parts.row_parts import parse_memory
from .data.parts.tuple_parts import TargetSpec, TuplePart, TupleTable, tuple_columns
from .distances.semimetric import Semimetric
from .estimators.base import LearnedDistance
from .estimators.part_tasks import ItemTask
from .neighbors.ids import check_ids
from .neighbors.sharded.shard_files import Shard, places_of
from .neighbors.sharded.shard_search import graph, nearest, within
from .neighbors.sharded.sharded_index import ItemPart, ShardedIndex, build_shards
from .out_of_core.dask_engine import Cluster, connect
from .out_of_core.fit_labeled import fit_labeled
from .out_of_core.fit_tuples import fit_tuples, task_of
from .out_of_core.pairwise_files import write_pairwise

__all__ = [
    "build_index",
    "connect",
    "fit",
    "kneighbors",
    "kneighbors_graph",
    "pairwise",
    "radius_neighbors",
    "rebalance",
    "transform",
]

M = TypeVar("M", bound=LearnedDistance)


def fit(
    client: Any,
    model: M,
    pairs: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    block_size: str | int = "256 MiB",
    scratch: str | os.PathLike[str] | None = None,
) -> M:
    """Learn from pairs, triplets, quadruplets or labelled items on a cluster; ``model`` is fitted and returned.

    Squared losses by second moments that add up along a tree of the parts: the same parts give the same bits on any number of
    workers, and here. Other losses by the solver that ``fit`` takes, or `FirstOrder` if that is given: the workers keep their
    rows, weights go out, and products, or second moments, come back. `LargeMarginLearner` finds targets and impostors of
    every part on the workers, in a `ShardedIndex` of all items.

    Parameters
    ----------
    client : distributed.Client
    model : DistanceRegressor, PairLearner, TripletLearner, QuadrupletLearner or LargeMarginLearner
        As in `semimetric.out_of_core.fit`; row numbers of its ``preprocessor`` need all items on every worker.
    pairs : Dask array of shape (n, size, n_features) or (n, size), Dask frame, or what `semimetric.out_of_core.fit` takes
        For LargeMarginLearner of shape (n, n_features).
    y : Dask array of shape (n,), NumPy array, or name of a column of ``pairs``
        Classes of items come to the client, and go to every worker.
    sample_weight : as y, or None
    block_size : bytes of work of a part, where ``pairs`` are not in parts yet, default "256 MiB"
    scratch : path-like or None
        Folder that every worker sees, for the index of labelled items while they are learned from; by default that of this
        system, which does where all workers are on this machine.

    Raises
    ------
    NotSupportedError
        If the model cannot be learned from parts, or versions of client and workers differ.
    InputError
        If a part cannot be used, naming it; if the scheduler is not there, or lengths of chunks are unknown.
    """
    task = task_of(model)
    engine = Cluster(client)
    if isinstance(task, ItemTask):
        return _fit_labeled(engine, model, task, pairs, y, sample_weight, parse_memory(block_size), scratch)
    items, spec = _computed(model.preprocessor), task.targets
    y = spec.targets(y)
    if _is_dask(pairs):
        parts, table = _dask_parts(pairs, y, sample_weight, items, spec)
    else:
        parts, table = tuple_parts(pairs, y, sample_weight, items, spec, limit=parse_memory(block_size))
    with one_blas_thread():
        return fit_tuples(engine, model, task, parts, table)


def _fit_labeled(engine: Cluster, model: Any, task: ItemTask, X: Any, y: Any, weight: Any, limit: int, scratch: Any) -> Any:
    """Learn from labelled items; their classes and weights, one number an item, come to this process."""
    if not _is_dask(X):
        parts, table = labeled_parts(X, y, weight, max(limit // 2 // task.item_bytes(width_of(X)), 1))
    else:
        named = [column_named(values) for values in (y, weight)]
        if hasattr(X, "columns"):
            names = features_of(list(map(str, X.columns)), named, "X")
        else:
            names = tuple(f"x{k}" for k in range(X.shape[1])) if X.ndim == 2 else ()
        chunks = item_parts(X, limit)  # refuses what has other dimensions
        parts, table = (
            [LabeledPart(p.name, p.pieces[0], None if np.isnan(p.n) else int(p.n)) for p in chunks],
            LabeledTable(names, *named),
        )
    with one_blas_thread():
        return fit_labeled(
            engine, model, task, parts, table, loaded(_computed(y)), loaded(_computed(weight)), limit=limit, scratch=scratch
        )


def transform(client: Any, embedding: Any, X: Any, *, block_size: str | int = "256 MiB") -> Any:
    """What ``embedding.transform`` makes of X, part by part: a Dask array that is not computed yet.

    Parameters
    ----------
    client, embedding : distributed.Client, and what `semimetric.out_of_core.transform` takes
    X : Dask array of shape (n, n_features), Dask frame, or what `semimetric.out_of_core.transform` takes
    block_size : as in `fit`, default "256 MiB"

    Returns
    -------
    dask.array.Array of shape (n, n_columns)
        Its chunks are sparse where the embedding's rows are; lengths of partitions of a frame are unknown.
    """
    engine, parts = Cluster(client), item_parts(X, block_size)
    facts = next(engine.each(_shape_of, parts[:1], embedding))
    dask, array = optional("dask"), optional("dask.array")
    call, shared = dask.delayed(_transformed, traverse=False), dask.delayed(embedding, traverse=False)
    chunks = [array.from_delayed(call(part, shared), (part.n, facts[0]), dtype=facts[1], meta=facts[2]) for part in parts]
    return array.concatenate(chunks, allow_unknown_chunksizes=True)


def pairwise(client: Any, d: Semimetric, X: Any, Y: Any = None, *, to: Any, block_size: str | int = "256 MiB") -> Path:
    """`semimetric.out_of_core.pairwise` on a cluster: all distances between the rows of X and Y, written to files.

    Parameters
    ----------
    client, d : distributed.Client, Semimetric
    X, Y : Dask array of shape (n, n_features), Dask frame, or what `semimetric.out_of_core.pairwise` takes
        Parts of the rows of X must be of one length for Zarr; rechunk those that are not, or write Parquet.
    to : path NAME.zarr or NAME.parquet, on storage that every worker sees
    block_size : as in `fit`, default "256 MiB"
    """
    engine = Cluster(client)
    sides = [None if side is None else [(p.name, p.pieces[0]) for p in item_parts(side, block_size)] for side in (X, Y)]
    return write_pairwise(engine, d, sides[0] or [], sides[1], to)


def build_index(
    client: Any, folder: Any, semimetric: Semimetric, X: Any, *, ids: Any = None, block_size: str | int = "512 MiB"
) -> tuple[Shard, ...]:
    """Build a `ShardedIndex`, one shard a part, in parallel; ``folder`` is on storage that every worker sees.

    Parameters
    ----------
    client : distributed.Client
    folder : path-like
        New, or a sharded index, which stays whole until the new one is.
    semimetric : Semimetric
    X : Dask array of shape (n, n_features), Dask frame, or what `ShardedIndex.build` takes
    ids : array-like of shape (n,), name of a column, or None for row numbers; a frame needs a column
    block_size : as in `fit`, default "512 MiB"

    Raises
    ------
    InputError
        If a part cannot be used, or ids repeat; nothing is left of the new index then.
    """
    engine = Cluster(client)
    parts = item_parts(X, block_size)
    if not isinstance(ids, str):
        counts = [part.n for part in parts]
        if np.isnan(counts).any():
            raise InputError("partitions of a frame have unknown lengths, so rows have no numbers; name a column by ids=")
        starts = np.cumsum([0, *map(int, counts)]).tolist()
        given = None if ids is None else check_ids(ids, starts[-1], unique=False)
        of = starts[:-1] if given is None else [(part,) for part in np.split(given, starts[1:-1])]
        parts = [replace(part, ids=i) for part, i in zip(parts, of, strict=True)]
    else:
        parts = [replace(part, ids=ids) for part in parts]
    return tuple(build_shards(engine, folder, semimetric, parts, n_jobs=None))


def rebalance(client: Any, folder: Any, n_shards: int | None = None) -> ShardedIndex:
    """`ShardedIndex.rebalance`, its shards built in parallel.

    Parameters
    ----------
    client, folder : as in `build_index`
    n_shards : int or None for as many as there are, default None
    """
    return ShardedIndex(folder).rebalance(n_shards, engine=Cluster(client))


def kneighbors(
    client: Any, folder: Any, X: Any, n_neighbors: int = 5, *, algorithm: str | None = None, n_candidates: int | None = None
) -> tuple[Floats, NDArray]:
    """Distances and ids (n, k) of the nearest items for every row of X: those of one index, to the bit.

    Parameters
    ----------
    client, folder : distributed.Client, and the path of a `ShardedIndex` or a saved `NeighborIndex` that every worker sees
    X : array-like or Dask array of shape (n, n_features), or frame
    n_neighbors, algorithm, n_candidates : as in `NeighborIndex.kneighbors`
    """
    engine = Cluster(client)
    found = nearest(engine, places_of(folder), _computed(X), n_neighbors, algorithm=algorithm, n_candidates=n_candidates)
    return found.distances, found.ids


def radius_neighbors(client: Any, folder: Any, X: Any, radius: float = 1.0) -> list[tuple[Floats, NDArray]]:
    """Distances and ids of all items within ``radius`` of every row of X, nearest first: a pair of arrays for each row.

    Parameters
    ----------
    client, folder, X : as in `kneighbors`
    radius : float, default 1.0
    """
    return within(Cluster(client), places_of(folder), _computed(X), radius)


def kneighbors_graph(client: Any, folder: Any, X: Any, n_neighbors: int = 5, mode: str = "connectivity") -> sparse.csr_matrix:
    """`kneighbors` as a sparse matrix of shape (n, n_items); columns are in the order of `ShardedIndex.ids_`.

    Parameters
    ----------
    client, folder, X, n_neighbors : as in `kneighbors`
    mode : {"connectivity", "distance"}, default "connectivity"
        Entries are ones, or distances.
    """
    return graph(Cluster(client), places_of(folder), _computed(X), n_neighbors, mode)


def item_parts(X: Any, block_size: str | int) -> list[ItemPart]:
    """Chunks, partitions or slices of items."""
    if not _is_dask(X):
        size = max(parse_memory(block_size) // 20_000, 1)
        return [ItemPart(r.name, (r,), 0, len(r)) for r in item_rows(X, size, even=False)]
    if hasattr(X, "columns"):
        chunks, counts = list(X.to_delayed()), [np.nan] * X.npartitions
    else:
        if X.ndim != 2:
            raise InputError(f"X has shape {X.shape}; (n, n_features) is required")
        chunks, counts = chunks_of(X), list(_lengths(X, "X"))
    return [ItemPart(f"partition {k} of X", (c,), 0, n) for k, (c, n) in enumerate(zip(chunks, counts, strict=True))]


def _transformed(part: ItemPart, embedding: Any) -> Any:
    try:
        return embedding.transform(part.read()[0])
    except (SemimetricError, ValueError) as error:
        raise InputError(f"{part.name}: {error}") from error


def _shape_of(part: ItemPart, embedding: Any) -> tuple[int, Any, Any]:
    """Columns, dtype and an empty block of what comes out."""
    some = _transformed(replace(part, pieces=(part.read()[0][:1],)), embedding)
    return some.shape[1], some.dtype, some[:0]


def _is_dask(value: Any) -> bool:
    return hasattr(value, "__dask_graph__")


def _computed(items: Any) -> Any:
    """What row numbers are of, in memory: every worker needs all of them."""
    return items.compute() if _is_dask(items) else items


def _dask_parts(tuples: Any, y: Any, weight: Any, items: Any, spec: TargetSpec) -> tuple[list[TuplePart], TupleTable]:
    """Chunks or partitions as parts."""
    there, called, size = None if items is None else rows_of(items), spec.called, spec.kind.size
    if hasattr(tuples, "columns"):
        columns = list(map(str, tuples.columns))
        names = names_of(items, there.view().shape[1]) if there is not None else named_in(columns, spec)
        _check_columns(columns, tuple_columns(spec.kind, names, by_row=there is not None), spec)
        chunks, counts = list(tuples.to_delayed()), None
    else:
        if tuples.ndim != (3 if there is None else 2) or tuples.shape[1] != size:
            raise InputError(
                f"{called} have shape {tuples.shape}; (n_{called}, {size}, n_features), or row numbers (n_{called}, {size}) "
                "with preprocessor=, are required"
            )
        names = names_of(items, there.view().shape[1] if there is not None else tuples.shape[2])
        counts = _lengths(tuples, called)
        chunks = chunks_of(tuples)
    beside = [_beside(values, counts, len(chunks), name, called) for values, name in ((y, "y"), (weight, "sample_weight"))]
    parts = [TuplePart(f"partition {k} of {called}", *part) for k, part in enumerate(zip(chunks, *beside, strict=True))]
    return parts, TupleTable(names, spec, there)


def chunks_of(array: Any) -> list[Any]:
    """Delayed chunks of rows."""
    whole = array.rechunk(dict.fromkeys(range(1, array.ndim), -1))
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


def _beside(values: Any, counts: Sequence[int] | None, n: int, name: str, called: str) -> list[Any]:
    """One entry for each part of the pairs: a chunk, a slice, or the name of a column."""
    if values is None or isinstance(values, str):
        return [values] * n
    if _is_dask(values) and not hasattr(values, "chunks"):  # a series; lengths are compared where it is read
        if values.npartitions != n:
            raise InputError(
                f"{name} has {values.npartitions} partitions, the {called} have {n}; repartition one like the other"
            )
        return list(values.to_delayed())
    if counts is None:
        raise InputError(f"{name} is an array beside a frame of unknown lengths; give the name of a column, or a series")
    if values.shape != (sum(counts),):
        raise InputError(f"{name} has shape {values.shape} for {sum(counts)} {called}; one entry a {called[:-1]} is required")
    if _is_dask(values):
        return list(values.rechunk((tuple(counts),)).to_delayed().ravel())
    return np.split(np.asarray(values), np.cumsum(counts)[:-1])


def _check_columns(columns: Sequence[str], wanted: Sequence[str], spec: TargetSpec) -> None:
    missing = [c for c in wanted if c not in columns]
    if missing or not wanted:
        which = f": {missing[0]} is missing" if missing else ""
        raise InputError(f"{spec.called} have the columns {', '.join(columns[:6])}; {columns_needed(spec)}{which}")
