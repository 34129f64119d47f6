"""A primal-dual interior point method for every loss, on weighted second moments.

The program is the saddle point  min_{w >= lower} max_{a <= theta <= b}  theta·(A w - y) - conj(theta) + penalty(w).
Newton's step eliminates theta, which leaves one n x n system

    ( P + Aᵀ E⁻¹ A + diag(lambda / (w - lower)) ) dw = rhs,      E diagonal,

so an iteration takes one pass over the pairs, which sums AᵀE⁻¹A, and some products. With Mehrotra's predictor and corrector it
takes 20 to 40 iterations whatever the size. For the absolute loss it is the Frisch-Newton method of Portnoy & Koenker (1997).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgError, cho_solve

from ..._foundation.iteration import Status, iterate
from ..._foundation.stored import storable
from ..._foundation.types import Floats
from ..programs.certificate import GapBound
from ..programs.program import ConvexProgram
from .base import STOPS_AT, History, Solution, Solver, certified, refuse_free_weights, refuse_unknown_inside, with_repair
from .box_quadratic import factorize, longest_step

_DAMPING = 0.9999  # the share of the way to the boundary that a step goes


class _PrimalDualPoint(NamedTuple):
    """The weights w, the dual variables theta, and the Lagrange multipliers of w >= lower, theta <= b and theta >= a."""

    w: Floats
    theta: Floats
    of_w: Floats
    of_high: Floats
    of_low: Floats

    def move(self, step: "_PrimalDualPoint", primal: float, dual: float) -> "_PrimalDualPoint":
        """Return the point after a step of length ``primal`` for w and the multipliers of theta, else ``dual``."""
        lengths = (primal, dual, dual, primal, primal)
        return _PrimalDualPoint(*(x + t * dx for x, dx, t in zip(self, step, lengths, strict=True)))


@storable
@dataclass(frozen=True)
class InteriorPoint(Solver):
    """The interior point method, for every loss and up to ~5,000 weights with finite lower bounds.

    Parameters
    ----------
    tol : float, default 1e-6
        The relative certified gap at which the iteration stops.
    max_iter : int, default 100
        The limit of iterations.

    Examples
    --------
    >>> from semimetric import DistanceRegressor, InteriorPoint, Program
    >>> model = DistanceRegressor(loss="absolute", program=Program(solver=InteriorPoint()))
    """

    tol: float = 1e-6
    max_iter: int = 100

    def refusal(self, program: ConvexProgram) -> str | None:
        return refuse_unknown_inside(program) or refuse_free_weights(program)

    def _solve(self, program: ConvexProgram, start: Floats | None, verbose: bool | None) -> Solution:
        method = _InteriorRun(program, start, STOPS_AT * self.tol)
        run = iterate(
            method, name="interior point", max_iter=self.max_iter, failures=(LinAlgError, ArithmeticError), verbose=verbose
        )
        if run.status is Status.INTERRUPTED and not np.isfinite(method.objective):
            raise KeyboardInterrupt
        w, history = np.maximum(method.best, program.lower), History.of(run.steps)
        solution = Solution(w, method.objective, np.inf, run.n_iter, run.status, "InteriorPoint", history=history)
        theta, at = (None, None) if method.dual is None else (method.dual.theta, method.dual.w)
        solution = certified(solution, method.gap_bound, method.system.A, theta, self.tol, at)
        return with_repair(program, method.raw, solution)


class _InteriorRun:
    """The current point, the best feasible weights so far, and the largest lower bound of the optimum."""

    def __init__(self, program: ConvexProgram, start: Floats | None, tol: float) -> None:
        self.program = program
        self.tol = tol
        self.system = _NewtonSystem(program)
        self.gap_bound = GapBound(program)
        self.point = self.system.first(start)
        self.objective = np.inf
        self.best = program.lower if program.inside is None else program.inside  # (n,)
        self.raw = self.best  # (n,), the iterate that ``best`` was made of
        self.bound = -np.inf
        self.dual: _PrimalDualPoint | None = None  # it gave the bound

    @property
    def gap(self) -> float:
        """The best objective minus the best lower bound, at least 0."""
        return max(self.objective - self.bound, 0.0)

    def look(self) -> Status | None:
        """Update the best weights and the bound with the current point."""
        self.state = self.system.residuals(self.point)
        objective, w = self.system.feasible(self.point, self.state)
        if objective <= self.objective:
            self.objective = objective
            self.best = w
            self.raw = self.point.w
        found = self.gap_bound.bound(self.point.theta, self.state.product, self.point.w, objective)
        if self.dual is None or found >= self.bound:
            self.bound = found
            self.dual = self.point
        return Status.SOLVED if self.gap <= self.tol * max(abs(self.objective), self.program.exact) else None

    def step(self) -> None:
        """Make one predictor-corrector step."""
        with np.errstate(divide="raise", invalid="raise"):  # at a bound exactly, no further progress is possible
            self.point = self.system.step(self.point, self.state)


class _Residuals(NamedTuple):
    """The violations of the optimality conditions at a point.

    ``residual`` is A w - y and ``product`` is Aᵀ theta, of which the other two are made. ``primal``, of shape (m + k,), and
    ``dual``, of shape (n,), are the gradients of the saddle function in theta and in w; both are 0 at the optimum.
    """

    residual: Floats
    product: Floats
    primal: Floats
    dual: Floats


class _NewtonSystem:
    """Newton system of one program, over the m rows of the data and the k rows of the inequalities."""

    def __init__(self, program: ConvexProgram) -> None:
        self.program = program
        self.A = program.stacked.held()  # an iteration forms many products with A
        self.P = program.penalty.P.toarray()
        self.y = program.targets
        self.m = len(program.y)
        self.curvature = program.curvature
        low, high = program.slopes
        self.has_low = np.isfinite(low)
        self.has_high = np.isfinite(high)
        self.low = np.where(self.has_low, low, -1.0)  # (m + k,): the bounds of theta; any number where there is none
        self.high = np.where(self.has_high, high, 1.0)
        self.zeros = np.zeros(self.m)

    @cached_property
    def _constant_hessian(self) -> Floats:
        """AᵀSA / c + P: for a loss that curves everywhere it is the same in every iteration."""
        return self.program.design.moments(self.zeros, 1.0 / self.curvature[: self.m]).gram + self.P

    def hessian(self, inverse: Floats) -> Floats:
        """Return AᵀE⁻¹A + P, the rows of the inequalities included; ``inverse`` is the diagonal of E⁻¹."""
        m, rows = self.m, self.program.inequalities
        if self.program.loss.quadratic:
            H = self._constant_hessian.copy()
        else:
            H = self.program.design.moments(self.zeros, inverse[:m]).gram + self.P
        if rows is not None:
            G = rows.matrix
            more = sparse.csr_array(G.T @ (G * inverse[m:, None])).tocoo()
            H[more.coords] += more.data
        return H

    def feasible(self, point: _PrimalDualPoint, state: _Residuals) -> tuple[float, Floats]:
        """Return the objective and the weights of the point, which are repaired first if they violate an inequality."""
        p = self.program
        if p.inequalities is not None and (state.residual[self.m :] < 0).any():
            w = p.feasible(point.w)
            return p.loss.value(self.A.matvec(w)[: self.m] - p.y, p.sample_weight) + p.penalty.value(w), w
        return p.loss.value(state.residual[: self.m], p.sample_weight) + p.penalty.value(point.w), point.w

    def first(self, start: Floats | None) -> _PrimalDualPoint:
        """Return an interior point at the scale of the problem, near the weights ``start`` if they are given."""
        p, absolute = self.program, self.A.absolute
        weight = np.append(p.sample_weight, np.full(len(self.y) - self.m, float(p.sample_weight.mean())))
        rows = absolute.matvec(np.ones(len(p.lower)))[: self.m]
        scale = float(p.sample_weight @ np.abs(p.y)) / max(float(p.sample_weight @ rows), 1e-12)
        w = p.lower + scale if start is None else np.maximum(start, p.lower + 0.1 * scale)
        residual = self.A.matvec(w) - self.y
        middle = np.where(self.has_high, self.high - weight, self.low + weight)
        middle = np.where(self.has_low & self.has_high, (self.low + self.high) / 2, middle)
        theta = np.where(self.has_low | self.has_high, middle, 0.0)
        slope = absolute.rmatvec(np.append(p.sample_weight, np.zeros(len(self.y) - self.m)))
        size = float(p.sample_weight @ np.abs(residual[: self.m])) + 1e-3
        return _PrimalDualPoint(
            w, theta, np.full(len(w), max(float(slope.mean()), 1e-12)),
            np.where(self.has_high, np.maximum(residual, 0.0) + size, 0.0),
            np.where(self.has_low, np.maximum(-residual, 0.0) + size, 0.0),
        )  # fmt: skip

    def residuals(self, point: _PrimalDualPoint) -> _Residuals:
        """Return the violations of the optimality conditions at the point."""
        residual = self.A.matvec(point.w) - self.y
        product = self.A.rmatvec(point.theta)
        primal = residual - self.curvature * point.theta - point.of_high + point.of_low
        dual = product + self.program.penalty.gradient(point.w) - point.of_w
        return _Residuals(residual, product, primal, dual)

    def _slacks(self, point: _PrimalDualPoint) -> tuple[Floats, Floats, Floats]:
        """Return the distances of w to its bound, and of theta to its two; 1 where there is no bound."""
        return (
            point.w - self.program.lower,
            np.where(self.has_high, self.high - point.theta, 1.0),
            np.where(self.has_low, point.theta - self.low, 1.0),
        )

    def step(self, point: _PrimalDualPoint, state: _Residuals) -> _PrimalDualPoint:
        """Return the point after one predictor-corrector step."""
        slacks = self._slacks(point)
        inverse = 1.0 / (self.curvature + point.of_high / slacks[1] + point.of_low / slacks[2])
        H = self.hessian(inverse)
        H[np.diag_indices_from(H)] += point.of_w / slacks[0]
        factor = factorize(H)
        products = (point.of_w * slacks[0], point.of_high * slacks[1], point.of_low * slacks[2])
        mu = sum(float(v.sum()) for v in products) / self._n_bounds
        affine = self._direction(point, state, slacks, inverse, factor, tuple(-v for v in products))
        sigma = (self._mu_after(point, affine, slacks) / mu) ** 3 * mu
        cross = (-affine.of_w * affine.w, affine.of_high * affine.theta, -affine.of_low * affine.theta)
        masks = (np.ones(1), self.has_high, self.has_low)
        targets = tuple((sigma + c) * m - v for c, m, v in zip(cross, masks, products, strict=True))
        final = self._direction(point, state, slacks, inverse, factor, targets)
        primal, dual = self._lengths(point, final, slacks)
        return point.move(final, _DAMPING * primal, _DAMPING * dual)

    @property
    def _n_bounds(self) -> int:
        return len(self.program.lower) + int(self.has_low.sum() + self.has_high.sum())

    def _direction(
        self, point: _PrimalDualPoint, state: _Residuals, slacks: tuple, inverse: Floats, factor: tuple, target: tuple
    ) -> _PrimalDualPoint:
        """Return the Newton direction towards the complementarity targets of w, of theta's upper and lower bound."""
        shift = state.primal - target[1] / slacks[1] + target[2] / slacks[2]
        rhs = -state.dual - self.A.rmatvec(inverse * shift) + target[0] / slacks[0]
        dw = cho_solve(factor, rhs, check_finite=False)
        dtheta = inverse * (self.A.matvec(dw) + shift)
        return _PrimalDualPoint(
            dw, dtheta, (target[0] - point.of_w * dw) / slacks[0],
            (target[1] + point.of_high * dtheta) / slacks[1], (target[2] - point.of_low * dtheta) / slacks[2],
        )  # fmt: skip

    def _lengths(self, point: _PrimalDualPoint, step: _PrimalDualPoint, slacks: tuple) -> tuple[float, float]:
        """Return the longest primal and dual steps that keep every slack and every multiplier positive."""
        high, low = self.has_high, self.has_low
        primal = min(
            longest_step(slacks[0], step.w), longest_step(point.of_high[high], step.of_high[high]),
            longest_step(point.of_low[low], step.of_low[low]),
        )  # fmt: skip
        dual = min(
            longest_step(slacks[1][high], -step.theta[high]), longest_step(slacks[2][low], step.theta[low]),
            longest_step(point.of_w, step.of_w),
        )  # fmt: skip
        return primal, dual

    def _mu_after(self, point: _PrimalDualPoint, step: _PrimalDualPoint, slacks: tuple) -> float:
        """Return the mean product of a slack and its multiplier after the longest affine step."""
        primal, dual = self._lengths(point, step, slacks)
        after = point.move(step, primal, dual)
        parts = zip((after.of_w, after.of_high, after.of_low), self._slacks(after), strict=True)
        return sum(float(a @ b) for a, b in parts) / self._n_bounds
