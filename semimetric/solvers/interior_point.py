"""Primal-dual interior point for any loss of the family, on weighted second moments.

The program is the saddle point  min_{w >= lower} max_{a <= theta <= b}  theta·(A w - y) - conj(theta) + penalty(w).
Newton's step eliminates theta, which leaves one n x n system

    ( P + Aᵀ E⁻¹ A + diag(lambda / (w - lower)) ) dw = rhs,      E diagonal,

so an iteration is one pass over the pairs that gathers AᵀE⁻¹A, and some products. Mehrotra's predictor and corrector; 20
to 40 passes whatever the size (Frisch-Newton, Portnoy & Koenker 1997, for the absolute loss).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from tqdm import tqdm

from .._foundation.types import Floats
from ..programs.gap_bound import GapBound
from ..programs.program import ConvexProgram
from .base import Solution, Solver, Status, refuse_free_weights, refuse_unknown_inside, with_repair

__all__ = ["InteriorPoint"]

_DAMPING = 0.9999


class _Point(NamedTuple):
    """w, theta, and the multipliers of w >= lower, theta <= b, theta >= a."""

    w: Floats
    theta: Floats
    of_w: Floats
    of_high: Floats
    of_low: Floats

    def move(self, step: "_Point", primal: float, dual: float) -> "_Point":
        """w and the multipliers of theta move by ``primal``, theta and the multiplier of w by ``dual``."""
        lengths = (primal, dual, dual, primal, primal)
        return _Point(*(x + t * dx for x, dx, t in zip(self, step, lengths, strict=True)))


@dataclass(frozen=True)
class InteriorPoint(Solver):
    """Exact to a certified gap, for up to ~5,000 weights with finite lower bounds.

    Parameters
    ----------
    tol : float, default 1e-6
        Relative gap at which it stops.
    max_iter : int, default 100
    """

    tol: float = 1e-6
    max_iter: int = 100

    def refusal(self, program: ConvexProgram) -> str | None:
        return refuse_unknown_inside(program) or refuse_free_weights(program)

    def _solve(self, program: ConvexProgram, start: Floats | None, verbose: bool) -> Solution:
        newton, certificate = _Newton(program), GapBound(program)
        point, status, n_iter, bound = newton.first(start), Status.LIMIT, 0, -np.inf
        best = (np.inf, program.lower if program.inside is None else program.inside)
        raw = best[1]
        with tqdm(total=self.max_iter, desc="interior point", disable=not verbose) as bar:
            try:
                for n_iter in range(self.max_iter + 1):  # noqa: B007 - reported
                    state = newton.residuals(point)
                    objective, w = newton.reached(point, state)
                    if objective <= best[0]:
                        best, raw = (objective, w), point.w
                    bound = max(bound, certificate.bound(point.theta, state.product, point.w, objective))
                    gap = max(best[0] - bound, 0.0)
                    bar.set_postfix(objective=objective, gap=gap)
                    if gap <= self.tol * max(abs(best[0]), program.exact):
                        status = Status.SOLVED
                        break
                    with np.errstate(divide="raise", invalid="raise"):  # a room of exactly 0: as near as rounding lets it
                        point = newton.step(point, state)
                    bar.update()
            except (LinAlgError, FloatingPointError):
                status = Status.INACCURATE
            except KeyboardInterrupt:
                if not np.isfinite(best[0]):
                    raise
                status = Status.INTERRUPTED
        objective, w = best
        gap = max(objective - bound, 0.0)
        solution = Solution(np.maximum(w, program.lower), objective, gap, n_iter, status, "InteriorPoint")
        rows = program.inequalities
        return with_repair(program, raw, 0.0 if rows is None else rows.excess(raw), solution)


class _State(NamedTuple):
    residual: Floats  # A w - y
    product: Floats  # Aᵀ theta
    primal: Floats
    dual: Floats


class _Newton:
    """The Newton system of one program."""

    def __init__(self, program: ConvexProgram) -> None:
        self.program, self.A = program, program.stacked.held()  # many products, and one gram an iteration
        self.P, self.y, self.m = program.penalty.P.toarray(), program.targets, len(program.y)
        self.curvature, (self.low, self.high) = program.curvature, program.slopes
        self.has_low, self.has_high = np.isfinite(self.low), np.isfinite(self.high)
        self.low = np.where(self.has_low, self.low, -1.0)
        self.high = np.where(self.has_high, self.high, 1.0)
        self.nothing = np.zeros(self.m)

    @cached_property
    def even(self) -> Floats:
        """AᵀSA / c + P of a loss that curves everywhere: the same in every iteration."""
        return self.program.design.moments(self.nothing, 1.0 / self.curvature[: self.m]).gram + self.P

    def curved(self, inverse: Floats) -> Floats:
        """AᵀE⁻¹A + P, the rows of the inequalities included."""
        m, rows = self.m, self.program.inequalities
        if self.program.loss.quadratic:
            H = self.even.copy()
        else:
            H = self.program.design.moments(self.nothing, inverse[:m]).gram + self.P
        if rows is not None:
            G = rows.matrix
            more = sparse.csr_array(G.T @ (G * inverse[m:, None])).tocoo()
            H[more.coords] += more.data
        return H

    def reached(self, point: _Point, state: "_State") -> tuple[float, Floats]:
        """The objective at w, or where w keeps not every inequality, at the nearest known point that does; and the point."""
        p = self.program
        if p.inequalities is not None and (state.residual[self.m :] < 0).any():
            w = p.feasible(point.w)
            return p.loss.value(self.A.matvec(w)[: self.m] - p.y, p.sample_weight) + p.penalty.value(w), w
        return p.loss.value(state.residual[: self.m], p.sample_weight) + p.penalty.value(point.w), point.w

    def first(self, start: Floats | None) -> _Point:
        """An interior point at the scale of the problem."""
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
        return _Point(
            w, theta, np.full(len(w), max(float(slope.mean()), 1e-12)),
            np.where(self.has_high, np.maximum(residual, 0.0) + size, 0.0),
            np.where(self.has_low, np.maximum(-residual, 0.0) + size, 0.0),
        )  # fmt: skip

    def residuals(self, point: _Point) -> _State:
        p = self.program
        residual, product = self.A.matvec(point.w) - self.y, self.A.rmatvec(point.theta)
        primal = residual - self.curvature * point.theta - point.of_high + point.of_low
        return _State(residual, product, primal, product + p.penalty.gradient(point.w) - point.of_w)

    def _rooms(self, point: _Point) -> tuple[Floats, Floats, Floats]:
        """Distances to w's bound and theta's two bounds (1 where there is none: its multiplier stays 0)."""
        return (
            point.w - self.program.lower,
            np.where(self.has_high, self.high - point.theta, 1.0),
            np.where(self.has_low, point.theta - self.low, 1.0),
        )

    def step(self, point: _Point, state: _State) -> _Point:
        """One predictor-corrector step."""
        room = self._rooms(point)
        inverse = 1.0 / (self.curvature + point.of_high / room[1] + point.of_low / room[2])
        H = self.curved(inverse)
        H[np.diag_indices_from(H)] += point.of_w / room[0]
        factor = cho_factor(H, overwrite_a=True, check_finite=False)
        products = (point.of_w * room[0], point.of_high * room[1], point.of_low * room[2])
        mu = sum(float(v.sum()) for v in products) / self._count
        affine = self._direction(point, state, room, inverse, factor, tuple(-v for v in products))
        sigma = (self._mu_after(point, affine, room) / mu) ** 3 * mu
        cross = (-affine.of_w * affine.w, affine.of_high * affine.theta, -affine.of_low * affine.theta)
        masks = (np.ones(1), self.has_high, self.has_low)
        targets = tuple((sigma + c) * m - v for c, m, v in zip(cross, masks, products, strict=True))
        final = self._direction(point, state, room, inverse, factor, targets)
        primal, dual = self._lengths(point, final, room)
        return point.move(final, _DAMPING * primal, _DAMPING * dual)

    @property
    def _count(self) -> int:
        return len(self.program.lower) + int(self.has_low.sum() + self.has_high.sum())

    def _direction(self, point: _Point, state: _State, room: tuple, inverse: Floats, factor: tuple, target: tuple) -> _Point:
        """Newton direction for the complementarity targets of w, theta's upper and theta's lower bound."""
        shift = state.primal - target[1] / room[1] + target[2] / room[2]
        rhs = -state.dual - self.A.rmatvec(inverse * shift) + target[0] / room[0]
        dw = cho_solve(factor, rhs, check_finite=False)
        dtheta = inverse * (self.A.matvec(dw) + shift)
        return _Point(
            dw, dtheta, (target[0] - point.of_w * dw) / room[0],
            (target[1] + point.of_high * dtheta) / room[1], (target[2] - point.of_low * dtheta) / room[2],
        )  # fmt: skip

    def _lengths(self, point: _Point, step: _Point, room: tuple) -> tuple[float, float]:
        """The longest primal and dual steps that keep every room and multiplier positive."""
        high, low = self.has_high, self.has_low
        primal = min(
            _longest(room[0], step.w), _longest(point.of_high[high], step.of_high[high]),
            _longest(point.of_low[low], step.of_low[low]),
        )  # fmt: skip
        dual = min(
            _longest(room[1][high], -step.theta[high]), _longest(room[2][low], step.theta[low]),
            _longest(point.of_w, step.of_w),
        )  # fmt: skip
        return primal, dual

    def _mu_after(self, point: _Point, step: _Point, room: tuple) -> float:
        """Mean complementarity after the full affine step."""
        primal, dual = self._lengths(point, step, room)
        after = point.move(step, primal, dual)
        parts = zip((after.of_w, after.of_high, after.of_low), self._rooms(after), strict=True)
        return sum(float(a @ b) for a, b in parts) / self._count


def _longest(x: Floats, dx: Floats) -> float:
    """The largest t <= 1 with x + t dx >= 0."""
    falling = dx < 0
    return min(1.0, float((x[falling] / -dx[falling]).min(initial=np.inf)))
