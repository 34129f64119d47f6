"""An index as a folder: one verified file that says what belongs to it, and arrays named by their digests.

    index.smm          the distance, cells and small arrays, and the names of the large ones (see `_foundation.storage`)
    arrays/SHA256.npy  large arrays, which can be mapped into memory

Arrays are written first, then ``index.smm`` is renamed over the old one, then arrays that nothing names are deleted: a
process killed at any moment leaves the last consistent index. FAISS's structures are never written; they are rebuilt from
the codes.
"""

import hashlib
import io
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from .._foundation.errors import StorageError
from .._foundation.storage import State, file_digest, read_state, read_whole, write_beside, write_state
from .._foundation.unfinished import discard, uninterrupted
from .._kernels.simplex import Located
from ..distances.semimetric import Semimetric
from ..embeddings.pairs.base import Items
from .cells import CellLayout, Cells
from .inverted_lists import Lists
from .joint_cells import Boxes
from .query_tables import ItemArrays, QueryView
from .segment import Segment

__all__ = ["FILE", "StoredIndex", "read_segments", "write_segments"]

FILE = "index.smm"
_ARRAY_FILE, _UNFINISHED_FILE = re.compile(r"[0-9a-f]{64}\.npy"), re.compile(r"\..*\.part")
_SAVED = ("side", "algorithm", "n_lists", "n_probe", "n_candidates", "n_jobs", "random_state", "verbose")


class StoredIndex:
    """The part of `NeighborIndex` that saves it and reads it back."""

    segments_: list[Segment]
    layout_: CellLayout
    _view: QueryView
    n_features_in_: int

    def __init__(self, semimetric: Semimetric, **parameters: Any) -> None: ...

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the index to a folder; `semimetric.load` reads it.

        Saved again after `add` or `remove`, only what is new is written, and the old index stays whole until then. The
        callable ``rerank`` is not saved: give it again by ``set_params`` or at the call of `load`.
        """
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        given = {name: getattr(self, name) for name in _SAVED} | {"side": self._view.side}
        values = {name: v.item() if isinstance(v, np.generic) else v for name, v in given.items()}
        values["n_features_in"] = self.n_features_in_
        values["feature_names_in"] = None if names is None else list(names)
        write_segments(path, self._view.semimetric, self.segments_, values)

    @classmethod
    def _load(cls, path: str | os.PathLike[str], *, mmap: bool, base_distances: Sequence[object]) -> Any:
        semimetric, segments, values = read_whole(
            Path(path) / FILE, lambda: read_segments(path, mmap=mmap, base_distances=base_distances)
        )
        index: Any = cls(semimetric, **{name: values[name] for name in _SAVED})
        index.segments_, index.layout_, index._view = segments, segments[0].cells.layout, segments[0].view
        index.n_features_in_ = values["n_features_in"]
        if values["feature_names_in"] is not None:
            index.feature_names_in_ = np.array(values["feature_names_in"], dtype=object)
        return index


def write_segments(
    folder: str | os.PathLike[str], semimetric: Semimetric, segments: Sequence[Segment], values: dict[str, Any]
) -> None:
    """Write an index to ``folder``, which is made, or which holds an index already.

    ``values`` are what JSON can hold of the index: its parameters and the names of its features.
    """
    root = Path(folder)
    if root.exists() and not (root / FILE).is_file() and not _is_unfinished(root):
        raise StorageError(f"{root} is there and is no index; give another folder")
    if not root.parent.is_dir():
        raise StorageError(f"cannot save to {root}: the folder {root.parent} does not exist; create it first")
    is_new = not root.exists()
    try:
        root.mkdir(exist_ok=True)
        (root / "arrays").mkdir(exist_ok=True)
        state, used = _with_arrays_written(root, semimetric, segments, values)
        with uninterrupted():
            write_state(root / FILE, state)
            _keep_only(root, used)
    except BaseException as error:
        _undo(root, is_new=is_new)
        if isinstance(error, OSError):
            reason = error.strerror or error
            raise StorageError(f"{root} could not be written ({reason}); save elsewhere, or make room") from error
        raise


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
        large.append({name: _write_array(root / "arrays", array) for name, array in _large_arrays(segment).items()})
    groups = [{"group": list(b.group), "cuts": len(b.cuts)} for b in layout.boxes]
    stored = values | {"model": dict(model.values), "boxes": groups, "segments": large}
    return State("NeighborIndex", stored, small), _array_files(large)


def _array_files(segments: Sequence[Mapping[str, str]]) -> set[str]:
    """The names of the files that hold the large arrays of segments, which are given by their digests."""
    return {f"{digest}.npy" for digests in segments for digest in digests.values()}


def _keep_only(root: Path, used: set[str]) -> None:
    """Delete all arrays but those that are used."""
    with suppress(FileNotFoundError):  # the folder was never made
        for path in (root / "arrays").iterdir():
            if path.name not in used:
                path.unlink(missing_ok=True)


def _undo(root: Path, *, is_new: bool) -> None:
    """Delete what a save that failed has left: all that the old index does not name, or the folder if it is new."""
    if is_new and not (root / FILE).is_file():
        discard(root)
        return
    with suppress(StorageError):  # nobody knows what the old index names
        _keep_only(root, _array_files(read_state(root / FILE).values["segments"]) if (root / FILE).is_file() else set())


def _large_arrays(segment: Segment) -> dict[str, NDArray[Any]]:
    """The arrays of a segment that grow with the number of items, by the names under which they are saved."""
    points = segment.points
    arrays = {"raw": points.raw, "positions": points.positions, "codes": segment.codes, "ids": segment.ids}
    arrays["alive"] = segment.alive
    if segment.lists is not None:
        arrays |= {"member": segment.lists.member, "centroids": segment.lists.codes}
    if points.joint is not None:
        arrays |= dict(zip(Located._fields, points.joint.located, strict=True)) | {"order": points.joint.order}
    return arrays


def _is_unfinished(root: Path) -> bool:
    """Whether the folder is empty, or holds no more than arrays of a first save that did not end."""
    if not root.is_dir() or any(p.name != "arrays" and not _UNFINISHED_FILE.fullmatch(p.name) for p in root.iterdir()):
        return False
    arrays = root / "arrays"
    return not arrays.exists() or all(
        _ARRAY_FILE.fullmatch(p.name) or _UNFINISHED_FILE.fullmatch(p.name) for p in arrays.iterdir()
    )


def _write_array(folder: Path, array: NDArray[Any]) -> str:
    """Write an array to a file named by its digest, unless there is such a file; return the digest."""
    array = np.ascontiguousarray(array)
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(array))
    content = (header.getvalue(), array.reshape(-1).view(np.uint8).data if array.size else b"")
    digest = hashlib.sha256(content[0])
    digest.update(content[1])
    target = folder / f"{digest.hexdigest()}.npy"
    if not target.is_file() or target.stat().st_size != sum(map(len, content)):
        write_beside(target, lambda file: file.writelines(content))
    return digest.hexdigest()


def _layout_arrays(layout: CellLayout) -> dict[str, NDArray[Any]]:
    """The arrays of a layout by the names under which they are saved."""
    cuts = {f"cut_{g}_{k}": cut for g, boxes in enumerate(layout.boxes) for k, cut in enumerate(boxes.cuts)}
    return cuts | {"edges": layout.edges, "column": layout.column, "step": layout.step, "count": layout.count}


def read_segments(
    folder: str | os.PathLike[str], *, mmap: bool, base_distances: Sequence[object]
) -> tuple[Semimetric, list[Segment], dict[str, Any]]:
    """Read what `write_segments` wrote: the distance, the segments and the values.

    Raises
    ------
    FileNotFoundError
        If there is no such folder.
    StorageError
        If a file is missing, foreign, truncated, altered or newer.
    """
    root = Path(folder)
    state = read_state(root / FILE)
    if state.kind != "NeighborIndex":
        raise StorageError(f"{root / FILE} holds a {state.kind}, not an index; it was put there by something else: restore it")
    values, small = dict(state.values), dict(state.arrays)
    prefix = "model_"
    model = State("Semimetric", values["model"], {n[len(prefix) :]: a for n, a in small.items() if n.startswith(prefix)})
    semimetric = Semimetric.from_state(model, base_distances)
    view, layout = QueryView(semimetric, values["side"]), _read_layout(values, small)
    segments = []
    for k, names in enumerate(values["segments"]):
        large = {name: _read_array(root / "arrays", digest, mmap) for name, digest in names.items()}
        shares = [small[f"share_{k}_{g}"] for g in range(len(layout.boxes))]
        cells = Cells(layout, small[f"low_{k}"], small[f"high_{k}"], small[f"typical_{k}"], shares)
        joint = Items(Located(*(large[f] for f in Located._fields)), large["order"]) if "order" in large else None
        points = ItemArrays(large["raw"], large["positions"], joint)
        lists = Lists(large["member"], large["centroids"]) if "member" in large else None
        segments.append(Segment(view, large["ids"], points, cells, large["codes"], large["alive"], lists))
    return semimetric, segments, values


def _read_layout(values: dict[str, Any], small: dict[str, NDArray[Any]]) -> CellLayout:
    boxes = tuple(
        Boxes(tuple(box["group"]), tuple(small[f"cut_{g}_{k}"] for k in range(box["cuts"])))
        for g, box in enumerate(values["boxes"])
    )
    return CellLayout(small["edges"], boxes, small["column"], small["step"], small["count"])


def _read_array(folder: Path, digest: str, mmap: bool) -> NDArray[Any]:
    """The array of this digest, read or mapped into memory once its file is verified."""
    path = folder / f"{digest}.npy"
    if not path.is_file():
        raise StorageError(f"{path} is missing; the index is not whole: restore it, or build it again")
    if file_digest(path) != digest:
        raise StorageError(f"{path} is truncated or altered; restore it, or build the index again")
    return np.load(path, mmap_mode="r" if mmap else None, allow_pickle=False).view(np.ndarray)
