"""A set of items that is searched as one: filter by bounds, refine by exact distances, certify the answer.

Exact search over single features: items that are typically near give a limit, and a scan names all whose bound is within it.
Otherwise the items of the smallest bounds are refined until a bound exceeds the k-th distance; if none does, a scan names all.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from .._foundation.errors import InputError
from .._foundation.types import Floats, Integers
from .._kernels.search import Candidates, cell_minima
from .._kernels.whole_tables import magnitudes
from .faiss_scan import IntegerTables, Scan, ScanCandidates, rounded_down
from .joint_scan import JointScan
from .limited_scan import named_within
from .neighbor_graph import GRAPH_FROM
from .query_tables import QueryBlock
from .ranged_scan import smallest_by_range
from .refinement import NO_VALUES, SegmentResult
from .scan_choice import columns_pay, share_within
from .search_arguments import SearchRequest
from .segment_items import SegmentItems

__all__ = ["Segment"]

_FEW = 2_048  # Up to this number of items, all of them are looked at one by one.
_SLACK = 1e-10  # Relative to the largest bounds and table entries: what rounding, and another order of adding, may change.
_WORTH = 8  # A scan does not pay where it would name more than this part of the items.
_LARGE, _FEW_QUERIES = 65_536, 4  # With so many items and so few queries, the scan is a range search.
_PROBE = 8_192  # The least size of the sample of items that suggests the range.
_FIRST, _FIRST_LEAST = 6, 64  # The items that give the limit of an exact search: so many for each neighbour, and at least.
_WALKED = 0.5  # Where less than this share of the items may be answered, a walk would mostly pass others.
_SAMPLE = 32  # The number of items that are taken as queries to measure how many survive the filter.
Mask: TypeAlias = NDArray[np.bool_] | None  # Items that may be answered; None stands for all.


@dataclass(eq=False, repr=False)
class Segment(SegmentItems):
    """Items under a distance, with their codes, and the searches among them; its parameters are those of `SegmentItems`."""

    @cached_property
    def _probe(self) -> tuple[Scan, Integers]:
        """The codes of a sample of the items, and the rows of the sample."""
        rows = np.linspace(0, len(self) - 1, min(np.clip(len(self) // 16, _PROBE, 8 * _PROBE), len(self))).astype(np.int64)
        return Scan(self.codes.packed[rows], self.cells.layout.n_columns), rows

    @property
    def survivors(self) -> int:
        """How many items typically have a bound within the distance of the 10th neighbour, by the scan that is used."""
        return self._measured[1]

    @cached_property
    def _measured(self) -> tuple[JointScan | None, int]:
        """The scan over boxes where it is the better one, and `survivors`: measured on items as queries."""
        rows = np.linspace(0, len(self) - 1, min(_SAMPLE, len(self))).astype(np.int64)
        queries = self.view.block(self.points.take(rows))
        search, n_first = SearchRequest(min(11, len(self))), max(256, len(self) // 64)
        if self._joint_scan is not None:
            answer = self._joint_scan.nearest(queries, search.k, self._refinement, None, n_first)
            if not self._columns_pay(queries, answer):
                return self._joint_scan, answer.typical
        return None, self._certified(queries, search, None, n_first).typical

    def _columns_pay(self, queries: QueryBlock, answer: SegmentResult) -> bool:
        """Whether the scan of columns costs less than that over boxes, whose exact answer is given."""
        if not self.searchable:
            return False
        (tables, slack), codes = self._bounds(queries), self.codes.packed[:: max(len(self) // _PROBE, 1)]
        named = len(self) * share_within(tables, self.filter.floor, codes, answer.sums[:, -1] + slack).mean()
        parts = self.cells.layout.n_columns, len(self._joint_codes.codes)
        return columns_pay(len(self), *parts, named, answer.refined.mean())

    @property
    def searchable(self) -> bool:
        """Whether there are bounds: some column, and nothing outside of them that may be negative."""
        return self.cells.layout.n_columns > 0 and self.view.bounded

    def _eligible(self, keep: Mask) -> Mask:
        """The mask of the items that are alive and kept; None for all."""
        if self.n_alive == len(self):
            return keep
        return self.alive if keep is None else self.alive & keep

    def _rows(self, eligible: Mask) -> Integers:
        return np.arange(len(self)) if eligible is None else np.flatnonzero(eligible)

    def least(self, queries: QueryBlock) -> Floats:
        """A number that no sum between a query of the block and an item is below, shape (B,), for sums over single features."""
        scales, low, high = self.view.scales, self.cells.low.min(axis=1), self.cells.high.max(axis=1)
        values = np.empty((len(queries), len(low), 1))
        cell_minima(scales, queries.profiles, self.cells.layout.entries, low[:, None], high[:, None], values)
        return values.sum(axis=(1, 2)) - _SLACK * (np.abs(values).sum(axis=(1, 2)) + self.view.size)

    def nearest(self, queries: QueryBlock, search: SearchRequest, keep: Mask, limits: Floats | None = None) -> SegmentResult:
        """The k nearest of the items that are alive and kept, for a block of queries.

        Where ``limits`` (B,) are given, items whose sum exceeds that of their query may be left out of an exact answer.
        """
        eligible = self._eligible(keep)
        n = len(self) if eligible is None else int(eligible.sum())
        few, bounded = n <= max(_FEW, 2 * search.k), self.searchable or self._joint_scan is not None
        if search.algorithm == "brute" or few or not bounded:
            return self._brute(queries, search.k, self._rows(eligible))
        if search.algorithm == "graph":
            return self._by_graph(queries, search, eligible, n)
        if search.algorithm == "approximate" and self.searchable:
            return self._approximate(queries, search, eligible)
        if limits is not None and self.view.simple and np.isfinite(limits).all():
            return self._limited(queries, search, eligible, limits)
        boxes, survivors = self._measured
        n_first = max(4 * search.k, int(1.5 * survivors * np.sqrt(max(search.k, 10) / 10)), 64)
        if n_first * (_WORTH if boxes is None else _WORTH // 2) > n:
            return self._brute(queries, search.k, self._rows(eligible))
        if boxes is not None:
            return boxes.nearest(queries, search.k, self._refinement, eligible, n_first)
        return self._certified(queries, search, eligible, n_first)

    @property
    def _boxes(self) -> JointScan | None:
        """The scan over boxes, where there is one that is better, and where items are scanned."""
        return None if self._joint_scan is None or len(self) <= _FEW else self._measured[0]

    def bounds(self, queries: QueryBlock) -> tuple[IntegerTables, Floats] | None:
        """What range searches of a block share: tables of bounds, and slacks (B,); None where there is nothing to share."""
        return self._bounds(queries) if self.searchable and len(self) > _FEW and self._boxes is None else None

    def within(
        self, queries: QueryBlock, q: int, limit: float, bounds: tuple[IntegerTables, Floats] | None, keep: Mask
    ) -> tuple[Floats, Integers]:
        """Sums and rows of at least all items whose sum is <= limit (rounding aside), for query q of the block.

        ``bounds`` are those of the block, as the method of this name gives them.
        """
        eligible, rows = self._eligible(keep), None
        if self._boxes is not None:
            rows = self._boxes.within(queries, q, limit, eligible)
        elif bounds is not None:
            tables, slack = bounds
            rows = self._surviving(tables, q, limit + slack[q], eligible)
        rows = self._rows(eligible) if rows is None else rows
        return self._refinement.within(queries, q, rows, limit)

    def _bounds(self, queries: QueryBlock) -> tuple[IntegerTables, Floats]:
        """Tables of bounds as integers, and the slack of each query, shape (B,)."""
        tables = self.filter.minima(queries)
        return rounded_down(tables), self._slack(tables)

    def _slack(self, tables: Floats) -> Floats:
        """What rounding, and another order of adding, may change in the sums of each query with these tables, shape (B,)."""
        size = np.empty(len(tables))
        magnitudes(tables, size)
        return _SLACK * (size + self.view.size)

    def _surviving(self, tables: IntegerTables, q: int, limit: float, eligible: Mask) -> Integers | None:
        """Rows whose bound is <= limit for query q; None if that may be all."""
        if tables.flat[q]:
            return None
        found = self.scan.within(tables, q, tables.limit(q, limit - self.filter.floor), eligible)
        return None if found is None else found[1]

    def _certified(self, queries: QueryBlock, search: SearchRequest, eligible: Mask, n_first: int) -> SegmentResult:
        """The exact answer: the first scan names ``n_first`` items, and a second one those that it may have missed."""
        if self.view.simple:
            return self._limited(queries, search, eligible)
        tables, slack = self._bounds(queries)
        answer = SegmentResult.empty(len(queries), search.k)
        by_range = len(queries) <= _FEW_QUERIES and len(self) >= _LARGE
        count = min(n_first, len(self))
        if by_range:
            named = smallest_by_range(self.scan, *self._probe, tables, count, eligible)
        else:
            named = self._smallest(tables, count, eligible)
        self._refinement.each(queries, named.rows, tables.bounds(named.sums) + self.filter.floor, slack, answer)
        # No item that was not named has a smaller bound than this one.
        unnamed_bound = tables.bounds(named.next_sum[:, None])[:, 0] + self.filter.floor
        unnamed_bound[np.isnan(named.next_sum)] = -np.inf
        ended_early = answer.refined < (named.rows >= 0).sum(axis=1)
        answer.at_once[:] = ended_early | (answer.refined == len(self)) | (answer.sums[:, -1] + slack < unnamed_bound)
        for q in np.flatnonzero(~answer.at_once):
            self._complete(queries, int(q), tables, slack[q], eligible, answer)
        return answer

    def _limited(
        self, queries: QueryBlock, search: SearchRequest, eligible: Mask, limits: Floats | None = None
    ) -> SegmentResult:
        """The exact answer: items that are typically near give a limit, and one scan names all whose bound is within it.

        Finite ``limits`` (B,) take the place of such items.
        """
        answer = SegmentResult.empty(len(queries), search.k)
        if limits is None:
            answer = self._first(queries, search._replace(n_candidates=max(_FIRST * search.k, _FIRST_LEAST)), eligible)
            limits = answer.sums[:, -1]
        found, minima = answer.rows.copy(), self.filter.minima(queries)
        slack = self._slack(minima)
        for named in named_within(self.scan, minima, limits + slack, self.filter.floor, eligible):
            self._refinement.named(queries, named, slack, answer)
        answer.at_once[:] = (answer.rows == found).all(axis=1)
        return answer

    def _first(self, queries: QueryBlock, search: SearchRequest, eligible: Mask) -> SegmentResult:
        """Near items: by lists, or of a sample, which may have too few, where without lists to scan all would take long."""
        if self.lists is not None or len(self) < _LARGE:
            return self._approximate(queries, search, eligible)
        (scan, sampled), tables = self._probe, rounded_down(self.filter.means(queries))
        answer, at = SegmentResult.empty(len(queries), search.k), np.full((len(queries), search.n_candidates), -1)
        if (varied := ~tables.flat).any():
            _, at[varied] = scan.nearest(tables.of(varied), at.shape[1], keep=None if eligible is None else eligible[sampled])
        rows = np.where(at >= 0, sampled[at], -1)
        self._refinement.each(queries, rows, np.empty((len(rows), 0)), np.zeros(len(rows)), answer)
        return answer

    def _complete(
        self, queries: QueryBlock, q: int, tables: IntegerTables, slack: float, eligible: Mask, answer: SegmentResult
    ) -> None:
        """Refine every item that can be among the nearest of query q, given the distance of the k-th so far."""
        rows = self._surviving(tables, q, answer.sums[q, -1] + slack, eligible)
        if rows is None:
            rows = self._rows(eligible)
        answer.sums[q], answer.rows[q] = np.inf, -1
        answer.refined[q] += len(rows)
        self._refinement.one(queries, q, Candidates(rows, NO_VALUES, NO_VALUES), 0.0, answer)

    def _approximate(self, queries: QueryBlock, search: SearchRequest, eligible: Mask) -> SegmentResult:
        tables = rounded_down(self.filter.means(queries))
        answer = SegmentResult.empty(len(queries), search.k)
        count = min(max(search.n_candidates, search.k), len(self))
        _, rows = self._scanned(tables, count, eligible, search.n_probe)
        too_few = rows[:, search.k - 1] < 0
        if self.lists is not None and too_few.any():  # The lists that were visited hold too few items, so all are visited.
            _, rows[too_few] = self._scanned(tables.of(too_few), count, eligible)
        self._refinement.each(queries, rows, np.empty((len(rows), 0)), np.zeros(len(rows)), answer)
        for q in np.flatnonzero(answer.rows[:, -1] < 0):  # A constant table, or too few answers: all items are refined.
            self._complete(queries, int(q), tables, 0.0, eligible, answer)
        return answer

    def _by_graph(self, queries: QueryBlock, search: SearchRequest, eligible: Mask, n: int) -> SegmentResult:
        """The nearest items that a walk finds; a scan where there are few items, or where few of them may be answered."""
        if self._walk is None and len(self) > GRAPH_FROM:
            raise InputError(
                "algorithm='graph' was asked for, and the index has no graph; call build_graph() of a NeighborIndex first, or "
                "use algorithm='approximate'"
            )
        share = n / len(self)
        if self._walk is None or share < _WALKED:
            return self._approximate(queries, search, eligible)
        width = min(int(np.ceil(max(search.n_candidates, search.k) / share)), len(self))
        rows, answer = self._walk.nearest(queries, width), SegmentResult.empty(len(queries), search.k)
        if eligible is not None:
            rows[~eligible[rows]] = -1  # -1 names the last item, and is -1 or becomes it.
            rows = np.take_along_axis(rows, np.argsort(rows < 0, axis=1, kind="stable"), axis=1)
        self._refinement.each(queries, rows, np.empty((len(rows), 0)), np.zeros(len(rows)), answer)
        if (answer.rows[:, -1] < 0).any():  # The walk of a query ended with too few answers: all items are refined.
            tables = rounded_down(self.filter.means(queries))
            for q in np.flatnonzero(answer.rows[:, -1] < 0):
                self._complete(queries, int(q), tables, 0.0, eligible, answer)
        return answer

    def _scanned(
        self, tables: IntegerTables, count: int, eligible: Mask, n_probe: int | None = None
    ) -> tuple[NDArray[np.float32], Integers]:
        """The items of the smallest sums in all lists, or in the ``n_probe`` nearest; none for constant tables."""
        sums, rows = np.zeros((len(tables.step), count), np.float32), np.full((len(tables.step), count), -1)
        varied = ~tables.flat
        if varied.any():
            searched = tables if varied.all() else tables.of(varied)
            lists = None
            if n_probe and self._coarse and n_probe < self._coarse.n:
                _, lists = self._coarse.nearest(searched, n_probe)
            sums[varied], rows[varied] = self.scan.nearest(searched, count, lists=lists, keep=eligible)
        return sums, rows

    def _smallest(self, tables: IntegerTables, count: int, eligible: Mask) -> ScanCandidates:
        """The ``count`` items of the smallest sums; nothing is said of the others beyond the last of these."""
        sums, rows = self._scanned(tables, count, eligible)
        return ScanCandidates(sums, rows, np.full(len(rows), np.nan))

    def _brute(self, queries: QueryBlock, k: int, rows: Integers) -> SegmentResult:
        """Refine all ``rows``."""
        answer = SegmentResult.empty(len(queries), k)
        answer.at_once[:] = True
        self._refinement.all(queries, rows, answer)
        return answer
