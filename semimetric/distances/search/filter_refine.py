"""`FilterRefineIndex`: exact nearest neighbours under an expensive distance, called as seldom as bounds allow."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from inspect import ismethod
from time import perf_counter
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..._foundation.errors import DistanceCallError, InputError, NotSupportedError, warn
from ..._foundation.estimator import ShortRepr
from ..._foundation.pictures import Axes, picture
from ..._foundation.progress import announce, progress_bar
from ..._foundation.text import html_table, seconds_text
from ..._foundation.threads import map_blocks
from ..._foundation.types import ArrayLike, Floats, Integers
from ..._foundation.validation import check_choice, check_count, check_n_jobs
from ...data.calls import UserDistance, counted_calls
from ...data.object_lists import listed_objects
from ...data.payload import Payload
from ...data.schema import Schema
from ..model.semimetric import Semimetric
from .bounds import Bounds, Proof, QueryBounds
from .grouped import beside_features, groups_of, names_of, read_keys
from .groups import KeyGroups
from .index import SearchesUnderLearned, encoder_of, objects_to_encode, refuse_encoded, searched_distance
from .items import ItemColumns, ItemRows, as_graph, as_objects, check_ids, masks_of, nearest_table, payload_frame
from .query_tables import QueryView
from .refinement import Refinement
from .segment import check_neighbors, check_radius


@dataclass(frozen=True, eq=False)
class RefinedItems:
    """Objects, as the expensive distance takes them, and the features that a learned one reads."""

    objects: list[Any]
    features: Floats | None  # (n, n_features), encoded; None without a learned distance
    view: QueryView | None  # the learned distance, as a query sees it
    # (n,), calls of the expensive distance for the features of each object; None where features were given
    n_calls: Integers | None = None

    @classmethod
    def encoded(cls, X: Any, encode: Callable[[Any], Floats], semimetric: Semimetric) -> RefinedItems:
        """Read objects whose features a model makes; its calls of the expensive distance are counted evenly among them."""
        objects = objects_to_encode(X, semimetric)
        with counted_calls() as count:
            rows = encode(objects)
        ends = np.arange(len(objects) + 1, dtype=np.int64) * count.n // len(objects)
        return cls(objects, semimetric.schema.encode(rows), QueryView(semimetric), ends[1:] - ends[:-1])

    @classmethod
    def read(cls, X: Any, features: Any, semimetric: Semimetric | None, rerank: Callable[..., Any] | None) -> RefinedItems:
        """Read the items that a user gives: vectors that both distances read, or objects with features beside them."""
        if semimetric is None:
            if features is not None:
                raise InputError("features= are for a learned distance, and there is no semimetric=; drop them, or give one")
            return cls(listed_objects(X), None, None)
        view = QueryView(semimetric)
        if features is None:
            refuse_encoded(semimetric, rerank)
            encoded = semimetric.schema.encode(X)
            return cls(list(semimetric.schema.arguments(encoded, X)), encoded, view)
        objects, encoded = listed_objects(X), semimetric.schema.encode(features, name="features")
        if len(objects) != len(encoded):
            raise InputError(f"X has {len(objects)} objects, and features= {len(encoded)} rows; give one row for each")
        return cls(objects, encoded, view)

    def __len__(self) -> int:
        return len(self.objects)

    @cached_property
    def _refinement(self) -> Refinement | None:
        if self.view is None or self.features is None:
            return None
        points = self.view.points(self.features)
        return Refinement.of(self.view, points, np.empty(0, dtype=np.int64))

    def estimates(self, queries: RefinedItems, q: int, rows: Integers) -> Floats | None:
        """Return the learned distances of a query to some items, shape (len(rows),); None without a learned distance."""
        refinement = self._refinement
        if refinement is None or self.view is None or queries.features is None:
            return None
        block = self.view.block(self.view.points(queries.features[q : q + 1]))
        return self.view.linked(refinement.sums(block, 0, rows))

    def mask(self, where: ArrayLike | Iterable | None, ids: NDArray[Any], payload: Payload | None) -> NDArray[np.bool_]:
        """Mask the eligible items, shape (n_items,): see ``where`` of `NeighborIndex.kneighbors`."""
        if where is None:
            return np.ones(len(self), dtype=bool)
        if self.features is None and isinstance(where, str) and payload is None:
            raise NotSupportedError(
                f"where={where!r} is a condition on features, and without semimetric= the items have none; give payload= "
                "to fit, a mask over ids_, or a list of ids"
            )
        (mask,) = masks_of(where, self.columns(ids, payload))
        return np.asarray(mask)

    def columns(self, ids: NDArray[Any], payload: Payload | None) -> ItemColumns:
        """Return the columns that conditions and keys name: those of the payload, and features where there are some."""
        schema = Schema.numeric(()) if self.view is None else self.view.semimetric.schema
        rows = ItemRows(self.encoded_features, ids, np.ones(len(self), dtype=bool), payload)
        return ItemColumns(schema.names, schema, (rows,))

    @property
    def encoded_features(self) -> Floats:
        """The features, shape (n, n_features); no column without a learned distance."""
        return np.empty((len(self), 0)) if self.features is None else self.features

    @cached_property
    def groups(self) -> dict[tuple[Hashable, ...], KeyGroups]:
        """The rows by their values in columns that queries have named; see `grouped.groups_of`."""
        return {}


class EligibleItems(NamedTuple):
    """The items that each query may be answered: those of a mask (n_items,), or of its group."""

    mask: NDArray[np.bool_]
    groups: KeyGroups | None = None  # of the items of the mask, by their keys
    of_query: Integers | None = None  # (n_queries,), the group of each query; -1 for none

    def of(self, q: int) -> NDArray[np.bool_]:
        """Mask the eligible items of a query, shape (n_items,)."""
        if self.groups is None or self.of_query is None:
            return self.mask
        mask = np.zeros(len(self.mask), dtype=bool)
        mask[self.groups.rows_of(int(self.of_query[q]))] = True
        return mask


_BEFORE = 4  # times as many candidates as neighbours have upper bounds
_FIRST = 64  # candidates whose bounds are computed in full at first, and twice as many each next time
_MOST_AHEAD = 64  # items whose upper bounds are computed before they are called, and no more than have some

Ranked = tuple[float, int, int]  # the distance of an item, the rank of its id, its row: neighbours are ordered by the first two
_FARTHEST: Ranked = (np.inf, np.iinfo(np.int64).max, -1)


class Found(NamedTuple):
    """The items that one search has called, and those that it left open."""

    called: list[Ranked]  # the items whose distance is known, nearest first
    open_rows: Integers  # items that may belong to the answer
    open_lower: Floats  # their lower bounds
    n_calls: int


class CandidateItems:
    """The items that may still be among the answers to one query: their lower bounds, and learned distances in any unit.

    Without learned distances they are sorted by their lower bounds, ties by rank, so that the first is the next to call. Bounds
    that have quick lower bounds begin with these, and are computed in full as candidates become the first: the order of the
    calls, and their number, are those of full bounds of all.
    """

    def __init__(self, rows: Integers, ranks: Integers, bounds: Sequence[QueryBounds], estimates: Floats | None) -> None:
        self._bounds = bounds
        self.ranks = ranks  # (n_items,), of all items in the order of ids, by which ties are broken
        self.rows = rows  # (n,), the candidates
        self.n_all = len(rows)
        self.n_discarded = 0  # by bounds
        self.lower = np.zeros(len(rows))
        for bound in bounds:
            self.lower = np.maximum(self.lower, bound.quick(rows))
        self._quick = [bound for bound in bounds if bound.bounds.has_quick]
        self._full = np.full(len(rows), not self._quick)  # (n,), whose bounds are computed in full
        self._n_next = _FIRST
        self.estimates = estimates  # (n,), learned distances, in any unit
        self._proofs: list[Proof] = []  # of calls, that are not read yet
        self._ratios: list[float] = []
        self._limit: Ranked | None = None  # beyond which the candidates were discarded
        self._upper: dict[int, float] = {}
        self._sort()

    def __len__(self) -> int:
        return len(self.rows)

    def upper(self, rows: Integers) -> Floats:
        """Return the least upper bounds of some items, infinite without bounds, and remember them."""
        out = np.full(len(rows), np.inf)
        for bound in self._bounds:
            out = np.minimum(out, bound.upper(rows))
        self._upper |= zip(rows.tolist(), out.tolist(), strict=True)
        return out

    def upper_of_called(self, row: int) -> float:
        """Return the upper bound of an item that was taken out; bounds of those that follow it are cheaper together."""
        if row not in self._upper:
            n_next = min(len(self._upper), _MOST_AHEAD) if self.estimates is None else 0
            self.upper(np.append(row, self.rows[:n_next]))
        return self._upper[row]

    def keep(self, kept: NDArray[Any] | slice) -> None:
        """Discard the other candidates."""
        self.rows, self.lower, self._full = self.rows[kept], self.lower[kept], self._full[kept]
        if self.estimates is not None:
            self.estimates = self.estimates[kept]

    def _sort(self) -> None:
        if self.estimates is None:
            self.keep(np.lexsort((self.ranks[self.rows], self.lower)))

    def discard_beyond(self, limit: Ranked) -> None:
        """Discard what is proved to be farther than a limit, or as far with a later id, by the calls so far too."""
        if limit != self._limit or self._proofs:
            self._limit = limit
            if self.estimates is None:
                self._cut(limit)
            else:
                self._discard_beyond(limit)
        if self._proofs:
            for lower in self._proofs:
                self.lower = np.maximum(self.lower, lower(self.rows))
            self._proofs = []
            self._discard_beyond(limit)
            self._sort()
        while len(self) and not self._full[0]:
            self._bound_in_full(self._n_next if self.estimates is None else len(self), limit)
            self._n_next *= 2

    def left_open(self, limit: Ranked) -> tuple[Integers, Floats]:
        """Return what is left of the candidates, and their lower bounds in full."""
        self._bound_in_full(len(self), limit)
        return self.rows, self.lower

    def _bound_in_full(self, n: int, limit: Ranked) -> None:
        """Compute the full bounds of the first n candidates, and discard what they prove to be beyond a limit."""
        quick = np.flatnonzero(~self._full[:n])
        if not len(quick):
            return
        for bound in self._quick:
            self.lower[quick] = np.maximum(self.lower[quick], bound.lower(self.rows[quick]))
        self._full[quick] = True
        self._discard_beyond(limit)
        self._sort()

    def _discard_beyond(self, limit: Ranked) -> None:
        tied = (self.lower == limit[0]) & (self.ranks[self.rows] < limit[1])
        near = (self.lower < limit[0]) | tied
        if not near.all():
            self.n_discarded += int(len(near) - near.sum())
            self.keep(near)

    def _cut(self, limit: Ranked) -> None:
        """Discard as `_discard_beyond` does, of candidates that are sorted."""
        first, last = self.lower.searchsorted(limit[0]), self.lower.searchsorted(limit[0], "right")
        n_near = int(first + self.ranks[self.rows[first:last]].searchsorted(limit[1]))
        self.n_discarded += len(self) - n_near
        self.keep(slice(n_near))

    def learn(self, row: int, value: float, dual: Any) -> None:
        """Remember what the distance of an item, and the dual that came with it, prove of others."""
        proofs = [bound.proof(row, value, dual) for bound in self._bounds]
        self._proofs += [lower for lower in proofs if lower is not None]

    def keys(self, settled: bool) -> Floats:
        """Return the numbers by which candidates are ordered, in the unit of the distances once a search is ``settled``."""
        if self.estimates is None:
            return self.lower
        if not settled:
            return self.estimates
        ratio = float(np.median(self._ratios)) if self._ratios else 0.0
        return np.maximum(self.lower, ratio * self.estimates)

    def pop(self, settled: bool) -> tuple[int, float, float]:
        """Take out the first candidate: its row, its lower bound and its estimate (0 without one)."""
        if self.estimates is None:
            first = int(self.rows[0]), float(self.lower[0]), 0.0
            self.keep(slice(1, None))
            return first
        keys = self.keys(settled)
        least = np.flatnonzero(keys == keys.min())
        k = int(least[np.argmin(self.ranks[self.rows[least]])])
        taken = int(self.rows[k]), float(self.lower[k]), float(self.estimates[k])
        kept = np.ones(len(self.rows), dtype=bool)
        kept[k] = False
        self.keep(kept)
        return taken

    def compare(self, estimate: float, value: float) -> None:
        """Compare an estimate with an exact distance, which shows the unit of estimates."""
        if estimate > 0.0 and value > 0.0:
            self._ratios.append(value / estimate)


Call = Callable[[int, float], tuple[float, Any]]  # a row and its lower bound to the exact distance and its dual


def nearest(candidates: CandidateItems, call: Call, k: int, *, known: dict[int, float], budget: float) -> Found:
    """Find the k nearest candidates, certified as far as a budget of calls reaches; ``known`` distances take none."""
    if not k:
        return Found([], candidates.rows, candidates.lower, 0)
    called = _take_known(candidates, known)
    threshold = _upper_threshold(candidates, called, k)
    n_calls = 0
    while True:
        settled = len(called) >= k
        limit = called[k - 1] if settled else threshold
        candidates.discard_beyond(limit)
        if not len(candidates) or (settled and n_calls >= budget):
            return Found(called, *candidates.left_open(limit), n_calls)
        n_calls += 1
        insort(called, _called(candidates, call, settled))


def within(candidates: CandidateItems, call: Call, radius: float, *, known: dict[int, float], budget: float) -> Found:
    """Find all candidates within a radius, as far as a budget of calls reaches."""
    called = _take_known(candidates, known)
    limit, n_calls = (radius, _FARTHEST[1], -1), 0
    while True:
        candidates.discard_beyond(limit)
        if not len(candidates) or n_calls >= budget:
            return Found(called, *candidates.left_open(limit), n_calls)
        n_calls += 1
        insort(called, _called(candidates, call, True))


def _called(candidates: CandidateItems, call: Call, settled: bool) -> Ranked:
    row, lower, estimate = candidates.pop(settled)
    value, dual = call(row, lower)
    candidates.learn(row, value, dual)
    candidates.compare(estimate, value)
    return value, int(candidates.ranks[row]), row


def _take_known(candidates: CandidateItems, known: dict[int, float]) -> list[Ranked]:
    there = np.isin(candidates.rows, list(known))
    rows = candidates.rows[there].tolist()
    if candidates.estimates is not None:
        for row, estimate in zip(rows, candidates.estimates[there].tolist(), strict=True):
            candidates.compare(estimate, known[row])
    candidates.keep(~there)
    return sorted((known[row], int(candidates.ranks[row]), row) for row in rows)


def _upper_threshold(candidates: CandidateItems, called: list[Ranked], k: int) -> Ranked:
    """Bound the distance within which at least k items lie, by known distances and upper bounds; it may be infinite."""
    keys = candidates.keys(False)
    few = min(_BEFORE * k, len(keys))
    chosen = np.argpartition(keys, few - 1)[:few] if few else np.empty(0, dtype=np.int64)
    highest = np.sort(np.concatenate([[value for value, _, _ in called], candidates.upper(candidates.rows[chosen])]))
    return (float(highest[k - 1]), _FARTHEST[1], -1) if len(highest) >= k else _FARTHEST


_MOST_SHOWN = 10  # queries, in the table of a notebook


class CertifiedNeighbors(NamedTuple):
    """The nearest items of every query under an expensive distance, and what of the answer is proved.

    Attributes
    ----------
    distances : ndarray of shape (n_queries, k)
        Exact and increasing; infinite after the last item of the group of a query.
    ids : ndarray of shape (n_queries, k)
        At infinite distances they are -1, or "" if they are strings.
    certified : ndarray of shape (n_queries, k), bool
        True if an item is proved to have this rank, or none to have it: all are without ``max_calls``.
    n_calls : ndarray of shape (n_queries,), int64
        Calls of the expensive distance, those to landmarks too.
    """

    distances: Floats
    ids: NDArray[Any]
    certified: NDArray[np.bool_]
    n_calls: Integers

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the distances of the items by their ranks, hollow if not proved; see `semimetric.plotting.plot_neighbors`."""
        return picture("plot_neighbors")(self, ax)

    def _repr_html_(self) -> str:
        return nearest_table(self.distances, self.ids, "calls", self.n_calls, str(self))

    def __str__(self) -> str:
        """Sum up the answers, those that are proved, and the calls that they took; `repr` shows the arrays."""
        n, k = self.ids.shape
        proved = (
            "all proved" if self.certified.all() else f"{int(self.certified.sum())} of {self.certified.size} neighbours proved"
        )
        few, most = (int(self.n_calls.min()), int(self.n_calls.max())) if n else (0, 0)
        calls = f"{few} calls" if few == most else f"{few} to {most} calls"
        return f"{n} queries, {k} neighbours each, {proved}; {calls} of the expensive distance a query"


class CertifiedWithin(NamedTuple):
    """The items within a radius of every query under an expensive distance, and of which items it is not known.

    Attributes
    ----------
    distances : ndarray of shape (n_queries,)
        One array for each query: exact and increasing.
    ids : ndarray of shape (n_queries,)
        One array for each query.
    undecided : ndarray of shape (n_queries,)
        Ids of items that may lie within the radius and were not called, because of ``max_calls``.
    n_calls : ndarray of shape (n_queries,), int64
        Calls of the expensive distance.
    """

    distances: NDArray[Any]
    ids: NDArray[Any]
    undecided: NDArray[Any]
    n_calls: Integers

    def _repr_html_(self) -> str:
        found = list(zip(self.ids, self.undecided, self.n_calls.tolist(), strict=True))
        counts = [(str(q), f"{len(ids):,}", f"{len(may):,}", f"{calls:,}") for q, (ids, may, calls) in enumerate(found)]
        notes = [f"{len(counts):,} queries, of which the first {_MOST_SHOWN} are shown"] if len(counts) > _MOST_SHOWN else []
        head = ("query", "items within", "not known", "calls")
        return html_table([head, *counts[:_MOST_SHOWN]], title="Items within the radius", notes=notes)


def proved(found: Found, k: int, ranks: Integers) -> list[bool]:
    """Return True for each of the k nearest called items that no open item can precede, by distance and then by id."""
    if not len(found.open_rows):
        return [True] * k
    order = np.lexsort((ranks[found.open_rows], found.open_lower))
    first = (float(found.open_lower[order[0]]), int(ranks[found.open_rows[order[0]]]))
    return [(value, rank) < first for value, rank, _ in found.called[:k]]


class _TimedDistance:
    """The expensive distance, and the seconds of each call: its own, without those of the checks of what it returns."""

    def __init__(self, distance: Callable[..., Any]) -> None:
        self._distance = distance
        self.seconds: list[float] = []
        if hasattr(distance, "with_dual"):
            self.with_dual = self._timed(distance.with_dual)

    def __call__(self, query: Any, item: Any) -> Any:
        return self._timed(self._distance)(query, item)

    def _timed(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def timed(query: Any, item: Any) -> Any:
            start = perf_counter()
            try:
                return call(query, item)
            finally:
                self.seconds.append(perf_counter() - start)

        return timed


def _mean_without_first(seconds: Sequence[float]) -> float:
    """Return the mean of measured times without the first one, which may compile kernels; 0 of none."""
    return float(np.mean(seconds[1:] or seconds or (0.0,)))


_FEW_NEIGHBORS = 5


class ExpectedCalls(NamedTuple):
    """The cost of a query, measured on stored items as queries; printed, with advice.

    Attributes
    ----------
    n_items : int
    n_neighbors : int
    n_queries : int
        How many items were asked.
    calls : float
        Calls of the expensive distance for a new query, mean; calls to landmarks and for features count.
    standard_error : float
        Of ``calls``; NaN of one query.
    n_stopped : int
        Queries that took the limit of calls themselves, which ended them. They count as if all items had been called, so that
        ``calls`` is not too low.
    seconds_per_call : float
    seconds_per_query : float
        In one thread, mean: ``calls`` and what finds the candidates. The first call and the first query, which may compile
        kernels, are left out of the times where there are others.
    n_measuring : int
        Calls that were made to measure this.
    """

    n_items: int
    n_neighbors: int
    n_queries: int
    calls: float
    standard_error: float
    n_stopped: int
    seconds_per_call: float
    seconds_per_query: float
    n_measuring: int = 0

    @property
    def seconds_by_brute_force(self) -> float:
        """The seconds that calls for all items take."""
        return self.n_items * self.seconds_per_call

    def __str__(self) -> str:
        """Return the cost in words, and what to do where the index costs no less than calls for all items."""
        error = f" ± {self.standard_error:.2g}" if self.n_queries > 1 else ""
        stopped = f" (stopped, and counted as calls for all items: {self.n_stopped})" if self.n_stopped else ""
        text = (
            f"{self.calls:.4g}{error} calls a query of {self.n_items:,} items ({self.calls / self.n_items:.1%}), measured on "
            f"{self.n_queries} of them and {self.n_neighbors} neighbours each{stopped}. A call takes "
            f"{seconds_text(self.seconds_per_call)}, a query {seconds_text(self.seconds_per_query)}, and calls for all items "
            f"{seconds_text(self.seconds_by_brute_force)}"
        )
        if self.calls >= _LITTLE * self.n_items:
            return (
                f"{text}: bounds discard little here. Give bounds=, or tighter ones, call the distance for all items, or take "
                "max_calls= or NeighborIndex with rerank=, which answer without a proof"
            )
        if self.seconds_per_query >= self.seconds_by_brute_force:
            return f"{text}: the distance is cheap. Call it for all items"
        return text


_LITTLE = 0.9  # of the items called: bounds are then no help


T = TypeVar("T", bound=tuple)

_EARLY = 3_000  # items, for which bounds that discard nothing are named before all queries are answered
_FEWEST_ITEMS = 32  # a query, on average: among fewer it is no matter how many are called


class Searched(NamedTuple):
    """One query: its items, those that bounds discarded, those left open and answered, and the calls that bounds took."""

    n_items: int
    n_discarded: int
    n_open: int
    n_answers: int
    n_bound_calls: int


class FilterRefineIndex(ShortRepr, SearchesUnderLearned):
    """Exact nearest neighbours under an expensive distance, in place of which a learned one and bounds do most of the work.

    Upper bounds and the exact distances found so far set a threshold, and candidates with lower bounds beyond it are discarded.
    The expensive distance is called only for the others, until the nearest are proved (Seidl and Kriegel 1998). The answer is
    that of calling it for every item, ties by id.

    Candidates are taken in the order of their lower bounds. No order takes fewer calls, unless bounds grow with the calls. A
    search that ``max_calls`` may end takes the order of the learned distance, of which nothing is assumed. `NeighborIndex` with
    ``rerank=`` calls the expensive distance for a fixed number of candidates instead, without a proof.

    Parameters
    ----------
    semimetric : Semimetric, fitted learner, "gower", "l1", or None
        The learned distance, in any unit; None takes the lower bounds alone. A name makes the distance of the items of `fit`.
        A `DistanceApproximator` with ``features=`` makes the features of the objects itself, of items and of queries.
    rerank : callable
        The expensive distance: ``rerank(query, item)`` of two objects is a number >= 0. Rows of frames are those that a
        `DistanceApproximator` hands over, but of all columns without a learned distance. Integers alone, and texts that are
        numbers or times, stay so then. A category that was not in the fit is as it is given. If it has a method
        ``with_dual(query, item)`` that returns the number and a dual variable for every bin of the query, as
        `EarthMoversDistance` has, `TransportBounds` tighten the bounds of all other items by it.
    bounds : Bounds, sequence of Bounds, or None, default None
        `LandmarkBounds`, `TransportBounds`, `EditBounds`, `ElasticBounds`, or several, whose best is taken; fitted by `fit`.
        Without any, every item is called. What `LandmarkBounds` have called is not called again, if it is the same callable.
        A `SemimetricWarning` says once where they discard no more items than they take calls.
    order : {"auto", "learned", "bounds"}, default "auto"
        What orders the candidates. "auto" takes the lower bounds, but the learned distance where there are no bounds, or where
        calls are limited. It takes no call itself; `expected_calls` measures both orders.
    max_calls : int or None, default None
        Calls for a query after which the search stops, with what is proved by then.
    n_jobs : int or None, default None
        Threads, which take a query each: None is one, -1 all.
    verbose : bool or None, default None
        True shows progress; None shows it in a terminal or notebook, if it takes long.

    Attributes
    ----------
    semimetric_ : Semimetric or None
    bounds_ : list of Bounds
        Fitted to the items.
    order_ : {"learned", "bounds"}
        The order of a search without a limit of calls.
    ids_ : ndarray of shape (n_samples_fit_,)
    n_samples_fit_ : int
    payload_ : Payload or None
        Columns beside the items.
    n_features_in_ : int
        Of the vectors, or features, that the learned distance reads.
    n_calls_ : int
        How often `fit` called the expensive distance: for bounds, for features of the items that a model with landmarks
        makes, and with ``verbose=True`` for the price that it prints.
    pairs_, distances_ : ndarray of shape (n_calls, 2), (n_calls,)
        What the last search has called, whatever ended it: rows of queries and items, and their distances.

    Examples
    --------
    >>> import numpy as np, semimetric as sm
    >>> def hamming(x, y):
    ...     return sum(a != b for a, b in zip(x, y))
    >>> words = ["".join(w) for w in np.random.default_rng(0).choice(list("abcd"), (500, 8))]
    >>> index = sm.FilterRefineIndex(None, hamming, bounds=sm.LandmarkBounds(hamming)).fit(words)
    >>> found = index.search(["abcdabcd"], n_neighbors=2)
    >>> found.distances, found.certified
    (array([[2., 3.]]), array([[ True,  True]]))
    >>> bool(found.n_calls[0] < 500)
    True
    """

    items_: RefinedItems
    semimetric_: Semimetric | None
    pairs_: Integers
    distances_: Floats
    _encode: Callable[[Any], Floats] | None

    def __init__(
        self,
        semimetric: Semimetric | BaseEstimator | str | None,
        rerank: Callable[..., Any] | None = None,
        *,
        bounds: Bounds | Sequence[Bounds] | None = None,
        order: str = "auto",
        max_calls: int | None = None,
        n_jobs: int | None = None,
        verbose: bool | None = None,
    ) -> None:
        self.semimetric: Any = semimetric
        self.rerank = rerank
        self.bounds = bounds
        self.order = order
        self.max_calls = max_calls
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(
        self, X: Any, y: Any = None, *, features: ArrayLike | None = None, ids: ArrayLike | None = None, payload: Any = None
    ) -> FilterRefineIndex:
        """Index the items X, and fit the bounds to them; what fails or is interrupted leaves the index as it was.

        Parameters
        ----------
        X : array-like of shape (n, n_features), frame, or list of n objects
            What the expensive distance takes, row by row; objects are kept as they are.
        y : ignored
        features : array-like of shape (n, n_features) or None
            What the learned distance reads, where it does not read X; a model with ``features=`` makes it, if None is given.
        ids : array-like of shape (n,) or None
            Distinct 64-bit integers or strings (else an InputError is raised); row numbers by default.
        payload : frame or dict of columns, with n rows, or None
            As in `NeighborIndex.fit`: columns for conditions ``where=``, which no distance reads.
        """
        self._expensive()
        self._check_parameters()
        other = copy(self)
        other._set(X, features, ids, payload)
        self.__dict__ = other.__dict__  # in one step, so that no signal comes between
        if self.verbose and len(self.items_) > _FEW_NEIGHBORS:
            expected = self.expected_calls()
            self.n_calls_ += expected.n_measuring
            announce(f"in the order of {_ORDERS[self.order_]}: {expected}", verbose=True)
        return self

    def expected_calls(
        self, n_neighbors: int = 5, *, order: str | None = None, max_calls: int = 3_000, random_state: int | None = 0
    ) -> ExpectedCalls:
        """Measure what a query costs before any is asked: stored items, drawn at random, are searched among the others.

        With ``verbose=True``, `fit` prints it. The figures hold for queries that are like the items.

        Parameters
        ----------
        n_neighbors : int, default 5
        order : {"learned", "bounds"} or None
            None is `order_`; the other one shows what it would cost.
        max_calls : int, default 3_000
            Calls of the expensive distance after which no further item is asked. One item takes no more than these itself.
        random_state : int or None, default 0
            Seed of the draw.

        Returns
        -------
        ExpectedCalls

        Raises
        ------
        InputError
            If there are not more items than neighbours, or a parameter is no number >= 1.
        DistanceCallError
            As in `search`.

        Examples
        --------
        >>> import numpy as np, semimetric as sm
        >>> def euclid(x, y):
        ...     return float(np.sqrt(((x - y) ** 2).sum()))
        >>> X = np.random.default_rng(0).random((400, 2))
        >>> index = sm.FilterRefineIndex("l1", euclid, bounds=sm.LandmarkBounds(euclid)).fit(X)
        >>> bool(index.expected_calls(max_calls=500).calls < 100)
        True
        """
        check_is_fitted(self, "items_")
        k = check_neighbors("exact", n_neighbors, len(self.items_) - 1)
        most = check_count("max_calls", max_calls)
        learned = self.order_ == "learned" if order is None else self._check_order(order) == "learned"
        for_features = 0.0 if self.items_.n_calls is None or not learned else float(self.items_.n_calls.mean())
        for_query = for_features + sum(bounds.n_query_calls for bounds in self.bounds_)
        timed = _TimedDistance(self._expensive().function)
        mask, expensive = np.ones(len(self.items_), dtype=bool), self._expensive(timed)
        counts, rests, n_stopped, called = [], [], 0, 0
        for q in np.random.default_rng(random_state).permutation(len(self.items_)).tolist():
            started, n_before = perf_counter(), len(timed.seconds)
            candidates, call, known, _ = self._asked(self.items_, q, True, mask, expensive, learned, new=True)
            found = nearest(candidates, call, k, known=known, budget=most)
            rests.append(perf_counter() - started - sum(timed.seconds[n_before:]))
            stopped = len(found.called) < k or not all(proved(found, k, self._ranks))
            counts.append(float(len(self.items_)) if stopped else found.n_calls + for_query)
            n_stopped, called = n_stopped + stopped, called + found.n_calls
            if called >= most:
                break
        rest, per_call = _mean_without_first(rests), _mean_without_first(timed.seconds)
        error = float(np.std(counts, ddof=1) / np.sqrt(len(counts))) if len(counts) > 1 else np.nan
        calls = float(np.mean(counts))
        return ExpectedCalls(
            len(self.items_), k, len(counts), calls, error, n_stopped, per_call, rest + calls * per_call, len(timed.seconds)
        )

    def _set(self, X: Any, features: ArrayLike | None, ids: ArrayLike | None, payload: Any) -> None:
        learned = None
        if self.semimetric is not None:
            learned = searched_distance(self.semimetric, X if features is None else features)
            self.n_features_in_ = learned.n_features
        self.semimetric_ = learned
        self._beside = features is not None
        self._has_warned = False
        self._encode = encoder_of(self.semimetric) if features is None else None
        if self._encode is None or learned is None:
            self.items_ = RefinedItems.read(X, features, learned, self.rerank)
        else:
            self.items_ = RefinedItems.encoded(X, self._encode, learned)
        n = len(self.items_)
        self.ids_ = np.arange(n) if ids is None else check_ids(ids, n)
        self.payload_ = None if payload is None else Payload.read(payload, n, learned.feature_names if learned else ())
        self.bounds_ = [copy(bounds).fit(self.items_.objects) for bounds in self._given_bounds()]
        n_calls = 0 if self.items_.n_calls is None else int(self.items_.n_calls.sum())
        self.n_calls_ = n_calls + sum(getattr(bounds, "n_calls_", 0) for bounds in self.bounds_)
        self.order_ = self.order if self.order != "auto" else "bounds" if self.bounds_ or learned is None else "learned"
        self._ranks = np.empty(n, dtype=np.int64)
        self._ranks[np.argsort(self.ids_, kind="stable")] = np.arange(n)

    def get_payload(self, ids: ArrayLike) -> Any:
        """Return the payload of these ids, or of one, as a frame of pandas; see `NeighborIndex.get_payload`."""
        check_is_fitted(self, "items_")
        all_there = np.ones(len(self.items_), dtype=bool)
        return payload_frame(ids, [ItemRows(np.empty((len(self.items_), 0)), self.ids_, all_there, self.payload_)])

    @property
    def n_samples_fit_(self) -> int:
        """Number of items."""
        return len(self.items_)

    def kneighbors(self, X: Any = None, n_neighbors: int = 5, return_distance: bool = True, **options: Any) -> Any:
        """Find the nearest items of every query; the options are those of `search`.

        Parameters
        ----------
        X : array-like, frame, list of objects, or None
            Queries, of the form of the items; None is every item, which is then not its own neighbour.
        n_neighbors : int
            1 to the number of items.
        return_distance : bool
        **options
            ``features``, ``where``, ``by`` and ``max_calls`` of `search`.

        Returns
        -------
        distances : ndarray of shape (n_queries, k), increasing
            Only if ``return_distance``. With ``by`` they are infinite after the last item of the group of a query.
        ids : ndarray of shape (n_queries, k)
            k is the smaller of n_neighbors and the number of eligible items, less one without X. At infinite distances ids
            are -1, or "" if they are strings.
        """
        found = self.search(X, n_neighbors, **options)
        return (found.distances, found.ids) if return_distance else found.ids

    def search(
        self,
        X: Any = None,
        n_neighbors: int = 5,
        *,
        features: ArrayLike | None = None,
        where: ArrayLike | Iterable | None = None,
        by: str | Sequence[str] | Mapping[str, ArrayLike] | None = None,
        max_calls: int | None = None,
    ) -> CertifiedNeighbors:
        """Answer as `kneighbors`, with a proof for each neighbour, and the calls of each query, those for its features too.

        Parameters
        ----------
        X, n_neighbors : as in `kneighbors`
        features : array-like of shape (n_queries, n_features) or None
            Of the queries, where `fit` was given those of the items.
        where : str, boolean mask over `ids_`, or list of ids; None
            The eligible items, see `NeighborIndex.kneighbors`.
        by : str, list of str, dict of columns with n_queries values, or None
            Only items that equal the query in these columns answer it, see `NeighborIndex.kneighbors`. Values of the queries
            stand beside what the learned distance reads, in a frame X or ``features``, or in the dict.
        max_calls : int or None
            In place of that of the class.

        Raises
        ------
        DistanceCallError
            If the distance fails on a pair, or is not within its bounds there, with what was evaluated so far.
        InputError
            If the queries are no items, or ``max_calls`` is less than n_neighbors and the calls to landmarks.
        """
        learned = self._by_learned(max_calls)
        queries, own, eligible = self._queries(X, features, learned, where, by)
        k = check_neighbors("exact", n_neighbors, len(self.items_) - own)
        budget = self._budget(max_calls, k, queries, own)

        def answered(candidates: CandidateItems, call: Any, known: dict[int, float], calls: int) -> tuple:
            few = min(k, len(candidates))
            found = nearest(candidates, call, few, known=known, budget=budget - calls)
            if len(found.called) < few:
                raise InputError("the bounds of a query contradict one another: a lower bound is above an upper one")
            return found.called[:few], proved(found, few, self._ranks), found.n_calls + calls

        answers = self._answered(queries, own, eligible, answered, learned, k)
        shape = len(answers), min(k, max(int(eligible.mask.sum()) - own, 0))
        distances, certified = np.full(shape, np.inf), np.ones(shape, dtype=bool)
        ids = np.full(shape, -1 if self.ids_.dtype.kind == "i" else "", self.ids_.dtype)
        for q, (called, certain, _) in enumerate(answers):
            there = slice(min(len(called), shape[1]))
            distances[q, there], certified[q, there] = [value for value, _, _ in called[there]], certain[there]
            ids[q, there] = self.ids_[[row for _, _, row in called[there]]]
        return CertifiedNeighbors(distances, ids, certified, np.array([calls for *_, calls in answers], dtype=np.int64))

    def radius_neighbors(self, X: Any = None, radius: float = 1.0, return_distance: bool = True, **options: Any) -> Any:
        """Find all items within ``radius`` of every query, nearest first; the options are those of `search`.

        Distances and ids are object arrays of shape (n_queries,), one array a query; ids alone if not ``return_distance``.
        """
        found = self.search_radius(X, radius, **options)
        return (found.distances, found.ids) if return_distance else found.ids

    def search_radius(
        self,
        X: Any = None,
        radius: float = 1.0,
        *,
        features: ArrayLike | None = None,
        where: ArrayLike | Iterable | None = None,
        by: str | Sequence[str] | Mapping[str, ArrayLike] | None = None,
        max_calls: int | None = None,
    ) -> CertifiedWithin:
        """Answer as `radius_neighbors`, with the items of which it is not known, and the calls of each query."""
        learned = self._by_learned(max_calls)
        check_radius(radius, 0.0)
        queries, own, eligible = self._queries(X, features, learned, where, by)
        budget = self._budget(max_calls, 0, queries, own)

        def answered(candidates: CandidateItems, call: Any, known: dict[int, float], calls: int) -> tuple:
            found = within(candidates, call, radius, known=known, budget=budget - calls)
            near = [(value, row) for value, _, row in found.called if value <= radius]
            values, rows = np.array([v for v, _ in near]), np.array([row for _, row in near], dtype=np.int64)
            return values, self.ids_[rows], np.sort(self.ids_[found.open_rows]), found.n_calls + calls

        answers = self._answered(queries, own, eligible, answered, learned, 0)
        distances, ids, undecided = (as_objects([answer[k] for answer in answers]) for k in range(3))
        return CertifiedWithin(distances, ids, undecided, np.array([calls for *_, calls in answers], dtype=np.int64))

    def kneighbors_graph(
        self, X: Any = None, n_neighbors: int = 5, mode: str = "connectivity", **options: Any
    ) -> sparse.csr_matrix:
        """Return `kneighbors`, its options too, as a sparse matrix (n_queries, n_samples_fit_) of ones, or of distances.

        ``mode`` is "connectivity" or "distance"; columns are in the order of `ids_`.
        """
        check_choice("mode", mode, ("connectivity", "distance"))
        found = self.search(X, n_neighbors, **options)
        values = found.distances if mode == "distance" else np.ones(found.ids.shape)
        return as_graph(values, found.ids, self.ids_, np.isfinite(found.distances))

    def _budget(self, max_calls: int | None, k: int, queries: RefinedItems, own: bool) -> float:
        """Return the calls that a query may take, of which bounds and features take some, and the neighbours k at least."""
        given = self.max_calls if max_calls is None else max_calls
        if given is None:
            return np.inf
        features = 0 if own or queries.n_calls is None else int(queries.n_calls.max(initial=0))
        least = k + features + sum(bounds.n_query_calls for bounds in self.bounds_)
        if check_count("max_calls", given) < least:
            raise InputError(
                f"max_calls={given}, but a query takes at least {least}: {k} for the neighbours that are answered, and "
                f"{least - k} to landmarks; allow more"
            )
        return float(given)

    def _by_learned(self, max_calls: int | None) -> bool:
        """Return True if the learned distance orders the candidates of a search with this limit of calls."""
        check_is_fitted(self, "items_")
        limited = max_calls is not None or self.max_calls is not None
        return self.semimetric_ is not None and (self.order_ == "learned" or (self.order == "auto" and limited))

    def _queries(self, X: Any, features: Any, learned: bool, where: Any, by: Any) -> tuple[RefinedItems, bool, EligibleItems]:
        """Return queries, True if they are the items themselves, and the items that may answer each."""
        check_is_fitted(self, "items_")
        columns = self.items_.columns(self.ids_, self.payload_)
        names = () if by is None else names_of(by, columns)
        table = X if features is None else features
        if X is not None and features is not None:
            features = beside_features(features, names, columns)
        elif X is not None and self._encode is None:
            X = beside_features(X, names, columns)
        of_features = self.semimetric_ is not None and not set(names).isdisjoint(self.semimetric_.feature_names)
        queries, own = self._read(X, features, learned or (of_features and not isinstance(by, Mapping)))
        mask = self.items_.mask(where, self.ids_, self.payload_)
        if by is None:
            return queries, own, EligibleItems(mask)
        keys = read_keys(by, None if own else table, queries.encoded_features, columns)
        groups = groups_of(self.items_.groups, columns.parts[0], names, columns)
        return queries, own, EligibleItems(mask, groups.among(mask), groups.find(keys))

    def _read(self, X: Any, features: Any, learned: bool) -> tuple[RefinedItems, bool]:
        if X is None:
            return self.items_, True
        if self._encode is not None and self.semimetric_ is not None and features is None:
            if not learned:  # so that queries need no features
                return RefinedItems(objects_to_encode(X, self.semimetric_), None, None), False
            return RefinedItems.encoded(X, self._encode, self.semimetric_), False
        if self.semimetric_ is not None and features is None and self._beside:
            raise InputError("the items have features beside them, which the learned distance reads; give features= of X too")
        if features is not None and not self._beside:
            raise InputError("features= are given, and fit had none: the learned distance reads the queries; drop them")
        return RefinedItems.read(X, features, self.semimetric_, self.rerank), False

    def _answered(
        self, queries: RefinedItems, own: bool, eligible: EligibleItems, answer: Callable[..., T], learned: bool, k: int
    ) -> list[T]:
        """Apply ``answer`` to the candidates of every query, k of which it takes at least; the calls are stored in any case."""
        expensive = self._expensive()

        seen: list[Searched] = []

        def answered(part: slice) -> T:
            q = part.start
            candidates, call, known, n_calls = self._asked(queries, q, own, eligible.of(q), expensive, learned)
            features = 0 if own or queries.n_calls is None else int(queries.n_calls[q])
            n_made = 0

            def watched(row: int, lower: float) -> tuple[float, Any]:
                nonlocal n_made
                n_made += 1
                if n_made == max(_EARLY, 2 * k):
                    self._warn_of_weak_bounds([*seen, Searched(candidates.n_all, candidates.n_discarded, 0, k, n_calls)])
                return call(row, lower)

            found = answer(candidates, watched, known, n_calls + features)
            bar.update()
            if n_made + n_calls:  # else all distances were known
                seen.append(Searched(candidates.n_all, candidates.n_discarded, len(candidates), len(found[0]), n_calls))
            if not self._has_warned and sum(searched.n_items for searched in seen) >= _EARLY:
                self._warn_of_weak_bounds(seen)
            return found

        try:
            with progress_bar(len(queries), "queries", verbose=self.verbose) as bar:
                found = map_blocks(answered, len(queries), size=1, n_jobs=self.n_jobs)
        finally:
            self.pairs_, self.distances_ = expensive.calls.pairs, expensive.calls.distances
        self._warn_of_weak_bounds(seen)
        return found

    def _warn_of_weak_bounds(self, queries: list[Searched]) -> None:
        total = Searched(*np.sum(np.array(queries, dtype=np.int64).reshape(-1, len(Searched._fields)), axis=0).tolist())
        few = total.n_items < _FEWEST_ITEMS * len(queries) or 2 * total.n_answers > total.n_items
        if (
            not queries
            or self._has_warned
            or not self.bounds_
            or few
            or total.n_open
            or total.n_discarded > total.n_bound_calls
        ):
            return
        self._has_warned = True
        warn(
            f"bounds= discarded {total.n_discarded:,} of {total.n_items:,} items for {len(queries):,} queries, and took "
            f"{total.n_bound_calls:,} calls themselves: the expensive distance is called no less than without bounds, as where "
            "distances are much alike. Give tighter ones (more landmarks, or those made for the distance, such as "
            "TransportBounds), or leave bounds= out; max_calls=, and NeighborIndex with rerank=, answer by a number of calls "
            "that you choose, without a proof",
            cause="bounds discard nothing",
        )

    def _asked(
        self,
        queries: RefinedItems,
        q: int,
        own: bool,
        mask: NDArray[np.bool_],
        expensive: UserDistance,
        learned: bool,
        *,
        new: bool = False,
    ) -> tuple[CandidateItems, Callable[[int, float], tuple[float, Any]], dict[int, float], int]:
        """Return the candidates of a query, the call for one of them, known distances, and the number of calls for these.

        Bounds that would call the distance for no fewer items than there are candidates are not asked. Of an item that is asked
        as a ``new`` query would be, no distances are known but those that bounds call for each query.
        """
        rows = np.flatnonzero(mask)
        query = queries.objects[q]
        if own:
            rows = rows[rows != q]
        pays = own or len(rows) > sum(b.n_query_calls for b in self.bounds_)  # Else calls for all items are fewer.
        all_fitted = [b for b in self.bounds_ if pays or not b.n_query_calls]
        try:
            bounds = [b.at_item(q) if own else b.at(query) for b in all_fitted]
        except DistanceCallError as error:
            for (_, row), value in zip(error.pairs.tolist(), error.distances.tolist(), strict=True):
                expensive.calls.record(q, row, value)
            raise expensive.refuse(
                f"its bounds could not be computed ({error.__cause__ or error})", q, error.pair[1]
            ) from error
        known: dict[int, float] = {}
        for of_query, fitted in zip(bounds, all_fitted, strict=True):
            if _same_distance(getattr(fitted, "distance", None), self.rerank) and (fitted.n_query_calls or not new):
                known |= of_query.known
        if not own:  # of items they were called by `fit`
            for row, value in known.items():
                expensive.calls.record(q, row, value)
        candidates = CandidateItems(rows, self._ranks, bounds, self.items_.estimates(queries, q, rows) if learned else None)

        def call(row: int, lower: float) -> tuple[float, Any]:
            value, dual = expensive.one_with_dual(query, self.items_.objects[row], q, row)
            upper = candidates.upper_of_called(row)
            if not lower <= value <= upper:
                raise expensive.refuse(
                    f"it is {value:g}, but its bounds are {lower:g} and {upper:g}. So the bounds are not of this distance, or "
                    "it breaks the axiom that they rest on, as landmarks rest on the triangle inequality. Give other bounds, "
                    "or a larger tolerance= if it is computed to a few digits only",
                    q, row,
                )  # fmt: skip
            return value, dual

        return candidates, call, known, sum(b.n_calls for b in bounds)

    def _expensive(self, timed: _TimedDistance | None = None) -> UserDistance:
        rerank: Any = self.rerank if timed is None else timed  # which `UserDistance` refuses if it is not callable
        return UserDistance(rerank, name="rerank", kinds=("query", "item"))

    def _given_bounds(self) -> list[Bounds]:
        if self.bounds is None:
            return []
        given: list[Any] = list(self.bounds) if isinstance(self.bounds, (list, tuple)) else [self.bounds]
        for bounds in given:
            if not isinstance(bounds, Bounds):
                raise InputError(
                    f"bounds={bounds!r} must be bounds, such as LandmarkBounds, TransportBounds or EditBounds, or a list of "
                    "such"
                )
        return given

    def _check_order(self, order: str) -> str:
        check_choice("order", order, tuple(_ORDERS))
        if order == "learned" and self.semimetric is None:
            raise InputError(
                "order='learned' needs a learned distance, and there is no semimetric=; give one, or order='bounds'"
            )
        if order == "bounds" and not self._given_bounds():
            raise InputError("order='bounds' needs bounds, and there is no bounds=; give some, or order='learned'")
        return order

    def _check_parameters(self) -> None:
        self._given_bounds()
        check_choice("order", self.order, ("auto", *_ORDERS))
        if self.order != "auto":
            self._check_order(self.order)
        if self.max_calls is not None:
            check_count("max_calls", self.max_calls)
        check_n_jobs(self.n_jobs)


_ORDERS = {"learned": "the learned distance", "bounds": "the lower bounds"}


def _same_distance(distance: Any, rerank: Any) -> bool:
    """Return True if bounds call the very distance that is searched under, so that what they know is an answer, unchecked."""
    return distance is rerank or (ismethod(distance) and distance == rerank)
