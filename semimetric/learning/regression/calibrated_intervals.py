"""Intervals around predicted distances: a learned difficulty of each pair, times a quantile that was calibrated.

    [ d(x, y) - q s(x, y),  d(x, y) + q s(x, y) ]

s is the difficulty (`pair_difficulty`), learned on some of the items that the model has not seen, and q the quantile of
``|true - predicted| / s`` on pairs of the others (`conformal_quantile`). This is split-conformal prediction with normalised
scores (Papadopoulos et al. 2002; Lei et al. 2018, section 5.2), with items in the place of examples.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..._foundation.errors import InputError
from ..._foundation.storable import storable
from ..._foundation.types import Floats, FrozenValue, Pairs, freeze
from ...distances.semimetric import Semimetric
from .conformal_quantile import ConformalQuantile
from .pair_difficulty import PairDifficulty
from .unseen_pairs import UnseenPairs, novelty_of

__all__ = ["CalibratedIntervals", "DistanceIntervals"]

FEWEST_PAIRS = 20  # that calibrate
FEWEST_ITEMS = 8


class DistanceIntervals(NamedTuple):
    """Predicted distances with intervals: three arrays of shape (n_pairs,).

    Attributes
    ----------
    predicted : ndarray of shape (n_pairs,)
    lower, upper : ndarray of shape (n_pairs,)
    """

    predicted: Floats
    lower: Floats
    upper: Floats


@storable
@dataclass(frozen=True, eq=False)
class CalibratedIntervals(FrozenValue):
    """What makes intervals around the distances of a model.

    Parameters
    ----------
    difficulty : PairDifficulty
    quantile : ConformalQuantile
    landmarks : ndarray of shape (n_landmarks, n_features)
        Encoded items that were learned from; novelty is measured to them.
    least : float
        What no distance is below: 0, or minus infinity.
    """

    difficulty: PairDifficulty
    quantile: ConformalQuantile
    landmarks: Floats
    least: float

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
        """The intervals of pairs of encoded items around their predicted distances, shape (n_pairs,).

        Raises
        ------
        InputError
            If too few pairs were set aside for this level.
        """
        q = self.quantile(level)
        novelty = novelty_of(d, pairs.items, pairs.index, self.landmarks, n_jobs=n_jobs)
        half = q * self.difficulty(predicted, novelty)
        return DistanceIntervals(predicted, np.maximum(predicted - half, self.least), np.maximum(predicted + half, self.least))
