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
    upper = _box(moments, lower, scale)
    w, gap, n_iter = box_quadratic(H, b, lower, upper, start, tol=solver.tol * scale, max_iter=solver.max_iter)
    objective = max(float(w @ (H @ w)) / 2 - float(b @ w) + constant, 0.0)
    status = Status.SOLVED if gap <= solver.tol * scale else Status.LIMIT if n_iter >= solver.max_iter else Status.INACCURATE
    return Solution(w, objective, gap, n_iter, status, "Gram")


def _box(moments: Moments, lower: Floats, objective: float) -> Floats:
    """Upper bounds that a minimiser obeys, given that ``objective`` can be reached with A, w >= 0.

    w_j ‖A_j‖ <= ‖A w‖ <= ‖y‖ + sqrt(2 objective), norms weighted by S; infinite for columns that no pair touches.
    """
    reach = np.sqrt(moments.square) + np.sqrt(2.0 * objective)
    norm = np.sqrt(np.maximum(np.diag(moments.gram), 0.0))
    with np.errstate(divide="ignore"):
        return np.maximum(np.where(norm > 0, reach / norm, np.inf), lower)


def _gap(H: Floats, gradient: Floats, w: Floats, lower: Floats, upper: Floats) -> float:
    """A bound of objective - optimum.

    Frank-Wolfe over the box; where the box is open, g² / (2 H_jj) for the columns that only a diagonal penalty holds. With
    free weights it is half the squared Newton decrement.
    """
    if not np.isfinite(lower).all():
        return abs(float(gradient @ _solve_free(H, gradient))) / 2
    closed = np.isfinite(upper)
    alone = np.divide(gradient**2, 2.0 * np.diag(H), out=np.zeros_like(gradient), where=np.diag(H) > 0)
    falling = np.where(gradient < 0, np.where(closed, -gradient * (np.where(closed, upper, w) - w), alone), 0.0)
    return float(np.maximum(gradient, 0.0) @ (w - lower) + np.maximum(falling, 0.0).sum())


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
    H: Floats, b: Floats, lower: Floats, upper: Floats, start: Floats | None = None, *, tol: float, max_iter: int
) -> tuple[Floats, float, int]:
    """min wᵀ H w / 2 - bᵀ w over w >= lower, by projected Newton steps on the free weights.

    ``upper`` is a box that a minimiser is known to lie in; it certifies, and does not constrain.

    Returns
    -------
    w : ndarray of shape (n,)
    gap : float
        Certified.
    n_iter : int
    """
    w = np.where(np.isfinite(lower), lower, 0.0) if start is None else np.maximum(start, lower)
    gradient = H @ w - b
    for n_iter in range(max_iter + 1):
        gap = _gap(H, gradient, w, lower, upper)
        if gap <= tol or n_iter == max_iter:
            break
        free = (w > lower) | (gradient < 0)
        step = np.zeros_like(w)
        step[free] = -_solve_free(H[np.ix_(free, free)], gradient[free])
        w, gradient, moved = _search(H, gradient, lower, w, step)
        if not moved:
            break
    return w, gap, n_iter


def _search(H: Floats, gradient: Floats, lower: Floats, w: Floats, step: Floats) -> tuple[Floats, Floats, bool]:
    """The first point on the projection arc of the step that decreases the objective, its gradient, and whether there is one.

    The change is computed from the move, not from two objectives, so that it is exact to the last digits of progress.
    """
    length = 1.0
    for _ in range(40):
        trial = np.maximum(w + length * step, lower)
        move = trial - w
        turned = H @ move
        if float(gradient @ move) + float(move @ turned) / 2 < 0:
            return trial, gradient + turned, True
        length /= 2
    return w, gradient, False
