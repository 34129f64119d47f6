"""The factory of exported metrics: a distance as one compiled function of two vectors, for libraries that take such."""

from collections.abc import Callable

import numpy as np

from .jit import exported
from .locate import lower_knot
from .search import Scales, cell_of

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
        a, last = starts[e], starts[e + 1] - 1
        if v <= knots[a] or a == last:
            return (v - knots[a]) / unit[e]
        if v >= knots[last]:
            return size[e] - 1 + (v - knots[last]) / unit[e]
        low = lower_knot(v, knots, a, last)
        return low - a + (v - knots[low]) / (knots[low + 1] - knots[low])

    @exported
    def value(p, q, e):
        c = size[e]
        (k, s, over), (m, t, under) = cell_of(p, c), cell_of(q, c)
        beyond = epsilon[e] * abs(over - under)
        base = first[e] + k * c + m
        if c == 1:
            return tables[base] + beyond
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
