"""A set of items that is searched as one: filter by bounds, refine by exact distances, certify the answer.

Exact search over single features goes through lists of near items. Otherwise the items of the smallest bounds are refined until
a bound exceeds the k-th distance; if none does, a scan names all.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import Lock
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..._foundation.errors import InputError
from ..._foundation.files import is_mapped
from ..._foundation.real_numbers import real_number, shown
from ..._foundation.threads import map_blocks
from ..._foundation.types import Floats, Integers
from ..._foundation.validation import check_choice, check_count
from ..._kernels.graph_search import WalkedItems
from ..._kernels.search import Candidates, cell_minima
from ..._kernels.whole_tables import magnitudes
from ...data.payload import Payload
from .cells import CellLayout, Cells, Filter, Warp, packed_codes
from .faiss_scan import IntegerTables, Scan, ScanCandidates, rounded_down
from .groups import KeyGroups
from .item_lists import ItemLists, ListScan
from .joint import JointCodes, JointScan, has_boxes
from .neighbor_graph import GRAPH_FROM, GraphWalk, NeighborGraph
from .query_tables import ItemArrays, QueryBlock, QueryView
from .refinement import NO_VALUES, CodedRefinement, Refinement, SegmentResult, located_items
from .scans import kmeans, scan_of

ALGORITHMS = ("exact", "approximate", "graph", "brute", "merge")


class SearchRequest(NamedTuple):
    """The number k of neighbours, the algorithm, and what the approximate ones refine or keep (items) and visit (lists)."""

    k: int
    algorithm: str = "exact"
    n_candidates: int = 100
    n_probe: int = 16


def check_neighbors(algorithm: str, n_neighbors: int, n_items: int) -> int:
    """Return the number of neighbours, for a known algorithm and at most ``n_items`` of them."""
    check_choice("algorithm", algorithm, ALGORITHMS)
    k = check_count("n_neighbors", n_neighbors)
    if k > n_items:
        raise InputError(f"n_neighbors={k}, but there are {n_items} items to answer; ask for fewer")
    return k


def check_radius(radius: float, least: float) -> None:
    """Refuse a radius that is not finite, or that no distance can be within, as none is below ``least``."""
    number = real_number(radius)
    if number is None or not np.isfinite(number) or number < least:
        raise InputError(f"radius={shown(radius)}: a finite number is required, >= 0 for distances that are")


def candidate_count(n_candidates: int | None, k: int) -> int:
    """Return the number of items that the approximate search refines for k neighbours, or that a walk keeps."""
    return max(100, 10 * k) if n_candidates is None else max(check_count("n_candidates", n_candidates), k)


def smallest_by_range(
    scan: Scan, probe: Scan, sampled: Integers, tables: IntegerTables, count: int, eligible: NDArray[np.bool_] | None
) -> ScanCandidates:
    """Return about ``count`` items of the smallest sums; for one query FAISS collects a range faster than many best.

    The codes ``probe`` are those of a sample, the rows ``sampled`` of ``scan``; the mask ``eligible`` (n,) may be None.
    """
    rank = min(max(count * len(sampled) // scan.n, 1), len(sampled))
    guesses, _ = probe.nearest(tables, rank, keep=None if eligible is None else eligible[sampled])
    found = [_up_to(scan, tables, q, float(guess), eligible) for q, guess in enumerate(guesses[:, -1])]
    shape = (len(found), max(1, *(len(sums) for sums, _, _ in found)))
    named = ScanCandidates(np.zeros(shape, np.float32), np.full(shape, -1), np.array([each[2] for each in found]))
    for q, (sums, rows, _) in enumerate(found):
        named.sums[q, : len(sums)], named.rows[q, : len(rows)] = sums, rows
    return named


def _up_to(
    scan: Scan, tables: IntegerTables, q: int, limit: float, eligible: NDArray[np.bool_] | None
) -> tuple[NDArray[Any], Integers, float]:
    """Return sums and rows of all items up to a sum, increasing, and the least sum of the others (NaN: unknown)."""
    found = None if tables.flat[q] or not np.isfinite(limit) else scan.within(tables, q, limit, eligible)
    if found is None:
        return np.empty(0, np.float32), np.empty(0, np.int64), np.nan
    order = np.argsort(found[0].astype(np.uint16), kind="stable")  # Sums are integers below 65,536.
    return found[0][order], found[1][order], np.floor(limit) + 1.0


# Nanoseconds of the processor for a column and for a byte of an item in a scan, and for an item that is refined; see
# benchmarks/joint_search.py. Only their ratios matter.
_COLUMN, _BYTE, _REFINED = 0.08, 0.6, 200.0


def share_within(tables: IntegerTables, floor: float, codes: NDArray[np.uint8], limits: Floats) -> Floats:
    """Return the fraction of items whose bound by columns, above ``floor``, is within each query's limit, shape (B,)."""
    n_columns = tables.tables.shape[1]
    column = np.stack([codes & 15, codes >> 4], axis=-1).reshape(len(codes), -1)[:, :n_columns]
    shares = np.ones(len(limits))
    for q in np.flatnonzero(~tables.flat):
        sums = tables.tables[q][np.arange(n_columns), column].sum(axis=1, dtype=np.float64)  # No float32 holds every limit.
        shares[q] = (sums <= tables.limit(int(q), limits[q] - floor)).mean()
    return shares


def columns_pay(n: int, n_columns: int, n_bytes: int, by_columns: float, by_boxes: float) -> bool:
    """Return True if a scan of columns is expected to cost less, with so many of the n items refined after either scan."""
    return n * n_columns * _COLUMN + by_columns * _REFINED < n * n_bytes * _BYTE + by_boxes * _REFINED


_BUILDING = Lock()  # One thread at a time turns codes into a scan, so that none finds them gone.


class ItemCodes:
    """Codes of items (n, n_bytes), two columns a byte with the even one in the low bits, which segments share.

    Codes that are mapped from a file stay there. ``member`` (n,) is the inverted list of each item; None is one list.
    """

    def __init__(self, packed: NDArray[np.uint8], n_columns: int, member: Integers | None = None) -> None:
        self.held: NDArray[np.uint8] | None = packed  # None once the scan alone holds the codes
        self.made: Scan | None = None  # the scan, once a query has made it
        self.n_columns, self.member = n_columns, member

    @property
    def packed(self) -> NDArray[np.uint8]:
        """The packed codes (n, n_bytes), which are unpacked from FAISS's layout where they are held there alone."""
        with _BUILDING:
            if self.held is not None:
                return self.held
            assert self.made is not None  # Codes are dropped when the scan is there.
            return self.made.packed()

    @property
    def scan(self) -> Scan:
        """The codes in FAISS's layout, made by the first query; packed codes in memory are dropped then."""
        if self.made is None:
            with _BUILDING:
                if self.made is None:
                    assert self.held is not None
                    self.made = scan_of(self.held, self.n_columns, self.member)
                    if not is_mapped(self.held):
                        self.held = None
        return self.made


_FROM = 200_000  # From this number of items on, lists pay.
_POINTS = 48  # The number of items in the sample for each centroid.
_ROWS = 1 << 14  # The number of items whose positions are scaled together.


def list_count(n: int, view: QueryView) -> int:
    """Return the number of lists for n items: about sqrt(n), or 1 where lists do not pay or no feature has a table."""
    return 1 if n < _FROM or not view.n_tables else round(n**0.5)


class Lists(NamedTuple):
    """The list of every item (n,), and the codes of the centroids, packed as those of the items."""

    member: Integers
    codes: NDArray[np.uint8]

    def check(self, layout: CellLayout) -> None:
        """Refuse items in lists that are not there, lists without items, and codes of another layout."""
        n, n_bytes = len(self.codes), (layout.n_columns + 1) // 2
        if not n or not n_bytes or self.codes.shape[1:] != (n_bytes,):
            raise InputError(f"the lists have codes of shape {self.codes.shape}; (n_lists, {n_bytes}) is required, both > 0")
        if self.member.min(initial=0) < 0 or self.member.max(initial=0) >= n:
            raise InputError(
                f"items are in the lists {self.member.min()} to {self.member.max()}, but there are {n}; 0 to "
                f"{n - 1} are required"
            )
        if not np.bincount(self.member, minlength=n).all():
            raise InputError("a list has no items; lists without items are left out")

    @classmethod
    def fit(
        cls, view: QueryView, layout: CellLayout, items: ItemArrays, n_lists: int, *, n_jobs: int | None, seed: int | None
    ) -> Lists:
        """Divide ``items`` into about ``n_lists`` lists by k-means on scales that the tables rise evenly on."""
        rng = np.random.default_rng(seed)
        rows = np.sort(rng.choice(len(items), min(len(items), _POINTS * n_lists), replace=False))
        sample = items.positions[rows]
        warps = [Warp.of(view, sample[:, e], e, rng) for e in range(view.n_tables)]
        scaled, unit = np.empty((len(items), len(warps)), np.float32), max(warp.scale[-1] for warp in warps)
        scales = [warp.scale / unit for warp in warps]

        def fill(part: slice) -> None:
            positions = items.positions[part]
            for e, warp in enumerate(warps):
                scaled[part, e] = np.interp(positions[:, e], warp.knots, scales[e])

        map_blocks(fill, len(items), size=_ROWS, n_jobs=n_jobs)
        centroids, member = kmeans(scaled, rows, n_lists, n_jobs=n_jobs, seed=int(rng.integers(2**31)))
        positions = np.zeros((len(centroids), items.positions.shape[1]))
        for e, warp in enumerate(warps):
            positions[:, e] = np.interp(centroids[:, e], warp.scale / unit, warp.knots)
        return cls(member.astype(np.min_scalar_type(len(centroids) - 1)), packed_codes(layout, positions))


_FEW = 2_048  # Up to this number of items, all of them are looked at one by one;
_FEW_OF_PART = 512  # up to this number where full blocks of queries ask for them.
_WIDE = 1 << 17  # Fewer items go through lists, too, if they have more values than these on the features.
_FEWEST, _EACH = 512, 8  # They are more than this number then, and more than so many for each neighbour.
_LOOKS = 64  # Lists are made for them once all have been looked at so often, which takes about as long.
SLACK = 1e-10  # Relative to the largest bounds and table entries: what rounding, and another order of adding, may change.
_RARE = 0.015  # Where less than this share of the items is eligible, they are looked at one by one.
_WORTH = 8  # A scan does not pay where it would name more than this part of the items.
_LARGE, _FEW_QUERIES = 65_536, 4  # With so many items and so few queries, the scan is a range search.
_PROBE = 8_192  # The least size of the sample of items that suggests the range.
_WALKED = 0.5  # Where less than this share of the items is eligible, a walk would mostly pass others.
_SAMPLE = 32  # The number of items that are taken as queries to measure how many survive the filter.
_NO_RANK = np.empty(0, np.int64)
Mask: TypeAlias = NDArray[np.bool_] | None  # The eligible items; None stands for all.


def least_sums(view: QueryView, queries: QueryBlock, low: Floats, high: Floats) -> Floats:
    """Bound sums over single features between queries and all items of ranges of positions (n_tables, n), shape (B, n)."""
    values = np.empty((len(queries), *low.shape))
    cell_minima(view.scales, queries.profiles, np.arange(len(low)), low, high, values)
    return values.sum(axis=1) - rounding_of(view, np.abs(values).sum(axis=1))


def rounding_of(view: QueryView, size: Floats) -> Floats:
    """Bound what rounding, and another order of adding, may change in sums whose values add up to ``size`` in magnitude."""
    return SLACK * (size + view.size)


@dataclass(frozen=True, eq=False)
class Eligible:
    """The items of a segment that a search may answer."""

    n_items: int  # of the segment
    mask: Mask

    @cached_property
    def n(self) -> int:
        """The number of these items."""
        return self.n_items if self.mask is None else int(np.count_nonzero(self.mask))

    @cached_property
    def rows(self) -> Integers:
        """Their rows, increasing."""
        return np.arange(self.n_items) if self.mask is None else np.flatnonzero(self.mask)


@dataclass(eq=False)
class Segment:
    """Items under a distance, with their codes, and the searches among them."""

    view: QueryView
    ids: NDArray[Any]  # (n,), int64 or str
    points: ItemArrays
    cells: Cells
    codes: ItemCodes
    alive: NDArray[np.bool_]  # (n,), the items that have not been removed
    lists: Lists | None = None  # the division of the items for the approximate search
    graph: NeighborGraph | None = None  # edges between items that walks of queries follow; they stay under another distance
    objects: NDArray[Any] | None = None  # (n,), what a model made the items of, which an expensive distance takes
    payload: Payload | None = None  # columns beside the items, which conditions name
    is_part: bool = False  # True for items of another segment that were copied because many queries ask for them
    scans_codes: bool = False  # True for a part for which lists would take longer to make than they save
    n_looked_at: int = field(default=0, init=False)  # items that exact queries have looked at one by one, of all queries

    @classmethod
    def build(
        cls,
        view: QueryView,
        layout: CellLayout,
        ids: NDArray[Any],
        X: NDArray[Any],
        *,
        n_lists: int | str,
        n_jobs: int | None,
        seed: int | None,
        storage: str = "float64",
        objects: NDArray[Any] | None = None,
        payload: Payload | None = None,
    ) -> Self:
        """Locate, encode and divide the items X of shape (n, n_features), whose ids are ``ids`` (n,)."""
        points = located_items(view, X, storage, n_jobs=n_jobs)
        cells, codes = Cells.of(layout, view, points, n_jobs=n_jobs)
        n = list_count(len(ids), view) if n_lists == "auto" else int(n_lists)
        divided = n > 1 and view.n_tables > 0
        lists = Lists.fit(view, layout, points, n, n_jobs=n_jobs, seed=seed) if divided else None
        held = ItemCodes(codes, layout.n_columns, None if lists is None else lists.member)
        return cls(view, ids, points, cells, held, np.ones(len(ids), dtype=bool), lists, objects=objects, payload=payload)

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return f"{type(self).__name__} of {len(self)} items, of which {self.n_alive} are there"

    def with_alive(self, alive: NDArray[np.bool_]) -> Self:
        """Copy the segment with ``alive`` (n,), the items that are not removed; the scan is shared."""
        return self._shared(replace(self, alive=alive))

    def with_graph(self, graph: NeighborGraph | None) -> Self:
        """Copy the segment with a graph, or without one; the scan is shared."""
        return self._shared(replace(self, graph=graph))

    def under(self, view: QueryView) -> Self:
        """Put the same items and codes under another distance of the same cells."""
        same = np.array_equal(view.features, self.view.features)
        points = self.points if same else located_items(view, self.points.raw, self.storage)
        return self._shared(replace(self, view=view, points=points))

    def _shared(self, other: Self) -> Self:
        """Give ``other`` what depends on codes and ids alone, as far as it has been computed here."""
        for name in ("coarse", "_probe", "_joint_codes", "_item_lists", "rank"):
            if name in vars(self):
                vars(other)[name] = vars(self)[name]
        return other

    @property
    def storage(self) -> str:
        """The kind of numbers that hold the positions of the items: "float64" or "uint16"."""
        return "float64" if self.points.coded is None else "uint16"

    @cached_property
    def n_alive(self) -> int:
        """Number of items that have not been removed."""
        return int(self.alive.sum())

    @cached_property
    def groups(self) -> dict[tuple[Hashable, ...], KeyGroups]:
        """The rows by their values in columns that queries have named; see `grouped.groups_of`."""
        return {}

    @cached_property
    def filter(self) -> Filter:
        """The cells under the distance, which bound the sums of items from below."""
        return Filter(self.cells, self.view)

    @cached_property
    def coarse(self) -> Scan | None:
        """Codes of the centroids of the lists; None where there is one list."""
        return None if self.lists is None else scan_of(self.lists.codes, self.cells.layout.n_columns)

    @cached_property
    def _walk(self) -> GraphWalk | None:
        return None if self.graph is None else GraphWalk(self.view, self.graph)

    @property
    def scans(self) -> list[Scan]:
        """The scans that queries have made so far, of all items and of few."""
        made = vars(self)
        probe = [made["_probe"][0]] if "_probe" in made else []
        return [scan for scan in (self.codes.made, made.get("coarse"), *probe) if scan is not None]

    def arrays(self) -> Iterator[tuple[str, NDArray[Any]]]:
        """Yield the arrays that grow with the number of items, each with its use, see `NeighborIndex.memory_usage`."""
        points, made = self.points, vars(self)
        yield "items", points.raw
        yield "positions", points.positions if points.coded is None else points.coded.codes
        if points.joint is not None:
            yield from (("joint", array) for array in (*points.joint.located, points.joint.order))
        if self.codes.held is not None:
            yield "codes", self.codes.held
        if "_joint_codes" in made:
            yield "codes", self._joint_codes.codes
        if "_item_lists" in made:
            yield from (("codes", array) for array in self._item_lists.large)
        yield "ids", self.ids
        if "rank" in made:
            yield "ids", self.rank
        yield "alive", self.alive
        if self.lists is not None:
            yield "lists", self.lists.member
        if self.payload is not None:
            yield from (("payload", array) for _, array in self.payload.arrays())
        for groups in list(made.get("groups", {}).values()):
            yield from (("groups", array) for array in groups.arrays())
        if self.graph is not None:
            yield from (("graph", array) for array in (self.graph.codes, self.graph.edges, self.graph.below))

    @cached_property
    def _joint_codes(self) -> JointCodes:
        return JointCodes.of(self.view, self.points, self.cells, self.codes.packed)

    @property
    def saved_joint_codes(self) -> JointCodes | None:
        """Boxes of joint groups, which are saved where queries use them: made now, or None."""
        made = "_joint_codes" in vars(self) or (has_boxes(self.view) and len(self) > _FEW)
        return self._joint_codes if made and self.points.coded is None else None

    def with_joint_codes(self, codes: JointCodes) -> Self:
        """Give the segment boxes of joint groups that were saved."""
        vars(self)["_joint_codes"] = codes
        return self

    @cached_property
    def _joint_scan(self) -> JointScan | None:
        """Scan that bounds joint groups; None where the distance has none, and the scan of columns bounds all parts."""
        return JointScan(self.view, self.cells, self._joint_codes) if has_boxes(self.view) else None

    @cached_property
    def rank(self) -> Integers:
        """The rank of every id in their order, shape (n,); empty where ids increase from row to row."""
        if (self.ids[1:] > self.ids[:-1]).all():
            return _NO_RANK
        rank = np.empty(len(self), np.int64)
        rank[np.argsort(self.ids, kind="stable")] = np.arange(len(self))
        return rank

    @cached_property
    def refinement(self) -> Refinement | CodedRefinement:
        """The items as their exact distances are computed."""
        if self.points.coded is not None:
            return CodedRefinement(self.view, self.points, self.points.coded, self.rank)
        return Refinement.of(self.view, self.points, self.rank)

    @cached_property
    def _probe(self) -> tuple[Scan, Integers]:
        rows = np.linspace(0, len(self) - 1, min(np.clip(len(self) // 16, _PROBE, 8 * _PROBE), len(self))).astype(np.int64)
        return scan_of(self.codes.packed[rows], self.cells.layout.n_columns), rows

    @cached_property
    def scan_choice(self) -> tuple[JointScan | None, int]:
        """The scan over boxes where it is the better one, and how many items typically survive the better scan.

        Survivors have a bound within the distance of the 10th neighbour. Both are measured on items as queries.
        """
        rows = np.linspace(0, len(self) - 1, min(_SAMPLE, len(self))).astype(np.int64)
        queries = self.view.block(self.points.take(rows))
        search, n_first = SearchRequest(min(11, len(self))), max(256, len(self) // 64)
        if self._joint_scan is not None:
            answer = self._joint_scan.nearest(queries, search.k, self.refinement, None, n_first)
            if not self._columns_pay(queries, answer):
                return self._joint_scan, answer.typical
        return None, self._certified(queries, search, None, n_first).typical

    def _columns_pay(self, queries: QueryBlock, answer: SegmentResult) -> bool:
        """Return True if the scan of columns costs less than that over boxes, whose exact answer is given."""
        if not self.searchable:
            return False
        (tables, slack), codes = self._bounds(queries), self.codes.packed[:: max(len(self) // _PROBE, 1)]
        named = len(self) * share_within(tables, self.filter.floor, codes, answer.sums[:, -1] + slack).mean()
        parts = self.cells.layout.n_columns, len(self._joint_codes.codes)
        return columns_pay(len(self), *parts, named, answer.refined.mean())

    @property
    def listed(self) -> bool:
        """True if exact searches go through lists of items: under sums over single features, some of which have tables."""
        return self.view.simple and self.searchable and not self.scans_codes

    def goes_through_lists(self, n: int, k: int) -> bool:
        """Return True if exact searches for k neighbours among n eligible items go through lists."""
        return self._few_are_listed(n, k) or (self.listed and not self._few(n, k) and self._lists_pay(n))

    def _lists_pay(self, n: int) -> bool:
        """Return True if lists are expected to cost less than to refine all n eligible items."""
        return n >= _RARE * len(self)

    @cached_property
    def _item_lists(self) -> ItemLists:
        return ItemLists.of(self.view, self.points)

    @cached_property
    def list_scan(self) -> ListScan:
        """The exact search in lists of items, which the first query makes."""
        with _BUILDING:  # One thread makes the lists, and the others wait for them.
            return ListScan(self._item_lists, self.refinement)

    @property
    def saved_item_lists(self) -> ItemLists | None:
        """Lists of items, which are saved where exact searches go through them: made before or now, or None."""
        return self.list_scan.lists if self.listed and (len(self) > _FEW or "_item_lists" in vars(self)) else None

    def with_item_lists(self, lists: ItemLists) -> Self:
        """Give the segment lists of items that were saved."""
        vars(self)["_item_lists"] = lists
        return self

    @property
    def searchable(self) -> bool:
        """True if there are bounds: some column, and nothing outside of them that may be negative."""
        return self.cells.layout.n_columns > 0 and self.view.bounded

    def eligible(self, keep: Mask) -> Eligible:
        """Return the items that are there, and that ``keep`` has; blocks of queries with the same mask share them."""
        last, eligible = vars(self).get("_last_eligible", (None, None))
        if keep is not None and last is keep:
            return eligible
        alive = None if self.n_alive == len(self) else self.alive
        eligible = Eligible(len(self), alive if keep is None else keep if alive is None else alive & keep)
        if keep is not None:
            vars(self)["_last_eligible"] = keep, eligible
        return eligible

    def least(self, queries: QueryBlock) -> Floats:
        """Bound all sums between a query of the block and the items from below, shape (B,), for sums over single features."""
        low, high = self.cells.low.min(axis=1), self.cells.high.max(axis=1)
        return least_sums(self.view, queries, low[:, None], high[:, None])[:, 0]

    def nearest(self, queries: QueryBlock, search: SearchRequest, keep: Mask, limits: Floats | None = None) -> SegmentResult:
        """Find the k nearest eligible items for a block of queries; ``limits`` (B,) may exclude items of larger sums."""
        chosen = self.eligible(keep)
        eligible, n = chosen.mask, chosen.n
        if search.algorithm == "merge":
            return self._brute(self.view.merging(queries), search.k, chosen.rows)
        if search.algorithm == "exact" and self.goes_through_lists(n, search.k):
            return self.list_scan.nearest(queries, search.k, eligible, limits)
        bounded = self.searchable or self._joint_scan is not None
        if search.algorithm == "brute" or self._few(n, search.k) or not bounded:
            if search.algorithm == "exact":
                self.n_looked_at += len(queries) * n
            return self._brute(queries, search.k, chosen.rows)
        if search.algorithm == "graph":
            return self._by_graph(queries, search, eligible, n)
        if search.algorithm == "approximate" and self.searchable:
            return self._approximate(queries, search, eligible)
        if self.listed:  # So few are eligible that lists do not pay.
            return self._brute(queries, search.k, chosen.rows)
        boxes, survivors = self.scan_choice
        n_first = max(4 * search.k, int(1.5 * survivors * np.sqrt(max(search.k, 10) / 10)), 64)
        if n_first * (_WORTH if boxes is None else _WORTH // 2) > n:
            return self._brute(queries, search.k, chosen.rows)
        if boxes is not None:
            return boxes.nearest(queries, search.k, self.refinement, eligible, n_first)
        return self._certified(queries, search, eligible, n_first)

    def _few(self, n: int, k: int) -> bool:
        """Return True if n eligible items are so few that all are refined."""
        return n <= max(_FEW_OF_PART if self.is_part else _FEW, 2 * k)

    def _few_are_listed(self, n: int, k: int) -> bool:
        """Return True if few items are searched in lists: they have many values, and lists are there or worth their time."""
        wide = n * len(self.view.features) > _WIDE and n > max(_FEWEST, _EACH * k) and 4 * n >= len(self)
        return wide and self.listed and ("_item_lists" in vars(self) or self.n_looked_at >= _LOOKS * len(self))

    @property
    def _boxes(self) -> JointScan | None:
        """The scan over boxes, where there is one that is better, and where items are scanned."""
        return None if self._joint_scan is None or len(self) <= _FEW else self.scan_choice[0]

    def within(self, queries: QueryBlock, limit: float, keep: Mask) -> list[tuple[Floats, Integers]]:
        """Return for each query sums and rows of at least all eligible items whose sum is <= limit (rounding aside)."""
        chosen, scanned = self.eligible(keep), len(self) > _FEW
        eligible = chosen.mask
        if self._few_are_listed(chosen.n, 0) or (scanned and self.listed and self._lists_pay(chosen.n)):
            return self.list_scan.within(queries, limit, eligible)
        bounds = self._bounds(queries) if scanned and self.searchable and self._boxes is None else None
        found = []
        for q in range(len(queries)):
            rows = None
            if self._boxes is not None:
                rows = self._boxes.within(queries, q, limit, eligible)
            elif bounds is not None:
                tables, slack = bounds
                rows = self._surviving(tables, q, limit + slack[q], eligible)
            rows = chosen.rows if rows is None else rows
            found.append(self.refinement.within(queries, q, rows, limit))
        return found

    def among(self, queries: QueryBlock, search: SearchRequest, rows: Integers) -> SegmentResult:
        """Find the k nearest of every query of a block among rows of its own (B, R), of which -1 ends those of a query."""
        answer = SegmentResult.empty(len(queries), search.k)
        answer.at_once[:] = True
        asked = self.view.merging(queries) if search.algorithm == "merge" else queries
        self.refinement.each(asked, rows, np.empty((len(rows), 0)), np.zeros(len(rows)), answer)
        return answer

    def part(self, rows: Integers, packed: NDArray[np.uint8], *, scans_codes: bool = False) -> Self:
        """Copy these rows, which are alive, as a segment that is scanned without the rest, given the codes of all."""
        codes = ItemCodes(packed[rows], self.cells.layout.n_columns)
        alive = np.ones(len(rows), dtype=bool)
        points = self.points.take(rows)
        return type(self)(self.view, self.ids[rows], points, self.cells, codes, alive, is_part=True, scans_codes=scans_codes)

    def _bounds(self, queries: QueryBlock) -> tuple[IntegerTables, Floats]:
        """Return tables of bounds as integers, and the slack of each query, shape (B,)."""
        tables = self.filter.minima(queries)
        return rounded_down(tables), self._slack(tables)

    def _slack(self, tables: Floats) -> Floats:
        """Bound what rounding, and another order of adding, may change in the sums of each query, shape (B,)."""
        size = np.empty(len(tables))
        magnitudes(tables, size)
        return SLACK * (size + self.view.size)

    def _surviving(self, tables: IntegerTables, q: int, limit: float, eligible: Mask) -> Integers | None:
        """Return rows whose bound is <= limit for query q; None if that may be all."""
        if tables.flat[q]:
            return None
        found = self.codes.scan.within(tables, q, tables.limit(q, limit - self.filter.floor), eligible)
        return None if found is None else found[1]

    def _certified(self, queries: QueryBlock, search: SearchRequest, eligible: Mask, n_first: int) -> SegmentResult:
        """Find the exact answer: the first scan names ``n_first`` items, and a second one those that it may have missed."""
        tables, slack = self._bounds(queries)
        answer = SegmentResult.empty(len(queries), search.k)
        by_range = len(queries) <= _FEW_QUERIES and len(self) >= _LARGE
        count = min(n_first, len(self))
        if by_range:
            named = smallest_by_range(self.codes.scan, *self._probe, tables, count, eligible)
        else:
            named = self._smallest(tables, count, eligible)
        self.refinement.each(queries, named.rows, tables.bounds(named.sums) + self.filter.floor, slack, answer)
        # No item that was not named has a smaller bound than this one.
        unnamed_bound = tables.bounds(named.next_sum[:, None])[:, 0] + self.filter.floor
        unnamed_bound[np.isnan(named.next_sum)] = -np.inf
        ended_early = answer.refined < (named.rows >= 0).sum(axis=1)
        answer.at_once[:] = ended_early | (answer.refined == len(self)) | (answer.sums[:, -1] + slack < unnamed_bound)
        for q in np.flatnonzero(~answer.at_once):
            self._complete(queries, int(q), tables, slack[q], eligible, answer)
        return answer

    def _complete(
        self, queries: QueryBlock, q: int, tables: IntegerTables, slack: float, eligible: Mask, answer: SegmentResult
    ) -> None:
        """Refine every item that can be among the nearest of query q, given the distance of the k-th so far."""
        rows = self._surviving(tables, q, answer.sums[q, -1] + slack, eligible)
        if rows is None:
            rows = Eligible(len(self), eligible).rows
        answer.sums[q], answer.rows[q] = np.inf, -1
        answer.refined[q] += len(rows)
        self.refinement.one(queries, q, Candidates(rows, NO_VALUES, NO_VALUES), 0.0, answer)

    def _approximate(self, queries: QueryBlock, search: SearchRequest, eligible: Mask) -> SegmentResult:
        tables = rounded_down(self.filter.means(queries))
        answer = SegmentResult.empty(len(queries), search.k)
        count = min(max(search.n_candidates, search.k), len(self))
        _, rows = self._scanned(tables, count, eligible, search.n_probe)
        too_few = rows[:, search.k - 1] < 0
        if self.lists is not None and too_few.any():  # The lists that were visited hold too few items, so all are visited.
            _, rows[too_few] = self._scanned(tables.of(too_few), count, eligible)
        self.refinement.each(queries, rows, np.empty((len(rows), 0)), np.zeros(len(rows)), answer)
        for q in np.flatnonzero(answer.rows[:, -1] < 0):  # A constant table, or too few answers: all items are refined.
            self._complete(queries, int(q), tables, 0.0, eligible, answer)
        return answer

    def _by_graph(self, queries: QueryBlock, search: SearchRequest, eligible: Mask, n: int) -> SegmentResult:
        """Find near items by a walk, or by a scan where there are few items, or where few of them are eligible."""
        if self._walk is None and len(self) > GRAPH_FROM:
            raise InputError(
                "algorithm='graph' was asked for, and the index has no graph; call build_graph() of a NeighborIndex first, or "
                "use algorithm='approximate'"
            )
        width = self._width(search, n)
        if self._walk is None or not width:
            return self._approximate(queries, search, eligible)
        rows, answer = self._walk.nearest(queries, width), SegmentResult.empty(len(queries), search.k)
        if eligible is not None:
            rows[~eligible[rows]] = -1  # -1 names the last item, and is -1 or becomes it.
            rows = np.take_along_axis(rows, np.argsort(rows < 0, axis=1, kind="stable"), axis=1)
        self.refinement.each(queries, rows, np.empty((len(rows), 0)), np.zeros(len(rows)), answer)
        if (answer.rows[:, -1] < 0).any():  # The walk of a query ended with too few answers: all items are refined.
            tables = rounded_down(self.filter.means(queries))
            for q in np.flatnonzero(answer.rows[:, -1] < 0):
                self._complete(queries, int(q), tables, 0.0, eligible, answer)
        return answer

    def _width(self, search: SearchRequest, n: int) -> int:
        """Return the number of nearest nodes that a walk looks for where n items are eligible, or 0 where none pays."""
        share = n / len(self)
        return 0 if share < _WALKED else min(int(np.ceil(max(search.n_candidates, search.k) / share)), len(self))

    def walked(self, search: SearchRequest, eligible: Eligible) -> WalkedItems | None:
        """Return what a single query along the graph reads in one compiled call; None where it is answered otherwise."""
        walks = search.algorithm == "graph" and not self._few(eligible.n, search.k)
        width = self._width(search, eligible.n) if walks else 0
        if self._walk is None or not width or not isinstance(self.refinement, Refinement):
            return None
        return self._walk.walked(self.refinement.items, eligible.mask, width)

    def _scanned(
        self, tables: IntegerTables, count: int, eligible: Mask, n_probe: int | None = None
    ) -> tuple[NDArray[np.float32], Integers]:
        """Find the items of the smallest sums in all lists, or in the ``n_probe`` nearest; none for constant tables."""
        sums, rows = np.zeros((len(tables.step), count), np.float32), np.full((len(tables.step), count), -1)
        varied = ~tables.flat
        if varied.any():
            searched = tables if varied.all() else tables.of(varied)
            lists = None
            if n_probe and self.coarse and n_probe < self.coarse.n:
                _, lists = self.coarse.nearest(searched, n_probe)
            sums[varied], rows[varied] = self.codes.scan.nearest(searched, count, lists=lists, keep=eligible)
        return sums, rows

    def _smallest(self, tables: IntegerTables, count: int, eligible: Mask) -> ScanCandidates:
        """Find the ``count`` items of the smallest sums; nothing is known of the others beyond the last of these."""
        sums, rows = self._scanned(tables, count, eligible)
        return ScanCandidates(sums, rows, np.full(len(rows), np.nan))

    def _brute(self, queries: QueryBlock, k: int, rows: Integers) -> SegmentResult:
        answer = SegmentResult.empty(len(queries), k)
        answer.at_once[:] = True
        self.refinement.all(queries, rows, answer)
        return answer
