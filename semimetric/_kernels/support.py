"""Support points (paper 3, equations 3 and 7) by brute force, in O(n) memory and loops that the compiler vectorises.

Items are given feature by feature, (n_features, n), so that no sum is reordered.
"""

import numpy as np

from .jit import kernel

_TILE = 512  # The sums of so many items stay in the first-level cache.


@kernel
def nearest_points(points, queries, out):
    """out[b]: column of ``points`` nearest to queries[b], the first of several (equation 3)."""
    total = np.empty(_TILE)
    for b in range(queries.shape[0]):
        least = np.inf
        for start in range(0, points.shape[1], _TILE):
            size = min(_TILE, points.shape[1] - start)
            total[:size] = 0.0
            for f in range(points.shape[0]):
                x, column = queries[b, f], points[f, start : start + size]
                for t in range(size):
                    total[t] += (column[t] - x) * (column[t] - x)
            for t in range(size):
                if total[t] < least:
                    least, out[b] = total[t], start + t


@kernel
def tightest_bisectors(points, queries, opposite, which, cut):
    """Find the bisector with opposite[b] = s that cuts the segment from s to queries[b] = x first (equation 7).

    which[b]: the column k of ``points`` with the least |x_k - s|^2 / (2 <x - s, x_k - s>) > 0. cut[b]: that least value, the
    share of the segment on the side of s. Both hold the value of some point already, such as x itself with 1/2. It keeps its
    place among equal ones; of others the first wins.
    """
    norm, inner = np.empty(_TILE), np.empty(_TILE)
    for b in range(queries.shape[0]):
        for start in range(0, points.shape[1], _TILE):
            size = min(_TILE, points.shape[1] - start)
            norm[:size], inner[:size] = 0.0, 0.0
            for f in range(points.shape[0]):
                s, along, column = opposite[b, f], queries[b, f] - opposite[b, f], points[f, start : start + size]
                for t in range(size):
                    apart = column[t] - s
                    norm[t] += apart * apart
                    inner[t] += apart * along
            for t in range(size):
                if inner[t] > 0.0 and norm[t] < 2.0 * cut[b] * inner[t]:
                    value = norm[t] / (2.0 * inner[t])
                    if value < cut[b]:
                        cut[b], which[b] = value, start + t
