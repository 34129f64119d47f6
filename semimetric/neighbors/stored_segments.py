"""Reading the segments of a saved index: every array is of the type and shape that it must have, and every item is proved."""

import os
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from .._foundation.array_files import ArrayFiles, read_arrays
from .._foundation.errors import StorageError
from .._foundation.members import Members, check_array, located, refused_as_stored
from .._foundation.storage import State, read_state
from .._foundation.validation import check_choice
from .._kernels.simplex import Located
from ..distances.semimetric import Semimetric
from ..embeddings.pairs.base import Items
from .cells import CODES, CellLayout, Cells
from .inverted_lists import Lists
from .item_codes import ItemCodes
from .joint_cells import Boxes
from .neighbor_graph import NeighborGraph
from .places import STORAGES, located_items
from .proofs import check_distinct_ids, check_items
from .query_tables import ItemArrays, QueryView
from .segment import Segment

__all__ = ["FILE", "read_segments", "storage_of"]

FILE = "index.smm"
_PREFIX = "model_"
_TYPICAL = 3
_OF_GRAPH = [f"graph_{field.name}" for field in fields(NeighborGraph)]
_MEMBER_TYPES = (np.uint8, np.uint16, np.uint32)


def read_segments(
    folder: str | os.PathLike[str], *, mmap: bool, base_distances: Sequence[object], key: bytes | None
) -> tuple[Semimetric, list[Segment], Members]:
    """Read what `write_segments` wrote: the distance, the segments, and the values that are not theirs.

    Raises
    ------
    FileNotFoundError
        If there is no such folder.
    StorageError
        If a file is missing, foreign, truncated, altered, newer, or not signed with the key, or what it holds is no index.
    """
    root = Path(folder)
    state = read_state(root / FILE, key=key)
    if state.kind != "NeighborIndex":
        raise StorageError(f"{root / FILE} holds a {state.kind}, not an index; it was put there by something else: restore it")
    with located(root / FILE), refused_as_stored("the index"):
        of_model = {n.removeprefix(_PREFIX): a for n, a in state.arrays.items() if n.startswith(_PREFIX)}
        members = Members(state.values, {n: a for n, a in state.arrays.items() if not n.startswith(_PREFIX)})
        semimetric = Semimetric.from_state(State("Semimetric", members.any("model"), of_model), base_distances)
        view = QueryView(semimetric, members.text("side"))
        layout = _read_layout(members, view)
        names = [_names(part, view) for part in members.parts("segments")]
        if not names or len({n["ids"] for n in names}) < len(names):
            raise StorageError("there are no segments, or two of the same ids; restore the index, or build it again")
        cells = [_read_cells(members, k, layout, view) for k in range(len(names))]
    files = read_arrays(root / "arrays", [digest for of_segment in names for digest in of_segment.values()], mmap=mmap)
    with located(root), refused_as_stored("the index"):
        segments = [_segment(view, c, n, files) for c, n in zip(cells, names, strict=True)]
        for segment in segments:
            if segment.storage == "float64":  # Otherwise all that follows from the items was found anew.
                check_items(segment, files.release)
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


def storage_of(members: Members) -> str:
    """How an index that is loaded holds places: in 64 bits if it is of an older version, which does not say so."""
    given = members.text("storage") if "storage" in members else "float64"
    check_choice("storage", given, STORAGES)
    return given


def _names(part: Members, view: QueryView) -> dict[str, str]:
    """The digests of the large arrays of a segment by name."""
    derived = [*Located._fields, "order"] if view.joint is not None else []
    names = ["raw", "ids", "alive"]
    names += ["positions", "codes", *derived] if "positions" in part or "codes" in part else []
    names += ["member", "centroids"] if "member" in part or "centroids" in part else []
    names += _OF_GRAPH if any(name in part for name in _OF_GRAPH) else []
    digests = {name: part.text(name) for name in names}
    part.done()
    return digests


def _segment(view: QueryView, cells: Cells, names: dict[str, str], files: ArrayFiles) -> Segment:
    """The segment of these arrays, of the right types and shapes; its items are still to be proved."""
    found = {name: files.arrays[digest] for name, digest in names.items()}
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
        "graph_levels": (np.float64, len(view.features), None),
        "graph_codes": (np.uint8, None, len(view.features)),
        "graph_edges": (np.int32, None, None),
        "graph_below": (np.int32, None),
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
    if "positions" not in found:
        return replace(_found_again(view, cells, found, lists), graph=graph)
    joint = None
    if view.joint is not None:
        joint = Items(Located(*(found[f] for f in Located._fields)), found["order"])
    points = ItemArrays(found["raw"], found["positions"], joint)
    codes = ItemCodes(found["codes"], cells.layout.n_columns, found.get("member"))
    return Segment(view, found["ids"], points, cells, codes, found["alive"], lists, graph)


def _found_again(view: QueryView, cells: Cells, found: dict[str, Any], lists: Lists | None) -> Segment:
    """The segment of saved items whose places are held in 16 bits: all that follows from the items is found anew."""
    points = located_items(view, found["raw"], "uint16", n_jobs=-1)
    again, packed = Cells.of(cells.layout, view, points)
    if not (np.array_equal(again.low, cells.low) and np.array_equal(again.high, cells.high)):
        raise StorageError("the cells that were saved are not those of the items; restore the index, or build it again")
    codes = ItemCodes(packed, cells.layout.n_columns, None if lists is None else lists.member)
    return Segment(view, found["ids"], points, again, codes, found["alive"], lists)
