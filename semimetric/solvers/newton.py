"""Semismooth Newton for losses that curve: Squared, Huber, SquaredHinge.

The objective is piecewise quadratic. Each iteration gathers the curvature where there is any,

    H = sum over rows with a < l'(r_i) < b of (s_i / c) a_i a_iᵀ  +  P,

minimises the quadratic model over w >= lower, and moves towards its minimiser by the step along which the true objective is
least. The model is exact as soon as the rows that curve no longer change, so the iteration ends after finitely many steps, as
Newton's method for support vector machines (Keerthi & DeCoste 2005). Rows on the flat or linear parts cost a product, no more;
where too few rows curve for the model to say much, the linear tails of Huber's loss lend it l'(r) / r, as in reweighting.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from tqdm import tqdm

from .._foundation.types import Floats
from ..programs.gap_bound import GapBound
from ..programs.program import ConvexProgram
from .base import Solution, Solver, Status, refuse_free_weights, refuse_inequalities
from .box_quadratic import BoxQuadratic, pivot, solve_regular

__all__ = ["Newton"]

_DAMPING = 1e-12  # of the mean curvature: H may be singular
_UNEVEN, _FLAT = 1e-6, 1e-18  # of the steepest column: units differ; what is flat is not blown up
_PIVOTS = 500
_SHORT = 0.1  # of a step: the model was far off
_LIFT = 1e-10  # of the largest slope: free weights have rounding for a slope, and certificates want it >= 0
_NEAR = 1e-2  # of the objective: a step that gains less is near the end, and worth a certificate that costs a solve
_BISECTIONS = 60


@dataclass(frozen=True)
class Newton(Solver):
    """Exact to a certified gap, for losses with curvature and up to ~5,000 weights with finite lower bounds.

    Parameters
    ----------
    tol : float, default 1e-8
        Relative gap at which it stops.
    max_iter : int, default 100
    """

    tol: float = 1e-8
    max_iter: int = 100

    def refusal(self, program: ConvexProgram) -> str | None:
        if program.loss.curvature <= 0:
            return f"{type(program.loss).__name__} has no curvature; use InteriorPoint, FirstOrder or Reference"
        return refuse_inequalities(program) or refuse_free_weights(program)

    def _solve(self, program: ConvexProgram, start: Floats | None, verbose: bool) -> Solution:
        run = _NewtonRun(program, program.lower if start is None else np.maximum(start, program.lower))
        status, n_iter = Status.LIMIT, 0
        with tqdm(total=self.max_iter, desc="newton", disable=not verbose) as bar:
            try:
                for n_iter in range(self.max_iter + 1):  # noqa: B007 - reported
                    bar.set_postfix(objective=run.at.objective, gap=run.gap)
                    solved = run.certify(self.tol * max(run.at.objective, program.exact))
                    if solved or run.stuck:
                        status = Status.SOLVED if solved else Status.INACCURATE
                        break
                    if n_iter < self.max_iter:
                        run.step()
                    bar.update()
            except KeyboardInterrupt:
                status = Status.INTERRUPTED
        return Solution(run.at.w, run.at.objective, run.gap, n_iter, status, "Newton")


class _At(NamedTuple):
    """Weights, residuals, the objective, theta = s l'(r) and Aᵀ theta."""

    w: Floats
    residual: Floats
    objective: float
    theta: Floats
    product: Floats


class _NewtonRun:
    """The point, and the best bound so far."""

    def __init__(self, program: ConvexProgram, w: Floats) -> None:
        self.program, self.A, self.certificate = program, program.design.held(), GapBound(program)
        self.P = program.penalty.P.toarray()
        self.bound, self.H = -np.inf, self.P
        self.near, self.stuck, self.careful = False, False, True
        self.at = self._at(w, self.A.matvec(w) - program.y)

    def _at(self, w: Floats, residual: Floats) -> _At:
        p = self.program
        theta = p.sample_weight * p.loss.slope(residual)
        objective = p.loss.value(residual, p.sample_weight) + p.penalty.value(w)
        return _At(w, residual, objective, theta, self.A.rmatvec(theta))

    @property
    def gap(self) -> float:
        """Objective less best bound."""
        return max(self.at.objective - self.bound, 0.0)

    def certify(self, tol: float) -> bool:
        """Whether the gap is at most ``tol``: by the slopes of the loss here, or a Newton step further, where they are >= 0."""
        at = self.at
        self._bound(at)
        if self.gap > tol and (self.near or self.stuck):
            slope = at.product + self.program.penalty.gradient(at.w)
            size = np.abs(at.product).max(initial=0.0)
            H, scale = self._even()
            lift = np.maximum(-slope, 0.0) + _LIFT * size * (at.w > self.program.lower)
            v = at.w + solve_regular(H, lift / scale) / scale
            self._bound(self._at(v, self.A.matvec(v) - self.program.y))
        return self.gap <= tol

    def _bound(self, point: _At) -> None:
        best = self.certificate.bound(point.theta, point.product, point.w, self.at.objective)
        self.bound = max(self.bound, best)

    def _even(self) -> tuple[Floats, Floats]:
        """H in weights times ``scale``, and a little more on its diagonal.

        ``scale`` is 1 unless units of penalised columns differ by far: then all curve alike, so that no shift drowns the flat
        ones.
        """
        curve = np.diag(self.H)
        top = max(float(curve.max(initial=0.0)), 1e-300)
        uneven = bool((np.diag(self.P) > 0).all() and (curve < _UNEVEN * top).any())
        scale = np.sqrt(np.maximum(curve, _FLAT * top)) if uneven else np.ones(len(curve))
        H = self.H / np.outer(scale, scale)
        H[np.diag_indices_from(H)] += _DAMPING * max(float(np.trace(H)) / max(len(H), 1), 1e-300)
        return H, scale

    def step(self) -> None:
        """Minimise the quadratic model, and go there as far as the objective falls."""
        p, at = self.program, self.at
        curvature = self._curvature(at.residual)
        self.H = p.design.moments(np.zeros(len(curvature)), curvature).gram + self.P
        H, scale = self._even()
        gradient = at.product + p.penalty.gradient(at.w)
        box = BoxQuadratic(H, H @ (scale * at.w) - gradient / scale, scale * p.lower, np.full(len(scale), np.inf))
        goal = pivot(box, (at.w > p.lower) | (gradient < 0), max_iter=_PIVOTS) / scale
        goal = np.maximum(goal, p.lower)
        along = self.A.matvec(goal - at.w)
        length = self._length(goal - at.w, along, gradient)
        w = goal if length == 1.0 else np.maximum(at.w + length * (goal - at.w), p.lower)
        new = self._at(w, at.residual + length * along)
        fell = new.objective < at.objective
        self.stuck, self.careful = not fell and self.careful, length < _SHORT or not fell
        self.near = new.objective > (1 - _NEAR) * at.objective
        self.at = new if fell else at

    def _curvature(self, r: Floats) -> Floats:
        """s l''(r), or where that has led nowhere s l'(r) / r, the curvature of a quadratic that lies above the loss."""
        p = self.program
        curved = p.loss.curved(r)
        tail = p.loss.slope(r) / np.where(curved | (r == 0), 1.0, r) if self.careful else np.zeros_like(r)
        return p.sample_weight * np.where(curved, 1.0 / p.loss.curvature, tail)

    def _length(self, move: Floats, along: Floats, gradient: Floats) -> float:
        """The t in [0, 1] that minimises the objective at w + t move: its derivative is monotone."""
        p, r = self.program, self.at.residual
        curve, rise = float(move @ (self.P @ move)), float((gradient - self.at.product) @ move)

        def derivative(t: float) -> float:
            return float((p.sample_weight * p.loss.slope(r + t * along)) @ along) + rise + t * curve

        low, high = 0.0, 1.0
        if derivative(1.0) <= 0.0:
            return 1.0
        at_low, at_high = derivative(low), derivative(high)
        for _ in range(_BISECTIONS):
            if at_low >= 0 or high - low < 1e-12:
                break
            t = low - at_low * (high - low) / (at_high - at_low)  # exact between kinks
            t = min(max(t, low + 1e-3 * (high - low)), high - 1e-3 * (high - low))
            value = derivative(t)
            if value <= 0:
                low, at_low = t, value
            else:
                high, at_high = t, value
        return low if low > 0 else high if at_low < 0 else 0.0
