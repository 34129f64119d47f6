"""Boxes of joint groups: every item is in one of 256 a group, and a query bounds what the group is in each from below.

The theory is in docs/mathematics.md, section 4.2. A box is a product of intervals of the features of the group, each within a
cell of the grid. Where intervals end is chosen on a scale on which the table rises evenly, as dense as the cube root of the
density of the items (Panter & Dite 1951); what an interval reaches is measured on the items.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._foundation.threads import short_blocks
from .._foundation.types import Floats, Integers
from .._kernels.joint_bounds import Intervals
from .._kernels.joint_search import GroupArrays
from .._kernels.search import encode
from ..embeddings.pairs.base import Items
from .joint_tables import JointTables

__all__ = ["BOXES", "MOST_FEATURES", "JointBoxes"]

BOXES = 256  # The boxes of a group, whose numbers are bytes.
MOST_FEATURES = 4  # Of larger groups the bounds would take longer than they save: there are g! orders of fractions.
_SAMPLE = 20_000  # The number of items from which intervals are measured.
_BINS = 32  # The number of bins of a cell in the histogram from which intervals are cut.
_ENCODED = 1 << 22  # So many intervals are found in one compiled call.


class JointBoxes(NamedTuple):
    """Boxes of some joint groups.

    ``intervals`` are those of the features of each group, as kernels take them, ``codes`` (G, n) the box of every item.
    """

    intervals: Intervals
    codes: NDArray[np.uint8]

    @classmethod
    def of(cls, tables: JointTables, numbers: Integers, groups: GroupArrays, items: Items) -> JointBoxes:
        """Boxes of these items, located on the features of the groups, for the groups with these numbers among `tables`."""
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
        for place, of_place in enumerate(ends):
            edges[place, : len(of_place)] = of_place
        low = np.full((len(ends), edges.shape[1] + 1), np.inf)
        high, boxes = -low, np.zeros((len(groups.points), n), np.uint8)
        factors = _factors(groups.first, counts)
        for part in short_blocks(n, max(_ENCODED // len(ends), 1)):
            found = np.empty((part.stop - part.start, len(ends)), np.uint16)
            encode(_positions(items, part, groups.column), np.arange(len(ends)), edges, low, high, found)
            for k, (a, b) in enumerate(zip(groups.first[:-1], groups.first[1:], strict=True)):
                boxes[k, part] = sum(factors[j] * codes[j][found[:, j]] for j in range(a, b))
        return cls(_intervals(low, high, codes, factors, np.where(sizes > 1, groups.stride, 0)), boxes)


def _positions(items: Items, rows: Integers | slice, columns: Integers) -> Floats:
    """Vertex plus fraction of items on the features ``columns``, C-contiguous, shape (n_rows, len(columns))."""
    located = items.located
    return np.ascontiguousarray((located.lower[rows] + located.fraction[rows])[:, columns])


def _counts(first: Integers, distinct: list[int]) -> Integers:
    """The number of parts of every feature, at most as many as it has values: their product in a group is at most `BOXES`."""
    counts = np.ones(len(distinct), np.int64)
    for a, b in zip(first[:-1], first[1:], strict=True):
        room = BOXES
        for left, j in zip(range(b - a, 0, -1), sorted(range(a, b), key=distinct.__getitem__), strict=True):
            counts[j] = max(min(distinct[j], int(room ** (1 / left) + 1e-9)), 1)
            room //= counts[j]
    return counts


def _factors(first: Integers, counts: Integers) -> Integers:
    """By how much the number of a box grows from a part of each feature to the next; the last feature runs fastest."""
    factors = np.ones(len(counts), np.int64)
    for a, b in zip(first[:-1], first[1:], strict=True):
        factors[a:b] = np.append(np.cumprod(counts[a + 1 : b][::-1])[::-1], 1)
    return factors


def _cut(positions: Floats, size: int, steepness: Floats, count: int) -> tuple[Floats, Integers]:
    """The upper edges of the intervals of a feature, without the last, and the part of each interval: at most ``count`` parts.

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
    """Edges of about ``count`` intervals, some in every cell that has items."""
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
    """How many of ``count`` parts every cell has: at least one where it has mass, the others where parts are heaviest."""
    parts = (mass > 0).astype(np.int64)
    for _ in range(count - int(parts.sum())):
        parts[np.argmax(mass / np.maximum(parts, 1))] += 1
    return parts


def _intervals(low: Floats, high: Floats, codes: tuple[Integers, ...], factors: Integers, step: Integers) -> Intervals:
    """The intervals that have items as kernels take them, from the range of positions in each."""
    filled = low <= high
    first = np.concatenate([[0], np.cumsum(filled.sum(axis=1))])
    lows, highs = low[filled], high[filled]
    cell = np.maximum(np.ceil(highs) - 1, 0).astype(np.int64)
    place = np.nonzero(filled)[0]
    of_place = np.zeros(low.shape, np.int64)
    for j, code in enumerate(codes):
        of_place[j, : len(code)] = code
    return Intervals(first, cell, lows - cell, highs - cell, factors[place] * of_place[filled], step)


def _steepness(tables: JointTables, groups: Integers) -> list[Floats]:
    """How much the table of each group changes in every cell of each of its features; 1 where the table is not held.

    The groups are given by their numbers.
    """
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
