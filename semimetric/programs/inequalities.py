"""Linear inequalities G w >= h as a value, and as rows of a design: to a solver they are rows whose slopes lie in (-inf, 0].

A row g·w >= h is the loss that is 0 from h on and infinite below it, max { t (g·w - h) : t <= 0 }: the family of `losses` with
curvature 0. Multipliers of the inequalities are -t.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from .._foundation.types import Floats
from ..embeddings.pairs.triangle_inequality import Triangles
from .design_matrix import Design, MatrixDesign, Moments

__all__ = ["Inequalities", "StackedDesign"]

_ROUNDING = 1e-15  # of the largest weight


@dataclass(frozen=True, eq=False)
class Inequalities:
    """G w >= h.

    Parameters
    ----------
    matrix : sparse array of shape (k, n)
    bound : ndarray of shape (k,)
    tables : Triangles or None
        Tables whose triangle inequalities are among the rows, and whose shortest paths may repair them.
    """

    matrix: sparse.csr_array
    bound: Floats
    tables: Triangles | None = None

    def __len__(self) -> int:
        return self.matrix.shape[0]

    def __add__(self, other: "Inequalities") -> "Inequalities":
        matrix = sparse.csr_array(sparse.vstack([self.matrix, other.matrix], format="csr"))
        return Inequalities(matrix, np.concatenate([self.bound, other.bound]), self.tables or other.tables)

    @classmethod
    def homogeneous(cls, matrix: sparse.csr_array) -> "Inequalities":
        """G w >= 0."""
        return cls(matrix, np.zeros(matrix.shape[0]))

    def slack(self, w: Floats) -> Floats:
        """G w - h, shape (k,)."""
        return self.matrix @ w - self.bound

    def excess(self, w: Floats) -> float:
        """How far the worst row is from holding, at least 0."""
        return 0.0 - float(self.slack(w).min(initial=0.0))

    def take(self, rows: np.ndarray) -> "Inequalities":
        """Some of the rows."""
        return Inequalities(sparse.csr_array(self.matrix[rows]), self.bound[rows])

    def mixed(self, w: Floats, inside: Floats) -> Floats:
        """Weights that keep every row: shortest paths, then as far towards ``inside``, which keeps all, as needed."""
        if self.tables is not None:
            w = self.tables.closed(w)
        slack = self.slack(w)
        wrong, room = slack < -_ROUNDING * np.abs(w).max(initial=0.0), self.slack(inside)
        if not wrong.any():
            return w
        gain = np.maximum(room[wrong] - slack[wrong], 1e-300)
        share = min(float((-slack[wrong] / gain).max()) * (1 + 1e-12), 1.0)
        return w + share * (inside - w)


@dataclass(frozen=True, eq=False)
class StackedDesign(Design):
    """The rows of a design, then those of G."""

    design: Design
    rows: sparse.csr_array

    @cached_property
    def _below(self) -> MatrixDesign:
        return MatrixDesign(self.rows)

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        return self.design.shape[0] + self.rows.shape[0], self.design.shape[1]

    def matvec(self, w: Floats) -> Floats:
        return np.concatenate([self.design.matvec(w), self._below.matvec(w)])

    def rmatvec(self, r: Floats) -> Floats:
        m = self.design.shape[0]
        return self.design.rmatvec(r[:m]) + self._below.rmatvec(r[m:])

    def moments(self, y: Floats, weights: Floats) -> Moments:
        m = self.design.shape[0]
        return self.design.moments(y[:m], weights[:m]) + self._below.moments(y[m:], weights[m:])

    def csr(self) -> sparse.csr_array:
        return sparse.csr_array(sparse.vstack([self.design.csr(), self.rows], format="csr"))

    @property
    def nonnegative(self) -> bool:
        return self.design.nonnegative and self._below.nonnegative

    @property
    def absolute(self) -> Design:
        return StackedDesign(self.design.absolute, sparse.csr_array(abs(self.rows)))

    def held(self) -> Design:
        return StackedDesign(self.design.held(), self.rows)
