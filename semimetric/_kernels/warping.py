"""Dynamic time warping of two series, and numbers between which it lies: see `semimetric.distances.search.warping`."""

import numpy as np

from .jit import kernel


@kernel
def all_finite(series):
    """Return True if no value of a series (n, c) is NaN or infinite; the checks of NumPy take as long as a short distance."""
    total = 0.0
    for row in series:
        for value in row:
            total += value - value  # NaN for them, and 0 for all others
    return total == 0.0


@kernel
def warping_sum(x, y, window):
    """Return the least sum of squared differences along a warping path within the window; x (n, c) and y (m, c).

    The compiler takes several steps of y at a time for all that does not wait for the step before.
    """
    n, m = len(x), len(y)
    window = max(window, abs(n - m))
    columns = y.T.copy()
    before, row = np.full(m + 1, np.inf), np.full(m + 1, np.inf)
    cost, least = np.empty(m), np.empty(m)
    before[0] = 0.0
    for i in range(n):
        first, last = max(0, i - window), min(m, i + window + 1)
        size = last - first
        apart, best, above, above_next, here = cost[:size], least[:size], before[first:], before[first + 1 :], row[first:]
        apart[:] = 0.0
        for k in range(len(columns)):
            value, others = x[i, k], columns[k, first:last]
            for t in range(size):
                apart[t] += (value - others[t]) * (value - others[t])
        for t in range(size):
            best[t] = above[t] if above[t] < above_next[t] else above_next[t]
        here[0] = so_far = np.inf
        for t in range(size):
            so_far = apart[t] + (best[t] if best[t] < so_far else so_far)
            here[t + 1] = so_far
        if last < m:
            row[last + 1] = np.inf  # The next row reads one step more, and this one was used before.
        before, row = row, before
    return before[m]


@kernel
def _squared(a, b):
    total = 0.0
    for k in range(len(a)):
        total += (a[k] - b[k]) * (a[k] - b[k])
    return total


@kernel
def _spread(values, n, window, n_channels, sign, out):
    """out (n, c), flat, is the largest ``sign * y[j]`` for |i - j| <= window; y (m, c) is flat too.

    Runs of 1, 2, 4, ... steps are joined, over all channels at once, so that the compiler takes several at a time.
    """
    m = len(values) // n_channels
    if window >= max(n, m):
        for k in range(n_channels):
            best = -np.inf
            for j in range(m):
                best = max(best, sign * values[j * n_channels + k])
            for i in range(n):
                out[i * n_channels + k] = best
        return
    wide, size, shift = 2 * window + 1, 1, window * n_channels
    runs = np.full((n + 2 * window) * n_channels, -np.inf)
    for j in range(min(len(values), len(runs) - shift)):
        runs[j + shift] = sign * values[j]
    joined = runs.copy()
    while 2 * size <= wide:
        step = size * n_channels
        _larger(runs[:-step], runs[step:], joined)
        runs, joined = joined, runs
        size *= 2
    rest = (wide - size) * n_channels
    _larger(runs[: n * n_channels], runs[rest:], out)


@kernel
def _larger(one, other, out):
    for i in range(len(one)):
        a, b = one[i], other[i]
        out[i] = a if a > b else b


@kernel
def _one_way(x, y, window):
    """Return a lower bound of `warping_sum`: the ends, inner rows of x against y, and inner y against what is left of x."""
    n, m, n_channels = len(x), len(y), x.shape[1]
    total = _squared(x[0], y[0])
    if n == 1 and m == 1:
        return total
    total += _squared(x[n - 1], y[m - 1])
    first, last, inner = x.copy().reshape(-1), y.reshape(-1), x.copy().reshape(-1)
    high, least = np.empty(n * n_channels), np.empty(n * n_channels)
    _spread(last, n, window, n_channels, 1.0, high)
    _spread(last, n, window, n_channels, -1.0, least)
    for i in range(n_channels, (n - 1) * n_channels):
        low, top = -least[i], high[i]
        value = first[i] if first[i] > low else low
        inner[i] = value if value < top else top
    total += _squared(first, inner)  # the ends of which are equal
    high, least = np.empty(m * n_channels), np.empty(m * n_channels)
    _spread(inner, m, window, n_channels, 1.0, high)
    _spread(inner, m, window, n_channels, -1.0, least)
    for j in range(n_channels, (m - 1) * n_channels):
        low, top = -least[j], high[j]
        value = last[j] if last[j] > low else low
        total += (last[j] - min(value, top)) ** 2
    return total


@kernel
def warping_lower(query, items, lengths, window, share, out):
    """out[k] bounds `warping_sum` of query (n, c) and items[k, :lengths[k]] (N, L, c) from below.

    The window is ``window`` steps, and ``share`` of the longer series where that is more.
    """
    for k in range(len(items)):
        item = items[k, : lengths[k]]
        n, m = len(query), len(item)
        steps = max(window, int(share * max(n, m)), abs(n - m))
        out[k] = _one_way(query, item, steps)


@kernel
def warping_upper(query, items, lengths, out):
    """out[k] is the sum along the straight path, which lies within every window."""
    for k in range(len(items)):
        item = items[k, : lengths[k]]
        n, m = len(query), len(item)
        longest, total = max(n, m), 0.0
        for t in range(longest):
            i = t if n == longest else (t * (n - 1) + (longest - 1) // 2) // max(longest - 1, 1)
            j = t if m == longest else (t * (m - 1) + (longest - 1) // 2) // max(longest - 1, 1)
            total += _squared(query[i], item[j])
        out[k] = total
