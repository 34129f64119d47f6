"""Proofs that items are where an index says: a position is proved in less time than it is found in."""

import numpy as np

from .jit import kernel
from .locate import position_of


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
            if not (abs(value) < np.inf and position_of(value, knots, first, first + cells, places.unit[e]) == claimed):
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
