"""Whether items are where an index says that they are: a place is proved in less time than it is found in."""

from typing import NamedTuple

import numpy as np

from .jit import kernel

__all__ = ["Places", "first_outside_cells", "first_misplaced"]


class Places(NamedTuple):
    """The features of positions: column, first knot among all knots, number of knots, and unit outside the range, each (E,)."""

    feature: np.ndarray
    start: np.ndarray
    size: np.ndarray
    unit: np.ndarray


@kernel
def _is_place(value, claimed, knots, first, last, unit, tolerance):
    """Whether a position is that of a value among ``knots[first:last + 1]``, wherever it lies."""
    if not (abs(value) < np.inf and abs(claimed) < np.inf):
        return False
    k, inside = 0, 0.0
    if first < last:
        k = min(np.int64(min(max(claimed, 0.0), np.float64(last - first))), last - first - 1)
        low = knots[first + k]
        inside = (value - low) / (knots[first + k + 1] - low)
        if (inside > 1.0 + tolerance and first + k + 1 < last) or (inside < -tolerance and k > 0):
            return False
        inside = min(max(inside, 0.0), 1.0)
    beyond = max(value - knots[last], 0.0) + min(value - knots[first], 0.0)
    expected = k + inside + beyond / unit
    return abs(claimed - expected) <= tolerance * (1.0 + abs(expected))


@kernel
def first_misplaced(x, knots, places, positions, tolerance):
    """The first row whose positions (n, E) are not those of its values x (n, F), or -1.

    The cell that a position claims must hold the value, or be the last one towards it where the value lies outside the range;
    then the position follows. Values and positions that are not finite are nowhere. Inside the range, going back from the
    position to the value needs no division; what that cannot tell is computed forward.
    """
    for i in range(positions.shape[0]):
        for e in range(positions.shape[1]):
            value, claimed = x[i, places.feature[e]], positions[i, e]
            first, cells = places.start[e], places.size[e] - 1
            if 0.0 <= claimed < cells:
                k = np.int64(claimed)
                low = knots[first + k]
                width = knots[first + k + 1] - low
                if abs(value - (low + (claimed - k) * width)) <= tolerance * width:
                    continue
            if not _is_place(value, claimed, knots, first, first + cells, places.unit[e], tolerance):
                return i
    return -1


@kernel
def first_outside_cells(positions, codes, byte, shift, low, high):
    """The first row whose position on a part lies outside the cell that its code stands for, or -1.

    Part p has the positions ``positions[:, p]``; its code is the four bits of ``codes[:, byte[p]]`` from bit ``shift[p]`` on,
    and stands for the positions from ``low[p, code]`` to ``high[p, code]``.
    """
    for i in range(codes.shape[0]):
        for p in range(byte.shape[0]):
            code = (codes[i, byte[p]] >> shift[p]) & 15
            if not low[p, code] <= positions[i, p] <= high[p, code]:
                return i
    return -1
