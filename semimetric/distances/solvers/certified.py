"""The gap of a solution that holds in floating point, and the status that it allows."""

from dataclasses import replace

import numpy as np

from ..._foundation.iteration import Status
from ..._foundation.types import Floats, Integers
from ..programs.certificate import certified_gap, slopes_of_rows
from ..programs.design_matrix import Design
from ..programs.gap_bound import GapBound
from .base import Solution
from .box_quadratic import solve_regular

_NEAR = 2.0  # times the tolerance: what solvers compute on their way and what they can certify differ by rounding
_LIFT = 16.0  # slopes of weights that nothing bounds are lifted to so many times their rounding
_SPARE = 1e4  # times its rounding: a larger slope stays positive when others are lifted
_FEW = 8  # the Gram matrix of up to so many columns is made from products, that of more from a pass that sums all columns


def certified(
    solution: Solution, bounds: GapBound, design: Design, theta: Floats | None, tol: float, near: Floats | None = None
) -> Solution:
    """Return the solution with the gap that holds in floating point, and the status that this gap allows.

    The dual variables ``theta`` (m + k,) were found at the weights ``near``, if not at those of the solution; None are those
    of the loss. Where nothing bounds a weight, a gap known only as the objective does not change the status.
    """
    p, w = bounds.program, solution.weights
    if theta is None:
        slope = p.sample_weight * p.loss.slope(design.matvec(w)[: len(p.y)] - p.y)
        theta = np.append(slope, np.zeros(len(p.targets) - len(p.y)))
    tol *= max(abs(solution.objective), p.exact)
    found = with_allowed_status(replace(solution, gap=certified_gap(bounds, design, w, theta, near, tol)), tol, p.exact)
    if found.status in (solution.status, Status.SOLVED):
        return found
    gap = min(found.gap, certified_gap(bounds, design, w, _lifted(bounds, design, w, theta, solution.objective), near, tol))
    if gap > _NEAR * tol and not _all_bounded(bounds, solution.objective):
        return replace(solution, gap=gap)
    return with_allowed_status(replace(solution, gap=gap), tol, p.exact)


def _all_bounded(bounds: GapBound, objective: float) -> bool:
    """Return True if the data or a penalty bound every weight; else a slope that rounds to below 0 can certify nothing."""
    used, ridge = bounds.mass > 0, bounds.program.penalty.ridge
    return bool((np.isfinite(bounds.upper(objective)) | (ridge > 0) | ~used).all())


def with_allowed_status(solution: Solution, tol: float, exact: float) -> Solution:
    """Count the solution as solved if its gap is near ``tol``, or below ``exact``, even if progress had stopped."""
    if solution.status is Status.SOLVED and not solution.gap <= max(_NEAR * tol, exact):
        return replace(solution, status=Status.INACCURATE)
    if solution.status is Status.INACCURATE and solution.gap <= tol:
        return replace(solution, status=Status.SOLVED)
    return solution


def _lifted(bounds: GapBound, design: Design, w: Floats, theta: Floats, objective: float) -> Floats:
    """Lift slopes above rounding by the least change of ``theta``, of those far from their bounds most."""
    p = bounds.program
    low, high = p.slopes
    room = np.minimum(np.where(np.isfinite(low), theta - low, np.inf), np.where(np.isfinite(high), high - theta, np.inf))
    room = np.maximum(np.where(np.isinf(room), np.abs(theta), room), 0.0)
    of_rows, of_penalty = slopes_of_rows(bounds, design, theta), p.penalty.enclosed_gradient(w)
    slopes, error = of_rows.value + of_penalty.value, of_rows.error + of_penalty.error
    low_ones = slopes < _SPARE * error  # the others have slope to spare
    unbounded = low_ones & np.isinf(bounds.upper(objective))
    lifted = np.flatnonzero(unbounded if unbounded.any() else low_ones)  # small slopes of bounded weights cost little
    if not len(lifted):
        return theta
    lift, along = np.maximum(_LIFT * error - slopes, 0.0)[lifted], np.zeros(len(w))
    along[lifted] = solve_regular(_gram(design, lifted, room * room), lift)
    return np.clip(theta + room * room * design.matvec(along), low, high)


def _gram(design: Design, columns: Integers, weights: Floats) -> Floats:
    if len(columns) > _FEW:
        return design.moments(np.zeros(len(weights)), weights).gram[np.ix_(columns, columns)]
    A = np.column_stack([design.matvec(e) for e in np.eye(design.shape[1])[columns]])
    return A.T @ (weights[:, None] * A)
