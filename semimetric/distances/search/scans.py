"""The scan over 4-bit codes that an index uses: FAISS's, or a compiled kernel of our own where FAISS cannot be imported.

Both add up whole numbers exactly and name the same items, so exact answers are the same; FAISS, in SIMD, is several times as
fast. The environment variable ``SEMIMETRIC_SCAN`` chooses "faiss" or "compiled". Without it FAISS is used, and a
`SemimetricWarning` says once in a process if it cannot be imported.
"""

from __future__ import annotations

import os
import warnings
from functools import cache
from importlib import import_module

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from ..._foundation.errors import warn
from ..._foundation.threads import short_blocks, thread_count
from ..._foundation.types import Integers
from ..._foundation.validation import check_choice
from ..._kernels.joint_bounds import add_up
from . import faiss_scan
from .cells import CODES
from .faiss_scan import FaissScan, IntegerTables, Scan

ENGINES = ("faiss", "compiled")
_VARIABLE = "SEMIMETRIC_SCAN"
_ADDED = 1 << 27  # So many entries of tables are added up in one compiled call, in some 0.1 s.
_COMPARED = 1 << 24  # So many pairs of a row and a centre are compared in one call, so that Ctrl-C is seen.


def engine() -> str:
    """Return the scan that is used: "faiss" or "compiled"."""
    given = os.environ.get(_VARIABLE, "")
    if given:
        check_choice(_VARIABLE, given, ENGINES)
        return given
    return _importable()


@cache
def _importable() -> str:
    try:
        import_module("faiss")
    except ImportError as error:
        warn(
            f"faiss cannot be imported ({error}), so that semimetric's own kernel scans codes, which takes several times as "
            f"long, with the same exact answers; install faiss-cpu, or set {_VARIABLE}=compiled to choose this quietly"
        )
        return "compiled"
    return "faiss"


def scan_of(codes: NDArray[np.uint8], n_columns: int, lists: Integers | None = None) -> Scan:
    """Return a scan of codes (n, ceil(M / 2)), as `Scan` takes them, by the `engine` in use."""
    return (FaissScan if engine() == "faiss" else CompiledScan)(codes, n_columns, lists)


def kmeans(
    X: NDArray[np.float32], rows: Integers, n: int, *, n_jobs: int | None, seed: int
) -> tuple[NDArray[np.float32], Integers]:
    """Return at most n centres of the rows ``rows`` of X, none without a row, and the nearest centre of each row of X."""
    find = faiss_scan.kmeans if engine() == "faiss" else compiled_kmeans
    return find(X, rows, n, n_jobs=n_jobs, seed=seed)


def compiled_kmeans(
    X: NDArray[np.float32], rows: Integers, n: int, *, n_jobs: int | None, seed: int
) -> tuple[NDArray[np.float32], Integers]:
    """Do as `kmeans` by scikit-learn."""
    from sklearn.cluster import KMeans  # It takes some time to import, and few need it.
    from sklearn.exceptions import ConvergenceWarning

    rng, n = np.random.default_rng(seed), min(n, len(rows))
    first = X[np.sort(rng.choice(rows, n, replace=False))]
    with threadpool_limits(thread_count(n_jobs)), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of rows that are the same
        model = KMeans(n, init=first, n_init=1, max_iter=8, tol=0.0).fit(X[rows])
        parts = [model.predict(X[part]) for part in short_blocks(len(X), max(_COMPARED // n, 1))]
    used, member = np.unique(np.concatenate(parts), return_inverse=True)
    return np.asarray(model.cluster_centers_[used], np.float32), member.astype(np.int64)


class CompiledScan(Scan):
    """Codes of items as `Scan` takes them, whose sums a kernel of our own adds up.

    The items of a list stand together. As FAISS does, a scan leaves out items that are worst in every column.
    """

    def __init__(self, codes: NDArray[np.uint8], n_columns: int, lists: Integers | None = None) -> None:
        self.n_columns, self.n = n_columns, len(codes)
        self.n_lists = 1 if lists is None else int(lists.max()) + 1
        member = np.zeros(self.n, np.int64) if lists is None else lists
        self._rows = np.argsort(member, kind="stable")
        self._first = np.searchsorted(member[self._rows], np.arange(self.n_lists + 1))
        self._codes = np.ascontiguousarray(codes[self._rows].T)  # (n_bytes, n)

    @property
    def nbytes(self) -> int:
        return int(self._codes.nbytes + self._rows.nbytes)

    def packed(self) -> NDArray[np.uint8]:
        out = np.empty((self.n, len(self._codes)), np.uint8)
        out[self._rows] = self._codes.T
        return out

    def nearest(
        self, rounded: IntegerTables, count: int, *, lists: Integers | None = None, keep: NDArray[np.bool_] | None = None
    ) -> tuple[NDArray[np.float32], Integers]:
        shape = (len(rounded.tables), count)
        found, rows = np.full(shape, np.inf, np.float32), np.full(shape, -1, np.int64)
        for q in range(shape[0]):
            sums, named = self._sums(rounded, q, None if lists is None else lists[q], keep)
            key = sums.astype(np.int64) * self.n + named  # The smallest row comes first where sums are the same.
            key = np.sort(np.partition(key, count - 1)[:count] if count < len(key) else key)
            found[q, : len(key)], rows[q, : len(key)] = key // self.n, key % self.n
        return found, rows

    def named(
        self, rounded: IntegerTables, limit: float, keep: NDArray[np.bool_] | None
    ) -> tuple[NDArray[np.float32], Integers]:
        sums, rows = self._sums(rounded, 0, None, keep)
        within = sums <= limit
        return sums[within].astype(np.float32), rows[within]

    def _sums(
        self, rounded: IntegerTables, q: int, lists: Integers | None, keep: NDArray[np.bool_] | None
    ) -> tuple[NDArray[np.int32], Integers]:
        """Return sums and rows of the eligible items of some lists, without those that are worst in every column."""
        tables = np.zeros((2 * len(self._codes), CODES), np.int32)
        tables[: self.n_columns] = rounded.tables[q]
        bytes_ = (tables[::2, None, :] + tables[1::2, :, None]).reshape(-1, CODES * CODES)
        ranges = [slice(0, self.n)]
        if lists is not None:
            ranges = [slice(*self._first[number : number + 2].tolist()) for number in lists.tolist() if number >= 0]
        sums, rows = [np.empty(0, np.int32)], [self._rows[:0]]
        for items in ranges:
            for part in short_blocks(items.stop - items.start, max(_ADDED // max(len(self._codes), 1), 1)):
                block = slice(items.start + part.start, items.start + part.stop)
                out, of_block = np.empty(block.stop - block.start, np.int32), self._rows[block]
                add_up(self._codes[:, block], bytes_, out)
                named = out < int(tables.max(axis=1).sum())
                if keep is not None:
                    named &= keep[of_block]
                sums.append(out[named])
                rows.append(of_block[named])
        return np.concatenate(sums), np.concatenate(rows)
