"""Saved distances that a command reads, and the folders of the files that it writes."""

import os
from pathlib import Path

from .._foundation.errors import InputError, NotSupportedError, SignedFileError, StorageError
from .._foundation.estimator import SavedEstimator
from .._foundation.files import real_path
from ..distances.model.semimetric import Semimetric
from ..distances.search.index import NeighborIndex
from ..distances.search.sharded import ShardedIndex
from ..persistence import load


def load_whole(path: str) -> Semimetric | NeighborIndex | ShardedIndex | SavedEstimator:
    """Load what was saved at ``path``; the command line has no keys, so what is signed is refused."""
    try:
        return load(path)
    except SignedFileError as error:
        raise StorageError(
            f"{path} is signed, and the command line opens no signed files; load it in Python by semimetric.load(path, key=...)"
        ) from error


def load_unsigned(path: str) -> Semimetric | NeighborIndex | ShardedIndex:
    """Load what was saved at ``path``, of an estimator its distance; see `load_whole`."""
    return searchable(load_whole(path), path)


def searchable(
    found: Semimetric | SavedEstimator | NeighborIndex | ShardedIndex, path: str
) -> Semimetric | NeighborIndex | ShardedIndex:
    """Return what was loaded from ``path``, of an estimator its distance."""
    if not isinstance(found, SavedEstimator):
        return found
    if not hasattr(found, "semimetric_"):
        raise InputError(
            f"{path} holds {type(found).__name__}, which has learned no distance; load it in Python by semimetric.load(path)"
        )
    return found.semimetric_


def load_model(path: str) -> Semimetric:
    """Return the distance that was saved at ``path``; of a fitted estimator the one that it has learned."""
    d = load_unsigned(path)
    if not isinstance(d, Semimetric):
        raise InputError(f"{path} is an index, not a model; give the file that semimetric fit wrote")
    return d


def check_all_numeric(d: Semimetric, path: str, what: str) -> None:
    """Refuse a distance with categorical features for ``what`` takes numbers only; ``path`` says where it came from."""
    categorical = [f.name for f in d.schema.features if f.kind == "categorical"]
    if categorical:
        raise NotSupportedError(
            f"{path} has the categorical feature {categorical[0]!r}, and {what} takes features of numbers; use it in Python, "
            "where what semimetric.load(path) gives takes frames"
        )


def check_folder(path: str) -> None:
    """Refuse, before the work, a file name whose folder does not exist, or cannot be written to."""
    folder = real_path(path).parent
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder} for {path}; make it first")
    if not os.access(folder, os.W_OK):
        raise InputError(f"the folder {folder} for {path} cannot be written to; allow it, or give another folder")


def check_output(path: str, *inputs: str | None) -> None:
    """Refuse, before the work, a file that cannot be written, and one of the ``inputs``, which would be lost."""
    check_folder(path)
    if Path(path).is_dir():
        raise InputError(f"{path or '.'} is a folder; give the name of a file to write")
    for source in inputs:
        if source is not None and Path(path).exists() and Path(source).exists() and Path(path).samefile(source):
            raise InputError(f"{path} is what the command reads, and would be lost; give another file to write")
