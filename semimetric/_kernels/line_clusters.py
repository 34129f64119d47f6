"""The exact minimum of k-means on a line, by dynamic programming (Wang & Song 2011; Grønlund et al. 2017).

Clusters are runs of the sorted values. With D_k(j) the least inertia of the first j values in k runs,

    D_k(j) = min_i D_{k-1}(i) + w(i, j),        w(i, j) the inertia of the values i to j - 1 around their mean.

The least i that attains it never falls as j grows, so that a layer takes O(n log n) steps by halves: the middle j is solved by
a search between the solutions of its neighbours.
"""

import numpy as np

from .jit import kernel


@kernel
def _inertia(count, total, square, i, j):
    """Return w(i, j), from the running counts, sums and sums of squares."""
    n = count[j] - count[i]
    s = total[j] - total[i]
    return max(square[j] - square[i] - s * s / n, 0.0) if n > 0.0 else 0.0


@kernel
def _layer(count, total, square, before, after, choice):
    """after[j] = min_{i < j} before[i] + w(i, j), and choice[j] the least i that attains it; after[0] is infinite."""
    n = before.shape[0] - 1
    stack, top = np.empty((128, 4), np.int64), 1
    after[0], choice[0] = np.inf, 0
    stack[0] = np.array([1, n, 0, n - 1])
    while top > 0:
        top -= 1
        first, last, low, high = stack[top]
        if first > last:
            continue
        j = (first + last) // 2
        best, at = np.inf, low
        for i in range(low, min(high, j - 1) + 1):
            value = before[i] + _inertia(count, total, square, i, j)
            if value < best:
                best, at = value, i
        after[j], choice[j] = best, at
        stack[top] = np.array([first, j - 1, low, at])
        stack[top + 1] = np.array([j + 1, last, at, high])
        top += 2


@kernel
def best_runs(values, weights, n_runs, out):
    """Find the bounds (n_runs + 3,) of the runs of sorted values (n,) with weights (n,) that have the least inertia.

    The first run is measured from the first value, and the last from the last one. The ``n_runs`` between are measured from
    their means. Run r holds the values from out[r] to out[r + 1] - 1.
    """
    n = values.shape[0]
    count, total, square = np.zeros(n + 1), np.zeros(n + 1), np.zeros(n + 1)
    first, last = np.zeros(n + 1), np.zeros(n + 1)
    for j in range(n):
        w, x = weights[j], values[j]
        count[j + 1] = count[j] + w
        total[j + 1] = total[j] + w * x
        square[j + 1] = square[j] + w * x * x
        first[j + 1] = first[j] + w * (x - values[0]) ** 2
    for j in range(n - 1, -1, -1):
        last[j] = last[j + 1] + weights[j] * (values[j] - values[n - 1]) ** 2
    choices = np.zeros((n_runs, n + 1), np.int32)
    before, after = first.copy(), np.empty(n + 1)
    before[0] = np.inf  # The first run holds the first value.
    for r in range(n_runs):
        _layer(count, total, square, before, after, choices[r])
        before[:] = after
    at, best = 0, np.inf
    for j in range(n):  # The last run holds the last value.
        if before[j] + last[j] < best:
            best, at = before[j] + last[j], j
    out[0], out[n_runs + 2], out[n_runs + 1] = 0, n, at
    for r in range(n_runs - 1, -1, -1):
        at = choices[r, at]
        out[r + 1] = at
