"""An index as a folder: one verified file that says what belongs to it, and arrays named by their digests.

    index.smm          the distance, cells and small arrays, and the names of the large ones (see `_foundation.storage`)
    arrays/SHA256.npy  large arrays, which can be mapped into memory

Arrays are written first, then ``index.smm`` is renamed over the old one, then arrays that nothing names are deleted: a
process killed at any moment leaves the last consistent index. FAISS's structures are never written; they are rebuilt from
the codes.
"""

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from .._foundation.array_files import ARRAY_FILE, write_array
from .._foundation.errors import StorageError
from .._foundation.members import Members, located, refused_as_stored
from .._foundation.storage import State, read_state, read_whole, write_state
from .._foundation.unfinished import discard, undoing, uninterrupted
from .._kernels.simplex import Located
from ..distances.semimetric import Semimetric
from .cells import CellLayout
from .query_tables import QueryView
from .segment import Segment
from .stored_segments import FILE, read_segments, storage_of

__all__ = ["StoredIndex", "write_segments"]

_UNFINISHED_FILE = re.compile(r"\..*\.part")
_SAVED = ("side", "algorithm", "n_lists", "n_probe", "n_candidates", "storage", "n_jobs", "random_state", "verbose")


class StoredIndex:
    """The part of `NeighborIndex` that saves it and reads it back."""

    segments_: list[Segment]
    layout_: CellLayout
    _view: QueryView
    n_features_in_: int

    def __init__(self, semimetric: Semimetric, **parameters: Any) -> None: ...

    @property
    def semimetric_(self) -> Semimetric:
        """The distance that is searched under."""
        return self._view.semimetric

    def save(self, path: str | os.PathLike[str], *, key: bytes | None = None) -> None:
        """Write the index to a folder; `semimetric.load` reads it. With ``key`` it is signed, see ``docs/files.md``.

        Saved again after `add` or `remove`, only what is new is written, and the old index stays whole until then. The
        callable ``rerank`` is not saved: give it again by ``set_params``.
        """
        check_is_fitted(self)
        names, values = getattr(self, "feature_names_in_", None), self.parameter_values
        values["n_features_in"] = self.n_features_in_
        values["feature_names_in"] = None if names is None else list(names)
        write_segments(path, self._view.semimetric, self.segments_, values, key=key)

    @property
    def parameter_values(self) -> dict[str, Any]:
        """The parameters that a file keeps, as values that JSON can hold: all but the distance and ``rerank``."""
        given = {name: getattr(self, name) for name in _SAVED} | {"side": self._view.side}
        return {name: v.item() if isinstance(v, np.generic) else v for name, v in given.items()}

    @classmethod
    def of_values(cls, semimetric: Semimetric, side: str, values: Members) -> Any:
        """An index without items, of the `parameter_values` of another, which are checked."""
        whole = (int, type(None))
        index: Any = cls(
            semimetric, side=side, algorithm=values.text("algorithm"), n_lists=values.typed("n_lists", (int, str)),
            n_probe=values.whole("n_probe"), n_candidates=values.typed("n_candidates", whole),
            storage=storage_of(values),
            n_jobs=values.typed("n_jobs", whole), random_state=values.seed("random_state"),
            verbose=values.typed("verbose", (bool, int)),
        )  # fmt: skip
        index._check_parameters()
        return index

    @classmethod
    def _load(
        cls, path: str | os.PathLike[str], *, mmap: bool, base_distances: Sequence[object], key: bytes | None = None
    ) -> Any:
        semimetric, segments, values = read_whole(
            Path(path) / FILE, lambda: read_segments(path, mmap=mmap, base_distances=base_distances, key=key)
        )
        view = segments[0].view
        with located(path), refused_as_stored("the index"):
            index = cls.of_values(semimetric, view.side, values)
            n, names = values.whole("n_features_in"), values.any("feature_names_in")
            if names is not None:
                index.feature_names_in_ = np.array(Members({"names": names}).list_of("names", str), dtype=object)
            if n != semimetric.n_features or (names is not None and len(names) != n):
                raise StorageError(
                    f"there are {n} features, or names of others; {semimetric.n_features} are required: restore it"
                )
            values.done()
        index.segments_, index.layout_, index._view = segments, segments[0].cells.layout, view
        index.n_features_in_ = n
        return index


def write_segments(
    folder: str | os.PathLike[str],
    semimetric: Semimetric,
    segments: Sequence[Segment],
    values: dict[str, Any],
    *,
    key: bytes | None = None,
) -> None:
    """Write an index to ``folder``, which is made, or which holds an index already.

    ``values`` are what JSON can hold of the index: its parameters and the names of its features.
    """
    root = Path(folder)
    if root.exists() and not (root / FILE).is_file() and not _is_unfinished(root):
        raise StorageError(f"{root} is there and is no index; give another folder")
    if not root.parent.is_dir():
        raise StorageError(f"cannot save to {root}: the folder {root.parent} does not exist; create it first")
    if (root / "arrays").is_symlink():
        raise StorageError(f"cannot save to {root}: its folder of arrays is a link to somewhere else; give another folder")
    try:
        with undoing(partial(_undo, root, key, is_new=not root.exists())):
            root.mkdir(exist_ok=True)
            (root / "arrays").mkdir(exist_ok=True)
            state, used = _with_arrays_written(root, semimetric, segments, values)
            with uninterrupted():
                write_state(root / FILE, state, key=key)
                _keep_only(root, used)
    except OSError as error:
        reason = error.strerror or error
        raise StorageError(f"{root} could not be written ({reason}); save elsewhere, or make room") from error


def _with_arrays_written(
    root: Path, semimetric: Semimetric, segments: Sequence[Segment], values: dict[str, Any]
) -> tuple[State, set[str]]:
    """Write the large arrays of an index; its state, which says which these are, and the names of their files."""
    model, layout = semimetric.to_state(), segments[0].cells.layout
    small = {f"model_{name}": array for name, array in model.arrays.items()} | _layout_arrays(layout)
    large = []
    for k, segment in enumerate(segments):
        cells = segment.cells
        small |= {f"low_{k}": cells.low, f"high_{k}": cells.high, f"typical_{k}": cells.typical}
        small |= {f"share_{k}_{g}": share for g, share in enumerate(cells.shares)}
        large.append({name: write_array(root / "arrays", array) for name, array in _large_arrays(segment).items()})
    groups = [{"group": list(b.group), "cuts": len(b.cuts)} for b in layout.boxes]
    stored = values | {"model": dict(model.values), "boxes": groups, "segments": large}
    return State("NeighborIndex", stored, small), _array_files(large)


def _array_files(segments: Sequence[Mapping[str, str]]) -> set[str]:
    """The names of the files that hold the large arrays of segments, which are given by their digests."""
    return {f"{digest}.npy" for digests in segments for digest in digests.values()}


def _keep_only(root: Path, used: set[str]) -> None:
    """Delete all arrays of indexes but those that are used; what else lies in the folder is none of ours."""
    with suppress(FileNotFoundError):  # the folder was never made
        for path in (root / "arrays").iterdir():
            if path.name not in used and (ARRAY_FILE.fullmatch(path.name) or _UNFINISHED_FILE.fullmatch(path.name)):
                path.unlink(missing_ok=True)


def _undo(root: Path, key: bytes | None, *, is_new: bool) -> None:
    """Delete what a save that failed has left: all that the old index does not name, or the folder if it is new."""
    if is_new and not (root / FILE).is_file():
        discard(root)
        return
    with suppress(StorageError):  # nobody knows what an index names that is damaged, or signed with another key
        old = read_state(root / FILE, key=key).values["segments"] if (root / FILE).is_file() else []
        _keep_only(root, _array_files(old))


def _large_arrays(segment: Segment) -> dict[str, NDArray[Any]]:
    """The arrays of a segment that grow with the number of items, by the names under which they are saved."""
    points = segment.points
    arrays = {"raw": points.raw, "ids": segment.ids, "alive": segment.alive}
    if segment.lists is not None:
        arrays |= {"member": segment.lists.member, "centroids": segment.lists.codes}
    if segment.graph is not None:
        arrays |= {f"graph_{field.name}": getattr(segment.graph, field.name) for field in fields(segment.graph)}
    if points.places is not None:  # A file is to be small: places, joint features and codes are found again from the items.
        return arrays
    arrays |= {"positions": points.positions, "codes": segment.codes.packed}
    if points.joint is not None:
        arrays |= dict(zip(Located._fields, points.joint.located, strict=True)) | {"order": points.joint.order}
    return arrays


def _is_unfinished(root: Path) -> bool:
    """Whether the folder is empty, or holds no more than arrays of a first save that did not end."""
    if not root.is_dir() or any(p.name != "arrays" and not _UNFINISHED_FILE.fullmatch(p.name) for p in root.iterdir()):
        return False
    arrays = root / "arrays"
    return not arrays.exists() or all(
        ARRAY_FILE.fullmatch(p.name) or _UNFINISHED_FILE.fullmatch(p.name) for p in arrays.iterdir()
    )


def _layout_arrays(layout: CellLayout) -> dict[str, NDArray[Any]]:
    """The arrays of a layout by the names under which they are saved."""
    cuts = {f"cut_{g}_{k}": cut for g, boxes in enumerate(layout.boxes) for k, cut in enumerate(boxes.cuts)}
    return cuts | {"edges": layout.edges, "column": layout.column, "step": layout.step, "count": layout.count}
