"""Positions in 16 bits: sums over them, whose error is bounded, choose the items whose exact sums are computed.

The position of a code is ``code * scale - 1``, where the scale of each feature is a power of 2, so that whole positions, which
knots, categories and missing values have, are held without an error. The last code stands for an item that lies so far
outside the range that it has no code; nothing is known of its sum.
"""

from typing import NamedTuple

import numpy as np

from .jit import kernel
from .search import BestItems, Candidates, _insert, _sum, _value

FAR = 65_535
_AHEAD = 16  # The number of rows whose memory is asked for together.
_LINE = 32  # The number of codes in a cache line.


class PlaceCodes(NamedTuple):
    """Positions of items as codes (n, E), the scale of the codes of each feature (E,), and the largest error of each (E,)."""

    codes: np.ndarray
    scale: np.ndarray
    error: np.ndarray


class Estimates(NamedTuple):
    """Estimated sums (B, R), the k smallest of each query so far (B, k), increasing, and how many were looked at (B,).

    The estimate of an item without codes is -inf, and is not among the smallest.
    """

    sums: np.ndarray
    smallest: np.ndarray
    looked_at: np.ndarray


@kernel
def place_codes(positions, places):
    """Write the codes of ``positions`` (n, E) into ``places.codes``, and let ``places.error`` grow by their errors."""
    for i in range(positions.shape[0]):
        for e in range(positions.shape[1]):
            scale = places.scale[e]
            code = np.rint((positions[i, e] + 1.0) / scale)
            if not 0.0 <= code < FAR:
                places.codes[i, e] = FAR
                continue
            places.codes[i, e] = np.uint16(code)
            places.error[e] = max(places.error[e], abs(code * scale - 1.0 - positions[i, e]))


@kernel
def error_bounds(scales, profiles, error, rounding, out):
    """out[b]: how much larger or smaller than it is the sum of an item may be estimated for query b.

    It is the sum over the features of the steepest slope times ``error`` (E,), and ``rounding`` relative to what it may be
    outside of the range.
    """
    for b in range(profiles.position.shape[0]):
        total, outside = 0.0, 0.0
        for e in range(scales.size.shape[0]):
            slope = steepest = max(scales.epsilon[e, 0], scales.epsilon[e, 1])
            for k in range(scales.first[e], scales.first[e] + 2 * max(scales.size[e] - 1, 1)):
                slope = max(slope, abs(profiles.pieces[b, k, 1]))
            total += slope * error[e]
            outside += steepest + abs(profiles.beyond[b, e])
        out[b] = total * (1.0 + rounding) + rounding * outside


@kernel
def _estimate(codes, places, scales, profiles, b):
    """Return the sum between query b and the position of the codes (E,), or -inf if the item has none."""
    total = 0.0
    for e in range(codes.shape[0]):
        if codes[e] == FAR:
            return -np.inf
        total += _value(codes[e] * places.scale[e] - 1.0, e, scales, profiles, b)
    return total


@kernel
def _keep_smallest(value, smallest):
    at = smallest.shape[0] - 1
    if not -np.inf < value < smallest[at]:
        return
    while at > 0 and value < smallest[at - 1]:
        smallest[at] = smallest[at - 1]
        at -= 1
    smallest[at] = value


@kernel
def estimate(scales, profiles, b, places, candidates, room, estimates):
    """Estimate the sums of the candidates of query b in their order; ``estimates`` has one row, (1, R), (1, k) and (1,).

    The loop ends where a bound exceeds the k-th smallest estimate by more than ``room``: neither that candidate nor a later
    one is then among the nearest.
    """
    rows, extra, bounds = candidates.rows, candidates.extra, candidates.bounds
    smallest, k, seen = estimates.smallest[0], estimates.smallest.shape[1], np.zeros(1, np.int64)
    estimates.looked_at[0] = rows.shape[0]
    for r in range(rows.shape[0]):
        if r % _AHEAD == 0:
            for ahead in range(r, min(r + _AHEAD, rows.shape[0])):
                if rows[ahead] >= 0:
                    for e in range(0, places.codes.shape[1], _LINE):
                        seen[0] += places.codes[rows[ahead], e]
        if rows[r] < 0 or (bounds.shape[0] and bounds[r] > smallest[k - 1] + room):
            estimates.looked_at[0] = r
            break
        value = _estimate(places.codes[rows[r]], places, scales, profiles, b)
        if extra.shape[0]:
            value += extra[r]
        estimates.sums[0, r] = value
        _keep_smallest(value, smallest)


@kernel
def estimate_each(scales, profiles, places, candidates, room, estimates):
    """Do as `estimate` for every query of a block.

    The rows of ``candidates`` are (B, R), or (1, R) for all queries. Their bounds have the same shape, or (B, 0) for none;
    ``room`` is (B,).
    """
    nothing, rows, bounds = np.empty(0), candidates.rows, candidates.bounds
    for b in range(bounds.shape[0]):
        of_query = Candidates(rows[min(b, rows.shape[0] - 1)], nothing, bounds[b])
        one = Estimates(estimates.sums[b : b + 1], estimates.smallest[b : b + 1], estimates.looked_at[b : b + 1])
        estimate(scales, profiles, b, places, of_query, room[b], one)


@kernel
def keep_nearest(scales, profiles, queries, items, candidates, starts, best):
    """Keep in ``best`` the nearest of candidates by their exact sums, as `nearest` of search does.

    The candidates ``starts[j]:starts[j + 1]`` belong to query ``queries[j]``; ``items.positions`` has a row for each candidate,
    whose row among all items is ``candidates.rows``. The sums and rows of ``best`` are (B, k).
    """
    k = best.sums.shape[1]
    for j in range(queries.shape[0]):
        b = queries[j]
        of_query = BestItems(best.sums[b], best.rows[b], best.refined)
        for r in range(starts[j], starts[j + 1]):
            value = _sum(items.positions[r], scales, profiles, b, -np.inf)
            if candidates.extra.shape[0]:
                value += candidates.extra[r]
            value = max(value, items.least)
            if not value > best.sums[b, k - 1]:
                _insert(value, candidates.rows[r], items.rank, of_query)
