"""Dynamic time warping of two series, and numbers between which it lies: see `semimetric.distances.search.warping`."""

import numpy as np

from .jit import kernel


@kernel
def is_finite_series(series):
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
def envelope(values, n, window, n_channels):
    """Return the least and the largest y[j] for |i - j| <= window, of each i < n: y (m, c) and both (n, c), all flat."""
    high, low = np.empty(n * n_channels), np.empty(n * n_channels)
    _spread(values, n, window, n_channels, 1.0, high)
    _spread(values, n, window, n_channels, -1.0, low)
    for i in range(len(low)):
        low[i] = -low[i]
    return low, high


@kernel
def clip(values, low, high, out):
    """Fill out with the values that are nearest within an envelope."""
    for i in range(len(values)):
        value = values[i] if values[i] > low[i] else low[i]
        out[i] = value if value < high[i] else high[i]


@kernel
def _move_inside(values, of, n_channels, out):
    """Fill out with a series whose inner steps are moved into an envelope, as little as that takes."""
    n = len(values)
    clip(values, of[0], of[1], out)
    out[:n_channels], out[n - n_channels : n] = values[:n_channels], values[n - n_channels :]


@kernel
def _squared(a, b):
    """Return the squared Euclidean distance of two vectors, in eight sums, since each addition waits for the one before."""
    n, s, t, u, v, w, x, y, z = len(a), 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(0, n - 7, 8):
        s += (a[i] - b[i]) * (a[i] - b[i])
        t += (a[i + 1] - b[i + 1]) * (a[i + 1] - b[i + 1])
        u += (a[i + 2] - b[i + 2]) * (a[i + 2] - b[i + 2])
        v += (a[i + 3] - b[i + 3]) * (a[i + 3] - b[i + 3])
        w += (a[i + 4] - b[i + 4]) * (a[i + 4] - b[i + 4])
        x += (a[i + 5] - b[i + 5]) * (a[i + 5] - b[i + 5])
        y += (a[i + 6] - b[i + 6]) * (a[i + 6] - b[i + 6])
        z += (a[i + 7] - b[i + 7]) * (a[i + 7] - b[i + 7])
    total = ((s + t) + (u + v)) + ((w + x) + (y + z))
    for i in range(n - n % 8, n):
        total += (a[i] - b[i]) * (a[i] - b[i])
    return total


@kernel
def warping_lower(query, items, lengths, window, share, quick, out):
    """out[k] bounds `warping_sum` of query (n, c) and items[k, :lengths[k]] (N, L, c) from below.

    It is the sum of the ends, of inner steps of the item beyond the envelope of the query, and, unless ``quick``, of the query
    beyond what is left of the item. The window is ``window`` steps, and ``share`` of the longer series where that is more.
    Items of the same window follow one another, and share the envelope of the query.
    """
    n, n_channels, y = len(query), query.shape[1], query.reshape(-1)
    windows, inner, rest = np.empty(len(items), np.int64), np.empty(items.shape[1] * n_channels), np.empty(n * n_channels)
    for k in range(len(items)):
        windows[k] = max(window, int(share * max(n, lengths[k])), abs(n - lengths[k]))
    before, of_query = np.int64(-1), (y, y)
    for k in np.argsort(windows):
        if windows[k] != before:
            before, of_query = windows[k], envelope(y, items.shape[1], windows[k], n_channels)
        x = items[k, : lengths[k]].reshape(-1)
        out[k] = _squared(x[:n_channels], y[:n_channels])
        if n == 1 and lengths[k] == 1:
            continue
        left = inner[: len(x)]
        _move_inside(x, of_query, n_channels, left)
        out[k] += _squared(x[len(x) - n_channels :], y[len(y) - n_channels :]) + _squared(x, left)
        if not quick:
            _move_inside(y, envelope(left, n, windows[k], n_channels), n_channels, rest)
            out[k] += _squared(y, rest)


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
