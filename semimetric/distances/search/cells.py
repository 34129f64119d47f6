"""Filter cells: every item becomes a few 4-bit codes, every query a table of bounds (a VA-file).

The theory is in docs/mathematics.md, section 4.

A *part* is a one-feature scale or a joint group, cut into at most 16 cells. A *column* of codes holds one part, or several
whose cells multiply to at most 16 where there are more parts than columns. Cells belong to the items and the grid, not to
the weights: a distance that is learned again on the same grid keeps the codes.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._foundation.arrays import spread
from ..._foundation.errors import InputError
from ..._foundation.threads import map_blocks
from ..._foundation.types import Floats, Integers
from ..._kernels.search import PackedParts, cell_means, cell_minima, encode, encode_packed
from ..._kernels.simplex import Groups, Located, group_rows_of_vectors
from ..pairs.base import Items
from ..pairs.vertices import Vertices
from .query_tables import ItemArrays, QueryBlock, QueryView


class Barycentric(NamedTuple):
    """ID of single vectors in every group: vertices and weights (n, n_slots); group g has slots slot[g]:slot[g + 1]."""

    vertices: Integers
    values: Floats
    slot: Integers

    def of(self, g: int) -> tuple[Integers, Floats]:
        """Return vertices and weights in group g, both of shape (n, size + 1)."""
        slots = slice(self.slot[g], self.slot[g + 1])
        return self.vertices[:, slots], self.values[:, slots]


def barycentric(groups: Sequence[Vertices], items: Items) -> Barycentric:
    """Return barycentric coordinates of located items in each group (paper 2, Alg. 1)."""
    slot = np.concatenate([[0], np.cumsum([len(v.group) + 1 for v in groups])])
    member = sorted((f, g, s) for g, v in enumerate(groups) for f, s in zip(v.group, v.strides, strict=True))
    axis, group, stride = np.array(member, dtype=np.int64).T
    n, n_features = items.located.fraction.shape
    table = Groups(np.searchsorted(axis, np.arange(n_features + 1)), group.copy(), stride.copy(), slot)
    vertices, values = np.empty((n, int(slot[-1])), np.int64), np.empty((n, int(slot[-1])))
    order = items.order if items.order.shape[1] else np.argsort(items.located.fraction, axis=1, kind="stable")
    group_rows_of_vectors(items.located, np.arange(n), order, table, vertices, values)
    return Barycentric(vertices, values, slot)


@dataclass(frozen=True, eq=False)
class Boxes:
    """A joint group whose grid is cut at knots into boxes, each of which is a cell."""

    group: tuple[int, ...]  # of the features
    cuts: tuple[Integers, ...]  # last knot of each interval of each feature; the last is the feature's last knot

    def check(self, vertices: Vertices) -> None:
        """Refuse boxes of another group, or with cuts that are no increasing knots up to the last."""
        if self.group != vertices.group or len(self.cuts) != len(vertices.sizes):
            raise InputError(f"there are boxes of the group {self.group}; those of {vertices.group} are required")
        for cut, size in zip(self.cuts, vertices.sizes, strict=True):
            if not len(cut) or cut[0] < 0 or cut[-1] != size - 1 or (np.diff(cut) <= 0).any():
                raise InputError(f"the group {self.group} is cut at {cut[:8]}; increasing knots up to {size - 1} are required")

    @classmethod
    def fit(cls, vertices: Vertices, located: Located, n_boxes: int) -> "Boxes":
        """Return at most ``n_boxes`` boxes, at quantiles of the items' cells."""
        cuts, room = [], n_boxes
        for k, (f, size) in enumerate(zip(vertices.group, vertices.sizes, strict=True)):
            share = int(np.ceil(room ** (1 / (len(vertices.group) - k)) - 1e-9))
            n = max(min(share, room, size - 1), 1)
            inner = np.quantile(located.upper[:, f], np.arange(1, n) / n, method="higher").astype(np.int64)
            cuts.append(np.unique(np.append(inner[(inner > 0) & (inner < size)], size - 1)))
            room //= len(cuts[-1])
        return cls(vertices.group, tuple(cuts))

    @property
    def count(self) -> int:
        """The number of boxes: the product of the numbers of intervals."""
        return int(np.prod([len(cut) for cut in self.cuts]))

    def codes(self, located: Located) -> Integers:
        """Return the number of the box of every item, shape (n,); the first feature runs slowest."""
        code = np.zeros(len(located.upper), np.int64)
        for f, cut in zip(self.group, self.cuts, strict=True):
            code = code * len(cut) + np.searchsorted(cut, located.upper[:, f])
        return code

    def corners(self, table: Floats, sizes: tuple[int, ...]) -> Floats:
        """min { table[a, b] : b a knot of the box }, shape (C, count)."""
        spread = table.reshape(len(table), *sizes)
        axes = tuple(range(1, spread.ndim))
        intervals = [[slice(int(a), int(b) + 1) for a, b in zip(np.append(0, cut[:-1]), cut, strict=True)] for cut in self.cuts]
        return np.stack([spread[:, *box].min(axis=axes) for box in itertools.product(*intervals)], axis=1)

    def shares(self, codes: Integers, vertices: Integers, values: Floats, n_points: int) -> Floats:
        """Return mean barycentric coordinates of the items in each box, shape (C, count); 0 where a box is empty."""
        total = np.zeros((n_points, self.count))
        np.add.at(total, (vertices, codes[:, None]), values)
        return total / np.maximum(np.bincount(codes, minlength=self.count), 1)


CODES = 16
MOST_COLUMNS = 256  # The 8-bit entries of so many columns add up within 16 bits.
_SAMPLE = 20_000  # The number of items from which cells are measured.
_PROBES = 64  # The number of queries over which the steepness of a table is averaged.
_BINS = 256  # The number of bins of the histogram from which cells are cut.
_ENCODED = 1 << 22  # So many cells are found in one compiled call.
_TYPICAL = np.array([1 / 6, 1 / 2, 5 / 6])  # The quantiles of the items of a cell that stand for it.


@dataclass(frozen=True, eq=False)
class CellLayout:
    """The ends of cells, and the column in which every part lies."""

    edges: Floats  # (n_scales, 15), upper edges of the cells of the scales, in positions; infinite beyond the last
    boxes: tuple[Boxes, ...]  # cells of the joint groups, whose parts come after those of the scales
    column: Integers  # (n_parts,)
    step: Integers  # (n_parts,), the step of a part's cell in the code of its column
    count: Integers  # (n_parts,), the number of cells of a part

    @cached_property
    def n_columns(self) -> int:
        """Number of 4-bit codes that an item has."""
        return int(self.column.max(initial=-1)) + 1

    @property
    def n_bytes(self) -> int:
        """Number of bytes of the codes of an item."""
        return (self.n_columns + 1) // 2

    @cached_property
    def packed_parts(self) -> PackedParts:
        """The scales as kernels pack them."""
        n = len(self.edges)
        return PackedParts(np.ascontiguousarray(self.edges), self.column[:n].copy(), self.step[:n].copy())

    @cached_property
    def entries(self) -> Integers:
        """Numbers of the scales that are parts: all of them, in order."""
        return np.arange(len(self.edges))

    @cached_property
    def in_order(self) -> bool:
        """True if the first parts lie in the columns of their numbers."""
        return bool((self.column[: len(self.edges)] == self.entries).all())

    @cached_property
    def n_codes(self) -> Integers:
        """The number of codes of each column that can occur, of 16: the product of the numbers of cells of its parts."""
        out = np.ones(self.n_columns, np.int64)
        np.multiply.at(out, self.column, self.count)
        return out

    def check(self, view: QueryView) -> None:
        """Refuse a layout whose parts are not those of the distance, or whose codes do not name the cells of every part."""
        n_scales, n_parts = len(self.edges), len(self.edges) + len(self.boxes)
        if (n_scales, len(self.boxes)) != (view.n_tables, len(view.held)):
            raise InputError(
                f"there are cells of {n_scales} features and {len(self.boxes)} groups; {view.n_tables} and {len(view.held)} "
                "are required by the distance"
            )
        for boxes, vertices in zip(self.boxes, view.held, strict=True):
            boxes.check(vertices)
        if any(array.shape != (n_parts,) for array in (self.column, self.step, self.count)):
            raise InputError(
                f"there are {len(self.column)} columns, {len(self.step)} steps and {len(self.count)} counts of cells; "
                f"{n_parts} of each are required"
            )
        used = np.unique(self.column)
        if not np.array_equal(used, np.arange(len(used))) or len(used) > MOST_COLUMNS:
            raise InputError(f"the columns of codes are {used[:8]}...; 0, 1, ... up to at most {MOST_COLUMNS - 1} are required")
        if ((self.count < 1) | (self.count > CODES)).any() or (self.n_codes > CODES).any():
            raise InputError(f"a column has more than {CODES} codes, or a part no cell; 1 to {CODES} are required")
        order = np.lexsort((self.step, self.count > 1, self.column))
        column, step, count = self.column[order], self.step[order], self.count[order]
        first = np.append(True, column[1:] != column[:-1])[: len(column)]
        needed = np.where(first, 1, np.append(1, step[:-1] * count[:-1])[: len(column)])
        if ((step != needed) | ((count == 1) & (step != 1))).any():
            raise InputError("the steps of parts in a column of codes overlap, or leave codes out; each goes on where one ends")
        counts = np.arange(CODES - 1) >= self.count[:n_scales, None] - 1
        if (
            np.isnan(self.edges).any()
            or (self.edges[:, 1:] < self.edges[:, :-1]).any()
            or np.isfinite(self.edges[counts]).any()
        ):
            raise InputError("the edges of cells decrease, are NaN, or are more than there are cells")
        if any(boxes.count > n for boxes, n in zip(self.boxes, self.count[n_scales:], strict=True)):
            raise InputError("a group has more boxes than its part has cells")

    @cached_property
    def digits(self) -> Integers:
        """The cell of each part that each code of its column stands for, shape (n_parts, 16)."""
        return np.arange(CODES) // self.step[:, None] % self.count[:, None]

    @classmethod
    def fit(cls, view: QueryView, X: NDArray[Any], random_state: int | None) -> "CellLayout":
        """Return the layout whose cells follow the items X (n, n_features) and the steepness of the tables."""
        rng = np.random.default_rng(random_state)
        rows = np.arange(len(X)) if len(X) <= _SAMPLE else np.sort(rng.choice(len(X), _SAMPLE, replace=False))
        sample = view.points(X[rows])
        warps = [Warp.of(view, sample.positions[:, e], e, rng) for e in range(view.n_tables)]
        spreads = np.array([warp.spread for warp in warps] + [np.inf] * len(view.held))
        column, step, count = _columns_of_parts(spreads)
        edges = [warp.edges(n) for warp, n in zip(warps, count, strict=False)]
        boxes: tuple[Boxes, ...] = ()
        if sample.joint is not None:
            located, counts = sample.joint.located, count[len(warps) :]
            boxes = tuple(Boxes.fit(group, located, n) for group, n in zip(view.held, counts, strict=True))
        return cls(np.array(edges).reshape(-1, CODES - 1), boxes, column, step, count)


def _columns_of_parts(spread: Floats) -> tuple[Integers, Integers, Integers]:
    """Return column, step and number of cells of every part: one a column, or those of least spread together.

    A column of several parts holds ``fold`` of them, with ``cells`` cells each: cells to the power of fold is at most 16.
    """
    n, most = len(spread), MOST_COLUMNS
    fold = next((f for f in (1, 2, 4) if n <= f * most), 4)
    cells = {1: CODES, 2: 4, 4: 2}[fold]
    n_alone = n if fold == 1 else max((fold * most - n) // (fold - 1), 0)
    column, count, step = np.zeros(n, np.int64), np.ones(n, np.int64), np.ones(n, np.int64)
    by_spread = np.argsort(-spread, kind="stable")[: fold * most]  # Parts beyond these have one cell.
    for k, part in enumerate(by_spread[:n_alone]):
        column[part], count[part] = k, CODES
    for k, part in enumerate(by_spread[n_alone:]):
        column[part], count[part], step[part] = n_alone + k // fold, cells, cells ** (k % fold)
    return column, step, count


class Warp(NamedTuple):
    """A scale on which one feature's table rises evenly: positions and their values, and the sample's values."""

    knots: Floats
    scale: Floats
    sample: Floats

    @property
    def spread(self) -> float:
        """The variation of the sample on the scale."""
        return float(spread(self.sample))

    @classmethod
    def of(cls, view: QueryView, positions: Floats, e: int, rng: np.random.Generator) -> "Warp":
        """Return the scale of feature e, as steep as its table is in the mean over queries like the sample.

        ``positions`` (n_sample,) are those of a sample of items; outside the range the scale has the slopes of the distance.
        """
        scales = view.scales
        size, start = int(scales.size[e]), int(scales.start[e])
        table = scales.tables[start : start + size * size].reshape(size, size)
        rows = np.clip(np.rint(rng.choice(positions, _PROBES)), 0, size - 1).astype(np.int64)
        rise = np.abs(np.diff(table[rows], axis=1)).mean(axis=0)
        low, high = min(positions.min(), 0.0) - 1.0, max(positions.max(), size - 1.0) + 1.0
        below, above = scales.epsilon[e]
        steps = np.concatenate([[-low * below], rise, [(high - size + 1.0) * above]])
        knots = np.concatenate([[low], np.arange(size), [high]])
        scale = np.concatenate([[0.0], np.cumsum(steps + 1e-9 * (steps.max() or 1.0))])
        return cls(knots, scale, np.interp(positions, knots, scale))

    def edges(self, n_cells: int) -> Floats:
        """Return upper edges of ``n_cells`` cells, as dense as the cube root of the items (Panter & Dite 1951) on the scale."""
        low, width = self.sample.min(), np.ptp(self.sample) or 1.0
        counts = np.bincount(np.minimum((self.sample - low) / width * _BINS, _BINS - 1).astype(np.int64), minlength=_BINS)
        ends = low + width * (np.arange(_BINS + 1) / _BINS)
        mass = np.concatenate([[0.0], np.cumsum(np.cbrt(counts))])
        cuts = np.interp(np.arange(1, n_cells) / n_cells * mass[-1], mass, ends)
        out = np.full(max(CODES, n_cells) - 1, np.inf)
        whole = self.scale[-1]  # in whose unit no slope of usual positions overflows
        at = np.interp(cuts / whole, self.scale / whole, self.knots)
        out[: n_cells - 1] = np.maximum.accumulate(at)  # An edge may be infinite and must not fall: its cell is then empty.
        return out


@dataclass(eq=False)
class Cells:
    """Bounds and typical values of the items in each cell."""

    layout: CellLayout
    low: Floats  # (n_scales, 16), the range of positions in each cell; low > high where a cell is empty
    high: Floats  # (n_scales, 16)
    typical: Floats  # (n_scales, 16, 3), positions that stand for a cell
    shares: list[Floats]  # of each joint group (C, n_boxes), the mean barycentric coordinates of the items in each box

    def check(self, view: QueryView) -> None:
        """Refuse ranges with infinite or missing ends where a cell has items, and shares that are no shares of the groups."""
        filled = self.low <= self.high
        if not (filled | (self.low > self.high)).all() or not np.isfinite([self.low[filled], self.high[filled]]).all():
            raise InputError("the ranges of cells hold NaN or infinity; finite ends are required where a cell has items")
        room = 1e-9 * (1.0 + np.abs(self.low[filled]) + np.abs(self.high[filled]))[:, None]
        beyond = np.maximum(self.low[filled, None] - self.typical[filled], self.typical[filled] - self.high[filled, None])
        if not (beyond <= room).all():
            raise InputError("typical positions lie outside their cells; positions in the range of the cell are required")
        shapes = [(v.n_points, boxes.count) for v, boxes in zip(view.held, self.layout.boxes, strict=True)]
        if [share.shape for share in self.shares] != shapes or any((s < 0).any() or (s > 2).any() for s in self.shares):
            raise InputError(
                f"the shares of boxes have shapes {[s.shape for s in self.shares]}; shares of {shapes} are required"
            )

    @classmethod
    def of(
        cls, layout: CellLayout, view: QueryView, items: ItemArrays, *, n_jobs: int | None = 1
    ) -> tuple["Cells", NDArray[np.uint8]]:
        """Return the cells of ``items``, and the codes of the items, packed two a byte, shape (n, n_bytes)."""
        codes, empty = np.zeros((len(items), layout.n_bytes), np.uint8), np.full((len(layout.edges), CODES), np.inf)

        def fill(rows: slice) -> tuple[Floats, Floats]:
            low, high = empty.copy(), -empty
            encode_packed(items.positions[rows], layout.packed_parts, low, high, codes[rows])
            return low, high

        size = max(_ENCODED // max(layout.n_columns, 1), 1)
        lows, highs = zip((empty, -empty), *map_blocks(fill, len(items), size=size, n_jobs=n_jobs), strict=True)
        low, high, shares = np.min(lows, axis=0), np.max(highs, axis=0), []
        if view.held and items.joint is not None:
            coordinates = barycentric(view.held, items.joint)
            for g, (group, boxes) in enumerate(zip(view.held, layout.boxes, strict=True)):
                box, part = boxes.codes(items.joint.located), len(layout.edges) + g
                column, step = int(layout.column[part]), int(layout.step[part])
                codes[:, column // 2] += (box * step << 4 * (column % 2)).astype(np.uint8)
                shares.append(boxes.shares(box, *coordinates.of(g), group.n_points))
        return cls(layout, low, high, _typical(layout, items, low, high), shares), codes


def _typical(layout: CellLayout, items: ItemArrays, low: Floats, high: Floats) -> Floats:
    """Return three quantiles of a sample of the items in each cell; a cell that the sample misses takes its range."""
    rows = np.linspace(0, len(items) - 1, min(len(items), _SAMPLE)).astype(np.int64)
    out = np.zeros((*low.shape, len(_TYPICAL)))
    filled = low <= high
    out[filled] = low[filled, None] + (high - low)[filled, None] * _TYPICAL
    sample, cells = items.positions[rows], np.zeros((len(rows), len(low)), np.uint8)
    encode(sample, layout.entries, layout.edges, np.full(low.shape, np.inf), np.full(low.shape, -np.inf), cells)
    for e, c in zip(*np.nonzero(filled), strict=True):
        inside = sample[cells[:, e] == c, e]
        if len(inside):
            out[e, c] = np.quantile(inside, _TYPICAL)
    return out


def packed_codes(layout: CellLayout, positions: Floats) -> NDArray[np.uint8]:
    """Return codes of vectors that are no items, given by their positions (n, E); joint groups are in their first box."""
    empty, codes = np.full((len(layout.edges), CODES), np.inf), np.zeros((len(positions), layout.n_bytes), np.uint8)
    encode_packed(positions, layout.packed_parts, empty, -empty, codes)
    return codes


@dataclass(frozen=True, eq=False)
class Filter:
    """Cells under a distance: tables of bounds and of typical values for queries; infinite where a cell is empty."""

    cells: Cells
    view: QueryView

    @cached_property
    def _joint_tables(self) -> list[tuple[Floats, Floats]]:
        """Least and mean of each joint group between a grid point and a box: two tables (n_points, n_boxes)."""
        joint, out = self.view.joint, []
        layout, shares = self.cells.layout, self.cells.shares
        for group, table, boxes, share in zip(self.view.held, self.view.held_tables, layout.boxes, shares, strict=True):
            swapped = joint is not None and not joint[0].continuous  # Then either of two entries may count.
            least = np.minimum(table, table.T) if swapped else table
            out.append((boxes.corners(least, group.sizes), table @ share))
        return out

    @property
    def floor(self) -> float:
        """A lower bound of what groups without cells and base distances add to the sum besides the columns."""
        if self.view.joint is None:
            return 0.0
        embedding, w = self.view.joint
        least = [w[embedding.group_of_column == g].min(initial=0.0) for g, v in enumerate(embedding.vertices) if not v.held]
        return float(sum(least))

    def minima(self, queries: QueryBlock) -> Floats:
        """Return lower bounds of what every code adds to the sum, shape (B, n_columns, 16)."""
        layout = self.cells.layout
        least = np.empty((len(queries), len(layout.edges), CODES))
        cell_minima(self.view.scales, queries.profiles, layout.entries, self.cells.low, self.cells.high, least)
        return self._columns(least, queries.items, 0)

    def means(self, queries: QueryBlock) -> Floats:
        """Return typical values of what every code adds to the sum, shape (B, n_columns, 16)."""
        layout = self.cells.layout
        mean = np.empty((len(queries), len(layout.edges), CODES))
        cell_means(self.view.scales, queries.profiles, layout.entries, self.cells.typical, mean)
        mean[:, self.cells.low > self.cells.high] = np.inf
        return self._columns(mean, queries.items, 1)

    def _columns(self, scales: Floats, queries: ItemArrays, which: int) -> Floats:
        """Add up values of the scales and of joint groups (``which`` 0: least, 1: mean) by column: (B, n_scales, 16)."""
        layout = self.cells.layout
        if not layout.boxes and len(scales[0]) == layout.n_columns:
            return scales if layout.in_order else scales[:, np.argsort(layout.column)]
        out = np.zeros((len(queries), layout.n_columns, CODES))
        for p, column in enumerate(layout.column[: len(layout.edges)]):
            out[:, column] += scales[:, p, layout.digits[p]]
        if queries.joint is not None and layout.boxes:
            coordinates = barycentric(self.view.held, queries.joint)
            for g, tables in enumerate(self._joint_tables):
                p, (vertices, values) = len(layout.edges) + g, coordinates.of(g)
                table = np.einsum("bs,bsc->bc", values, tables[which][vertices])
                digits = np.minimum(layout.digits[p], table.shape[1] - 1)  # Codes beyond the boxes do not occur.
                out[:, layout.column[p]] += table[:, digits]
        return out
