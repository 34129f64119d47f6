"""A set of items that is searched as one: filter, refine, certify.

Exact search, for one query:

    1. the R items of the smallest bounds, in their order, are refined until a bound exceeds the k-th distance: certified;
    2. if none of the R does, a second scan names every item whose bound is within the k-th distance so far;
    3. where that may be all of them, all are refined.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .._foundation.types import Floats, Integers
from .._kernels.search import BestItems, Candidates, Profiles, SearchedItems, nearest, nearest_of_all, nearest_of_each, values
from .cells import CellLayout, Cells, Filter
from .faiss_scan import IntegerTables, Scan, ScanCandidates, whole_numbers
from .inverted_lists import Lists, list_count
from .query_tables import ItemArrays, QueryView

__all__ = ["SegmentResult", "SearchRequest", "Segment"]

_FEW = 2_048  # items that are looked at one by one
_SLACK = 1e-10  # of the largest bounds: what adding up in another order may change
_WORTH = 8  # candidates that are more than this part of all items are not worth a scan
_LARGE, _FEW_QUERIES, _PROBE = 65_536, 4, 8_192  # where and how single queries guess a range from a sample
_SAMPLE = 32
Mask: TypeAlias = NDArray[np.bool_] | None  # None keeps all

_NOTHING = np.empty(0)
_NO_RANK = np.empty(0, np.int64)


class SearchRequest(NamedTuple):
    """What is asked: k and the algorithm; how many candidates it refines and how many lists it visits if approximate."""

    k: int
    algorithm: str = "exact"
    n_candidates: int = 100
    n_probe: int = 16


class SegmentResult(NamedTuple):
    """Sums and rows (B, k), inf and -1 where there are fewer; how many items were refined; whether the first scan sufficed."""

    sums: Floats
    rows: Integers
    refined: Integers
    at_once: NDArray[np.bool_]


@dataclass(eq=False)
class Segment:
    """Items under a distance, with their codes.

    Parameters
    ----------
    oriented : QueryView
    ids : ndarray of shape (n,), int64 or str
    points : ItemArrays
    cells : Cells
    codes : ndarray of shape (n, n_bytes), uint8
    alive : ndarray of shape (n,), bool
        Items that have not been removed.
    lists : Lists or None
        How the items are divided for the approximate search.
    """

    oriented: QueryView
    ids: NDArray
    points: ItemArrays
    cells: Cells
    codes: NDArray[np.uint8]
    alive: NDArray[np.bool_]
    lists: Lists | None = None

    @classmethod
    def build(
        cls,
        oriented: QueryView,
        layout: CellLayout,
        ids: NDArray,
        X: NDArray,
        *,
        n_lists: int | str,
        n_jobs: int | None,
        seed: int | None,
    ) -> "Segment":
        """Locate, encode and divide the items X."""
        points = oriented.points(X, n_jobs=n_jobs)
        cells, codes = Cells.of(layout, oriented, points)
        n = list_count(len(ids), oriented) if n_lists == "auto" else int(n_lists)
        many = n > 1 and oriented.n_tables > 0
        lists = Lists.fit(oriented, layout, points, n, n_jobs=n_jobs, seed=seed) if many else None
        return cls(oriented, ids, points, cells, codes, np.ones(len(ids), dtype=bool), lists)

    def __len__(self) -> int:
        return len(self.ids)

    def with_alive(self, alive: NDArray[np.bool_]) -> "Segment":
        """The same items with others removed; the scan is shared."""
        return self._shared(replace(self, alive=alive))

    def under(self, oriented: QueryView) -> "Segment":
        """The same items and codes under another distance of the same cells."""
        points = self.points if np.array_equal(oriented.features, self.oriented.features) else oriented.points(self.points.raw)
        return self._shared(replace(self, oriented=oriented, points=points))

    def _shared(self, other: "Segment") -> "Segment":
        for name in ("scan", "_coarse", "_probe", "rank"):  # these depend on codes and ids alone
            if name in vars(self):
                vars(other)[name] = vars(self)[name]
        return other

    @cached_property
    def n_alive(self) -> int:
        """Number of items that have not been removed."""
        return int(self.alive.sum())

    @cached_property
    def filter(self) -> Filter:
        """Tables of bounds."""
        return Filter(self.cells, self.oriented)

    @cached_property
    def scan(self) -> Scan:
        """The codes in FAISS."""
        return Scan(self.codes, self.cells.layout.n_columns, None if self.lists is None else self.lists.member)

    @cached_property
    def _coarse(self) -> Scan | None:
        """The codes of the centroids of the lists."""
        return None if self.lists is None else Scan(self.lists.codes, self.cells.layout.n_columns)

    @cached_property
    def rank(self) -> Integers:
        """Place of every id in their order; empty where rows are in order already."""
        if (self.ids[1:] > self.ids[:-1]).all():
            return _NO_RANK
        rank = np.empty(len(self), np.int64)
        rank[np.argsort(self.ids, kind="stable")] = np.arange(len(self))
        return rank

    @cached_property
    def _searched(self) -> SearchedItems:
        return SearchedItems(self.points.positions, self.rank, self.oriented.least)

    @cached_property
    def survivors(self) -> int:
        """How many items typically have a bound within the distance of the 10th neighbour: measured on items as queries."""
        rows = np.linspace(0, len(self) - 1, min(_SAMPLE, len(self))).astype(np.int64)
        queries = self.points.take(rows)
        block = self.oriented.profiles(queries)
        answer = self._certified(queries, block, SearchRequest(min(11, len(self))), None, max(256, len(self) // 64))
        return int(np.quantile(answer.refined, 0.9)) + 1

    @property
    def searchable(self) -> bool:
        """Whether there are bounds: some column, and nothing outside of them that may be negative."""
        return self.cells.layout.n_columns > 0 and self.oriented.bounded

    def _eligible(self, keep: Mask) -> Mask:
        """Items that are alive and kept; None for all."""
        if self.n_alive == len(self):
            return keep
        return self.alive if keep is None else self.alive & keep

    def _rows(self, eligible: Mask) -> Integers:
        return np.arange(len(self)) if eligible is None else np.flatnonzero(eligible)

    def nearest(self, queries: ItemArrays, block: Profiles, search: SearchRequest, keep: Mask) -> SegmentResult:
        """The k nearest of the items that are alive and kept, for a block of queries."""
        eligible = self._eligible(keep)
        n = len(self) if eligible is None else int(eligible.sum())
        if search.algorithm == "brute" or not self.searchable or n <= max(_FEW, 2 * search.k):
            return self._brute(queries, block, search.k, self._rows(eligible))
        if search.algorithm == "approximate":
            return self._approximate(queries, block, search, eligible)
        first = max(4 * search.k, int(1.5 * self.survivors * np.sqrt(max(search.k, 10) / 10)), 64)
        if first * _WORTH > n:
            return self._brute(queries, block, search.k, self._rows(eligible))
        return self._certified(queries, block, search, eligible, first)

    def prepared(self, queries: ItemArrays, block: Profiles) -> tuple[IntegerTables, Floats] | None:
        """What range searches of a block share: tables of bounds; None where all items are looked at."""
        return self._bounds(queries, block) if self.searchable and len(self) > _FEW else None

    def within(
        self, queries: ItemArrays, block: Profiles, ready: tuple[IntegerTables, Floats] | None, q: int, limit: float, keep: Mask
    ) -> tuple[Floats, Integers]:
        """Sums and rows of all items whose sum may be <= limit (rounding aside), for query q of the block."""
        eligible, rows = self._eligible(keep), None
        if ready is not None:
            rows = self._surviving(ready[0], q, limit + ready[1][q], eligible)
        rows = self._rows(eligible) if rows is None else rows
        sums = np.empty(len(rows))
        values(self.oriented.scales, block, q, self.points.positions, rows, -np.inf, sums)
        if not self.oriented.simple:
            sums = sums + self.oriented.rest(queries, q, self.points, rows)
        return np.maximum(sums, self.oriented.least), rows

    def _bounds(self, queries: ItemArrays, block: Profiles) -> tuple[IntegerTables, Floats]:
        """Tables of bounds in whole numbers, and the slack of each query."""
        tables = self.filter.minima(block, queries)
        size = np.where(np.isinf(tables), 0.0, np.abs(tables)).max(axis=2).sum(axis=1)
        return whole_numbers(tables), _SLACK * size

    def _surviving(self, whole: IntegerTables, q: int, limit: float, eligible: Mask) -> Integers | None:
        """Rows whose bound is <= limit; None if that may be all."""
        if whole.flat[q]:
            return None
        found = self.scan.within(whole, q, (limit - self.filter.floor - whole.base[q]) * whole.step[q], eligible)
        return None if found is None else found[1]

    def _certified(
        self, queries: ItemArrays, block: Profiles, search: SearchRequest, eligible: Mask, first: int
    ) -> SegmentResult:
        whole, slack = self._bounds(queries, block)
        answer = _empty(len(queries), search.k)
        few = len(queries) <= _FEW_QUERIES and len(self) >= _LARGE
        sums, rows, next_sum = (self._sampled if few else self._first)(whole, min(first, len(self)), eligible)
        self._refine(queries, block, rows, whole.bounds(sums) + self.filter.floor, slack, answer)
        # no item that was not named has less
        others = np.where(np.isnan(next_sum), -np.inf, whole.bounds(next_sum[:, None])[:, 0] + self.filter.floor)
        ended = answer.refined < (rows >= 0).sum(axis=1)
        answer.at_once[:] = ended | (answer.refined == len(self)) | (answer.sums[:, -1] + slack < others)
        for q in np.flatnonzero(~answer.at_once):
            self._complete(queries, block, whole, int(q), slack[q], eligible, answer)
        return answer

    def _first(self, whole: IntegerTables, count: int, eligible: Mask) -> ScanCandidates:
        """The ``count`` items of the smallest sums; nothing is said of the others beyond the last of these."""
        sums, rows = self._scanned(whole, count, eligible)
        return ScanCandidates(sums, rows, np.full(len(rows), np.nan))

    def _complete(
        self,
        queries: ItemArrays,
        block: Profiles,
        whole: IntegerTables,
        q: int,
        slack: float,
        eligible: Mask,
        answer: SegmentResult,
    ) -> None:
        """Every item that can be among the nearest of query q, given the distance of the k-th so far."""
        rows = self._surviving(whole, q, answer.sums[q, -1] + slack, eligible)
        if rows is None:
            rows = self._rows(eligible)
        answer.sums[q], answer.rows[q] = np.inf, -1
        answer.refined[q] += len(rows)
        self._nearest(queries, block, q, rows, _NOTHING, 0.0, answer)

    def _approximate(self, queries: ItemArrays, block: Profiles, search: SearchRequest, eligible: Mask) -> SegmentResult:
        whole = whole_numbers(self.filter.means(block, queries))
        answer = _empty(len(queries), search.k)
        count = min(max(search.n_candidates, search.k), len(self))
        _, rows = self._scanned(whole, count, eligible, search.n_probe)
        if self.lists is not None and (short := rows[:, search.k - 1] < 0).any():  # too few in these lists: visit all
            _, rows[short] = self._scanned(whole.of(short), count, eligible)
        self._refine(queries, block, rows, np.empty((len(rows), 0)), np.zeros(len(rows)), answer)
        for q in np.flatnonzero(answer.rows[:, -1] < 0):  # a constant table, or too few answers: look at all
            self._complete(queries, block, whole, int(q), 0.0, eligible, answer)
        return answer

    def _scanned(
        self, whole: IntegerTables, count: int, eligible: Mask, n_probe: int | None = None
    ) -> tuple[NDArray[np.float32], Integers]:
        """The items of the smallest sums in all lists, or in the ``n_probe`` nearest; none for constant tables."""
        sums, rows = np.zeros((len(whole.step), count), np.float32), np.full((len(whole.step), count), -1)
        varied = ~whole.flat
        if varied.any():
            part = whole if varied.all() else whole.of(varied)
            lists = None
            if n_probe and self._coarse and n_probe < self._coarse.n:
                _, lists = self._coarse.nearest(part, n_probe)
            sums[varied], rows[varied] = self.scan.nearest(part, count, lists=lists, keep=eligible)
        return sums, rows

    def _sampled(self, whole: IntegerTables, count: int, eligible: Mask) -> ScanCandidates:
        """About ``count`` items of the smallest sums, by a range search up to a sum that a sample of the items suggests.

        For single queries FAISS collects a range faster than many best.
        """
        probe, sampled = self._probe
        place = min(max(count * len(sampled) // len(self), 1), len(sampled))
        guesses, _ = probe.nearest(whole, place, keep=None if eligible is None else eligible[sampled])
        parts = [self._up_to(whole, q, float(guess), eligible) for q, guess in enumerate(guesses[:, -1])]
        width = max(len(sums) for sums, _, _ in parts)
        named = ScanCandidates(
            np.zeros((len(parts), max(width, 1)), np.float32), np.full((len(parts), max(width, 1)), -1),
            np.array([next_sum for _, _, next_sum in parts]),
        )  # fmt: skip
        for q, (sums, rows, _) in enumerate(parts):
            named.sums[q, : len(sums)], named.rows[q, : len(rows)] = sums, rows
        return named

    def _up_to(self, whole: IntegerTables, q: int, limit: float, eligible: Mask) -> tuple[NDArray[np.float32], Integers, float]:
        """Sums and rows of all items up to a sum, increasing, and the least sum of the others."""
        found = None if whole.flat[q] or not np.isfinite(limit) else self.scan.within(whole, q, limit, eligible)
        if found is None:
            return np.empty(0, np.float32), np.empty(0, np.int64), np.nan
        order = np.argsort(found[0].astype(np.uint16), kind="stable")  # sums are whole numbers below 65,536
        return found[0][order], found[1][order], np.floor(limit) + 1.0

    @cached_property
    def _probe(self) -> tuple[Scan, Integers]:
        """A sample of the codes, and its rows."""
        rows = np.linspace(0, len(self) - 1, min(_PROBE, len(self))).astype(np.int64)
        return Scan(self.codes[rows], self.cells.layout.n_columns), rows

    def _refine(
        self, queries: ItemArrays, block: Profiles, rows: Integers, bounds: Floats, slack: Floats, answer: SegmentResult
    ) -> None:
        if self.oriented.simple:
            best = BestItems(answer.sums, answer.rows, answer.refined)
            nearest_of_each(self.oriented.scales, block, self._searched, rows, bounds, slack, best)
            return
        for q, (found, least) in enumerate(zip(rows, bounds, strict=True)):
            found = found[: np.argmax(found < 0)] if (found < 0).any() else found
            answer.refined[q] = self._nearest(queries, block, q, found, least, slack[q], answer)

    def _nearest(
        self, queries: ItemArrays, block: Profiles, q: int, rows: Integers, bounds: Floats, slack: float, answer: SegmentResult
    ) -> int:
        """Refine rows in growing chunks, so that what is costly is computed for few; returns how many were refined."""
        simple, start = self.oriented.simple, 0
        best = BestItems(answer.sums[q], answer.rows[q], np.empty(1, np.int64))
        while start < len(rows):
            stop = len(rows) if simple else min(len(rows), max(2 * start, 4 * answer.sums.shape[1], 64))
            part = rows[start:stop]
            extra = _NOTHING if simple else self.oriented.rest(queries, q, self.points, part)
            candidates = Candidates(part, extra, bounds[start:stop])
            nearest(self.oriented.scales, block, q, self._searched, candidates, slack, best)
            if best.refined[0] < len(part):
                return start + int(best.refined[0])
            start = stop
        return len(rows)

    def _brute(self, queries: ItemArrays, block: Profiles, k: int, rows: Integers) -> SegmentResult:
        """All rows, one by one: the oracle, and the way for few."""
        answer = _empty(len(queries), k)
        answer.at_once[:] = True
        if self.oriented.simple:
            best = BestItems(answer.sums, answer.rows, answer.refined)
            nearest_of_all(self.oriented.scales, block, self._searched, rows, best)
            return answer
        for q in range(len(queries)):
            answer.refined[q] = self._nearest(queries, block, q, rows, _NOTHING, 0.0, answer)
        return answer


def _empty(n: int, k: int) -> SegmentResult:
    return SegmentResult(np.full((n, k), np.inf), np.full((n, k), -1), np.zeros(n, np.int64), np.zeros(n, dtype=bool))
