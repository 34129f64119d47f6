"""The semismooth Newton method for losses that curve: Squared, Huber, SquaredHinge.

The objective is piecewise quadratic. Each iteration sums the curvature of the rows whose loss curves at the current weights,

    H = sum over rows with a < l'(r_i) < b of (s_i / c) a_i a_iᵀ  +  P,

minimises the quadratic model over w >= lower, and goes from the current weights towards that minimiser as far as the true
objective falls. The model is exact as soon as the set of rows that curve no longer changes, so the iteration ends after
finitely many steps, as Newton's method for support vector machines does (Keerthi & DeCoste 2005). A row on a flat or linear
part of the loss costs only its part of a product. Where a step has failed, because too few rows curve, the rows on linear parts
are given the curvature l'(r) / r, as in iteratively reweighted least squares.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ..._foundation.iteration import Status, iterate
from ..._foundation.stored import storable
from ..._foundation.types import Floats
from ..programs.certificate import GapBound
from ..programs.program import ConvexProgram
from .base import STOPS_AT, History, Solution, Solver, certified, refuse_free_weights, refuse_inequalities
from .box_quadratic import BoxQuadratic, pivot, solve_regular

_DAMPING = 1e-12  # this share of the mean curvature is added to the diagonal of H, which may be singular
_MOST_DAMPING = 1e-2  # a careful step that failed with so much of it is the last
_RAISED = 1e3  # the factor of the damping after a careful step that failed,
_EASED = 10.0  # and its divisor after a step that lowered the objective
_BADLY_SCALED = 1e-6  # columns are rescaled if the curvature of one is below this share of the largest
_FLATTEST = 1e-18  # a curvature below this share of the largest counts as this share when columns are rescaled
_PIVOTS = 500  # the limit of iterations of block pivoting
_SHORT = 0.1  # a step that is cut to less than this share of its length shows that the model was wrong
_LIFT = 1e-10  # slopes of loose weights are raised by this share of the largest: they round to below 0, which a bound penalises
_NEAR = 1e-2  # a step that lowers the objective by less than this share is near the end, so a costlier bound is computed
_BISECTIONS = 60  # the most steps of the line search


@storable
@dataclass(frozen=True)
class Newton(Solver):
    """Newton's method, for losses that curve and up to ~5,000 weights with finite lower bounds.

    Parameters
    ----------
    tol : float, default 1e-8
        The relative certified gap at which the iteration stops.
    max_iter : int, default 100
        The limit of iterations.
    certify : bool, default True
        Certify the gap in floating point. Without it, a solution counts as solved by the gap that the iteration computed,
        which rounding may have made too small, and its own gap is infinite: enough where only weights are asked for.

    Examples
    --------
    >>> from semimetric import DistanceRegressor, Newton, Program
    >>> model = DistanceRegressor(loss="huber", program=Program(solver=Newton(tol=1e-9)))
    """

    tol: float = 1e-8
    max_iter: int = 100
    certify: bool = True

    def refusal(self, program: ConvexProgram) -> str | None:
        if program.loss.curvature <= 0:
            return f"{type(program.loss).__name__} has no curvature; use InteriorPoint, FirstOrder or Reference"
        return refuse_inequalities(program) or refuse_free_weights(program)

    def _solve(self, program: ConvexProgram, start: Floats | None, verbose: bool | None) -> Solution:
        method = _NewtonRun(program, program.lower if start is None else np.maximum(start, program.lower), STOPS_AT * self.tol)
        run = iterate(method, name="newton", max_iter=self.max_iter, verbose=verbose)
        solution = Solution(
            method.point.w, method.objective, method.gap, run.n_iter, run.status, "Newton", history=History.of(run.steps)
        )
        if run.status is Status.SOLVED and not self.certify:
            return replace(solution, gap=np.inf)
        at = method.dual or method.point
        return certified(solution, method.gap_bound, method.A, at.theta, self.tol, at.w)


class _EvaluatedPoint(NamedTuple):
    """Weights w, residuals A w - y, the objective, the dual variables theta = s l'(r) and the product Aᵀ theta."""

    w: Floats
    residual: Floats
    objective: float
    theta: Floats
    product: Floats


class _NewtonRun:
    """State of the iteration."""

    def __init__(self, program: ConvexProgram, w: Floats, tol: float) -> None:
        self.tol = tol
        self.program = program
        self.A = program.design.held()
        self.gap_bound = GapBound(program)
        self.P = program.penalty.P.toarray()
        self.H = self.P  # (n, n): the curvature of the quadratic model of the last step
        self.bound = -np.inf  # the largest lower bound of the optimum so far
        self.dual: _EvaluatedPoint | None = None  # the point that gave it
        self.near = False  # the last step lowered the objective by very little
        self.stuck = False  # even a careful step of the largest damping failed
        self.careful = True  # the next model gives curvature to rows on linear parts of the loss, too
        # The share of the mean curvature that is added to that of every weight, raised after careful steps that failed, as by
        # Levenberg and Marquardt: pivoting may not find the minimum of a nearly singular model.
        self.damping = _DAMPING
        self.point = self._point_at(w, self.A.matvec(w) - program.y)

    def _point_at(self, w: Floats, residual: Floats) -> _EvaluatedPoint:
        p = self.program
        theta = p.sample_weight * p.loss.slope(residual)
        objective = p.loss.value(residual, p.sample_weight) + p.penalty.value(w)
        return _EvaluatedPoint(w, residual, objective, theta, self.A.rmatvec(theta))

    @property
    def objective(self) -> float:
        """The objective of the best point."""
        return self.point.objective

    @property
    def gap(self) -> float:
        """The objective minus the best lower bound, at least 0."""
        return max(self.point.objective - self.bound, 0.0)

    def look(self) -> Status | None:
        """Compute the gap, and return SOLVED or, where no step helps, INACCURATE.

        Near the end, a further Newton step may raise the bound: it makes the slopes of all columns >= 0.
        """
        at = self.point
        tol = self.tol * max(at.objective, self.program.exact)
        self._raise_bound(at)
        if self.gap > tol and (self.near or self.stuck):
            slope = at.product + self.program.penalty.gradient(at.w)
            size = np.abs(at.product).max(initial=0.0)
            H, scale = self._rescaled(_DAMPING)
            lift = np.maximum(-slope, 0.0) + _LIFT * size * (at.w > self.program.lower)
            v = at.w + solve_regular(H, lift / scale) / scale
            self._raise_bound(self._point_at(v, self.A.matvec(v) - self.program.y))
        if self.gap <= tol:
            return Status.SOLVED
        return Status.INACCURATE if self.stuck else None

    def _raise_bound(self, at: _EvaluatedPoint) -> None:
        bound = self.gap_bound.bound(at.theta, at.product, at.w, self.point.objective)
        if bound >= self.bound:  # of bounds that are equal, as where none is known, the last
            self.bound, self.dual = bound, at

    def _rescaled(self, damping: float) -> tuple[Floats, Floats]:
        """Return H for the weights multiplied by ``scale``, with this share of its mean diagonal added, and ``scale``.

        Scales are 1 unless all columns are penalised and their curvatures differ very much. Then every column is scaled to the
        same curvature, so that what is added to the diagonal is small beside each.
        """
        curvature = np.diag(self.H)
        largest = max(float(curvature.max(initial=0.0)), 1e-300)
        badly_scaled = bool((np.diag(self.P) > 0).all() and (curvature < _BADLY_SCALED * largest).any())
        scale = np.sqrt(np.maximum(curvature, _FLATTEST * largest)) if badly_scaled else np.ones(len(curvature))
        H = self.H / np.outer(scale, scale)
        H[np.diag_indices_from(H)] += damping * max(float(np.trace(H)) / max(len(H), 1), 1e-300)
        return H, scale

    def step(self) -> None:
        """Minimise the quadratic model, and go towards its minimum as far as the objective falls."""
        p, at = self.program, self.point
        curvature = self._curvature(at.residual)
        self.H = p.design.moments(np.zeros(len(curvature)), curvature).gram + self.P
        H, scale = self._rescaled(self.damping)
        gradient = at.product + p.penalty.gradient(at.w)
        box = BoxQuadratic(H, H @ (scale * at.w) - gradient / scale, scale * p.lower, np.full(len(scale), np.inf))
        goal = pivot(box, (at.w > p.lower) | (gradient < 0), max_iter=_PIVOTS) / scale
        goal = np.maximum(goal, p.lower)
        along = self.A.matvec(goal - at.w)
        length = self._step_length(goal - at.w, along, gradient)
        w = goal if length == 1.0 else np.maximum(at.w + length * (goal - at.w), p.lower)
        new = self._point_at(w, at.residual + length * along)
        fell = new.objective < at.objective
        self.stuck = not fell and self.careful and self.damping >= _MOST_DAMPING
        if fell:
            self.damping = max(self.damping / _EASED, _DAMPING)
        elif self.careful:
            self.damping *= _RAISED
        self.careful = length < _SHORT or not fell
        self.near = new.objective > (1 - _NEAR) * at.objective
        self.point = new if fell else at

    def _curvature(self, r: Floats) -> Floats:
        """Return the curvature s l''(r) of every row, shape (m,).

        A careful step gives rows on linear parts of the loss s l'(r) / r, the curvature of a quadratic that lies above the
        loss.
        """
        p = self.program
        curved = p.loss.curved(r)
        tail = p.loss.slope(r) / np.where(curved | (r == 0), 1.0, r) if self.careful else np.zeros_like(r)
        return p.sample_weight * np.where(curved, 1.0 / p.loss.curvature, tail)

    def _step_length(self, move: Floats, along: Floats, gradient: Floats) -> float:
        """Return the t in [0, 1] that minimises the objective at w + t move, where ``along`` is A move.

        Its derivative along the move is monotone, so the root is found by false position with bisection.
        """
        p, r = self.program, self.point.residual
        penalty_curvature = float(move @ (self.P @ move))
        penalty_slope = float((gradient - self.point.product) @ move)

        def derivative(t: float) -> float:
            return float((p.sample_weight * p.loss.slope(r + t * along)) @ along) + penalty_slope + t * penalty_curvature

        low, high = 0.0, 1.0
        if derivative(1.0) <= 0.0:
            return 1.0
        at_low = derivative(low)
        at_high = derivative(high)
        for _ in range(_BISECTIONS):
            if at_low >= 0 or high - low < 1e-12:
                break
            t = low - at_low * (high - low) / (at_high - at_low)  # exact where the loss has no kink between low and high
            t = min(max(t, low + 1e-3 * (high - low)), high - 1e-3 * (high - low))
            value = derivative(t)
            if value <= 0:
                low, at_low = t, value
            else:
                high, at_high = t, value
        return low if low > 0 else high if at_low < 0 else 0.0
