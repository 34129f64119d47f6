"""Identical items, and the distinct ones among many.

An item given twice is one item: both stand on the same side of every split, and the knots of tuples count it once, so that
tuples are the same whether they name items by row numbers or bring them as points, and a weight is the same as repetition.
Items are identical if all their encoded values are; missing values are equal to one another, and 0 to -0. Equal rows have one
hash of 64 bits,

    h(x) = sum_f a_f m(bits of x_f) mod 2^64,     a_f odd,     m the finaliser of SplitMix64 (Steele, Lea & Flood 2014),

and are found by sorting numbers. Rows of one hash are then compared value by value.
"""

from dataclasses import dataclass
from itertools import count
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._foundation.threads import blocks
from .._foundation.types import Floats, Integers

_MOST = 100_000  # distinct items are kept of more of them, beside a row of minima and one of maxima
_BLOCK = 1 << 16  # numbers that are hashed at a time, which stay in the cache
_STEP = np.uint64(0x9E3779B97F4A7C15)  # of SplitMix64: 2^64 divided by the golden ratio


class Identities(NamedTuple):
    """Rows that are the same item."""

    first: Integers  # (n_items,), the row where each distinct item occurs first, increasing
    number: Integers  # (n_rows,), the number of the item in each row: row r is the same item as row ``first[number[r]]``
    # (n_items,), the hash of each distinct item, all different: an order of the items that does not depend on the order of
    # the rows.
    hashes: NDArray[np.uint64]


def identities(rows: Floats | sparse.csr_array) -> Identities:
    """Return the identities of the rows of a matrix, dense or sparse, shape (n_rows, n_features); missing values are NaN."""
    return _identities(rows, _hashes(rows))


def _identities(rows: Floats | sparse.csr_array, hashes: NDArray[np.uint64]) -> Identities:
    for seed in count(1):
        first = _first_of_hash(hashes)
        is_copy = first != np.arange(len(first))
        if _same(rows[is_copy], rows[first[is_copy]]):
            break
        hashes = _hashes(rows, seed)  # two different items had one hash: take another
    items = np.flatnonzero(~is_copy)
    return Identities(items, (np.cumsum(~is_copy) - 1)[first], hashes[items])


def _first_of_hash(hashes: NDArray[np.uint64]) -> Integers:
    order = np.argsort(hashes)
    ordered = hashes[order]
    starts = np.ones(len(order), dtype=bool)
    starts[1:] = ordered[1:] != ordered[:-1]
    out = np.empty_like(order)
    out[order] = np.minimum.reduceat(order, np.flatnonzero(starts))[np.cumsum(starts) - 1]
    return out


def surely_differ(rows: Floats) -> bool:
    """Return True if all rows of a dense matrix have different hashes, so that none is the item of another."""
    ordered = np.sort(_hashes(rows))
    return bool((ordered[1:] != ordered[:-1]).all())


def _same(a: Floats | sparse.csr_array, b: Floats | sparse.csr_array) -> bool:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.array_equal(a, b, equal_nan=True)
    return (_with_data(a, _bits(a.data)) != _with_data(b, _bits(b.data))).nnz == 0


def _with_data(rows: sparse.csr_array, data: NDArray[np.uint64]) -> sparse.csr_array:
    return sparse.csr_array((data, rows.indices, rows.indptr), shape=rows.shape)


def _mixed(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the finaliser of SplitMix64, in place; 0 stays 0."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x ^= x >> np.uint64(shift)
        x *= np.uint64(factor)
    x ^= x >> np.uint64(31)
    return x


def _bits(values: Floats) -> NDArray[np.uint64]:
    """Return the bits of a copy of the values, the same for 0 and -0, and for every NaN."""
    values = np.asarray(values, dtype=np.float64) + 0.0
    missing = np.isnan(values)
    if missing.any():
        values[missing] = np.nan
    return values.view(np.uint64)


def _hashes(rows: Floats | sparse.csr_array, seed: int = 0) -> NDArray[np.uint64]:
    """Return a hash of every row, shape (n_rows,); the same for a sparse row as for a dense one."""
    n, n_features = rows.shape
    numbers = np.arange(1, n_features + 1, dtype=np.uint64) + np.uint64(seed * n_features)
    factors = _mixed(numbers * _STEP) | np.uint64(1)
    if not isinstance(rows, np.ndarray):
        return _with_data(rows, _mixed(_bits(rows.data))) @ factors
    out = np.empty(n, np.uint64)
    for block in blocks(n, max(_BLOCK // max(n_features, 1), 1)):
        out[block] = _mixed(_bits(rows[block])) @ factors
    return out


@dataclass(frozen=True, eq=False)
class DistinctItems:
    """Distinct items with the range of every feature; very many items are represented by a sample.

    The sample holds the items with the least hashes (bottom-k sampling, Cohen & Kaplan 2007). It depends neither on repetition
    nor on the order of the items, so the samples of two parts add up to the sample of the whole.
    """

    items: Floats  # (n_items, n_features), distinct, in the order of their hashes
    ends: Floats  # (2, n_features), the least and the largest value of every feature; NaN where all are missing
    is_sample: bool = False  # True if items were left out

    @classmethod
    def of(cls, items: Floats) -> "DistinctItems":
        """Return the distinct rows of a matrix."""
        return cls(items, np.array([np.fmin.reduce(items), np.fmax.reduce(items)])).reduced()

    def __add__(self, other: "DistinctItems") -> "DistinctItems":
        """Return the distinct items of both."""
        ends = np.array([np.fmin(self.ends[0], other.ends[0]), np.fmax(self.ends[1], other.ends[1])])
        return DistinctItems(np.vstack([self.items, other.items]), ends, self.is_sample or other.is_sample).reduced()

    def reduced(self) -> "DistinctItems":
        """Return each item once, and no more items than the sample may hold."""
        hashes = _hashes(self.items)
        ordered = np.sort(hashes)
        different = ordered[np.append(True, ordered[1:] != ordered[:-1])]
        least = np.flatnonzero(hashes <= different[:_MOST][-1])  # the others are not in the sample
        first = least[_identities(self.items[least], hashes[least]).first]
        order = first[np.argsort(hashes[first], kind="stable")]
        is_sample = self.is_sample or max(len(order), len(different)) > _MOST
        return DistinctItems(self.items[order[:_MOST]], self.ends, is_sample)

    @property
    def knot_items(self) -> Floats:
        """The items that knots are placed among: a sample is followed by a row of minima and a row of maxima."""
        return np.vstack([self.items, self.ends]) if self.is_sample else self.items


def distinct_items(items: Floats) -> Floats:
    """Return the items that knots of a matrix of items are placed among, each once."""
    return DistinctItems.of(items).knot_items
