"""The commands that search: ``index`` builds an index of a table of items, and ``query`` finds the nearest items in it."""

import time
from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._foundation.errors import InputError, StorageError, warn
from .._foundation.optional_imports import optional
from ..data.conditions import read_condition
from ..data.parts.engine import SerialEngine
from ..data.parts.readers import item_rows
from ..distances.model.semimetric import Semimetric
from ..distances.search.files import FILE
from ..distances.search.index import NeighborIndex
from ..distances.search.shard_files import FILE as SHARDS
from ..distances.search.sharded import ShardedIndex, build_shards, parts_of
from ..out_of_core.calls import kneighbors
from ..out_of_core.dask import Cluster
from .dask_client import dask_client
from .index_columns import columns_of, read_columns, write_columns
from .model_files import check_all_numeric, check_folder, check_output, load_model, load_unsigned
from .model_items import read_model_items
from .output import CommandResult, shows_progress, tell_unused
from .table_files import check_table_name, write_table


def run_index(arguments: Namespace) -> CommandResult:
    """Build an index of a table of items, save it, and write the columns of the table beside it."""
    _check_output(arguments.output)
    d = load_model(arguments.model)
    items = read_model_items(d, arguments.items, arguments.id)
    tell_unused(arguments, items)
    X = items.features
    ids = np.array(items.ids, dtype=str) if items.named else None
    if arguments.shards or arguments.scheduler or arguments.workers:
        check_all_numeric(d, arguments.model, "a sharded index")
        return _index_shards(arguments, d, items.encoded, ids)
    begin = time.perf_counter()
    categories = [f.name for f in d.schema.features if any(isinstance(category, str) for category in f.categories)]
    columns = columns_of(arguments.items, arguments.id, categories)
    index = NeighborIndex(d, n_jobs=arguments.n_jobs)
    index.fit(X, ids=ids)
    seconds = time.perf_counter() - begin
    index.save(arguments.output)
    size = _bytes_of_index(arguments.output) / len(X)
    write_columns(arguments.output, columns)
    values = {
        "index": arguments.output, "n_items": len(X), "bytes_per_item": size, "seconds": seconds, "columns": list(columns),
    }  # fmt: skip
    text = f"{len(X)} items, {size:.0f} bytes a point on disk, indexed in {seconds:.2f} s\nsaved as {arguments.output}"
    return CommandResult(values, text)


def _index_shards(arguments: Namespace, d: Semimetric, X: NDArray[Any], ids: NDArray[Any] | None) -> CommandResult:
    """Build a sharded index; it keeps no columns of the items, since an update may move items between shards."""
    begin = time.perf_counter()
    with dask_client(arguments) as client:
        n_shards = arguments.shards or arguments.workers or max(len(client.nthreads()), 1)
        parts = parts_of(item_rows(X, -(-len(X) // n_shards)), ids)
        engine = SerialEngine() if client is None else Cluster(client)
        shards = build_shards(engine, arguments.output, d, parts, n_jobs=arguments.n_jobs)
    seconds = time.perf_counter() - begin
    size = sum(path.stat().st_size for path in Path(arguments.output).rglob("*") if path.is_file()) / len(X)
    values = {
        "index": arguments.output, "n_items": len(X), "n_shards": len(shards), "bytes_per_item": size, "seconds": seconds,
    }  # fmt: skip
    text = f"{len(X)} items in {len(shards)} shards, {size:.0f} bytes a point on disk, indexed in {seconds:.2f} s"
    return CommandResult(values, f"{text}\nsaved as {arguments.output}")


def run_query(arguments: Namespace) -> CommandResult:
    """The nearest items of every row of a table, as a table with one row for each query and neighbour."""
    _check_query(arguments)
    index = _load_index(arguments.index)
    if arguments.k > index.n_samples_fit_:
        raise InputError(f"-k {arguments.k} asks for more than the {index.n_samples_fit_} items of the index; ask for fewer")
    d = index.semimetric
    names = getattr(index, "feature_names_in_", None)
    queries = read_model_items(d, arguments.queries, arguments.id, () if names is None else tuple(names))
    tell_unused(arguments, queries)
    where = None if arguments.where is None else _eligible(arguments.where, arguments.index, index)
    X = queries.features.to_numpy() if names is None else queries.features
    with dask_client(arguments) as client:
        if client is not None and where is None:
            algorithm = arguments.algorithm
            distances, ids = kneighbors(arguments.index, X, arguments.k, algorithm=algorithm, client=client)
        else:
            distances, ids = _search_here(index, arguments, X, where)
    if not ids.size:
        warn(f"no item fulfils --where {arguments.where}; the answer is empty")
    n_queries, k = ids.shape
    values = {
        "query": np.repeat(np.array(queries.ids, dtype=object), k),
        "rank": np.tile(np.arange(1, k + 1), n_queries),
        "id": ids.ravel(),
        "distance": distances.ravel(),
    }
    frame = optional("pandas").DataFrame(values)
    if arguments.output is None:
        return CommandResult(values, frame.to_csv(index=False).rstrip("\n"))
    write_table(frame, arguments.output)
    text = f"{len(frame)} neighbours of {len(X)} queries saved as {arguments.output}"
    return CommandResult({"output": arguments.output, "n": len(frame)}, text)


def _check_query(arguments: Namespace) -> None:
    """Refuse, before the work, a file that cannot be written."""
    if arguments.output is not None:
        check_output(arguments.output, arguments.queries)
        check_table_name(arguments.output)


def _search_here(
    index: Any, arguments: Namespace, X: Any, where: NDArray[Any] | str | None
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Search in this process: distances and ids, shape (n_queries, k), of the items that ``where`` lets answer."""
    if isinstance(index, ShardedIndex):
        index.n_jobs = arguments.n_jobs
    else:
        index.set_params(n_jobs=arguments.n_jobs, verbose=shows_progress(arguments))
    return index.kneighbors(X, arguments.k, algorithm=arguments.algorithm, where=where)


def _check_output(path: str) -> None:
    """Refuse, before the work, a file and a folder with anything but an index in it."""
    check_folder(path)
    root = Path(path)
    is_free = not root.exists() or (root.is_dir() and not any(root.iterdir()))
    if not is_free and not _holds_index(root):
        raise StorageError(f"{path} is there and is no index; give another folder")


def _holds_index(root: Path) -> bool:
    return any((root / file).is_file() for file in (FILE, SHARDS))


def _load_index(path: str) -> NeighborIndex | ShardedIndex:
    """The index in a folder; a folder without one, and a model, are refused."""
    root = Path(path)
    if root.is_dir() and not _holds_index(root):
        raise StorageError(f"{path} is a folder without {FILE}, so no index; give the folder that semimetric index wrote")
    index = load_unsigned(path)
    if not isinstance(index, (NeighborIndex, ShardedIndex)):
        raise InputError(f"{path} is a model, not an index; build one with semimetric index {path} items.csv -o FOLDER")
    return index


def _eligible(condition: str, path: str, index: NeighborIndex | ShardedIndex) -> NDArray[np.bool_] | str:
    """What `kneighbors` takes for a condition on all columns of the items; a sharded index knows their features only."""
    return condition if isinstance(index, ShardedIndex) else read_condition(condition).holds(read_columns(path))


def _bytes_of_index(folder: str) -> int:
    """Size of the files of an index, without those of its columns."""
    root = Path(folder)
    return sum(path.stat().st_size for path in [root / FILE, *(root / "arrays").iterdir()])
