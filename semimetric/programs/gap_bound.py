"""A lower bound of a program's optimum from any dual point: what makes a gap sound whatever the solver did.

For slopes theta within the loss's interval and any weights v (Fenchel, with the penalty linearised at v),

    optimum >= -conj(theta) - theta·y + penalty(v) - g·v + sum_j min_{lower_j <= u <= upper_j} (Aᵀ theta + g)_j u,

g the penalty's gradient at v and upper a box that holds a minimiser. Losses and penalties are >= 0, so 0 is a bound too.
Inequalities G w >= h are further rows of A and y, whose theta is <= 0 and has no conjugate: minus a multiplier. The box then
needs an objective that weights reach which keep them.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._foundation.types import Floats
from .program import ConvexProgram

__all__ = ["GapBound"]

_ROUNDING = 1e-12  # of the terms that add up to it: a slope, of a weight that nothing bounds, that is no slope
_SHIFTS = (0.0, 1e-3, 1e-2, 0.1, 0.3, 1.0)


@dataclass(frozen=True, eq=False)
class GapBound:
    """Bounds for one program; two products with Aᵀ are done once."""

    program: ConvexProgram

    @cached_property
    def mass(self) -> Floats:
        """sum_i s_i |A_ij| or more, shape (n,)."""
        return self.program.design.absolute.rmatvec(self.program.sample_weight)

    @cached_property
    def anchor(self) -> Floats:
        """Feasible slopes that lift: of A >= 0 the steepest that the loss allows, or s where they are unbounded; else 0."""
        s, k = self.program.sample_weight, len(self.program.targets) - len(self.program.y)
        if not self.program.design.nonnegative:
            return np.zeros(len(s) + k)
        high = self.program.loss.bounds(s)[1]
        return np.append(np.where(np.isfinite(high), high, s), np.zeros(k))

    @cached_property
    def anchor_product(self) -> Floats:
        """Aᵀ anchor."""
        return self.program.stacked.rmatvec(self.anchor)

    def upper(self, objective: float) -> Floats:
        """A box that holds every minimiser, given that ``objective`` was reached with weights >= 0.

        Where A and w are >= 0: w_j sum_i s_i A_ij <= sum_i s_i (A w)_i <= sum_i s_i |y_i| + growth(objective). Where A has
        signs, and for columns that no pair touches, the penalties alone say how far a weight can reach.
        """
        p = self.program
        value = max(objective if p.inequalities is None else p.reached, 0.0)
        upper = np.full(len(p.lower), np.inf)
        if p.design.nonnegative:
            reach = float(p.sample_weight @ np.abs(p.y)) + p.loss.growth(value)
            with np.errstate(divide="ignore"):
                upper = np.where(self.mass > 0, reach / self.mass, np.inf)
        for penalty in p.penalties:
            upper = np.minimum(upper, penalty.reach(value, p.columns))
        return np.maximum(upper, p.lower)

    def bound(self, theta: Floats, product: Floats, w: Floats, objective: float) -> float:
        """The best bound between ``theta`` (with ``product`` = Aᵀ theta) and the anchor.

        Negative slopes of columns cost their upper bound each; moving towards the anchor lifts them all at once. ``w`` may be
        any weights: the penalty is linearised there.
        """
        p = self.program
        gradient, upper = p.penalty.gradient(w), self.upper(objective)
        constant = p.penalty.value(w) - float(gradient @ w)
        short = -(product + gradient)
        lift = self.anchor_product if p.design.nonnegative else gradient  # of slopes, at the anchor
        with np.errstate(divide="ignore", invalid="ignore"):
            needed = np.where((short > 0) & (lift > 0), short / lift, 0.0).max(initial=0.0)
        m, targets = len(p.y), p.targets
        steepest = float((np.abs(theta[:m]) / p.sample_weight).max(initial=0.0))
        best, rounding = 0.0, _ROUNDING * (steepest * self.mass + np.abs(gradient))
        for c in needed * np.array(_SHIFTS):
            slope = (product + c * self.anchor_product) / (1.0 + c) + gradient
            mixed = (theta + c * self.anchor) / (1.0 + c)
            slope = np.where(np.isinf(upper) & (np.abs(slope) <= rounding), 0.0, slope)
            value = constant + _smallest(slope, p.lower, upper)
            best = max(best, value - p.loss.conjugate(mixed[:m], p.sample_weight) - float(mixed @ targets))
        return best

    def gap(self, theta: Floats, product: Floats, w: Floats, objective: float) -> float:
        """objective - bound, at least 0."""
        return max(objective - self.bound(theta, product, w, objective), 0.0)


def _smallest(slope: Floats, lower: Floats, upper: Floats) -> float:
    """sum_j min slope_j u over lower_j <= u <= upper_j."""
    corner = np.where(slope > 0, lower, upper)
    with np.errstate(invalid="ignore"):
        return float(np.where(slope == 0, 0.0, slope * corner).sum())
