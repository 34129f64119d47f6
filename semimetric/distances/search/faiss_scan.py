"""A scan over 4-bit codes: FAISS sums a query's table over every item in SIMD (docs/mathematics.md, section 4).

FAISS rounds tables to 8 bits by itself, with a scale and an error of its own. Here it is handed whole numbers from 0 to 255
that already round *down*, whose largest is exactly 255. There is nothing left to round, the sums that come back are exact
integers, and

    integer sum / step + base <= bound of the item

needs no error term. Three conditions of docs/mathematics.md, section 4.4, remain. There are at most 256 columns. A constant
table has no scale and is not scanned. Items that are worst in every column are not returned, so fewer answers than asked prove
nothing.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._foundation.threads import short_blocks, thread_count
from ..._foundation.types import Floats, Integers
from ..._kernels.whole_tables import rises, round_down
from .cells import CODES

TOP = 255.0
_ASSIGNED = 1 << 24  # FAISS compares so many pairs of a row and a centre in one call, so that Ctrl-C is seen.
_SCANNED = 1 << 31  # FAISS adds up so many entries of tables in one call, in some 0.2 s.
ROUNDING = 1e-6  # What float64 may have lost in the table, in units of a step.


class IntegerTables(NamedTuple):
    """Tables of integers, (B, M, 16) as float32, and what a sum of their entries means: sum / step + base, both (B,)."""

    tables: NDArray[np.float32]
    step: Floats
    base: Floats

    @property
    def flat(self) -> NDArray[np.bool_]:
        """True where the tables of a query are constant, shape (B,): then every item has the same bound."""
        return np.isinf(self.step)

    def of(self, queries: NDArray[Any]) -> "IntegerTables":
        """Return the tables of some of the queries, given by their numbers or by a mask."""
        return IntegerTables(self.tables[queries], self.step[queries], self.base[queries])

    def bounds(self, sums: NDArray[Any]) -> Floats:
        """Return the bounds that integer sums (B, R) stand for, of the same shape; infinite where the sums only fill up."""
        with np.errstate(over="ignore"):
            return sums / self.step[:, None] + self.base[:, None]

    def limit(self, q: int, bound: float) -> float:
        """Return the integer sum up to which items have bounds <= ``bound`` for query q; infinite where it overflows."""
        return (float(bound) - float(self.base[q])) * float(self.step[q])  # Python's floats overflow without a warning.


class ScanCandidates(NamedTuple):
    """Items that a scan names: their sums, increasing, and rows; rows of -1 fill up."""

    sums: NDArray[np.float32]  # (B, R)
    rows: Integers  # (B, R)
    next_sum: Floats  # (B,), a number that the sum of no other item is below, or NaN where none is known


def rounded_down(tables: Floats) -> IntegerTables:
    """Round tables (B, M, 16) down to 0..255, the largest of each query exactly 255; empty cells (inf) become 255."""
    base, span = np.empty(len(tables)), np.empty(len(tables))
    rises(tables, base, span)
    with np.errstate(divide="ignore", over="ignore"):
        step = (TOP + 2 * ROUNDING) / span
    out = np.empty(tables.shape, np.float32)
    round_down(tables, step, ROUNDING, out)
    return IntegerTables(out, step, base)


class Scan(ABC):
    """Codes of items whose sums of table entries are added up, for all items or those of some lists.

    They are given as (n, ceil(M / 2)) bytes with two columns each, the even one in the low bits. There are ``n_columns``,
    M <= 256; the items are in ``n_lists``.
    """

    n: int
    n_columns: int
    n_lists: int

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes of the codes, in the layout of the scan, and of the row numbers of the items."""

    @abstractmethod
    def packed(self) -> NDArray[np.uint8]:
        """Return the codes (n, ceil(M / 2)) that the scan was made of."""

    @abstractmethod
    def nearest(
        self, rounded: IntegerTables, count: int, *, lists: Integers | None = None, keep: NDArray[np.bool_] | None = None
    ) -> tuple[NDArray[np.float32], Integers]:
        """Return the ``count`` smallest sums of every query, increasing, and their rows; rows of -1 fill up.

        The lists to visit are ``lists`` (B, p), -1 for none; ``keep`` (n,) masks the eligible items.
        """

    @abstractmethod
    def named(
        self, rounded: IntegerTables, limit: float, keep: NDArray[np.bool_] | None
    ) -> tuple[NDArray[np.float32], Integers]:
        """Return sums and rows of the items whose sum is <= a whole ``limit`` >= 0 for a single query, in any order.

        The limit is less than the largest sum, of which FAISS does not return items.
        """

    def within(
        self, rounded: IntegerTables, q: int, limit: float, keep: NDArray[np.bool_] | None = None
    ) -> tuple[NDArray[np.float32], Integers] | None:
        """Return sums and rows of all items whose sum is <= ``limit`` for query ``q``, unsorted; None if that may be all."""
        one = rounded.of(np.array([q]))
        limit = np.floor(limit)
        if not limit < one.tables.max(axis=2).sum():
            return None
        if limit < 0:
            return np.empty(0, np.float32), np.empty(0, np.int64)
        return self.named(one, limit, keep)


class FaissScan(Scan):
    """Codes of items as `Scan` takes them, in FAISS's layout; ``lists`` (n,) is the list of each item, None is one list."""

    def __init__(self, codes: NDArray[np.uint8], n_columns: int, lists: Integers | None = None) -> None:
        faiss = _faiss()
        self.n_columns, self.n = n_columns, len(codes)
        self.n_lists = 1 if lists is None else int(lists.max()) + 1
        width = CODES * n_columns
        self._quantizer = faiss.IndexFlatIP(width)  # `_visited` chooses the lists; a range search asks it, and visits all.
        self._quantizer.add(np.zeros((self.n_lists, width), np.float32))
        plain = faiss.IndexIVFPQ(self._quantizer, width, self.n_lists, n_columns, 4, faiss.METRIC_INNER_PRODUCT)
        plain.by_residual, plain.is_trained = False, True
        one_hot = np.tile(np.eye(CODES, dtype=np.float32), (n_columns, 1))
        faiss.copy_array_to_vector(one_hot.ravel(), plain.pq.centroids)
        for number, rows in enumerate(_members(lists, len(codes), self.n_lists)):
            in_list = np.ascontiguousarray(codes if lists is None else codes[rows])
            if len(rows):
                plain.invlists.add_entries(number, len(rows), faiss.swig_ptr(rows), faiss.swig_ptr(in_list))
        plain.ntotal = len(codes)
        self._index = faiss.IndexIVFPQFastScan(plain)
        self._index.orig_invlists, self._index.referenced_objects = None, []  # They would keep a second copy of the codes.
        # By the number of lists that are visited, the last mask and the parameters that were made of it.
        self._last_parameters: dict[int, tuple[NDArray[np.bool_] | None, object]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_last_parameters": {}}  # which FAISS does not store

    @property
    def nbytes(self) -> int:
        """Bytes of the codes, in blocks of items that FAISS reads together, and of the row numbers of the items."""
        held = _faiss().downcast_InvertedLists(self._index.invlists)
        in_block = self._index.bbs
        n_blocks = sum(-(-held.list_size(number) // in_block) for number in range(self.n_lists))
        return int(n_blocks * held.block_size + 8 * self.n)

    def packed(self) -> NDArray[np.uint8]:
        """Return the codes (n, ceil(M / 2)) that the scan was made of, unpacked from FAISS's layout."""
        faiss = _faiss()
        out = np.empty((self.n, (self.n_columns + 1) // 2), np.uint8)
        lists = faiss.ArrayInvertedLists(self.n_lists, out.shape[1])
        self._index.orig_invlists = lists
        try:
            self._index.reconstruct_orig_invlists()
            for number in range(self.n_lists):
                n = lists.list_size(number)
                if n:
                    codes = faiss.rev_swig_ptr(lists.get_codes(number), n * out.shape[1]).reshape(n, -1)
                    out[faiss.rev_swig_ptr(lists.get_ids(number), n)] = codes
        finally:
            self._index.orig_invlists = None
        return out

    def nearest(
        self, rounded: IntegerTables, count: int, *, lists: Integers | None = None, keep: NDArray[np.bool_] | None = None
    ) -> tuple[NDArray[np.float32], Integers]:
        faiss = _faiss()
        queries, visited = self._queries(rounded), self._visited(len(rounded.tables), lists)
        shape = (len(queries), max(count, 2))  # Asked for one item, FAISS answers large sums that are 65,536 too large.
        found, rows = np.empty(shape, np.float32), np.empty(shape, np.int64)
        unused, parameters = np.zeros(visited.shape, np.float32), self._parameters(visited.shape[1], keep)
        with _threads(1):  # The wrapper search_preassigned takes no parameters.
            for part in short_blocks(len(queries), max(_SCANNED // max(self.n * self.n_columns, 1), 1)):
                given, *arrays = (faiss.swig_ptr(a[part]) for a in (queries, visited, unused, found, rows))
                self._index.search_preassigned_c(part.stop - part.start, given, shape[1], *arrays, False, parameters)
        return -found[:, :count], rows[:, :count]

    def named(
        self, rounded: IntegerTables, limit: float, keep: NDArray[np.bool_] | None
    ) -> tuple[NDArray[np.float32], Integers]:
        faiss, queries = _faiss(), self._queries(rounded)
        found = faiss.RangeSearchResult(1)
        with _threads(1):  # The wrapper range_search checks what is given in Python.
            radius, parameters = -float(limit) - 1.0, self._parameters(self.n_lists, keep)
            self._index.range_search_c(1, faiss.swig_ptr(queries), radius, found, parameters)
        n = int(faiss.rev_swig_ptr(found.lims, 2)[1])
        return -faiss.rev_swig_ptr(found.distances, n), faiss.rev_swig_ptr(found.labels, n).copy()  # before `found` goes

    def _queries(self, rounded: IntegerTables) -> NDArray[np.float32]:
        return np.ascontiguousarray(-rounded.tables.reshape(len(rounded.tables), -1))

    def _visited(self, n_queries: int, lists: Integers | None) -> Integers:
        if lists is None:
            return np.broadcast_to(np.arange(self.n_lists, dtype=np.int64), (n_queries, self.n_lists)).copy()
        return np.ascontiguousarray(lists, dtype=np.int64)

    def _parameters(self, n_probe: int, keep: NDArray[np.bool_] | None) -> object:
        faiss, last = _faiss(), self._last_parameters.get(n_probe)
        if last is not None and last[0] is keep:
            return last[1]
        if keep is None:
            parameters = faiss.SearchParametersIVF(nprobe=n_probe)
        else:
            bits = np.packbits(keep, bitorder="little")
            parameters = faiss.SearchParametersIVF(nprobe=n_probe, sel=faiss.IDSelectorBitmap(bits))
            parameters.bits = bits  # FAISS keeps a pointer only, so the array must live as long.
        self._last_parameters[n_probe] = keep, parameters
        return parameters


def kmeans(
    X: NDArray[np.float32], rows: Integers, n: int, *, n_jobs: int | None, seed: int
) -> tuple[NDArray[np.float32], Integers]:
    """Return at most n centres of the rows ``rows`` of X, none without a row, and the nearest centre of each row of X."""
    faiss = _faiss()
    with _threads(thread_count(n_jobs)):
        model = faiss.Kmeans(X.shape[1], min(n, len(rows)), niter=8, seed=seed, min_points_per_centroid=1)
        model.train(X[rows])
        parts = [model.index.search(X[part], 1)[1][:, 0] for part in short_blocks(len(X), _ASSIGNED // n)]
    used, member = np.unique(np.concatenate(parts), return_inverse=True)
    return model.centroids[used], member.astype(np.int64)


@cache
def _faiss() -> Any:
    """Return FAISS, imported when it is first needed; its annotations do not fit what it accepts."""
    return import_module("faiss")


def _members(lists: Integers | None, n: int, n_lists: int) -> Iterator[Integers]:
    """Return the rows of every list in turn, increasing, from the list of each row."""
    if lists is None:
        yield np.arange(n, dtype=np.int64)
        return
    order = np.argsort(lists, kind="stable").astype(np.int64)
    yield from np.split(order, np.searchsorted(lists[order], np.arange(1, n_lists)))


@contextmanager
def _threads(n: int) -> Iterator[None]:
    """Let FAISS use ``n`` threads: one in a search, where blocks of queries run in parallel already."""
    faiss = _faiss()
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(n)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)
