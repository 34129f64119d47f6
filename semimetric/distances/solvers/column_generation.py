"""Least squares over many more columns than can be held: the few that have a weight are found by generating columns.

    min_w  sum_p s_p ((A w)_p - y_p)² / 2 + c·w   over  w >= 0,      A >= 0,  c >= 0

A program over few columns is solved exactly; one pass over all columns then gives the slope of the objective along each, and
those that fall most join, until none falls. So only products with A are needed, and second moments of the columns in use
(Dantzig & Wolfe 1960; for non-negative least squares Lawson & Hanson 1974, who let one column join at a time).

The gap is certified. For any w' >= 0 with an objective F(w') <= F(0) the weighted mean of A w' is at most R = 2 |y|, with
|y| = sqrt(sum_p s_p y_p²) = sqrt(2 F(0)), so by convexity, with slopes g and weighted column means a,

    F(w) - optimum <= g·w + R max_j (-g_j / a_j)+ .
"""

from typing import NamedTuple, Protocol

import numpy as np

from ..._foundation.iteration import Status
from ..._foundation.types import Floats, Integers
from .base import Solution
from .box_quadratic import BoxQuadratic, pivot
from .gram import minimise

_RIDGE = 1e-9  # of the mean curvature of the columns in use: of equal columns it takes the mean
_LEAST = 32  # columns that join at once, or half as many as are in use
_SHARE = 0.5
_INNER = 0.1  # of the tolerance: the share that the program over the columns in use may miss
_MOST_EXCHANGES = 100  # of block pivoting, which also solves where columns resemble each other and Newton steps lead nowhere
_MOST_STEPS = 200  # of Newton steps and interior points, where block pivoting does not end


class ManyColumns(Protocol):
    """Columns A >= 0 of m rows, known through their products and through a few at a time."""

    @property
    def n_columns(self) -> int:
        """The number of columns."""

    def slopes(self, r: Floats) -> Floats:
        """Return Aᵀ r for one number ``r`` for each row, shape (n_columns,)."""

    def take(self, columns: Integers) -> Floats:
        """Return the given columns, shape (m, len(columns))."""


class _InUse(NamedTuple):
    """Columns in use."""

    columns: Integers  # (k,)
    values: Floats  # (m, k)
    gram: Floats  # (k, k): second moments
    weights: Floats  # (k,)

    def joined(self, columns: Integers, values: Floats, sample: Floats) -> "_InUse":
        """Append further columns, whose weights are 0."""
        weighted = sample[:, None] * values
        mixed = self.values.T @ weighted
        gram = np.block([[self.gram, mixed], [mixed.T, values.T @ weighted]])
        both = np.append(self.columns, columns), np.hstack([self.values, values])
        return _InUse(*both, gram, np.append(self.weights, np.zeros(len(columns))))

    def kept(self, keep: Integers) -> "_InUse":
        """Return some of these columns."""
        return _InUse(self.columns[keep], self.values[:, keep], self.gram[np.ix_(keep, keep)], self.weights[keep])


def generate_columns(
    A: ManyColumns,
    y: Floats,
    sample: Floats,
    cost: Floats,
    *,
    start: Floats | None = None,
    tol: float = 1e-4,
    max_iter: int = 60,
) -> Solution:
    """Minimise over non-negative weights, from the columns that have a weight in ``start``.

    The certified gap is at most ``tol`` of the objective at w = 0. A unit of weight costs ``cost`` (n_columns,); columns of
    infinite cost stay at 0.
    """
    square = float(sample @ (y * y))
    means, cross = A.slopes(sample), A.slopes(sample * y)
    usable = np.isfinite(cost) & (means > 0)
    in_use = _InUse(np.empty(0, np.int64), np.empty((len(y), 0)), np.empty((0, 0)), np.empty(0))
    first = np.empty(0, np.int64) if start is None else np.flatnonzero((start > 0) & usable)
    in_use = in_use.joined(first, A.take(first), sample)
    reach = 2.0 * np.sqrt(square)
    gap = objective = square / 2
    n_iter = 0
    for n_iter in range(max_iter + 1):
        in_use, residual = _solved(in_use, y, cross, cost, square, _INNER * tol)
        at_cost = float(cost[in_use.columns] @ in_use.weights)
        objective = float(sample @ (residual * residual)) / 2 + at_cost
        slope = np.where(usable, A.slopes(sample * residual) + np.where(usable, cost, 0.0), 0.0)
        fall = np.where(usable, -slope / np.where(usable, means, 1.0), 0.0)
        gap = max(float(slope[in_use.columns] @ in_use.weights), 0.0) + reach * max(float(fall.max(initial=0.0)), 0.0)
        if gap <= tol * square / 2 or n_iter == max_iter:
            break
        fall[in_use.columns] = 0.0
        new = _steepest(fall, max(_LEAST, int(_SHARE * len(in_use.columns))))
        if not len(new):
            break
        in_use = in_use.joined(new, A.take(new), sample)
    weights = np.zeros(A.n_columns)
    weights[in_use.columns] = in_use.weights
    status = Status.SOLVED if gap <= tol * square / 2 else Status.LIMIT if n_iter == max_iter else Status.INACCURATE
    return Solution(
        weights, objective, gap, n_iter, status, f"column generation, {len(in_use.columns)} of {A.n_columns} columns"
    )


def _solved(in_use: _InUse, y: Floats, cross: Floats, cost: Floats, square: float, tol: float) -> tuple[_InUse, Floats]:
    """Return the columns in use with the best weights, those without weight left out, and the residuals (m,)."""
    if not len(in_use.columns):
        return in_use, -y
    k = len(in_use.columns)
    H = in_use.gram + _RIDGE * float(np.trace(in_use.gram)) / k * np.eye(k)
    b = cross[in_use.columns] - cost[in_use.columns]
    upper = 2.0 * np.sqrt(square / np.maximum(np.diag(in_use.gram), 1e-300))
    box, most = BoxQuadratic(H, b, np.zeros(k), upper), tol * square / 2
    w = pivot(box, in_use.weights > 0, max_iter=_MOST_EXCHANGES)
    if not box.gap(w, H @ w - b) <= most:
        found = minimise(box, in_use.weights, tol=most, max_iter=_MOST_STEPS)
        if found.interrupted:
            raise KeyboardInterrupt
        w = found.w
    kept = in_use._replace(weights=w).kept(np.flatnonzero(w > 0))
    return kept, kept.values @ kept.weights - y


def _steepest(fall: Floats, most: int) -> Integers:
    falling = np.flatnonzero(fall > 0)
    if len(falling) > most:
        falling = falling[np.argpartition(-fall[falling], most)[:most]]
    return np.sort(falling)
