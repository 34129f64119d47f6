"""The gap of least squares, certified in floating point from second moments alone: see `certificate` for the terms.

Sums over m rows are off by rounding. By Cauchy and Schwarz the error of (AᵀSA v - AᵀSy)_j is at most
‖A_j‖ ( sum_k ‖A_k‖ |v_k| + ‖y‖ ) times that of a sum of m terms, with norms weighted by S.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..._foundation.arrays import rounding_of
from ..._foundation.types import Floats
from .certificate import largest_gain
from .moments import Moments
from .quadratics import Quadratic


@dataclass(frozen=True, eq=False)
class QuadraticProgram:
    """min_w  wᵀ gram w / 2 - cross·w + square / 2 + penalty(w)   over  w >= lower."""

    moments: Moments
    penalty: Quadratic
    lower: Floats  # (n,): the bounds of the weights; the upper ones, which may be infinite, hold for some minimiser
    upper: Floats  # (n,)
    n_rows: int  # the number of rows that the moments sum

    @cached_property
    def norms(self) -> Floats:
        """The norms of the columns, shape (n,), a little too large."""
        return self.moments.norms() * (1.0 + self.rounding)

    @property
    def rounding(self) -> float:
        """Return a bound of the rounding error of a sum over the rows or the columns, as a share of the sum of its sizes."""
        return rounding_of(self.n_rows + len(self.lower))

    def slopes(self, v: Floats, w: Floats | None = None) -> tuple[Floats, Floats, float]:
        """Return the gradient at ``v``, a bound of its error, and how far the penalty at ``w`` lies above its tangent at v."""
        of_penalty = self.penalty.enclosed_gradient(v, w)
        value = self.moments.gram @ v - self.moments.cross + of_penalty.value
        size = self.norms * (float(self.norms @ np.abs(v)) + np.sqrt(self.moments.square))
        return value, self.rounding * (size + np.abs(of_penalty.value)) + of_penalty.error, of_penalty.missed

    def curvature(self) -> Floats:
        """Return the curvatures d (n,) for which the objective minus sum_j d_j w_j² / 2 is convex.

        They are ridges or, where ridges leave free weights without any, the least eigenvalue of the scaled matrix.
        """
        ridge = self.penalty.ridge
        if not (np.isinf(self.lower) & (ridge == 0) & (self.norms > 0)).any():
            return ridge
        H = self.moments.gram + self.penalty.P.toarray()
        size = np.sqrt(np.diag(H))
        used = size > 0
        scaled = H[np.ix_(used, used)] / np.outer(size[used], size[used])
        least = float(np.linalg.eigvalsh(scaled)[0]) - self.rounding * len(scaled)
        return np.maximum(ridge, max(least, 0.0) * size**2)


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
