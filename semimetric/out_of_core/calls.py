"""More data than memory, part by part: on one machine under a memory limit, or on a Dask cluster.

    fit(model, "pairs.parquet", "distance", memory_limit="2 GiB")
    fit(model, pairs, y, client=distributed.Client("tcp://scheduler:8786"))

The limit is for the memory of parts and of sums over them, besides what the process holds already. With a client, parts are
chunks of Dask arrays or partitions of Dask frames. They may also be row groups of Parquet files, or slices of mapped files that
every worker sees. Both do the same work in the same order. Dask is installed with the extra ``distributed``.

Without a client a table may be a relation of DuckDB, a stream of Arrow or a result of SQLAlchemy, where the path of a Parquet
file may be given. It is read once, block by block, into such a file in the temporary folder, which is deleted at the end.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._foundation.errors import InputError, NotSupportedError, SemimetricError
from .._foundation.optional_imports import optional
from .._foundation.threads import one_blas_thread
from .._foundation.types import Floats
from .._foundation.validation import check_count
from ..data.parts.engine import Engine, SerialEngine
from ..data.parts.labeled_parts import (
    LabelColumns,
    LabeledPart,
    LabeledTable,
    check_same_kind,
    labeled_parts,
    loaded,
    read_label_columns,
)
from ..data.parts.readers import item_rows, tuple_parts, width_of
from ..data.parts.row_parts import parse_memory
from ..data.parts.spooled import reads_in_parts
from ..data.parts.tuples import TuplePart, TupleTable, count_tuples, sample_tuples
from ..data.payload import Payload
from ..data.schema import Schema
from ..distances.estimators.base import LearnedDistance
from ..distances.estimators.large_margin_learner import LargeMarginLearner
from ..distances.estimators.part_tasks import item_bytes, refuse_parts
from ..distances.learning.comparisons import ComparisonData
from ..distances.learning.items import LabeledItems, encode_class_labels
from ..distances.learning.measured import MeasuredDistances
from ..distances.learning.options import Recipe
from ..distances.learning.structure import check_varied
from ..distances.model.semimetric import Semimetric
from ..distances.search.items import Neighbors, check_ids
from ..distances.search.shard_files import Shard, ShardLocation, read_locations
from ..distances.search.shard_search import graph, nearest, request_of, within
from ..distances.search.sharded import ItemPart, ShardedIndex, build_shards, check_partition, clustered_parts, with_payload
from .answer_files import write_neighbors
from .dask import Cluster, computed, dask_items, dask_tuples, is_dask, item_parts
from .pairwise_files import write_pairwise

M = TypeVar("M", bound=LearnedDistance)


@reads_in_parts("pairs")
def fit(
    model: M,
    pairs: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    client: Any = None,
    memory_limit: str | int = "1 GiB",
    block_size: str | int = "256 MiB",
    scratch: str | os.PathLike[str] | None = None,
) -> M:
    """Learn from pairs, triplets, quadruplets or labelled items that need not fit into memory; ``model`` is fitted, returned.

    A first pass checks everything, and finds the range of the items and the sample that knots are placed among, the same as
    ``fit`` takes. Least squares then needs one more pass, which adds up second moments. Other losses are learned by the solver
    that ``fit`` takes, or by `FirstOrder` if that is given. Every product with the rows, and every sum of second moments, takes
    a pass. `LargeMarginLearner` searches a `ShardedIndex` for targets and impostors.

    With a client, sums add up along a tree of the parts. The same parts give the same bits on any number of workers, and in one
    process. The workers keep their rows; weights go out, and products, or second moments, come back.

    Parameters
    ----------
    model : DistanceRegressor, PairLearner, TripletLearner, QuadrupletLearner or LargeMarginLearner
        With numbers for ``n_knots`` and ``alpha``, and ``directions`` (``tables`` too) that are not found by comparing. The
        ``preprocessor`` may be mapped, or the path of a .npy file; with a client every worker needs all its items.
    pairs : array of shape (n, size, n_features), or path; for LargeMarginLearner of shape (n, n_features)
        Such an array, or row numbers (n, size) of the ``preprocessor``: in memory, mapped, or as the path of a .npy file; or
        the path of a Parquet file or a folder of them, with columns ``left.NAME`` and ``right.NAME`` of every feature (of
        triplets ``i``, ``j``, ``l``; of quadruplets ``a``, ``b``, ``c``, ``e``), or ``left`` and ``right`` that hold row
        numbers. Labelled items have a column a feature. With a client also a Dask array or frame.
    y : array of shape (n,), path of a .npy file, or name of a column
        As the learner's ``fit`` takes it: None for triplets. With a client also a Dask array; classes of items come to the
        client, and go to every worker.
    sample_weight : as y, or None
    client : distributed.Client or None
        The cluster that works, see `connect`; None works in this process.
    memory_limit : str or int, default "1 GiB"
        Bytes of the blocks, or text such as "2 GiB", without a client. The sample of items among which knots are placed is
        needed besides, and numbers for triplets: some 2.5 kB a labelled item of 18 triplets.
    block_size : str or int, default "256 MiB"
        Bytes of work of a part, with a client, where ``pairs`` are not in parts yet.
    scratch : path-like or None
        Folder for the index of labelled items while they are learned from; the temporary folder of the system by default,
        which does where all workers are on this machine. The next such call deletes what a killed process has left there.

    Raises
    ------
    NotSupportedError
        If the model cannot be learned from parts, or versions of client and workers differ.
    InputError
        If a part cannot be used, naming it, or the limit is too small for the second moments; if no scheduler answers, or
        lengths of chunks are unknown.
    ClusterError
        If the scheduler, or all workers, are lost on the way, or one part has cost several workers.

    Examples
    --------
    >>> from semimetric import DistanceRegressor
    >>> rng = np.random.default_rng(0)
    >>> pairs = rng.random((500, 2, 2))
    >>> y = np.abs(pairs[:, 0] - pairs[:, 1]) @ [1.0, 3.0]
    >>> model = fit(DistanceRegressor(n_knots=3, alpha=1e-6), pairs, y, memory_limit="100 kB")
    >>> bool(model.score(pairs, y) > 0.999)
    True
    """
    recipe = recipe_of(model)
    limit = parse_memory(memory_limit if client is None else block_size)
    engine = _engine(client, limit)
    on_cluster = client is not None and is_dask(pairs)
    if isinstance(model, LargeMarginLearner):
        if on_cluster:
            items, item_table = dask_items(pairs, y, sample_weight)
        else:
            size = max(limit // 2 // item_bytes(recipe, model.triplet_options(), width_of(pairs)), 1)
            items, item_table = labeled_parts(pairs, y, sample_weight, size)
        y, sample_weight = computed(y), computed(sample_weight)
        fit_labeled(engine, model, recipe, items, item_table, y, sample_weight, limit=limit, scratch=scratch)
        return model
    spec, preprocessor = model.tuple_spec, computed(model.preprocessor)
    if on_cluster:
        parts, table = dask_tuples(pairs, spec.targets(y), sample_weight, preprocessor, spec)
    else:
        parts, table = tuple_parts(pairs, spec.targets(y), sample_weight, preprocessor, spec, limit=limit)
    fit_tuples(engine, model, recipe, parts, table)
    return model


@reads_in_parts("X")
def transform(
    embedding: Any, X: Any, *, client: Any = None, memory_limit: str | int = "1 GiB", block_size: str | int = "256 MiB"
) -> Any:
    """Return ``embedding.transform`` of the rows of X, part after part.

    Parameters
    ----------
    embedding : fitted transformer, such as an embedding, or a distance or learner with ``tables="warped"``
    X : array of shape (n, n_features), mapped or not, or path of a .npy file or of Parquet
        With a client also a Dask array or frame.
    client, memory_limit, block_size : as in `fit`

    Returns
    -------
    iterator of ndarray or sparse matrix
        The rows of each part; with a client a dask.array.Array of shape (n, n_columns) that is not computed yet. Its chunks are
        sparse where the embedding's rows are; lengths of partitions of a frame are unknown.

    Examples
    --------
    >>> import numpy as np
    >>> from semimetric import DistanceRegressor, out_of_core
    >>> pairs = np.random.default_rng(0).random((100, 2, 2))
    >>> model = DistanceRegressor(n_knots=3, alpha=1e-3, tables="warped")
    >>> d = model.fit(pairs, np.abs(pairs[:, 0] - pairs[:, 1]).sum(axis=1)).semimetric_
    >>> X = pairs[:, 0]
    >>> parts = list(out_of_core.transform(d, X, memory_limit="1 MiB"))
    >>> bool((np.vstack(parts) == d.transform(X)).all())
    True
    """
    if client is not None:
        return _dask_transform(Cluster(client), embedding, item_parts(X, block_size))
    rows = item_rows(X, _item_size(width_of(X), parse_memory(memory_limit)))
    return (part.read_for(embedding.transform) for part in rows)


@reads_in_parts("X", "Y")
def pairwise(
    d: Semimetric,
    X: Any,
    Y: Any = None,
    *,
    to: Any,
    client: Any = None,
    memory_limit: str | int = "1 GiB",
    block_size: str | int = "256 MiB",
) -> Path:
    """Write the distances of all rows of X to all rows of Y (of X if None), shape (n, m), to a new file.

    Parameters
    ----------
    d : Semimetric
    X, Y : array of shape (n, n_features), mapped or not, or path of a .npy file or of Parquet
        With a client also a Dask array or frame. Parts of the rows of X must be of one length for Zarr; rechunk those that are
        not, or write Parquet.
    to : path-like
        NAME.zarr, one array; or NAME.parquet, a folder of files, a part of the rows each. It is complete or not there at all.
        With a client it is on storage that every worker sees.
    client, memory_limit, block_size : as in `fit`

    Raises
    ------
    InputError
        If rows of a part cannot be used, naming it, or ``to`` exists already.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from semimetric import DistanceRegressor, out_of_core
    >>> pairs = np.random.default_rng(0).random((100, 2, 2))
    >>> model = DistanceRegressor(n_knots=3, alpha=1e-3, tables="warped")
    >>> d = model.fit(pairs, np.abs(pairs[:, 0] - pairs[:, 1]).sum(axis=1)).semimetric_
    >>> X = pairs[:, 0]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = out_of_core.pairwise(d, X, to=Path(folder) / "all.zarr")
    ...     print(path.name)
    all.zarr
    """
    if client is None:
        size = max(int((parse_memory(memory_limit) / 2 / 8) ** 0.5), 1)
        sides = [None if side is None else [(r.name, r) for r in item_rows(side, size, even=False)] for side in (X, Y)]
    else:
        sides = [None if side is None else [(p.name, p.pieces[0]) for p in item_parts(side, block_size)] for side in (X, Y)]
    return write_pairwise(_engine(client), d, sides[0] or [], sides[1], to)


@reads_in_parts("X")
def build_index(
    folder: Any,
    semimetric: Semimetric,
    X: Any,
    *,
    ids: Any = None,
    payload: Any = None,
    client: Any = None,
    block_size: str | int = "512 MiB",
    n_shards: int | None = None,
    storage: str = "float64",
    partition: str = "rows",
    resume: bool = False,
) -> tuple[Shard, ...]:
    """Build a `ShardedIndex`, one shard a part, in parallel on a cluster.

    Parameters
    ----------
    folder : path-like
        A new folder, or that of a sharded index, which stays as it is until the new one is complete. With a client it is on
        storage that every worker sees.
    semimetric : Semimetric
    X : array of shape (n, n_features), Dask array or frame, or what `ShardedIndex.build` takes
    ids : array-like of shape (n,), name of a column, or None for row numbers; a frame needs a column
    payload : frame or dict of columns, with n rows in the order of X, or None
        As in `NeighborIndex.fit`. It is held in memory here, and each worker gets its rows; so lengths of parts must be known.
    client : as in `fit`
    block_size : str or int, default "512 MiB"
        Bytes of work of a part.
    n_shards : int or None
        The number of parts, in place of ``block_size``, where X is no Dask collection.
    storage : {"float64", "uint16"}, default "float64"
        As in `NeighborIndex`, of every shard.
    partition : {"rows", "kmeans"}, default "rows"
        As in `ShardedIndex.build`; "kmeans" takes an array or a .npy file that every worker sees, and workers assign the items.
    resume : bool, default False
        Keep complete shards if the call ends early, however it ends. The same call then goes on with the others. Each part is
        read again, and built anew if the distance, its items, ids or payload are others. The shards wait in
        ``folder/.shards.unfinished``; delete that folder to give up.

    Raises
    ------
    InputError
        If a part cannot be used, or ids repeat; nothing is left of the new index then, unless ``resume``. If ``payload`` is
        given for a frame whose partitions have unknown lengths, or ``n_shards`` for a Dask collection.
    NotSupportedError
        If items cannot be divided by k-means, as those of a Dask collection.

    Examples
    --------
    >>> from semimetric import out_of_core
    >>> client = out_of_core.connect()  # doctest: +SKIP
    >>> shards = out_of_core.build_index("shards", d, X, client=client)  # doctest: +SKIP
    """
    engine = _engine(client)
    build = partial(build_shards, engine, folder, semimetric, storage=storage, resume=resume)
    check_partition(partition, storage)
    if is_dask(X) and n_shards is not None:
        raise InputError(f"n_shards={n_shards}: X is in parts already, which become shards; rechunk or repartition it")
    if n_shards is not None:
        block_size = 20_000 * -(-sum(map(len, item_rows(X, 1 << 62))) // check_count("n_shards", n_shards))
    parts = item_parts(X, block_size)
    if partition == "kmeans":
        if is_dask(X):
            raise NotSupportedError(
                "partition='kmeans' divides an array or a .npy file, not a Dask collection; give one of these"
            )
        rows, n = [part.pieces[0] for part in parts], sum(int(part.n) for part in parts)
        beside = None if payload is None else Payload.read(payload, n, semimetric.feature_names)

        def clusters(built: Path) -> Sequence[ItemPart]:
            own = clustered_parts(engine, built, semimetric, rows, ids)
            return own if beside is None else with_payload(own, beside)

        return tuple(build(clusters))
    if payload is not None:
        if np.isnan([part.n for part in parts]).any():
            raise InputError(
                "partitions of a frame have unknown lengths, so that nobody knows their rows of payload=; give X as an array, "
                "as by X.to_dask_array(lengths=True)"
            )
        n = sum(int(part.n) for part in parts)
        parts = with_payload(parts, Payload.read(payload, n, semimetric.feature_names))
    if isinstance(ids, str):
        parts = [replace(part, ids=ids) for part in parts]
        return tuple(build(parts))
    counts = [part.n for part in parts]
    if np.isnan(counts).any():
        raise InputError("partitions of a frame have unknown lengths, so rows have no numbers; name a column by ids=")
    starts = np.cumsum([0, *map(int, counts)]).tolist()
    ids_by_part = starts[:-1]  # the number of the first item of each part
    if ids is not None:
        ids_by_part = [(own,) for own in np.split(check_ids(ids, starts[-1], unique=False), starts[1:-1])]
    parts = [replace(part, ids=own) for part, own in zip(parts, ids_by_part, strict=True)]
    return tuple(build(parts))


def rebalance(folder: Any, n_shards: int | None = None, *, client: Any = None) -> ShardedIndex:
    """Divide a sharded index anew, as `ShardedIndex.rebalance` does; a cluster builds the shards in parallel.

    Parameters
    ----------
    folder : as in `build_index`
    n_shards : int or None for as many as there are, default None
    client : as in `fit`

    Examples
    --------
    >>> from semimetric import out_of_core
    >>> client = out_of_core.connect()  # doctest: +SKIP
    >>> out_of_core.rebalance("shards", n_shards=8, client=client)  # doctest: +SKIP
    """
    return ShardedIndex(folder).rebalance(n_shards, engine=_engine(client))


@reads_in_parts("X")
def kneighbors(
    folder: Any,
    X: Any,
    n_neighbors: int = 5,
    *,
    algorithm: str | None = None,
    n_candidates: int | None = None,
    by: str | Sequence[str] | Mapping[str, Any] | None = None,
    client: Any = None,
    memory_limit: str | int = "1 GiB",
    key: bytes | None = None,
    to: str | os.PathLike[str] | None = None,
    verbose: bool | None = None,
) -> Any:
    """Return distances and ids (n, k) of the nearest items of a saved index, sharded or not, for many queries.

    An exact query asks first the shard in whose range of values the smallest distance is possible, then two, four, ... that may
    hold something nearer than its k-th item so far, and no others. Under distances that are no sums over single features,
    and by other algorithms, it asks all.

    Parameters
    ----------
    folder : path-like
        A folder that `NeighborIndex.save` or `ShardedIndex.build` wrote; its items are mapped.
    X : array of shape (n, n_features), mapped or not, or path of a .npy file or of Parquet, or None
        With a client an array, a Dask array, or a frame; a path with ``to`` only. None stands for all items, in the order of
        `ShardedIndex.ids_`: each shard is joined with itself, then with those that may hold nearer items. No item is among its
        own neighbours.
    n_neighbors : int
    algorithm, n_candidates, by : as in `NeighborIndex.kneighbors`
        With ``by``, X is an array or a frame that fits in memory, and ``to`` is not given.
    client : as in `fit`
    memory_limit : str or int, default "1 GiB"
        For the queries, without a client and ``to``; the answers are held in memory besides.
    key : bytes or None
        The key that the folder was signed with, if it was. It goes to the workers if the folder holds one index.
    to : path-like or None
        Write the answers to this folder in place of returning them, block by block in the memory of some blocks. A name without
        suffix gets ``distances.npy`` and ``ids.npy``, (n, k) each. NAME.parquet gets files with the columns ``query`` (the
        number of the row of X, or of ``ids_``), ``rank`` (from 1), ``id`` and ``distance``. The folder is complete or not there
        at all. If the call ends early, NAME.unfinished stays, and the same call goes on with the blocks that are missing.
    verbose : bool or None, default None
        Show a bar; None shows it where it is looked at, and the work is long.

    Returns
    -------
    distances, ids : ndarray of shape (n, k); or the path of the folder, with ``to``.

    Raises
    ------
    InputError
        If ``to`` is there already with other answers, or NAME.unfinished was begun with other items, queries or options.
    NotSupportedError
        If ``by`` is given with ``to``, with a path, or without X.
    StorageError
        If another process fills the folder, or it cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from semimetric import DistanceRegressor, NeighborIndex, out_of_core
    >>> pairs = np.random.default_rng(0).random((100, 2, 2))
    >>> model = DistanceRegressor(n_knots=3, alpha=1e-3, tables="warped")
    >>> d = model.fit(pairs, np.abs(pairs[:, 0] - pairs[:, 1]).sum(axis=1)).semimetric_
    >>> X = pairs[:, 0]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     NeighborIndex(d).fit(X).save(Path(folder) / "index")
    ...     distances, ids = out_of_core.kneighbors(Path(folder) / "index", X[:2], n_neighbors=1)
    >>> ids.ravel()
    array([0, 1])
    """
    if by is not None and (to is not None or X is None or isinstance(X, (str, os.PathLike))):
        given = "to=" if to is not None else "X=None" if X is None else f"X={os.fspath(X)!r}"
        raise NotSupportedError(
            f"by={by!r:.80} with {given}: within groups, queries in memory are answered in memory; give X as a frame or an "
            "array and leave out to=, or ask sm.load(folder).kneighbors(by=...)"
        )
    engine, whole = _engine(client), client is not None or X is None or by is not None
    queries = computed(X) if whole or to is not None else None
    how: dict[str, Any] = {"algorithm": algorithm, "n_candidates": n_candidates}
    if to is not None:

        def write(locations: list[ShardLocation]) -> Path:
            request = request_of(locations, n_neighbors, itself=X is None, **how)
            return write_neighbors(engine, locations, queries, request, to, verbose=verbose)

        return read_locations(folder, write, key=key)
    parts = [] if whole else item_rows(X, _item_size(width_of(X), parse_memory(memory_limit)))

    def search(locations: list[ShardLocation]) -> list[Neighbors]:
        def ask(rows: Any) -> Neighbors:
            return nearest(engine, locations, rows, n_neighbors, by=by, verbose=verbose, **how)

        return [ask(queries)] if whole else [part.read_for(ask) for part in parts]

    found = read_locations(folder, search, key=key)
    return np.concatenate([f.distances for f in found]), np.concatenate([f.ids for f in found])


def radius_neighbors(
    folder: Any,
    X: Any,
    radius: float = 1.0,
    *,
    by: str | Sequence[str] | Mapping[str, Any] | None = None,
    client: Any = None,
    key: bytes | None = None,
) -> list[tuple[Floats, NDArray[Any]]]:
    """Return distances and ids of all items within ``radius`` of every row of X, nearest first: two arrays for each row.

    Parameters
    ----------
    folder : as in `kneighbors`
    X : array-like or Dask array of shape (n, n_features), or frame
    radius : float, default 1.0
    by : as in `NeighborIndex.kneighbors`
    client, key : as in `kneighbors`

    Examples
    --------
    >>> from semimetric import out_of_core
    >>> client = out_of_core.connect()  # doctest: +SKIP
    >>> found = out_of_core.radius_neighbors("shards", X, radius=0.5, client=client)  # doctest: +SKIP
    """
    engine, queries = _engine(client), computed(X)
    return read_locations(folder, lambda places: within(engine, places, queries, radius, by=by), key=key)


def kneighbors_graph(
    folder: Any, X: Any, n_neighbors: int = 5, mode: str = "connectivity", *, client: Any = None, key: bytes | None = None
) -> sparse.csr_matrix:
    """Return `kneighbors` as a sparse matrix of shape (n, n_items); columns are in the order of `ShardedIndex.ids_`.

    Parameters
    ----------
    folder, X, n_neighbors : as in `kneighbors`; of X=None every row has its own item's neighbours
    mode : {"connectivity", "distance"}, default "connectivity"
        Entries are ones, or distances.
    client, key : as in `kneighbors`

    Examples
    --------
    >>> from semimetric import out_of_core
    >>> client = out_of_core.connect()  # doctest: +SKIP
    >>> graph = out_of_core.kneighbors_graph("shards", X, n_neighbors=5, client=client)  # doctest: +SKIP
    """
    engine, queries = _engine(client), computed(X)
    return read_locations(folder, lambda places: graph(engine, places, queries, n_neighbors, mode), key=key)


def _engine(client: Any, limit: int | None = None) -> Engine:
    return SerialEngine(limit) if client is None else Cluster(client)


def _dask_transform(engine: Engine, embedding: Any, parts: list[ItemPart]) -> Any:
    n_columns, dtype, meta = next(engine.each(_shape_of, parts[:1], embedding))
    dask, array = optional("dask"), optional("dask.array")
    call, shared = dask.delayed(_transformed, traverse=False), dask.delayed(embedding, traverse=False)
    chunks = [array.from_delayed(call(part, shared), (part.n, n_columns), dtype=dtype, meta=meta) for part in parts]
    return array.concatenate(chunks, allow_unknown_chunksizes=True)


def _transformed(part: ItemPart, embedding: Any) -> Any:
    """Transform one part; an error names the part."""
    try:
        return embedding.transform(part.read()[0])
    except (SemimetricError, ValueError) as error:
        raise InputError(f"{part.name}: {error}") from error


def _shape_of(part: ItemPart, embedding: Any) -> tuple[int, Any, Any]:
    some = _transformed(replace(part, pieces=(part.read()[0][:1],)), embedding)
    return some.shape[1], some.dtype, some[:0]


def _item_size(n_features: int, limit: int) -> int:
    """Return the number of items in a part: each takes several copies of its vector, and some 1,000 bytes in a search."""
    return max(limit // (100 * n_features + 1000), 1)


def recipe_of(model: Any) -> Recipe:
    """Return the recipe of a learner for data in parts; NotSupportedError if it does not learn from these."""
    if not isinstance(model, LearnedDistance):
        raise refuse_parts(model)
    return model.recipe_for_parts()


def fit_tuples(engine: Engine, model: Any, recipe: Recipe, parts: list[TuplePart], table: TupleTable) -> None:
    """Fit the model to parts of tuples by one thread of BLAS."""
    if not parts:
        raise InputError(f"there are 0 parts of {table.spec.called}; at least one is required")
    with one_blas_thread():
        parts, counts = count_tuples(engine, parts, table)
        sample = sample_tuples(engine, parts, counts, table)
        sample.check_targets(table.spec)
        kind = MeasuredDistances if table.spec.measured else ComparisonData
        model.fit_data(recipe, kind.of_parts(engine, parts, table, sample), table.names)


def fit_labeled(
    engine: Engine,
    model: LargeMarginLearner,
    recipe: Recipe,
    parts: Sequence[LabeledPart],
    table: LabeledTable,
    y: Any,
    weight: Any,
    *,
    limit: int,
    scratch: str | os.PathLike[str] | None,
) -> None:
    """Fit the model to parts of labelled items by one thread of BLAS.

    Classes and weights are those of all items; ``limit`` is in bytes, and shards are built in the folder ``scratch``.
    """
    if scratch is not None and not (os.path.isdir(scratch) and os.access(scratch, os.W_OK | os.X_OK)):
        raise InputError(
            f"scratch={str(scratch)!r} is no folder that can be written; make it first, on storage that every worker sees"
        )
    with one_blas_thread():
        counts, y, weight = _read_labels(engine, parts, table, loaded(y), loaded(weight))
        labels = encode_class_labels(y, sum(counts), weight, model.n_targets)
        parts, weights = _used_parts(parts, counts, labels.used, labels.weight)
        codes = labels.codes.astype(np.min_scalar_type(int(labels.codes.max())))
        items = LabeledItems.of_parts(
            engine, parts, table, codes, weights, random_state=recipe.random_state, limit=limit, scratch=scratch
        )
        check_varied(items.example)
        model.fit_data(recipe, items, labels, Schema.numeric(table.names))


def _read_labels(
    engine: Engine, parts: Sequence[LabeledPart], table: LabeledTable, y: Any, weight: Any
) -> tuple[list[int], Any, Any]:
    """The number of items of each part, and classes and weights of all, from arrays or from columns of the parts."""
    if y is None:
        raise InputError("requires y to be passed, but the target y is None; give a class for every item")
    columns = _label_columns(engine, parts, table)
    check_same_kind(parts, columns)
    given_y, given_weight = (None if v is None or isinstance(v, str) else np.asarray(v) for v in (y, weight))
    classes = given_y if table.y is None else np.concatenate([c.y for c in columns if c.y is not None])
    weights = given_weight
    if table.weight is not None:
        weights = np.concatenate([c.weight for c in columns if c.weight is not None])
    return [c.n for c in columns], classes, weights


def _label_columns(engine: Engine, parts: Sequence[LabeledPart], table: LabeledTable) -> list[LabelColumns]:
    """The number of items of each part, and the classes and weights in its columns; parts are read only where needed."""
    counts = [part.n for part in parts]
    if table.y is None and table.weight is None and None not in counts:
        return [LabelColumns(n) for n in counts if n is not None]
    return list(engine.each(read_label_columns, parts, table))


def _used_parts(
    parts: Sequence[LabeledPart], counts: Sequence[int], used: NDArray[np.bool_], weight: NDArray[Any]
) -> tuple[list[LabeledPart], list[NDArray[Any]]]:
    """The parts that have items of weight > 0, with a mask of these items, and the weights of these items."""
    kept, weights, ends = [], [], np.cumsum([0, *counts])
    for part, a, b in zip(parts, ends[:-1], ends[1:], strict=True):
        if used[a:b].any():
            kept.append(part if used[a:b].all() else replace(part, keep=used[a:b]))
            weights.append(weight[a:b][used[a:b]])
    return kept, weights
