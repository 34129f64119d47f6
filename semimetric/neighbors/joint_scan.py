"""Exact search under joint groups: bounds of boxes are added up over all items, and the items of small bounds are refined.

The scan of `faiss_scan` takes 16 cells a column, which is coarse for a group of two features: four intervals for each. Here a
group has 256 boxes, and single features stand two in a byte, so that one byte a part is looked up in a table of whole numbers
that round down; their sums are exact. All sums are kept for a query, so a second threshold costs no second scan.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._foundation.threads import short_blocks
from .._foundation.types import Floats, Integers
from .._kernels.joint_bounds import add_up, box_minima, round_down, step_and_base
from .._kernels.search import Candidates, Profiles, cell_minima
from .cells import CODES, Cells
from .joint_boxes import BOXES, MOST_FEATURES, JointBoxes
from .joint_tables import JointTables
from .placed_refinement import PlacedRefinement
from .query_tables import ItemArrays, QueryBlock, QueryView
from .refinement import NO_VALUES, Refinement, SegmentResult

__all__ = ["JointCodes", "JointScan", "ScannedSums", "has_boxes"]

_TOP = 1 << 20  # The largest entry of a table; so many parts as fit into 31 bits have smaller ones.
_SLACK = 1e-10  # Relative to the largest bounds and table entries: what rounding, and another order of adding, may change.
_PROBE = 4_096  # The size of the sample of sums that suggests the first threshold.
_MOST = (1 << 31) - 1  # No sum is above this number.
_ADDED = 1 << 27  # So many entries of tables are added up in one compiled call, in some 0.1 s.

Mask = NDArray[np.bool_] | None  # Items that may be answered; None stands for all.


def has_boxes(view: QueryView) -> bool:
    """Whether the distance has joint groups of which queries read rows, and none of these is too large for boxes."""
    tables = view.joint_tables
    if tables is None or not view.bounded:
        return False
    read = [len(tables.embedding.groups[g]) for g in (*tables.held, *tables.gathered)]
    return 0 < max(read, default=0) <= MOST_FEATURES


def _tables_of(view: QueryView) -> JointTables:
    assert view.joint_tables is not None  # `has_boxes` says so.
    return view.joint_tables


class JointCodes(NamedTuple):
    """One byte a part for every item, ``codes`` (M, n): single features, joint groups that are held, others that are gathered.

    ``used`` are the bytes of the codes of cells that hold single features. Codes belong to the items, the grid and the groups,
    not to the weights.
    """

    used: Integers
    held: JointBoxes
    gathered: JointBoxes
    codes: NDArray[np.uint8]

    @classmethod
    def of(cls, view: QueryView, points: ItemArrays, cells: Cells, codes: NDArray[np.uint8]) -> JointCodes:
        """The codes of items, of which ``codes`` (n, n_bytes) are those of ``cells``."""
        tables, used = _tables_of(view), np.unique(cells.layout.column[: len(cells.layout.edges)] // 2)
        assert points.joint is not None  # Joint items are there with joint groups.
        held = JointBoxes.of(tables, tables.held, tables.held_groups, points.joint)
        gathered = JointBoxes.of(tables, tables.gathered, tables.gathered_groups, points.joint)
        every = np.concatenate([codes[:, used].T, held.codes, gathered.codes])
        return cls(used, held, gathered, every)


class ScannedSums(NamedTuple):
    """Sums of whole numbers of one query over all items, (n,), and what they mean: sum / step + base <= sum of the item.

    ``slack`` is what rounding may have changed in that.
    """

    sums: NDArray[np.int32]
    step: float
    base: float
    slack: float

    def bounds(self, sums: NDArray[Any]) -> Floats:
        """The bounds that sums stand for."""
        return sums / self.step + self.base

    def limit(self, bound: float) -> int:
        """The sum up to which items have bounds <= ``bound``, with room for rounding."""
        limit = (float(bound) + float(self.slack) - float(self.base)) * float(self.step)  # Floats overflow quietly.
        return int(limit) + 1 if -1.0 < limit < _MOST else -1 if limit <= -1.0 else _MOST

    def named(self, above: int, limit: int, eligible: Mask) -> Candidates:
        """The eligible items with above < sum <= limit, by increasing sum, ties by row."""
        within = self.sums <= limit
        if above >= 0:
            within &= self.sums > above
        if eligible is not None:
            within &= eligible
        rows = np.flatnonzero(within)
        sums = self.sums[rows]
        order = np.argsort(sums, kind="stable")
        return Candidates(rows[order], NO_VALUES, self.bounds(sums[order]))


@dataclass(frozen=True, eq=False)
class JointScan:
    """Codes of items that bound both single features and joint groups, under a distance.

    Parameters
    ----------
    view : QueryView
    cells : Cells
    codes : JointCodes
    """

    view: QueryView
    cells: Cells
    codes: JointCodes

    def __len__(self) -> int:
        return self.codes.codes.shape[1]

    @cached_property
    def _floor(self) -> float:
        """A lower bound of what groups without boxes add."""
        tables = _tables_of(self.view)
        of_column = tables.embedding.group_of_column
        return float(sum(tables.weights[of_column == g].min(initial=0.0) for g in tables.merged))

    def bounds(self, queries: QueryBlock, q: int) -> Floats:
        """Lower bounds of what every byte adds to the sum for query q, shape (M, 256); infinite where no item has it."""
        joint, tables, codes = queries.joint, _tables_of(self.view), self.codes
        assert joint is not None
        out = np.empty((len(codes.codes), BOXES))
        n_bytes, n_held = len(codes.used), len(codes.used) + len(tables.held)
        if n_bytes:
            out[:n_bytes] = self._singles(queries, q)
        if len(tables.held):
            box_minima(tables.held_groups, joint.held(q), codes.held.intervals, out[n_bytes:n_held])
        if len(tables.gathered):
            box_minima(tables.gathered_groups, joint.gathered(q), codes.gathered.intervals, out[n_held:])
        return out

    def _singles(self, queries: QueryBlock, q: int) -> Floats:
        """Lower bounds of what the bytes of single features add, shape (n_bytes, 256)."""
        layout, used, byte = self.cells.layout, self.codes.used, np.arange(BOXES)
        profiles = Profiles(*(array[q : q + 1] for array in queries.profiles))
        least, columns = np.empty((1, len(layout.edges), CODES)), np.zeros((2 * (layout.n_columns // 2 + 1), CODES))
        cell_minima(self.view.scales, profiles, layout.entries, self.cells.low, self.cells.high, least)
        part = np.arange(len(layout.edges))
        np.add.at(columns, layout.column[part], least[0, part[:, None], layout.digits[part]])
        return columns[2 * used][:, byte & 15] + columns[2 * used + 1][:, byte >> 4]

    def scanned(self, queries: QueryBlock, q: int) -> ScannedSums:
        """The sums of query q over all items."""
        bounds = self.bounds(queries, q)
        top = min(_TOP, (1 << 30) // len(bounds))
        numbers, sums = np.empty(bounds.shape, np.int32), np.empty(len(self), np.int32)
        step, base, size = step_and_base(bounds, float(top))
        round_down(bounds, step, top, numbers)
        for part in short_blocks(len(sums), max(_ADDED // len(bounds), 1)):
            add_up(self.codes.codes[:, part], numbers, sums[part])
        return ScannedSums(sums, step, base + self._floor, _SLACK * (size + self.view.size))

    def nearest(
        self, queries: QueryBlock, k: int, refinement: Refinement | PlacedRefinement, eligible: Mask, n_first: int
    ) -> SegmentResult:
        """The k nearest of the eligible items, certified; about ``n_first`` are named before a distance is known."""
        answer = SegmentResult.empty(len(queries), k)
        for q in range(len(queries)):
            scanned = self.scanned(queries, q)
            limit = _guess(scanned.sums, n_first, eligible)
            answer.refined[q] = refinement.one(queries, q, scanned.named(-1, limit, eligible), scanned.slack, answer)
            needed = scanned.limit(answer.sums[q, -1])
            answer.at_once[q] = needed <= limit
            if not answer.at_once[q]:
                more = scanned.named(limit, needed, eligible)
                answer.refined[q] += refinement.one(queries, q, more, scanned.slack, answer)
        return answer

    def within(self, queries: QueryBlock, q: int, limit: float, eligible: Mask) -> Integers:
        """Rows of the eligible items whose sum may be <= ``limit``, increasing."""
        scanned = self.scanned(queries, q)
        return np.sort(scanned.named(-1, scanned.limit(limit), eligible).rows)


def _guess(sums: NDArray[np.int32], n_first: int, eligible: Mask) -> int:
    """A sum that about ``n_first`` of the eligible items are not above, by a sample of the items."""
    every = slice(None, None, max(len(sums) // _PROBE, 1))
    sample = sums[every] if eligible is None else sums[every][eligible[every]]
    if not len(sample):
        return _MOST
    place = min(n_first * len(sums[every]) // len(sums), len(sample) - 1)
    return int(np.partition(sample, place)[place])
