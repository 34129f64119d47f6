"""Where a distance bends while one feature of an item varies: between these values, what the link is taken of is affine.

The sum has tables that are affine on the simplices of a grid (docs/mathematics.md, section 1), directions that are affine
between their knots, and slopes outside the range. So it bends where an embedded feature crosses a knot or the value of the
other item, and where two fractions of a group are equal. It jumps between a threshold of a tree, from which the way goes left,
and the next float, from which it goes right.
"""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np

from .._foundation.types import Floats, Integers
from ..embeddings.directions.linear_directions import with_directions
from ..embeddings.directions.partitions import OUTERMOST

__all__ = ["breakpoints"]


def breakpoints(d: Any, x: Floats, y: Floats, feature: int) -> Floats:
    """The values of a number or angle of x at which the sum of d(x, y) may bend, increasing; those of x and y are among them.

    Parameters
    ----------
    d : Semimetric
        Continuous, and without base distances.
    x, y : ndarray of shape (n_features,)
        Encoded items.
    feature : int
    """
    knots = d.embedding.grid.knots[feature]
    bends = d.directions.bends[feature] if d.directions and d.directions.bends else ()
    own = [v for v in (x[feature], y[feature]) if not np.isnan(v)]
    points = np.unique(np.concatenate([knots, bends, own, _jumps(d, feature)]))
    points = points[(points >= min(knots[0], *own, np.inf)) & (points <= max(knots[-1], *own, -np.inf))]
    if len(points) < 2:
        return points
    theirs = with_directions(d.directions, y[None])[0]
    linear = d.directions.uses[: d.directions.n_linear, feature] if d.directions else []
    moving = np.flatnonzero(np.append(np.arange(d.n_features) == feature, linear))
    points = _with_crossings(d, x, feature, points, theirs, moving)
    return _with_ties(d, x, feature, points, theirs, moving)


def _jumps(d: Any, feature: int) -> Floats:
    """The thresholds of trees that ask for a feature, and the floats after them; on a circle also those of the next turn."""
    if d.directions is None or d.directions.partitions is None:
        return np.empty(0)
    thresholds = d.directions.partitions.thresholds(feature)
    thresholds = thresholds[np.abs(thresholds) < OUTERMOST]
    period = d.schema.features[feature].period
    if period and len(thresholds):  # from one turn to the next, places jump from the period to 0
        ends = [np.nextafter(period, 0.0)]
        thresholds = np.concatenate([thresholds, np.nextafter(thresholds + period, -np.inf), thresholds + period, ends])
    return np.concatenate([thresholds, np.nextafter(thresholds, np.inf)])


def _embedded(d: Any, x: Floats, feature: int, values: Floats) -> Floats:
    """The embedded features of x with other values of one feature, shape (n_values, n_embedded)."""
    rows = np.tile(x, (len(values), 1))
    rows[:, feature] = values
    return with_directions(d.directions, rows)


def _with_crossings(d: Any, x: Floats, feature: int, points: Floats, theirs: Floats, moving: Integers) -> Floats:
    """The points, and those where an embedded feature that moves crosses one of its knots, or the value of the other item."""
    embedded = _embedded(d, x, feature, points)
    found = [points]
    for m in moving:
        levels = np.append(d.embedding.grid.knots[m], theirs[m])
        found.append(_roots(points, embedded[:-1, m, None] - levels, embedded[1:, m, None] - levels))
    return np.unique(np.concatenate(found))


def _with_ties(d: Any, x: Floats, feature: int, points: Floats, theirs: Floats, moving: Integers) -> Floats:
    """The points, and those where the fraction of an embedded feature that moves equals another of its group."""
    grid = d.embedding.grid
    middle = grid.locate(_embedded(d, x, feature, (points[:-1] + points[1:]) / 2))
    other = grid.locate(theirs[None]).fraction[0]
    low, high = (np.stack([k[np.minimum(c, len(k) - 1)] for k, c in zip(grid.knots, cells.T, strict=True)], axis=1)
                 for cells in (middle.lower, middle.upper))  # fmt: skip
    width = np.where(high > low, high - low, 1.0)
    embedded = np.where(np.isin(np.arange(len(theirs)), moving), _embedded(d, x, feature, points), np.nan)
    ends = [np.where(np.isnan(side), middle.fraction, (side - low) / width) for side in (embedded[:-1], embedded[1:])]
    found = [points]
    for group in d.embedding.groups:
        if np.isin(group, moving).any():
            for a, b in product(group, group):
                found.append(_roots(points, *(end[:, [a]] - other[b] for end in ends)))
            for a, b in combinations(group, 2):
                found.append(_roots(points, *(end[:, [a]] - end[:, [b]] for end in ends)))
    return np.unique(np.concatenate(found))


def _roots(points: Floats, left: Floats, right: Floats) -> Floats:
    """Where affine functions are 0, given their values (n_points - 1, n) at the left and right ends of the intervals."""
    row, column = np.nonzero(left * right < 0)
    share = left[row, column] / (left[row, column] - right[row, column])
    return points[row] + share * (points[row + 1] - points[row])
