"""How wide an interval must be to hold the distance of a new pair: split-conformal prediction where pairs share items.

Scores are ``|true - predicted| / difficulty`` on pairs of items that the model has not seen. New pairs are of new items, so
items are exchangeable, and pairs that share an item are not independent of one another: of m items there are m (m - 1) / 2
pairs, but far fewer than so many witnesses. The plain conformal quantile takes them for independent, and covers too little.

What is done: every score is ranked among the scores of the pairs that share no item with it, which is what a new pair is to the
calibration. The share of pairs at or below such a rank is, without bias, the coverage that m - 2 items give (a U-statistic of
degree 2 over items, by leaving two of them out). The smallest rank that covers the level is taken, or the rank of plain split
conformal prediction, ``ceil(level (n + 1))`` of n scores (Vovk, Gammerman & Shafer 2005, section 4.2), if that is larger.

What is proved: where all n = m (m - 1) / 2 pairs were evaluated, the r-th smallest score covers a pair of two new items with
probability ``>= r / ((m + 1)(m + 2) / 2)``, which is at least ``level (1 - 4 / (m + 2))``. For a pair drawn at random among
the m + 2 exchangeable items is missed only if r pairs that share no item with it have smaller scores, so that its own rank
among all pairs is above r. That 90 % means 90 % at a few hundred items is measured (``benchmarks/intervals.py``), not proved.
"""

from dataclasses import dataclass
from math import ceil

import numpy as np

from ..._foundation.errors import InputError
from ..._foundation.storable import storable
from ..._foundation.types import Floats, FrozenValue, Integers, freeze

__all__ = ["ConformalQuantile"]

_ROUNDING = 1e-9  # so that 0.9 of 10 pairs is 9 of them


@storable
@dataclass(frozen=True, eq=False)
class ConformalQuantile(FrozenValue):
    """The quantiles of scores of pairs, corrected for the items that pairs share.

    Parameters
    ----------
    scores : ndarray of shape (n,)
        In ascending order.
    ranks : ndarray of shape (n,), int64
        In ascending order: the k-th is the least rank, counted from 1, whose score covers k pairs out of n when each is judged
        by the pairs that share no item with it. A rank of n + 1 means that no score does.
    n_items : int
        How many items the pairs are of.
    """

    scores: Floats
    ranks: Integers
    n_items: int

    def __post_init__(self) -> None:
        freeze(self, "scores", "ranks")
        if self.scores.ndim != 1 or self.scores.shape != self.ranks.shape or not len(self.scores):
            raise InputError(f"scores of shape {self.scores.shape} have ranks of shape {self.ranks.shape}; restore the file")
        if not (np.isfinite(self.scores).all() and self.scores[0] >= 0 and (np.diff(self.scores) >= 0).all()):
            raise InputError("scores are finite, at least 0 and in ascending order; restore the file")
        if not ((np.diff(self.ranks) >= 0).all() and self.ranks[0] >= 1):
            raise InputError("ranks are at least 1 and in ascending order; restore the file")

    @classmethod
    def of(cls, scores: Floats, items: Integers) -> "ConformalQuantile":
        """The quantiles of the scores of pairs.

        Parameters
        ----------
        scores : ndarray of shape (n,)
        items : ndarray of shape (n, 2), int64
            The numbers of the items of each pair, which differ.
        """
        n = len(scores)
        below, apart = _among_pairs_apart(scores, items)
        return cls(np.sort(scores), np.sort(below * (n + 1) // (apart + 1) + 1), len(np.unique(items)))

    @property
    def n_pairs(self) -> int:
        """How many scores there are."""
        return len(self.scores)

    def rank(self, level: float) -> int:
        """The rank, counted from 1, of the score that covers a share ``level`` of new pairs; above `n_pairs` none does."""
        plain = ceil(level * (self.n_pairs + 1) - _ROUNDING)
        return max(plain, int(self.ranks[max(ceil(level * self.n_pairs - _ROUNDING), 1) - 1]))

    def __call__(self, level: float) -> float:
        """The score that covers a share ``level`` of new pairs.

        Raises
        ------
        InputError
            If there are too few pairs for it.
        """
        rank = self.rank(level)
        if rank > self.n_pairs:
            raise InputError(
                f"interval={level:g} asks for more than {self.n_pairs} pairs of {self.n_items} items set aside can tell; set "
                "more aside (validation_fraction=), or ask for less"
            )
        return float(self.scores[rank - 1])


def _among_pairs_apart(scores: Floats, items: Integers) -> tuple[Integers, Integers]:
    """For every pair, how many pairs that share no item with it have a smaller score, and how many there are in all.

    A pair has an item in common with those of its first item and those of its second, and those that have both are counted
    twice.
    """
    order = np.unique(scores, return_inverse=True)[1].astype(np.int64)
    first, second = np.sort(items, axis=1).T
    n_items = int(items.max()) + 1
    both = np.unique(first.astype(np.int64) * n_items + second, return_inverse=True)[1]
    everyone = np.zeros(len(scores), np.int64)
    members, twice = np.concatenate([first, second]), np.concatenate([order, order])
    below, count = _within(everyone, order, everyone, order)
    for member in (first, second):
        a, b = _within(members, twice, member, order)
        below, count = below - a, count - b
    a, b = _within(both, order, both, order)
    return below + a, count + b


def _within(groups: Integers, order: Integers, group: Integers, rank: Integers) -> tuple[Integers, Integers]:
    """How many of the entries with these groups and orders are in each ``group`` below its ``rank``, and how many in all."""
    width = np.int64(order.max()) + 1
    keys = np.sort(groups * width + order)
    start = np.searchsorted(keys, group * width)
    return np.searchsorted(keys, group * width + rank) - start, np.searchsorted(keys, (group + 1) * width) - start
