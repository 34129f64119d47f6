"""Exact sums of the items that a scan names, or of all, in steps between which Ctrl-C is seen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from ..._foundation.threads import end_if_interrupted, map_blocks, short_blocks
from ..._foundation.types import Floats, Integers
from ..._foundation.validation import check_choice
from ..._kernels.jit import read_only
from ..._kernels.places import FAR, Estimates, PlaceCodes, error_bounds, estimate, estimate_each, keep_nearest, place_codes
from ..._kernels.search import (
    BestItems,
    Candidates,
    Heavy,
    Profiles,
    SearchedItems,
    nearest,
    nearest_of_all,
    nearest_of_each,
    values,
)
from ..pairs.base import Items
from .query_tables import ItemArrays, QueryBlock, QueryView, joined

NO_VALUES = np.empty(0)
_WORK = 1 << 23  # So many one-feature values are looked up in one compiled call, in about 0.05 s.
_JOINT = 16  # A joint feature takes as long as so many of them.
_FEW_NEAREST = 0.25  # of the items: of more nearest ones, a sum of some features rules too few out.
_ROUNDING = 1e-10  # Relative to the largest sums: more than adding up in another order may change.


class SegmentResult(NamedTuple):
    """Sums and rows (B, k), inf and -1 where there are fewer; how many items were refined; True if the first scan sufficed."""

    sums: Floats
    rows: Integers
    refined: Integers
    at_once: NDArray[np.bool_]

    @classmethod
    def empty(cls, n: int, k: int) -> SegmentResult:
        """Return the answer to n queries before any item was refined."""
        return cls(np.full((n, k), np.inf), np.full((n, k), -1), np.zeros(n, np.int64), np.zeros(n, dtype=bool))

    @property
    def typical(self) -> int:
        """A number of items that nine of ten queries did not refine."""
        return int(np.quantile(self.refined, 0.9)) + 1


RefineOne: TypeAlias = Callable[[QueryBlock, int, Candidates, float, SegmentResult], int]
"""Refines candidates of one query of a block, and returns how many were looked at."""


def step_of(view: QueryView, n_queries: int) -> int:
    """Return the number of items between two moments at which Ctrl-C is seen, for so many queries at once."""
    return max(_WORK // (n_queries * (len(view.features) + _JOINT * len(view.joint_features) + 1)), 64)


def growing_step(view: QueryView, start: int, k: int) -> int:
    """Return the number of items to look at next for a query, after ``start``: few at first where each is costly."""
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

    @classmethod
    def of(cls, view: QueryView, points: ItemArrays, rank: Integers) -> Refinement:
        """Take located items with whole positions, and the ranks of their ids, which are empty where ids increase."""
        return cls(view, points, read_only(SearchedItems(points.positions, rank, view.least)))

    def sums(self, queries: QueryBlock, q: int, rows: Integers) -> Floats:
        """Return the sums between query q and the items ``rows``, in their order."""
        sums = np.empty(len(rows))
        for part in short_blocks(len(rows), step_of(self.view, 1)):
            values(self.view.scales, queries.profiles, q, self.points.positions, rows[part], -np.inf, sums[part])
            if not self.view.simple:
                sums[part] += self.view.rest(queries, q, self.points, rows[part])
        return np.maximum(sums, self.view.least)

    def within(self, queries: QueryBlock, q: int, rows: Integers, limit: float) -> tuple[Floats, Integers]:
        """Return the sums between query q and at least the items among ``rows`` whose sum is <= ``limit``, and their rows."""
        return self.sums(queries, q, rows), rows

    def all(self, queries: QueryBlock, rows: Integers, answer: SegmentResult) -> None:
        """Refine ``rows`` for every query: what every other search must agree with, and the way for few items."""
        if not self.view.simple:
            all_by_one(self.one, queries, rows, answer)
            return
        best = BestItems(answer.sums, answer.rows, np.empty_like(answer.refined))
        some = answer.sums.shape[1] <= _FEW_NEAREST * len(rows)  # of many, most items need all features
        heavy = Heavy(self.view.heavy if some else self.view.heavy[:0], _ROUNDING * self.view.size)
        for part in short_blocks(len(rows), step_of(self.view, len(queries))):
            nearest_of_all(self.view.scales, queries.profiles, self.items, rows[part], heavy, best)
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


STORAGES = ("float64", "uint16")
_ROWS = 1 << 14  # The number of items that are located together.


class LocatedRows:
    """The positions (n, E) of encoded items, which may lie in a file: located when rows of them are read, and never held."""

    def __init__(self, view: QueryView, raw: NDArray[Any]) -> None:
        self.view, self.raw = view, raw

    @property
    def shape(self) -> tuple[int, int]:
        """The shape (n, E) of the positions."""
        return len(self.raw), len(self.view.features)

    def __getitem__(self, rows: Any) -> Floats:
        return self.view.positions(np.asarray(self.raw[rows], dtype=np.float64))


def estimate_errors(codes: PlaceCodes, view: QueryView, profiles: Profiles) -> Floats:
    """Bound the errors of the sums that codes give for a block of queries, rounding included, shape (B,)."""
    bounds = np.empty(len(profiles.position))
    error_bounds(view.scales, profiles, codes.error, _ROUNDING, bounds)
    return bounds + _ROUNDING * view.size


def located_items(view: QueryView, X: NDArray[Any], storage: str, *, n_jobs: int | None = None) -> ItemArrays:
    """Locate the rows of X, and hold them as ``storage`` says; with "uint16" block by block, and X itself is kept."""
    check_choice("storage", storage, STORAGES)
    if storage == "float64":
        return view.points(X, n_jobs=n_jobs)
    codes = np.empty((len(X), len(view.features)), np.uint16)
    scale = _scales(view)

    def locate(rows: slice) -> tuple[Floats, Items | None]:
        block = view.points(np.asarray(X[rows], dtype=np.float64))
        coded = PlaceCodes(codes[rows], scale, np.zeros(len(scale)))
        place_codes(block.positions, coded)
        return coded.error, block.joint

    located = map_blocks(locate, len(X), size=_ROWS, n_jobs=n_jobs)
    error = np.max([np.zeros(len(scale)), *(of_block for of_block, _ in located)], axis=0)
    joint = [items for _, items in located if items is not None]
    positions = cast(Floats, LocatedRows(view, X))
    return ItemArrays(X, positions, joined(joint) if joint else None, PlaceCodes(codes, scale, error))


def _scales(view: QueryView) -> Floats:
    """Return the step of the codes in positions, powers of 2, shape (E,): codes reach one range beyond both ends."""
    return np.exp2(np.ceil(np.log2((view.scales.size + 1.0) / (FAR - 1))))


def stays_in_place(X: Any, storage: str) -> bool:
    """Return True if an index holds X without a copy: with "uint16", if nobody can write to it, as to a mapped file."""
    return storage == "uint16" and isinstance(X, np.ndarray) and not X.flags.writeable


_READ = 1 << 12  # So many items are read and located together.


class CodedRefinement(NamedTuple):
    """Items whose sums are computed under a view: their positions in 16 bits, and the array of their values."""

    view: QueryView
    points: ItemArrays
    codes: PlaceCodes
    rank: Integers

    def within(self, queries: QueryBlock, q: int, rows: Integers, limit: float) -> tuple[Floats, Integers]:
        """Return the sums between query q and the items among ``rows`` whose sum may be <= ``limit``, and their rows."""
        slack, found = estimate_errors(self.codes, self.view, queries.profiles)[q], []
        for part in short_blocks(len(rows), step_of(self.view, 1)):
            estimates = _no_estimates(1, len(rows[part]), 1)
            estimate(
                self.view.scales, queries.profiles, q, self.codes,
                Candidates(rows[part], self.view.rest(queries, q, self.points, rows[part]), NO_VALUES), slack, estimates,
            )  # fmt: skip
            found.append(rows[part][estimates.sums[0] <= limit + slack])
        near = np.concatenate([rows[:0], *found])
        sums = np.empty(len(near))
        for part in short_blocks(len(near), _READ):
            located, one = self.points.positions[near[part]], np.arange(len(near[part]))
            values(self.view.scales, queries.profiles, q, located, one, -np.inf, sums[part])
            if not self.view.simple:
                sums[part] += self.view.rest(queries, q, self.points, near[part])
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

    def one(self, queries: QueryBlock, q: int, candidates: Candidates, slack: float, answer: SegmentResult) -> int:
        """Refine candidates of query q in steps, growing ones where they are costly; return how many were looked at."""
        rows, bounds, start, k = candidates.rows, candidates.bounds, 0, answer.sums.shape[1]
        room = estimate_errors(self.codes, self.view, queries.profiles)[q]
        while start < len(rows):
            end_if_interrupted()
            part = slice(start, start + growing_step(self.view, start, k))
            extra = self.view.rest(queries, q, self.points, rows[part])
            estimates = _no_estimates(1, len(rows[part]), k)
            estimates.smallest[0] = answer.sums[q] - room
            named = Candidates(rows[part], extra, bounds[part])
            estimate(self.view.scales, queries.profiles, q, self.codes, named, room + slack, estimates)
            looked_at = int(estimates.looked_at[0])
            chosen = np.flatnonzero(self._chosen(estimates, np.array([room]))[0])
            self.keep(
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

    def _block(self, queries: QueryBlock, candidates: Candidates, slack: Floats, answer: SegmentResult) -> Integers:
        """Refine some candidates of every query; return how many were looked at, shape (B,)."""
        given = Candidates(*(np.ascontiguousarray(array) for array in candidates))
        room = estimate_errors(self.codes, self.view, queries.profiles)
        estimates = _no_estimates(len(queries), given.rows.shape[1], answer.sums.shape[1])
        estimates.smallest[:] = answer.sums - room[:, None]
        estimate_each(self.view.scales, queries.profiles, self.codes, given, room + slack, estimates)
        chosen = self._chosen(estimates, room)
        rows = np.broadcast_to(given.rows, chosen.shape)[chosen]
        starts = np.concatenate([[0], np.cumsum(chosen.sum(axis=1))])
        self.keep(queries, np.arange(len(queries)), rows, NO_VALUES, starts, answer)
        return estimates.looked_at

    def _chosen(self, estimates: Estimates, room: Floats) -> NDArray[np.bool_]:
        """Mask the items that were looked at and may be among the nearest, shape (B, R)."""
        limit = np.maximum(estimates.smallest[:, -1] + room, self.view.least) + room
        looked_at = np.arange(estimates.sums.shape[1]) < estimates.looked_at[:, None]
        return looked_at & (estimates.sums <= limit[:, None])

    def keep(
        self, queries: QueryBlock, which: Integers, rows: Integers, extra: Floats, starts: Integers, answer: SegmentResult
    ) -> None:
        """Store the nearest by the exact sums of ``rows``; ``starts[j]:starts[j + 1]`` belong to query ``which[j]``."""
        best = BestItems(answer.sums, answer.rows, np.empty(1, np.int64))
        for part in short_blocks(len(rows), _READ):
            items = SearchedItems(self.points.positions[rows[part]], self.rank, self.view.least)
            inside = np.clip(starts, part.start, part.stop) - part.start
            given = Candidates(rows[part], extra[part], NO_VALUES)
            keep_nearest(self.view.scales, queries.profiles, which, items, given, inside, best)


def _no_estimates(n_queries: int, n_rows: int, k: int) -> Estimates:
    return Estimates(np.full((n_queries, n_rows), np.nan), np.full((n_queries, k), np.inf), np.zeros(n_queries, np.int64))
