"""The distance of two raw vectors under a sum over features and joint groups of them, in one compiled call or a function.

For two vectors every array that is made in Python costs more than their distance, so the whole way is one call here:
directions, cells, tables, and what lies outside the range.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .jit import exported, inlined, kernel
from .joint_search import sort_steps
from .locate import lower_knot, rise

_NONE = np.empty(0)


class FeatureSum(NamedTuple):
    """A sum over E embedded features, which are F raw ones and then directions, as plain arrays.

    Kernels take the arrays one by one: as one value they would take a microsecond to be handed over.
    """

    knots: np.ndarray  # those of all embedded features, one feature after another
    # int64 (E + 1 + n, 3): where the knots, the table (-1: none) and the bends of each feature begin. Rows of joint groups of
    # raw features follow: where the table begins, the number of grid points and of features; then of each feature its number,
    # and by how much the number of a grid point grows in a step along it
    places: np.ndarray
    tables: np.ndarray  # of every feature, row by row; the vertex of the first vector runs along the rows
    outside: np.ndarray  # (E, 3): the slopes below and above each range, and the largest excess for which nothing overflows
    # (F, E - F): the coefficients of raw features in each direction, or (n_bends, E - F): its values at the bends
    matrix: np.ndarray
    bends: np.ndarray  # values at which directions bend, one raw feature after another; empty for linear directions


@kernel
def _cell(value, knots, first, last):
    """Return the lower knot of a value among ``knots[first:last + 1]``, counted from the first, and the fraction above it."""
    if first == last:
        return 0, 0.0
    low = lower_knot(value, knots, first, last)
    t = (value - knots[low]) / (knots[low + 1] - knots[low])
    return low - first, min(max(t, 0.0), 1.0)


@kernel
def _bent_directions(x, places, matrix, bends, out):
    """Fill ``out`` (E - F,) with the directions of a vector, which bend."""
    out[:] = 0.0
    for f in range(x.shape[0]):
        first, last = places[f, 2], places[f + 1, 2] - 1
        k, t = _cell(np.float64(x[f]), bends, first, last)
        for d in range(out.shape[0] if first < last else 0):
            low, high = matrix[first + k, d], matrix[first + k + 1, d]
            out[d] += low + t * (high - low)


@kernel
def _part(u, v, e, knots, places, tables, outside):
    """Return the part of feature e for the values u and v: its table, and its slopes outside the range; NaN out of reach."""
    first, last, start = places[e, 0], places[e + 1, 0] - 1, places[e, 1]
    low, high = knots[first], knots[last]
    over, under = u - min(max(u, low), high), v - min(max(v, low), high)
    if not (abs(over) <= outside[e, 2] and abs(under) <= outside[e, 2]):
        return np.nan
    beyond = abs(rise(over, outside[e, 0], outside[e, 1]) - rise(under, outside[e, 0], outside[e, 1]))
    if start < 0:
        return beyond
    if first == last:
        return tables[start] + beyond
    (i, s), (j, t), c = _cell(u, knots, first, last), _cell(v, knots, first, last), last - first + 1
    corner = start + i * c + j
    both = tables[corner + c + 1]
    if t <= s:
        return t * both + (s - t) * tables[corner + c] + (1.0 - s) * tables[corner] + beyond
    return s * both + (t - s) * tables[corner + 1] + (1.0 - t) * tables[corner] + beyond


@kernel
def _joint_parts(x, y, knots, places, tables, at):
    """Return the sum over the joint groups, from row ``at`` on: ID of both vectors, walked down from the upper grid points."""
    total = 0.0
    while at < places.shape[0]:
        vertex, points, n = places[at, 0], places[at, 1], places[at, 2]
        level, step = np.zeros(2 * n), np.zeros(2 * n, np.int64)
        for k in range(2 * n):
            f, stride = places[at + 1 + k // 2, 0], places[at + 1 + k // 2, 1]
            first, last = places[f, 0], places[f + 1, 0] - 1
            value, down = (np.float64(y[f]), stride) if k % 2 else (np.float64(x[f]), stride * points)
            low, t = _cell(value, knots, first, last)
            vertex += low * down
            if first < last:
                level[k], step[k] = t, down
                vertex += down
        sort_steps(step, level)
        reached = 0.0
        for k in range(2 * n):
            total += (level[k] - reached) * tables[vertex]
            reached, vertex = level[k], vertex - step[k]
        total += (1.0 - reached) * tables[vertex]
        at += 1 + n
    return total


@kernel
def distance_of_two(x, y, knots, places, tables, outside, matrix, bends):
    """Return the sum over all features for two vectors (F,), before the link; NaN if a value is NaN or out of reach."""
    n, n_directions, total = x.shape[0], matrix.shape[1], 0.0
    for f in range(n):
        total += _part(np.float64(x[f]), np.float64(y[f]), f, knots, places, tables, outside)
    if places.shape[0] > n + n_directions + 1 and not np.isnan(total):
        total += _joint_parts(x, y, knots, places, tables, n + n_directions + 1)
    if bends.shape[0] == 0:
        for d in range(n_directions):
            p, q = 0.0, 0.0
            for f in range(n):
                p += matrix[f, d] * np.float64(x[f])
                q += matrix[f, d] * np.float64(y[f])
            total += _part(p, q, n + d, knots, places, tables, outside)
        return total
    u, v = np.empty(n_directions), np.empty(n_directions)
    _bent_directions(x, places, matrix, bends, u)
    _bent_directions(y, places, matrix, bends, v)
    for d in range(n_directions):
        total += _part(u[d], v[d], n + d, knots, places, tables, outside)
    return total


_distance_inlined = inlined(distance_of_two)


@kernel
def linked(total, exponent, bends, slopes):
    """Return the distance of a sum: its power, or pieces with ``slopes`` (m + 1,) that end at ``bends`` (m,)."""
    if slopes.shape[0] == 0:
        return total if exponent == 1.0 else np.sqrt(total) if exponent == 0.5 else total**exponent
    low, value = 0.0, 0.0
    for k in range(bends.shape[0]):
        if total <= bends[k]:
            return value + slopes[k] * (total - low)
        value += slopes[k] * (bends[k] - low)
        low = bends[k]
    return value + slopes[-1] * (total - low)


def make_metric(
    parts: FeatureSum, exponent: float = 1.0, bends: np.ndarray = _NONE, slopes: np.ndarray = _NONE
) -> Callable[[np.ndarray, np.ndarray], float]:
    """Return ``metric(x, y)``, whose arrays are constants; it is compiled at its first call, for the arrays that it is given.

    The sum goes through the link that ``exponent``, ``bends`` and ``slopes`` say, see `linked`. It stands in the function
    itself: to hand six arrays over to another one takes as long as two features.
    """
    knots, places, tables, outside, matrix, directions_bend = parts
    straight = exponent == 1.0 and not len(slopes)

    @exported
    def metric(x, y):
        total = _distance_inlined(x, y, knots, places, tables, outside, matrix, directions_bend)
        return total if straight else linked(total, exponent, bends, slopes)

    return metric
