"""Edit distances of two series, and numbers between which they lie: see `semimetric.distances.search.warping`.

All are one recurrence. A step of x is paired with one of y, or skipped; kinds differ in what these cost, and p and q are their
parameters. Series come in shape (n_steps, n_channels). They are turned into (n_channels, 2, n_steps), each step with the one
before, which is 0 before the first, so that the compiler takes several steps at a time.
"""

import numpy as np

from .jit import kernel
from .warping import clip, envelope

ERP, LCSS, EDR, MSM, TWED = range(5)
ROUNDING = 4e-16  # of a sum, for each of its terms


@kernel
def elastic_cost(kind, x, y, window, p, q):
    """Return the least cost of an alignment of x (n, c) and y (m, c) within the window; of MSM, of all channels together.

    That of LCSS is the number of steps that are in no pair within epsilon.
    """
    total, window, x, y = 0.0, max(window, abs(len(x) - len(y))), _turned(x), _turned(y)
    for k in range(0, len(x), _channels(kind, x)):
        total += _least_cost(kind, x[k : k + _channels(kind, x)], y[k : k + _channels(kind, x)], window, p, q)
    return total


@kernel
def elastic_lower(kind, query, items, lengths, windows, p, q, out):
    """out[k] bounds `elastic_cost` of query (n, c) and items[k, :lengths[k]] (N, L, c) within windows[k] from below."""
    x, n = _turned(query), len(query)
    for k in range(len(items)):
        y, m = _turned(items[k, : lengths[k]]), lengths[k]
        window, together = max(windows[k], abs(n - m)), _channels(kind, x)
        out[k] = 0.0
        for c in range(0, len(x), together):
            out[k] += _covered(kind, x[c : c + together], y[c : c + together], window, p, q)
        if kind == ERP:
            out[k] = max(out[k], _sums_apart(x, y, p))


@kernel
def elastic_quick(kind, query, items, lengths, windows, p, q, out):
    """out[k] is a lower bound as of `elastic_lower`, in less time: partners are any values within an envelope.

    The part of y_j beyond the envelope of the query near j is its share, and so is that of x_i beyond the envelope of what is
    left of y. Items of the same window follow one another, and share the envelope of the query.
    """
    n, n_channels, x, counts = len(query), query.shape[1], query.reshape(-1), kind in (LCSS, EDR)
    wide, inner = np.empty(len(items), np.int64), np.empty(items.shape[1] * n_channels)
    for k in range(len(items)):
        wide[k] = max(windows[k], abs(n - lengths[k]))
    before, low, high = np.int64(-1), x, x
    skip_x = _skips(kind, _turned(query), p, q)
    for k in np.argsort(wide):
        if wide[k] != before:
            before, (low, high) = wide[k], envelope(x, items.shape[1], wide[k], n_channels)
        m = lengths[k]
        y, left = items[k, :m].reshape(-1), inner[: m * n_channels]
        clip(y, low, high, left)
        skip_y = _skips(kind, _turned(items[k, :m]), p, q)
        of_y = _shares(kind, y, left, n_channels, skip_y, p)
        low_y, high_y = envelope(y if counts else left, n, wide[k], n_channels)
        nearest = np.empty(n * n_channels)
        clip(x, low_y, high_y, nearest)
        of_x = _shares(kind, x, nearest, n_channels, skip_x, p)
        if counts:
            matched = min(n - of_x.sum(), m - of_y.sum())
            out[k] = max(n, m) - matched if kind == EDR else n + m - 2.0 * matched
            continue
        out[k] = of_x.sum() + of_y.sum() + _skipped(skip_x, of_x, n - m) + _skipped(skip_y, of_y, m - n)
        if kind in (MSM, TWED):
            out[k] += np.abs(items[k, 0] - query[0]).sum()  # the first steps, which are paired with one another


@kernel
def _shares(kind, steps, nearest, n_channels, skips, p):
    """Return what each step (n, c) costs at least: the lesser of a skip, and of a pair with values as near as ``nearest``."""
    n = len(steps) // n_channels
    out, before = np.zeros(n), 0.0
    for i in range(n):
        pair, most, split = 0.0, 0.0, 0.0
        for c in range(n_channels):
            apart = abs(steps[i * n_channels + c] - nearest[i * n_channels + c])
            pair += apart
            most = max(most, apart)
            split += min(apart, p)
        if kind == LCSS or kind == EDR:
            out[i] = 0.0 if most <= p else 1.0
        elif kind == MSM:
            out[i] = split if i > 0 else 0.0
        elif kind == ERP or i > 0:
            out[i] = min(pair + (before if kind == TWED else 0.0), skips[i])
        before = pair
    return out


@kernel
def elastic_upper(kind, query, items, lengths, p, q, out):
    """out[k] is the cost of the straight alignment, which lies within every window."""
    x = _turned(query)
    for k in range(len(items)):
        y, together = _turned(items[k, : lengths[k]]), _channels(kind, x)
        out[k] = 0.0
        for c in range(0, len(x), together):
            out[k] += _straight(kind, x[c : c + together], y[c : c + together], p, q)


@kernel
def _turned(x):
    """Return a series (n, c) as (c, 2, n): its steps, and those before."""
    out = np.zeros((x.shape[1], 2, len(x)))
    for k in range(x.shape[1]):
        for i in range(len(x)):
            out[k, 0, i] = x[i, k]
            if i > 0:
                out[k, 1, i] = x[i - 1, k]
    return out


@kernel
def _channels(kind, x):
    """Return how many channels are aligned together."""
    return 1 if kind == MSM else len(x)


@kernel
def _skips(kind, x, p, q):
    """Return what it costs at least to skip each step of x; first steps of MSM and TWED are paired with one another."""
    n = x.shape[2]
    out = np.full(n, p + q if kind == TWED else p if kind == MSM else 0.0 if kind == ERP else 1.0)
    for k in range(len(x)):
        for i in range(n):
            if kind == ERP:
                out[i] += abs(x[k, 0, i] - p)
            elif kind == TWED:
                out[i] += abs(x[k, 0, i] - x[k, 1, i])
    if kind in (MSM, TWED):
        out[0] = np.inf
    return out


@kernel
def _pairs(kind, x, i, y, j, p, out):
    """out is what it costs to pair steps of x, from i on, with those of y, from j on, but for the stiffness of TWED."""
    size = len(out)
    out[:] = 0.0
    for k in range(len(x)):
        a, a_before, b, b_before = x[k, 0][i:], x[k, 1][i:], y[k, 0][j:], y[k, 1][j:]
        if kind in (LCSS, EDR):
            for t in range(size):
                apart = abs(a[t] - b[t])
                out[t] = apart if apart > out[t] else out[t]
        elif kind == TWED:
            for t in range(size):
                out[t] += abs(a[t] - b[t]) + abs(a_before[t] - b_before[t])
        else:
            for t in range(size):
                out[t] += abs(a[t] - b[t])
    if kind in (LCSS, EDR):
        wrong = 1.0 if kind == EDR else 2.0
        for t in range(size):
            out[t] = 0.0 if out[t] <= p else wrong


@kernel
def _stiffen(lag, change, nu, out):
    """Add what it costs in TWED that the first step of x is ``lag`` steps ahead, and each next ``change`` more."""
    for t in range(len(out)):
        out[t] += 2.0 * nu * abs(lag + t * change)


@kernel
def _splits(x, i, y, j, skips, out):
    """out is what it costs in MSM to skip steps of x, from i on, beside those of y, from j on."""
    a, a_before, b = x[0, 0][i:], x[0, 1][i:], y[0, 0][j:]
    for t in range(len(out)):
        out[t] = skips[t] + _outside(a[t], a_before[t], b[t])


@kernel
def _outside(value, one, other):
    """Return how far a value lies outside the interval between two others."""
    low = one if one < other else other
    high = other if one < other else one
    below, above = low - value, value - high
    most = below if below > above else above
    return most if most > 0.0 else 0.0


@kernel
def _least_cost(kind, x, y, window, p, q):
    n, m = x.shape[2], y.shape[2]
    skip_x, skip_y = _skips(kind, x, p, q), _skips(kind, y, p, q)
    step, costs = np.empty((len(x), 2, m)), np.empty((3, m))  # a step of x, beside many of y
    before, row = np.full(m + 1, np.inf), np.full(m + 1, np.inf)
    before[0] = 0.0
    for j in range(min(m, window)):
        before[j + 1] = before[j] + skip_y[j]
    for i in range(n):
        first, last = max(0, i - window), min(m, i + window + 1)
        size, pair, alone_x, alone_y = last - first, costs[0][first:last], costs[1][first:last], skip_y[first:last]
        for k in range(len(x)):
            step[k, 0, :size] = x[k, 0, i]
            step[k, 1, :size] = x[k, 1, i]
        alone_x[:] = skip_x[i]
        _pairs(kind, step, 0, y, first, p, pair)
        if kind == TWED:
            _stiffen(i - first, -1, p, pair)
        if kind == MSM:
            alone_y = costs[2][first:last]
            _splits(y, first, step, 0, skip_y[first:], alone_y)
            _splits(step, 0, y, first, alone_x, alone_x)
        above, above_next, here = before[first:], before[first + 1 :], row[first:]
        here[0] = before[0] + skip_x[i] if i < window else np.inf
        for t in range(size):
            paired, skipped = above[t] + pair[t], above_next[t] + alone_x[t]
            pair[t] = paired if paired < skipped else skipped
        for t in range(size):
            skipped = here[t] + alone_y[t]
            here[t + 1] = pair[t] if pair[t] < skipped else skipped
        before, row = row, before
    return before[m]


@kernel
def _covered(kind, x, y, window, p, q):
    """Return a lower bound of `_least_cost`: what each step of x and each one of y costs at least, in shares that add up."""
    n, m, counts = x.shape[2], y.shape[2], kind in (LCSS, EDR)
    skip_x, skip_y, costs = _skips(kind, x, p, q), _skips(kind, y, p, q), np.empty(min(n, m))
    u, v = (np.full(n, np.inf), np.full(m, np.inf)) if kind == MSM else (skip_x.copy(), skip_y.copy())
    zeros = np.zeros(n)
    for turn in range(2):
        paid = zeros if turn == 0 or counts else u
        for lag in range(-min(window, m - 1), min(window, n - 1) + 1):
            i, j = max(0, lag), max(0, -lag)
            size = min(n - i, m - j)
            part = costs[:size]
            shares = v[j : j + size] if turn else u[i : i + size]
            _pairs(kind, x, i, y, j, p, part)
            if kind == TWED:
                _stiffen(lag, 0, p, part)
            if lag != 0 and kind in (MSM, TWED):
                part[0] = np.inf  # with a first step, whose partner is the other first
            _lower(shares, part, paid[i:])
            if kind == MSM:
                if turn:
                    _splits(y, j, x, i, skip_y[j:], part)
                else:
                    _splits(x, i, y, j, skip_x[i:], part)
                _lower(shares, part, zeros)
    if counts:
        matched = min(n - u.sum(), m - v.sum())
        return max(n, m) - matched if kind == EDR else n + m - 2.0 * matched
    return u.sum() + v.sum() + _skipped(skip_x, u, n - m) + _skipped(skip_y, v, m - n)


@kernel
def _lower(out, costs, paid):
    """Lower out to what is left of costs."""
    for t in range(len(out)):
        left = costs[t] - paid[t]
        out[t] = left if left < out[t] else out[t]


@kernel
def _skipped(skips, shares, n_skipped):
    """Return what n_skipped steps cost at least beyond their shares, for skipping them."""
    return np.sort(np.maximum(skips - shares, 0.0))[:n_skipped].sum() if n_skipped > 0 else 0.0


@kernel
def _sums_apart(x, y, g):
    """Return the sum over channels of |sum (x_i - g) - sum (y_j - g)|, less what rounding may add to it."""
    apart, size = 0.0, 0.0
    for k in range(len(x)):
        total = 0.0
        for value in x[k, 0]:
            total += value - g
            size += abs(value - g)
        for value in y[k, 0]:
            total -= value - g
            size += abs(value - g)
        apart += abs(total)
    return apart - ROUNDING * (x.shape[2] + y.shape[2] + 4.0) * size


@kernel
def _straight(kind, x, y, p, q):
    n, m = x.shape[2], y.shape[2]
    skip_x, skip_y = _skips(kind, x, p, q), _skips(kind, y, p, q)
    longest, total, i_before, j_before = max(n, m), 0.0, -1, -1
    costs = np.empty(n if n == m else 1)  # of as many steps as are taken at once
    for t in range(0, longest, len(costs)):
        i = t if n == longest else (t * (n - 1) + (longest - 1) // 2) // max(longest - 1, 1)
        j = t if m == longest else (t * (m - 1) + (longest - 1) // 2) // max(longest - 1, 1)
        if i > i_before and j > j_before:
            _pairs(kind, x, i, y, j, p, costs)
            if kind == TWED:
                _stiffen(i - j, 0, p, costs)
        elif kind != MSM:
            costs[0] = skip_x[i] if i > i_before else skip_y[j]
        elif i > i_before:
            _splits(x, i, y, j, skip_x[i:], costs)
        else:
            _splits(y, j, x, i, skip_y[j:], costs)
        total += costs.sum()
        i_before, j_before = i, j
    return total
