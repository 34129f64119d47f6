"""Reading saved objects: the explicit table of what a file may hold."""

import os
from collections.abc import Sequence

from ._errors import StorageError
from ._storage import read_state
from .distance import Semimetric

__all__ = ["load"]

_CLASSES = {"Semimetric": Semimetric}


def load(path: str | os.PathLike[str], *, base_distances: Sequence[object] = ()) -> Semimetric:
    """Read a saved distance; no code in the file is run.

    Parameters
    ----------
    path : path-like
    base_distances : sequence of callables
        The known distances that the model was fitted with, in the same order; each is checked against stored values.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    StorageError
        If the file is foreign, truncated, altered or newer, or the base distances are not those of the model.
    """
    state = read_state(path)
    if state.kind not in _CLASSES:
        raise StorageError(f"{path} holds a {state.kind}, which this version cannot read; upgrade semimetric")
    return _CLASSES[state.kind].from_state(state, base_distances)
