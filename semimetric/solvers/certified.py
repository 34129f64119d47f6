"""The last word on a solution: the gap that holds in floating point, and whether it is that of a solved program."""

from dataclasses import replace

import numpy as np

from .._foundation.types import Floats
from ..programs.certificate import certified_gap, slopes_of
from ..programs.gap_bound import GapBound
from .base import Solution, Status
from .box_quadratic import solve_regular

__all__ = ["certified", "judged"]

_NEAR = 2.0  # times the tolerance: what solvers compute on their way and what they can certify differ by rounding
_LIFT = 16.0  # slopes of weights that nothing bounds are lifted to so many times their rounding
_SPARE = 1e4  # times its rounding: a larger slope stays positive when others are lifted


def certified(
    solution: Solution, bounds: GapBound, theta: Floats | None, tol: float, near: Floats | None = None
) -> Solution:
    """The solution with the gap that holds in floating point, and the status that this gap allows.

    Parameters
    ----------
    solution : Solution
    bounds : GapBound
    theta : ndarray of shape (m + k,) or None
        The best dual variables that the solver found; None for those that the loss has at the weights.
    tol : float
        The relative gap that the solver was asked for.
    near : ndarray of shape (n,) or None
        Weights at which these dual variables were found, where they are not those of the solution.
    """
    p, w = bounds.program, solution.weights
    if theta is None:
        slope = p.sample_weight * p.loss.slope(p.design.matvec(w) - p.y)
        theta = np.append(slope, np.zeros(len(p.targets) - len(p.y)))
    tol *= max(abs(solution.objective), p.exact)
    found = judged(replace(solution, gap=certified_gap(bounds, w, theta, near)), tol, p.exact)
    if found.status is solution.status:
        return found
    gap = certified_gap(bounds, w, _lifted(bounds, w, theta), near)
    return judged(replace(solution, gap=min(gap, found.gap)), tol, p.exact)


def judged(solution: Solution, tol: float, exact: float) -> Solution:
    """The solution, which counts as solved only if its gap is near ``tol``, or below ``exact``, where a fit counts as exact."""
    if solution.status is Status.SOLVED and not solution.gap <= max(_NEAR * tol, exact):
        return replace(solution, status=Status.INACCURATE)
    return solution


def _lifted(bounds: GapBound, w: Floats, theta: Floats) -> Floats:
    """Dual variables near ``theta`` that lift slopes above rounding: the least change, of those far from their bounds most."""
    p = bounds.program
    low, high = p.slopes
    room = np.minimum(np.where(np.isfinite(low), theta - low, np.inf), np.where(np.isfinite(high), high - theta, np.inf))
    room = np.maximum(np.where(np.isinf(room), np.abs(theta), room), 0.0)
    slopes, error = slopes_of(bounds, theta, p.penalty.enclosed_gradient(w))
    low_ones = np.flatnonzero(slopes < _SPARE * error)  # the others have slope to spare
    lift, along = np.maximum(_LIFT * error - slopes, 0.0)[low_ones], np.zeros(len(w))
    gram = p.stacked.moments(np.zeros(len(theta)), room * room).gram
    along[low_ones] = solve_regular(gram[np.ix_(low_ones, low_ones)], lift)
    return np.clip(theta + room * room * p.stacked.matvec(along), low, high)
