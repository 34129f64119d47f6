"""Piecewise-linear embeddings of single vectors, written straight into CSR buffers (paper 0, Alg. 1 and 2).

Every feature has vertices: its knots and, last, a level for missing values where it has one. One vertex may be left out, the
knot 0 of maps that keep zeros; the others have the places 0, 1, ..., ``width - 1``, and -1 stands for what is left out.
An entry is written first and counted after, where its value is not 0, so no branch depends on the data: a row needs room for
two entries of every feature that has a place, and three of every pair of these.
"""

from typing import NamedTuple

import numpy as np

from .jit import kernel
from .locate import lower_knot
from .simplex import walk

_ROWS = 64  # So many rows are located at a time.
_LEAST = 1e-30  # A smaller fraction is 0 in single precision.
_COUNTED = 128  # Up to this number of knots, counting them beats a search.


class Axes(NamedTuple):
    """Features on knots ``knots[starts[f]:starts[f + 1]]``."""

    knots: np.ndarray
    starts: np.ndarray
    hole: np.ndarray  # the vertex that is left out; -1 for none
    level: np.ndarray  # the place of missing values, -1 where they add nothing
    width: np.ndarray  # the number of places of every feature
    column: np.ndarray  # the first column of every feature


class Partners(NamedTuple):
    """Pairs (f, partner[p]), p in ``first[f]:first[f + 1]``, f < partner[p], with the first column ``start[p]``.

    All pairs where ``first`` is empty: (f, l) has the first column ``start[f] + width[f] * partner[l]``, in closed form.
    """

    first: np.ndarray
    partner: np.ndarray
    start: np.ndarray


class PackedTables(NamedTuple):
    """Columns of groups: vertex v is column ``base[g] + v``, or ``base[g]`` + its place among the sorted keys of the group.

    Group g has the keys ``keys[first[g]:first[g + 1]]`` where ``touched[g]``; a vertex that is none of them has no column.
    """

    base: np.ndarray
    touched: np.ndarray
    first: np.ndarray
    keys: np.ndarray


class Places(NamedTuple):
    """Positions of rows: the lower and upper vertex of every feature (-1: left out), and the fraction between."""

    lower: np.ndarray
    upper: np.ndarray
    fraction: np.ndarray


@kernel
def _without(vertex, hole):
    """Return the place of a vertex where the vertex ``hole`` is left out; -1 for that vertex itself."""
    return -1 if vertex == hole else vertex - (vertex > hole)


@kernel
def _cells(x, knots, cell):
    """Count the inner knots below every value: knot by knot where they are few, which runs on vectors."""
    cell[:] = 0
    if knots.shape[0] > _COUNTED:
        for r in range(x.shape[0]):
            cell[r] = lower_knot(x[r], knots, np.int64(0), knots.shape[0] - 1)
    else:
        for q in range(1, knots.shape[0] - 1):
            for r in range(x.shape[0]):
                cell[r] += knots[q] < x[r]


@kernel
def _locate(x, axes, places):
    """Fill the places of the rows ``x`` (B, F); fractions are < 0 or > 1 outside of the knots."""
    value, cell = np.empty(x.shape[0]), np.empty(x.shape[0], np.int64)
    for f in range(x.shape[1]):
        knots, hole, level = axes.knots[axes.starts[f] : axes.starts[f + 1]], axes.hole[f], axes.level[f]
        for r in range(x.shape[0]):
            value[r] = x[r, f]
        _cells(value, knots, cell)
        for r in range(x.shape[0]):
            lo = cell[r]
            places.lower[r, f], places.upper[r, f], places.fraction[r, f] = lo, lo, 0.0
            if knots.shape[0] > 1:
                places.upper[r, f] = lo + 1
                places.fraction[r, f] = (value[r] - knots[lo]) / (knots[lo + 1] - knots[lo])
            if hole >= 0 and value[r] == 0:
                places.lower[r, f] = places.upper[r, f] = -1
            elif hole >= 0:
                places.lower[r, f] = _without(places.lower[r, f], hole)
                places.upper[r, f] = _without(places.upper[r, f], hole)
            if np.isnan(value[r]):
                places.lower[r, f], places.upper[r, f], places.fraction[r, f] = level, level, 0.0


@kernel
def _put_singles(lower, upper, fraction, column, linear, row, out):
    """Write the two vertices of every feature at the end of a row, then clip the fractions.

    While a row is written, ``out.indptr[row + 1]`` is where its next entry goes.
    """
    at = np.int64(out.indptr[row + 1])
    for f in range(column.shape[0]):
        if lower[f] < 0 and upper[f] < 0:
            continue
        t = fraction[f]
        inside = min(max(t, 0.0), 1.0)
        fraction[f] = inside
        if not linear:
            t = inside
        out.indices[at], out.data[at] = column[f] + lower[f], 1.0 - t
        at += (lower[f] >= 0) & (out.data[at] != 0)
        out.indices[at], out.data[at] = column[f] + upper[f], t
        at += (upper[f] >= 0) & (out.data[at] != 0)
    out.indptr[row + 1] = at


@kernel
def _places(n_rows, n_features):
    shape = (min(n_rows, _ROWS), n_features)
    return Places(np.empty(shape, np.int64), np.empty(shape, np.int64), np.empty(shape))


@kernel
def write_singles(x, axes, linear, out):
    """Write the rows of PL1 of ``x`` (n, F); beyond the knots the outer cells go on if ``linear``, else values are clipped."""
    places = _places(*x.shape)
    out.indptr[0] = 0
    for start in range(0, x.shape[0], _ROWS):
        rows = x[start : start + _ROWS]
        _locate(rows, axes, places)
        for r in range(rows.shape[0]):
            row = start + r
            out.indptr[row + 1] = out.indptr[row]
            _put_singles(places.lower[r], places.upper[r], places.fraction[r], axes.column, linear, row, out)


@kernel
def _put_pairs(lower, upper, fraction, width, pairs, row, out):
    """Write the three vertices of every pair, the lower and the upper of both and one between, at the end of a row; sorted."""
    at = np.int64(out.indptr[row + 1])
    active = np.flatnonzero((lower >= 0) | (upper >= 0))
    every = pairs.first.shape[0] == 0
    for k in range(active.shape[0]):
        f = active[k]
        lo, up, s = lower[f], upper[f], fraction[f]
        first, last = (k + 1, active.shape[0]) if every else (pairs.first[f], pairs.first[f + 1])
        for p in range(first, last):
            other = active[p] if every else pairs.partner[p]
            start = pairs.start[f] + width[f] * pairs.partner[other] if every else pairs.start[p]
            low, high, t, stride = lower[other], upper[other], fraction[other], width[other]
            if low < 0 and high < 0:
                continue
            out.indices[at], out.data[at] = start + lo * stride + low, 1.0 - max(s, t)
            at += ((lo | low) >= 0) & (out.data[at] != 0)
            a, b = (up, low) if t < s else (lo, high)
            out.indices[at], out.data[at] = start + a * stride + b, abs(s - t)
            at += ((a | b) >= 0) & (out.data[at] != 0)
            out.indices[at], out.data[at] = start + up * stride + high, min(s, t)
            at += ((up | high) >= 0) & (out.data[at] != 0)
    out.indptr[row + 1] = at


@kernel
def _inside(lower, upper, fraction):
    """Return True if every feature lies within a cell: then no entry of a pair is 0 but where fractions tie."""
    for f in range(lower.shape[0]):
        if lower[f] < 0 or upper[f] != lower[f] + 1 or not _LEAST < fraction[f] < 1.0:
            return False
    return True


@kernel
def _put_all_pairs(lower, fraction, width, pairs, row, out):
    """Do as `_put_pairs` for all pairs of a row that is `_inside`, without a branch.

    Where two fractions tie, an entry is 0, and the end of the row stays where it was.
    """
    at, ties = np.int64(out.indptr[row + 1]), 0
    for f in range(lower.shape[0]):
        s, first = fraction[f], pairs.start[f]
        for other in range(f + 1, lower.shape[0]):
            t, stride = fraction[other], width[other]
            base = first + width[f] * pairs.partner[other] + lower[f] * stride + lower[other]
            ties += s == t
            out.indices[at], out.data[at] = base, 1.0 - max(s, t)
            out.indices[at + 1], out.data[at + 1] = base + (stride if t < s else 1), abs(s - t)
            out.indices[at + 2], out.data[at + 2] = base + stride + 1, min(s, t)
            at += 3
    if ties == 0:
        out.indptr[row + 1] = at


@kernel
def write_pairs(x, axes, linear, pairs, out):
    """Write PL1, then all ``pairs``: clipped, the second feature running fastest."""
    places = _places(*x.shape)
    out.indptr[0] = 0
    for start in range(0, x.shape[0], _ROWS):
        rows = x[start : start + _ROWS]
        _locate(rows, axes, places)
        for r in range(rows.shape[0]):
            row, place = start + r, (places.lower[r], places.upper[r], places.fraction[r])
            out.indptr[row + 1] = out.indptr[row]
            _put_singles(*place, axes.column, linear, row, out)
            end = out.indptr[row + 1]
            if pairs.first.shape[0] == 0 and _inside(*place):
                _put_all_pairs(place[0], place[2], axes.width, pairs, row, out)
            if out.indptr[row + 1] == end:
                _put_pairs(*place, axes.width, pairs, row, out)


@kernel
def _among(vertex, keys):
    """Return the place of a vertex among sorted keys, -1 where it is none of them."""
    k = np.searchsorted(keys, vertex)
    return k if k < keys.shape[0] and keys[k] == vertex else -1


@kernel
def _gone(lower, groups, gone):
    """Mark the groups of which some feature has no vertex, and let that feature stand at vertex 0."""
    gone[:] = False
    for a in range(lower.shape[0]):
        if lower[a] < 0:
            lower[a] = 0
            for m in range(groups.first[a], groups.first[a + 1]):
                gone[groups.group[m]] = True


@kernel
def write_groups(x, axes, groups, tables, out):
    """Write ID of every group (paper 2, Alg. 1): the fractions of a row are sorted once; missing values leave a group out.

    A walk steps down, from the largest vertex of a group to the smallest, so its slots are read backwards.
    """
    n_groups = groups.slot.shape[0] - 1
    vertices, values = np.empty(groups.slot[n_groups], np.int64), np.empty(groups.slot[n_groups])
    work, gone = np.empty((2, n_groups), np.int64), np.empty(n_groups, np.bool_)
    places, at = _places(*x.shape), 0
    out.indptr[0] = 0
    for start in range(0, x.shape[0], _ROWS):
        rows = x[start : start + _ROWS]
        _locate(rows, axes, places)
        for r in range(rows.shape[0]):
            _gone(places.lower[r], groups, gone)
            fraction = np.minimum(np.maximum(places.fraction[r], 0.0), 1.0)
            walk(places.lower[r], places.upper[r], fraction, np.argsort(fraction), groups, work, vertices, values)
            for g in range(n_groups):
                if gone[g]:
                    continue
                first, last = groups.slot[g], groups.slot[g + 1]
                if tables.touched[g]:
                    keys = tables.keys[tables.first[g] : tables.first[g + 1]]
                    for slot in range(first, last):
                        vertices[slot] = _among(vertices[slot], keys)
                for slot in range(last - 1, first - 1, -1):
                    out.indices[at], out.data[at] = tables.base[g] + vertices[slot], values[slot]
                    at += (vertices[slot] >= 0) & (out.data[at] != 0)
            out.indptr[start + r + 1] = at
