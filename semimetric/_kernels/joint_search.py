"""Search under joint tables: for a fixed query a pair needs g + 1 rows of the table of a group of g features.

The fractions s_1 <= ... <= s_g of the query in a group cut [0, 1] into g + 1 intervals. At a level in interval r the r
features of the smallest fractions are at their lower vertex, the others at their upper one: that is a grid point of the query,
whose row of the table is all that an item meets at this level. The fractions of the item cut [0, 1] in the same way, so

    value = sum over the intervals that both cut of length * row[grid point of the item],

which is w · ID([query, item]), added up in the same order: the walk of paper 2, Alg. 1, from the largest vertex on.
"""

from typing import NamedTuple

import numpy as np

from .jit import kernel

_ROWS = 256  # So many items are laid out together, feature by feature, in the first-level cache.


class GroupArrays(NamedTuple):
    """Groups of features with a joint table: group k has the places ``first[k]:first[k + 1]`` of what is said of its features.

    ``column`` (A,) is the column of a feature among located items, ``stride`` (A,) by how much the number of a grid point grows
    in a step along it. Group k has ``points[k]`` grid points, and a table that begins at ``start[k]``.
    """

    first: np.ndarray
    column: np.ndarray
    stride: np.ndarray
    points: np.ndarray
    start: np.ndarray


class JointQuery(NamedTuple):
    """A query under joint groups.

    Group k reads the rows that begin at ``row[first[k] + k:first[k + 1] + k + 1]`` of ``tables``, one for each interval between
    its fractions ``cut[first[k]:first[k + 1]]``, which increase. Where ``turn`` is not 0, the distance swaps a pair whose first
    vector is lexicographically smaller (1: the query is the first, -1: the item is), and reads ``swapped`` then; ``lower`` and
    ``fraction`` (A,) say where the query lies.
    """

    tables: np.ndarray
    swapped: np.ndarray
    row: np.ndarray
    cut: np.ndarray
    lower: np.ndarray
    fraction: np.ndarray
    turn: int


class _Block(NamedTuple):
    """Some items, feature by feature: lower and upper vertex, and fraction between them, each (F, _ROWS)."""

    lower: np.ndarray
    upper: np.ndarray
    fraction: np.ndarray


@kernel
def place_queries(groups, lower, upper, fraction, row, cut):
    """Fill the rows of every query, (B, A + G), and its cuts, (B, A), as in `JointQuery`, from where it lies, (B, F)."""
    for b in range(row.shape[0]):
        for k in range(groups.first.shape[0] - 1):
            first, last = groups.first[k], groups.first[k + 1]
            point = np.int64(0)
            for j in range(first, last):
                c, at = groups.column[j], j
                point += np.int64(upper[b, c]) * groups.stride[j]
                while at > first and cut[b, at - 1] > fraction[b, c]:
                    cut[b, at], row[b, at + k + 1] = cut[b, at - 1], row[b, at + k]
                    at -= 1
                cut[b, at] = fraction[b, c]
                row[b, at + k + 1] = (np.int64(upper[b, c]) - np.int64(lower[b, c])) * groups.stride[j]
            row[b, first + k] = groups.start[k] + point * groups.points[k]
            for j in range(first + k + 1, last + k + 1):
                row[b, j] = row[b, j - 1] - row[b, j] * groups.points[k]


@kernel
def _add_two(tables, row, cut, column, stride, block, out):
    """Add the value of a group of two features to ``out`` (B,), without a branch, so that it runs on vectors.

    An interval of the query is cut by the two fractions of the item into at most three, of which some are empty.
    """
    i, j, along_i, along_j = column[0], column[1], np.int32(stride[0]), np.int32(stride[1])
    lower_i, lower_j, upper_i, upper_j = block.lower[i], block.lower[j], block.upper[i], block.upper[j]
    fraction_i, fraction_j = block.fraction[i], block.fraction[j]
    first, second, third, a, b = tables[row[0] :], tables[row[1] :], tables[row[2] :], cut[0], cut[1]
    for r in range(out.shape[0]):
        low_i, low_j, high_i, high_j = lower_i[r] * along_i, lower_j[r] * along_j, upper_i[r] * along_i, upper_j[r] * along_j
        before = fraction_i[r] <= fraction_j[r]
        s = fraction_i[r] if before else fraction_j[r]
        t = fraction_j[r] if before else fraction_i[r]
        low, high = low_i + low_j, high_i + high_j
        middle = low_i + high_j if before else high_i + low_j
        from_s, from_t = a if a < s else s, a if a < t else t
        total = from_s * first[high]
        total += (from_t - from_s) * first[middle]
        total += (a - from_t) * first[low]
        from_s, from_t = s if s > a else a, t if t > a else a
        from_s, from_t = b if b < from_s else from_s, b if b < from_t else from_t
        total += (from_s - a) * second[high]
        total += (from_t - from_s) * second[middle]
        total += (b - from_t) * second[low]
        from_s, from_t = s if s > b else b, t if t > b else b
        total += (from_s - b) * third[high]
        total += (from_t - from_s) * third[middle]
        total += (1.0 - from_t) * third[low]
        out[r] += total


@kernel
def sort_steps(step, fraction):
    """Sort the fractions in place, and put the steps in the same order."""
    for j in range(1, fraction.shape[0]):
        f, d, i = fraction[j], step[j], j
        while i > 0 and fraction[i - 1] > f:
            fraction[i], step[i] = fraction[i - 1], step[i - 1]
            i -= 1
        fraction[i], step[i] = f, d


@kernel
def _of_many(tables, row, cut, vertex, step, fraction):
    """Return the value of a group of any number of features, whose fractions increase.

    The item begins at ``vertex``, and feature j takes it down by a step.
    """
    n = fraction.shape[0]
    total, reached, p, q = 0.0, 0.0, 0, 0
    while p + q < 2 * n:
        of_query = q == n or (p < n and cut[p] <= fraction[q])
        level = cut[p] if of_query else fraction[q]
        total += (level - reached) * tables[row[p] + vertex]
        reached = level
        if of_query:
            p += 1
        else:
            vertex -= step[q]
            q += 1
    return total + (1.0 - reached) * tables[row[n] + vertex]


@kernel
def _is_smaller(query, first, column, block, r):
    """Return True if the first of two vectors is lexicographically smaller in a group, by cells and fractions."""
    for j in range(column.shape[0]):
        apart = np.float64(query.lower[first + j] - block.lower[column[j], r])
        if apart == 0.0:
            apart = query.fraction[first + j] - block.fraction[column[j], r]
        if apart != 0.0:
            return apart * query.turn < 0.0
    return False


@kernel
def _add_many(query, row, first, column, stride, block, out):
    """Add the value of a group of any number of features to ``out`` (B,); its first feature has the place ``first``."""
    n = column.shape[0]
    cut, step, fraction = query.cut[first : first + n], np.empty(n, np.int64), np.empty(n)
    for r in range(out.shape[0]):
        vertex = 0
        for j in range(n):
            low, high = np.int64(block.lower[column[j], r]), np.int64(block.upper[column[j], r])
            vertex += high * stride[j]
            step[j], fraction[j] = (high - low) * stride[j], block.fraction[column[j], r]
        sort_steps(step, fraction)
        turned = query.turn != 0 and _is_smaller(query, first, column, block, r)
        out[r] += _of_many(query.swapped if turned else query.tables, row, cut, vertex, step, fraction)


@kernel
def add_joint_values(groups, query, lower, upper, fraction, rows, out):
    """out[r] += sum over the groups between the query and the item rows[r], whose cells and fractions are (n, F)."""
    shape = (lower.shape[1], _ROWS)
    block = _Block(np.empty(shape, np.int32), np.empty(shape, np.int32), np.empty(shape))
    for start in range(0, rows.shape[0], _ROWS):
        of_block, sums = rows[start : start + _ROWS], out[start : start + _ROWS]
        for r in range(of_block.shape[0]):
            for f in range(shape[0]):
                block.lower[f, r], block.upper[f, r] = lower[of_block[r], f], upper[of_block[r], f]
                block.fraction[f, r] = fraction[of_block[r], f]
        for k in range(groups.first.shape[0] - 1):
            first, last = groups.first[k], groups.first[k + 1]
            row, column, stride = query.row[first + k : last + k + 1], groups.column[first:last], groups.stride[first:last]
            if last - first == 2 and query.turn == 0:
                _add_two(query.tables, row, query.cut[first:last], column, stride, block, sums)
            else:
                _add_many(query, row, first, column, stride, block, sums)
