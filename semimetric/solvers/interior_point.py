"""Primal-dual interior point for any loss of the family, on weighted second moments.

The program is the saddle point  min_{w >= lower} max_{a <= theta <= b}  theta·(A w - y) - conj(theta) + penalty(w).
Newton's step eliminates theta, which leaves one n x n system

    ( P + Aᵀ E⁻¹ A + diag(lambda / (w - lower)) ) dw = rhs,      E diagonal,

so an iteration is one pass over the pairs that gathers AᵀE⁻¹A, and some products. Mehrotra's predictor and corrector; 20
to 40 passes whatever the size (Frisch-Newton, Portnoy & Koenker 1997, for the absolute loss).
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from tqdm import tqdm

from .._types import Floats
from ..programs.certificate import Certificate
from ..programs.program import ConvexProgram
from .base import Solution, Solver, Status, open_ends

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
        return open_ends(program)

    def _solve(self, program: ConvexProgram, start: Floats | None, verbose: bool) -> Solution:
        newton, certificate = _Newton(program), Certificate(program)
        point, best, gap, status, n_iter = newton.first(start), (np.inf, program.lower), np.inf, Status.LIMIT, 0
        with tqdm(total=self.max_iter, desc="interior point", disable=not verbose) as bar:
            try:
                for n_iter in range(self.max_iter + 1):  # noqa: B007 - reported
                    state = newton.residuals(point)
                    objective = program.loss.value(state.residual, program.sample_weight) + program.penalty.value(point.w)
                    best = (objective, point.w) if objective <= best[0] else best
                    gap = min(gap, certificate.gap(point.theta, state.product, point.w, objective))
                    bar.set_postfix(objective=objective, gap=gap)
                    if gap <= self.tol * max(abs(objective), program.exact):
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
        return Solution(np.maximum(w, program.lower), objective, gap, n_iter, status, "InteriorPoint")


class _State(NamedTuple):
    residual: Floats  # A w - y
    product: Floats  # Aᵀ theta
    primal: Floats
    dual: Floats


class _Newton:
    """The Newton system of one program."""

    def __init__(self, program: ConvexProgram) -> None:
        self.program, self.A = program, program.design.held()  # many products, and one gram an iteration
        self.P = program.penalty.P.toarray()
        self.curvature = program.loss.curvature / program.sample_weight
        self.low, self.high = program.loss.bounds(program.sample_weight)
        self.has_low, self.has_high = np.isfinite(self.low), np.isfinite(self.high)
        self.low = np.where(self.has_low, self.low, -1.0)
        self.high = np.where(self.has_high, self.high, 1.0)
        self.nothing = np.zeros(len(program.y))

    def first(self, start: Floats | None) -> _Point:
        """An interior point at the scale of the problem."""
        p, absolute = self.program, self.A.absolute
        rows = absolute.matvec(np.ones(len(p.lower)))
        scale = float(p.sample_weight @ np.abs(p.y)) / max(float(p.sample_weight @ rows), 1e-12)
        w = p.lower + scale if start is None else np.maximum(start, p.lower + 0.1 * scale)
        residual = self.A.matvec(w) - p.y
        middle = np.where(self.has_high, self.high - p.sample_weight, self.low + p.sample_weight)
        middle = np.where(self.has_low & self.has_high, (self.low + self.high) / 2, middle)
        theta = np.where(self.has_low | self.has_high, middle, 0.0)
        slope = absolute.rmatvec(p.sample_weight)
        size = float(p.sample_weight @ np.abs(residual)) + 1e-3
        return _Point(
            w, theta, np.full(len(w), max(float(slope.mean()), 1e-12)),
            np.where(self.has_high, np.maximum(residual, 0.0) + size, 0.0),
            np.where(self.has_low, np.maximum(-residual, 0.0) + size, 0.0),
        )  # fmt: skip

    def residuals(self, point: _Point) -> _State:
        p = self.program
        residual, product = self.A.matvec(point.w) - p.y, self.A.rmatvec(point.theta)
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
        H = self.program.design.moments(self.nothing, inverse).gram + self.P
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
