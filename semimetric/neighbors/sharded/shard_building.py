"""How a folder of shards is built: a shard of every part of the items, then one step that makes them the index."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._foundation.errors import InputError, SemimetricError
from ...data.parts.engine import Engine
from ...data.parts.row_parts import LazyRows
from ...distances.semimetric import Semimetric
from ..ids import check_ids
from ..index import NeighborIndex
from .shard_files import Shard, building, distance_digest, new_root, save_shard, switch

__all__ = ["ItemPart", "build_shards", "parts_of"]


@dataclass(frozen=True, eq=False)
class ItemPart:
    """The items of one shard, read or still to be read.

    Attributes
    ----------
    name : str
        How errors call the part.
    pieces : tuple of LazyRows, arrays or tables
        The rows of the items, one after the other.
    ids : int, str, tuple of arrays or LazyRows, or None
        The number of the first item, the column that holds the ids, or the ids.
    n : float
        The number of items, NaN where only reading tells.
    """

    name: str
    pieces: tuple[Any, ...]
    ids: Any
    n: float = np.nan

    def read(self) -> tuple[Any, Any]:
        """The items and their ids (None where they are numbered)."""
        read = [p.read() if isinstance(p, LazyRows) else p for p in self.pieces]
        if not sum(map(len, read)):
            raise InputError("it is empty; every shard needs at least one item: leave it out, or repartition")
        X = np.concatenate([np.asarray(p) for p in read]) if len(read) > 1 else read[0]
        ids = self.ids
        if isinstance(ids, str):
            if not all(ids in getattr(p, "columns", ()) for p in read):
                raise InputError(f"it has no column {ids!r} for ids; name another, or add it")
            ids = np.concatenate([np.asarray(p[ids]) for p in read])
            X = np.concatenate([np.asarray(p.drop(columns=self.ids), dtype=np.float64) for p in read])
        elif isinstance(ids, tuple):
            ids = np.concatenate([p.read() if isinstance(p, LazyRows) else np.asarray(p) for p in ids])
        return X, ids


def parts_of(rows: Sequence[LazyRows], ids: Any) -> list[ItemPart]:
    """A part for each of the rows, with its ids: given in all, in a column of that name, or numbered from the first row on."""
    starts = np.cumsum([0, *map(len, rows)]).tolist()
    if ids is None or isinstance(ids, str):
        return [ItemPart(r.name, (r,), start if ids is None else ids) for r, start in zip(rows, starts, strict=False)]
    given = check_ids(ids, starts[-1], unique=False)
    return [ItemPart(r.name, (r,), (given[a:b],)) for r, a, b in zip(rows, starts[:-1], starts[1:], strict=True)]


def build_shards(
    engine: Engine,
    folder: str | os.PathLike[str],
    semimetric: Semimetric,
    parts: Sequence[ItemPart],
    *,
    n_jobs: int | None = None,
    key: bytes | None = None,
    storage: str = "float64",
) -> list[Shard]:
    """Build a shard of every part, check that ids are distinct across them, and make them the index in ``folder``."""
    with new_root(folder) as root, building(root) as built:
        saved = list(engine.each(_built_shard, list(parts), str(built), semimetric, n_jobs, storage))
        shards = [shard for shard, _ in saved]
        _check_distinct([part.name for part in parts], saved)
        switch(root, distance_digest(semimetric), shards, built, key=key)
    return shards


def _built_shard(
    part: ItemPart, root: str, semimetric: Semimetric, n_jobs: int | None, storage: str
) -> tuple[Shard, NDArray[Any] | None]:
    """The saved shard of a part, and its ids if they were given."""
    try:
        X, ids = part.read()
        numbered = np.arange(part.ids, part.ids + len(X)) if ids is None or isinstance(ids, int) else ids
        index = NeighborIndex(semimetric, n_jobs=n_jobs, storage=storage).fit(X, ids=numbered)
    except (SemimetricError, ValueError) as error:
        raise InputError(f"{part.name}: {error}") from error
    shard = save_shard(root, index)
    return shard, None if isinstance(part.ids, int) else index.ids_


def _check_distinct(names: Sequence[str], built: Sequence[tuple[Shard, NDArray[Any] | None]]) -> None:
    """Refuse ids that two shards share, or that are integers in one and text in another."""
    every = [ids for _, ids in built if ids is not None]
    if len(every) < len(built):  # Items without ids are numbered on from shard to shard.
        return
    kinds = [shard.kind for shard, _ in built]
    if len(set(kinds)) > 1:
        other = next(k for k, kind in enumerate(kinds) if kind != kinds[0])
        raise InputError(f"ids of {names[0]} and of {names[other]} are of different kinds; integers or strings in all: convert")
    ids = np.concatenate(every)
    order = np.argsort(ids, kind="stable")
    same = np.flatnonzero(ids[order][1:] == ids[order][:-1])
    if len(same):
        owner = np.repeat(np.arange(len(built)), [s.n for s, _ in built])
        a, b = owner[order[same[0]]], owner[order[same[0] + 1]]
        raise InputError(f"id {ids[order[same[0]]]} is in {names[a]} and in {names[b]}; ids must be distinct: give others")
