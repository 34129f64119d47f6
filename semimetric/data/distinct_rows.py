"""Rows that are given several times as one row with the sum of their weights, so that weights equal repetition.

Whatever is learned from distinct rows and their weights is the same for a row of weight 3 and for the row given three times,
and, as the order is that of hashes of the rows, for the same rows in any order.
"""

from __future__ import annotations

from itertools import count
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._foundation.types import Floats, Integers

__all__ = ["DistinctRows", "distinct_rows"]

_BLOCK = 1 << 16  # numbers that are hashed at a time
_FEW_FEATURES = 2  # in which rows mostly differ already, where any is a measured number


class DistinctRows(NamedTuple):
    """The rows that stand for all rows of a weight > 0.

    Attributes
    ----------
    rows : ndarray of shape (m,), int64
        Their numbers, in the order of their hashes.
    weight : ndarray of shape (m,)
        The sum of the weights of all rows that are equal to each.
    """

    rows: Integers
    weight: Floats


def distinct_rows(items: Floats | sparse.csr_array, targets: NDArray[Any], weight: Floats) -> DistinctRows | None:
    """The distinct rows of ``items``, each together with its target; None if all rows count alike and none is repeated.

    Parameters
    ----------
    items : ndarray of float64, or csr_array, shape (n, n_features)
    targets : ndarray of numbers, shape (n,)
        Items with different targets are different rows.
    weight : ndarray of shape (n,)
        Of which one at least is > 0.
    """
    used = np.flatnonzero(weight > 0)
    alike = np.ptp(weight) == 0
    if alike and isinstance(items, np.ndarray) and _all_differ(_hashes(items[:, :_FEW_FEATURES], targets, 0)):
        return None
    for seed in count():
        hashes = _hashes(items, targets, seed)[used]
        order = np.argsort(hashes, kind="stable")
        is_first = np.append(True, np.diff(hashes[order]) != 0)
        if is_first.all() and alike:
            return None
        rows = used[order]
        first = rows[is_first][np.cumsum(is_first) - 1]
        if _equal(items, targets, rows[~is_first], first[~is_first]):  # else two rows have one hash
            return DistinctRows(rows[is_first], np.add.reduceat(weight[rows], np.flatnonzero(is_first)))
    raise AssertionError("the seeds do not end")


def _hashes(items: Floats | sparse.csr_array, targets: NDArray[Any], seed: int) -> NDArray[np.uint64]:
    """A number for every row and its target, the same for equal ones: sums, modulo 2**64, of multiples of mixed bits."""
    factors = np.random.default_rng(seed).integers(1 << 63, size=items.shape[1] + 1, dtype=np.uint64) | np.uint64(1)
    total = _mixed(targets.astype(np.float64)) * factors[-1]
    if not isinstance(items, np.ndarray):
        sums = np.append(np.uint64(0), np.cumsum(_mixed(items.data) * factors[items.indices]))
        return total + sums[items.indptr[1:]] - sums[items.indptr[:-1]]
    size = max(_BLOCK // max(items.shape[1], 1), 1)
    for start in range(0, len(items), size):
        total[start : start + size] += _mixed(items[start : start + size]) @ factors[:-1]
    return total


def _all_differ(hashes: NDArray[np.uint64]) -> bool:
    return bool((np.diff(np.sort(hashes)) != 0).all())


def _mixed(values: Floats) -> NDArray[np.uint64]:
    """The bits of float64 numbers, of which low ones are often 0, spread over all places; 0 for 0 and -0."""
    bits = (values + 0.0).view(np.uint64)
    bits = (bits ^ (bits >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
    return bits ^ (bits >> np.uint64(29))


def _equal(items: Floats | sparse.csr_array, targets: NDArray[Any], left: Integers, right: Integers) -> bool:
    """Whether the rows ``left`` are those of ``right``, missing values being equal to one another."""
    if not (targets[left] == targets[right]).all():
        return False
    if isinstance(items, np.ndarray):
        return np.array_equal(items[left], items[right], equal_nan=True)
    return (_without_missing(items[left]) != _without_missing(items[right])).nnz == 0


def _without_missing(items: sparse.csr_array) -> sparse.csr_array:
    """The rows with infinity, which no row has, in place of missing values."""
    return sparse.csr_array((np.nan_to_num(items.data, nan=np.inf), items.indices, items.indptr), shape=items.shape)
