"""The items of the smallest sums of single queries, by a range search up to a sum that a sample of the items suggests."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._foundation.types import Integers
from .faiss_scan import IntegerTables, Scan, ScanCandidates

__all__ = ["smallest_by_range"]


def smallest_by_range(
    scan: Scan, probe: Scan, sampled: Integers, tables: IntegerTables, count: int, eligible: NDArray[np.bool_] | None
) -> ScanCandidates:
    """About ``count`` items of the smallest sums; for single queries FAISS collects a range faster than many best.

    Parameters
    ----------
    scan : Scan
        The codes of all items.
    probe : Scan
        The codes of a sample of the items.
    sampled : ndarray of shape (n_sampled,)
        The rows of the sample.
    tables : IntegerTables
    count : int
    eligible : ndarray of shape (n,), bool, or None
        The items that may be named; None stands for all.
    """
    place = min(max(count * len(sampled) // scan.n, 1), len(sampled))
    guesses, _ = probe.nearest(tables, place, keep=None if eligible is None else eligible[sampled])
    found = [_up_to(scan, tables, q, float(guess), eligible) for q, guess in enumerate(guesses[:, -1])]
    shape = (len(found), max(1, *(len(sums) for sums, _, _ in found)))
    named = ScanCandidates(np.zeros(shape, np.float32), np.full(shape, -1), np.array([each[2] for each in found]))
    for q, (sums, rows, _) in enumerate(found):
        named.sums[q, : len(sums)], named.rows[q, : len(rows)] = sums, rows
    return named


def _up_to(
    scan: Scan, tables: IntegerTables, q: int, limit: float, eligible: NDArray[np.bool_] | None
) -> tuple[NDArray[Any], Integers, float]:
    """Sums and rows of all items up to a sum, increasing, and the least sum of the others (NaN: unknown)."""
    found = None if tables.flat[q] or not np.isfinite(limit) else scan.within(tables, q, limit, eligible)
    if found is None:
        return np.empty(0, np.float32), np.empty(0, np.int64), np.nan
    order = np.argsort(found[0].astype(np.uint16), kind="stable")  # Sums are integers below 65,536.
    return found[0][order], found[1][order], np.floor(limit) + 1.0
