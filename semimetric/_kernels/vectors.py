"""Piecewise-linear embeddings of single vectors, written straight into CSR buffers (paper 0, Alg. 1 and 2).

Every feature has vertices: its knots and, last, a level for missing values where it has one. A vertex that is kept has a place
0, 1, ..., ``width - 1``; one that is left out, because it adds nothing, has the place -1, and its entries are not written.
An entry is written first and counted after, where its value is not 0, so no branch depends on the data.
"""

from typing import NamedTuple

import numpy as np

from .jit import kernel
from .locate import lower_knot

__all__ = ["Axes", "Partners", "write_pairs", "write_singles"]


class Axes(NamedTuple):
    """Features on knots ``knots[starts[f]:starts[f + 1]]``; vertex v has the place ``place[starts[f] + f + v]``.

    The vertex after the last knot is the level for missing values. ``column`` is the first column of every feature.
    """

    knots: np.ndarray
    starts: np.ndarray
    place: np.ndarray
    width: np.ndarray
    column: np.ndarray


class Partners(NamedTuple):
    """Pairs (f, partner[p]) for p in ``first[f]:first[f + 1]``, f < partner[p], with the first column ``start[p]``."""

    first: np.ndarray
    partner: np.ndarray
    start: np.ndarray


@kernel
def _locate(value, f, axes):
    """Places of the lower and the upper vertex, and the fraction between them, < 0 or > 1 outside of the knots."""
    first, last = axes.starts[f], axes.starts[f + 1] - 1
    vertex = first + f
    if np.isnan(value):
        level = axes.place[vertex + last + 1 - first]
        return level, level, 0.0
    if first == last:
        return axes.place[vertex], axes.place[vertex], 0.0
    lo = lower_knot(value, axes.knots, first, last)
    fraction = (value - axes.knots[lo]) / (axes.knots[lo + 1] - axes.knots[lo])
    vertex += lo - first
    return axes.place[vertex], axes.place[vertex + 1], fraction


@kernel
def _put(column, value, kept, at, out):
    """Write an entry at ``at``, and say where the next one goes: over this one where it is 0 or not kept."""
    out.indices[at] = column
    out.data[at] = value
    return at + (kept and out.data[at] != 0)


@kernel
def write_singles(x, axes, linear, out):
    """Rows of PL1 of ``x`` (n, F); with ``linear`` the outer cells go on beyond the knots, else values are clipped."""
    at = 0
    out.indptr[0] = 0
    for r in range(x.shape[0]):
        for f in range(x.shape[1]):
            lo, up, t = _locate(x[r, f], f, axes)
            if not linear:
                t = min(max(t, 0.0), 1.0)
            at = _put(axes.column[f] + lo, 1.0 - t, lo >= 0, at, out)
            at = _put(axes.column[f] + up, t, up >= 0, at, out)
        out.indptr[r + 1] = at


@kernel
def write_pairs(x, axes, linear, pairs, out):
    """PL1, then all ``pairs``: three vertices each, clipped, the second feature running fastest."""
    n_features = x.shape[1]
    lower, upper, fraction = np.empty(n_features, np.int64), np.empty(n_features, np.int64), np.empty(n_features)
    at = 0
    out.indptr[0] = 0
    for r in range(x.shape[0]):
        for f in range(n_features):
            lo, up, t = _locate(x[r, f], f, axes)
            inside = min(max(t, 0.0), 1.0)
            lower[f], upper[f], fraction[f] = lo, up, inside
            if not linear:
                t = inside
            at = _put(axes.column[f] + lo, 1.0 - t, lo >= 0, at, out)
            at = _put(axes.column[f] + up, t, up >= 0, at, out)
        for f in range(n_features):
            lo, up, s = lower[f], upper[f], fraction[f]
            if lo < 0 and up < 0:
                continue
            for p in range(pairs.first[f], pairs.first[f + 1]):
                other, start = pairs.partner[p], pairs.start[p]
                low, high, t, width = lower[other], upper[other], fraction[other], axes.width[other]
                at = _put(start + lo * width + low, 1.0 - max(s, t), (lo | low) >= 0, at, out)
                a, b = (up, low) if t < s else (lo, high)
                at = _put(start + a * width + b, abs(s - t), (a | b) >= 0, at, out)
                at = _put(start + up * width + high, min(s, t), (up | high) >= 0, at, out)
        out.indptr[r + 1] = at
