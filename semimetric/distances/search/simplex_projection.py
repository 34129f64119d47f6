"""The n-simplex projection: bounds of a distance of a Hilbert space by the distances to landmarks, rounding included.

Landmarks l_0 ... l_m and an object x are points of a Hilbert space. Let L be the Cholesky factor of the Gram matrix
``<l_i - l_0, l_j - l_0>``, and ``b_i = <x - l_0, l_i - l_0>``, both of which follow from distances. Then ``c = L⁻¹ b`` are the
coordinates of the projection of x on the span of the landmarks. Above it, x lies at the height ``h = sqrt(d(x, l_0)² - |c|²)``.
For two objects (Connor, Vadicamo and Rabitti 2017)

    |c_x - c_y|² + (h_x - h_y)²  <=  d(x, y)²  <=  |c_x - c_y|² + (h_x + h_y)².

*Rounding.* Let the distances be off by a share t of their sizes, and L be the factor that is computed of them. The entries of
the Gram matrix, and of b, are off by at most t times the sum of the three squared distances of which they are made. Let E be
the norm of these errors of the Gram matrix, and s the least singular value of L. With ``η = E / s²``, the true Gram matrix lies
between ``(1 - η) L Lᵀ`` and ``(1 + η) L Lᵀ``. A norm ``|c|`` that is computed from a b with an error e therefore is true up to
``e / s`` and to factors ``(1 - η)^-½`` and ``(1 + η)^-½``. So all bounds hold with these margins, and landmarks are added
only as long as η is small.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular
from scipy.spatial.distance import cdist

from ..._foundation.types import Floats

MOST_ERROR = 1e-4  # the largest η: bounds are then looser by less than a ten-thousandth


def unit_of(distances: Floats) -> float:
    """Return a power of 2 by which distances are divided, so that their squares neither overflow nor vanish."""
    largest = float(distances.max(initial=0.0))
    return float(2.0 ** np.floor(np.log2(largest))) if largest > 0.0 else 1.0


@dataclass(frozen=True, eq=False)
class SimplexProjection:
    """Landmarks as points: they place other objects, whose distances to them are given."""

    unit: float  # of all that follows
    squares: Floats  # (m,), squared distances of the other landmarks to the first
    factor: Floats  # (m, m), the Cholesky factor of their Gram matrix
    share: float  # by which distances are off, the rounding of what is computed here included
    least: float  # singular value of the factor
    error: float  # η

    @classmethod
    def of(cls, among: Floats, tolerance: float, unit: float) -> SimplexProjection:
        """Place landmarks by their distances (m + 1, m + 1), whose lower triangle is read; η is infinite if that fails."""
        share = tolerance * (1.0 + tolerance / 2.0) + 16 * (len(among) + 4) * np.finfo(np.float64).eps
        squares, between = (among[1:, 0] / unit) ** 2, np.tril(among[1:, 1:] / unit, -1) ** 2
        if not len(squares):
            return cls(unit, squares, np.empty((0, 0)), share, np.inf, 0.0)
        sums, between = squares[:, None] + squares, between + between.T
        try:
            factor: Floats = np.linalg.cholesky((sums - between) / 2.0).astype(np.float64)
        except np.linalg.LinAlgError:
            return cls(unit, squares, np.zeros_like(sums), share, 0.0, np.inf)
        least = float(np.linalg.svd(factor, compute_uv=False)[-1])
        error = share * float(np.linalg.norm(sums + between)) / least**2 if least > 0.0 else np.inf
        return cls(unit, squares, factor, share, least, error)

    def placed(self, distances: Floats) -> Floats:
        """Return the places of objects by their distances to the landmarks, (n, m + 1) to (n, m + 3).

        The columns are m coordinates, the least and the largest height, and the error of the coordinates. A largest height < 0
        stands for the root of a negative square, and proves that no point of a Hilbert space has these distances.
        """
        first, others = distances[:, 0] / self.unit, distances[:, 1:] / self.unit
        if not len(self.squares):
            return np.column_stack([first * (1.0 - self.share), first * (1.0 + self.share), np.zeros(len(first))])
        with np.errstate(over="ignore", invalid="ignore"):  # of objects that are farther than 1e150 times the landmarks
            sums, others = first[:, None] ** 2 + self.squares, others**2
            places = solve_triangular(self.factor, (sums - others).T / 2.0, lower=True, check_finite=False).T
            errors = self.share * np.linalg.norm(sums + others, axis=1) / self.least
            low, high = self._norms(np.linalg.norm(places, axis=1), errors)
            squares = (first * (1.0 - self.share)) ** 2 - high**2, (first * (1.0 + self.share)) ** 2 - low**2
        return np.column_stack([places, *(np.copysign(np.sqrt(np.abs(each)), each) for each in squares), errors])

    def bounds(self, query: Floats, items: Floats) -> tuple[Floats, Floats]:
        """Return the lower and the upper bounds of the distances of one place (1, m + 3) to others, both (n,)."""
        m = len(self.squares)
        apart = cdist(query[:, :m], items[:, :m])[0] if m else np.zeros(len(items))
        low, high = self._norms(apart, query[0, -1] + items[:, -1])
        (least, most), (its_least, its_most) = (np.maximum(each[:, m : m + 2], 0.0).T for each in (query, items))
        above = np.maximum(np.maximum(least - its_most, its_least - most), 0.0)
        lower = self.unit * np.hypot(low, above) * (1.0 - 2.0 * self.share)
        upper = self.unit * np.hypot(high, most + its_most) * (1.0 + 2.0 * self.share)
        return np.where(np.isfinite(lower), lower, 0.0), np.where(np.isfinite(upper), upper, np.inf)

    def _norms(self, norms: Floats, errors: Floats) -> tuple[Floats, Floats]:
        """Return what the true norms are at least and at most."""
        return np.maximum(norms - errors, 0.0) / np.sqrt(1.0 + self.error), (norms + errors) / np.sqrt(1.0 - self.error)
