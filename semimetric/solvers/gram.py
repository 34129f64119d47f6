"""Least squares from second moments: one pass over the pairs, then an exact bound-constrained quadratic solve.

    min_w  wᵀ H w / 2 - bᵀ w   over  w >= lower,      H = AᵀSA + P,  b = AᵀSy + q

The moments are sums over pairs, so they accumulate over blocks, over calls of ``partial_fit`` and over machines.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from .._types import Floats
from ..programs.design import Moments
from ..programs.penalties import Quadratic
from ..programs.program import ConvexProgram
from .base import Solution, Solver, Status

__all__ = ["Gram", "box_quadratic", "solve_moments"]

_JITTER = 1e-12  # of the mean diagonal, in the factorisation only: a singular H still gives a descent direction


@dataclass(frozen=True)
class Gram(Solver):
    """Projected Newton on the second moments (Bertsekas 1982): exact up to rounding, for up to ~10,000 weights.

    Parameters
    ----------
    tol : float, default 1e-9
        Largest certified gap, relative to the objective at w = lower.
    max_iter : int, default 200
    """

    tol: float = 1e-9
    max_iter: int = 200

    def refusal(self, program: ConvexProgram) -> str | None:
        if not program.loss.quadratic:
            return f"{type(program.loss).__name__} is not a squared loss; use FirstOrder or Reference"
        if program.equalities is not None:
            return "it has explicit equality rows; use Reference"
        return None

    def _solve(self, program: ConvexProgram, start: Floats | None, verbose: bool) -> Solution:
        moments = program.design.moments(program.y, program.sample_weight)
        return solve_moments(self, moments, program.penalty, program.lower, start)


def solve_moments(solver: Gram, moments: Moments, penalty: Quadratic, lower: Floats, start: Floats | None = None) -> Solution:
    """The solution from moments whose total weight is 1."""
    H = moments.gram + penalty.P.toarray()
    b = moments.cross + penalty.q
    constant = moments.square / 2 + penalty.constant
    scale = max(constant, 1e-300)
    w, n_iter = box_quadratic(H, b, lower, start, tol=0.1 * solver.tol * scale, max_iter=solver.max_iter)
    gradient = H @ w - b
    objective = max(float(w @ (gradient - b)) / 2 + constant, 0.0)
    gap = _gap(H, gradient, w, lower, moments, objective)
    status = Status.SOLVED if gap <= solver.tol * scale else Status.LIMIT if n_iter >= solver.max_iter else Status.INACCURATE
    return Solution(w, objective, gap, n_iter, status, "Gram")


def _gap(H: Floats, gradient: Floats, w: Floats, lower: Floats, moments: Moments, objective: float) -> float:
    """Frank-Wolfe gap over a box that holds a minimiser, or for free weights half the Newton decrement.

    For A, w >= 0: w_j ‖A_j‖ <= ‖A w‖ <= ‖y‖ + sqrt(2 objective), norms weighted by S; H_jj bounds columns of P alone.
    """
    if not np.isfinite(lower).all():
        return abs(float(gradient @ _solve_free(H, gradient))) / 2
    reach = np.sqrt(moments.square) + np.sqrt(2.0 * objective)
    norm = np.sqrt(np.maximum(np.diag(moments.gram), 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        by_data = np.where(norm > 0, reach / norm, np.inf)
        spread = np.where(np.diag(H) > 0, np.abs(gradient) / np.diag(H), 0.0)
    upper = np.maximum(by_data, w)
    falling = np.where(gradient < 0, -gradient * np.where(np.isfinite(upper), upper - w, 1e6 * spread), 0.0)
    return float(np.maximum(gradient, 0.0) @ (w - lower) + falling.sum())


def _solve_free(H: Floats, g: Floats) -> Floats:
    """H⁻¹ g, with as little added to the diagonal as the factorisation needs."""
    jitter = _JITTER * max(float(np.trace(H)) / len(H), 1e-300)
    for _ in range(8):
        try:
            shifted = H.copy()
            shifted[np.diag_indices_from(shifted)] += jitter
            return cho_solve(cho_factor(shifted, overwrite_a=True, check_finite=False), g, check_finite=False)
        except LinAlgError:
            jitter *= 100.0
    return g / max(float(np.trace(H)), 1e-300)  # steepest descent with a safe step


def box_quadratic(
    H: Floats, b: Floats, lower: Floats, start: Floats | None = None, *, tol: float, max_iter: int
) -> tuple[Floats, int]:
    """min wᵀ H w / 2 - bᵀ w over w >= lower, by projected Newton steps on the free weights.

    Returns
    -------
    w : ndarray of shape (n,)
    n_iter : int
    """
    w = np.where(np.isfinite(lower), lower, 0.0) if start is None else np.maximum(start, lower)
    value, gradient = _evaluate(H, b, w)
    for n_iter in range(max_iter):
        free = (w > lower) | (gradient < 0)
        if _decrease(gradient, w, lower, free) <= tol:
            return w, n_iter
        step = np.zeros_like(w)
        step[free] = -_solve_free(H[np.ix_(free, free)], gradient[free])
        w, value, gradient, moved = _search(H, b, lower, w, step, value)
        if not moved:  # the value is at its rounding error, the gradient may not be
            last = np.maximum(w + step, lower)
            after = _decrease(H @ last - b, last, lower, free)
            return (last if after < _decrease(gradient, w, lower, free) else w), n_iter + 1
    return w, max_iter


def _evaluate(H: Floats, b: Floats, w: Floats) -> tuple[float, Floats]:
    product = H @ w
    return float(w @ product) / 2 - float(b @ w), product - b


def _decrease(gradient: Floats, w: Floats, lower: Floats, free: np.ndarray) -> float:
    """Size of the projected gradient, as an objective."""
    room = np.where(np.isfinite(lower), np.where(gradient > 0, w - lower, np.abs(w) + 1.0), np.abs(w) + 1.0)
    return float((np.abs(gradient) * room)[free].sum())


def _search(H: Floats, b: Floats, lower: Floats, w: Floats, step: Floats, value: float) -> tuple[Floats, float, Floats, bool]:
    """The best of a few points on the projection arc of the step."""
    length = 1.0
    for _ in range(40):
        trial = np.maximum(w + length * step, lower)
        new, gradient = _evaluate(H, b, trial)
        if new < value:
            return trial, new, gradient, True
        length /= 2
    return w, value, H @ w - b, False
