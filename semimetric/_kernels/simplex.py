"""Barycentric coordinates in the Kuhn simplex of a grid cell: ID for vectors and for pairs (paper 2, Alg. 1).

A located vector has, on every axis, a lower vertex, an upper vertex and a fraction between them. A *group* is a set
of axes with its own table; axis k of a group moves the flat index of a vertex by ``stride[k]``. A pair of items is a
vector of 2F axes, x before y, on the grid [V; V] (paper 2, section 3), so one walk serves both.
"""

from typing import NamedTuple

import numpy as np

from .jit import kernel


class Located(NamedTuple):
    """Values on a grid: lower and upper vertex (n, F) uint16, and fraction (n, F) in [0, 1].

    A level of its own is (v, v, 0); a wrap-around is (c - 1, 0, fraction).
    """

    lower: np.ndarray
    upper: np.ndarray
    fraction: np.ndarray


class Singles(NamedTuple):
    """One-feature groups: feature, number of knots and first entry in ``lookup`` of each, and vertex -> column."""

    feature: np.ndarray
    size: np.ndarray
    start: np.ndarray
    lookup: np.ndarray


class Groups(NamedTuple):
    """Groups by axis: axis a belongs to groups ``group[first[a]:first[a + 1]]`` with those ``stride``.

    Group g writes its vertices to slots ``slot[g]:slot[g + 1]``.
    """

    first: np.ndarray
    group: np.ndarray
    stride: np.ndarray
    slot: np.ndarray


@kernel
def single_rows(x, i, y, j, singles, columns, values):
    """Fill the rows of one-feature groups for the pairs (x[i[r]], y[j[r]]): three columns and values a group.

    With s, t the fractions of x and y: min(s, t) at (upper, upper), |s - t| at the vertex in between, 1 - max(s, t) at
    (lower, lower). The order of the three does not depend on the order of x and y.
    """
    for r in range(i.shape[0]):
        a, b = i[r], j[r]
        for g in range(singles.feature.shape[0]):
            f, c, start = singles.feature[g], singles.size[g], singles.start[g]
            s, t = x.fraction[a, f], y.fraction[b, f]
            xl, xu = np.int64(x.lower[a, f]), np.int64(x.upper[a, f])
            yl, yu = np.int64(y.lower[b, f]), np.int64(y.upper[b, f])
            k = 3 * g
            columns[r, k] = singles.lookup[start + xu * c + yu]
            columns[r, k + 2] = singles.lookup[start + xl * c + yl]
            if t <= s:
                columns[r, k + 1] = singles.lookup[start + xu * c + yl]
                values[r, k], values[r, k + 1], values[r, k + 2] = t, s - t, 1.0 - s
            else:
                columns[r, k + 1] = singles.lookup[start + xl * c + yu]
                values[r, k], values[r, k + 1], values[r, k + 2] = s, t - s, 1.0 - t


@kernel
def walk(low, high, fraction, order, groups, work, vertices, values):
    """Visit the axes by increasing fraction once, and step down in every group that has the axis.

    ``work`` (2, n_groups) holds the current vertex and the next slot of each group; the fraction reached so far waits in
    the last slot of ``values``, which is written at the end.
    """
    n_groups = groups.slot.shape[0] - 1
    for g in range(n_groups):
        work[0, g] = 0
        work[1, g] = groups.slot[g]
        values[groups.slot[g + 1] - 1] = 0.0
    for a in range(order.shape[0]):
        for m in range(groups.first[a], groups.first[a + 1]):
            work[0, groups.group[m]] += high[a] * groups.stride[m]
    for q in range(order.shape[0]):
        a = order[q]
        for m in range(groups.first[a], groups.first[a + 1]):
            g = groups.group[m]
            slot, last = work[1, g], groups.slot[g + 1] - 1
            vertices[slot] = work[0, g]
            values[slot] = fraction[a] - values[last]
            values[last] = fraction[a]
            work[0, g] -= (high[a] - low[a]) * groups.stride[m]
            work[1, g] = slot + 1
    for g in range(n_groups):
        last = groups.slot[g + 1] - 1
        vertices[last] = work[0, g]
        values[last] = 1.0 - values[last]


@kernel
def group_rows_of_vectors(x, rows, order, groups, vertices, values):
    """Fill ID of single vectors: vertices and weights of the items ``rows``; ``order`` (n, F) sorts their fractions."""
    work = np.empty((2, groups.slot.shape[0] - 1), np.int64)
    for r in range(rows.shape[0]):
        i = rows[r]
        low, high = x.lower[i].astype(np.int64), x.upper[i].astype(np.int64)
        walk(low, high, x.fraction[i], order[i], groups, work, vertices[r], values[r])


@kernel
def _merge(s, t, order_s, order_t, out):
    """Merge two sorted orders into the order of the concatenation [s, t] in O(F) (paper 2, section 3)."""
    n = s.shape[0]
    p = q = 0
    for k in range(2 * n):
        if q == n or (p < n and s[order_s[p]] <= t[order_t[q]]):
            out[k] = order_s[p]
            p += 1
        else:
            out[k] = n + order_t[q]
            q += 1


@kernel
def group_rows_of_pairs(x, i, y, j, orders, groups, vertices, values):
    """Fill ID of the pairs (x[i[r]], y[j[r]]) on the grid [V; V]; ``orders`` = sorted fractions of all x and of all y."""
    n = x.fraction.shape[1]
    work = np.empty((2, groups.slot.shape[0] - 1), np.int64)
    low, high = np.empty(2 * n, np.int64), np.empty(2 * n, np.int64)
    fraction, order = np.empty(2 * n), np.empty(2 * n, np.int64)
    for r in range(i.shape[0]):
        a, b = i[r], j[r]
        for f in range(n):
            low[f], low[n + f] = x.lower[a, f], y.lower[b, f]
            high[f], high[n + f] = x.upper[a, f], y.upper[b, f]
            fraction[f], fraction[n + f] = x.fraction[a, f], y.fraction[b, f]
        _merge(fraction[:n], fraction[n:], orders[0][a], orders[1][b], order)
        walk(low, high, fraction, order, groups, work, vertices[r], values[r])
