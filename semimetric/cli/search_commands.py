"""The commands that apply a distance: ``distance``, ``index``, ``query`` and ``neighbors``, which says why items are near."""

import time
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._foundation.errors import InputError, StorageError, warn
from .._foundation.optional_imports import optional
from .._foundation.types import Floats, Integers
from ..data.keys import no_such_column
from ..data.parts.engine import SerialEngine
from ..data.parts.readers import item_rows
from ..data.payload import Payload
from ..data.tables import Frame, SplitTable
from ..distances.model.item_statistics import warn_outside
from ..distances.model.semimetric import Semimetric
from ..distances.search.files import FILE
from ..distances.search.index import NeighborIndex
from ..distances.search.join import nearest_join
from ..distances.search.shard_files import FILE as SHARDS
from ..distances.search.sharded import ShardedIndex, build_shards, parts_of, with_payload
from ..out_of_core.calls import kneighbors
from ..out_of_core.dask import Cluster
from .dask_client import dask_client
from .model_files import check_all_numeric, check_folder, check_output, load_model, load_unsigned
from .output import CommandResult, shows_progress
from .table_names import form_of_name
from .tables import (
    check_memory,
    columns_of,
    read_frame,
    read_items,
    read_pairs,
    write_table,
)

_BYTES_OF_DISTANCE = 64  # in a table of all: as a number, twice, and as text
_BYTES_OF_NEIGHBOR = 16  # a distance with its place in the order
_MOST_TERMS = 5  # of a distance that --explain prints


def _read_items(d: Semimetric, path: str, arguments: Namespace, names: Sequence[str] = ()) -> SplitTable:
    schema = d.schema.renamed(names) if names else d.schema
    table = read_items(path, schema, arguments.id, arguments=arguments)
    warn_outside(d, schema.encode(table.frame, name=path), source=path)
    return table


def run_distance(arguments: Namespace) -> CommandResult:
    """Return the distances of the pairs in a table, or of all pairs, with a warning of items outside the range of the fit."""
    _check_table(arguments.output, arguments.model, arguments.items, arguments.other, arguments.pairs)
    d = load_model(arguments.model)
    left = _read_items(d, arguments.items, arguments)
    right = _read_items(d, arguments.other, arguments) if arguments.other else left
    values: dict[str, Any]
    if arguments.pairs:
        rows, _ = read_pairs(arguments.pairs, (arguments.left, arguments.right), left, right)
        x, y = left.frame.iloc[rows[:, 0]], right.frame.iloc[rows[:, 1]]
        distances = d.paired(x, y, n_jobs=arguments.n_jobs)
        values = {arguments.left: left.ids[rows[:, 0]], arguments.right: right.ids[rows[:, 1]], "distance": distances}
        frame = optional("pandas").DataFrame(values)
    else:
        n = len(left.ids) * len(right.ids)
        remedy = (
            "name the pairs of interest by --pairs, find the nearest by semimetric index and query, or use "
            "semimetric.out_of_core.pairwise in Python, which writes parts"
        )
        check_memory(_BYTES_OF_DISTANCE * n, f"a table of {n} distances", remedy)
        distances = d.pairwise(left.frame, None if right is left else right.frame, n_jobs=arguments.n_jobs)
        values = {"left": left.ids, "right": right.ids, "distance": distances}
        frame = optional("pandas").DataFrame(distances, columns=[str(name) for name in right.ids])
        frame.insert(0, "item" if "item" not in frame else "item_id", left.ids)
    return _printed_or_written(frame, values, arguments.output, distances.size, f"{distances.size} distances")


def _check_table(output: str | None, *inputs: str | None) -> None:
    """Refuse, before the work, a table that cannot be written."""
    if output is not None:
        check_output(output, *inputs)
        form_of_name(output)


def _printed_or_written(frame: Frame, values: dict[str, Any], output: str | None, n: int, what: str) -> CommandResult:
    """Return a table as the result, or write it to the file ``output`` and return that."""
    if output is None:
        return CommandResult(values, frame.to_csv(index=False).rstrip("\n"))
    write_table(frame, output)
    return CommandResult({"output": output, "n": n}, f"{what} saved as {output}")


def run_index(arguments: Namespace) -> CommandResult:
    """Build an index of a table of items, with its other columns as payload, and save it."""
    _check_output(arguments.output)
    d = load_model(arguments.model)
    items = _read_items(d, arguments.items, arguments)
    X, ids = items.frame, items.ids.astype(str) if items.is_named else None
    categories = [f.name for f in d.schema.features if any(isinstance(category, str) for category in f.categories)]
    columns = columns_of(arguments.items, arguments.id, categories)
    beside = {name: cells for name, cells in columns.items() if name not in X.columns}
    payload = Payload.read(beside, len(X), d.feature_names) if beside else None
    if arguments.shards or arguments.scheduler or arguments.workers:
        check_all_numeric(d, arguments.model, "a sharded index")
        return _index_shards(arguments, d, d.schema.encode(X), ids, payload)
    begin = time.perf_counter()
    index = NeighborIndex(d, n_jobs=arguments.n_jobs)
    index.fit(X, ids=ids, payload=payload)
    seconds = time.perf_counter() - begin
    index.save(arguments.output)
    root = Path(arguments.output)
    size = sum(path.stat().st_size for path in [root / FILE, *(root / "arrays").iterdir()]) / len(X)
    values = {
        "index": arguments.output, "n_items": len(X), "bytes_per_item": size, "seconds": seconds, "columns": list(columns),
    }  # fmt: skip
    text = f"{len(X)} items, {size:.0f} bytes a point on disk, indexed in {seconds:.2f} s\nsaved as {arguments.output}"
    return CommandResult(values, text)


def _index_shards(
    arguments: Namespace, d: Semimetric, X: NDArray[Any], ids: NDArray[Any] | None, payload: Payload | None
) -> CommandResult:
    """Build a sharded index of encoded items."""
    begin = time.perf_counter()
    with dask_client(arguments) as client:
        n_shards = arguments.shards or arguments.workers or max(len(client.nthreads()), 1)
        parts = parts_of(item_rows(X, -(-len(X) // n_shards)), ids)
        parts = parts if payload is None else with_payload(parts, payload)
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
    """Return the nearest items of every row of a table, as a table with one row for each query and neighbour."""
    _check_table(arguments.output, arguments.queries)
    index = _load_index(arguments.index)
    if arguments.k > index.n_samples_fit_:
        raise InputError(f"-k {arguments.k} asks for more than the {index.n_samples_fit_} items of the index; ask for fewer")
    d = index.semimetric
    names = getattr(index, "feature_names_in_", None)
    queries = _read_items(d, arguments.queries, arguments, () if names is None else tuple(names))
    where = arguments.where
    X = queries.frame.to_numpy() if names is None else queries.frame
    with dask_client(arguments) as client:
        if client is not None and where is None:
            distances, ids = kneighbors(arguments.index, X, arguments.k, algorithm=arguments.algorithm, client=client)
        else:
            if isinstance(index, ShardedIndex):
                index.n_jobs = arguments.n_jobs
            else:
                index.set_params(n_jobs=arguments.n_jobs, verbose=shows_progress(arguments))
            distances, ids = index.kneighbors(X, arguments.k, algorithm=arguments.algorithm, where=where)
    if not ids.size:
        warn(f"no item fulfils --where {arguments.where}; the answer is empty")
    n_queries, k = ids.shape
    values = {
        "query": np.repeat(queries.ids.astype(object), k),
        "rank": np.tile(np.arange(1, k + 1), n_queries),
        "id": ids.ravel(),
        "distance": distances.ravel(),
    }
    frame = optional("pandas").DataFrame(values)
    what = f"{len(frame)} neighbours of {len(X)} queries"
    return _printed_or_written(frame, values, arguments.output, len(frame), what)


def run_join(arguments: Namespace) -> CommandResult:
    """Return the rows of a table with their nearest rows of another, or of itself, as a table with a row for each pair."""
    _check_table(arguments.output, arguments.model, arguments.left, arguments.right)
    d = load_model(arguments.model)
    left = _joined_table(d, arguments.left, arguments)
    right = _joined_table(d, arguments.right, arguments) if arguments.right else None
    frame = nearest_join(
        left, right, d, arguments.k, by=arguments.by, radius=arguments.radius, how=arguments.how,
        explain="features" if arguments.explain else None, n_jobs=arguments.n_jobs, verbose=shows_progress(arguments),
    )  # fmt: skip
    if not len(frame):
        warn("no row has a neighbour; the answer is empty")
    values = {name: frame[name].to_numpy() for name in frame}
    return _printed_or_written(frame, values, arguments.output, len(frame), f"{len(frame)} pairs")


def _joined_table(d: Semimetric, path: str, arguments: Namespace) -> Frame:
    """Return the features of a table and the columns that joined rows are equal in, with the ids as its index."""
    items = _read_items(d, path, arguments)
    by = [name for name in arguments.by or () if name not in items.frame]
    columns = columns_of(path, None) if by else {}
    if absent := [name for name in by if name not in columns]:
        raise no_such_column(path, absent[0], list(columns))
    return items.frame.assign(**{name: columns[name] for name in by}).set_axis(items.ids)


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
    root = Path(path)
    if root.is_dir() and not _holds_index(root):
        raise StorageError(f"{path} is a folder without {FILE}, so no index; give the folder that semimetric index wrote")
    index = load_unsigned(path)
    if not isinstance(index, (NeighborIndex, ShardedIndex)):
        raise InputError(f"{path} is a model, not an index; build one with semimetric index {path} items.csv -o FOLDER")
    return index


def run_neighbors(arguments: Namespace) -> CommandResult:
    """Return the nearest items of every row of a table, and the terms of their distances."""
    items = _open_items(arguments)
    d, k = items.d, arguments.k
    id_column = arguments.id if arguments.id in read_frame(arguments.rows).columns else None
    rows = read_items(arguments.rows, d.schema, id_column, arguments=arguments)
    if items.index is None:
        n = len(rows.ids) * len(items.ids)
        remedy = "build an index of the items by semimetric index, and search that"
        check_memory(_BYTES_OF_NEIGHBOR * n, f"a table of {n} distances", remedy)
    warn_outside(d, d.schema.encode(rows.frame), source=rows.name)
    nearest = items.nearest(rows.frame, k)
    values: dict[str, Any] = {
        "query": np.repeat(rows.ids.astype(object), k),
        "rank": np.tile(np.arange(1, k + 1), len(rows.ids)),
        "id": nearest.ids.ravel(),
    }
    if items.labels is not None:
        values["label"] = items.labels[nearest.rows].ravel()
    values["distance"] = nearest.distances.ravel()
    if arguments.explain:
        values["terms"] = _largest_terms(d, rows.frame, items, nearest)
    return CommandResult(values, _neighbors_text(values))


class _NearestItems(NamedTuple):
    """The distances, ids and row numbers of the nearest items, all of shape (n_queries, k), the nearest first."""

    distances: Floats
    ids: NDArray[Any]
    rows: Integers


@dataclass(frozen=True)
class _SearchedItems:
    """The items that are searched under the distance ``d``, from a table or in an index."""

    d: Semimetric
    index: NeighborIndex | None
    frame: Frame  # the features; None of an index if they are not needed
    ids: NDArray[Any]
    labels: NDArray[Any] | None = None

    def nearest(self, queries: Any, k: int) -> _NearestItems:
        """Return the k nearest items of every row of a frame of queries."""
        if self.index is None:
            distances = self.d.pairwise(queries, self.frame)
            rows = np.argsort(distances, axis=1, kind="stable")[:, :k]
            return _NearestItems(np.take_along_axis(distances, rows, axis=1), self.ids.astype(object)[rows], rows)
        is_named = hasattr(self.index, "feature_names_in_")
        distances, ids = self.index.kneighbors(queries if is_named else queries.to_numpy(), k)
        row_of_id = {name: row for row, name in enumerate(self.ids.tolist())}
        return _NearestItems(distances, ids, np.array([[row_of_id[name] for name in line] for line in ids.tolist()]))


def _open_items(arguments: Namespace) -> _SearchedItems:
    opened = load_unsigned(arguments.model)
    if isinstance(opened, Semimetric):
        if not arguments.items:
            raise InputError(f"{arguments.model} is a model, which holds no items; give the table to search with --items")
        table = read_items(arguments.items, opened.schema, arguments.id, arguments.label, arguments=arguments)
        items = _SearchedItems(opened, None, table.frame, table.ids, table.labels)
    elif isinstance(opened, ShardedIndex):
        raise InputError(f"{arguments.model} is a sharded index, and neighbors searches one index; use semimetric query")
    else:
        if arguments.items:
            raise InputError(f"{arguments.model} is an index, which holds its items; leave --items out")
        items = _items_of_index(opened, arguments)
    if arguments.k > len(items.ids):
        raise InputError(f"-k {arguments.k} asks for more than the {len(items.ids)} items that there are; ask for fewer")
    return items


def _items_of_index(index: NeighborIndex, arguments: Namespace) -> _SearchedItems:
    path, label, d = arguments.model, arguments.label, index.semimetric
    if not arguments.explain and not label:
        return _SearchedItems(d, index, None, index.ids_)
    frame = optional("pandas").DataFrame(index.get_items(index.ids_), columns=list(d.feature_names))
    beside = () if index.payload_ is None else index.payload_.names
    if label and label not in beside and label not in frame:
        known = ", ".join([*beside, *frame])
        raise InputError(f"the items of {path} have no column {label!r}, but {known}; correct the name, or build it again")
    labels = index.get_payload(index.ids_)[label] if label in beside else frame[label] if label else None
    return _SearchedItems(d, index, frame, index.ids_, None if labels is None else labels.to_numpy())


def _largest_terms(d: Semimetric, queries: Any, items: _SearchedItems, nearest: _NearestItems) -> list[list[tuple[str, float]]]:
    names = d.contribution_names("features")
    terms = []
    for query, neighbors in enumerate(nearest.rows):
        repeated_query = queries.iloc[np.full(len(neighbors), query)]
        for parts in d.contributions(repeated_query, items.frame.iloc[neighbors], by="features"):
            largest = np.argsort(-parts, kind="stable")[:_MOST_TERMS]
            terms.append([(names[t], float(parts[t])) for t in largest if parts[t] > 0])
    return terms


def _neighbors_text(values: Mapping[str, Any]) -> str:
    lines = []
    for k, (query, rank) in enumerate(zip(values["query"], values["rank"], strict=True)):
        if rank == 1:
            lines.append(f"{'row ' if isinstance(query, int) else ''}{query}")
        label = f" ({values['label'][k]})" if "label" in values else ""
        line = f"  {rank}. {values['id'][k]}{label} at {values['distance'][k]:.4g}"
        if "terms" in values:
            terms = ", ".join(f"{name} {part:.3g}" for name, part in values["terms"][k])
            line += f": {terms or 'equal in every feature'}"
        lines.append(line)
    return "\n".join(lines)
