"""Intervals around predicted distances: a learned difficulty of each pair, times a quantile that was calibrated.

    [ d(x, y) - q s(x, y),  d(x, y) + q s(x, y) ]

s is the difficulty (`pair_difficulty`), learned on some of the items that the model has not seen, and q the quantile of
``|true - predicted| / s`` on pairs of the others (`conformal_quantile`). This is split-conformal prediction with normalised
scores (Papadopoulos et al. 2002; Lei et al. 2018, section 5.2), with items in the place of examples.
"""

from dataclasses import dataclass
from math import ceil
from typing import NamedTuple

import numpy as np
from sklearn.linear_model import GammaRegressor

from ..._foundation.errors import InputError
from ..._foundation.stored import storable
from ..._foundation.types import Floats, FrozenValue, Integers, Pairs, freeze
from ..model.semimetric import Semimetric
from .errors import UnseenPairs, novelty_of

_ROUNDING = 1e-9  # so that 0.9 of 10 pairs is 9 of them


@storable
@dataclass(frozen=True, eq=False)
class ConformalQuantile(FrozenValue):
    """The quantiles of scores of pairs, corrected for the items that pairs share."""

    scores: Floats  # shape (n,); in ascending order
    # Shape (n,); in ascending order: the k-th is the least rank, counted from 1, whose score covers k pairs out of n when
    # each is scored by the pairs that share no item with it. A rank of n + 1 means that no score does.
    ranks: Integers
    n_items: int  # how many items the pairs are of

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

        ``scores``: shape (n,). ``items``: shape (n, 2); the numbers of the items of each pair, which differ.
        """
        n = len(scores)
        below, apart = _among_pairs_apart(scores, items)
        return cls(np.sort(scores), np.sort(below * (n + 1) // (apart + 1) + 1), len(np.unique(items)))

    @property
    def n_pairs(self) -> int:
        """The number of scores."""
        return len(self.scores)

    def rank(self, level: float) -> int:
        """The rank, counted from 1, of the score that covers a fraction ``level`` of new pairs; above `n_pairs` none does."""
        plain = ceil(level * (self.n_pairs + 1) - _ROUNDING)
        return max(plain, int(self.ranks[max(ceil(level * self.n_pairs - _ROUNDING), 1) - 1]))

    def __call__(self, level: float) -> float:
        """The score that covers a fraction ``level`` of new pairs."""
        rank = self.rank(level)
        if rank > self.n_pairs:
            raise InputError(
                f"interval={level:g} asks for more than {self.n_pairs} pairs of {self.n_items} items set aside allow; set "
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
    """Count the entries with these groups and orders in each ``group``, below its ``rank`` and in all."""
    width = np.int64(order.max()) + 1
    keys = np.sort(groups * width + order)
    start = np.searchsorted(keys, group * width)
    return np.searchsorted(keys, group * width + rank) - start, np.searchsorted(keys, (group + 1) * width) - start


_FEWEST = 30  # pairs to learn from: of fewer every pair is taken to be as difficult
_BENDS = (1 / 3, 2 / 3)  # quantiles at which f and g bend
_RIDGE = 1e-2
_LEAST = 0.05  # of the mean error is added to each, so that none is 0
_BEYOND = 2.0  # how far beyond those of the pairs that were learned from a difficulty may lie, as a factor


@storable
@dataclass(frozen=True, eq=False)
class PairDifficulty(FrozenValue):
    """The error that is expected of a pair, up to a factor."""

    units: Floats  # shape (2,); by which predicted distances and novelties are divided; positive
    bends: Floats  # shape (2, n_bends); where f and g bend, after arcsinh
    weights: Floats  # shape (3 + 2 * n_bends,); the constant, and the weights of the pieces of f and of g; after arcsinh
    low: float  # the least difficulty
    high: float  # the largest difficulty

    def __post_init__(self) -> None:
        freeze(self, "units", "bends", "weights")
        shapes = self.units.shape, self.bends.shape[:1], self.weights.shape
        if self.bends.ndim != 2 or shapes != ((2,), (2,), (3 + 2 * self.bends.shape[1],)):
            raise InputError(f"units, bends and weights have the shapes {shapes}, which do not go together; restore the file")
        numbers = np.concatenate([self.units, self.bends.ravel(), self.weights, [self.low, self.high]])
        if not np.isfinite(numbers).all() or (self.units <= 0).any() or not 0 < self.low <= self.high:
            raise InputError("units and difficulties are positive and finite, and weights finite; restore the file")

    @classmethod
    def constant(cls) -> "PairDifficulty":
        """Every pair is as difficult as any other."""
        return cls(np.ones(2), np.zeros((2, 0)), np.zeros(3), 1.0, 1.0)

    @classmethod
    def learned(cls, predicted: Floats, novelty: Floats, error: Floats) -> "PairDifficulty":
        """The difficulty of pairs whose absolute errors are known, all of shape (n_pairs,); of few, or no error, a constant."""
        typical = float(error.mean()) if len(error) else 0.0
        if len(error) < _FEWEST or not 1e-290 < typical < 1e290:
            return cls.constant()
        known = np.abs([predicted, novelty])
        units = np.array([u if u > 0 else 1.0 for u in np.median(known, axis=1)])
        bends = np.quantile(np.arcsinh(known / units[:, None]), _BENDS, axis=1).T
        plain = cls(units, bends, np.zeros(3 + 2 * len(_BENDS)), 1.0, 1.0)
        columns = plain.columns(predicted, novelty)
        spread = columns.std(axis=0)
        spread[spread <= 1e-9] = np.inf  # columns that do not vary have no weight
        found = GammaRegressor(alpha=_RIDGE, max_iter=1_000).fit(columns / spread, error / typical + _LEAST)
        weights = np.append(found.intercept_, found.coef_ / spread)
        fitted = np.exp(weights[0] + columns @ weights[1:])
        return cls(units, bends, weights, float(fitted.min()) / _BEYOND, float(fitted.max()) * _BEYOND)

    def __call__(self, predicted: Floats, novelty: Floats) -> Floats:
        """The difficulty of pairs, positive: shape (n_pairs,)."""
        exponent = self.weights[0] + self.columns(predicted, novelty) @ self.weights[1:]
        return np.exp(np.clip(exponent, np.log(self.low), np.log(self.high)))

    def columns(self, predicted: Floats, novelty: Floats) -> Floats:
        """The pieces of f and of g, shape (n_pairs, 2 * (1 + n_bends))."""
        scales = np.arcsinh(np.abs([predicted, novelty]) / self.units[:, None])
        return np.column_stack(
            [c for t, bends in zip(scales, self.bends, strict=True) for c in (t, *(np.maximum(t - b, 0) for b in bends))]
        )


FEWEST_PAIRS = 20  # that calibrate
FEWEST_ITEMS = 8


class DistanceIntervals(NamedTuple):
    """Predicted distances with intervals: three arrays of shape (n_pairs,)."""

    predicted: Floats
    lower: Floats
    upper: Floats


@storable
@dataclass(frozen=True, eq=False)
class CalibratedIntervals(FrozenValue):
    """Scores of unseen pairs, which give intervals around the distances of a model."""

    difficulty: PairDifficulty
    quantile: ConformalQuantile
    landmarks: Floats  # shape (n_landmarks, n_features); encoded items that were learned from; novelty is measured to them
    least: float  # what no distance is below: 0, or minus infinity

    def __post_init__(self) -> None:
        freeze(self, "landmarks")
        if self.landmarks.ndim != 2 or not len(self.landmarks) or self.least not in (0.0, -np.inf):
            raise InputError(
                f"landmarks have the shape {self.landmarks.shape}, and none is above {self.least}; restore the file"
            )

    @classmethod
    def of(cls, unseen: UnseenPairs, landmarks: Floats, least: float) -> "CalibratedIntervals | None":
        """The intervals that pairs of unseen items ask for; None if too few of them calibrate."""
        rest = unseen.calibrates
        if rest.sum() < FEWEST_PAIRS or len(np.unique(unseen.items[rest])) < FEWEST_ITEMS:
            return None
        error, taught = np.abs(unseen.true - unseen.predicted), unseen.teaches
        difficulty = PairDifficulty.learned(unseen.predicted[taught], unseen.novelty[taught], error[taught])
        scores = error[rest] / difficulty(unseen.predicted[rest], unseen.novelty[rest])
        return cls(difficulty, ConformalQuantile.of(scores, unseen.items[rest]), landmarks, least)

    def around(
        self, d: Semimetric, pairs: Pairs, predicted: Floats, level: float, *, n_jobs: int | None = None
    ) -> DistanceIntervals:
        """The intervals of pairs of encoded items around their predicted distances, shape (n_pairs,)."""
        q = self.quantile(level)
        novelty = novelty_of(d, pairs.items, pairs.index, self.landmarks, n_jobs=n_jobs)
        half = q * self.difficulty(predicted, novelty)
        return DistanceIntervals(predicted, np.maximum(predicted - half, self.least), np.maximum(predicted + half, self.least))
