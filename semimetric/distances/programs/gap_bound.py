"""A lower bound of a program's optimum from any dual point, so that a gap is valid whatever the solver did.

For dual variables theta within the bounds that the loss sets, and any weights v, Fenchel duality gives, with the penalty
linearised at v,

    optimum >= -conj(theta) - theta·y + penalty(v) - g·v + sum_j min_{lower_j <= u <= upper_j} (Aᵀ theta + g)_j u,

where g is the gradient of the penalty at v, and the box from lower to upper contains a minimiser. Losses and penalties are
>= 0, so 0 is a lower bound too. Inequalities G w >= h are further rows of A and y. Their theta is <= 0, minus a Lagrange
multiplier, and has no conjugate. The box then needs an objective that weights reach which satisfy the inequalities.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..._foundation.types import Floats
from .program import ConvexProgram

_ROUNDING = 1e-12  # the slope of an unbounded weight counts as 0 below this share of the terms that add up to it
SHIFTS = (0.0, 1e-3, 1e-2, 0.1, 0.3, 1.0)  # how far to move towards the anchor, as shares of what lifts every slope to 0


@dataclass(frozen=True, eq=False)
class GapBound:
    """Lower bounds of one program; the two products with Aᵀ that do not depend on the dual point are computed once."""

    program: ConvexProgram

    @cached_property
    def mass(self) -> Floats:
        """An upper bound of sum_i s_i |A_ij| for every column j, shape (n,)."""
        return self.program.design.absolute.rmatvec(self.program.sample_weight)

    @cached_property
    def anchor(self) -> Floats:
        """Feasible dual variables, shape (m + k,), that make the slopes Aᵀ theta of all columns as large as they can be.

        For A >= 0 they are the largest that the loss allows, or the sample weights s where it allows all. For other A, where
        no choice raises all slopes at once, they are 0.
        """
        s = self.program.sample_weight
        k = len(self.program.targets) - len(self.program.y)
        if not self.program.design.nonnegative:
            return np.zeros(len(s) + k)
        high = self.program.loss.bounds(s)[1]
        return np.append(np.where(np.isfinite(high), high, s), np.zeros(k))

    @cached_property
    def anchor_product(self) -> Floats:
        """The product Aᵀ anchor, shape (n,)."""
        return self.program.stacked.rmatvec(self.anchor)

    def upper(self, objective: float) -> Floats:
        """Bound every minimiser from above, shape (n,), given that weights >= 0 reach ``objective``.

        Where A and w are >= 0, w_j sum_i s_i A_ij <= sum_i s_i (A w)_i <= sum_i s_i |y_i| + growth(objective). Where A has
        entries of both signs, and for columns that are 0 in every row, the penalties alone bound a weight.
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
        """Return the largest lower bound among a few dual points between ``theta`` and the anchor; ``product`` is Aᵀ theta.

        A column with a negative slope costs that slope times the column's upper bound. Moving towards the anchor raises all
        slopes at once. The penalty is linearised at ``w``, which may be any weights.
        """
        p = self.program
        gradient = p.penalty.gradient(w)
        upper = self.upper(objective)
        constant = p.penalty.value(w) - float(gradient @ w)
        missing = -(product + gradient)  # what each slope lacks of 0
        lift = self.anchor_product if p.design.nonnegative else gradient
        with np.errstate(divide="ignore", invalid="ignore"):
            needed = np.where((missing > 0) & (lift > 0), missing / lift, 0.0).max(initial=0.0)
        m = len(p.y)
        targets = p.targets
        largest = float((np.abs(theta[:m]) / p.sample_weight).max(initial=0.0))
        rounding = _ROUNDING * (largest * self.mass + np.abs(gradient))
        best = 0.0
        for c in needed * np.array(SHIFTS):
            slope = (product + c * self.anchor_product) / (1.0 + c) + gradient
            mixed = (theta + c * self.anchor) / (1.0 + c)
            slope = np.where(np.isinf(upper) & (np.abs(slope) <= rounding), 0.0, slope)
            value = constant + _smallest(slope, p.lower, upper)
            best = max(best, value - p.loss.conjugate(mixed[:m], p.sample_weight) - float(mixed @ targets))
        return best

    def gap(self, theta: Floats, product: Floats, w: Floats, objective: float) -> float:
        """Return the certified gap: ``objective`` minus `bound`, at least 0."""
        return max(objective - self.bound(theta, product, w, objective), 0.0)


def _smallest(slope: Floats, lower: Floats, upper: Floats) -> float:
    """Sum min slope_j u over lower_j <= u <= upper_j."""
    corner = np.where(slope > 0, lower, upper)
    with np.errstate(invalid="ignore"):
        return float(np.where(slope == 0, 0.0, slope * corner).sum())
