"""Exact sums of the items that a scan names, or of all, in steps between which Ctrl-C is seen."""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .._foundation.threads import end_if_interrupted, short_blocks
from .._foundation.types import Floats, Integers
from .._kernels.search import (
    BestItems,
    Candidates,
    NamedItems,
    SearchedItems,
    nearest,
    nearest_of_all,
    nearest_of_each,
    nearest_of_named,
    values,
)
from .query_tables import ItemArrays, QueryBlock, QueryView

__all__ = ["NO_VALUES", "Refinement", "SegmentResult", "all_by_one", "each_by_one", "growing_step", "step_of"]

NO_VALUES = np.empty(0)
_WORK = 1 << 23  # So many one-feature values are looked up in one compiled call, in about 0.05 s.
_JOINT = 16  # A joint feature takes as long as so many of them.


class SegmentResult(NamedTuple):
    """Sums and rows (B, k), inf and -1 where there are fewer; how many items were refined; whether the first scan sufficed."""

    sums: Floats
    rows: Integers
    refined: Integers
    at_once: NDArray[np.bool_]

    @classmethod
    def empty(cls, n: int, k: int) -> "SegmentResult":
        """The answer to n queries before any item was refined."""
        return cls(np.full((n, k), np.inf), np.full((n, k), -1), np.zeros(n, np.int64), np.zeros(n, dtype=bool))

    @property
    def typical(self) -> int:
        """A number of items that nine of ten queries did not refine."""
        return int(np.quantile(self.refined, 0.9)) + 1


RefineOne: TypeAlias = Callable[[QueryBlock, int, Candidates, float, SegmentResult], int]
"""Refines candidates of one query of a block, and returns how many were looked at."""


def step_of(view: QueryView, n_queries: int) -> int:
    """How many items are looked at between two moments at which Ctrl-C is seen, for so many queries at once."""
    return max(_WORK // (n_queries * (len(view.features) + _JOINT * len(view.joint_features) + 1)), 64)


def growing_step(view: QueryView, start: int, k: int) -> int:
    """How many items are looked at next for a query, after ``start`` of them: few at first where each is costly."""
    if view.simple:
        return step_of(view, 1)
    return min(step_of(view, 1), max(start, 4 * k, 64 if view.semimetric.base_distances else 256))


def all_by_one(one: RefineOne, queries: QueryBlock, rows: Integers, answer: SegmentResult) -> None:
    """Refine ``rows`` for one query of a block after another."""
    for q in range(len(queries)):
        answer.refined[q] = one(queries, q, Candidates(rows, NO_VALUES, NO_VALUES), 0.0, answer)


def each_by_one(
    one: RefineOne, queries: QueryBlock, rows: Integers, bounds: Floats, slack: Floats, answer: SegmentResult
) -> None:
    """Refine the rows (B, R), of which -1 ends those of a query, for one query of a block after another."""
    for q, (named, bound) in enumerate(zip(rows, bounds, strict=True)):
        ended = named[: np.argmax(named < 0)] if (named < 0).any() else named
        answer.refined[q] = one(queries, q, Candidates(ended, NO_VALUES, bound), slack[q], answer)


class Refinement(NamedTuple):
    """Items whose sums are computed under a view: located, and as kernels take them."""

    view: QueryView
    points: ItemArrays
    items: SearchedItems

    def sums(self, queries: QueryBlock, q: int, rows: Integers) -> Floats:
        """The sums between query q and the items ``rows``, in their order."""
        sums = np.empty(len(rows))
        for part in short_blocks(len(rows), step_of(self.view, 1)):
            values(self.view.scales, queries.profiles, q, self.points.positions, rows[part], -np.inf, sums[part])
            if not self.view.simple:
                sums[part] += self.view.rest(queries, q, self.points, rows[part])
        return np.maximum(sums, self.view.least)

    def within(self, queries: QueryBlock, q: int, rows: Integers, limit: float) -> tuple[Floats, Integers]:
        """The sums between query q and at least those of the items ``rows`` whose sum is <= ``limit``, and their rows."""
        return self.sums(queries, q, rows), rows

    def all(self, queries: QueryBlock, rows: Integers, answer: SegmentResult) -> None:
        """Refine ``rows`` for every query: what every other search must agree with, and the way for few items."""
        if not self.view.simple:
            all_by_one(self.one, queries, rows, answer)
            return
        best = BestItems(answer.sums, answer.rows, np.empty_like(answer.refined))
        for part in short_blocks(len(rows), step_of(self.view, len(queries))):
            nearest_of_all(self.view.scales, queries.profiles, self.items, rows[part], best)
        answer.refined[:] = len(rows)

    def each(self, queries: QueryBlock, rows: Integers, bounds: Floats, slack: Floats, answer: SegmentResult) -> None:
        """Refine the rows (B, R), in their order, until their bounds (B, R) exceed the k-th sum by more than the slack (B,)."""
        if not self.view.simple:
            each_by_one(self.one, queries, rows, bounds, slack, answer)
            return
        best = BestItems(answer.sums, answer.rows, np.empty_like(answer.refined))
        for part in short_blocks(rows.shape[1], step_of(self.view, len(queries))):
            named, bound = (np.ascontiguousarray(array[:, part]) for array in (rows, bounds))
            nearest_of_each(self.view.scales, queries.profiles, self.items, named, bound, slack, best)
            answer.refined[:] += best.refined
            if not best.refined.any():
                break

    def named(self, queries: QueryBlock, items: NamedItems, slack: Floats, answer: SegmentResult) -> None:
        """Refine what a scan named within limits, for sums over single features; what is found already stays."""
        best = BestItems(answer.sums, answer.rows, answer.refined)
        nearest_of_named(self.view.scales, queries.profiles, self.items, items, slack, best)

    def one(self, queries: QueryBlock, q: int, candidates: Candidates, slack: float, answer: SegmentResult) -> int:
        """Refine candidates of query q in steps, growing ones where they are costly; return how many were refined."""
        rows, bounds = candidates.rows, candidates.bounds
        best, start = BestItems(answer.sums[q], answer.rows[q], np.empty(1, np.int64)), 0
        while start < len(rows):
            end_if_interrupted()
            stop = min(len(rows), start + growing_step(self.view, start, answer.sums.shape[1]))
            extra = self.view.rest(queries, q, self.points, rows[start:stop])
            nearer = Candidates(rows[start:stop], extra, bounds[start:stop])
            nearest(self.view.scales, queries.profiles, q, self.items, nearer, slack, best)
            start += int(best.refined[0])
            if start < stop:
                break
        return start
