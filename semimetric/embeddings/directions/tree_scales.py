"""The scales on which trees are grown, and how their thresholds become short numbers in the unit of the items."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..._foundation.types import Floats
from .partitions import OUTERMOST, Partitions

__all__ = ["TreeScales"]

_MISSING = -1.0  # where a missing value stands
_MOST_DIGITS = 17  # decimal digits that tell any two floats apart


@dataclass(frozen=True)
class TreeScales:
    """A scale from 0 to 1 for every feature, on which trees are grown; missing values stand below it, at -1.

    So trees do not depend on units, and scikit-learn's 32 bits tell values apart that are close to one another and far from 0.

    Attributes
    ----------
    values : tuple of ndarray
        The different values of every feature, increasing.
    misses : ndarray of bool of shape (n_features,)
        Whether some item lacks the feature.
    """

    values: tuple[Floats, ...]
    misses: NDArray[np.bool_]

    @classmethod
    def of(cls, items: Floats) -> TreeScales:
        """The scales for items of shape (n_items, n_features)."""
        missing = np.isnan(items)
        values = tuple(np.unique(column[~gone]) for column, gone in zip(items.T, missing.T, strict=True))
        return cls(values, np.asarray(missing.any(axis=0)))

    def _placed(self, feature: int, numbers: Floats) -> Floats:
        """Numbers of a feature on its scale; halves do not overflow."""
        known = self.values[feature]
        low, high = (known[0] / 2, known[-1] / 2) if len(known) else (0.0, 0.0)
        return (numbers / 2 - low) / (high - low) if high > low else np.zeros(len(numbers))

    def place(self, items: Floats) -> Floats:
        """The items on the scales, -1 where a value is missing: the shape of ``items``."""
        columns = [self._placed(f, column) for f, column in enumerate(items.T)]
        return np.where(np.isnan(items), _MISSING, np.column_stack(columns))

    def unplace(self, trees: Partitions) -> Partitions:
        """Trees over these scales as trees over the items, which part the items alike.

        Thresholds are the shortest decimal numbers that do. Where a feature is missing for some item, missing values go where
        -1 goes on the scale; a node that parts them from all other values has an outermost threshold.
        """
        threshold, missing_left = trees.threshold.copy(), trees.missing_left.copy()
        for f, values in enumerate(self.values):
            nodes = np.flatnonzero(trees.feature == f)
            if self.misses[f]:
                missing_left[nodes] = threshold[nodes] >= _MISSING
            counts = np.searchsorted(self._placed(f, values), threshold[nodes], side="right").tolist()
            for node, count in zip(nodes.tolist(), counts, strict=True):
                threshold[node] = _threshold(values, count, float(threshold[node]))
        return replace(trees, threshold=threshold, missing_left=missing_left)


def _threshold(values: Floats, count: int, place: float) -> float:
    """The shortest decimal number at or above ``count`` of the values, near ``place`` on their scale, and below the others."""
    if count == 0 or count == len(values):
        return OUTERMOST if count else -OUTERMOST
    low, high = float(values[count - 1]), float(values[count])
    near = 2 * (float(values[0]) / 2 + place * (float(values[-1]) / 2 - float(values[0]) / 2))
    for digits in range(1, _MOST_DIGITS + 1):
        rounded = float(f"{near:.{digits}g}")
        if low <= rounded < high:
            return rounded
    return low
