"""How far an approximation is off on pairs of items that it has not seen."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .._foundation.errors import warn
from .._foundation.types import Floats

__all__ = ["ApproximationErrors"]

_FEW_PAIRS = 20  # fewer cannot judge a model
_EXPLAINED = 0.1  # of the variance: less is next to nothing
_CLOSE = 0.05  # a relative error that is good enough where distances hardly differ


class ApproximationErrors(NamedTuple):
    """The errors of learned distances against true ones other than 0.

    Attributes
    ----------
    relative : ndarray of shape (n_pairs,)
        Errors divided by the true distances.
    explained : float
        The share of the variance of the true distances that the learned ones explain, at least 0.
    """

    relative: Floats
    explained: float

    @classmethod
    def of(cls, learned: Floats, true: Floats) -> "ApproximationErrors":
        """The errors of ``learned`` distances, both of shape (n_pairs,)."""
        learned, true = learned[true != 0], true[true != 0]
        off, spread = np.square(learned - true).sum(), np.square(true - true.mean()).sum() if len(true) else 0.0
        return cls(np.abs(learned - true) / np.abs(true), max(1.0 - float(off / spread), 0.0) if spread else 0.0)

    @property
    def n_pairs(self) -> int:
        """How many pairs these are."""
        return len(self.relative)

    def quantiles(self, levels: Sequence[float]) -> dict[float, float]:
        """Quantiles of the relative errors; there are none of no pair."""
        return dict(zip(levels, np.quantile(self.relative, levels).tolist(), strict=True)) if self.n_pairs else {}

    def warn_if_useless(self) -> None:
        """Warn of a model that explains next to nothing of how distances differ, unless they hardly differ."""
        if self.n_pairs < _FEW_PAIRS or self.explained >= _EXPLAINED or (typical := float(np.median(self.relative))) <= _CLOSE:
            return
        warn(
            f"on {self.n_pairs} pairs of items that were set aside the model explains {100 * self.explained:.2g} % of the "
            f"variance of the distances, and its median relative error is {100 * typical:.3g} %: it is hardly better than one "
            "distance for all pairs. Give more items or pairs, directions= or groups= that the distance depends on, or other "
            "features of the items"
        )
