"""Linear inequalities G w >= h, as a value and as further rows of a design matrix.

To a solver a row g·w >= h is like a row of the data whose loss is 0 where the inequality holds and infinite where it does not.
That loss is max { t (g·w - h) : t <= 0 }, a member of the family of `losses` with curvature 0 and slopes t in (-inf, 0]. The
Lagrange multipliers of the inequalities are -t.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from ..._foundation.types import Floats
from ..pairs.triangle_inequality import Triangles
from .design_matrix import Design, MatrixDesign
from .moments import Moments

_ROUNDING = 1e-15  # a violation of at most this share of the terms of a row is rounding
_TIGHT = 1e-10  # the same where the weights that keep every row have no room in a row, as where two rows are one equation


@dataclass(frozen=True, eq=False)
class Inequalities:
    """The inequalities G w >= h."""

    matrix: sparse.csr_array  # (k, n): the matrix G
    bound: Floats  # (k,): the right-hand sides h
    # tables whose triangle inequalities are among the rows, and whose shortest paths may repair violations
    tables: Triangles | None = None

    def __len__(self) -> int:
        return self.matrix.shape[0]

    def __add__(self, other: "Inequalities") -> "Inequalities":
        matrix = sparse.csr_array(sparse.vstack([self.matrix, other.matrix], format="csr"))
        return Inequalities(matrix, np.concatenate([self.bound, other.bound]), self.tables or other.tables)

    @classmethod
    def homogeneous(cls, matrix: sparse.csr_array) -> "Inequalities":
        """Return the inequalities G w >= 0 for ``matrix`` G."""
        return cls(matrix, np.zeros(matrix.shape[0]))

    def slack(self, w: Floats) -> Floats:
        """Return G w - h, shape (k,): negative where an inequality is violated."""
        return self.matrix @ w - self.bound

    def excess(self, w: Floats) -> float:
        """Return the largest violation h - G w of an inequality; 0 if all hold."""
        return 0.0 - float(self.slack(w).min(initial=0.0))

    def terms(self, w: Floats) -> Floats:
        """Return the sizes |G| |w| + |h| of what the rows add up, shape (k,): violations are measured against them."""
        return abs(self.matrix) @ np.abs(w) + np.abs(self.bound)

    def missed(self, w: Floats) -> Floats:
        """Return the violation of every inequality as a share of its `terms`, shape (k,): 0 where it holds, at most 1."""
        slack = self.slack(w)
        broken = slack < 0
        slack[broken] /= self.take(broken).terms(w)
        return np.maximum(-slack, 0.0)

    def take(self, rows: np.ndarray) -> "Inequalities":
        """Return the inequalities of the given ``rows``, numbers or a mask."""
        return Inequalities(sparse.csr_array(self.matrix[rows]), self.bound[rows])

    def mixed(self, w: Floats, inside: Floats) -> Floats:
        """Return weights near ``w`` that satisfy every inequality, given weights ``inside`` that do.

        Shortest paths repair triangle inequalities first; then the weights move towards ``inside`` as far as needed.
        """
        if self.tables is not None:
            w = self.tables.closed(w)
        slack = self.slack(w)
        negative = slack < 0
        if not negative.any():
            return w
        rows, missing = self.take(negative), -slack[negative]
        size, room = rows.terms(w), rows.slack(inside)
        violated = missing > np.where(room > _ROUNDING * size, _ROUNDING, _TIGHT) * size
        if not violated.any():
            return w
        gain = np.maximum(room[violated] + missing[violated], 1e-300)
        share = min(float((missing[violated] / gain).max()) * (1 + 1e-12), 1.0)
        return w + share * (inside - w) if share < 1.0 else inside


@dataclass(frozen=True, eq=False)
class StackedDesign(Design):
    """The rows of a design matrix A, followed by the rows of G: shape (m + k, n)."""

    design: Design  # the design matrix A, shape (m, n)
    rows: sparse.csr_array  # (k, n): the matrix G

    @cached_property
    def _below(self) -> MatrixDesign:
        return MatrixDesign(self.rows)

    @property
    def shape(self) -> tuple[int, int]:
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
