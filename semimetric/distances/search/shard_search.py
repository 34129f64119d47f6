"""Searches among shards by an `Engine`: the most promising shard first, then those that may hold an answer.

The least sum that an item of a shard can have is bounded by the ranges of values of clusters of its items (`ranges_of`,
`RangeBounds`), which are found when the shard is opened. A query is done when that bound exceeds its k-th sum so far in every
shard that it has not asked. Queries that wait for the same shard go there together, with the sums that an answer must not
exceed. Nobody waits for the end of a round: a worker that is free gets the shard that most queries wait for.

Every shard certifies its own nearest, so the nearest of their answers are those of all items: what is exact stays exact. Under
distances that are no sums over single features, and by approximate algorithms, every query asks every shard.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..._foundation.progress import progress_bar
from ..._foundation.stored import located
from ..._foundation.types import ArrayLike, Floats, Integers
from ..._foundation.validation import check_choice
from ...data.parts.engine import Call, Engine
from ...data.parts.row_parts import slices
from .grouped import GroupedItems
from .groups import Keys
from .index import NeighborIndex
from .items import Neighbors, SegmentedItems, as_graph, merged, merged_within, no_neighbors, without_own
from .proofs import check_apart, range_of
from .query_tables import QueryBlock, QueryView
from .scaled_clusters import RangeBounds, ranges_of
from .segment import SearchRequest, candidate_count, check_neighbors, check_radius
from .shard_files import ShardLocation

T = TypeVar("T")

_FEW = 64  # A call is worth its cost from so many queries on,
_MOST = 4096  # and at most so many go in one call, after which others are heard.
_BLOCK = 8192  # Queries that are opened together,
_OF_ITEMS = 4  # and so many times as many items of a shard, more of which are near one another,
_BOUNDED = 1 << 20  # if there are no more bounds than these in a block: a number for each item and shard.
_HERE = 1024  # So few queries are bounded in the calling process.
_RANGES, _MOST_RANGES = 512, 64  # Ranges of values of all shards, and of one, in which a query is bounded.
_OPEN = 4  # Blocks that are open for every worker, so that the queries of several share their calls.


class ShardSummary(NamedTuple):
    """Facts of the items of a shard that was opened, and so verified."""

    n: int
    range: tuple[int, int] | None  # of the ids; None for text
    dtype: np.dtype  # of the ids
    low: Floats | None  # (n_tables, n_ranges), of positions of clusters of items; None where they bound no sum
    high: Floats | None

    @classmethod
    def of(cls, index: NeighborIndex, n_ranges: int) -> ShardSummary:
        """Summarize an index, with about ``n_ranges`` ranges of values."""
        ids, segments = index.ids_, index.segments_
        ends = None if len(ids) == 0 else range_of(ids)
        if not segments[0].view.simple or not all(s.searchable for s in segments):
            return cls(len(ids), ends, ids.dtype, None, None)
        share = n_ranges / sum(map(len, segments))
        low, high = zip(*(ranges_of(s, round(share * len(s))) for s in segments), strict=True)
        return cls(len(ids), ends, ids.dtype, np.hstack(low), np.hstack(high))


_CHECKED: dict[tuple[ShardLocation, ...], list[ShardSummary]] = {}  # of distinct ids; those that were checked last come last
_MOST_CHECKED = 64


def summaries(engine: Engine, locations: Sequence[ShardLocation]) -> list[ShardSummary]:
    """Open all shards and refuse an id that two of them share, as `joined` does: once a process for the same shards.

    Only the ranges of their ids and values are sent, unless those of the ids overlap.
    """
    key = tuple(locations)
    if key not in _CHECKED:
        tasks, near = [(location,) for location in locations], [0] * len(locations)
        # The calling process opens the first shard anyway, to encode queries.
        n_ranges = int(np.clip(_RANGES // len(tasks), 1, _MOST_RANGES))
        found = [_summary(tasks[0], 1)] if len(tasks) == 1 else list(engine.each_near(_summary, tasks, near, n_ranges))
        with located(locations[0].root):
            check_apart([s.range for s in found if s.n], lambda: list(engine.each_near(_shard_ids, tasks, near)))
        _CHECKED[key] = found
        while len(_CHECKED) > _MOST_CHECKED:
            del _CHECKED[next(iter(_CHECKED))]
    return _CHECKED[key]


def _summary(task: tuple[ShardLocation], n_ranges: int) -> ShardSummary:
    return ShardSummary.of(task[0].open(), n_ranges)


def _shard_ids(task: tuple[ShardLocation]) -> NDArray[Any]:
    return task[0].open().ids_


@dataclass
class SearchTraffic:
    """Counts of what a search among shards has asked and moved."""

    queries: int = 0  # in blocks that are complete
    asked: int = 0  # the number of shards that each of them was sent to, added up
    sent: int = 0  # bytes of queries and limits
    received: int = 0  # bytes of answers and bounds


def bounds_of(found: Sequence[ShardSummary]) -> RangeBounds | None:
    """Return what bounds sums in every shard; None where there is one shard, or one of them has no ranges."""
    low, high = [s.low for s in found if s.low is not None], [s.high for s in found if s.high is not None]
    return RangeBounds.of(low, high) if len(low) == len(found) > 1 else None


def least_in_shards(bounds: RangeBounds, view: QueryView, X: NDArray[Any], limits: Floats | None = None) -> Floats:
    """Bound the sums between every row of X and the items of every shard from below, shape (n, n_shards).

    Finite ``limits`` (n,) are as in `RangeBounds.least`.
    """

    def least(queries: QueryBlock, rows: slice | Integers) -> Floats:
        return bounds.least(view, queries, None if limits is None else limits[rows])

    return np.concatenate(SegmentedItems(view, [], []).by_blocks(least, X))


class BlockBounds(NamedTuple):
    """Asks for the bounds of queries in every shard, which any worker knows."""

    queries: NDArray[Any]
    bounds: RangeBounds

    def answer(self, location: ShardLocation, _: Any) -> Floats:
        """Return the bounds (n, n_shards)."""
        return least_in_shards(self.bounds, location.open().segments_[0].view, self.queries)


class FoundNearest(NamedTuple):
    """The nearest items of one shard for the queries ``rows`` of those that asked, and what it cost for all of them."""

    rows: Integers
    sums: Floats  # (len(rows), k), before the link, so that ties are those of one index
    ids: NDArray[Any]
    refined: Integers  # (n_queries,)
    at_once: NDArray[np.bool_]

    @classmethod
    def of_all(cls, found: Neighbors) -> FoundNearest:
        """Take the answers to all queries that asked."""
        return cls(np.arange(len(found.ids)), found.distances, found.ids, found.refined, found.at_once)


class AskNearest(NamedTuple):
    """Asks a shard for the nearest items of queries; those of larger sums than ``limits`` are not needed."""

    queries: NDArray[Any]
    limits: Floats | None
    keys: Keys | None  # of which only items with the same answer

    def answer(self, location: ShardLocation, request: SearchRequest) -> FoundNearest:
        """Return the nearest for the queries that have some within their limits."""
        items = location.open().grouped(self.keys)
        request = request._replace(k=min(request.k, location.shard.n))
        if self.limits is None or isinstance(items, GroupedItems):
            found = items.nearest(self.queries, request, n_jobs=None, verbose=False, linked=False)
            if self.keys is None:
                return FoundNearest.of_all(found)
            rows = np.flatnonzero(np.isfinite(found.distances[:, 0]))
            return FoundNearest(rows, found.distances[rows], found.ids[rows], found.refined, found.at_once)
        found = items.nearest_within(self.queries, request, self.limits, n_jobs=None)
        rows = np.flatnonzero(found.distances[:, 0] <= self.limits)
        return FoundNearest(rows, found.distances[rows], found.ids[rows], found.refined, found.at_once)


class FoundWithin(NamedTuple):
    """The items of one shard within a radius: how many for each query that asked, and their sums and ids, query by query."""

    counts: Integers
    sums: Floats
    ids: NDArray[Any]


class AskWithin(NamedTuple):
    """Asks a shard for the items within a radius of queries, and with the same keys if they have any."""

    queries: NDArray[Any]
    keys: Keys | None

    def answer(self, location: ShardLocation, radius: float) -> FoundWithin:
        """Return the items within the radius."""
        found = location.open().grouped(self.keys).sums_within(self.queries, radius, n_jobs=None, verbose=False)
        sums, ids = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return FoundWithin(np.array([len(own) for own, _ in found]), sums, ids)


class JoinedItems(NamedTuple):
    """Items of a shard with the nearest of the same shard, and those that may have nearer ones in others."""

    found: FoundNearest
    own: NDArray[Any]  # (n,), the ids of the items
    rows: Integers  # of the items that may have nearer ones in other shards
    queries: NDArray[Any]  # (len(rows), n_features), these items
    least: Floats | None  # (len(rows), n_shards)


class JoinOwn(NamedTuple):
    """Asks shard number ``shard`` for the nearest of its own items ``start`` to ``stop``, where removed ones do not count."""

    shard: int
    start: int
    stop: int
    bounds: RangeBounds | None

    def answer(self, location: ShardLocation, request: SearchRequest) -> JoinedItems:
        """Return the nearest items of the same shard, and what others are to be asked."""
        index = location.open()
        queries, own = _items_between(index, self.start, self.stop)
        found = nearest_own(index, queries, request._replace(k=min(request.k, location.shard.n)))
        joined = FoundNearest.of_all(found)
        if self.bounds is None:
            return JoinedItems(joined, own, np.arange(len(own)), queries, None)
        full = found.distances.shape[1] == request.k
        last = found.distances[:, -1] if full else np.full(len(own), np.finfo(np.float64).max)
        least = least_in_shards(self.bounds, index.segments_[0].view, queries, last)
        least[:, self.shard] = np.inf
        rows = np.flatnonzero((least <= last[:, None]).any(axis=1))
        return JoinedItems(joined, own, rows, queries[rows], least[rows])


def nearest_own(index: NeighborIndex, queries: NDArray[Any], request: SearchRequest) -> Neighbors:
    """Find the nearest items of a shard for items of the same shard, with sums before the link; each may find itself."""
    return SegmentedItems.all_of(index.segments_).nearest(queries, request, n_jobs=None, verbose=False, linked=False)


def _items_between(index: NeighborIndex, start: int, stop: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return encoded items and their ids in the order of ``ids_``, from ``start`` on and before ``stop``."""
    raw, ids = [], []
    for segment in index.segments_:
        first, last = max(start, 0), min(stop, segment.n_alive)
        if first < last:
            whole = segment.n_alive == len(segment)
            rows = slice(first, last) if whole else np.flatnonzero(segment.alive)[first:last]
            raw.append(segment.points.raw[rows])
            ids.append(segment.ids[rows])
        start, stop = start - segment.n_alive, stop - segment.n_alive
    return np.concatenate(raw), np.concatenate(ids)


def _answer(task: tuple[ShardLocation, Any], request: Any) -> Any:
    location, step = task
    return step.answer(location, request)


class QueryRows(NamedTuple):
    """The queries of one block: ``read`` gives them encoded; None stands for items ``first``, ... of shard number ``shard``."""

    start: int  # the number of the first query among all
    n: int
    read: Callable[[], NDArray[Any]] | None = None
    shard: int = 0
    first: int = 0
    keys: Keys | None = None


def blocks_of(queries: NDArray[Any], width: int, keys: Keys | None = None) -> list[QueryRows]:
    """Divide encoded queries into blocks, at least a few for each of ``width`` workers if there are enough queries."""
    size = int(np.clip(-(-len(queries) // (2 * width)), _FEW, _BLOCK))
    return [
        QueryRows(s.start, s.stop - s.start, partial(queries.__getitem__, s), keys=None if keys is None else keys.take(s))
        for s in slices(len(queries), size)
    ]


def blocks_of_items(locations: Sequence[ShardLocation]) -> list[QueryRows]:
    """Divide the items of all shards into blocks, in the order of their ids; shards without items are not counted."""
    counts = [n for n in (p.shard.n for p in locations) if n]
    blocks, start, size = [], 0, min(_OF_ITEMS * _BLOCK, max(_BLOCK, _BOUNDED // max(len(counts), 1)))
    for k, n in enumerate(counts):
        blocks += [QueryRows(start + s.start, s.stop - s.start, None, k, s.start) for s in slices(n, size)]
        start += n
    return blocks


@dataclass(eq=False)
class _AskedBlock(Generic[T]):
    """Queries that were opened together, and how far each of them is."""

    rows: QueryRows
    queries: NDArray[Any]  # (n, n_features)
    order: Integers  # (n, n_shards), the shards in the order of their bounds
    least: Floats  # (n, n_shards), the bounds in this order
    found: T
    asked: Integers  # (n,), the number of shards that were asked
    waiting: Integers  # (n,), the number of shards that have not answered yet
    wave: Integers  # (n,), the number of shards to ask next at once
    left: int  # the number of queries that are not done
    own: NDArray[Any] | None = None  # (n,), ids of the queries where they are items


class _ShardSearch(ABC, Generic[T]):
    """The state of a search in the process that drives it: which queries wait for which shard, and what was found so far."""

    eager = False  # True if the limits do not depend on answers, so that all shards are asked at once

    def __init__(
        self,
        locations: Sequence[ShardLocation],
        found: Sequence[ShardSummary],
        blocks: Sequence[QueryRows],
        take: Callable[[QueryRows, T], None],
        *,
        width: int,
        bounded: bool,
        traffic: SearchTraffic,
        bar: Any,
    ) -> None:
        own = [(p, s) for p, s in zip(locations, found, strict=True) if s.n]
        self.locations, self.view = [p for p, _ in own], locations[0].open().segments_[0].view
        self.dtype = np.result_type(*(s.dtype for _, s in own)) if own else np.dtype(np.int64)
        self.bounds = bounds_of([s for _, s in own]) if bounded else None
        self.blocks, self.take, self.width, self.traffic, self.bar = iter(blocks), take, width, traffic, bar
        self.pools: list[deque[tuple[_AskedBlock[T], Integers]]] = [deque() for _ in own]
        self.counts = np.zeros(len(own), np.int64)  # of the queries in each pool
        self.calls, self.n_open = np.zeros(max(len(own), 1), np.int64), 0

    @abstractmethod
    def empty(self, n: int) -> T:
        """Return what n queries have found before any shard was asked."""

    @abstractmethod
    def limits(self, block: _AskedBlock[T], rows: Integers) -> Floats:
        """Return the sums that items must not exceed to be among the answers to these queries."""

    @abstractmethod
    def step(self, queries: NDArray[Any], limits: Floats | None, keys: Keys | None) -> Any:
        """Return what a shard is asked."""

    @abstractmethod
    def add(self, block: _AskedBlock[T], rows: Integers, answer: Any, first: int) -> None:
        """Add answers to queries of a block, the first of which is number ``first`` of those that asked."""

    @abstractmethod
    def result(self, block: _AskedBlock[T]) -> T:
        """Return the answers to a block whose queries are done."""

    def run(self, engine: Engine, request: Any) -> None:
        """Answer all blocks."""
        engine.drain(_answer, self._next, request)

    def _next(self) -> Call | None:
        """Return the next call: a block is opened unless enough queries wait for a shard, or too many blocks are open."""
        while self.counts.max(initial=0) < _MOST and self.n_open < _OPEN * self.width:
            rows = next(self.blocks, None)
            if rows is None:
                break
            self.n_open += 1
            if (call := self._open(rows)) is not None:
                return call
        return self._ask(int(self.counts.argmax())) if self.counts.any() else None

    def _open(self, rows: QueryRows) -> Call | None:
        """Return the call that opens a block; None if it was opened here."""
        if rows.read is None:
            step = JoinOwn(rows.shard, rows.first, rows.first + rows.n, self.bounds)
            return self._call(rows.shard, step, lambda joined: self._join(rows, joined))
        queries = rows.read()
        if self.bounds is None:
            self._begin(rows, queries, np.full((rows.n, len(self.locations)), -np.inf))
        elif rows.n <= _HERE:
            self._begin(rows, queries, least_in_shards(self.bounds, self.view, queries))
        else:
            shard = int(self.calls.argmin())  # that of another worker each time
            return self._call(shard, BlockBounds(queries, self.bounds), lambda least: self._begin(rows, queries, least))
        return None

    def _call(self, shard: int, step: Any, then: Callable[[Any], None]) -> Call:
        copies = -(-self.width // len(self.locations))  # So many workers open a shard where there are more workers than shards.
        near, self.calls[shard] = int(self.calls[shard] % copies), self.calls[shard] + 1
        self.traffic.sent += _nbytes(step)

        def heard(answer: Any) -> None:
            self.traffic.received += _nbytes(answer)
            then(answer)

        return Call((self.locations[shard], step), heard, near)

    def _begin(self, rows: QueryRows, queries: NDArray[Any], least: Floats) -> None:
        self._advance(self._block(rows, queries, least), np.arange(rows.n))

    def _block(self, rows: QueryRows, queries: NDArray[Any], least: Floats, own: NDArray[Any] | None = None) -> _AskedBlock[T]:
        order, n = np.argsort(least, axis=1, kind="stable"), rows.n
        wave = np.full(n, len(self.locations) if self.eager or self.bounds is None else 1)
        asked, waiting = np.zeros((2, n), np.int64)
        least = np.take_along_axis(least, order, axis=1)
        return _AskedBlock(rows, queries, order, least, self.empty(n), asked, waiting, wave, n, own)

    def _join(self, rows: QueryRows, joined: JoinedItems) -> None:
        """Begin with items that their own shard has answered; the others are asked for those that may have nearer ones."""
        least = np.full((rows.n, len(self.locations)), np.inf)
        least[joined.rows] = np.finfo(np.float64).min if joined.least is None else joined.least
        least[:, rows.shard] = -np.inf
        queries = np.empty((rows.n, joined.queries.shape[1]), joined.queries.dtype)
        queries[joined.rows] = joined.queries
        block = self._block(rows, queries, least, joined.own)
        block.asked[:] = 1
        self.add(block, np.arange(rows.n), joined.found, 0)
        self._advance(block, np.arange(rows.n))

    def _advance(self, block: _AskedBlock[T], rows: Integers) -> None:
        """Let queries that wait for no shard wait for the next ones, or be done."""
        near = (block.least[rows] <= self.limits(block, rows)[:, None]) & (block.least[rows] < np.inf)
        count = np.clip(near.sum(axis=1) - block.asked[rows], 0, block.wave[rows])
        for k in range(int(count.max(initial=0))):
            asking = rows[count > k]
            shards = block.order[asking, block.asked[asking] + k]
            for shard in np.unique(shards):
                own = asking[shards == shard]
                self.pools[shard].append((block, own))
                self.counts[shard] += len(own)
        block.asked[rows] += count
        block.waiting[rows] = count
        block.wave[rows] *= 2  # A query whose next shard did not end it would wait long for one after the other.
        done = int((count == 0).sum())
        block.left -= done
        self.bar.update(done)
        if not block.left:
            self.n_open -= 1
            self.take(block.rows, self.result(block))
            self.traffic.queries += block.rows.n
            self.traffic.asked += int(block.asked.sum())

    def _ask(self, shard: int) -> Call:
        """Return a call for queries that wait for a shard: all of them, or so many that all workers are busy."""
        size = int(np.clip(-(-self.counts.sum() // (2 * self.width)), _FEW, _MOST))
        taken: list[tuple[_AskedBlock[T], Integers]] = []
        pool = self.pools[shard]
        while pool and size > 0:
            block, rows = pool.popleft()
            if len(rows) > size:
                pool.appendleft((block, rows[size:]))
            taken.append((block, rows[:size]))
            size -= len(taken[-1][1])
        queries = np.concatenate([block.queries[rows] for block, rows in taken])
        limits = np.concatenate([self.limits(block, rows) for block, rows in taken])
        self.counts[shard] -= len(queries)
        some = self.bounds is not None and bool(np.isfinite(limits).any())
        of_blocks = [block.rows.keys.take(rows) for block, rows in taken if block.rows.keys is not None]
        step = self.step(queries, limits if some else None, Keys.joined(of_blocks) if of_blocks else None)
        return self._call(shard, step, lambda answer: self._heard(taken, answer))

    def _heard(self, taken: Sequence[tuple[_AskedBlock[T], Integers]], answer: Any) -> None:
        first = 0
        for block, rows in taken:
            self.add(block, rows, answer, first)
            first += len(rows)
            block.waiting[rows] -= 1
            self._advance(block, rows[block.waiting[rows] == 0])


class _NearestSearch(_ShardSearch[Neighbors]):
    k: int

    def empty(self, n: int) -> Neighbors:
        return no_neighbors(n, self.dtype, self.k)

    def limits(self, block: _AskedBlock[Neighbors], rows: Integers) -> Floats:
        return block.found.distances[rows, -1]

    def step(self, queries: NDArray[Any], limits: Floats | None, keys: Keys | None) -> AskNearest:
        return AskNearest(queries, limits, keys)

    def add(self, block: _AskedBlock[Neighbors], rows: Integers, answer: FoundNearest, first: int) -> None:
        found, part = block.found, slice(*np.searchsorted(answer.rows, (first, first + len(rows))))
        found.refined[rows] += answer.refined[first : first + len(rows)]
        found.at_once[rows] &= answer.at_once[first : first + len(rows)]
        at = rows[answer.rows[part] - first]
        before, new = (
            Neighbors(sums, ids, found.refined[at], found.at_once[at])
            for sums, ids in ((found.distances[at], found.ids[at]), (answer.sums[part], answer.ids[part].astype(self.dtype)))
        )
        both = merged([before, new], self.k)
        found.distances[at], found.ids[at] = both.distances, both.ids

    def result(self, block: _AskedBlock[Neighbors]) -> Neighbors:
        found = block.found if block.own is None else without_own(block.found, block.own)
        there = np.isfinite(found.distances)  # Groups may have fewer than k items.
        found.distances[there] = self.view.linked(found.distances[there])
        found.ids[~there] = -1 if self.dtype.kind == "i" else ""
        return found


Within = list[tuple[Floats, NDArray[Any]]]


class _WithinSearch(_ShardSearch[list[Within]]):
    """The answers to each query are those of shards, until they are merged."""

    eager = True
    limit: float

    def empty(self, n: int) -> list[Within]:
        return [[(np.empty(0), np.empty(0, self.dtype))] for _ in range(n)]

    def limits(self, block: _AskedBlock[list[Within]], rows: Integers) -> Floats:
        return np.full(len(rows), self.limit)

    def step(self, queries: NDArray[Any], limits: Floats | None, keys: Keys | None) -> AskWithin:
        return AskWithin(queries, keys)

    def add(self, block: _AskedBlock[list[Within]], rows: Integers, answer: FoundWithin, first: int) -> None:
        ends = np.cumsum(np.append(0, answer.counts))[first : first + len(rows) + 1]
        for row, a, b in zip(rows, ends[:-1], ends[1:], strict=True):
            if a < b:
                block.found[row].append((answer.sums[a:b], answer.ids[a:b].astype(self.dtype)))

    def result(self, block: _AskedBlock[list[Within]]) -> list[Within]:
        whole = [merged_within(found) for found in block.found]
        return [[(self.view.linked(sums), ids)] for sums, ids in whole]


def _nbytes(value: Any) -> int:
    """Return the bytes of the arrays in a tuple."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, Keys):
        return sum(column.cells.nbytes for column in value.columns)
    return sum(map(_nbytes, value)) if isinstance(value, tuple) else 0


def request_of(
    locations: Sequence[ShardLocation], k: int, algorithm: str | None, n_candidates: int | None, *, itself: bool
) -> SearchRequest:
    """Return the request for k neighbours, after a check; with ``itself`` queries are items, and each may find itself first."""
    index, n = locations[0].open(), sum(location.shard.n for location in locations)
    algorithm = index.algorithm if algorithm is None else algorithm
    check_neighbors(algorithm, k, n - itself)
    candidates = candidate_count(index.n_candidates if n_candidates is None else n_candidates, k)
    return SearchRequest(k + itself, algorithm, candidates + itself, index.n_probe)


def _blocks_of_rows(engine: Engine, locations: Sequence[ShardLocation], X: Any, by: Any) -> list[QueryRows]:
    queries, keys = locations[0].open().queries_with_keys(X, by)
    return blocks_of(queries.rows, engine.width, keys)


def search_blocks(
    engine: Engine,
    locations: Sequence[ShardLocation],
    blocks: Sequence[QueryRows],
    request: SearchRequest,
    take: Callable[[QueryRows, Neighbors], None],
    *,
    traffic: SearchTraffic | None = None,
    verbose: bool | None = None,
) -> None:
    """Find the nearest items of every query, and give them to ``take`` block by block as they are complete."""
    with progress_bar(sum(rows.n for rows in blocks), "queries", verbose=verbose, unit="query") as bar:
        search = _NearestSearch(
            locations, summaries(engine, locations), blocks, take, width=engine.width, bounded=request.algorithm == "exact",
            traffic=SearchTraffic() if traffic is None else traffic, bar=bar,
        )  # fmt: skip
        search.k = request.k
        search.run(engine, request)


def nearest(
    engine: Engine,
    locations: Sequence[ShardLocation],
    X: ArrayLike | None,
    k: int,
    *,
    algorithm: str | None = None,
    n_candidates: int | None = None,
    by: Any = None,
    traffic: SearchTraffic | None = None,
    verbose: bool | None = None,
) -> Neighbors:
    """Return the k nearest of all items for every row of X, as one index would answer; for X=None those of every item.

    ``by`` is as in `NeighborIndex.kneighbors`, for rows that are given.
    """
    request = request_of(locations, k, algorithm, n_candidates, itself=X is None)
    blocks = blocks_of_items(locations) if X is None else _blocks_of_rows(engine, locations, X, by)
    dtype = np.result_type(*(s.dtype for s in summaries(engine, locations)))
    found = no_neighbors(sum(rows.n for rows in blocks), dtype, k)

    def take(rows: QueryRows, answers: Neighbors) -> None:
        for array, values in zip(found, answers, strict=True):
            array[rows.start : rows.start + rows.n] = values

    search_blocks(engine, locations, blocks, request, take, traffic=traffic, verbose=verbose)
    return found


def within(
    engine: Engine,
    locations: Sequence[ShardLocation],
    X: ArrayLike,
    radius: float,
    *,
    by: Any = None,
    verbose: bool | None = None,
) -> Within:
    """Return distances and ids of all items within ``radius`` of every row of X, nearest first; ``by`` is as in `nearest`."""
    view = locations[0].open().segments_[0].view
    check_radius(radius, view.least)
    blocks = _blocks_of_rows(engine, locations, X, by)
    found: Within = [(np.empty(0), np.empty(0))] * sum(rows.n for rows in blocks)

    def take(rows: QueryRows, answers: list[Within]) -> None:
        found[rows.start : rows.start + rows.n] = [own for (own,) in answers]

    with progress_bar(len(found), "queries", verbose=verbose, unit="query") as bar:
        search = _WithinSearch(
            locations, summaries(engine, locations), blocks, take, width=engine.width, bounded=True,
            traffic=SearchTraffic(), bar=bar,
        )  # fmt: skip
        limit = view.unlinked(radius)
        search.limit = limit + 1e-12 * abs(limit)
        search.run(engine, radius)
    return found


def graph(
    engine: Engine, locations: Sequence[ShardLocation], X: ArrayLike | None, k: int, mode: str, **options: Any
) -> sparse.csr_matrix:
    """Return `nearest` as a sparse matrix; columns are in the order of the ids, shard after shard."""
    check_choice("mode", mode, ("connectivity", "distance"))
    found = nearest(engine, locations, X, k, **options)
    ids = np.concatenate(list(engine.each_near(_shard_ids, [(location,) for location in locations], [0] * len(locations))))
    return as_graph(found.distances if mode == "distance" else np.ones(found.ids.shape), found.ids, ids)
