"""The cell of the grid that holds a value or a position (paper 2, Alg. 1, lines 5-8)."""

from typing import NamedTuple

import numpy as np

from .jit import kernel


class PositionFeatures(NamedTuple):
    """The features of positions: column, first knot among all knots, number of knots, and unit outside the range, each (E,)."""

    feature: np.ndarray
    start: np.ndarray
    size: np.ndarray
    unit: np.ndarray


class ValueRanges(NamedTuple):
    """Knots of all features, ``knots[starts[f]:starts[f + 1]]`` of each, and how far outside them its values may lie, (F,)."""

    knots: np.ndarray
    starts: np.ndarray
    most: np.ndarray


@kernel
def clipped(position, last):
    """Return a position taken to the range [0, last] of the vertices; NaN goes to 0.

    Whatever becomes an integer goes through here. A conversion of what no integer holds has no defined result, and a loop up to
    it may not end.
    """
    if not position > 0.0:
        return 0.0
    return min(position, last)


@kernel
def rise(excess, below, above):
    """Return the rise of a distance where a value or position exceeds its range, by the slopes below and above it.

    The excess of what lies below the range is < 0, and so is the rise. What lies outside the range adds the difference of the
    rises of two vectors to their distance.
    """
    return excess * (above if excess > 0.0 else below)


@kernel
def lower_knot(value, knots, first, last):
    """Return the knot below ``value`` among ``knots[first:last + 1]``: the last that is < value, but at least ``first``."""
    lo, cells = first, last - first
    while cells > 16:
        step = (cells + 15) >> 4
        below = 0
        for q in range(lo + step, lo + cells, step):
            below += knots[q] < value
        lo += below * step
        cells = min(step, last - lo)
    below = 0
    for q in range(lo + 1, lo + cells):  # Counting beats halving, as no branch depends on the value.
        below += knots[q] < value
    return lo + below


@kernel
def locate_cells(x, knots, starts, lower, upper, fraction):
    """Fill ``lower``, ``upper`` and ``fraction`` (n, F) for the values ``x`` (n, F).

    ``knots[starts[f]:starts[f + 1]]`` are the strictly increasing knots of feature f. The upper knot is the first
    that is >= x, as in Alg. 1; values outside the range are clipped; a feature with one knot gives (0, 0, 0).
    """
    n, n_features = x.shape
    for i in range(n):
        for f in range(n_features):
            first, last = starts[f], starts[f + 1] - 1
            if first == last:
                lower[i, f], upper[i, f], fraction[i, f] = 0, 0, 0.0
                continue
            value = x[i, f]
            lo = lower_knot(value, knots, first, last)
            t = (value - knots[lo]) / (knots[lo + 1] - knots[lo])
            lower[i, f], upper[i, f] = lo - first, lo + 1 - first
            fraction[i, f] = min(max(t, 0.0), 1.0)


@kernel
def position_of(value, knots, first, last, unit):
    """Return the position of a value among ``knots[first:last + 1]``: the knot below, the fraction, and units outside."""
    if first == last:
        return (value - knots[first]) / unit
    low = lower_knot(value, knots, first, last)
    inside = min(max((value - knots[low]) / (knots[low + 1] - knots[low]), 0.0), 1.0)
    beyond = value - min(max(value, knots[first]), knots[last])
    return low - first + inside + beyond / unit


@kernel
def all_within(values, ranges):
    """Return True if the values (F,) of an item are finite and not too far outside the ranges of their features."""
    for f in range(ranges.most.shape[0]):
        value, low, high = values[f], ranges.knots[ranges.starts[f]], ranges.knots[ranges.starts[f + 1] - 1]
        if not abs(value - min(max(value, low), high)) <= ranges.most[f]:
            return False
    return True


@kernel
def positions_of(x, ranges, places, positions):
    """Fill the positions (n, E) of the values x (n, F); an item with a value that is not within its range gets NaN first."""
    for i in range(positions.shape[0]):
        for e in range(positions.shape[1]):
            start = places.start[e]
            value = np.float64(x[i, places.feature[e]])
            positions[i, e] = position_of(value, ranges.knots, start, start + places.size[e] - 1, places.unit[e])
        if not all_within(x[i], ranges):
            positions[i, 0] = np.nan
