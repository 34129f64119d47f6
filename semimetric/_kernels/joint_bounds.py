"""Lower bounds of joint groups over boxes of items, and their sums over all items.

Fix a query, a group, and a cell of the grid for the item. Let W_r(S) be the table between the query's grid point in its
interval r (see `joint_search`) and the vertex of the cell at which the features S are at their lower end, and let

    G_S(t) = integral from 0 to t of W(S) over the levels,        D_S,a(t) = G_S(t) - G_{S + a}(t).

Where the fractions of the item are in the order t_1 <= ... <= t_g, its value is a sum over its features of functions of one
variable, each linear between the cuts of the query:

    value = G_all(1) + D_{},1(t_1) + D_{1},2(t_2) + ... + D_{1..g-1},g(t_g).

So over a box of fractions the value is at least the smallest, over the orders that occur in it, of sums of minima over
intervals, and these minima are shared by all boxes of the cell.
"""

from itertools import permutations
from typing import NamedTuple

import numpy as np

from .jit import kernel

_ORDERS = tuple(np.array(list(permutations(range(n))), dtype=np.int64).reshape(-1, max(n, 1)) for n in range(5))
_TILE = 4096  # So many sums stay in the first-level cache.
_ROUNDING = 1e-6  # What rounding may have lost in an entry, in units of a step.


class Intervals(NamedTuple):
    """Intervals of the features of joint groups, each within a cell of the grid, in increasing order.

    The feature at place j has the intervals ``first[j]:first[j + 1]``, from ``low`` to ``high`` in fractions of the cell above
    vertex ``cell``; ``code`` is the part of the number of a box that an interval stands for, and increases. ``step`` (A,) is by
    how much the number of a grid point grows from the lower to the upper vertex: 0 for a feature of one vertex.
    """

    first: np.ndarray
    cell: np.ndarray
    low: np.ndarray
    high: np.ndarray
    code: np.ndarray
    step: np.ndarray


@kernel
def _weights(query, row, vertex, step, out):
    """out[r, S] = the table between grid point r of the query and the vertex of a cell at which the features S are low."""
    for s in range(out.shape[1]):
        point = vertex
        for j in range(step.shape[0]):
            if not s >> j & 1:
                point += step[j]
        for r in range(out.shape[0]):
            out[r, s] = query.tables[row[r] + point]
            if query.turn != 0:
                out[r, s] = min(out[r, s], query.swapped[row[r] + point])


@kernel
def _least_of_one(weights, cut, s, a, low, high):
    """Return the least of D_S,a over low <= t <= high."""
    reached, value, least = 0.0, 0.0, np.inf
    for r in range(weights.shape[0]):
        end = cut[r] if r < cut.shape[0] else 1.0
        slope = weights[r, s] - weights[r, s | 1 << a]
        if reached <= low <= end:
            least = min(least, value + slope * (low - reached))
        if reached <= high <= end:
            least = min(least, value + slope * (high - reached))
        if low <= reached <= high:
            least = min(least, value)
        value += slope * (end - reached)
        reached = end
    return least


@kernel
def _whole(weights, cut):
    """Return G_all(1): the value where every feature is at its lower end."""
    total, reached, every = 0.0, 0.0, weights.shape[1] - 1
    for r in range(weights.shape[0]):
        end = cut[r] if r < cut.shape[0] else 1.0
        total += weights[r, every] * (end - reached)
        reached = end
    return total


@kernel
def _may_precede(intervals, p, q):
    """Return True if a fraction in interval p may be at most one in interval q; a tie counts for one order alone.

    One order of fractions that tie is never left out: those at the upper ends of their intervals first, at the lower ends last.
    """
    if intervals.low[p] == intervals.high[q]:
        return intervals.low[q] == intervals.high[p]
    return intervals.low[p] < intervals.high[q]


@kernel
def _boxes_of_two(whole, least, starts, ends, intervals, out):
    """Lower `out` to the bounds of the boxes of a cell of two features, whose intervals are ``starts`` to ``ends``."""
    for p in range(starts[0], ends[0]):
        for q in range(starts[1], ends[1]):
            i, j, value = p - starts[0], q - starts[1], np.inf
            if _may_precede(intervals, p, q):
                value = least[0, 0, i] + least[1, 1, j]
            if _may_precede(intervals, q, p):
                value = min(value, least[0, 1, j] + least[2, 0, i])
            code = intervals.code[p] + intervals.code[q]
            out[code] = min(out[code], whole + value)


@kernel
def _boxes_of_many(whole, least, starts, ends, intervals, out):
    """Do as `_boxes_of_two` for any number of features."""
    n, at = starts.shape[0], starts.copy()
    orders = _ORDERS[n]
    while at[0] < ends[0]:
        code = np.int64(0)
        for j in range(n):
            code += intervals.code[at[j]]
        for o in range(orders.shape[0]):
            value, s, occurs = whole, 0, True
            for j in range(n):
                a = orders[o, j]
                occurs &= j == 0 or _may_precede(intervals, at[orders[o, j - 1]], at[a])
                value += least[s, a, at[a] - starts[a]]
                s |= 1 << a
            if occurs:
                out[code] = min(out[code], value)
        j = n - 1
        at[j] += 1
        while j > 0 and at[j] == ends[j]:
            at[j] = starts[j]
            j -= 1
            at[j] += 1


@kernel
def _cell_minima(query, row, cut, step, starts, ends, intervals, out):
    n, vertex, most = step.shape[0], np.int64(0), np.int64(0)
    for j in range(n):
        vertex += intervals.cell[starts[j]] * step[j]
        most = max(most, ends[j] - starts[j])
    weights, least = np.empty((n + 1, 1 << n)), np.empty((1 << n, n, most))
    _weights(query, row, vertex, step, weights)
    for s in range(1 << n):
        for a in range(n):
            if not s >> a & 1:
                for i in range(starts[a], ends[a]):
                    least[s, a, i - starts[a]] = _least_of_one(weights, cut, s, a, intervals.low[i], intervals.high[i])
    if n == 2:
        _boxes_of_two(_whole(weights, cut), least, starts, ends, intervals, out)
    else:
        _boxes_of_many(_whole(weights, cut), least, starts, ends, intervals, out)


@kernel
def _end_of_cell(intervals, at, last):
    """Return the first interval after ``at`` that is in another cell, or ``last``."""
    end = at + 1
    while end < last and intervals.cell[end] == intervals.cell[at]:
        end += 1
    return end


@kernel
def box_minima(groups, query, intervals, out):
    """out[k, c] = a number that group k is not below between the query and any item of box c, inf where the box is empty.

    It is exact where the fractions of the features have one order in the box, up to rounding.
    """
    out[:] = np.inf
    for k in range(groups.first.shape[0] - 1):
        first, last = groups.first[k], groups.first[k + 1]
        row, cut, step = query.row[first + k : last + k + 1], query.cut[first:last], intervals.step[first:last]
        begin, stop = intervals.first[first:last], intervals.first[first + 1 : last + 1]
        starts, ends, n = begin.copy(), begin.copy(), last - first
        for j in range(n):
            ends[j] = _end_of_cell(intervals, starts[j], stop[j])
        while starts[0] < stop[0]:
            _cell_minima(query, row, cut, step, starts, ends, intervals, out[k])
            j = n - 1
            while j > 0 and ends[j] == stop[j]:
                starts[j] = begin[j]
                ends[j] = _end_of_cell(intervals, starts[j], stop[j])
                j -= 1
            starts[j] = ends[j]
            if starts[j] < stop[j]:
                ends[j] = _end_of_cell(intervals, starts[j], stop[j])


@kernel
def step_and_base(tables, top):
    """Return the scale on which the largest rise in a row of ``tables`` (M, C) is ``top``, and two sums over the rows.

    They sum the least entry of each row, and its largest absolute value, without infinite ones. For constant rows the step is
    infinite.
    """
    span, base, size = 0.0, 0.0, 0.0
    for m in range(tables.shape[0]):
        least, most = np.inf, -np.inf
        for c in range(tables.shape[1]):
            least = min(least, tables[m, c])
            if tables[m, c] < np.inf:
                most = max(most, tables[m, c])
        base += least
        size += max(abs(least), abs(most))
        span = max(span, most - least)
    return top / span, base, size


@kernel
def round_down(tables, step, top, out):
    """Write whole numbers 0..top to ``out`` (M, C), for which (sum of one a row) / step + base <= that of ``tables`` (M, C).

    What is infinite becomes ``top``; all are 0 where the step is infinite.
    """
    for m in range(tables.shape[0]):
        least = tables[m].min()
        for c in range(tables.shape[1]):
            rise = (tables[m, c] - least) * step - _ROUNDING if step < np.inf else 0.0
            out[m, c] = top if rise > top else np.int64(max(rise, 0.0))


@kernel
def add_up(codes, tables, out):
    """out[i] = sum over the rows of ``tables`` (M, C) of the entry that the code of item i names; codes are (M, n)."""
    for start in range(0, out.shape[0], _TILE):
        sums = out[start : start + _TILE]
        sums[:] = 0
        fours = codes.shape[0] - codes.shape[0] % 4
        for m in range(0, fours, 4):
            a, b, c, d = tables[m], tables[m + 1], tables[m + 2], tables[m + 3]
            of_a, of_b = codes[m, start : start + _TILE], codes[m + 1, start : start + _TILE]
            of_c, of_d = codes[m + 2, start : start + _TILE], codes[m + 3, start : start + _TILE]
            for i in range(sums.shape[0]):
                sums[i] += a[of_a[i]] + b[of_b[i]] + c[of_c[i]] + d[of_d[i]]
        for m in range(fours, codes.shape[0]):
            a, of_a = tables[m], codes[m, start : start + _TILE]
            for i in range(sums.shape[0]):
                sums[i] += a[of_a[i]]


@kernel
def first_astray(groups, intervals, positions, codes):
    """Return the first item whose positions (n, A) are not in the box that its codes (G, n) name, or -1.

    Intervals of a feature increase and do not overlap.
    """
    for i in range(positions.shape[0]):
        for k in range(groups.first.shape[0] - 1):
            code = np.int64(0)
            for j in range(groups.first[k], groups.first[k + 1]):
                at, last, x = intervals.first[j], intervals.first[j + 1], positions[i, j]
                while at < last:  # The first interval whose upper end is not below the position.
                    middle = (at + last) // 2
                    if intervals.cell[middle] + intervals.high[middle] < x:
                        at = middle + 1
                    else:
                        last = middle
                if at == intervals.first[j + 1] or not intervals.cell[at] + intervals.low[at] <= x:
                    return i
                code += intervals.code[at]
            if code != codes[k, i]:
                return i
    return -1
