"""One query under an expensive distance: bounds discard, exact distances set the threshold, until the answer is proved.

Candidates are called in the order of what is known of them, and none whose lower bound is beyond the k-th exact distance is
ever called: the optimal multi-step search of Seidl and Kriegel (1998), with bounds that grow while it runs.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._foundation.types import Floats, Integers
from ..bounds.base import QueryBounds

__all__ = ["CandidateItems", "Found", "nearest", "within"]

_BEFORE = 4  # times as many candidates as neighbours have upper bounds

Place = tuple[float, int, int]  # the distance of an item, the rank of its id, its row: neighbours are ordered by the first two
_FARTHEST: Place = (np.inf, np.iinfo(np.int64).max, -1)


class Found(NamedTuple):
    """What one search has called and proved.

    ``called`` are the items whose distance is known, nearest first; ``open_rows`` those of which it is not known whether
    they belong to the answer, and ``open_lower`` their lower bounds; ``n_calls`` counts the calls.
    """

    called: list[Place]
    open_rows: Integers
    open_lower: Floats
    n_calls: int


class CandidateItems:
    """The items that may still be answered to one query: their lower bounds and estimated distances.

    Parameters
    ----------
    rows : ndarray of shape (n,)
        Items that may be answered.
    ranks : ndarray of shape (n_items,)
        The place of every item in the order of ids, by which ties are broken.
    bounds : sequence of QueryBounds
    estimates : ndarray of shape (n,) or None
        Learned distances of the query to these items, in any unit.

    Attributes
    ----------
    n_all, n_discarded : int
        How many items there were, and how many of them bounds have discarded.
    """

    def __init__(self, rows: Integers, ranks: Integers, bounds: Sequence[QueryBounds], estimates: Floats | None) -> None:
        self._bounds = bounds
        self._ranks = ranks
        self.rows = rows
        self.n_all, self.n_discarded = len(rows), 0
        self.lower = np.zeros(len(rows))
        for bound in bounds:
            self.lower = np.maximum(self.lower, bound.lower(rows))
        self.estimates = estimates
        self._duals: list[tuple[QueryBounds, Any]] = []
        self._ratios: list[float] = []

    def __len__(self) -> int:
        return len(self.rows)

    def upper(self, chosen: NDArray[Any]) -> Floats:
        """The least upper bounds of some candidates, infinite without bounds."""
        out = np.full(len(chosen), np.inf)
        for bound in self._bounds:
            out = np.minimum(out, bound.upper(self.rows[chosen]))
        return out

    def keep(self, kept: NDArray[Any]) -> None:
        """Discard the other candidates."""
        self.rows, self.lower = self.rows[kept], self.lower[kept]
        if self.estimates is not None:
            self.estimates = self.estimates[kept]

    def discard_beyond(self, limit: Place) -> None:
        """Discard what is proved to be farther than a limit, or as far with a later id, by the duals found so far too."""
        self._discard_beyond(limit)
        if np.isfinite(limit[0]) and self._duals:
            for bound, dual in self._duals:
                self.lower = np.maximum(self.lower, bound.lower_from_dual(dual, self.rows))
            self._duals = []
            self._discard_beyond(limit)

    def _discard_beyond(self, limit: Place) -> None:
        tied = (self.lower == limit[0]) & (self._ranks[self.rows] < limit[1])
        near = (self.lower < limit[0]) | tied
        if not near.all():
            self.n_discarded += int(len(near) - near.sum())
            self.keep(near)

    def learn(self, dual: Any) -> None:
        """Remember a dual that came with an exact distance; it is read where there is a limit to hold bounds against."""
        if dual is not None:
            self._duals += [(bound, dual) for bound in self._bounds if bound.reads_duals]

    def keys(self, settled: bool) -> Floats:
        """What the candidates are called in the order of: the larger of lower bound and estimate.

        The estimates are in the unit of the distances that were called once the search is ``settled``; before, they alone
        count.
        """
        if self.estimates is None:
            return self.lower
        if not settled:
            return self.estimates
        ratio = float(np.median(self._ratios)) if self._ratios else 0.0
        return np.maximum(self.lower, ratio * self.estimates)

    def pop(self, settled: bool) -> tuple[int, float, float]:
        """Take out the first candidate: its row, its lower bound and its estimate (0 without one)."""
        keys = self.keys(settled)
        first = np.flatnonzero(keys == keys.min())
        k = int(first[np.argmin(self._ranks[self.rows[first]])])
        taken = int(self.rows[k]), float(self.lower[k]), 0.0 if self.estimates is None else float(self.estimates[k])
        kept = np.ones(len(self.rows), dtype=bool)
        kept[k] = False
        self.keep(kept)
        return taken

    def compare(self, estimate: float, value: float) -> None:
        """Learn from an exact distance in which unit estimates are."""
        if estimate > 0.0 and value > 0.0:
            self._ratios.append(value / estimate)


Call = Callable[[int, float], tuple[float, Any]]  # a row and its lower bound to the exact distance and its dual


def nearest(
    candidates: CandidateItems, call: Call, k: int, *, known: dict[int, float], budget: float, ranks: Integers
) -> Found:  # fmt: skip
    """The k nearest candidates, certified as far as a budget of calls reaches; at least k are called.

    Distances that are ``known`` count as called, but not in the budget.
    """
    if not k:
        return Found([], candidates.rows, candidates.lower, 0)
    called = _take_known(candidates, known, ranks)
    threshold = _upper_threshold(candidates, called, k)
    n_calls = 0
    while True:
        settled = len(called) >= k
        limit = called[k - 1] if settled else threshold
        candidates.discard_beyond(limit)
        if not len(candidates) or (settled and n_calls >= budget):
            return Found(called, candidates.rows, candidates.lower, n_calls)
        n_calls += 1
        insort(called, _called(candidates, call, ranks, settled))


def within(
    candidates: CandidateItems, call: Call, radius: float, *, known: dict[int, float], budget: float, ranks: Integers
) -> Found:  # fmt: skip
    """All candidates within a radius, as far as a budget of calls reaches."""
    called = _take_known(candidates, known, ranks)
    n_calls = 0
    while True:
        candidates.discard_beyond((radius, _FARTHEST[1], -1))
        if not len(candidates) or n_calls >= budget:
            return Found(called, candidates.rows, candidates.lower, n_calls)
        n_calls += 1
        insort(called, _called(candidates, call, ranks, True))


def _called(candidates: CandidateItems, call: Call, ranks: Integers, settled: bool) -> Place:
    row, lower, estimate = candidates.pop(settled)
    value, dual = call(row, lower)
    candidates.learn(dual)
    candidates.compare(estimate, value)
    return value, int(ranks[row]), row


def _take_known(candidates: CandidateItems, known: dict[int, float], ranks: Integers) -> list[Place]:
    """Take out the candidates whose distances are known, and return them, nearest first."""
    if not known:
        return []
    there = np.isin(candidates.rows, list(known))
    rows = candidates.rows[there].tolist()
    if candidates.estimates is not None:
        for row, estimate in zip(rows, candidates.estimates[there].tolist(), strict=True):
            candidates.compare(estimate, known[row])
    candidates.keep(~there)
    return sorted((known[row], int(ranks[row]), row) for row in rows)


def _upper_threshold(candidates: CandidateItems, called: list[Place], k: int) -> Place:
    """A distance that at least k items are within, by what is known and by upper bounds; infinite if bounds do not say."""
    keys = candidates.keys(False)
    few = min(_BEFORE * k, len(keys))
    chosen = np.argpartition(keys, few - 1)[:few] if few else np.empty(0, dtype=np.int64)
    highest = np.sort(np.concatenate([[value for value, _, _ in called], candidates.upper(chosen)]))
    return (float(highest[k - 1]), _FARTHEST[1], -1) if len(highest) >= k else _FARTHEST
