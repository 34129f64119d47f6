"""The calls of `semimetric.out_of_core` with a Dask client as first argument: the same parts and sums, on many machines.

    client = distributed.Client("tcp://scheduler:8786")
    fit(client, model, pairs, y)

Parts are chunks of Dask arrays, partitions of Dask frames, row groups of Parquet files, and slices of mapped files that every
worker sees. Dask is installed with the extra ``distributed``.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._foundation.errors import InputError, SemimetricError
from .._foundation.optional_imports import optional
from .._foundation.types import Floats
from ..data.parts.readers import tuple_parts
from ..data.parts.row_parts import parse_memory
from ..distances.estimators.base import LearnedDistance
from ..distances.estimators.part_tasks import ItemTask
from ..distances.model.semimetric import Semimetric
from ..distances.search.items import Neighbors, check_ids
from ..distances.search.shard_files import Shard, ShardLocation, read_locations
from ..distances.search.sharded import ItemPart, ShardedIndex, build_shards, graph, nearest, within
from .calls import fit_labeled, fit_tuples, labeled_parts_of, task_of
from .dask import Cluster, computed, dask_items, dask_tuples, is_dask, item_parts
from .pairwise_files import write_pairwise

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

    Squared losses are learned from second moments that add up along a tree of the parts: the same parts give the same bits on
    any number of workers, and in one process. Other losses are learned by the solver that ``fit`` takes, or by `FirstOrder` if
    that is given: the workers keep their rows, weights go out, and products, or second moments, come back.
    `LargeMarginLearner` finds targets and impostors of every part on the workers, in a `ShardedIndex` of all items.

    Parameters
    ----------
    client : distributed.Client
    model : DistanceRegressor, PairLearner, TripletLearner, QuadrupletLearner or LargeMarginLearner
        As in `semimetric.out_of_core.fit`; row numbers of its ``preprocessor`` need all items on every worker.
    pairs : Dask array of shape (n, size, n_features) or (n, size), Dask frame, or what `semimetric.out_of_core.fit` takes
        For LargeMarginLearner of shape (n, n_features).
    y : Dask array of shape (n,), NumPy array, path of a .npy file, or name of a column of ``pairs``
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
    ClusterError
        If the scheduler, or all workers, are lost on the way, or one part has cost several workers.
    InputError
        If a part cannot be used, naming it; if no scheduler answers, or lengths of chunks are unknown.

    Examples
    --------
    >>> from semimetric import distributed
    >>> client = distributed.connect()  # doctest: +SKIP
    >>> distributed.fit(client, model, pairs, y)  # doctest: +SKIP
    """
    task = task_of(model)
    engine, limit = Cluster(client), parse_memory(block_size)
    if isinstance(task, ItemTask):
        if is_dask(pairs):
            items, item_table = dask_items(pairs, y, sample_weight)
        else:
            items, item_table = labeled_parts_of(task, pairs, y, sample_weight, limit)
        y, sample_weight = computed(y), computed(sample_weight)
        return fit_labeled(engine, model, task, items, item_table, y, sample_weight, limit=limit, scratch=scratch)
    spec, preprocessor = task.targets, computed(model.preprocessor)
    if is_dask(pairs):
        parts, table = dask_tuples(pairs, spec.targets(y), sample_weight, preprocessor, spec)
    else:
        parts, table = tuple_parts(pairs, spec.targets(y), sample_weight, preprocessor, spec, limit=limit)
    return fit_tuples(engine, model, task, parts, table)


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

    Examples
    --------
    >>> from semimetric import distributed
    >>> client = distributed.connect()  # doctest: +SKIP
    >>> coordinates = distributed.transform(client, d, X)  # doctest: +SKIP
    """
    engine, parts = Cluster(client), item_parts(X, block_size)
    n_columns, dtype, meta = next(engine.each(_shape_of, parts[:1], embedding))
    dask, array = optional("dask"), optional("dask.array")
    call, shared = dask.delayed(_transformed, traverse=False), dask.delayed(embedding, traverse=False)
    chunks = [array.from_delayed(call(part, shared), (part.n, n_columns), dtype=dtype, meta=meta) for part in parts]
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

    Examples
    --------
    >>> from semimetric import distributed
    >>> client = distributed.connect()  # doctest: +SKIP
    >>> distributed.pairwise(client, d, X, to="distances.zarr")  # doctest: +SKIP
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
        A new folder, or that of a sharded index, which stays as it is until the new one is complete.
    semimetric : Semimetric
    X : Dask array of shape (n, n_features), Dask frame, or what `ShardedIndex.build` takes
    ids : array-like of shape (n,), name of a column, or None for row numbers; a frame needs a column
    block_size : as in `fit`, default "512 MiB"

    Raises
    ------
    InputError
        If a part cannot be used, or ids repeat; nothing is left of the new index then.

    Examples
    --------
    >>> from semimetric import distributed
    >>> client = distributed.connect()  # doctest: +SKIP
    >>> index = distributed.build_index(client, "shards", d, X)  # doctest: +SKIP
    """
    engine = Cluster(client)
    parts = item_parts(X, block_size)
    if not isinstance(ids, str):
        counts = [part.n for part in parts]
        if np.isnan(counts).any():
            raise InputError("partitions of a frame have unknown lengths, so rows have no numbers; name a column by ids=")
        starts = np.cumsum([0, *map(int, counts)]).tolist()
        ids_by_part = starts[:-1]  # the number of the first item of each part
        if ids is not None:
            ids_by_part = [(own,) for own in np.split(check_ids(ids, starts[-1], unique=False), starts[1:-1])]
        parts = [replace(part, ids=own) for part, own in zip(parts, ids_by_part, strict=True)]
    else:
        parts = [replace(part, ids=ids) for part in parts]
    return tuple(build_shards(engine, folder, semimetric, parts, n_jobs=None))


def rebalance(client: Any, folder: Any, n_shards: int | None = None) -> ShardedIndex:
    """`ShardedIndex.rebalance`, its shards built in parallel.

    Parameters
    ----------
    client, folder : as in `build_index`
    n_shards : int or None for as many as there are, default None

    Examples
    --------
    >>> from semimetric import distributed
    >>> client = distributed.connect()  # doctest: +SKIP
    >>> distributed.rebalance(client, "shards", n_shards=8)  # doctest: +SKIP
    """
    return ShardedIndex(folder).rebalance(n_shards, engine=Cluster(client))


def kneighbors(
    client: Any,
    folder: Any,
    X: Any,
    n_neighbors: int = 5,
    *,
    algorithm: str | None = None,
    n_candidates: int | None = None,
    key: bytes | None = None,
) -> tuple[Floats, NDArray[Any]]:
    """Distances and ids (n, k) of the nearest items for every row of X: those of one index, to the bit.

    Parameters
    ----------
    client, folder : distributed.Client, and the path of a `ShardedIndex` or a saved `NeighborIndex` that every worker sees
    X : array-like or Dask array of shape (n, n_features), or frame
    n_neighbors, algorithm, n_candidates : as in `NeighborIndex.kneighbors`
    key : bytes or None
        The key that the folder was signed with, if it was. It goes to the workers if the folder holds one index.

    Examples
    --------
    >>> from semimetric import distributed
    >>> client = distributed.connect()  # doctest: +SKIP
    >>> distances, ids = distributed.kneighbors(client, "shards", X, n_neighbors=5)  # doctest: +SKIP
    """
    engine, queries = Cluster(client), computed(X)

    def search(places: list[ShardLocation]) -> Neighbors:
        return nearest(engine, places, queries, n_neighbors, algorithm=algorithm, n_candidates=n_candidates)

    found = read_locations(folder, search, key=key)
    return found.distances, found.ids


def radius_neighbors(
    client: Any, folder: Any, X: Any, radius: float = 1.0, *, key: bytes | None = None
) -> list[tuple[Floats, NDArray[Any]]]:
    """Distances and ids of all items within ``radius`` of every row of X, nearest first: a pair of arrays for each row.

    Parameters
    ----------
    client, folder, X : as in `kneighbors`
    radius : float, default 1.0
    key : as in `kneighbors`

    Examples
    --------
    >>> from semimetric import distributed
    >>> client = distributed.connect()  # doctest: +SKIP
    >>> distances, ids = distributed.radius_neighbors(client, "shards", X, radius=0.5)  # doctest: +SKIP
    """
    engine, queries = Cluster(client), computed(X)
    return read_locations(folder, lambda places: within(engine, places, queries, radius), key=key)


def kneighbors_graph(
    client: Any, folder: Any, X: Any, n_neighbors: int = 5, mode: str = "connectivity", *, key: bytes | None = None
) -> sparse.csr_matrix:
    """`kneighbors` as a sparse matrix of shape (n, n_items); columns are in the order of `ShardedIndex.ids_`.

    Parameters
    ----------
    client, folder, X, n_neighbors : as in `kneighbors`
    mode : {"connectivity", "distance"}, default "connectivity"
        Entries are ones, or distances.
    key : as in `kneighbors`

    Examples
    --------
    >>> from semimetric import distributed
    >>> client = distributed.connect()  # doctest: +SKIP
    >>> graph = distributed.kneighbors_graph(client, "shards", X, n_neighbors=5)  # doctest: +SKIP
    """
    engine, queries = Cluster(client), computed(X)
    return read_locations(folder, lambda places: graph(engine, places, queries, n_neighbors, mode), key=key)


def _transformed(part: ItemPart, embedding: Any) -> Any:
    """The rows of ``embedding.transform`` for one part; an error names the part."""
    try:
        return embedding.transform(part.read()[0])
    except (SemimetricError, ValueError) as error:
        raise InputError(f"{part.name}: {error}") from error


def _shape_of(part: ItemPart, embedding: Any) -> tuple[int, Any, Any]:
    """The number of columns, the dtype and an empty array of the type that `_transformed` gives for this part."""
    some = _transformed(replace(part, pieces=(part.read()[0][:1],)), embedding)
    return some.shape[1], some.dtype, some[:0]
