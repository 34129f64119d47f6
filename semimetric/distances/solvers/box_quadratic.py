"""Convex quadratics over weights with lower bounds: their certified gap, an interior point method and block pivoting.

    min_w  wᵀ H w / 2 - bᵀ w   over  w >= lower,      H positive semidefinite

For every v = w + p, with r = H v - b, the optimum is at least -vᵀHv / 2 + min_u r·u over the box, so

    objective(w) - optimum <= sum_j [r_j (w_j - lower_j) or, if r_j < 0, -r_j (upper_j - w_j)] + pᵀ H p / 2.

A good p makes r >= 0, so that no upper bound is needed; its cost is quadratic in the negative slopes that it removes.
"""

from concurrent.futures import Future
from dataclasses import dataclass
from functools import cached_property
from threading import Thread, current_thread, main_thread
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from ..._foundation.iteration import Step
from ..._foundation.types import Floats

_LARGE = 2_000  # rows of a matrix that takes LAPACK more than some 0.2 s


def factorize(H: Floats) -> tuple[Floats, bool]:
    """Return the factor of a positive definite H, for `scipy.linalg.cho_solve`; H is overwritten.

    LAPACK cannot be interrupted, and takes several seconds for 8,000 rows. So another thread factorizes a large matrix, while
    this one waits and sees Ctrl-C at once; the other one then ends by itself, and nobody reads its result.
    """
    if len(H) < _LARGE or current_thread() is not main_thread():
        return cho_factor(H, overwrite_a=True, check_finite=False)
    factor: Future[tuple[Floats, bool]] = Future()

    def work() -> None:
        try:
            factor.set_result(cho_factor(H, overwrite_a=True, check_finite=False))
        except Exception as error:
            factor.set_exception(error)

    Thread(target=work, daemon=True).start()
    return factor.result()


_JITTER = 1e-12  # this share of the mean diagonal is added before a factorisation, so that a singular H can be factored
_ROUNDING = 1e-12  # a slope of at most this share of the largest |b| counts as 0
_REFINEMENTS = 8  # the most steps of iterative refinement
_DAMPING = 0.9995  # interior points go this share of the way to the boundary
_CHANCES = 3  # exchanges of blocks that may fail to help before weights are exchanged one by one


class BoxSolution(NamedTuple):
    """The weights w (n,), their certified gap, the number of iterations, True if Ctrl-C ended these, and the steps."""

    w: Floats
    gap: float
    n_iter: int
    interrupted: bool = False
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True, eq=False)
class BoxQuadratic:
    """A quadratic and the bounds of its weights; the upper ones hold for some minimiser, and only certify a gap."""

    H: Floats  # (n, n)
    b: Floats  # (n,), as are the bounds
    lower: Floats
    upper: Floats

    @cached_property
    def free(self) -> np.ndarray:
        """A mask of the weights that have no lower bound, shape (n,)."""
        return ~np.isfinite(self.lower)

    @cached_property
    def _row_sums(self) -> Floats:
        return self.H.sum(axis=1)

    def objective(self, w: Floats, gradient: Floats) -> float:
        """Return wᵀ H w / 2 - bᵀ w at weights whose ``gradient`` is H w - b."""
        return float(w @ gradient - w @ self.b) / 2

    @property
    def scale(self) -> float:
        """The mean curvature, by which Lagrange multipliers are divided to compare them with weights."""
        return max(float(np.diag(self.H).mean()), 1e-300)

    def gap(self, w: Floats, gradient: Floats, step: Floats | None = None) -> float:
        """Return a bound of objective - optimum at ``w``: the least over multiples of w and of ones, ``step`` and 0."""
        bounds = [self._gap(w, gradient, 0.0)]
        falling = gradient < 0
        for product, size in ((gradient + self.b, w @ (gradient + self.b)), (self._row_sums, self._row_sums.sum())):
            rising = falling & (product > 0)
            length = float((-gradient[rising] / product[rising]).max(initial=0.0))
            bounds.append(self._gap(w, gradient + length * product, length**2 * float(size) / 2))
        if step is not None:
            product = self.H @ step
            bounds.append(self._gap(w, gradient + product, float(step @ product) / 2))
        return min(bounds)

    def _gap(self, w: Floats, slope: Floats, cost: float) -> float:
        """Return the bound where ``slope`` is r and ``cost`` is pᵀ H p / 2; infinite if a free weight has a slope."""
        bounded = ~self.free
        with np.errstate(invalid="ignore"):
            up = np.where((slope < 0) & bounded, -slope * (self.upper - w), 0.0).sum()
        sloping = np.abs(slope[self.free]) > _ROUNDING * np.abs(self.b).max(initial=0.0)
        down = np.maximum(slope, 0.0)[bounded] @ (w - self.lower)[bounded]
        return np.inf if sloping.any() else float(max(cost, 0.0) + up + down)

    def lift(self, gradient: Floats) -> Floats:
        """Return the p that removes every negative slope, and every slope of a free weight, if H is regular."""
        return solve_regular(self.H, np.where(self.free, -gradient, np.maximum(-gradient, 0.0)))


def solve_regular(H: Floats, g: Floats) -> Floats:
    """Return H⁻¹ g, corrected by iterative refinement for the little that the factorisation adds to the diagonal."""
    jitter = _JITTER * max(float(np.trace(H)) / max(len(H), 1), 1e-300)
    for _ in range(8):
        try:
            shifted = H.copy()
            shifted[np.diag_indices_from(shifted)] += jitter
            return _refined(H, g, factorize(shifted))
        except LinAlgError:
            jitter *= 100.0
    return g / max(float(np.trace(H)), 1e-300)  # steepest descent with a safe step


def _refined(H: Floats, g: Floats, factor: tuple) -> Floats:
    x = cho_solve(factor, g, check_finite=False)
    for _ in range(_REFINEMENTS):
        residual = g - H @ x
        if np.abs(residual).max(initial=0.0) <= _ROUNDING * np.abs(g).max(initial=0.0):
            break
        x = x + cho_solve(factor, residual, check_finite=False)
    return x


def interior(box: BoxQuadratic, *, tol: float, max_iter: int) -> tuple[BoxSolution, Floats]:
    """Minimise by Mehrotra's predictor-corrector method, for finite bounds; H may be singular.

    The multipliers of w >= lower, shape (n,), come second.
    """
    H, n = box.H, len(box.b)
    level = max(float(np.maximum(box.b, 0.0).sum()) / max(float(H.sum()), 1e-300), 1e-12)
    x = np.full(n, level)  # w - lower
    z = np.full(n, max(float(np.abs(H @ (box.lower + x) - box.b).mean()), 1e-300))
    best = (np.inf, box.lower + x, z)
    n_iter = 0
    steps: list[Step] = []
    interrupted = False
    try:
        for n_iter in range(max_iter + 1):  # noqa: B007 - the solution reports n_iter
            w = box.lower + x
            gradient = H @ w - box.b
            gap = box.gap(w, gradient)
            best = (gap, w, z) if gap < best[0] else best
            steps.append((n_iter, box.objective(w, gradient), gap))
            if gap <= tol or n_iter == max_iter:
                break
            try:
                with np.errstate(divide="raise", invalid="raise", over="raise"):
                    x, z = _step(H, gradient, x, z)
            except (LinAlgError, FloatingPointError):  # rounding allows no further progress
                break
    except KeyboardInterrupt:
        interrupted = True
    return BoxSolution(best[1], best[0], n_iter, interrupted, tuple(steps)), best[2]


def _step(H: Floats, gradient: Floats, x: Floats, z: Floats) -> tuple[Floats, Floats]:
    """Return x = w - lower and the multipliers z after one predictor-corrector step."""
    shifted = H.copy()
    shifted[np.diag_indices_from(shifted)] += z / x
    factor = factorize(shifted)

    def direction(target: Floats) -> tuple[Floats, Floats]:
        dx = cho_solve(factor, z - gradient + target / x, check_finite=False)
        return dx, (target - z * dx) / x

    mu = np.float64(x @ z) / len(x)  # which may round to 0, and is then no number of Python, whose error nobody awaits
    dx, dz = direction(-x * z)
    t, u = longest_step(x, dx), longest_step(z, dz)
    after = float((x + t * dx) @ (z + u * dz)) / len(x)
    centred = (after / mu) ** 3 * mu if mu else 0.0  # at an exact solution the products of x and z round to 0
    dx, dz = direction(centred - x * z - dx * dz)
    t = _DAMPING * min(longest_step(x, dx), longest_step(z, dz))  # both move equally, as the dual residual depends on x
    return x + t * dx, z + t * dz


def longest_step(x: Floats, dx: Floats) -> float:
    """Return the largest t <= 1 with x + t dx >= 0."""
    falling = dx < 0
    return min(1.0, float((x[falling] / -dx[falling]).min(initial=np.inf)))


def pivot(box: BoxQuadratic, loose: np.ndarray, *, max_iter: int) -> Floats:
    """Minimise for a regular H and finite bounds by block pivoting (Judice & Pires 1994; Kim & Park 2011).

    Each iteration minimises over the weights ``loose`` with the others at their bounds. Weights that then violate their bound,
    or have a negative slope at it, are exchanged between the two sets, all at once. Where that stops to help, they are
    exchanged one by one, which ends for every positive definite H. A good guess of ``loose`` needs one or two iterations.
    Nothing is assumed about the signs of the entries of H.
    """
    loose = loose.copy()
    best = len(box.b) + 1
    chances = _CHANCES
    small = _ROUNDING * max(float(np.abs(box.b).max(initial=0.0)), 1e-300)
    w = box.lower
    for _ in range(max_iter):
        w, slope = _with_loose(box, loose)
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


def _with_loose(box: BoxQuadratic, loose: np.ndarray) -> tuple[Floats, Floats]:
    """Return the minimum over the weights ``loose`` alone, and the gradient there."""
    w = box.lower.copy()
    gradient = box.H @ w - box.b
    w[loose] -= solve_regular(box.H[np.ix_(loose, loose)], gradient[loose])
    return w, box.H @ w - box.b
