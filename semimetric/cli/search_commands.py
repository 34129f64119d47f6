"""The commands that apply a distance: ``distance``, ``index``, ``query`` and ``neighbors``, which says why items are near."""

import time
from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._foundation.errors import InputError, StorageError, warn
from .._foundation.optional_imports import optional
from .._foundation.types import Floats
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
from .tables import check_memory, columns_of, read_frame, read_items, read_pairs, write_table

_BYTES_OF_DISTANCE = 64  # in a table of all: as a number, twice, and as text
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
    index, table = _searched_items(arguments)
    d = index.semimetric_
    id_column = arguments.id if arguments.id in read_frame(arguments.rows).columns else None
    rows = read_items(arguments.rows, d.schema, id_column, arguments=arguments)
    warn_outside(d, d.schema.encode(rows.frame), source=rows.name)
    frame = nearest_join(
        rows.frame if hasattr(index, "feature_names_in_") else rows.frame.to_numpy(), index, k=arguments.k,
        explain="features" if arguments.explain else None, verbose=shows_progress(arguments),
    )  # fmt: skip
    near = frame["right"].to_numpy()
    values: dict[str, Any] = {
        "query": rows.ids.astype(object)[frame["left"]],
        "rank": frame["rank"].to_numpy(),
        "id": near if table is None else table.ids.astype(object)[near],
    }
    if arguments.label:
        values["label"] = _labels(index, table, near, arguments.label)
    values["distance"] = frame["distance"].to_numpy()
    if arguments.explain:
        names = d.contribution_names("features")
        values["terms"] = [_largest_terms(names, parts) for parts in frame.iloc[:, 4:].to_numpy()]
    return CommandResult(values, _neighbors_text(values))


def _searched_items(arguments: Namespace) -> tuple[NeighborIndex, SplitTable | None]:
    """Return the index of the items that are searched, with their table if it was made of one: row numbers are its ids."""
    path, label, table, index = arguments.model, arguments.label, None, load_unsigned(arguments.model)
    if isinstance(index, Semimetric):
        if not arguments.items:
            raise InputError(f"{path} is a model, which holds no items; give the table to search with --items")
        table = read_items(arguments.items, index.schema, arguments.id, label, arguments=arguments)
        index = NeighborIndex(index, verbose=shows_progress(arguments)).fit(table.frame)
    elif isinstance(index, ShardedIndex):
        raise InputError(f"{path} is a sharded index, and neighbors searches one index; use semimetric query")
    elif arguments.items:
        raise InputError(f"{path} is an index, which holds its items; leave --items out")
    elif label and label not in (known := [*_payload_names(index), *index.semimetric_.feature_names]):
        raise InputError(
            f"the items of {path} have no column {label!r}, but {', '.join(known)}; correct the name, or build it again"
        )
    if arguments.k > len(index):
        raise InputError(f"-k {arguments.k} asks for more than the {len(index)} items that there are; ask for fewer")
    return index, table


def _payload_names(index: NeighborIndex) -> Sequence[str]:
    return () if index.payload_ is None else index.payload_.names


def _labels(index: NeighborIndex, table: SplitTable | None, ids: NDArray[Any], label: str) -> NDArray[Any]:
    """Return a column of items by id: that of their table, or of an index one of its payload, or else a feature."""
    if table is not None and table.labels is not None:
        return table.labels[ids]
    if label in _payload_names(index):
        frame = index.get_payload(ids)
    else:
        frame = optional("pandas").DataFrame(index.get_items(ids), columns=list(index.semimetric_.feature_names))
    labels: NDArray[Any] = frame[label].to_numpy()
    return labels


def _largest_terms(names: Sequence[str], parts: Floats) -> list[tuple[str, float]]:
    largest = np.argsort(-parts, kind="stable")[:_MOST_TERMS]
    return [(names[t], float(parts[t])) for t in largest if parts[t] > 0]


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
