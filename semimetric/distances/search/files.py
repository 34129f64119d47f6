"""An index as a folder: one verified file that says what belongs to it, and arrays named by their digests.

    index.smm          the distance, cells and small arrays, and the names of the large ones (see `_foundation.files`)
    arrays/SHA256.npy  large arrays, which can be mapped into memory

Arrays are written first, then ``index.smm`` is renamed over the old one, then arrays that nothing names are deleted. So a
process killed at any moment leaves the last consistent index. FAISS's structures are never written; they are rebuilt from
the codes.
"""

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._foundation.errors import StorageError
from ..._foundation.files import ARRAY_FILE, ArrayFiles, State, read_arrays, read_state, real_path, write_array, write_state
from ..._foundation.stored import Members, check_array, located, refused_as_stored, state_of, value_of
from ..._foundation.unfinished import discard, undoing, uninterrupted
from ..._foundation.validation import check_choice
from ..._kernels.simplex import Located
from ...data.payload import KINDS, Payload, PayloadColumn
from ...data.texts import DistinctTexts
from ..model.semimetric import Semimetric
from ..pairs.base import Items
from .cells import CODES, Boxes, CellLayout, Cells
from .item_lists import LARGE, SMALL, ItemLists
from .joint import INTERVALS, JointCodes
from .neighbor_graph import NeighborGraph
from .proofs import check_distinct_ids, check_items
from .query_tables import ItemArrays, QueryView
from .refinement import STORAGES, located_items
from .segment import ItemCodes, Lists, Segment

FILE = "index.smm"
_PREFIX = "model_"
_TYPICAL = 3
_OF_GRAPH = [f"graph_{field.name}" for field in fields(NeighborGraph)]
_MEMBER_TYPES = (np.uint8, np.uint16, np.uint32)


def read_segments(
    folder: str | os.PathLike[str], *, mmap: bool, base_distances: Sequence[object], key: bytes | None
) -> tuple[Semimetric, list[Segment], Members]:
    """Read what `write_segments` wrote: the distance, the segments, and the values that are not theirs.

    Errors are FileNotFoundError, and StorageError for what is no index, or altered, or not signed with the key.
    """
    root = Path(folder)
    state = read_state(root / FILE, key=key)
    if state.kind != "NeighborIndex":
        raise StorageError(f"{root / FILE} holds a {state.kind}, not an index; it was put there by something else: restore it")
    with located(root / FILE), refused_as_stored("the index"):
        of_model = {n.removeprefix(_PREFIX): a for n, a in state.arrays.items() if n.startswith(_PREFIX)}
        members = Members(state.values, {n: a for n, a in state.arrays.items() if not n.startswith(_PREFIX)})
        semimetric = value_of(State("Semimetric", members.any("model"), of_model), Semimetric, base_distances)
        view = QueryView(semimetric, members.text("side"))
        layout = _read_layout(members, view)
        payload = [_payload_column(part) for part in members.parts("payload")] if "payload" in members else []
        names = [_names(part, view, payload) for part in members.parts("segments")]
        if not names or len({n["ids"] for n in names}) < len(names):
            raise StorageError("there are no segments, or two of the same ids; restore the index, or build it again")
        cells = [_read_cells(members, k, layout, view) for k in range(len(names))]
        intervals = [_read_intervals(members, k) if "joint_codes" in n else None for k, n in enumerate(names)]
        bins = [_read_bins(members, k) if _OF_LISTS[0] in n else None for k, n in enumerate(names)]
    files = read_arrays(root / "arrays", [digest for of_segment in names for digest in of_segment.values()], mmap=mmap)
    with located(root), refused_as_stored("the index"):
        segments = []
        for own_cells, own, boxes in zip(cells, names, intervals, strict=True):
            segment = _with_payload(_segment(view, own_cells, own, files), own, files, payload)
            if boxes is not None:
                segment.with_joint_codes(JointCodes.loaded(view, own_cells, boxes, files.arrays[own["joint_codes"]]))
            segments.append(segment)
        for segment, own, small in zip(segments, names, bins, strict=True):
            if segment.storage == "float64":  # Otherwise all that follows from the items was found anew.
                check_items(segment, files.release)
            if small is not None:
                large = [files.arrays[own[name]] for name in _OF_LISTS]
                segment.with_item_lists(ItemLists.loaded(view, segment.points, large, small, files.release))
        check_distinct_ids(segments)
    files.release()
    return semimetric, segments, members


def _read_layout(members: Members, view: QueryView) -> CellLayout:
    parts = members.parts("boxes")
    boxes = []
    for g, part in enumerate(parts):
        group, n_cuts = tuple(part.list_of("group", int)), part.whole("cuts")
        part.done()
        cuts = tuple(members.array(f"cut_{g}_{k}", np.int64, None) for k in range(min(n_cuts, len(group))))
        boxes.append(Boxes(group, cuts))
    column, step, n_cells = (members.array(name, np.int64, None) for name in ("column", "step", "count"))
    edges = members.array("edges", np.float64, None, CODES - 1, infinite=True)
    layout = CellLayout(edges, tuple(boxes), column, step, n_cells)
    layout.check(view)
    return layout


def _read_cells(members: Members, k: int, layout: CellLayout, view: QueryView) -> Cells:
    n = len(layout.edges)
    low, high = (members.array(f"{name}_{k}", np.float64, n, CODES, infinite=True) for name in ("low", "high"))
    typical = members.array(f"typical_{k}", np.float64, n, CODES, _TYPICAL)
    shares = [members.array(f"share_{k}_{g}", np.float64, None, None) for g in range(len(layout.boxes))]
    cells = Cells(layout, low, high, typical, shares)
    cells.check(view)
    return cells


_OF_BOXES = [f"{kind}_{name}" for kind in ("held", "gathered") for name in INTERVALS]


def _read_intervals(members: Members, k: int) -> list[NDArray[Any]]:
    """Read the arrays `JointCodes.intervals` of segment k, in their order."""
    types = {"low": np.float64, "high": np.float64}
    return [members.array(f"{name}_{k}", types.get(name.split("_")[1], np.int64), None) for name in _OF_BOXES]


_OF_LISTS = [f"list_{name}" for name in LARGE]


def _read_bins(members: Members, k: int) -> list[NDArray[Any]]:
    """Read the arrays `ItemLists.small` of segment k, in their order."""
    types = {"edges": np.float64, "values": np.float32}
    return [members.array(f"list_{name}_{k}", types[name], None, None, infinite=True) for name in SMALL]


def storage_of(members: Members) -> str:
    """Return the storage of an index that is loaded: 64 bits if it is of an older version, which does not name it."""
    given = members.text("storage") if "storage" in members else "float64"
    check_choice("storage", given, STORAGES)
    return given


def _payload_column(part: Members) -> PayloadColumn:
    """Return a column of the payload without its cells."""
    name, kind, zone, dtype = (part.text(key) for key in ("name", "kind", "zone", "dtype"))
    part.done()
    check_choice("kind", kind, tuple(KINDS))
    check_choice("dtype", dtype, ("int32",) if kind == "text" else ("float64", "float32"))
    return PayloadColumn(name, kind, np.empty(0, dtype), zone)


_PARTS = ("", "_letters", "_ends")  # of the names of the arrays of a column


def _names_of_payload(k: int, column: PayloadColumn) -> list[str]:
    return [f"payload_{k}{part}" for part in (_PARTS if column.kind == "text" else _PARTS[:1])]


def _with_payload(segment: Segment, names: dict[str, str], files: ArrayFiles, columns: Sequence[PayloadColumn]) -> Segment:
    if not columns:
        return segment
    filled = []
    for k, column in enumerate(columns):
        cells, *text = (files.arrays[names[name]] for name in _names_of_payload(k, column))
        check_array(f"payload_{k}", cells, column.cells.dtype, len(segment), infinite=True)
        if text:
            check_array(f"payload_{k}_letters", text[0], np.uint8, None)
            check_array(f"payload_{k}_ends", text[1], np.int64, None)
            column = replace(column, texts=DistinctTexts(*text))
        filled.append(replace(column, cells=cells))
        filled[-1].check()
    return replace(segment, payload=Payload(tuple(filled)))


def _names(part: Members, view: QueryView, payload: Sequence[PayloadColumn]) -> dict[str, str]:
    derived = [*Located._fields, "order"] if view.joint is not None else []
    names = ["raw", "ids", "alive"]
    names += ["positions", "codes", *derived] if "positions" in part or "codes" in part else []
    names += ["member", "centroids"] if "member" in part or "centroids" in part else []
    names += ["joint_codes"] if "joint_codes" in part else []  # which older versions did not save
    for optional in (_OF_GRAPH, _OF_LISTS):
        names += optional if any(name in part for name in optional) else []
    for k, column in enumerate(payload):
        names += _names_of_payload(k, column)
    digests = {name: part.text(name) for name in names}
    part.done()
    return digests


def _segment(view: QueryView, cells: Cells, names: dict[str, str], files: ArrayFiles) -> Segment:
    """Build the segment of these arrays, of the right types and shapes; its items are still to be proved."""
    found = {name: files.arrays[digest] for name, digest in names.items() if not name.startswith("payload_")}
    n, n_bytes = len(found["ids"]) if found["ids"].ndim else 0, (cells.layout.n_columns + 1) // 2
    raw, ids = found["raw"].dtype, found["ids"].dtype
    member = found["member"].dtype if "member" in found else None
    types: dict[str, tuple[Any, ...]] = {
        "raw": (np.float32 if raw == np.float32 else np.float64, n, view.semimetric.n_features),
        "positions": (np.float64, n, len(view.features)),
        "codes": (np.uint8, n, n_bytes),
        "ids": (ids if ids.kind == "U" else np.int64, n),
        "alive": (np.bool_, n),
        "member": (member if member in _MEMBER_TYPES else np.int64, n),
        "centroids": (np.uint8, None, n_bytes),
        "joint_codes": (np.uint8, None, n),
        "graph_levels": (np.float64, len(view.features), None),
        "graph_codes": (np.uint8, None, len(view.features)),
        "graph_edges": (np.int32, None, None),
        "graph_below": (np.int32, None),
        "list_rows": (np.int32 if n <= np.iinfo(np.int32).max else np.int64, n),
        "list_starts": (np.int64, None),
        "list_bins": (np.uint8, None),
    }
    if view.joint is not None:
        n_joint = len(view.joint_features)
        types |= dict.fromkeys(("lower", "upper"), (np.uint16, n, n_joint)) | {"fraction": (np.float64, n, n_joint)}
        types |= {"order": (np.int64, n, 0 if view.joint[0].singles else n_joint)}
    for name, array in found.items():
        check_array(name, array, *types[name], infinite=True)
    if not n:
        raise StorageError("a segment has no items; restore the index, or build it again")
    lists = Lists(found["member"], found["centroids"]) if "member" in found else None
    if lists is not None:
        lists.check(cells.layout)
    graph = NeighborGraph(*(found[name] for name in _OF_GRAPH)) if _OF_GRAPH[0] in found else None
    if graph is not None:
        if not view.simple:
            raise StorageError("there is a graph of a distance that has none; restore the index, or build it again")
        graph.check(n, len(view.features))
    if _OF_LISTS[0] in found and not (view.simple and view.n_tables):
        raise StorageError("there are lists of a distance that has none; restore the index, or build it again")
    if "positions" not in found:
        return replace(_found_again(view, cells, found, lists), graph=graph)
    joint = None
    if view.joint is not None:
        joint = Items(Located(*(found[f] for f in Located._fields)), found["order"])
    points = ItemArrays(found["raw"], found["positions"], joint)
    codes = ItemCodes(found["codes"], cells.layout.n_columns, found.get("member"))
    return Segment(view, found["ids"], points, cells, codes, found["alive"], lists, graph)


def _found_again(view: QueryView, cells: Cells, found: dict[str, Any], lists: Lists | None) -> Segment:
    """Build a segment whose positions are held in 16 bits: all that follows from the items is found anew."""
    points = located_items(view, found["raw"], "uint16", n_jobs=-1)
    again, packed = Cells.of(cells.layout, view, points, n_jobs=-1)
    if not (np.array_equal(again.low, cells.low) and np.array_equal(again.high, cells.high)):
        raise StorageError("the cells that were saved are not those of the items; restore the index, or build it again")
    codes = ItemCodes(packed, cells.layout.n_columns, None if lists is None else lists.member)
    return Segment(view, found["ids"], points, again, codes, found["alive"], lists)


_UNFINISHED_FILE = re.compile(r"\..*\.part")


def write_segments(
    folder: str | os.PathLike[str],
    semimetric: Semimetric,
    segments: Sequence[Segment],
    values: dict[str, Any],
    *,
    key: bytes | None = None,
) -> None:
    """Write an index to ``folder``, new or an index already, with ``values`` that JSON can hold."""
    root = real_path(folder)
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
    """Write the large arrays of an index; return its state, which names them, and the names of their files."""
    model, layout = state_of(semimetric), segments[0].cells.layout
    small = {f"model_{name}": array for name, array in model.arrays.items()}
    small |= {"edges": layout.edges, "column": layout.column, "step": layout.step, "count": layout.count}
    small |= {f"cut_{g}_{k}": cut for g, boxes in enumerate(layout.boxes) for k, cut in enumerate(boxes.cuts)}
    large = []
    for k, segment in enumerate(segments):
        cells = segment.cells
        small |= {f"low_{k}": cells.low, f"high_{k}": cells.high, f"typical_{k}": cells.typical}
        small |= {f"share_{k}_{g}": share for g, share in enumerate(cells.shares)}
        if (boxes := segment.saved_joint_codes) is not None:
            small |= {f"{name}_{k}": array for name, array in boxes.intervals}
        if (lists := segment.saved_item_lists) is not None:
            small |= {f"list_{name}_{k}": array for name, array in zip(SMALL, lists.small, strict=True)}
        large.append({name: write_array(root / "arrays", array) for name, array in _large_arrays(segment).items()})
    groups = [{"group": list(b.group), "cuts": len(b.cuts)} for b in layout.boxes]
    stored = values | {"model": dict(model.values), "boxes": groups, "segments": large}
    if (payload := segments[0].payload) is not None:
        facts = [{"name": c.name, "kind": c.kind, "zone": c.zone, "dtype": c.cells.dtype.name} for c in payload.columns]
        stored |= {"payload": facts}
    return State("NeighborIndex", stored, small), _array_files(large)


def _array_files(segments: Sequence[Mapping[str, str]]) -> set[str]:
    return {f"{digest}.npy" for digests in segments for digest in digests.values()}


def _keep_only(root: Path, used: set[str]) -> None:
    """Delete all unused arrays of indexes; other files in the folder stay."""
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
    points = segment.points
    arrays = {"raw": points.raw, "ids": segment.ids, "alive": segment.alive}
    if segment.lists is not None:
        arrays |= {"member": segment.lists.member, "centroids": segment.lists.codes}
    if segment.graph is not None:
        arrays |= {f"graph_{field.name}": getattr(segment.graph, field.name) for field in fields(segment.graph)}
    if (lists := segment.saved_item_lists) is not None:
        arrays |= dict(zip(_OF_LISTS, lists.large, strict=True))
    if segment.payload is not None:
        arrays |= dict(segment.payload.arrays())
    if points.coded is not None:  # A file is to be small: positions, joint features and codes are found again from the items.
        return arrays
    arrays |= {"positions": points.positions, "codes": segment.codes.packed}
    if (boxes := segment.saved_joint_codes) is not None:
        arrays |= {"joint_codes": boxes.codes}
    if points.joint is not None:
        arrays |= dict(zip(Located._fields, points.joint.located, strict=True)) | {"order": points.joint.order}
    return arrays


def _is_unfinished(root: Path) -> bool:
    """Return True if the folder is empty, or holds only arrays of a first save that did not end."""
    if not root.is_dir() or any(p.name != "arrays" and not _UNFINISHED_FILE.fullmatch(p.name) for p in root.iterdir()):
        return False
    arrays = root / "arrays"
    return not arrays.exists() or all(
        ARRAY_FILE.fullmatch(p.name) or _UNFINISHED_FILE.fullmatch(p.name) for p in arrays.iterdir()
    )
