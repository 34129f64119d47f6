"""More data than memory, on one machine: mapped arrays and Parquet files part by part, under a memory limit that is given.

    fit(model, "pairs.parquet", "distance", memory_limit="2 GiB")

The limit is for the memory of parts and of sums over them, besides what the process holds already. The same calls for several
machines, with a Dask client as first argument, are in `semimetric.out_of_core.distributed`; both do the same work in the same order.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._foundation.errors import InputError, StorageError
from .._foundation.threads import one_blas_thread
from .._foundation.types import Floats
from ..data.parts.engine import Engine, SerialEngine
from ..data.parts.labeled_parts import (
    LabelColumns,
    LabeledPart,
    LabeledTable,
    check_same_kind,
    labeled_parts,
    loaded,
    read_label_columns,
    survey_items,
)
from ..data.parts.readers import item_rows, tuple_parts, width_of
from ..data.parts.row_parts import LazyRows, parse_memory
from ..data.parts.tuples import TuplePart, TupleTable, count_tuples, survey_tuples
from ..data.schema import Schema
from ..distances.estimators.base import LearnedDistance
from ..distances.estimators.part_tasks import ItemTask, TupleTask, refuse_parts
from ..distances.learning.comparisons import PartitionedComparisons
from ..distances.learning.items import PartitionedItems, drawn_rows, encode_class_labels
from ..distances.learning.large_margin import N_DRAWN
from ..distances.learning.measured import PartitionedDistances
from ..distances.learning.structure import check_varied
from ..distances.model.semimetric import Semimetric
from ..distances.search.items import Neighbors
from ..distances.search.shard_files import ShardLocation, read_locations
from ..distances.search.sharded import nearest
from .pairwise_files import write_pairwise


def task_of(model: Any) -> TupleTask | ItemTask:
    """The task of learning from data in parts that a learner gives.

    Raises
    ------
    NotSupportedError
        If it does not learn from parts, or not with these parameters.
    """
    if not isinstance(model, LearnedDistance):
        raise refuse_parts(model)
    return model.part_task()


def fit_tuples(engine: Engine, model: Any, task: TupleTask, parts: list[TuplePart], table: TupleTable) -> Any:
    """Learn from parts of tuples by one thread of BLAS; the model is returned."""
    if not parts:
        raise InputError(f"there are 0 parts of {table.spec.called}; at least one is required")
    with one_blas_thread():
        parts, counts = count_tuples(engine, parts, table)
        survey = survey_tuples(engine, parts, counts, table)
        survey.check_targets(table.spec)
        check_varied(survey.items)
        kind = PartitionedDistances if table.spec.measured else PartitionedComparisons
        return model.learn_from_parts(task, kind(engine, parts, table, survey), table.names)


def labeled_parts_of(task: ItemTask, X: Any, y: Any, weight: Any, limit: int) -> tuple[list[LabeledPart], LabeledTable]:
    """`labeled_parts`, of as many items each as the task can work on in half of ``limit`` bytes."""
    return labeled_parts(X, y, weight, max(limit // 2 // task.item_bytes(width_of(X)), 1))


def fit_labeled(
    engine: Engine,
    model: Any,
    task: ItemTask,
    parts: Sequence[LabeledPart],
    table: LabeledTable,
    y: Any,
    weight: Any,
    *,
    limit: int,
    scratch: str | os.PathLike[str] | None,
) -> Any:
    """Learn from parts of labelled items by one thread of BLAS; the model is returned.

    Parameters
    ----------
    engine : Engine
    model : LearnedDistance
    task : ItemTask
        The task that the model has given.
    parts : sequence of LabeledPart
    table : LabeledTable
    y, weight : array, path of a .npy file, name of a column, or None
        Classes and weights of all items.
    limit : int
        Bytes that parts and sums may take.
    scratch : path-like or None
        The folder in which shards are built; None for that of the system.
    """
    if scratch is not None and not (os.path.isdir(scratch) and os.access(scratch, os.W_OK | os.X_OK)):
        raise InputError(
            f"scratch={str(scratch)!r} is no folder that can be written; make it first, on storage that every worker sees"
        )
    with one_blas_thread():
        counts, y, weight = _read_labels(engine, parts, table, loaded(y), loaded(weight))
        labels = encode_class_labels(y, sum(counts), weight, task.rule.n_targets)
        parts, weights = _used_parts(parts, counts, labels.used, labels.weight)
        counts = list(map(len, weights))
        rows = np.unique(drawn_rows(sum(counts), N_DRAWN, task.recipe.random_state))
        survey = survey_items(engine, parts, table, counts, rows, task.recipe.random_state)
        check_varied(survey.items)
        codes = labels.codes.astype(np.min_scalar_type(int(labels.codes.max())))
        items = PartitionedItems(engine, parts, table, codes, weights, survey, limit, scratch)
        return model.learn_from_parts(task, items, labels, Schema.numeric(table.names))


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


M = TypeVar("M", bound=LearnedDistance)
T = TypeVar("T")


def fit(
    model: M,
    pairs: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    memory_limit: str | int = "1 GiB",
    scratch: str | os.PathLike[str] | None = None,
) -> M:
    """Learn from pairs, triplets, quadruplets or labelled items that need not fit into memory; ``model`` is fitted, returned.

    A first pass finds the range of the items and the sample of them that knots are placed among, the same as ``fit`` takes,
    and checks everything. Least squares then needs one more pass, which adds up second moments. Other losses are learned by
    the solver that ``fit`` takes, or by `FirstOrder` if that is given: every product with the rows, and every sum of second
    moments, takes a pass. `LargeMarginLearner` searches a `ShardedIndex` for targets and impostors.

    Parameters
    ----------
    model : DistanceRegressor, PairLearner, TripletLearner, QuadrupletLearner or LargeMarginLearner
        With numbers for ``n_knots`` and ``alpha``, and ``directions`` (``tables`` too) that are not found by comparing. The
        ``preprocessor`` may be mapped, or the path of a .npy file.
    pairs : array of shape (n, size, n_features), or path; for LargeMarginLearner of shape (n, n_features)
        Such an array, or row numbers (n, size) of the ``preprocessor``: in memory, mapped, or as the path of a .npy file; or
        the path of a Parquet file or a folder of them, with columns ``left.NAME`` and ``right.NAME`` of every feature (of
        triplets ``i``, ``j``, ``l``; of quadruplets ``a``, ``b``, ``c``, ``e``), or ``left`` and ``right`` that hold row
        numbers. Labelled items have a column a feature.
    y : array of shape (n,), path of a .npy file, or name of a column
        As the learner's ``fit`` takes it: None for triplets.
    sample_weight : as y, or None
    memory_limit : str or int
        Bytes, or text such as "2 GiB". Numbers for triplets are needed besides: some 2.5 kB a labelled item of 18 triplets.
    scratch : path-like or None
        Folder for the index of labelled items while they are learned from; the temporary folder of the system by default.
        What a killed process has left there is deleted by the next such call.

    Raises
    ------
    NotSupportedError
        If the model cannot be learned from parts.
    InputError
        If a part cannot be used, naming it, or the limit is too small for the second moments.

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
    limit = parse_memory(memory_limit)
    engine, task = SerialEngine(limit), task_of(model)
    if isinstance(task, ItemTask):
        items, item_table = labeled_parts_of(task, pairs, y, sample_weight, limit)
        return fit_labeled(engine, model, task, items, item_table, y, sample_weight, limit=limit, scratch=scratch)
    spec = task.targets
    parts, table = tuple_parts(pairs, spec.targets(y), sample_weight, model.preprocessor, spec, limit=limit)
    return fit_tuples(engine, model, task, parts, table)


def transform(embedding: Any, X: Any, *, memory_limit: str | int = "1 GiB") -> Iterator[Any]:
    """The results of ``embedding.transform`` for the rows of X, part after part.

    Parameters
    ----------
    embedding : fitted transformer, such as an embedding, or a distance or learner with ``tables="warped"``
    X : array of shape (n, n_features), mapped or not, or path of a .npy file or of Parquet
    memory_limit : str or int

    Yields
    ------
    ndarray or sparse matrix
        The rows of a part.

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
    for rows in item_rows(X, _item_size(width_of(X), parse_memory(memory_limit))):
        yield _call(embedding.transform, rows)


def pairwise(d: Semimetric, X: Any, Y: Any = None, *, to: Any, memory_limit: str | int = "1 GiB") -> Path:
    """Distances of all rows of X to all rows of Y (of X if None), shape (n, m), in a new file: `Semimetric.pairwise`.

    Parameters
    ----------
    d : Semimetric
    X, Y : array of shape (n, n_features), mapped or not, or path of a .npy file or of Parquet
    to : path-like
        NAME.zarr, one array; or NAME.parquet, a folder of files, a part of the rows each. It is complete or not there at all.
    memory_limit : str or int

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
    size = max(int((parse_memory(memory_limit) / 2 / 8) ** 0.5), 1)
    sides = [None if side is None else [(r.name, r) for r in item_rows(side, size, even=False)] for side in (X, Y)]
    return write_pairwise(SerialEngine(), d, sides[0] or [], sides[1], to)


def kneighbors(
    folder: Any,
    X: Any,
    n_neighbors: int = 5,
    *,
    algorithm: str | None = None,
    n_candidates: int | None = None,
    memory_limit: str | int = "1 GiB",
    key: bytes | None = None,
) -> tuple[Floats, NDArray[Any]]:
    """Distances and ids (n, k) of the nearest items of a saved index, sharded or not, for many queries.

    Parameters
    ----------
    folder : path-like
        What `NeighborIndex.save` or `ShardedIndex.build` wrote; its items are mapped.
    X : array of shape (n, n_features), mapped or not, or path of a .npy file or of Parquet
    n_neighbors : int
    algorithm, n_candidates : as in `NeighborIndex.kneighbors`
    memory_limit : str or int
        For the queries; the answers are held in memory besides.
    key : bytes or None
        The key that the folder was signed with, if it was.

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
    parts = item_rows(X, _item_size(width_of(X), parse_memory(memory_limit)))

    def search(places: list[ShardLocation]) -> list[Neighbors]:
        ask = partial(nearest, SerialEngine(), places, k=n_neighbors, algorithm=algorithm, n_candidates=n_candidates)
        return [_call(lambda queries: ask(X=queries), rows) for rows in parts]

    found = read_locations(folder, search, key=key)
    return np.concatenate([f.distances for f in found]), np.concatenate([f.ids for f in found])


def _call(function: Callable[[Any], T], rows: LazyRows) -> T:
    """The result of ``function`` for the rows of a part; an error names the part."""
    try:
        return function(rows.read())
    except StorageError:
        raise
    except ValueError as error:
        raise InputError(f"{rows.name}: {error}") from error


def _item_size(n_features: int, limit: int) -> int:
    """The number of items in a part: each takes several copies of its vector, and some 1,000 bytes in a search."""
    return max(limit // (100 * n_features + 1000), 1)
