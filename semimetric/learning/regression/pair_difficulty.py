"""How far off a prediction is likely to be, from what is known of a pair before its distance is.

    E |true - predicted|  =  exp( b_0 + f(predicted) + g(novelty) )

f and g are linear in pieces on the scale of arcsinh, so that they are powers where a distance or novelty is large. Novelty is
how far the two items lie from items that were learned from. The weights are those of a regression of gamma deviance with a
ridge: errors are >= 0, and the larger they are the more they scatter.
"""

from dataclasses import dataclass

import numpy as np
from sklearn.linear_model import GammaRegressor

from ..._foundation.errors import InputError
from ..._foundation.storable import storable
from ..._foundation.types import Floats, FrozenValue, freeze

__all__ = ["PairDifficulty"]

_FEWEST = 30  # pairs to learn from: of fewer every pair is taken to be as difficult
_BENDS = (1 / 3, 2 / 3)  # quantiles at which f and g bend
_RIDGE = 1e-2
_LEAST = 0.05  # of the mean error is added to each, so that none is 0
_BEYOND = 2.0  # how far beyond those of the pairs that were learned from a difficulty may lie, as a factor


@storable
@dataclass(frozen=True, eq=False)
class PairDifficulty(FrozenValue):
    """The error that is expected of a pair, up to a factor.

    Parameters
    ----------
    units : ndarray of shape (2,)
        By which predicted distances and novelties are divided; positive.
    bends : ndarray of shape (2, n_bends)
        Where f and g bend, after arcsinh.
    weights : ndarray of shape (1 + 2 * (1 + n_bends),)
        The constant, and the weights of the pieces of f and of g; after arcsinh.
    low, high : float
        Between which all difficulties lie.
    """

    units: Floats
    bends: Floats
    weights: Floats
    low: float
    high: float

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
        columns = plain._columns(predicted, novelty)
        spread = columns.std(axis=0)
        spread[spread <= 1e-9] = np.inf  # columns that do not vary have no weight
        found = GammaRegressor(alpha=_RIDGE, max_iter=1_000).fit(columns / spread, error / typical + _LEAST)
        weights = np.append(found.intercept_, found.coef_ / spread)
        fitted = np.exp(weights[0] + columns @ weights[1:])
        return cls(units, bends, weights, float(fitted.min()) / _BEYOND, float(fitted.max()) * _BEYOND)

    def __call__(self, predicted: Floats, novelty: Floats) -> Floats:
        """The difficulty of pairs, positive: shape (n_pairs,)."""
        exponent = self.weights[0] + self._columns(predicted, novelty) @ self.weights[1:]
        return np.exp(np.clip(exponent, np.log(self.low), np.log(self.high)))

    def _columns(self, predicted: Floats, novelty: Floats) -> Floats:
        """The pieces of f and of g, shape (n_pairs, 2 * (1 + n_bends))."""
        scales = np.arcsinh(np.abs([predicted, novelty]) / self.units[:, None])
        return np.column_stack(
            [c for t, bends in zip(scales, self.bends, strict=True) for c in (t, *(np.maximum(t - b, 0) for b in bends))]
        )
