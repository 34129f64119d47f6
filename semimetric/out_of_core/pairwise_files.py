"""All distances between two sets of items, tile by tile into one file: Zarr, or a folder of Parquet files of rows.

A tile below the diagonal of a symmetric distance is the transpose of the one above it. So the bits are those of
`Semimetric.pairwise`. The file has another name until it is complete, so that a file of the given name is never incomplete.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._foundation.errors import InputError, SemimetricError, StorageError
from .._foundation.files import real_path
from .._foundation.optional_imports import optional
from .._foundation.types import Floats
from .._foundation.unfinished import unfinished_folder
from ..data.parts.engine import Engine
from ..data.parts.row_parts import LazyRows
from ..distances.model.semimetric import Semimetric

Side = Sequence[tuple[str, Any]]  # the name and the rows of each part


def path_to_write(to: str | os.PathLike[str], suffixes: Sequence[str], must: str) -> Path:
    """Return the path of a result in a folder that is there, whose name has one of the suffixes; ``must`` says this."""
    target = real_path(to)
    if target.suffix not in suffixes:
        raise InputError(f"to={str(to)!r} must {must}; give such a name")
    if not target.parent.is_dir():
        raise InputError(f"there is no folder {target.parent} for {target.name}; make it first")
    return target


def _checked_target(to: str | os.PathLike[str]) -> Path:
    target = path_to_write(to, (".zarr", ".parquet"), "end in .zarr or .parquet")
    if target.exists():
        raise InputError(f"{target} is there already; delete it, or give another name")
    return target


def write_pairwise(engine: Engine, d: Semimetric, left: Side, right: Side | None, to: str | os.PathLike[str]) -> Path:
    """Write the distances of all rows of ``left`` to all of ``right`` (of ``left`` if None) to a new file; its path."""
    target = _checked_target(to)
    across = left if right is None else right
    counts, others = ([*engine.each(_count, list(side), d)] for side in (left, across))
    mirrored = right is None and d.embedding.symmetric and not d.base_distances
    tasks = [(k, *part, [rows for _, rows in across]) for k, part in enumerate(left)]
    if target.suffix == ".zarr" and len({*counts[:-1]} | {max(counts)}) > 1:  # two workers must not write to one chunk
        raise InputError(
            f"parts of the rows have {min(counts)} to {max(counts)} rows, and Zarr needs one length; rechunk, or write .parquet"
        )
    try:
        with unfinished_folder(target) as begun:
            if target.suffix == ".zarr":
                shape, chunks = (sum(counts), sum(others)), (counts[0], max(others))
                optional("zarr").open_array(str(begun), mode="w", shape=shape, chunks=chunks, dtype="f8")
            for _ in engine.each(_write_rows, tasks, d, str(begun), target.suffix, (counts, others), mirrored):
                pass
            os.replace(begun, target)
    except OSError as error:
        raise StorageError(
            f"{target} could not be written ({error.strerror or error}); make room, or write elsewhere"
        ) from error
    return target


def _read(name: str, rows: Any, d: Semimetric) -> Floats:
    """The rows of a part as the schema of the distance encodes them, shape (n, n_features); an error names the part."""
    table = rows.read() if isinstance(rows, LazyRows) else rows
    try:
        if hasattr(table, "columns"):
            table = table[list(d.feature_names)]
        if not len(table):
            raise InputError("it is empty; every part needs some rows: leave it out, or repartition")
        return d.schema.encode(table)
    except (SemimetricError, ValueError, KeyError) as error:
        raise InputError(f"{name}: {error}") from error


def _count(part: tuple[str, Any], d: Semimetric) -> int:
    """The number of rows of a part, which are checked, so that errors come before anything is written."""
    return len(_read(*part, d))


def _write_rows(
    task: tuple[int, str, Any, list[Any]], d: Semimetric, path: str, suffix: str, counts: tuple[list[int], ...], mirrored: bool
) -> None:
    i, name, rows, across = task
    x, stripe = _read(name, rows, d), []
    first, starts = sum(counts[0][:i]), np.cumsum([0, *counts[1]]).tolist()
    for j, other in enumerate(across):
        tile = _tile(d, x, None if mirrored and i == j else _read(name, other, d), mirrored and j < i)
        if suffix == ".zarr":
            array = optional("zarr").open_array(path, mode="r+")
            array[first : first + len(x), starts[j] : starts[j + 1]] = tile
        else:
            stripe.append(tile)
    if stripe:
        values, pandas = np.hstack(stripe), optional("pandas")
        frame = pandas.DataFrame(values, columns=[str(k) for k in range(values.shape[1])])
        frame.to_parquet(Path(path) / f"part-{i:06d}.parquet")


def _tile(d: Semimetric, x: Floats, y: Floats | None, below: bool) -> Floats:
    """Distances of the rows x to the rows y (to x if None); below the diagonal as the transpose of those of y to x."""
    return d.pairwise(x, y) if y is None or not below else d.pairwise(y, x).T
