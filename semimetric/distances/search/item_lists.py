"""Lists of near items, and the exact search in them: list against list for queries that are near to one another.

The theory is in docs/mathematics.md, section 4. Lists belong to the items and the grid, as cells do: a distance that is learned
again on the same grid keeps them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..._foundation.errors import InputError
from ..._foundation.threads import end_if_interrupted, map_blocks, short_blocks
from ..._foundation.types import Floats, Integers
from ..._kernels.jit import read_only
from ..._kernels.list_scan import (
    BINS,
    GROUP,
    MOST_IN_LIST,
    QUERIES,
    BinRanges,
    BinTables,
    Cuts,
    ListAnswers,
    ListArrays,
    SearchedLists,
    SumLimits,
    cut_lists,
    describe_lists,
    fill_lists,
    near_items,
    of_bins,
    place_bins,
    prove_bins,
    search_lists,
)
from ..._kernels.places import PlaceCodes
from ..._kernels.search import Profiles, SearchedItems, encode
from ..._kernels.simd import LANES
from .cells import Warp
from .query_tables import ItemArrays, QueryBlock, QueryView
from .refinement import NO_VALUES, CodedRefinement, Refinement, SegmentResult, estimate_errors

_SAMPLE = 20_000  # The number of items that place the bins.
_BUDGET = 1 << 25  # So many bins are looked at in one compiled call that cuts lists, in some 0.1 s.
_SEARCHED = 1 << 30  # The number of items times queries of a call, if nothing is left out.
_PROVED = 1 << 12  # So many items are proved together.
_NEAR = 16  # The lists that give the first limits of an exact search.
_TO_MEAN = 0.3  # Of the way from the least value of a cell to its mean: where the sums of cells choose, but prove nothing.
_ALL = np.empty(0, dtype=bool)  # The mask of eligible items where all are.
Mask: TypeAlias = NDArray[np.bool_] | None  # The eligible items; None stands for all.
_NO_PLACES = PlaceCodes(np.empty((0, 0), np.uint16), np.empty(0), np.empty(0))


@dataclass(frozen=True, eq=False)
class ItemLists:
    """Items of a segment in lists of at most 256, and the bins of their features: 64 of each, of which four are a cell."""

    arrays: ListArrays
    ranges: tuple[Floats, Floats]  # (E, 64), the least and the greatest position of the items in each bin
    edges: Floats  # (E, 63), the upper edges of the bins
    values: NDArray[np.float32]  # (E, 64), what the bins are on the scales that the tables rise evenly on

    @classmethod
    def of(cls, view: QueryView, points: ItemArrays) -> ItemLists:
        """Return the lists of located items, which need a table at least."""
        n, rng = len(points), np.random.default_rng(0)
        sample = points.positions[np.sort(rng.choice(n, min(n, _SAMPLE), replace=False))][:, : view.n_tables]
        warps = [Warp.of(view, of_feature, e, rng) for e, of_feature in enumerate(sample.T)]
        edges = np.array([warp.edges(BINS) for warp in warps])
        shape = edges.shape[0], BINS
        low, high = np.full(shape, np.inf), np.full(shape, -np.inf)
        bins = _encoded(points, edges, low, high)
        values = _values(low, high, warps)
        n_lists = -(-n // MOST_IN_LIST)
        rows = np.arange(n, dtype=np.int32 if n <= np.iinfo(np.int32).max else np.int64)
        starts = _cut(bins, values, rows, n_lists)
        arrays = _arrays(rows, starts, len(edges))
        fill_lists(bins, arrays)
        return cls(arrays, (low, high), edges, values)

    @classmethod
    def loaded(
        cls, view: QueryView, points: ItemArrays, large: Sequence[NDArray[Any]], small: Sequence[NDArray[Any]],
        release: Callable[[], None],
    ) -> ItemLists:  # fmt: skip
        """Return the lists of saved arrays `LARGE` and `SMALL`, and refuse what are no lists of these items.

        Every bin is proved to be that of its item, block by block; ``release`` gives mapped memory back.
        """
        (rows, starts, bins), (edges, values) = map(read_only, large), small
        places = _checked_places(rows, starts, len(points))
        if edges.shape != (view.n_tables, BINS - 1) or np.isnan(edges).any() or (edges[:, 1:] < edges[:, :-1]).any():
            raise InputError(f"the edges of the bins of lists decrease, are NaN, or are not those of {view.n_tables} features")
        if values.shape != (view.n_tables, BINS) or not ((values >= 0.0) & (values <= 1.0)).all():
            raise InputError(
                f"the values of the bins of lists are not within 0 and 1, or not those of {view.n_tables} features"
            )
        arrays = _arrays(rows, starts, len(edges), bins)
        if len(bins) != (required := int(arrays.blocks[-1]) * len(edges) * LANES) or bins.max() >= BINS:
            raise InputError(
                f"the lists have {len(bins)} bins up to {bins.max(initial=0)}; {required} below {BINS} are required"
            )

        def prove(block: slice) -> tuple[Floats, Floats]:
            low = np.full((len(edges), BINS), np.inf)
            high, astray = -low, np.full(1, -1)
            positions = read_only(np.ascontiguousarray(points.positions[block][:, : len(edges)]))
            prove_bins(positions, edges, arrays, places[block], low, high, astray)
            if astray[0] >= 0:
                item = block.start + int(astray[0])
                raise InputError(f"the array 'list_bins' says of item {item} that it lies where its raw values do not")
            release()
            return low, high

        low, high = zip(*map_blocks(prove, len(points), size=_PROVED, n_jobs=-1), strict=True)
        describe_lists(arrays)
        return cls(arrays, (np.min(low, axis=0), np.max(high, axis=0)), edges, values)

    def in_order(self) -> ItemLists:
        """Return the lists of the same items after these were put in the order of the lists."""
        rows = np.arange(len(self.arrays.rows), dtype=self.arrays.rows.dtype)
        return replace(self, arrays=self.arrays._replace(rows=rows))

    @property
    def large(self) -> list[NDArray[np.generic]]:
        """The arrays `LARGE`, which grow with the number of items."""
        return [getattr(self.arrays, name) for name in LARGE]

    @property
    def small(self) -> list[NDArray[np.generic]]:
        """The arrays `SMALL`."""
        return [getattr(self, name) for name in SMALL]

    def order(self, view: QueryView, X: NDArray[Any]) -> Integers:
        """Return the numbers of queries X (n, n_features) such that near ones are consecutive, shape (n,)."""
        numbers, bins = np.arange(len(X)), np.empty((len(X), len(self.edges)), np.uint8)
        unused = np.full(self.values.shape, np.inf)
        for rows in short_blocks(len(X), _SAMPLE):
            bins[rows] = _encoded(view.points(X[rows]), self.edges, unused.copy(), -unused)
        _cut(bins, self.values, numbers, 1)
        return numbers


LARGE, SMALL = ("rows", "starts", "bins"), ("edges", "values")  # The arrays of which lists are made again.


def _arrays(rows: NDArray[Any], starts: Integers, n_parts: int, bins: NDArray[np.uint8] | None = None) -> ListArrays:
    """Return the arrays of lists; the bins, where they are not given, and what describes the lists are to be filled."""
    n_lists, blocks = len(starts) - 1, np.append(0, np.cumsum(-(-np.diff(starts) // LANES)))
    of_lists, of_groups = (n_lists, n_parts), (-(-n_lists // GROUP), n_parts)
    bins = np.empty(int(blocks[-1]) * n_parts * LANES, np.uint8) if bins is None else bins
    return ListArrays(
        rows, starts, blocks, bins, np.empty(of_lists, np.uint8), np.empty(of_groups, np.uint8),
        np.empty((*of_lists, 2), np.uint16), np.empty((*of_groups, 2), np.uint16),
    )  # fmt: skip


def _checked_places(rows: NDArray[Any], starts: Integers, n: int) -> NDArray[Any]:
    """Return the place of each of n items in the order of lists; refuse lists that do not hold each once, or too many."""
    if rows.min() < 0 or rows.max() >= n:
        raise InputError(f"lists hold the items {rows.min()} to {rows.max()}, but there are {n}; 0 to {n - 1} are required")
    places = np.full_like(rows, -1)
    places[rows] = np.arange(n, dtype=rows.dtype)
    if places.min() < 0:
        raise InputError(f"item {int(places.argmin())} is in no list; each is required once")
    sizes = np.diff(starts)
    if not len(sizes) or starts[0] or starts[-1] != n or sizes.min() < 1 or sizes.max() > MOST_IN_LIST:
        raise InputError(f"lists begin at {starts[:8]}; 1 to {MOST_IN_LIST} of the {n} items are required in each")
    return places


def _values(low: Floats, high: Floats, warps: Sequence[Warp]) -> NDArray[np.float32]:
    """Return the middles of bins (E, 64) on scales that rise evenly, from 0 on; 1 is the length of the longest."""
    out = np.zeros(low.shape)
    for e, warp in enumerate(warps):
        filled = low[e] <= high[e]
        middles = np.interp((low[e, filled] + high[e, filled]) / 2, warp.knots, warp.scale)
        out[e, filled] = middles - middles.min()
    return (out / (out.max() or 1.0)).astype(np.float32)


def _cut(bins: NDArray[np.uint8], values: NDArray[np.float32], rows: NDArray[Any], n_lists: int) -> Integers:
    """Order rows and their bins (n, E) such that near ones are consecutive; return the starts of the lists (n_lists + 1,)."""
    starts, parts = np.full(n_lists + 1, len(rows)), np.empty((128, 4), np.int64)
    parts[0] = (0, len(rows), 0, n_lists)
    cuts = Cuts(rows, np.empty(len(rows), np.float32), starts, parts, np.ones(1, np.int64))
    while cuts.left[0]:
        end_if_interrupted()
        cut_lists(bins, values, cuts, QUERIES, _BUDGET // max(bins.shape[1], 1))
    return starts


def _encoded(points: ItemArrays, edges: Floats, low: Floats, high: Floats) -> NDArray[np.uint8]:
    """Return the bins of located items (n, E), whose ranges ``low`` and ``high`` grow by these items."""
    bins, entries = np.empty((len(points), len(edges)), np.uint8), np.arange(len(edges))
    for rows in short_blocks(len(points), _SAMPLE):
        encode(points.positions[rows], entries, edges, low, high, bins[rows])
    return bins


def bins_between(view: QueryView, low: Floats, high: Floats) -> BinRanges:
    """Return bins by the least and the greatest position in each, (E, 64), empty where low > high, as kernels take them."""
    shape = len(low), 2 * BINS
    order = np.minimum.accumulate(np.where(low > high, np.inf, low)[:, ::-1], axis=1)[:, ::-1].copy()
    bins = BinRanges(low, high, order, np.empty(shape, np.int64), np.empty(shape), np.empty(shape))
    place_bins(view.scales, bins)
    return bins


def limits_of(view: QueryView, sums: Floats, room: Floats) -> SumLimits:
    """Return limits of the sums of queries (B,), and what estimates may err by, in the unit of bounds by bins."""
    power = -int(np.clip(np.frexp(view.size)[1], -1000, 1000))
    return SumLimits(np.ascontiguousarray(sums), room, view.size, float(np.ldexp(1.0, power)))


@dataclass(frozen=True, eq=False)
class ListScan:
    """Lists of items under a distance that is a sum over single features, and the exact search in them."""

    lists: ItemLists
    refinement: Refinement | CodedRefinement

    @property
    def view(self) -> QueryView:
        """The distance as a query sees it."""
        return self.refinement.view

    @cached_property
    def bins(self) -> BinRanges:
        """The bins as kernels take them."""
        return bins_between(self.view, *self.lists.ranges)

    @cached_property
    def _items(self) -> tuple[SearchedItems, PlaceCodes]:
        given = self.refinement
        if isinstance(given, Refinement):
            return given.items, _NO_PLACES
        return SearchedItems(np.empty((0, len(self.view.features))), given.rank, self.view.least), given.codes

    @cached_property
    def _of_bins(self) -> BinTables:
        """Tables of 64 queries, one in the middle of every bin; those of cells are no bounds, but nearer to the values."""
        low, high = self.lists.ranges
        filled, positions = low <= high, np.zeros((BINS, len(self.view.features)))
        positions[:, : len(low)].T[filled] = low[filled] / 2 + high[filled] / 2
        profiles = self.view.profiles(ItemArrays(np.empty((BINS, 0)), positions, None))
        tables = BinTables(
            np.empty((BINS, len(low), BINS), np.float32), np.empty((BINS, 16 * len(low)), np.float32),
            np.empty((BINS, len(self.view.features) + 1)), np.empty(BINS),
        )  # fmt: skip
        limits = limits_of(self.view, np.full(BINS, np.inf), np.zeros(BINS))
        of_bins(self.view.scales, profiles, self.bins, limits, tables)
        of_cells, least = tables.above.reshape(BINS, -1, 4), tables.cells.reshape(BINS, -1)
        there = np.isfinite(of_cells)
        means = np.where(there, of_cells, 0.0).sum(axis=2, dtype=np.float64) / np.maximum(there.sum(axis=2), 1)
        tables.cells[:] = np.where(there.any(axis=2), (1.0 - _TO_MEAN) * least + _TO_MEAN * means, np.inf)
        return tables

    def near_items(self, places: slice, k: int, n_lists: int, each: int) -> Integers:
        """Return rows (n, k) of items near those at some places in the order of the lists, the items themselves too.

        They are nearly those of the smallest sums between bins in ``each`` of the ``n_lists`` that are nearest to 64 of the
        items together; -1 stands at the end where there are fewer. Nothing is proved of them.
        """
        rows = np.empty((places.stop - places.start, k), np.int64)
        for part in short_blocks(len(rows), QUERIES):
            near_items(read_only(self.lists.arrays), self._of_bins, places.start + part.start, (n_lists, each), rows[part])
        return rows

    def nearest(self, queries: QueryBlock, k: int, eligible: Mask, limits: Floats | None = None) -> SegmentResult:
        """Find the k nearest eligible items of each query; finite ``limits`` (B,) exclude those of larger sums."""
        answer = SegmentResult.empty(len(queries), k)
        sums = np.full(len(queries), np.inf) if limits is None else limits
        near = 0 if np.isfinite(sums).all() else _NEAR
        for part, found, collected in self._searched(queries, sums, eligible, near, k):
            answer.refined[part], answer.at_once[part] = found.refined, found.at_once
            if isinstance(self.refinement, CodedRefinement):
                rows, starts = _flat(collected[0], found.found)
                self.refinement.keep(queries, np.arange(part.start, part.stop), rows, NO_VALUES, starts, answer)
            else:
                answer.sums[part], answer.rows[part] = found.sums, found.rows
        return answer

    def within(self, queries: QueryBlock, limit: float, eligible: Mask) -> list[tuple[Floats, Integers]]:
        """Return for each query sums and rows of at least all eligible items whose sum is <= ``limit``."""
        sums, found = np.full(len(queries), limit), []
        for part, answers, collected in self._searched(queries, sums, eligible, 0, 0):
            for q, n, numbers, values in zip(range(part.start, part.stop), answers.found, *collected, strict=True):
                rows = numbers[:n].astype(np.int64)
                if isinstance(self.refinement, CodedRefinement):
                    found.append(self.refinement.within(queries, q, rows, limit))
                else:
                    found.append((values[:n].copy(), rows))
        return found

    def _searched(
        self, queries: QueryBlock, sums: Floats, eligible: Mask, near: int, k: int
    ) -> Iterator[tuple[slice, ListAnswers, Floats]]:
        """Search for some queries after others; yield their slice, answers, and what was collected, see `search_lists`."""
        room = np.zeros(len(queries))
        if isinstance(self.refinement, CodedRefinement):
            room = estimate_errors(self.refinement.codes, self.view, queries.profiles)
        searched = read_only(SearchedLists(*self._items, self.lists.arrays, _ALL if eligible is None else eligible))
        most = max(min(QUERIES, _SEARCHED // max(len(self.lists.arrays.rows), 1)), 8)
        for part in short_blocks(len(queries), most):
            profiles = Profiles(*(array[part] for array in queries.profiles))
            limits = limits_of(self.view, sums[part], room[part])
            answers = ListAnswers.empty(part.stop - part.start, k)
            yield part, answers, search_lists(self.view.scales, profiles, searched, self.bins, limits, near, answers)


def _flat(rows: Floats, found: Integers) -> tuple[Integers, Integers]:
    """Return the rows (B, R) that were collected for all queries, one after another, and where those of each start."""
    chosen = np.arange(rows.shape[1]) < found[:, None]
    return rows[chosen].astype(np.int64), np.append(0, np.cumsum(found))
