"""A scan that names the items whose bound is within a limit of each query, in one call for many queries.

Where the k-th distance is nearly known, no bound above it matters: tables are cut off at the limit of their query, so that the
same integer stands for the limits of all queries, which FAISS takes as the radius of one range search, and the 255 steps of an
entry are spent below the limit, where they tell items apart.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from .._foundation.threads import end_if_interrupted
from .._foundation.types import Floats
from .._kernels.search import NamedItems
from .faiss_scan import TOP, Rises, Scan, whole_numbers

__all__ = ["named_within"]

_LIMIT = 500  # The integer for the limit: of less bounds are coarse, of more too many entries are cut off at 255.
_FIRST, _MOST = 8, 64  # The first and the largest number of queries of a call, and
_FOUND = 1 << 22  # the number of items that a call may be expected to name.
_TINY = 1e-280  # Of spans and rooms below it the steps of integers overflow.
_LEAST = 1e-9  # A limit is at least so far above the base of its table, relative to the span.


def named_within(
    scan: Scan, tables: Floats, limits: Floats, floor: float, keep: NDArray[np.bool_] | None
) -> Iterator[NamedItems]:
    """The items whose sum over the tables (B, M, 16) and ``floor`` may be within ``limits`` (B,), some queries at a time."""
    base, span, top = Rises.of(tables)
    room = np.maximum(limits - floor - base, _LEAST * span)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        steep = TOP * room / span  # the integer that stands for the limit where the largest entry is 255
    # FAISS answers neither constant tables nor the largest sums.
    scanned = np.isfinite(steep) & (room < top) & (np.minimum(room, span) > _TINY)
    order = np.argsort(np.where(scanned, steep, np.inf), kind="stable")
    count, start = max(min(_FIRST, (1 << 24) // max(scan.n, 1)), 1), 0
    while start < len(order):
        end_if_interrupted()
        queries = order[start : start + count]
        queries = queries[scanned[queries]] if scanned[queries[0]] else queries[:1]
        named = None
        if scanned[queries[0]]:
            limit = max(_LIMIT, steep[queries].max() * (1.0 + _LEAST))
            whole = whole_numbers(tables[queries], base[queries] + floor, span[queries], limit / room[queries])
            if (np.floor(limit) < whole.tables.max(axis=2).sum(axis=1)).all():
                starts, sums, rows = scan.ranges(whole, limit, keep)
                step, least = (np.repeat(array, np.diff(starts)) for array in (whole.step, whole.base))
                named = NamedItems(queries, starts, rows, sums / step + least)
        if named is None:  # Every item may be within the limit of a query, which is answered by itself.
            queries = queries[:1]
            rows = np.arange(scan.n) if keep is None else np.flatnonzero(keep)
            named = NamedItems(queries, np.array([0, len(rows)]), rows, np.full(len(rows), -np.inf))
        yield named
        start += len(queries)
        count = max(min(2 * count, _MOST, _FOUND // max(len(named.rows) // len(queries), 1)), 1)
