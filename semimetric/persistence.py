"""Reading saved objects: the explicit table of what a file may hold."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ._foundation.errors import StorageError
from ._foundation.storage import read_state
from .distances.semimetric import Semimetric
from .neighbors.index import NeighborIndex
from .neighbors.sharded.shard_files import FILE as SHARDS
from .neighbors.sharded.sharded_index import ShardedIndex

__all__ = ["load"]

_CLASSES = {"Semimetric": Semimetric}


def load(
    path: str | os.PathLike[str], *, base_distances: Sequence[object] = (), mmap: bool = False
) -> Semimetric | NeighborIndex | ShardedIndex:
    """Read a saved distance (a file), index or sharded index (folders); no code in the files is run.

    Parameters
    ----------
    path : path-like
    base_distances : sequence of callables
        The known distances that the model was fitted with, in the same order; each is checked against stored values.
    mmap : bool
        Map the items of an index into memory instead of reading them: the codes are read, the rest as it is needed. Every
        file is verified against its digest first, which reads it once.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    StorageError
        If a file is foreign, truncated, altered or newer, or the base distances are not those of the model.
    """
    if os.path.isfile(os.path.join(path, SHARDS)):
        return ShardedIndex(path, mmap=mmap, base_distances=base_distances)
    if os.path.isdir(path):
        return NeighborIndex._load(path, mmap=mmap, base_distances=base_distances)
    state = read_state(path)
    if state.kind not in _CLASSES:
        raise StorageError(f"{path} holds a {state.kind}, which this version cannot read; upgrade semimetric")
    return _CLASSES[state.kind].from_state(state, base_distances)
