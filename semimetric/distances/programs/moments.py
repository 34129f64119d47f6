"""Second moments of a design: all that least squares needs of the data, and what adds up over parts of it."""

from dataclasses import dataclass

import numpy as np

from ..._foundation.types import Floats, Integers


@dataclass(frozen=True, eq=False)
class Moments:
    """The second moments that least squares needs of the data; the moments of disjoint sets of rows add up."""

    gram: Floats  # (n, n): AᵀSA, where S is diagonal with the weights of the rows
    cross: Floats  # (n,): AᵀSy
    square: float  # yᵀSy
    total: float  # the sum of the weights

    def __add__(self, other: "Moments") -> "Moments":
        gram, cross = self.gram + other.gram, self.cross + other.cross
        return Moments(gram, cross, self.square + other.square, self.total + other.total)

    def in_unit(self, unit: float, n_base: int = 0) -> "Moments":
        """Return the moments for targets y / unit; the last ``n_base`` columns are distances, so they are divided by it too."""
        scale = np.append(np.ones(len(self.cross) - n_base), np.full(n_base, 1.0 / unit))
        return Moments(self.gram * np.outer(scale, scale), self.cross * scale / unit, self.square / unit**2, self.total)

    def scattered(self, positions: Integers, n: int) -> "Moments":
        """Return the moments of a matrix with ``n`` columns that has these columns at ``positions`` and zeros elsewhere."""
        gram = np.zeros((n, n))
        gram[np.ix_(positions, positions)] = self.gram
        cross = np.zeros(n)
        cross[positions] = self.cross
        return Moments(gram, cross, self.square, self.total)

    def norms(self) -> Floats:
        """Return the weighted norm sqrt(sum_i s_i A_ij²) of every column, shape (n,)."""
        return np.sqrt(np.maximum(np.diag(self.gram), 0.0))

    @property
    def mean(self) -> "Moments":
        """The moments for weights divided by their sum, so that they sum to 1."""
        return Moments(self.gram / self.total, self.cross / self.total, self.square / self.total, 1.0)
