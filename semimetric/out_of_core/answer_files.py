"""Answers to many queries in a folder of .npy or Parquet files: whole or not there, and a next call finishes it.

    NAME.unfinished/   what is to become NAME; it stays if the call ends early, and the same call goes on with the rest
    NAME/              distances.npy and ids.npy, (n, k) each; or part-000000.parquet, ... with a row for each neighbour
        _run.smm       the digests of what was asked, and the blocks that are complete

What a block holds is on the disc before the block is called complete. A call that asks for anything else is refused.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._foundation.errors import InputError, StorageError
from .._foundation.files import State, header_of, read_state, write_beside, write_state
from .._foundation.optional_imports import optional
from .._foundation.progress import progress_bar
from .._foundation.stored import Members, located
from .._foundation.unfinished import resumable_folder
from ..data.parts.engine import Engine
from ..data.parts.readers import item_rows
from ..data.parts.row_parts import LazyRows, add_to_digest
from ..distances.search.items import Neighbors
from ..distances.search.segment import SearchRequest
from ..distances.search.shard_files import ShardLocation
from ..distances.search.shard_search import QueryRows, SearchTraffic, blocks_of_items, search_blocks, summaries
from .pairwise_files import path_to_write

RUN, _KIND = "_run.smm", "NeighborFiles"
_BLOCK = 8192  # queries of a block
_RECORDED = 5.0  # seconds after which complete blocks are recorded


def _digest_of_rows(parts: Sequence[LazyRows], verbose: bool | None) -> str:
    """Return SHA-256 of the values of arrays or frames, which are read part by part."""
    total = hashlib.sha256()
    with progress_bar(len(parts), "reading queries", verbose=verbose, unit="part") as bar:
        for part in parts:
            add_to_digest(total, part.read())
            bar.update()
    return total.hexdigest()


def _digest_of_items(locations: Sequence[ShardLocation]) -> str:
    """Return SHA-256 of the names and digests of shards, which hold the distance and the items."""
    total = hashlib.sha256(json.dumps([(p.shard.digest, p.shard.n, p.distance) for p in locations]).encode())
    return total.hexdigest()


class _AnswerColumns:
    """An array (n, k) in a .npy file that is written block by block, without a map: a full disc is an error then."""

    def __init__(self, path: Path, shape: tuple[int, int], dtype: np.dtype) -> None:
        self.path, self.shape, self.dtype = path, shape, dtype

    def begin(self) -> None:
        """Make the file."""
        with self.path.open("wb") as file:
            file.write(header_of(np.broadcast_to(np.zeros((), self.dtype), self.shape)))
            file.truncate(file.tell() + math.prod(self.shape) * self.dtype.itemsize)

    def check(self) -> None:
        """Refuse a file of another dtype, shape or size."""
        found = np.load(self.path, mmap_mode="r")
        if found.shape != self.shape or found.dtype != self.dtype:
            raise ValueError(f"it holds {found.dtype} of shape {found.shape}")

    def write(self, start: int, values: NDArray[Any]) -> None:
        """Write rows from ``start`` on, to the disc."""
        size = math.prod(self.shape) * self.dtype.itemsize
        with self.path.open("r+b") as file:
            file.seek(os.fstat(file.fileno()).st_size - size + start * self.shape[1] * self.dtype.itemsize)
            file.write(np.ascontiguousarray(values, dtype=self.dtype).tobytes())
            file.flush()
            os.fsync(file.fileno())


class NeighborFiles:
    """The neighbours of many queries in the folder of an unfinished run; a new run is begun if the folder is empty.

    A run is what was asked, by name: digests of items and queries, and options. InputError if another run is in the folder.
    """

    def __init__(
        self, folder: Path, run: Mapping[str, Any], starts: Sequence[int], k: int, dtype: np.dtype, suffix: str
    ) -> None:
        """Open the files of blocks that begin at ``starts`` and end at the last of them."""
        self.folder, self.run, self.k, self.suffix = folder, dict(run), k, suffix
        self._number, shape = {start: number for number, start in enumerate(starts[:-1])}, (starts[-1], k)
        arrays = {} if suffix else {"distances": np.dtype(np.float64), "ids": dtype}
        self._columns = [_AnswerColumns(folder / f"{name}.npy", shape, own) for name, own in arrays.items()]
        self.done, self.traffic, self._recorded = set[int](), SearchTraffic(), monotonic()
        if (folder / RUN).exists():
            self._go_on()
        else:
            for column in self._columns:
                column.begin()
            self.record()

    def _go_on(self) -> None:
        run, done, self.traffic = read_run(self.folder)
        if differ := [name for name, value in self.run.items() if run.get(name) != value]:
            raise InputError(
                f"{self.folder} was begun with other {differ[0]}; call with the same, or delete that folder to begin anew"
            )
        try:
            for column in self._columns:
                column.check()
        except (OSError, ValueError) as error:
            raise StorageError(f"{self.folder} cannot be gone on with ({error}); delete that folder to begin anew") from error
        self.done = {n for n in done if n in self._number and (not self.suffix or self._part(n).is_file())}

    def _part(self, number: int) -> Path:
        return self.folder / f"part-{self._number[number]:06d}.parquet"

    def record(self) -> None:
        """Record which blocks are complete."""
        values = {"run": self.run, "done": sorted(self.done), "traffic": asdict(self.traffic)}
        write_state(self.folder / RUN, State(_KIND, values))
        self._recorded = monotonic()

    def write(self, start: int, found: Neighbors) -> None:
        """Write the answers to the block of queries that begins at ``start``."""
        if self.suffix:
            n = len(found.ids)
            columns = {"query": np.repeat(np.arange(start, start + n), self.k), "rank": np.tile(np.arange(1, self.k + 1), n)}
            frame = optional("pandas").DataFrame(columns | {"id": found.ids.ravel(), "distance": found.distances.ravel()})
            write_beside(self._part(start), lambda file: frame.to_parquet(file, index=False))
        for column, values in zip(self._columns, (found.distances, found.ids), strict=False):
            column.write(start, values)
        self.done.add(start)
        if monotonic() - self._recorded > _RECORDED:
            self.record()


def read_run(folder: Path) -> tuple[dict[str, Any], set[int], SearchTraffic]:
    """Return the run that a folder of answers is of, the first queries of the complete blocks, and the traffic so far."""
    state = read_state(folder / RUN)
    if state.kind != _KIND:
        raise StorageError(f"{folder / RUN} holds a {state.kind}, not a run of queries; delete the folder to begin anew")
    with located(folder / RUN):
        members = Members(state.values, state.arrays)
        run, done, counts = members.typed("run", (dict,)), members.list_of("done", int), Members(members.any("traffic"))
        members.done()
        return run, set(done), SearchTraffic(**{f.name: counts.whole(f.name) for f in fields(SearchTraffic)})


def write_neighbors(
    engine: Engine,
    locations: Sequence[ShardLocation],
    X: Any,
    request: SearchRequest,
    to: str | os.PathLike[str],
    *,
    verbose: bool | None,
) -> Path:
    """Write the nearest items of all rows of X, of every item if X is None, to a folder; a run that was stopped goes on."""
    target = path_to_write(to, ("", ".parquet"), "end in .parquet, or have no suffix for a folder of .npy files")
    index, blocks, digest = locations[0].open(), blocks_of_items(locations), ""
    if X is not None:
        parts = item_rows(index.encode(X) if hasattr(X, "columns") else X, _BLOCK, even=False)
        starts = np.cumsum([0, *map(len, parts)]).tolist()
        blocks = [QueryRows(a, len(p), partial(p.read_for, index.encode)) for a, p in zip(starts[:-1], parts, strict=True)]
        digest = _digest_of_rows(parts, verbose)
    starts = [*(rows.start for rows in blocks), sum(rows.n for rows in blocks)]
    k = request.k - (X is None)
    run: dict[str, Any] = {"items": _digest_of_items(locations), "queries": digest, "options": [str(v) for v in request]}
    if target.exists():
        if (target / RUN).is_file() and run.items() <= read_run(target)[0].items():
            return target
        raise InputError(f"{target} is there already, and holds something else; delete it, or give another name")
    dtype = np.result_type(*(s.dtype for s in summaries(engine, locations)))
    try:
        with resumable_folder(target) as folder:
            run |= {"blocks": len(blocks)} if X is None else {}  # Another version may divide items otherwise.
            files = NeighborFiles(folder, run, starts, k, dtype, target.suffix)
            rest = [rows for rows in blocks if rows.start not in files.done]
            try:
                search_blocks(
                    engine, locations, rest, request, lambda rows, found: files.write(rows.start, found),
                    traffic=files.traffic, verbose=verbose,
                )  # fmt: skip
            finally:
                files.record()
            os.replace(folder, target)
    except OSError as error:
        raise StorageError(
            f"{target} could not be written ({error.strerror or error}); make room, and call again to go on"
        ) from error
    return target
