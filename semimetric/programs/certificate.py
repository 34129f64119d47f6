"""A lower bound of a program's optimum from any dual point: what makes a gap sound whatever the solver did.

For slopes theta within the loss's interval and any weights v (Fenchel, with the penalty linearised at v),

    optimum >= -conj(theta) - theta·y + penalty(v) - g·v + sum_j min_{lower_j <= u <= upper_j} (Aᵀ theta + g)_j u,

g the penalty's gradient at v and upper a box that holds a minimiser.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._types import Floats
from .program import ConvexProgram

__all__ = ["Certificate"]

_SHIFTS = (0.0, 1e-3, 1e-2, 0.1, 0.3, 1.0)


@dataclass(frozen=True, eq=False)
class Certificate:
    """Bounds for one program; two products with Aᵀ are done once."""

    program: ConvexProgram

    @cached_property
    def mass(self) -> Floats:
        """sum_i s_i A_ij, shape (n,)."""
        return self.program.design.rmatvec(self.program.sample_weight)

    @cached_property
    def anchor(self) -> Floats:
        """The steepest slopes that the loss allows, or s where they are unbounded: a feasible theta >= 0."""
        s = self.program.sample_weight
        high = self.program.loss.bounds(s)[1]
        return np.where(np.isfinite(high), high, s)

    @cached_property
    def anchor_product(self) -> Floats:
        """Aᵀ anchor."""
        return self.program.design.rmatvec(self.anchor)

    def upper(self, objective: float) -> Floats:
        """A box that holds every minimiser, given that ``objective`` was reached with weights >= 0.

        A and w are >= 0: w_j sum_i s_i A_ij <= sum_i s_i (A w)_i <= sum_i s_i |y_i| + growth(objective). Columns that no
        pair touches are held by the penalties alone.
        """
        p = self.program
        value = max(objective, 0.0)
        reach = float(p.sample_weight @ np.abs(p.y)) + p.loss.growth(value)
        with np.errstate(divide="ignore"):
            upper = np.where(self.mass > 0, reach / self.mass, np.inf)
        for penalty in p.penalties:
            upper = np.minimum(upper, penalty.reach(value, p.columns))
        return np.maximum(upper, p.lower)

    def bound(self, theta: Floats, product: Floats, w: Floats, objective: float) -> float:
        """The best bound between ``theta`` (with ``product`` = Aᵀ theta) and the anchor.

        Negative slopes of columns cost their upper bound each; moving towards the anchor lifts them all at once.
        """
        p = self.program
        gradient, upper = p.penalty.gradient(w), self.upper(objective)
        constant = p.penalty.value(w) - float(gradient @ w)
        short = -(product + gradient)
        with np.errstate(divide="ignore", invalid="ignore"):
            needed = np.where((short > 0) & (self.anchor_product > 0), short / self.anchor_product, 0.0).max(initial=0.0)
        best = -np.inf
        for c in needed * np.array(_SHIFTS):
            slope = (product + c * self.anchor_product) / (1.0 + c) + gradient
            mixed = (theta + c * self.anchor) / (1.0 + c)
            value = constant + _smallest(slope, p.lower, upper)
            best = max(best, value - p.loss.conjugate(mixed, p.sample_weight) - float(mixed @ p.y))
        return best

    def gap(self, theta: Floats, product: Floats, w: Floats, objective: float) -> float:
        """objective - bound, at least 0."""
        return max(objective - self.bound(theta, product, w, objective), 0.0)


def _smallest(slope: Floats, lower: Floats, upper: Floats) -> float:
    """sum_j min slope_j u over lower_j <= u <= upper_j."""
    corner = np.where(slope > 0, lower, upper)
    with np.errstate(invalid="ignore"):
        return float(np.where(slope == 0, 0.0, slope * corner).sum())
