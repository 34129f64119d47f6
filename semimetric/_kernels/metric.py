"""The factory of exported metrics: a distance as one compiled function of two vectors, for libraries that take such."""

from collections.abc import Callable

import numpy as np

from .jit import exported
from .search import Scales

__all__ = ["make_metric"]


def make_metric(
    scales: Scales, knots: np.ndarray, starts: np.ndarray, unit: np.ndarray, matrix: np.ndarray, root: bool
) -> Callable[[np.ndarray, np.ndarray], float]:
    """``metric(x, y)`` over raw vectors, for sums of one-feature parts.

    Part e stands on feature e: row e of ``matrix`` times the vector, between ``knots[starts[e]:starts[e + 1]]``. The arrays
    become constants of the function, which is compiled at its first call, for the arrays that the caller has (float32,
    read-only).
    """
    size, first, epsilon, tables = scales.size, scales.start, scales.epsilon, scales.tables
    n_parts, n_features = matrix.shape

    @exported
    def position(v, e):
        a = starts[e]
        if size[e] == 1:
            return (v - knots[a]) / unit[e]
        if v <= knots[a]:
            return (v - knots[a]) / unit[e]
        last = starts[e + 1] - 1
        if v >= knots[last]:
            return size[e] - 1 + (v - knots[last]) / unit[e]
        low, high = a, last
        while high - low > 1:
            middle = (low + high) // 2
            if v <= knots[middle]:
                high = middle
            else:
                low = middle
        return low - a + (v - knots[low]) / (knots[high] - knots[low])

    @exported
    def value(p, q, e):
        c = size[e]
        inside_p, inside_q = min(max(p, 0.0), c - 1.0), min(max(q, 0.0), c - 1.0)
        beyond = epsilon[e] * abs((p - inside_p) - (q - inside_q))
        if c == 1:
            return tables[first[e]] + beyond
        k, m = min(int(inside_p), c - 2), min(int(inside_q), c - 2)
        s, t = inside_p - k, inside_q - m
        base = first[e] + k * c + m
        if t <= s:
            return t * tables[base + c + 1] + (s - t) * tables[base + c] + (1.0 - s) * tables[base] + beyond
        return s * tables[base + c + 1] + (t - s) * tables[base + 1] + (1.0 - t) * tables[base] + beyond

    @exported
    def metric(x, y):
        total = 0.0
        for e in range(n_parts):
            u, v = 0.0, 0.0
            for f in range(n_features):
                if matrix[e, f] != 0.0:
                    u += matrix[e, f] * x[f]
                    v += matrix[e, f] * y[f]
            total += value(position(u, e), position(v, e), e)
        return np.sqrt(total) if root else total

    return metric
