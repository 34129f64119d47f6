"""A convex quadratic over weights with lower bounds: how far a point is from its optimum, and interior points.

    min_w  wᵀ H w / 2 - bᵀ w   over  w >= lower,      H positive semidefinite

For any v whatsoever, with r = H v - b and v = w + p, the optimum is at least -vᵀHv / 2 + min_u r·u over the box, so

    objective(w) - optimum <= sum_j [r_j (w_j - lower_j) or, if r_j < 0, -r_j (upper_j - w_j)] + pᵀ H p / 2.

A good p makes r >= 0, so that no upper bound is needed; it costs a square of what was missing.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from .._foundation.types import Floats

__all__ = ["BoxQuadratic", "BoxSolution", "interior", "pivot", "solve_regular"]

_JITTER = 1e-12  # of the mean diagonal, in the factorisation only: a singular H still gives a descent direction
_ROUNDING = 1e-12  # of the largest |b|: a slope of a free weight that is no slope
_REFINEMENTS = 8
_DAMPING = 0.9995
_CHANCES = 3  # exchanges of blocks that do not help, before weights change sides one by one


class BoxSolution(NamedTuple):
    """A point, its certified gap, the iterations, and whether Ctrl-C ended them."""

    w: Floats
    gap: float
    n_iter: int
    interrupted: bool = False


@dataclass(frozen=True, eq=False)
class BoxQuadratic:
    """H, b and the bounds. ``upper`` is a box that a minimiser is known to lie in: it certifies, and does not constrain."""

    H: Floats
    b: Floats
    lower: Floats
    upper: Floats

    @cached_property
    def free(self) -> np.ndarray:
        """Which weights have no lower bound."""
        return ~np.isfinite(self.lower)

    @cached_property
    def _of_ones(self) -> Floats:
        return self.H.sum(axis=1)

    @property
    def scale(self) -> float:
        """Mean curvature: turns multipliers into weights."""
        return max(float(np.diag(self.H).mean()), 1e-300)

    def gap(self, w: Floats, gradient: Floats, step: Floats | None = None) -> float:
        """A bound of objective - optimum at ``w``, ``gradient`` = H w - b; the best over a few p.

        They are 0, multiples of w and of ones, along which slopes rise where the data are distances, and ``step``.
        """
        bounds = [self._gap(w, gradient, 0.0)]
        short = gradient < 0
        for product, size in ((gradient + self.b, w @ (gradient + self.b)), (self._of_ones, self._of_ones.sum())):
            rising = short & (product > 0)
            length = float((-gradient[rising] / product[rising]).max(initial=0.0))
            bounds.append(self._gap(w, gradient + length * product, length**2 * float(size) / 2))
        if step is not None:
            product = self.H @ step
            bounds.append(self._gap(w, gradient + product, float(step @ product) / 2))
        return min(bounds)

    def _gap(self, w: Floats, slope: Floats, cost: float) -> float:
        bound, falling = ~self.free, slope < 0
        with np.errstate(invalid="ignore"):
            up = np.where(falling & bound, -slope * (self.upper - w), 0.0).sum()
        loose = np.abs(slope[self.free]) > _ROUNDING * np.abs(self.b).max(initial=0.0)
        down = np.maximum(slope, 0.0)[bound] @ (w - self.lower)[bound]
        return np.inf if loose.any() else float(max(cost, 0.0) + up + down)

    def lift(self, gradient: Floats) -> Floats:
        """The p that takes away every negative slope, and every slope of a free weight, where H is regular."""
        return solve_regular(self.H, np.where(self.free, -gradient, np.maximum(-gradient, 0.0)))


def solve_regular(H: Floats, g: Floats) -> Floats:
    """H⁻¹ g, with as little added to the diagonal as the factorisation needs, and taken back by refinement."""
    jitter = _JITTER * max(float(np.trace(H)) / max(len(H), 1), 1e-300)
    for _ in range(8):
        try:
            shifted = H.copy()
            shifted[np.diag_indices_from(shifted)] += jitter
            return _refined(H, g, cho_factor(shifted, overwrite_a=True, check_finite=False))
        except LinAlgError:
            jitter *= 100.0
    return g / max(float(np.trace(H)), 1e-300)  # steepest descent with a safe step


def _refined(H: Floats, g: Floats, factor: tuple) -> Floats:
    x = cho_solve(factor, g, check_finite=False)
    for _ in range(_REFINEMENTS):
        rest = g - H @ x
        if np.abs(rest).max(initial=0.0) <= _ROUNDING * np.abs(g).max(initial=0.0):
            break
        x = x + cho_solve(factor, rest, check_finite=False)
    return x


def interior(box: BoxQuadratic, *, tol: float, max_iter: int) -> tuple[BoxSolution, Floats]:
    """Mehrotra's predictor and corrector, for finite bounds: a singular H is as good as any.

    Returns
    -------
    found : BoxSolution
    multipliers : ndarray of shape (n,)
        Of w >= lower.
    """
    H, n = box.H, len(box.b)
    level = max(float(np.maximum(box.b, 0.0).sum()) / max(float(H.sum()), 1e-300), 1e-12)
    x = np.full(n, level)  # w - lower
    z = np.full(n, max(float(np.abs(H @ (box.lower + x) - box.b).mean()), 1e-300))
    best, n_iter, interrupted = (np.inf, box.lower + x, z), 0, False
    try:
        for n_iter in range(max_iter + 1):  # noqa: B007 - reported
            w = box.lower + x
            gradient = H @ w - box.b
            gap = box.gap(w, gradient)
            best = (gap, w, z) if gap < best[0] else best
            if gap <= tol or n_iter == max_iter:
                break
            try:
                with np.errstate(divide="raise", invalid="raise", over="raise"):
                    x, z = _step(H, gradient, x, z)
            except (LinAlgError, FloatingPointError):  # as near as rounding lets it
                break
    except KeyboardInterrupt:
        interrupted = True
    return BoxSolution(best[1], best[0], n_iter, interrupted), best[2]


def _step(H: Floats, gradient: Floats, x: Floats, z: Floats) -> tuple[Floats, Floats]:
    shifted = H.copy()
    shifted[np.diag_indices_from(shifted)] += z / x
    factor = cho_factor(shifted, overwrite_a=True, check_finite=False)

    def direction(target: Floats) -> tuple[Floats, Floats]:
        dx = cho_solve(factor, z - gradient + target / x, check_finite=False)
        return dx, (target - z * dx) / x

    mu = float(x @ z) / len(x)
    dx, dz = direction(-x * z)
    t, u = _longest(x, dx), _longest(z, dz)
    after = float((x + t * dx) @ (z + u * dz)) / len(x)
    dx, dz = direction((after / mu) ** 3 * mu - x * z - dx * dz)
    t = _DAMPING * min(_longest(x, dx), _longest(z, dz))  # one length: the primal is in the dual's residual
    return x + t * dx, z + t * dz


def _longest(x: Floats, dx: Floats) -> float:
    """The largest t <= 1 with x + t dx >= 0."""
    falling = dx < 0
    return min(1.0, float((x[falling] / -dx[falling]).min(initial=np.inf)))


def pivot(box: BoxQuadratic, loose: np.ndarray, *, max_iter: int) -> Floats:
    """The minimum for a regular H and finite bounds by block principal pivoting (Judice & Pires 1994; Kim & Park 2011).

    Solve as if exactly the weights ``loose`` were off their bounds; let those that came out beyond a bound, or with a falling
    slope at it, change sides all at once; where that stops helping, one by one, which ends for every positive definite H. A
    good guess of ``loose`` needs one or two solves. Nothing about signs in H is assumed.
    """
    loose, best, chances = loose.copy(), len(box.b) + 1, _CHANCES
    small = _ROUNDING * max(float(np.abs(box.b).max(initial=0.0)), 1e-300)
    w = box.lower
    for _ in range(max_iter):
        w, slope = _at_vertex(box, loose)
        wrong = np.where(loose, w < box.lower, slope < -small)
        count = int(wrong.sum())
        if not count:
            break
        chances = _CHANCES if count < best else chances - 1
        best = min(best, count)
        if chances < 0:
            wrong[: np.flatnonzero(wrong)[-1]] = False
        loose ^= wrong
    return np.maximum(w, box.lower)


def _at_vertex(box: BoxQuadratic, loose: np.ndarray) -> tuple[Floats, Floats]:
    """The minimum with the other weights at their bounds, and the slope there."""
    w = box.lower.copy()
    gradient = box.H @ w - box.b
    w[loose] -= solve_regular(box.H[np.ix_(loose, loose)], gradient[loose])
    return w, box.H @ w - box.b
