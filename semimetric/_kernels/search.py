"""Search under sums of one-feature tables: tabulate a query once, bound its cells from below, refine candidates exactly.

A value's *position* on a feature is its lower vertex plus its fraction; outside the range it goes on in units of the
range. For a fixed query, position -> value is piecewise linear, with breakpoints at the knots, at the query's fraction in
every cell, and at the query itself where it lies outside (docs/mathematics.md, section 4).
"""

from typing import NamedTuple

import numpy as np

from .jit import kernel
from .locate import clipped, rise

_AHEAD, _LINE = 16, 8  # The number of rows whose memory is asked for together, and of values in a cache line.


class Scales(NamedTuple):
    """One-feature parts of a distance."""

    size: np.ndarray  # the number of knots of each
    start: np.ndarray  # its first table entry
    first: np.ndarray  # its first piece
    epsilon: np.ndarray  # (P, 2): its slopes below and above the range, per position
    tables: np.ndarray  # all tables, with the query's vertex first


class Profiles(NamedTuple):
    """A block of queries: two linear pieces a cell (B, K, 2), positions, fractions, and rises beyond the range (B, E)."""

    pieces: np.ndarray
    position: np.ndarray
    fraction: np.ndarray
    beyond: np.ndarray


class SearchedItems(NamedTuple):
    """Items that are searched: positions (n, E) on the features of the scales, the rank of each, and the least sum.

    Among items of the same sum the one of the smallest rank comes first; where ``rank`` is empty, rows rank themselves. No
    sum is below ``least``.
    """

    positions: np.ndarray
    rank: np.ndarray
    least: float


class Candidates(NamedTuple):
    """Items to look at for one query: their rows (R,), values to add to their sums, and lower bounds of these sums.

    A row of -1 ends the list. ``extra`` and ``bounds`` have R entries or none; bounds increase.
    """

    rows: np.ndarray
    extra: np.ndarray
    bounds: np.ndarray


class BestItems(NamedTuple):
    """The k nearest items so far: sums (k,), increasing, and rows (k,), with inf and -1 where there are fewer.

    ``refined`` (1,) counts the candidates that were looked at.
    """

    sums: np.ndarray
    rows: np.ndarray
    refined: np.ndarray


@kernel
def cell_of(position, size):
    """Return the cell of a position, the fraction in it, and how far the position lies outside the range."""
    inside = clipped(position, size - 1.0)
    k = min(np.int64(inside), max(size - 2, 0))
    return k, inside - k, position - inside


@kernel
def tabulate(scales, profiles):
    """Fill the pieces, fractions and rises beyond the range of ``profiles`` from its positions.

    Pieces 2k and 2k + 1 of a cell hold for fractions t <= s and t > s of the query's fraction s:
        t <= s:  [s w(u, k) + (1 - s) w(l, k)] + t [w(u, k + 1) - w(u, k)]
        t >  s:  [s w(u, k + 1) - s w(l, k + 1) + w(l, k)] + t [w(l, k + 1) - w(l, k)]
    """
    for b in range(profiles.position.shape[0]):
        for e in range(scales.size.shape[0]):
            size, start, first = scales.size[e], scales.start[e], scales.first[e]
            cell, s, beyond = cell_of(profiles.position[b, e], size)
            profiles.fraction[b, e], profiles.beyond[b, e] = s, rise(beyond, scales.epsilon[e, 0], scales.epsilon[e, 1])
            pieces = profiles.pieces[b, first : first + 2 * max(size - 1, 1)]
            if size == 1:
                pieces[:, 0], pieces[:, 1] = scales.tables[start], 0.0
                continue
            lower = scales.tables[start + cell * size : start + (cell + 1) * size]
            upper = scales.tables[start + (cell + 1) * size : start + (cell + 2) * size]
            for k in range(size - 1):
                pieces[2 * k, 0] = s * upper[k] + (1.0 - s) * lower[k]
                pieces[2 * k, 1] = upper[k + 1] - upper[k]
                pieces[2 * k + 1, 0] = s * (upper[k + 1] - lower[k + 1]) + lower[k]
                pieces[2 * k + 1, 1] = lower[k + 1] - lower[k]


@kernel
def _value(position, e, scales, profiles, b):
    k, t, beyond = cell_of(position, scales.size[e])
    piece = scales.first[e] + 2 * k + (t > profiles.fraction[b, e])
    outside = abs(profiles.beyond[b, e] - rise(beyond, scales.epsilon[e, 0], scales.epsilon[e, 1]))
    return profiles.pieces[b, piece, 0] + profiles.pieces[b, piece, 1] * t + outside


@kernel
def _sum(positions, scales, profiles, b, least):
    """Sum the features between query b and the item at ``positions`` (E,); return at least ``least``."""
    total = 0.0
    for e in range(positions.shape[0]):
        total += _value(positions[e], e, scales, profiles, b)
    return max(total, least)


@kernel
def _touch(positions, rows, start, seen):
    """Read one value a cache line of the next rows, so that their loads from memory overlap; ``seen`` keeps the reads."""
    for r in range(start, min(start + _AHEAD, rows.shape[0])):
        if rows[r] >= 0:
            for e in range(0, positions.shape[1], _LINE):
                seen[0] += positions[rows[r], e]


@kernel
def values(scales, profiles, b, positions, rows, least, out):
    """out[r] = sum over the features between query b and the item rows[r], at least ``least``."""
    seen = np.zeros(1)
    for r in range(rows.shape[0]):
        if r % _AHEAD == 0:
            _touch(positions, rows, r, seen)
        out[r] = _sum(positions[rows[r]], scales, profiles, b, least)


@kernel
def _least_in(low, high, e, scales, profiles, b):
    """Return the smallest value over low <= position <= high: at an end, or at a breakpoint between."""
    least = min(_value(low, e, scales, profiles, b), _value(high, e, scales, profiles, b))
    last, s, own = scales.size[e] - 1.0, profiles.fraction[b, e], profiles.position[b, e]
    for k in range(np.int64(clipped(low, last)), np.int64(clipped(high, last)) + 1):
        if low < k < high:
            least = min(least, _value(k, e, scales, profiles, b))
        if low < k + s < high:
            least = min(least, _value(k + s, e, scales, profiles, b))
    if low < own < high:
        least = min(least, _value(own, e, scales, profiles, b))
    return least


@kernel
def cell_minima(scales, profiles, entry, low, high, out):
    """out[b, p, c]: the smallest value over cell c of part p, whose feature is entry[p]; inf if it is empty."""
    for b in range(profiles.position.shape[0]):
        for p in range(entry.shape[0]):
            for c in range(low.shape[1]):
                empty = low[p, c] > high[p, c]
                out[b, p, c] = np.inf if empty else _least_in(low[p, c], high[p, c], entry[p], scales, profiles, b)


@kernel
def cell_means(scales, profiles, entry, typical, out):
    """out[b, p, c]: the mean value over the typical positions (P, C, T) of cell c."""
    for b in range(profiles.position.shape[0]):
        for p in range(entry.shape[0]):
            for c in range(typical.shape[1]):
                total = 0.0
                for t in range(typical.shape[2]):
                    total += _value(typical[p, c, t], entry[p], scales, profiles, b)
                out[b, p, c] = total / typical.shape[2]


@kernel
def encode(positions, entry, edges, low, high, codes):
    """Fill the cells of all items, (n, P), and the range of positions in each cell, which grows by these items.

    A position is in the first cell whose upper edge is >= it; edges (P, C - 1) may be infinite.
    """
    for i in range(positions.shape[0]):
        for p in range(entry.shape[0]):
            x, a, z = positions[i, entry[p]], 0, edges.shape[1]
            while a < z:
                middle = (a + z) // 2
                if x <= edges[p, middle]:
                    z = middle
                else:
                    a = middle + 1
            codes[i, p] = a
            low[p, a], high[p, a] = min(low[p, a], x), max(high[p, a], x)


class PackedParts(NamedTuple):
    """Parts whose cells become codes of 4 bits: upper edges (P, 15), and column and step of each in its code, (P,)."""

    edges: np.ndarray
    column: np.ndarray
    step: np.ndarray


@kernel
def encode_packed(positions, parts, low, high, codes):
    """Do as `encode` for all features (n, P) in their order, and pack the cells into codes (n, n_bytes), two columns a byte.

    The even column has the low bits. What other parts of an item have in its codes stays.
    """
    for i in range(positions.shape[0]):
        for p in range(parts.edges.shape[0]):
            x, a = positions[i, p], 0
            for half in (8, 4, 2, 1):
                a += half if parts.edges[p, a + half - 1] < x else 0
            codes[i, parts.column[p] >> 1] += (a * parts.step[p]) << 4 * (parts.column[p] & 1)
            low[p, a], high[p, a] = min(low[p, a], x), max(high[p, a], x)


@kernel
def nearest(scales, profiles, b, items, candidates, slack, best):
    """Look at the candidates in their order, and keep in ``best`` the k nearest to query b by (sum, rank).

    The sums and rows that ``best`` holds already take part. As soon as a bound exceeds the k-th sum by more than ``slack``,
    no later candidate can be among the nearest, and the loop ends. ``best.refined[0]`` becomes the number of candidates that
    were looked at.
    """
    rows, bounds, rank = candidates.rows, candidates.bounds, items.rank
    k, seen = best.sums.shape[0], np.zeros(1)
    best.refined[0] = rows.shape[0]
    for r in range(rows.shape[0]):
        if r % _AHEAD == 0:
            _touch(items.positions, rows, r, seen)
        row = rows[r]
        if row < 0 or (bounds.shape[0] and bounds[r] > best.sums[k - 1] + slack):
            best.refined[0] = r
            break
        value = _sum(items.positions[row], scales, profiles, b, -np.inf)
        if candidates.extra.shape[0]:
            value += candidates.extra[r]
        value = max(value, items.least)
        if not value > best.sums[k - 1]:
            _insert(value, row, rank, best)


@kernel
def _comes_first(row, other, rank):
    """Return True if a row is answered before another with the same sum; an empty rank is the order of the rows.

    A row of -1, which stands for no item, comes last.
    """
    if other < 0:
        return True
    return row < other if rank.shape[0] == 0 else rank[row] < rank[other]


@kernel
def _insert(value, row, rank, best):
    """Put a row where it belongs among the best, whose last leaves; a row that ties with the last may belong nowhere."""
    sums, rows = best.sums, best.rows
    at = sums.shape[0] - 1
    if value == sums[at] and rows[at] >= 0 and _comes_first(rows[at], row, rank):
        return
    while at > 0 and (value < sums[at - 1] or (value == sums[at - 1] and _comes_first(row, rows[at - 1], rank))):
        sums[at], rows[at] = sums[at - 1], rows[at - 1]
        at -= 1
    sums[at], rows[at] = value, row


@kernel
def nearest_of_each(scales, profiles, items, rows, bounds, slack, best):
    """Do as `nearest` for every query of a block.

    ``rows`` and ``bounds`` have the shape (B, R), ``slack`` (B,), and the arrays of ``best`` (B, k), (B, k) and (B,).
    """
    nothing = np.empty(0)
    for b in range(rows.shape[0]):
        candidates = Candidates(rows[b], nothing, bounds[b])
        of_query = BestItems(best.sums[b], best.rows[b], best.refined[b : b + 1])
        nearest(scales, profiles, b, items, candidates, slack[b], of_query)


class Heavy(NamedTuple):
    """Features whose values make nearly the whole of a sum of values >= 0, so that most items need no others."""

    features: np.ndarray  # (H,), increasing; empty where every item needs all features
    room: float  # more than rounding can make of a sum


_SHARE = 1.0 - 1e-10  # of a sum of some features, which is at most the sum of all but for rounding


@kernel
def nearest_of_all(scales, profiles, items, rows, heavy, best):
    """Do as `nearest_of_each` among the same rows (R,) for all queries, without bounds.

    An item whose heavy features alone exceed the k-th sum is not among the nearest, and its other features are not read.
    """
    nothing = np.empty(0)
    some = heavy.features.shape[0] > 0
    for b in range(best.rows.shape[0]):
        of_query = BestItems(best.sums[b], best.rows[b], best.refined[b : b + 1])
        if not some:
            nearest(scales, profiles, b, items, Candidates(rows, nothing, nothing), 0.0, of_query)
            continue
        k = of_query.sums.shape[0]
        for r in range(rows.shape[0]):
            part, positions = 0.0, items.positions[rows[r]]
            for e in heavy.features:
                part += _value(positions[e], e, scales, profiles, b)
            if not part * _SHARE > of_query.sums[k - 1] + heavy.room:
                nearest(scales, profiles, b, items, Candidates(rows[r : r + 1], nothing, nothing), 0.0, of_query)
