"""Linear features of histograms that are computed without a matrix: cumulative sums, and sums of runs of them.

A block stands for k linear features of histograms over n bins, ``matrix @ x``. Its matrix of shape (k, n) is made only when it
is asked for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ..._foundation.threads import blocks as parts
from ..._foundation.types import Floats, Integers

_ITEMS = 32  # histograms whose cumulative sums are held at once, which fit into a cache


class HistogramBlock(ABC):
    """Several linear features of histograms."""

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of features."""

    @abstractmethod
    def apply(self, histograms: Floats, out: Floats) -> None:
        """Write the features of histograms (n_bins, n_items) to ``out``, of shape (n_features, n_items)."""

    @abstractmethod
    def matrix(self) -> Floats:
        """Return the coefficients of every feature, shape (n_features, n_bins)."""

    @abstractmethod
    def take(self, keep: Integers) -> HistogramBlock:
        """Return some of the features, by their numbers."""


def applied(blocks: Sequence[HistogramBlock], X: Floats) -> Floats:
    """Return the features of several blocks of histograms X, shape (n_items, n_bins): shape (n_items, n_features)."""
    ends = np.cumsum([0, *map(len, blocks)])
    out = np.empty((len(X), ends[-1]))
    found = np.empty((ends[-1], min(len(X), _ITEMS)))
    for rows in parts(len(X), _ITEMS):
        histograms = np.ascontiguousarray(X[rows].T)
        features = found[:, : histograms.shape[1]]
        for block, low, high in zip(blocks, ends[:-1], ends[1:], strict=True):
            block.apply(histograms, features[low:high])
        out[rows] = features.T
    return out


@dataclass(frozen=True, eq=False)
class CumulativeSums(HistogramBlock):
    """The masses of bins that follow one another in an order, each times a number."""

    order: Integers  # (n_bins,), the bins in their order
    starts: Integers  # (n_features,), feature k adds up the bins ``order[starts[k]:ends[k]]``
    ends: Integers  # (n_features,)
    factors: Floats  # (n_features,), what each sum is multiplied by

    def __len__(self) -> int:
        return len(self.factors)

    def apply(self, histograms: Floats, out: Floats) -> None:
        sums = _sums_before(histograms, self.order)
        np.take(sums, self.ends, axis=0, out=out, mode="clip")  # which needs no copy, and clips nothing
        if self.starts.any():
            out -= sums[self.starts]
        out *= self.factors[:, None]

    def matrix(self) -> Floats:
        place = np.empty(len(self.order), np.int64)
        place[self.order] = np.arange(len(self.order))
        inside = (place >= self.starts[:, None]) & (place < self.ends[:, None])
        return self.factors[:, None] * inside

    def take(self, keep: Integers) -> CumulativeSums:
        return CumulativeSums(self.order, self.starts[keep], self.ends[keep], self.factors[keep])


@dataclass(frozen=True, eq=False)
class SumsOfRuns(HistogramBlock):
    """The masses of sets of bins, each as a sum of runs: of bins that follow one another in one order.

    A ball of radius r among the bins of a grid of d dimensions has about ``r ** (d - 1)`` runs.
    """

    order: Integers  # (n_bins,), the bins in their order, which all sets share
    # (n_features, n_bins + 1), 1 where a run of the set ends, and -1 where it starts: at the number of bins that come
    # before in the order.
    ends: sparse.csr_array

    @classmethod
    def of(cls, sets: np.ndarray, order: Integers) -> SumsOfRuns:
        """Return sets of bins, given as an array of bool of shape (n_features, n_bins)."""
        padded = np.zeros((len(sets), len(order) + 2), dtype=np.int8)
        padded[:, 1:-1] = sets[:, order]
        changes = -np.diff(padded, axis=1)  # -1 before the first bin of a run, 1 behind its last
        return cls(order, sparse.csr_array(changes.astype(np.float64)))

    def __len__(self) -> int:
        return int(self.ends.shape[0])

    def apply(self, histograms: Floats, out: Floats) -> None:
        out[:] = self.ends @ _sums_before(histograms, self.order)

    def matrix(self) -> Floats:
        rows = np.zeros((len(self), len(self.order)))
        after = self.ends.toarray()[:, 1:]  # a bin counts in all runs that end behind it, less those that start behind it
        rows[:, self.order] = after[:, ::-1].cumsum(axis=1)[:, ::-1]
        return rows

    def take(self, keep: Integers) -> SumsOfRuns:
        return SumsOfRuns(self.order, self.ends[keep])


@dataclass(frozen=True, eq=False)
class Products(HistogramBlock):
    """Features whose coefficients are stored, shape (n_features, n_bins)."""

    rows: Floats

    def __len__(self) -> int:
        return len(self.rows)

    def apply(self, histograms: Floats, out: Floats) -> None:
        np.matmul(self.rows, histograms, out=out)

    def matrix(self) -> Floats:
        return self.rows

    def take(self, keep: Integers) -> Products:
        return Products(self.rows[keep])


def _sums_before(histograms: Floats, order: Integers) -> Floats:
    """Return the mass of the first 0, 1, ..., n bins of an order: shape (n_bins + 1, n_items)."""
    sums = np.zeros((len(order) + 1, histograms.shape[1]))
    np.cumsum(histograms[order], axis=0, out=sums[1:])
    return sums
