"""Exact sums of items whose positions are held in 16 bits: estimates choose the few items whose values are read.

It answers what `Refinement` answers, to the bit, whatever the errors of the codes.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._foundation.threads import end_if_interrupted, short_blocks
from .._foundation.types import Floats, Integers
from .._kernels.places import Estimates, choose_named, estimate, estimate_each, keep_nearest
from .._kernels.search import BestItems, Candidates, NamedItems, SearchedItems, values
from .places import CodedPlaces
from .query_tables import ItemArrays, QueryBlock, QueryView
from .refinement import NO_VALUES, SegmentResult, all_by_one, each_by_one, growing_step, step_of

__all__ = ["PlacedRefinement"]

_READ = 1 << 12  # So many items are read and located together.


class PlacedRefinement(NamedTuple):
    """Items whose sums are computed under a view: their places in 16 bits, and where their values lie."""

    view: QueryView
    points: ItemArrays
    rank: Integers

    @property
    def places(self) -> CodedPlaces:
        """The positions in 16 bits."""
        return self.points.places  # type: ignore[no-any-return]

    def within(self, queries: QueryBlock, q: int, rows: Integers, limit: float) -> tuple[Floats, Integers]:
        """The sums between query q and those of the items ``rows`` whose sum may be <= ``limit``, and the rows of these."""
        slack, found = self.places.slack(self.view, queries.profiles)[q], []
        for part in short_blocks(len(rows), step_of(self.view, 1)):
            estimates = _no_estimates(1, len(rows[part]), 1)
            estimate(
                self.view.scales, queries.profiles, q, self.places.of_items,
                Candidates(rows[part], self._rest(queries, q, rows[part]), NO_VALUES), slack, estimates,
            )  # fmt: skip
            found.append(rows[part][estimates.sums[0] <= limit + slack])
        near = np.concatenate([rows[:0], *found])
        sums = np.empty(len(near))
        for part in short_blocks(len(near), _READ):
            located, one = self.points.positions[near[part]], np.arange(len(near[part]))
            values(self.view.scales, queries.profiles, q, located, one, -np.inf, sums[part])
            if not self.view.simple:
                sums[part] += self._rest(queries, q, near[part])
        return np.maximum(sums, self.view.least), near

    def all(self, queries: QueryBlock, rows: Integers, answer: SegmentResult) -> None:
        """Refine ``rows`` for every query."""
        if not self.view.simple:
            all_by_one(self.one, queries, rows, answer)
            return
        nothing = np.empty((len(queries), 0))
        for part in short_blocks(len(rows), step_of(self.view, len(queries))):
            self._block(queries, Candidates(rows[None, part], NO_VALUES, nothing), np.zeros(len(queries)), answer)
        answer.refined[:] = len(rows)

    def each(self, queries: QueryBlock, rows: Integers, bounds: Floats, slack: Floats, answer: SegmentResult) -> None:
        """Refine the rows (B, R), in their order, until their bounds (B, R) prove that no later one is among the nearest."""
        if not self.view.simple:
            each_by_one(self.one, queries, rows, bounds, slack, answer)
            return
        for part in short_blocks(rows.shape[1], step_of(self.view, len(queries))):
            looked_at = self._block(queries, Candidates(rows[:, part], NO_VALUES, bounds[:, part]), slack, answer)
            answer.refined[:] += looked_at
            if not looked_at.any():
                break

    def named(self, queries: QueryBlock, items: NamedItems, slack: Floats, answer: SegmentResult) -> None:
        """Refine what a scan named within limits, for sums over single features; what is found already stays."""
        room, chosen = self.places.slack(self.view, queries.profiles), np.empty(len(items.rows), dtype=bool)
        best = BestItems(answer.sums, answer.rows, answer.refined)
        choose_named(self.view.scales, queries.profiles, self.places.of_items, items, room, slack, best, chosen)
        before = np.append(0, np.cumsum(chosen))
        self._keep(queries, items.queries, items.rows[chosen], NO_VALUES, before[items.starts], answer)

    def one(self, queries: QueryBlock, q: int, candidates: Candidates, slack: float, answer: SegmentResult) -> int:
        """Refine candidates of query q in steps, growing ones where they are costly; return how many were looked at."""
        rows, bounds, start, k = candidates.rows, candidates.bounds, 0, answer.sums.shape[1]
        room = self.places.slack(self.view, queries.profiles)[q]
        while start < len(rows):
            end_if_interrupted()
            part = slice(start, start + growing_step(self.view, start, k))
            extra = self._rest(queries, q, rows[part])
            estimates = _no_estimates(1, len(rows[part]), k)
            estimates.smallest[0] = answer.sums[q] - room
            named = Candidates(rows[part], extra, bounds[part])
            estimate(self.view.scales, queries.profiles, q, self.places.of_items, named, room + slack, estimates)
            looked_at = int(estimates.looked_at[0])
            chosen = np.flatnonzero(self._chosen(estimates, np.array([room]))[0])
            self._keep(
                queries,
                np.array([q]),
                rows[part][chosen],
                extra[chosen] if len(extra) else extra,
                np.array([0, len(chosen)]),
                answer,
            )
            start += looked_at
            if looked_at < len(rows[part]):
                break
        return start

    def _rest(self, queries: QueryBlock, q: int, rows: Integers) -> Floats:
        return self.view.rest(queries, q, self.points, rows)

    def _block(self, queries: QueryBlock, candidates: Candidates, slack: Floats, answer: SegmentResult) -> Integers:
        """Refine some candidates of every query; return how many were looked at, shape (B,)."""
        given = Candidates(*(np.ascontiguousarray(array) for array in candidates))
        room = self.places.slack(self.view, queries.profiles)
        estimates = _no_estimates(len(queries), given.rows.shape[1], answer.sums.shape[1])
        estimates.smallest[:] = answer.sums - room[:, None]
        estimate_each(self.view.scales, queries.profiles, self.places.of_items, given, room + slack, estimates)
        chosen = self._chosen(estimates, room)
        rows = np.broadcast_to(given.rows, chosen.shape)[chosen]
        starts = np.concatenate([[0], np.cumsum(chosen.sum(axis=1))])
        self._keep(queries, np.arange(len(queries)), rows, NO_VALUES, starts, answer)
        return estimates.looked_at

    def _chosen(self, estimates: Estimates, room: Floats) -> NDArray[np.bool_]:
        """Which of the items that were looked at may be among the nearest, shape (B, R)."""
        limit = np.maximum(estimates.smallest[:, -1] + room, self.view.least) + room
        looked_at = np.arange(estimates.sums.shape[1]) < estimates.looked_at[:, None]
        return looked_at & (estimates.sums <= limit[:, None])

    def _keep(
        self, queries: QueryBlock, which: Integers, rows: Integers, extra: Floats, starts: Integers, answer: SegmentResult
    ) -> None:
        """Compute the exact sums of ``rows``, and keep the nearest.

        The rows ``starts[j]:starts[j + 1]`` belong to query ``which[j]`` of the block.
        """
        best = BestItems(answer.sums, answer.rows, np.empty(1, np.int64))
        for part in short_blocks(len(rows), _READ):
            items = SearchedItems(self.points.positions[rows[part]], self.rank, self.view.least)
            inside = np.clip(starts, part.start, part.stop) - part.start
            given = Candidates(rows[part], extra[part], NO_VALUES)
            keep_nearest(self.view.scales, queries.profiles, which, items, given, inside, best)


def _no_estimates(n_queries: int, n_rows: int, k: int) -> Estimates:
    """Room for the estimates of queries, none of which has been made."""
    return Estimates(np.full((n_queries, n_rows), np.nan), np.full((n_queries, k), np.inf), np.zeros(n_queries, np.int64))
