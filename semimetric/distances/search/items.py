"""The answers to queries: found block by block over threads in several segments, and merged into one."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias, TypeVar, cast
from weakref import WeakKeyDictionary, ref

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..._foundation.errors import InputError
from ..._foundation.names import did_you_mean
from ..._foundation.pictures import Axes, picture
from ..._foundation.progress import progress_bar
from ..._foundation.text import html_table, number_text
from ..._foundation.threads import map_blocks, thread_count
from ..._foundation.types import ArrayLike, Floats, Integers, Pairs
from ...data.calls import UserDistance
from ...data.conditions import Cells, TruthCells, read_condition
from ...data.moments import TimeCells
from ...data.payload import Payload, PayloadColumn, check_same_rows
from ...data.schema import Schema
from ...data.texts import DistinctTexts, TextCells
from ...data.times import SCALE
from .query_tables import QueryBlock, QueryView
from .segment import SearchRequest, Segment

T = TypeVar("T")

_MOST_SHOWN = 10  # queries, and items of each, in the table of a notebook


@dataclass(frozen=True, eq=False)
class Queries:
    """Encoded queries, and the objects that a model encoded, where the queries are such."""

    rows: NDArray[Any]  # (n_queries, n_features)
    objects: NDArray[Any] | None = None  # (n_queries,)

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, chosen: Integers) -> "Queries":
        """Return the queries of these numbers."""
        return Queries(self.rows[chosen], None if self.objects is None else self.objects[chosen])


class ItemRows(NamedTuple):
    """Encoded items and their ids, of which some may have been removed: what a condition or a list of ids chooses from."""

    raw: NDArray[Any]  # (n, n_features)
    ids: NDArray[Any]  # (n,)
    alive: NDArray[np.bool_]  # (n,), True for items that have not been removed
    payload: Payload | None = None


@dataclass(frozen=True, eq=False)
class ItemColumns(Mapping[str, Cells]):
    """Payload and features of the items that have not been removed, by name: numbers, text or times for each.

    A missing category is "", or NaN among numbers. Where some categories of a feature are text, all are.
    """

    names: Sequence[str]
    schema: Schema
    parts: Sequence[ItemRows]

    def __len__(self) -> int:
        return len(self.names) + len(self._beside)

    def __iter__(self) -> Iterator[str]:
        return iter([*self._beside, *self.names])

    def __contains__(self, name: object) -> bool:
        return name in self._beside or name in self.names

    @property
    def _beside(self) -> tuple[str, ...]:
        payload = self.parts[0].payload
        return () if payload is None else payload.names

    def __getitem__(self, name: str) -> Cells:
        if name in self._beside:
            taken = [part.payload[name].take(part.alive) for part in self.parts if part.payload is not None]
            return PayloadColumn.compared(taken)
        k = self.names.index(name)
        feature = self.schema.features[k]
        columns = [part.raw[:, k] if part.alive.all() else part.raw[part.alive, k] for part in self.parts]
        cells = columns[0] if len(columns) == 1 else np.concatenate(columns)
        if feature.time == SCALE:
            return TimeCells(cells.astype(np.float64), feature.zone)
        if feature.kind != "categorical":
            return TruthCells(cells) if feature.truth else cells
        if any(isinstance(category, str) for category in feature.categories):
            codes = np.where(np.isnan(cells), -1, cells).astype(np.int64) + 1
            known = len(feature.categories)
            return TextCells([(np.where(codes > known, 0, codes), DistinctTexts.of(map(str, feature.categories)))])
        return feature.decode(cells).astype(np.float64)


_FEW = 64  # So few queries are answered in their own order.
_BLOCK = 128  # At most so many queries are tabulated together,
_PIECES = 1 << 23  # and at most so many linear pieces, of 16 bytes.


class Neighbors(NamedTuple):
    """Distances and ids of the nearest items, and how much was computed to find them."""

    distances: Floats  # (n_queries, k)
    ids: NDArray[Any]  # (n_queries, k)
    refined: Integers  # (n_queries,): items whose exact distance was computed
    at_once: NDArray[np.bool_]  # (n_queries,): True if the items that were found first are the nearest

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the distances of the items by their ranks; see `semimetric.plotting.plot_neighbors`."""
        return picture("plot_neighbors")(self, ax)

    def _repr_html_(self) -> str:
        return nearest_table(self.distances, self.ids, "exact distances", self.refined)


def nearest_table(distances: Floats, ids: NDArray[Any], counted: str, counts: Integers, note: str = "") -> str:
    """Return the nearest items (n_queries, k) of the first queries as HTML, beside a count (n_queries,) of each query."""
    n, k = distances.shape
    shown, most = range(min(n, _MOST_SHOWN)), min(k, _MOST_SHOWN)
    rows = [["query", *(f"{rank + 1}." for rank in range(most)), counted]]
    for query in shown:
        found = zip(ids[query, :most].tolist(), distances[query, :most].tolist(), strict=True)
        rows.append([str(query), *(f"{i} at {number_text(d)}" for i, d in found), f"{int(counts[query]):,}"])
    notes = [f"{n:,} queries with {k:,} items each"] if n > len(shown) or k > most else []
    return html_table(rows, title="Nearest items, by id and distance", notes=[*notes, note] if note else notes)


class Recall(NamedTuple):
    """Share of the true neighbours that the approximate search finds: its mean and 5th percentile over queries."""

    mean: float
    p5: float
    n_queries: int
    n_neighbors: int

    @classmethod
    def of(cls, true: Floats, got: Floats) -> "Recall":
        """Measure the recall of found distances, given the exact ones, both (n_queries, k) and increasing in every row."""
        shares = cls.shares(true, got)
        return cls(float(shares.mean()), float(np.quantile(shares, 0.05)), *true.shape)

    @staticmethod
    def shares(true: Floats, got: Floats) -> Floats:
        """Return the share of the true neighbours of each query that is found, (n_queries,), of the same distances."""
        return np.asarray((got <= true[:, -1:]).mean(axis=1))

    def __str__(self) -> str:
        return f"recall@{self.n_neighbors} {self.mean:.4f} (5th percentile {self.p5:.3f}, {self.n_queries} queries)"


class SegmentedItems(NamedTuple):
    """Segments under one distance, and masks of the eligible items, which searches may return (all where a mask is None)."""

    view: QueryView
    segments: Sequence[Segment]
    masks: Sequence[NDArray[np.bool_] | None]

    @classmethod
    def all_of(cls, segments: Sequence[Segment]) -> "SegmentedItems":
        """Take segments of one distance, all of whose items are eligible."""
        return cls(segments[0].view, segments, [None] * len(segments))

    @property
    def n_eligible(self) -> int:
        """Number of eligible items."""
        return sum(segment.eligible(mask).n for segment, mask in zip(self.segments, self.masks, strict=True))

    def nearest(
        self, X: NDArray[Any], search: SearchRequest, *, n_jobs: int | None, verbose: bool | None, linked: bool = True
    ) -> Neighbors:
        """Find the k nearest items of every row of X; k must be at most `n_eligible`.

        With ``linked=False`` distances are the sums before the link, by which answers of several are merged.
        """
        order = self._order(X, search.k) if search.algorithm == "exact" else None

        def answer(block: QueryBlock, _: Any) -> Neighbors:
            return self.nearest_of_block(block, search)

        found = _in_rows(self.by_blocks(answer, X, order=order, n_jobs=n_jobs, verbose=verbose), order)
        return found._replace(distances=self.view.linked(found.distances)) if linked else found

    def nearest_within(self, X: NDArray[Any], search: SearchRequest, limits: Floats, *, n_jobs: int | None) -> Neighbors:
        """Find the nearest items by sums over single features; those of larger sums than ``limits`` (n,) may be missing.

        Distances are sums before the link, infinite where there are fewer items.
        """
        order = self._order(X, search.k)

        def answer(block: QueryBlock, rows: slice | Integers) -> Neighbors:
            return self._nearest_in_order(block, search, limits[rows])

        return _in_rows(self.by_blocks(answer, X, order=order, n_jobs=n_jobs), order)

    def _order(self, X: NDArray[Any], k: int = 0) -> Integers | None:
        """Return the numbers of queries such that near ones, whose lists are mostly the same, are answered together."""
        segment, mask = max(zip(self.segments, self.masks, strict=True), key=lambda masked: len(masked[0]))
        listed = len(X) > _FEW and segment.goes_through_lists(segment.eligible(mask).n, k)
        return segment.list_scan.lists.order(self.view, X) if listed else None

    def by_blocks(
        self,
        answer: Callable[[QueryBlock, slice | Integers], T],
        X: NDArray[Any],
        *,
        order: Integers | None = None,
        n_jobs: int | None = None,
        verbose: bool | None = False,
    ) -> list[T]:
        """Return ``answer(queries, rows)`` for blocks of the rows of X that are tabulated together, by several threads.

        The rows are taken in ``order`` (n,), where it is given.
        """
        with progress_bar(len(X), "queries", verbose=verbose, unit="query") as bar:

            def answered(block: slice) -> T:
                rows = block if order is None else order[block]
                queries = self.view.block(self.view.points(X[rows]))
                found = answer(queries, rows)
                bar.update(len(queries))
                return found

            return map_blocks(answered, len(X), size=self.block_size(len(X), n_jobs), n_jobs=n_jobs)

    def block_size(self, n_queries: int, n_jobs: int | None) -> int:
        """Return the number of queries that are tabulated together: there are blocks for every thread."""
        size = max(min(_BLOCK, -(-n_queries // thread_count(n_jobs))), 1)
        return min(size, max(_PIECES // max(self.view.n_pieces, 1), 1))

    def nearest_of_block(self, queries: QueryBlock, search: SearchRequest) -> Neighbors:
        """Find the k nearest of every query of a block, with sums for distances."""
        if search.algorithm == "exact" and self._bounds_can_exclude_segments:
            return self._nearest_in_order(queries, search)
        answers = []
        for segment, mask in zip(self.segments, self.masks, strict=True):
            found = segment.nearest(queries, search, mask)
            answers.append(Neighbors(found.sums, segment.ids[found.rows], found.refined, found.at_once))
        return answers[0] if len(answers) == 1 else merged(answers, search.k)  # One segment answers in order already.

    @property
    def _bounds_can_exclude_segments(self) -> bool:
        return len(self.segments) > 1 and self.view.simple and all(s.searchable for s in self.segments)

    def _nearest_in_order(self, queries: QueryBlock, search: SearchRequest, limits: Floats | None = None) -> Neighbors:
        """Search the segments in the order of their bounds, and leave out those whose bound exceeds the k-th sum so far.

        ``limits`` (B,) may leave out items of larger sums too.
        """
        limits = np.full(len(queries), np.inf) if limits is None else limits
        kind = np.result_type(*(s.ids.dtype for s in self.segments))
        found = no_neighbors(len(queries), kind, search.k)
        least = np.column_stack([s.least(queries) for s in self.segments])
        promising = least.argmin(axis=1)
        order = np.argsort(least.mean(axis=0), kind="stable")
        for k in order:
            self._search_segment(k, queries, np.flatnonzero(promising == k), search, found, limits)
        for k in order:
            near = (promising != k) & (least[:, k] <= np.minimum(found.distances[:, -1], limits))
            self._search_segment(k, queries, np.flatnonzero(near), search, found, limits)
        return found

    def _search_segment(
        self, k: int, queries: QueryBlock, rows: Integers, search: SearchRequest, found: Neighbors, limits: Floats
    ) -> None:
        """Merge the answers of segment k to the queries ``rows`` into those found so far, whose k-th sums are limits too."""
        if not len(rows):
            return
        segment = self.segments[k]
        before = Neighbors(found.distances[rows], found.ids[rows], found.refined[rows], found.at_once[rows])
        asked = queries if len(rows) == len(queries) else self.view.block(queries.items.take(rows))
        new = segment.nearest(asked, search, self.masks[k], np.minimum(before.distances[:, -1], limits[rows]))
        ids = segment.ids[new.rows].astype(found.ids.dtype)
        both = merged([before, Neighbors(new.sums, ids, new.refined, new.at_once)], search.k)
        for array, values in zip(found, both, strict=True):
            array[rows] = values

    def within(
        self, X: NDArray[Any], radius: float, *, n_jobs: int | None, verbose: bool | None
    ) -> list[tuple[Floats, NDArray[Any]]]:
        """Find distances and ids of all items within ``radius`` of every row of X, nearest first, ties of the sum by id."""
        return [(self.view.linked(sums), ids) for sums, ids in self.sums_within(X, radius, n_jobs=n_jobs, verbose=verbose)]

    def sums_within(
        self, X: NDArray[Any], radius: float, *, n_jobs: int | None, verbose: bool | None
    ) -> list[tuple[Floats, NDArray[Any]]]:
        """Answer as `within` with the sums before the link for distances, by which answers of several are merged."""
        order = self._order(X)
        blocks = self.by_blocks(lambda block, _: self._within(block, radius), X, order=order, n_jobs=n_jobs, verbose=verbose)
        found = [found for block in blocks for found in block]
        return found if order is None else [found[at] for at in np.argsort(order)]

    def _within(self, queries: QueryBlock, radius: float) -> list[tuple[Floats, NDArray[Any]]]:
        limit = self.limit(radius)
        of_segments = [s.within(queries, limit, mask) for s, mask in zip(self.segments, self.masks, strict=True)]
        return [self.near(answers, radius) for answers in zip(*of_segments, strict=True)]

    def limit(self, radius: float) -> float:
        """Return a sum that no item within ``radius`` is above."""
        limit = self.view.unlinked(radius)
        return limit + 1e-12 * abs(limit)

    def near(self, answers: Sequence[tuple[Floats, Integers]], radius: float) -> tuple[Floats, NDArray[Any]]:
        """Select, of the sums and rows that each segment has found for a query, sums and ids within ``radius``, increasing."""
        sums = np.concatenate([sums for sums, _ in answers])
        ids = np.concatenate([s.ids[rows] for s, (_, rows) in zip(self.segments, answers, strict=True)])
        near = self.view.linked(sums) <= radius
        return _increasing(sums[near], ids[near])

    def vectors(self, ids: NDArray[Any]) -> NDArray[Any]:
        """Return encoded vectors of items by id, of the dtype that they were given in: shape (*ids.shape, n_features)."""
        return self._gathered(ids, lambda segment, rows: segment.points.raw[rows])

    @property
    def holds_objects(self) -> bool:
        """True if the objects that a model made the items of are there."""
        return all(segment.objects is not None for segment in self.segments)

    def objects(self, ids: NDArray[Any]) -> NDArray[Any]:
        """Return the objects of items by id, of an index that `holds_objects`: shape of ``ids``."""
        return self._gathered(ids, lambda segment, rows: cast(NDArray[Any], segment.objects)[rows])

    @property
    def payload(self) -> Payload | None:
        """The payload of the items that have not been removed, segment after segment; None if they have none."""
        parts = [s.payload.take(s.alive) for s in self.segments if s.payload is not None]
        return Payload.joined(parts) if parts else None

    def _gathered(self, ids: NDArray[Any], read: Callable[[Segment, Integers], NDArray[Any]]) -> NDArray[Any]:
        """Return what ``read`` has of rows of each segment, in the order of ids, all of which are there."""
        rows = [np.flatnonzero(s.alive & np.isin(s.ids, ids)) for s in self.segments]
        found = np.concatenate([s.ids[of_segment] for s, of_segment in zip(self.segments, rows, strict=True)])
        values = np.concatenate([read(s, of_segment) for s, of_segment in zip(self.segments, rows, strict=True)])
        order = np.argsort(found, kind="stable")
        return values[order[np.searchsorted(found, ids, sorter=order)]]

    def reranked(
        self, queries: Queries, found: Neighbors, distance: Callable, k: int, *, n_jobs: int | None, verbose: bool | None
    ) -> Neighbors:
        """Select the k nearest of the neighbours that were found by another distance, with its values as distances.

        It is called on the objects where there are any, else on vectors as they were given; not where no neighbour was found,
        at an infinite distance.
        """
        n, there = len(queries), np.isfinite(found.distances)
        ids, true = found.ids[there], np.full(there.shape, np.inf)
        pairs = np.column_stack([np.nonzero(there)[0], n + np.arange(len(ids))])
        pairs = pairs if self.view.side == "query-first" else pairs[:, ::-1]
        if queries.objects is None:
            vectors = np.concatenate([queries.rows, self.vectors(ids)]).astype(np.float64)
            function = UserDistance.of_vectors(distance, vectors, name="rerank", schema=self.view.semimetric.schema)
        else:
            vectors = np.empty((n + len(ids), 0))  # of objects the positions alone count
            objects = [*queries.objects, *self.objects(ids)]
            function = UserDistance(distance, objects=objects, name="rerank")
        true[there] = function.evaluate(Pairs(vectors, pairs), n_jobs=n_jobs, verbose=verbose)
        return _nearest_first(found._replace(distances=true), k)


def _in_rows(blocks: Sequence[Neighbors], order: Integers | None) -> Neighbors:
    """Join the answers to blocks of queries, and put those that were asked in an order back into the rows of the queries."""
    found = Neighbors(*(np.concatenate(arrays) for arrays in zip(*blocks, strict=True)))
    if order is None:
        return found
    at: Integers = np.argsort(order)
    return Neighbors(found.distances[at], found.ids[at], found.refined[at], found.at_once[at])


def _increasing(sums: Floats, ids: NDArray[Any]) -> tuple[Floats, NDArray[Any]]:
    order = np.lexsort((ids, sums))
    return sums[order], ids[order]


def merged(answers: Sequence[Neighbors], k: int) -> Neighbors:
    """Select the k nearest of several answers to the same queries."""
    sums, ids = np.hstack([a.distances for a in answers]), np.hstack([a.ids for a in answers])
    refined, at_once = np.sum([a.refined for a in answers], axis=0), np.all([a.at_once for a in answers], axis=0)
    return _nearest_first(Neighbors(sums, ids, refined, at_once), k)


def merged_within(answers: Sequence[tuple[Floats, NDArray[Any]]]) -> tuple[Floats, NDArray[Any]]:
    """Merge several answers of sums and ids to the same query, increasing; ties go to the smallest id."""
    sums, ids = (np.concatenate(arrays) for arrays in zip(*answers, strict=True))
    return _increasing(sums, ids)


def _nearest_first(found: Neighbors, k: int) -> Neighbors:
    """Select the k neighbours of the smallest distances in every row, increasing; ties go to the smallest id."""
    order = np.lexsort((found.ids, found.distances), axis=-1)[:, :k]
    return found._replace(
        distances=np.take_along_axis(found.distances, order, axis=1), ids=np.take_along_axis(found.ids, order, axis=1)
    )


def as_graph(
    values: Floats, ids: NDArray[Any], all_ids: NDArray[Any], there: NDArray[np.bool_] | None = None
) -> sparse.csr_matrix:
    """Put values of ids (n_queries, k) into a sparse matrix with a column for each of ``all_ids``; rows keep their order.

    The mask ``there`` (n_queries, k) says which are neighbours; None stands for all.
    """
    there = np.ones(ids.shape, dtype=bool) if there is None else there
    order = np.argsort(all_ids, kind="stable")
    columns = order[np.searchsorted(all_ids, ids[there], sorter=order)]
    indptr = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
    return sparse.csr_matrix((values[there], columns, indptr), shape=(len(ids), len(all_ids)))


def as_objects(arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Put arrays of any lengths into an array of objects, shape (len(arrays),)."""
    out = np.empty(len(arrays), dtype=object)
    out[:] = arrays
    return out


def no_neighbors(n: int, dtype: np.dtype, k: int = 0) -> Neighbors:
    """Return the answers to n queries before any item was found: k infinite distances each, with ids of type ``dtype``."""
    return Neighbors(np.full((n, k), np.inf), np.zeros((n, k), dtype), np.zeros(n, np.int64), np.ones(n, dtype=bool))


def without_own(found: Neighbors, own: NDArray[Any]) -> Neighbors:
    """Leave out of every row the id ``own`` (n,), or the last neighbour where it is not among them: shape (n, k - 1)."""
    drop = (found.ids == own[:, None]) & np.isfinite(found.distances)  # Ids at infinite distances fill up.
    drop[~drop.any(axis=1), -1] = True
    shape = (len(own), found.ids.shape[1] - 1)
    return found._replace(distances=found.distances[~drop].reshape(shape), ids=found.ids[~drop].reshape(shape))


def new_ids(ids: ArrayLike | None, n: int, old_ids: NDArray[Any]) -> NDArray[Any]:
    """Return ids for n new items, of the kind of ``old_ids`` and none of them; None takes the integers after the largest."""
    if ids is None:
        if old_ids.dtype.kind != "i":
            raise InputError("this index has strings as ids; give ids= for the new items too")
        return int(old_ids.max(initial=-1)) + 1 + np.arange(n)
    given = check_ids(ids, n, old_ids.dtype.kind)
    if np.isin(given, old_ids).any():
        raise InputError(f"id {given[np.isin(given, old_ids)][0]} is in the index already; remove it first, or give another")
    return given


def ids_to_remove(ids: ArrayLike, old_ids: NDArray[Any]) -> NDArray[Any]:
    """Return distinct ids, increasing, all of which are among ``old_ids``."""
    removed = np.unique(check_ids(ids, None, old_ids.dtype.kind, unique=False))
    check_known(removed, old_ids, "; nothing was removed")
    return removed


def check_known(wanted: NDArray[Any], ids: NDArray[Any], then: str = "") -> None:
    """Refuse ids that are not among those of an index; ``then`` says what follows from it."""
    if missing := np.setdiff1d(wanted, ids).tolist():
        near = did_you_mean(missing[0], ids.tolist())
        raise InputError(f"id {missing[0]!r} is not in the index{then}: drop it from ids{near}")


def known_ids(ids: ArrayLike, old_ids: NDArray[Any]) -> NDArray[Any]:
    """Return ids, or one id, in the order given, all of which are among ``old_ids``: shape (n,)."""
    given = check_ids(ids, None, old_ids.dtype.kind, unique=False)
    check_known(given, old_ids)
    return given


def payload_frame(ids: ArrayLike, parts: Sequence[ItemRows]) -> Any:
    """Return the payload of ids as a frame of pandas; an unknown id raises an InputError, as do items without payload."""
    known = known_ids(ids, np.concatenate([part.ids[part.alive] for part in parts]))
    rows = [np.flatnonzero(part.alive & np.isin(part.ids, known)) for part in parts]
    taken = [part.payload.take(own) for part, own in zip(parts, rows, strict=True) if part.payload is not None]
    if not taken:
        raise InputError("the index has no payload; give payload= to fit, or use get_items(ids) for the items themselves")
    found = np.concatenate([part.ids[own] for part, own in zip(parts, rows, strict=True)])
    order = np.argsort(found, kind="stable")
    return Payload.joined(taken).take(order[np.searchsorted(found, known, sorter=order)]).to_frame(known)


_Masks: TypeAlias = list[NDArray[np.bool_] | None]
# By the first segment of an index its last condition, all its segments, the names of its columns, and the masks.
_conditions: WeakKeyDictionary[Segment, tuple[str, list[Callable[[], Segment | None]], Sequence[str], _Masks]] = (
    WeakKeyDictionary()
)


def eligible_masks(where: ArrayLike | Iterable | None, columns: ItemColumns, segments: Sequence[Segment]) -> _Masks:
    """Return `masks_of` the segments; those of a condition that is asked again are kept, as long as the segments are there."""
    if not isinstance(where, str):
        return masks_of(where, columns)
    last = _conditions.get(segments[0])
    if last is not None and (last[0], list(last[2])) == (where, list(columns.names)) and len(last[1]) == len(segments):
        if all(known() is segment for known, segment in zip(last[1], segments, strict=True)):
            return last[3]
    masks = masks_of(where, columns)
    _conditions[segments[0]] = where, [ref(segment) for segment in segments], columns.names, masks
    return masks


def masks_of(where: ArrayLike | Iterable | None, columns: ItemColumns) -> list[NDArray[np.bool_] | None]:
    """Return masks over the rows of each part, from a condition, a mask of the items alive, or ids; None keeps all."""
    parts = columns.parts
    if where is None:
        return [None] * len(parts)
    if isinstance(where, str):
        try:
            where = read_condition(where).holds(columns)
        except InputError as error:
            raise InputError(f"where is {where!r}: {error}; ids are given as a list, where=[{where!r}]") from error
    if not isinstance(where, Iterable) and not hasattr(where, "__array__"):
        raise InputError(f"where is {where!r}; a condition as text, a mask or a list of ids is required: where=[{where!r}]")
    given = np.asarray(where if hasattr(where, "__array__") else list(where))
    if given.dtype.kind != "b":
        wanted = check_ids(given, None, parts[0].ids.dtype.kind, unique=False)
        return [np.isin(part.ids, wanted) for part in parts]
    ids = np.concatenate([part.ids[part.alive] for part in parts]) if hasattr(where, "iloc") else np.empty(0)
    if not np.array_equal(ids, np.arange(len(ids))):  # default numbers are no labels
        check_same_rows(where, ids, "where", "ids_")
    counts = [int(part.alive.sum()) for part in parts]
    if given.shape != (sum(counts),):
        raise InputError(f"where is a mask of shape {given.shape} for {sum(counts)} items; give one value for each of ids_")
    masks: list[NDArray[np.bool_] | None] = []
    for part, chosen in zip(parts, np.split(given, np.cumsum(counts)[:-1]), strict=True):
        mask = part.alive.copy()
        if mask.all():
            mask[:] = chosen
        else:
            mask[part.alive] = chosen
        masks.append(mask)
    return masks


def check_ids(ids: ArrayLike | Iterable, n: int | None, kind: str | None = None, *, unique: bool = True) -> NDArray[Any]:
    """Check ids, int64 or strings, of shape (n,) where n is given, of ``kind`` "i" or "U", and distinct if ``unique``."""
    given = np.asarray(list(ids) if isinstance(ids, (set, frozenset)) else ids).ravel()
    if given.dtype.kind == "O" and all(isinstance(value, str) for value in given):
        given = given.astype(str)
    if not given.size:
        given = given.astype(np.int64 if kind in (None, "i") else str)
    if given.dtype.kind == "u" and given.max(initial=0) <= np.iinfo(np.int64).max:
        given = given.astype(np.int64)
    if given.dtype.kind not in "iU":
        raise InputError(f"ids are {given.dtype}; 64-bit integers or strings are required")
    if kind is not None and given.dtype.kind != kind:
        raise InputError(f"ids are {given.dtype}, those of the index {'integers' if kind == 'i' else 'strings'}; give the same")
    given = given.astype(np.int64) if given.dtype.kind == "i" else given
    if n is not None and len(given) != n:
        raise InputError(f"there are {len(given)} ids for {n} rows; give one for each")
    if unique and len(np.unique(given)) < len(given):
        values, counts = np.unique(given, return_counts=True)
        raise InputError(f"id {values[counts > 1][0]} is given twice; ids must be distinct")
    return given
