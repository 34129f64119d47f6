"""Ground distances between bins, and potentials that are proved feasible on them.

For histograms p and q of equal mass over bins with ground distances c_ij, and any f with ``f_i - f_j <= c_ij`` for all i and j,
every plan that moves p to q costs at least ``sum_i f_i (p_i - q_i)`` (Kantorovich and Rubinstein 1958). Such f are potentials.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._foundation.cost_matrices import checked_cost_matrix
from .._foundation.types import ArrayLike, Floats, freeze

__all__ = ["GroundDistance"]

_UNIT = 2.0**-52


@dataclass(frozen=True, eq=False)
class GroundDistance:
    """The costs of moving mass between bins, and the lengths of the shortest paths, which potentials are measured by.

    A potential of the shortest paths is one of the costs, as no path is longer than its costs are; and the shortest paths
    obey the triangle inequality, whatever the costs do, up to ``defect``.

    Parameters
    ----------
    cost : ndarray of shape (n_bins, n_bins)
    paths : ndarray of shape (n_bins, n_bins)
        The lengths of the shortest paths.
    defect : float
        By how much rounding makes them break the triangle inequality.
    """

    cost: Floats
    paths: Floats
    defect: float

    def __post_init__(self) -> None:
        freeze(self, "cost", "paths")

    @classmethod
    def of(cls, cost_matrix: ArrayLike) -> GroundDistance:
        """The ground distance of a cost matrix.

        Raises
        ------
        InputError
            If the matrix is not square, finite, >= 0, symmetric and 0 on its diagonal.
        """
        cost = checked_cost_matrix(cost_matrix)
        paths = _shortest_paths(cost)
        return cls(cost, paths, _triangle_defect(paths))

    @property
    def n_bins(self) -> int:
        """Number of bins."""
        return len(self.cost)

    @property
    def diameter(self) -> float:
        """The largest cost."""
        return float(self.cost.max())

    def feasible(self, potentials: Floats) -> Floats:
        """Potentials (n, n_bins), scaled down until ``f_i - f_j <= c_ij`` is proved for all bins, with 0 in their middle.

        Differences of floats are rounded to nearest, so a difference that comes out below c_ij is not above it.
        """
        same = np.argmax(self.paths == 0.0, axis=1)  # bins without a distance between them have the value of the first
        return np.array([self._feasible(f[same]) for f in potentials]).reshape(-1, self.n_bins)

    def is_feasible(self, potential: Floats) -> bool:
        """Whether ``f_i - f_j <= c_ij`` is proved of a potential (n_bins,) for all bins."""
        gaps = potential[:, None] - potential[None, :]
        below = np.where(self.cost > 0.0, np.nextafter(self.cost, 0.0), 0.0)
        return bool((gaps <= below).all())

    def _feasible(self, f: Floats) -> Floats:
        apart = self.cost > 0.0
        if not apart.any():
            return np.zeros(self.n_bins)
        steepest = float(((f[:, None] - f[None, :])[apart] / self.cost[apart]).max())
        f = f / max(steepest, 1.0)
        f = f - (f.max() + f.min()) / 2
        shrink = 4 * _UNIT
        while not self.is_feasible(f):  # where costs are tiny beside the values, whose rounding they must make room for
            f, shrink = f * (1.0 - min(shrink, 0.5)), 2 * shrink
        return f

    def from_dual(self, dual: Floats, bins: np.ndarray) -> Floats:
        """The potential ``f_i = max_j (dual_j - c_ij)`` over some bins j: shape (n_bins,), with 0 in its middle.

        It is feasible whatever the dual is, up to `rounding_of_dual`; of a best dual of a transport problem whose first
        histogram lies in these bins, its bound is the distance itself, if costs are paths: a c-transform.
        """
        f = (dual[bins] - self.paths[:, bins]).max(axis=1)
        return f - (f.max() + f.min()) / 2

    def rounding_of_dual(self, dual: Floats) -> float:
        """By how much a difference of values of `from_dual` may exceed its cost, through rounding."""
        return self.defect + 8 * _UNIT * (float(np.abs(dual).max()) + self.diameter)


def _shortest_paths(cost: Floats) -> Floats:
    """The lengths of the shortest paths (Floyd 1962)."""
    paths = cost.copy()
    for k in range(len(paths)):
        np.minimum(paths, paths[:, k, None] + paths[k], out=paths)
    return paths


def _triangle_defect(paths: Floats) -> float:
    """The largest excess of a path over a way round."""
    return max(0.0, *(float((paths - (paths[:, k, None] + paths[k])).max()) for k in range(len(paths))))
