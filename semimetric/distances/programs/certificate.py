"""Lower bounds of a program's optimum from any dual point, and a gap that is certified in floating point.

For dual variables theta within the bounds that the loss sets, and any weights v, Fenchel duality gives, with the penalty
linearised at v,

    optimum >= -conj(theta) - theta·y + penalty(v) - g·v + sum_j min_{lower_j <= u <= upper_j} (Aᵀ theta + g)_j u,

where g is the gradient of the penalty at v, and the box from lower to upper contains a minimiser. Losses and penalties are
>= 0, so 0 is a lower bound too. Inequalities G w >= h are further rows of A and y. Their theta is <= 0, minus a Lagrange
multiplier, and has no conjugate. The box then needs an objective that weights reach which satisfy the inequalities.

In floating point, for weights w and multipliers mu <= 0 of the inequalities,

    objective(w) - optimum <= sum_i s_i ( l(r_i) - t_i r_i + c t_i² / 2 )       r = A w - y,  t = theta / s
                              - mu · (G w - h)
                              + sum_j max_{lower_j <= u <= upper_j}  g_j (w_j - u) - d_j (w_j - u)² / 2

where g = Aᵀ theta + Gᵀ mu + penalty'(w), and d are the curvatures of ridges. This is the objective minus the bound of
`GapBound`, with the terms that cancel taken out: every term that is left is >= 0 where the weights are good, so rounding is a
share of the gap, not of the objective. What rounding may add to r and g is bounded too (see `rounding`), and each term is the
largest that this leaves possible.

Least squares needs second moments alone. Sums over m rows are off by rounding: by Cauchy and Schwarz the error of
(AᵀSA v - AᵀSy)_j is at most ‖A_j‖ ( sum_k ‖A_k‖ |v_k| + ‖y‖ ) times that of a sum of m terms, with norms weighted by S.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..._foundation.arrays import rounding_of
from ..._foundation.types import Floats
from .design_matrix import Design, Moments
from .losses import Loss
from .minimizer_box import MinimizerBox
from .penalties import Quadratic
from .program import ConvexProgram

_ROUNDING = 1e-12  # the slope of an unbounded weight counts as 0 below this share of the terms that add up to it
SHIFTS = (0.0, 1e-3, 1e-2, 0.1, 0.3, 1.0)  # how far to move towards the anchor, as shares of what lifts every slope to 0


@dataclass(frozen=True, eq=False)
class GapBound:
    """Lower bounds of one program; the two products with Aᵀ that do not depend on the dual point are computed once."""

    program: ConvexProgram
    steep: str | None = None  # the trouble that is taken for a box, see `MinimizerBox`

    @cached_property
    def box(self) -> MinimizerBox:
        """A box that holds a minimiser."""
        return MinimizerBox(self.program, self.steep)

    @property
    def mass(self) -> Floats:
        """An upper bound of sum_i s_i |A_ij| for every column j, shape (n,)."""
        return self.box.mass

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

    def counted(self, theta: Floats) -> Floats:
        """Return dual variables (m + k,) that are 0 at the rows that cost nothing: any others would certify nothing."""
        rows = self.box.counted
        return theta if rows is None else np.where(rows, theta, 0.0)

    def bound(self, theta: Floats, product: Floats, w: Floats, objective: float) -> float:
        """Return the largest lower bound among a few dual points between ``theta`` and the anchor; ``product`` is Aᵀ theta.

        A column with a negative slope costs that slope times the column's upper bound. Moving towards the anchor raises all
        slopes at once. The penalty is linearised at ``w``, which may be any weights.
        """
        p = self.program
        gradient = p.penalty.gradient(w)
        lower, upper = self.box.ends(objective)
        if self.box.counted is not None:
            theta = self.counted(theta)
            product = p.stacked.rmatvec(theta)
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
            slope = np.where((np.isinf(upper) | np.isinf(lower)) & (np.abs(slope) <= rounding), 0.0, slope)
            value = constant + _minimum_over_box(slope, lower, upper)
            best = max(best, value - p.loss.conjugate(mixed[:m], p.sample_weight) - float(mixed @ targets))
        return best


def _minimum_over_box(slope: Floats, lower: Floats, upper: Floats) -> float:
    """Sum min slope_j u over lower_j <= u <= upper_j."""
    corner = np.where(slope > 0, lower, upper)
    with np.errstate(invalid="ignore"):
        return float(np.where(slope == 0, 0.0, slope * corner).sum())


_BEYOND = 1 + 1e-9  # slopes are lifted beyond 0 by so much, so that rounding leaves none below
_INSIDE = 1 - 2.0**-50  # dual variables are drawn in by this factor, so that rounding leaves none beyond its bound


def certified_gap(
    certificate: GapBound, design: Design, w: Floats, theta: Floats, near: Floats | None = None, enough: float = 0.0
) -> float:
    """Return a bound of objective(w) - optimum that holds in floating point; infinite where none is found.

    The weights ``w`` (n,) are feasible, and ``theta`` (m + k,) are dual variables as good as the solver knows them. They were
    found at the weights ``near``, if not at w: the penalty may better be linearised there. A gap of at most ``enough`` ends
    the search for a smaller one.
    """
    p, n = certificate.program, len(w)
    m = len(p.y)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        theta = certificate.counted(np.clip(theta, *p.slopes) * _INSIDE)
        product = design.matvec(w)
        size = product if design.nonnegative and (w >= 0).all() else design.absolute.matvec(np.abs(w))
        off = rounding_of(n) * (size + np.abs(p.targets))
        slack = (product - p.targets + off)[m:]
        residual, off = product[:m] - p.y, off[:m]
        ends = np.stack([residual - off, residual + off])
        at_w = p.penalty.enclosed_gradient(w)
        of_penalty = (np.sqrt(p.penalty.value(w)) + np.sqrt(at_w.missed)) ** 2 * (1 + rounding_of(n))
        reached = _loss_above(p.loss, ends, p.sample_weight) + of_penalty
        lower, upper = certificate.box.ends(reached)
        of_rows = slopes_of_rows(certificate, design, theta)
        gradients = [(at_w, p.penalty.ridge)]
        if near is not None and near is not w:
            gradients.append((p.penalty.enclosed_gradient(near, w), np.zeros(n)))
        best = reached if np.isfinite(reached) else np.inf  # losses and penalties are >= 0
        for gradient, ridge in gradients:
            error = of_rows.error + rounding_of(0) * np.abs(gradient.value) + gradient.error
            for c in _mixtures(certificate, of_rows.value - error, gradient.value, upper):
                share = _INSIDE / (1.0 + c)
                slopes = share * (of_rows.value + c * certificate.anchor_product) + gradient.value
                mixed = share * (theta[:m] + c * certificate.anchor[:m])
                gap = largest_gain(slopes, error, w, lower, upper, ridge) - share * float(theta[m:] @ slack)
                gap += _unmatched(p.loss, ends, mixed, p.sample_weight) + gradient.missed
                best = min(best, gap) if np.isfinite(gap) else best
                if best <= enough:
                    return max(float(best), 0.0)
    return max(float(best), 0.0)


class Slopes(NamedTuple):
    """Slopes of all columns, and how far rounding may be off, each of shape (n,)."""

    value: Floats
    error: Floats


def slopes_of_rows(certificate: GapBound, design: Design, theta: Floats) -> Slopes:
    """Return the slopes Aᵀ theta + Gᵀ mu that the dual variables ``theta`` of all rows give to the columns."""
    sizes = design.absolute.rmatvec(np.abs(theta)) + certificate.anchor_product
    return Slopes(design.rmatvec(theta), rounding_of(len(theta)) * sizes)


def _mixtures(certificate: GapBound, product: Floats, gradient: Floats, upper: Floats) -> Floats:
    """Return fractions of the way to the anchor that lift every slope, largest first, from the least slopes (n,)."""
    missing, lift = -(product + gradient), certificate.anchor_product + gradient
    needed = np.where((missing > 0) & (lift > 0) & (upper > 0), missing / lift, 0.0).max(initial=0.0)
    return needed * _BEYOND * np.array(SHIFTS[::-1]) if needed > 0 else np.zeros(1)


def largest_gain(slopes: Floats, error: Floats, w: Floats, lower: Floats, upper: Floats, ridge: Floats) -> float:
    """Sum max g_j (w_j - u) - d_j (w_j - u)² / 2 over lower_j <= u <= upper_j, for the worst g near ``slopes``."""
    least, most = w - upper, w - lower
    gains = []
    for g in (slopes - error, slopes + error):
        corner = np.where(g > 0, most, least)
        x = np.where(ridge > 0, np.clip(g / ridge, least, most), corner)
        gains.append(np.where(g == 0, 0.0, g * x) - np.where(ridge > 0, ridge * x * x / 2, 0.0))
    return float(np.maximum(*gains).sum()) * (1 + rounding_of(len(w)))


def _loss_above(loss: Loss, ends: Floats, s: Floats) -> float:
    """Return the largest weighted loss where residuals lie between two ``ends``, shape (2, m)."""
    slopes = [loss.slope(r) for r in ends]
    values = [slope * (r - loss.curvature * slope / 2) for slope, r in zip(slopes, ends, strict=True)]
    return float(s @ np.maximum(*values)) * (1 + rounding_of(len(s)))


def _unmatched(loss: Loss, ends: Floats, theta: Floats, s: Floats) -> float:
    """Sum s_i (l(r_i) - t_i r_i + c t_i² / 2) at the worst of two ``ends`` of each residual: 0 where t_i = l'(r_i)."""
    t, worst = theta / s, np.zeros(len(s))
    for r in ends:
        slope = loss.slope(r)
        size = np.abs(slope) + np.abs(t)
        difference, middle = slope - t, r - loss.curvature * (slope + t) / 2
        rounding = size * np.abs(middle) + np.abs(difference) * (np.abs(r) + loss.curvature * size)
        worst = np.maximum(worst, difference * middle + rounding_of(0) * rounding)
    return float(s @ worst) * (1 + rounding_of(len(s)))


@dataclass(frozen=True, eq=False)
class QuadraticProgram:
    """min_w  wᵀ gram w / 2 - cross·w + square / 2 + penalty(w)   over  w >= lower."""

    moments: Moments
    penalty: Quadratic
    lower: Floats  # (n,): the bounds of the weights; the upper ones, which may be infinite, hold for some minimiser
    upper: Floats  # (n,)

    @cached_property
    def norms(self) -> Floats:
        """The norms of the columns, shape (n,), a little too large."""
        return self.moments.norms() * (1.0 + self.rounding)

    @property
    def rounding(self) -> float:
        """Return a bound of the rounding error of a sum over the rows or the columns, as a share of the sum of its sizes."""
        return rounding_of(self.moments.n_rows + len(self.lower))

    def slopes(self, v: Floats, w: Floats | None = None) -> tuple[Floats, Floats, float]:
        """Return the gradient at ``v``, a bound of its error, and how far the penalty at ``w`` lies above its tangent at v."""
        of_penalty = self.penalty.enclosed_gradient(v, w)
        value = self.moments.gram @ v - self.moments.cross + of_penalty.value
        size = self.norms * (float(self.norms @ np.abs(v)) + np.sqrt(self.moments.square))
        return value, self.rounding * (size + np.abs(of_penalty.value)) + of_penalty.error, of_penalty.missed

    def curvature(self) -> Floats:
        """Return the curvatures d (n,) for which the objective minus sum_j d_j w_j² / 2 is convex.

        They are ridges and, where these leave unbounded weights without any, the least eigenvalue of the rest, scaled.
        """
        ridge = self.penalty.ridge
        if not ((np.isinf(self.lower) | np.isinf(self.upper)) & (ridge == 0) & (self.norms > 0)).any():
            return ridge
        rest = self.moments.gram + (self.penalty.P.toarray() - np.diag(ridge))
        size = np.sqrt(np.maximum(np.diag(rest), 0.0))
        used = size > 0
        scaled = rest[np.ix_(used, used)] / np.outer(size[used], size[used])
        least = float(np.linalg.eigvalsh(scaled)[0]) - self.rounding * len(scaled) if used.any() else 0.0
        return ridge + max(least, 0.0) * size**2


def certified_gap_of_moments(
    program: QuadraticProgram, w: Floats, lift: Callable[[Floats], Floats], enough: float = 0.0
) -> float:
    """Return a bound of objective(w) - optimum that holds in floating point; infinite where none is found.

    Slopes below 0 are lifted by moving away from ``w`` along w, along the vector of ones, along which slopes rise where the
    data are distances, or by ``lift(slopes)``, the move that removes them. A gap of at most ``enough`` ends the search.
    """
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        slopes, error, missed = program.slopes(w)
        gap = missed + largest_gain(slopes, error, w, program.lower, program.upper, program.curvature())
        least = slopes - error
        for direction in (w, np.ones_like(w)):
            if gap <= enough or not (least < 0).any():
                return gap
            rise = program.moments.gram @ direction + program.penalty.P @ direction
            needed = float(np.where((least < 0) & (rise > 0), -least / rise, 0.0).max(initial=0.0))
            gap = min(gap, _after(program, w, needed * direction))
        return gap if gap <= enough else min(gap, _after(program, w, lift(least)))


def _after(program: QuadraticProgram, w: Floats, move: Floats) -> float:
    v = w + move
    slopes, error, missed = program.slopes(v, w)
    move = v - w
    rise = move @ (program.moments.gram @ move) + program.rounding * np.square(program.norms @ np.abs(move))
    gap = float(rise) / 2 + missed + largest_gain(slopes, error, w, program.lower, program.upper, np.zeros(len(w)))
    return gap if np.isfinite(gap) else np.inf
