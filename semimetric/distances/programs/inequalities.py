"""Linear inequalities G w >= h, as a value and as further rows of a design matrix.

To a solver a row g·w >= h is like a row of the data whose loss is 0 where the inequality holds and infinite where it does not.
That loss is max { t (g·w - h) : t <= 0 }, a member of the family of `losses` with curvature 0 and slopes t in (-inf, 0]. The
Lagrange multipliers of the inequalities are -t.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from ..._foundation.errors import NotSupportedError
from ..._foundation.types import Floats
from ..pairs.triangle_inequality import Triangles
from .design_matrix import Design, MatrixDesign, Moments

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


_REFINEMENTS = 6
_KEPT = 1e-12  # a violation of this share of a row's terms needs no refinement
_FEASIBLE = 1e-9  # a violation of this share of a row's terms, which is left after all refinements, is rounding
_LACKING = 1e-5  # room below this is lacking for certain: linear programming is 100 times as accurate
_FAR = 1e6  # a row with more slack than this, in the unit of a refinement, cannot bind


def feasible_weights(rows: Inequalities, lower: Floats, unit: Floats) -> Floats | None:
    """Return weights (n,) that satisfy every row; None if there are none. ``unit`` (n,) is their typical size, > 0.

    They leave the most room: max t over w >= lower, G w - h >= t r, t <= 1, for the size r of each row. Linear programming
    satisfies its rows to about 1e-7 of the numbers that it sees, and bounds may lie many powers of ten apart. So the columns
    are measured in units of their own and every row is divided by its largest number. What is still violated is corrected
    by the same program around the last solution, magnified until the violation is as large as 1.
    """
    G = sparse.csr_array(rows.matrix @ sparse.diags_array(unit))
    if not G.nnz and not rows.bound.any():
        return np.where(np.isfinite(lower), lower, 0.0)
    largest = max(float(np.abs(rows.bound).max()) / max(float(np.abs(G.data).max(initial=0.0)), 1e-300), 1.0)
    unit, G = largest * unit, largest * G
    size = np.maximum(abs(G).max(axis=1).toarray().ravel(), np.abs(rows.bound))
    size[size == 0] = 1.0
    scaled = Inequalities(sparse.csr_array(sparse.diags_array(1.0 / size) @ G), rows.bound / size)
    least, finite = lower / unit, np.isfinite(lower)
    x, magnified = np.where(finite, least, 0.0), 1.0
    for _ in range(_REFINEMENTS):
        slack = np.clip(scaled.slack(x) * magnified, -_FAR, _FAR)
        step, room = _step(scaled.matrix, slack, (least - x) * magnified)
        if room < -_LACKING:  # what is missing, 1 in this unit, is no rounding
            return None
        x = x + step / magnified
        x = np.where(finite, np.maximum(x, least), x)
        missed = float(scaled.missed(x).max(initial=0.0))
        if missed <= _KEPT:
            break
        magnified = 1.0 / max(scaled.excess(x), 1e-300)
    return x * unit if missed <= _FEASIBLE else None


def _step(G: sparse.csr_array, slack: Floats, least: Floats) -> tuple[Floats, float]:
    """Return the step that gives the rows the most room, no entry below ``least``, and that room.

    Interior points are used: with 18,000 triangle inequalities they took 0.2 s, and the simplex method 5 s.
    """
    k, n = G.shape
    room = sparse.hstack([-G, sparse.csr_array(np.ones((k, 1)))], format="csr")
    bounds = [(float(v) if np.isfinite(v) else None, None) for v in least]
    found = linprog(np.append(np.zeros(n), -1.0), A_ub=room, b_ub=slack, bounds=[*bounds, (None, 1.0)], method="highs-ipm")
    if found.x is None:
        raise NotSupportedError(f"no weights that keep the constraints could be looked for: {found.message}; loosen them")
    return found.x[:n], float(found.x[n])
