"""Proofs that items are where an index says: a position is proved in less time than it is found in."""

from typing import NamedTuple

import numpy as np

from .jit import kernel
from .locate import lower_knot


class PositionFeatures(NamedTuple):
    """The features of positions: column, first knot among all knots, number of knots, and unit outside the range, each (E,)."""

    feature: np.ndarray
    start: np.ndarray
    size: np.ndarray
    unit: np.ndarray


@kernel
def _place(value, knots, first, last, unit):
    """Return the position of a value among ``knots[first:last + 1]``, computed as that of an item that is added."""
    if first == last:
        return (value - knots[first]) / unit
    low = lower_knot(value, knots, first, last)
    inside = min(max((value - knots[low]) / (knots[low + 1] - knots[low]), 0.0), 1.0)
    beyond = value - min(max(value, knots[first]), knots[last])
    return low - first + inside + beyond / unit


@kernel
def first_misplaced(x, knots, places, positions):
    """Return the first row whose positions (n, E) are not those of its values x (n, F), to the bit, or -1.

    The cell that a position claims is where its value is looked for first; only a value that is not within it is searched.
    Values and positions that are not finite are nowhere.
    """
    for i in range(positions.shape[0]):
        for e in range(positions.shape[1]):
            value, claimed = x[i, places.feature[e]], positions[i, e]
            first, cells = places.start[e], places.size[e] - 1
            if 0.0 <= claimed < cells:
                k = np.int64(claimed)
                low, high = knots[first + k], knots[first + k + 1]
                if low <= value <= high and k + (value - low) / (high - low) == claimed:
                    continue
            if not (abs(value) < np.inf and _place(value, knots, first, first + cells, places.unit[e]) == claimed):
                return i
            if abs(claimed) == np.inf:
                return i
    return -1


@kernel
def prove_cells(positions, codes, byte, shift, low, high, ends, astray):
    """Look whether the position of every item on every part lies in the cell that its code stands for.

    Part p has the positions ``positions[:, p]``; its code is the four bits of ``codes[:, byte[p]]`` from bit ``shift[p]`` on,
    and stands for the positions from ``low[p, code]`` to ``high[p, code]``. ``astray[0]`` becomes the first row that lies
    elsewhere, and stays as it is if there is none. ``ends`` (2, P, 16) becomes true where an item lies at the lower end of a
    code's range, and where one lies at the upper.
    """
    for i in range(codes.shape[0]):
        for p in range(byte.shape[0]):
            code, x = (codes[i, byte[p]] >> shift[p]) & 15, positions[i, p]
            if not low[p, code] < x < high[p, code]:
                if not low[p, code] <= x <= high[p, code]:
                    astray[0] = i
                    return
                ends[0, p, code] |= x == low[p, code]
                ends[1, p, code] |= x == high[p, code]
