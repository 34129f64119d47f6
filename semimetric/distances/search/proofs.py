"""Proofs that a saved segment is what building it would have made, as far as answers depend on it.

Arrays that are derived from the raw items are proved against them, block by block, in the memory of a block. Positions and
joint features are where the raw items lie, every position lies in the cell of its code, every joint code names the box of its
item. With that, the bounds of an exact search hold, and every distance is that of the raw items, whoever wrote the arrays.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._foundation.errors import StorageError
from ..._foundation.threads import map_blocks
from ..._foundation.types import Floats
from ..._kernels.locate import PositionFeatures
from ..._kernels.proofs import first_misplaced, prove_cells
from ..features.linear_directions import with_directions
from ..pairs.base import Items
from .cells import CODES, CellLayout, Cells
from .query_tables import ItemArrays, QueryView
from .segment import Segment

_ROWS = 1 << 12  # items of a block
_RELEASED = 4  # blocks after which mapped memory is given back
_ADVICE = "restore the index, or build it again"


def check_items(segment: Segment, release: Callable[[], None]) -> None:
    """Refuse a segment whose positions, joint features or codes are not those of its raw items.

    The message names the array and the row. ``release`` is called now and then to give mapped memory back.
    """
    low, high = cells_of_codes(segment.cells)
    prove, ends = _prover(segment.view), np.zeros((2, *low.shape), dtype=bool)
    layout, points = segment.cells.layout, segment.points
    packed, boxes = segment.codes.packed, vars(segment).get("_joint_codes")
    byte, shift = layout.column[: len(low)] // 2, layout.column[: len(low)] % 2 * 4

    def check(rows: slice) -> None:
        block = points.take(rows)
        prove(block, rows.start)
        codes = packed[rows]
        astray, own_ends = np.full(1, -1), np.zeros_like(ends)  # Threads that share the ends would undo what others have found.
        prove_cells(block.positions, codes, byte, shift, low, high, own_ends, astray)
        ends[own_ends] = True
        if astray[0] >= 0:
            raise StorageError(
                f"the array 'codes' puts item {rows.start + astray[0]} into a cell in which it is not; {_ADVICE}"
            )
        if block.joint is not None:
            _check_boxes(layout, block.joint, codes, rows.start)
            if boxes is not None:
                _refuse("joint_codes", boxes.first_astray(segment.view, block.joint, codes, rows), rows.start)
        if rows.start // _ROWS % _RELEASED == 0:
            release()

    map_blocks(check, len(segment), size=_ROWS, n_jobs=-1)
    _check_ends(segment.cells, ends)


def cells_of_codes(cells: Cells) -> tuple[Floats, Floats]:
    """Return the ranges of positions for the 16 codes of every scale's column, both (n_scales, 16); empty if none."""
    layout, n = cells.layout, len(cells.low)
    part = np.arange(n)[:, None]
    low, high = cells.low[part, layout.digits[:n]], cells.high[part, layout.digits[:n]]
    unused = np.arange(CODES) >= layout.n_codes[layout.column[:n], None]
    return np.where(unused, np.inf, low), np.where(unused, -np.inf, high)


def _check_ends(cells: Cells, ends: NDArray[np.bool_]) -> None:
    """Refuse ranges of cells that reach farther than their items; ``ends`` (2, n_scales, 16) says which ends have one."""
    digits, n = cells.layout.digits[: len(cells.low)], len(cells.low)
    at = np.zeros((2, n, CODES), dtype=bool)
    for code in range(CODES):
        at[:, np.arange(n), digits[:, code]] |= ends[:, :, code]
    filled = cells.low <= cells.high
    for name, values, attained, empty in (("low", cells.low, at[0], np.inf), ("high", cells.high, at[1], -np.inf)):
        if (wrong := np.argwhere(np.where(filled, ~attained, values != empty))).size:
            part, cell = wrong[0]
            raise StorageError(f"the array {name!r} ends cell {cell} of scale {part} where no item of the cell is; {_ADVICE}")


def _prover(view: QueryView) -> Callable[[ItemArrays, int], None]:
    """Return a function that refuses a block of items whose stored positions are not those of their raw values."""
    grid, directions = view.semimetric.embedding.grid, view.semimetric.directions
    located = PositionFeatures(view.features, grid.starts[view.features], grid.counts[view.features], view.unit)
    others = np.setdiff1d(np.arange(view.semimetric.n_features), view.features)

    def by_cells(block: ItemArrays, start: int) -> None:
        features = np.ascontiguousarray(with_directions(directions, np.asarray(block.raw, dtype=np.float64)))
        _refuse("positions", first_misplaced(features, grid.flat, located, block.positions), start)
        if len(others):
            _refuse("raw", _first(~np.isfinite(block.raw[:, others])), start)

    def by_locating(block: ItemArrays, start: int) -> None:
        found = view.points(np.asarray(block.raw, dtype=np.float64))
        _refuse("positions", _first((found.positions != block.positions) | np.isinf(block.positions)), start)
        if found.joint is None or block.joint is None:
            return
        for name, derived, claimed in zip(found.joint.located._fields, found.joint.located, block.joint.located, strict=True):
            _refuse(name, _first(derived != claimed), start)
        _refuse("order", _first(found.joint.order != block.joint.order), start)

    return by_cells if view.joint is None and grid.plain else by_locating


def _check_boxes(layout: CellLayout, joint: Items, codes: NDArray[np.uint8], start: int) -> None:
    for p, boxes in enumerate(layout.boxes, start=len(layout.edges)):
        column = layout.column[p]
        code = codes[:, column // 2] >> (4 * (column % 2)) & (CODES - 1)
        _refuse(
            "codes", _first((layout.digits[p][code] != boxes.codes(joint.located)) | (code >= layout.n_codes[column])), start
        )


def _first(wrong: NDArray[np.bool_]) -> int:
    """Return the first row of a matrix in which something is wrong, or -1."""
    rows = np.flatnonzero(wrong.any(axis=1) if wrong.ndim == 2 else wrong)
    return int(rows[0]) if len(rows) else -1


def _refuse(name: str, row: int, start: int) -> None:
    if row >= 0:
        raise StorageError(f"the array {name!r} says of item {start + row} that it lies where its raw values do not; {_ADVICE}")


def check_distinct_ids(segments: Sequence[Segment]) -> None:
    """Refuse ids of different kinds, ids that repeat in a segment, and items with the same id that are not removed."""
    if len({s.ids.dtype.kind for s in segments}) > 1:
        raise StorageError(f"the ids are integers in one segment and strings in another; {_ADVICE}")
    for s in segments:
        if len(s.rank):
            ordered = np.empty_like(s.ids)
            ordered[s.rank] = s.ids
            if (ordered[1:] == ordered[:-1]).any():
                raise StorageError(f"the array 'ids' has the same id twice; {_ADVICE}")
    alive = [s.ids[s.alive] for s in segments if s.n_alive]
    check_apart([range_of(ids) for ids in alive], lambda: alive)


def range_of(ids: NDArray[Any]) -> tuple[int, int] | None:
    """Return the least and the greatest of ids, at least one; None if they are text."""
    return (int(ids.min()), int(ids.max())) if ids.dtype.kind == "i" else None


def check_apart(ranges: Sequence[tuple[int, int] | None], read: Callable[[], Sequence[NDArray[Any]]]) -> None:
    """Refuse ids that two parts share; ``read`` gives those of every part, if the `range_of` one overlaps another."""
    ends = sorted(r for r in ranges if r is not None)
    if len(ranges) < 2 or (len(ends) == len(ranges) and all(a[1] < b[0] for a, b in pairwise(ends))):
        return
    every, counts = np.unique(np.concatenate(read()), return_counts=True)
    if (counts > 1).any():
        twice = every[counts > 1][0].item()
        raise StorageError(
            f"the array 'ids' has an id of another segment, which is not removed there: {twice!r:.60} is in both; {_ADVICE}"
        )
