"""Limits of values outside their range: beyond them distances would overflow, so such values are refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..._foundation.errors import InputError
from ..._foundation.types import Floats
from ...data.grid import Grid
from ..pairs.base import Items

MOST = 2.0**1020  # 1.1e307; a few such numbers add up to a finite one.


class GridPoints(NamedTuple):
    """Encoded vectors, the same on the grid, and the excess by which each embedded feature lies outside its range."""

    raw: Floats
    items: Items
    excess: Floats


def rise_outside(excess: Floats, epsilon: Floats) -> Floats:
    """Return the rise of the distance for each excess e (n, n_features): e epsilon_above if e > 0, else e epsilon_below."""
    if not excess.any():
        return excess  # most items are in the range, and have no rise
    return excess * np.where(excess > 0, epsilon[:, 1], epsilon[:, 0])


@dataclass(frozen=True, eq=False)
class ValueLimits:
    """Limits of embedded features out of range, within which distances, their bounds and stored positions are finite."""

    grid: Grid
    names: Sequence[str]  # the names of the embedded features
    most: Floats  # (n_features,), the largest excess of each of them

    @classmethod
    def of(cls, grid: Grid, epsilon: Floats, names: Sequence[str]) -> ValueLimits:
        """Return the reach of a distance with the slopes ``epsilon`` (n_features, 2) below and above the range."""
        width = grid.high - grid.low
        in_ranges = MOST * np.where(width > 0, np.minimum(width, 1.0), 1.0)
        with np.errstate(over="ignore"):
            in_distance = MOST / np.maximum(len(epsilon) * epsilon.max(axis=1), 1.0)
        return cls(grid, names, np.minimum(in_ranges, in_distance))

    def excess(self, features: Floats) -> Floats:
        """Return the excess of every value, as `Grid.excess` gives it, for vectors of shape (n, n_features)."""
        excess = self.grid.excess(features)
        if max(excess.max(initial=0.0), -excess.min(initial=0.0)) > self.most.min(initial=np.inf):
            self._check(features, excess)
        return excess

    def _check(self, features: Floats, excess: Floats) -> None:
        beyond = np.abs(excess) > self.most
        if not beyond.any():
            return
        row, f = np.argwhere(beyond)[0]
        raise InputError(
            f"{self.names[f]!r} is {features[row, f]:g} in row {row}, so far outside its range, {self.grid.low[f]:g} to "
            f"{self.grid.high[f]:g}, that distances overflow: correct the value, or leave the row out"
        )
