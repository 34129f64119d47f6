"""The commands that search: ``index`` builds an index of a table of items, ``query`` asks it."""

import time
from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import distributed
from .._foundation.errors import InputError, StorageError, warn
from .._foundation.optional_imports import optional
from ..data.parts.engine import SerialEngine
from ..data.parts.readers import item_rows
from ..distances.out_of_range import warn_outside
from ..distances.semimetric import Semimetric
from ..neighbors.index import NeighborIndex
from ..neighbors.sharded.shard_files import FILE as SHARDS
from ..neighbors.sharded.sharded_index import ShardedIndex, build_shards, parts_of
from ..neighbors.storage import FILE
from ..out_of_core.dask_engine import Cluster, cluster_of
from ..persistence import load
from .index_columns import columns_of, read_columns, write_columns
from .numeric_tables import check_table_name, read_items, write_table
from .pair_commands import CommandResult, at_terminal, check_folder, check_numbers, load_model
from .where_conditions import read_conditions, rows_where

__all__ = ["run_index", "run_query"]


def run_index(arguments: Namespace) -> CommandResult:
    """Index a table of items, and keep its columns beside the index."""
    _check_output(arguments.output)
    d = load_model(arguments.model)
    items = read_items(arguments.items, arguments.id)
    X = items.features(d.feature_names)
    warn_outside(d, X, source=items.path)
    ids, begin = np.array(items.ids, dtype=str) if items.named else None, time.perf_counter()
    if arguments.shards or arguments.scheduler or arguments.workers:
        return _index_shards(arguments, d, X, ids)
    columns = columns_of(items, arguments.id)
    index = NeighborIndex(d, n_jobs=arguments.n_jobs)
    index.fit(_frame(X, d.feature_names), ids=ids)
    seconds = time.perf_counter() - begin
    index.save(arguments.output)
    size = _bytes(arguments.output) / len(X)
    write_columns(arguments.output, columns)
    values = {
        "index": arguments.output, "n_items": len(X), "bytes_per_item": size, "seconds": seconds, "columns": list(columns),
    }  # fmt: skip
    text = f"{len(X)} items, {size:.0f} bytes a point on disk, indexed in {seconds:.2f} s\nsaved as {arguments.output}"
    return CommandResult(values, text)


def _index_shards(arguments: Namespace, d: Semimetric, X: NDArray, ids: NDArray | None) -> CommandResult:
    """A sharded index; columns of the items are not kept, since its items may move."""
    begin = time.perf_counter()
    with cluster_of(arguments) as client:
        n = arguments.shards or arguments.workers or max(len(client.nthreads()), 1)
        parts = parts_of(item_rows(X, -(-len(X) // n)), ids)
        shards = build_shards(
            SerialEngine() if client is None else Cluster(client), arguments.output, d, parts, n_jobs=arguments.n_jobs
        )
    seconds = time.perf_counter() - begin
    size = sum(path.stat().st_size for path in Path(arguments.output).rglob("*") if path.is_file()) / len(X)
    values = {
        "index": arguments.output, "n_items": len(X), "n_shards": len(shards), "bytes_per_item": size, "seconds": seconds,
    }  # fmt: skip
    text = f"{len(X)} items in {len(shards)} shards, {size:.0f} bytes a point on disk, indexed in {seconds:.2f} s"
    return CommandResult(values, f"{text}\nsaved as {arguments.output}")


def run_query(arguments: Namespace) -> CommandResult:
    """The nearest items of every row of a table: one row a query and neighbour."""
    if arguments.output:
        check_folder(arguments.output)
        check_table_name(arguments.output)
    if arguments.where is not None:
        read_conditions(arguments.where)  # say before the work that it cannot be read
    index = _load_index(arguments.index)
    sharded = isinstance(index, ShardedIndex)
    if sharded and arguments.where is not None:
        raise InputError(f"--where needs the columns of the items, which the sharded index {arguments.index} does not keep")
    if arguments.k > index.n_samples_fit_:
        raise InputError(f"-k {arguments.k} asks for more than the {index.n_samples_fit_} items of the index; ask for fewer")
    d = index.semimetric
    check_numbers(d, arguments.index)
    names = tuple(getattr(index, "feature_names_in_", d.feature_names))
    queries = read_items(arguments.queries, arguments.id)
    X = queries.features(names)
    warn_outside(d, X, source=queries.path)
    where = None if arguments.where is None else _where(arguments.index, arguments.where)
    asked = _frame(X, names) if hasattr(index, "feature_names_in_") else X
    with cluster_of(arguments) as client:
        if client is not None and where is None:
            distances, ids = distributed.kneighbors(client, arguments.index, asked, arguments.k, algorithm=arguments.algorithm)
        else:
            distances, ids = _asked(index, arguments, asked, where)
    values = {
        "query": np.repeat(np.array(queries.ids, dtype=object), ids.shape[1]),
        "rank": np.tile(np.arange(1, ids.shape[1] + 1), len(ids)), "id": ids.ravel(), "distance": distances.ravel(),
    }  # fmt: skip
    frame = optional("pandas").DataFrame(values)
    if not arguments.output:
        return CommandResult(values, frame.to_csv(index=False).rstrip("\n"))
    write_table(frame, arguments.output)
    text = f"{len(frame)} neighbours of {len(X)} queries saved as {arguments.output}"
    return CommandResult({"output": arguments.output, "n": len(frame)}, text)


def _asked(index: Any, arguments: Namespace, X: Any, where: NDArray | None) -> tuple[NDArray, NDArray]:
    """Answers in this process."""
    if isinstance(index, ShardedIndex):
        index.n_jobs = arguments.n_jobs
        return index.kneighbors(X, arguments.k, algorithm=arguments.algorithm)
    index.set_params(n_jobs=arguments.n_jobs, verbose=at_terminal())
    return index.kneighbors(X, arguments.k, algorithm=arguments.algorithm, where=where)


def _check_output(path: str) -> None:
    """Say before the work that an index cannot be written there."""
    check_folder(path)
    root = Path(path)
    if (
        root.exists()
        and not any((root / file).is_file() for file in (FILE, SHARDS))
        and (not root.is_dir() or any(root.iterdir()))
    ):
        raise StorageError(f"{path} is there and is no index; give another folder")


def _load_index(path: str) -> NeighborIndex | ShardedIndex:
    root = Path(path)
    if root.is_dir() and not (root / FILE).is_file() and not (root / SHARDS).is_file():
        raise StorageError(f"{path} is a folder without {FILE}, so no index; give the folder that semimetric index wrote")
    index = load(path)
    if not isinstance(index, (NeighborIndex, ShardedIndex)):
        raise InputError(f"{path} is a model, not an index; build one with semimetric index {path} items.csv -o FOLDER")
    return index


def _where(path: str, condition: str) -> NDArray[np.bool_]:
    mask = rows_where(condition, read_columns(path))
    if not mask.any():
        warn(f"no item fulfils --where {condition}; the answer is empty")
    return mask


def _frame(X: NDArray, names: Any) -> Any:
    return optional("pandas").DataFrame(X, columns=list(names))


def _bytes(folder: str) -> int:
    """Of the index; columns are not counted."""
    root = Path(folder)
    return sum(path.stat().st_size for path in [root / FILE, *(root / "arrays").iterdir()])
