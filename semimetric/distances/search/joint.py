"""Boxes of joint groups: every item is in one of 256 a group, and a query bounds what the group is in each from below.

The theory is in docs/mathematics.md, section 4.2. A box is a product of intervals of the features of the group, each within a
cell of the grid. The ends of intervals are chosen on a scale on which the table rises evenly, as dense as the cube root of the
density of the items (Panter & Dite 1951). The range of an interval is measured on the items.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._foundation.errors import InputError
from ..._foundation.threads import short_blocks
from ..._foundation.types import Floats, Integers
from ..._kernels.joint_bounds import Intervals, add_up, box_minima, first_astray, round_down, step_and_base
from ..._kernels.joint_search import GroupArrays
from ..._kernels.search import Candidates, Profiles, cell_minima, encode
from ..pairs.base import Items
from .cells import CODES, Cells
from .query_tables import ItemArrays, JointTables, QueryBlock, QueryView
from .refinement import NO_VALUES, CodedRefinement, Refinement, SegmentResult

BOXES = 256  # The boxes of a group, whose numbers are bytes.
MOST_FEATURES = 4  # Of larger groups the bounds would take longer than they save: there are g! orders of fractions.
_SAMPLE = 20_000  # The number of items from which intervals are measured.
_BINS = 32  # The number of bins of a cell in the histogram from which intervals are cut.
_ENCODED = 1 << 22  # So many intervals are found in one compiled call.


class JointBoxes(NamedTuple):
    """Boxes of some joint groups."""

    intervals: Intervals  # of the features of each group, as kernels take them
    codes: NDArray[np.uint8]  # (G, n), the box of every item

    @classmethod
    def of(cls, tables: JointTables, numbers: Integers, groups: GroupArrays, items: Items) -> JointBoxes:
        """Fit boxes to items located on the features of the groups, for the groups with these numbers among `tables`."""
        sizes = np.array([size for g in numbers for size in tables.embedding.vertices[g].sizes], dtype=np.int64)
        steepness = _steepness(tables, numbers)
        n = len(items)
        if not len(numbers):
            nothing = np.empty(0)
            empty = np.empty(0, np.int64)
            return cls(Intervals(np.zeros(1, np.int64), empty, nothing, nothing, empty, empty), np.empty((0, n), np.uint8))
        rows = np.linspace(0, n - 1, min(n, _SAMPLE)).astype(np.int64)
        sample = _positions(items, rows, groups.column)
        counts = _counts(groups.first, [len(np.unique(x)) for x in sample.T])
        ends, codes = zip(*map(_cut, sample.T, sizes, steepness, counts), strict=True)
        edges = np.full((len(ends), max(map(len, ends), default=0)), np.inf)
        for k, of_feature in enumerate(ends):
            edges[k, : len(of_feature)] = of_feature
        low = np.full((len(ends), edges.shape[1] + 1), np.inf)
        high, boxes = -low, np.zeros((len(groups.points), n), np.uint8)
        factors = _factors(groups.first, counts)
        for part in short_blocks(n, max(_ENCODED // len(ends), 1)):
            found = np.empty((part.stop - part.start, len(ends)), np.uint16)
            encode(_positions(items, part, groups.column), np.arange(len(ends)), edges, low, high, found)
            for k, (a, b) in enumerate(zip(groups.first[:-1], groups.first[1:], strict=True)):
                boxes[k, part] = sum(factors[j] * codes[j][found[:, j]] for j in range(a, b))
        return cls(_intervals(low, high, codes, factors, np.where(sizes > 1, groups.stride, 0)), boxes)


INTERVALS = ("first", "cell", "low", "high", "code")  # the arrays of which boxes are made again


def made_again(tables: JointTables, numbers: Integers, groups: GroupArrays, saved: Sequence[NDArray[Any]]) -> Intervals:
    """Return intervals of the groups from saved arrays `INTERVALS`, and refuse those that kernels could not follow."""
    sizes = np.array([size for g in numbers for size in tables.embedding.vertices[g].sizes], dtype=np.int64)
    first, cell, low, high, code = saved
    found = Intervals(first, cell, low, high, code, np.where(sizes > 1, groups.stride, 0))
    n = len(cell)
    if first.shape != (len(sizes) + 1,) or first[0] or first[-1] != n or (np.diff(first) < 0).any():
        raise InputError(f"the intervals of boxes begin at {first[:8]}; those of {len(sizes)} features are required")
    feature = np.repeat(np.arange(len(sizes)), np.diff(first))
    if any(len(array) != n for array in (low, high, code)):
        raise InputError(f"there are {n} intervals of boxes, and other numbers of ends and codes; the same are required")
    inside = (cell >= 0) & (cell <= np.maximum(sizes[feature] - 2, 0))
    if not (inside & (low >= 0.0) & (low <= high) & (high <= 1.0)).all():
        raise InputError("intervals of boxes are no parts of the cells of their features; ends from 0 to 1 are required")
    same = feature[1:] == feature[:-1]
    if (same & ~((cell + high)[:-1] < (cell + low)[1:])).any():
        raise InputError("intervals of boxes overlap, or decrease; increasing ones are required")
    largest = np.zeros(len(sizes), np.int64)
    np.maximum.at(largest, feature, code)
    if (code < 0).any() or (np.add.reduceat(np.append(largest, 0), groups.first[:-1]) >= BOXES).any():
        raise InputError(f"intervals lead to boxes beyond the {BOXES} of a group; numbers from 0 to {BOXES - 1} are required")
    return found


def _positions(items: Items, rows: Integers | slice, columns: Integers) -> Floats:
    """Return vertex plus fraction of items on the features ``columns``, C-contiguous, shape (n_rows, len(columns))."""
    located = items.located
    return np.ascontiguousarray((located.lower[rows] + located.fraction[rows])[:, columns])


def _counts(first: Integers, distinct: list[int]) -> Integers:
    """Return the number of parts of every feature, at most that of its values: their product in a group is at most `BOXES`."""
    counts = np.ones(len(distinct), np.int64)
    for a, b in zip(first[:-1], first[1:], strict=True):
        room = BOXES
        for left, j in zip(range(b - a, 0, -1), sorted(range(a, b), key=distinct.__getitem__), strict=True):
            counts[j] = max(min(distinct[j], int(room ** (1 / left) + 1e-9)), 1)
            room //= counts[j]
    return counts


def _factors(first: Integers, counts: Integers) -> Integers:
    """Return by how much the number of a box grows from a part of each feature to the next; the last feature runs fastest."""
    factors = np.ones(len(counts), np.int64)
    for a, b in zip(first[:-1], first[1:], strict=True):
        factors[a:b] = np.append(np.cumprod(counts[a + 1 : b][::-1])[::-1], 1)
    return factors


def _cut(positions: Floats, size: int, steepness: Floats, count: int) -> tuple[Floats, Integers]:
    """Return upper edges of the intervals of a feature, without the last, and the part of each.

    An interval is within a cell; where there are more cells than parts, some intervals share a part.
    """
    values = np.unique(positions)
    inner = values[:-1] if len(values) <= count else _even_edges(positions, size, steepness, count)
    edges = np.union1d(inner, np.arange(1.0, size - 1))
    held = np.bincount(np.searchsorted(edges, positions), minlength=len(edges) + 1)
    if (held > 0).sum() <= count:
        return edges, np.maximum(np.cumsum(held > 0) - 1, 0)
    middle = (np.cumsum(held) - held / 2) / len(positions)
    return edges, np.minimum((middle * count).astype(np.int64), count - 1)


def _even_edges(positions: Floats, size: int, steepness: Floats, count: int) -> Floats:
    """Return edges of about ``count`` intervals, some in every cell that has items."""
    cell = np.minimum(np.maximum(np.ceil(positions) - 1, 0).astype(np.int64), size - 2)
    bins = np.minimum(((positions - cell) * _BINS).astype(np.int64), _BINS - 1)
    mass = np.cbrt(np.bincount(cell * _BINS + bins, minlength=(size - 1) * _BINS)).reshape(-1, _BINS)
    mass *= (steepness / (steepness.max() or 1.0) + 1e-3)[:, None] ** (2 / 3)
    n_parts, edges = _apportioned(mass.sum(axis=1), count), []
    for k in np.flatnonzero(n_parts):
        rising = np.concatenate([[0.0], np.cumsum(mass[k])])
        cuts = np.arange(1, n_parts[k]) / n_parts[k] * rising[-1]
        edges.append(k + np.interp(cuts, rising, np.arange(_BINS + 1) / _BINS))
    return np.concatenate(edges)


def _apportioned(mass: Floats, count: int) -> Integers:
    """Divide ``count`` parts among cells: at least one where a cell has mass, the others where parts are heaviest."""
    parts = (mass > 0).astype(np.int64)
    for _ in range(count - int(parts.sum())):
        parts[np.argmax(mass / np.maximum(parts, 1))] += 1
    return parts


def _intervals(low: Floats, high: Floats, codes: tuple[Integers, ...], factors: Integers, step: Integers) -> Intervals:
    """Return the intervals that have items as kernels take them, from the range of positions in each."""
    filled = low <= high
    first = np.concatenate([[0], np.cumsum(filled.sum(axis=1))])
    lows, highs = low[filled], high[filled]
    cell = np.maximum(np.ceil(highs) - 1, 0).astype(np.int64)
    row = np.nonzero(filled)[0]
    part = np.zeros(low.shape, np.int64)
    for j, code in enumerate(codes):
        part[j, : len(code)] = code
    return Intervals(first, cell, lows - cell, highs - cell, factors[row] * part[filled], step)


def _steepness(tables: JointTables, groups: Integers) -> list[Floats]:
    """Measure the change of the table of each group in every cell of its features; 1 where no table is held."""
    flat, _ = tables.held_tables
    out, start = [], 0
    for g in groups.tolist():
        v = tables.embedding.vertices[g]
        if g not in tables.held:
            out += [np.ones(max(size - 1, 1)) for size in v.sizes]
            continue
        table = flat[start : start + v.n_points**2].reshape(v.n_points, *v.sizes)
        start += v.n_points**2
        for axis, size in enumerate(v.sizes, start=1):
            rest = tuple(k for k in range(table.ndim) if k != axis)
            out.append(np.abs(np.diff(table, axis=axis)).mean(axis=rest) if size > 1 else np.ones(1))
    return out


_TOP = 1 << 20  # The largest entry of a table; so many parts as fit into 31 bits have smaller ones.
_SLACK = 1e-10  # Relative to the largest bounds and table entries: what rounding, and another order of adding, may change.
_PROBE = 4_096  # The size of the sample of sums that suggests the first threshold.
_MOST = (1 << 31) - 1  # No sum is above this number.
_ADDED = 1 << 27  # So many entries of tables are added up in one compiled call, in some 0.1 s.

Mask = NDArray[np.bool_] | None  # The eligible items; None stands for all.


def has_boxes(view: QueryView) -> bool:
    """Return True if queries read rows of joint groups of the distance, and no group is too large for boxes."""
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
        """Return the codes of items, of which ``codes`` (n, n_bytes) are those of ``cells``."""
        tables, used = _tables_of(view), np.unique(cells.layout.column[: len(cells.layout.edges)] // 2)
        assert points.joint is not None  # Joint items are there with joint groups.
        held = JointBoxes.of(tables, tables.held, tables.held_groups, points.joint)
        gathered = JointBoxes.of(tables, tables.gathered, tables.gathered_groups, points.joint)
        every = np.concatenate([codes[:, used].T, held.codes, gathered.codes])
        return cls(used, held, gathered, every)

    @property
    def intervals(self) -> Iterator[tuple[str, NDArray[Any]]]:
        """Names and values of the arrays that are saved beside the codes."""
        for kind, boxes in (("held", self.held), ("gathered", self.gathered)):
            yield from ((f"{kind}_{name}", getattr(boxes.intervals, name)) for name in INTERVALS)

    @classmethod
    def loaded(cls, view: QueryView, cells: Cells, intervals: Sequence[NDArray[Any]], codes: NDArray[np.uint8]) -> JointCodes:
        """Return the codes of saved arrays, checked but for the items; `intervals` are the arrays, in their order."""
        if not has_boxes(view):
            raise InputError("there are boxes of joint groups, and the distance has no such groups; save the index again")
        tables, used = _tables_of(view), np.unique(cells.layout.column[: len(cells.layout.edges)] // 2)
        n_held, n_boxes = len(tables.held), len(tables.held) + len(tables.gathered)
        if len(codes) != len(used) + n_boxes:
            raise InputError(f"there are {len(codes)} codes of boxes for each item; {len(used) + n_boxes} are required")
        of_held, of_gathered = intervals[: len(INTERVALS)], intervals[len(INTERVALS) :]
        held = made_again(tables, tables.held, tables.held_groups, of_held)
        gathered = made_again(tables, tables.gathered, tables.gathered_groups, of_gathered)
        first = len(used) + n_held
        return cls(used, JointBoxes(held, codes[len(used) : first]), JointBoxes(gathered, codes[first:]), codes)

    def first_astray(self, view: QueryView, joint: Items, packed: NDArray[np.uint8], rows: slice) -> int:
        """Return the first of these items, counted from the first row, whose codes name other cells or boxes, or -1."""
        tables, wrong = _tables_of(view), (self.codes[: len(self.used), rows].T != packed[:, self.used]).any(axis=1)
        found = [int(np.argmax(wrong))] if wrong.any() else []
        every = slice(0, len(packed))
        for boxes, groups in ((self.held, tables.held_groups), (self.gathered, tables.gathered_groups)):
            row = first_astray(groups, boxes.intervals, _positions(joint, every, groups.column), boxes.codes[:, rows])
            found += [row] if row >= 0 else []
        return min(found, default=-1)


class ScannedSums(NamedTuple):
    """Sums of whole numbers of one query over all items, where sum / step + base <= sum of the item."""

    sums: NDArray[np.int32]  # (n,)
    step: float
    base: float
    slack: float  # what rounding may have changed

    def bounds(self, sums: NDArray[Any]) -> Floats:
        """Return the bounds that sums stand for."""
        return sums / self.step + self.base

    def limit(self, bound: float) -> int:
        """Return the sum up to which items have bounds <= ``bound``, with room for rounding."""
        limit = (float(bound) + float(self.slack) - float(self.base)) * float(self.step)  # Floats overflow quietly.
        return int(limit) + 1 if -1.0 < limit < _MOST else -1 if limit <= -1.0 else _MOST

    def named(self, above: int, limit: int, eligible: Mask) -> Candidates:
        """Return the eligible items with above < sum <= limit, by increasing sum, ties by row."""
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
    """Codes of items that bound both single features and joint groups, under a distance."""

    view: QueryView
    cells: Cells
    codes: JointCodes

    def __len__(self) -> int:
        return self.codes.codes.shape[1]

    @cached_property
    def _floor(self) -> float:
        tables = _tables_of(self.view)
        of_column = tables.embedding.group_of_column
        return float(sum(tables.weights[of_column == g].min(initial=0.0) for g in tables.merged))

    def bounds(self, queries: QueryBlock, q: int) -> Floats:
        """Return lower bounds of what every byte adds to the sum for query q, shape (M, 256); infinite where no item has it."""
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
        """Return lower bounds of what the bytes of single features add, shape (n_bytes, 256)."""
        layout, used, byte = self.cells.layout, self.codes.used, np.arange(BOXES)
        profiles = Profiles(*(array[q : q + 1] for array in queries.profiles))
        least, columns = np.empty((1, len(layout.edges), CODES)), np.zeros((2 * (layout.n_columns // 2 + 1), CODES))
        cell_minima(self.view.scales, profiles, layout.entries, self.cells.low, self.cells.high, least)
        part = np.arange(len(layout.edges))
        np.add.at(columns, layout.column[part], least[0, part[:, None], layout.digits[part]])
        return columns[2 * used][:, byte & 15] + columns[2 * used + 1][:, byte >> 4]

    def scanned(self, queries: QueryBlock, q: int) -> ScannedSums:
        """Return the sums of query q over all items."""
        bounds = self.bounds(queries, q)
        top = min(_TOP, (1 << 30) // len(bounds))
        numbers, sums = np.empty(bounds.shape, np.int32), np.empty(len(self), np.int32)
        step, base, size = step_and_base(bounds, float(top))
        round_down(bounds, step, top, numbers)
        for part in short_blocks(len(sums), max(_ADDED // len(bounds), 1)):
            add_up(self.codes.codes[:, part], numbers, sums[part])
        return ScannedSums(sums, step, base + self._floor, _SLACK * (size + self.view.size))

    def nearest(
        self, queries: QueryBlock, k: int, refinement: Refinement | CodedRefinement, eligible: Mask, n_first: int
    ) -> SegmentResult:
        """Return the k nearest of the eligible items, certified; about ``n_first`` are named before a distance is known."""
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
        """Return rows of the eligible items whose sum may be <= ``limit``, increasing."""
        scanned = self.scanned(queries, q)
        return np.sort(scanned.named(-1, scanned.limit(limit), eligible).rows)


def _guess(sums: NDArray[np.int32], n_first: int, eligible: Mask) -> int:
    """Return a sum that about ``n_first`` of the eligible items are not above, by a sample of the items."""
    every = slice(None, None, max(len(sums) // _PROBE, 1))
    sample = sums[every] if eligible is None else sums[every][eligible[every]]
    if not len(sample):
        return _MOST
    rank = min(n_first * len(sums[every]) // len(sums), len(sample) - 1)
    return int(np.partition(sample, rank)[rank])
