"""A convex program as a value: what every solver is given."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..._foundation.types import Floats
from ..pairs.triangle_inequality import Triangles
from .design_matrix import Design
from .inequalities import Inequalities, StackedDesign
from .losses import Loss
from .penalties import Penalty, PenaltyColumns, Quadratic, total

if TYPE_CHECKING:
    import cvxpy

EXACT = 1e-9  # of the loss at w = 0: a fit whose objective is smaller counts as exact


class CvxpyProgram(NamedTuple):
    """A convex program as CVXPY takes it: the problem, its variables and its constraints, to read or to build upon.

        minimise  sum_i s_i loss(r_i) + penalty(w)   subject to   A w - y == r,  w >= lower,  G w >= h,  T w >= 0

    After ``problem.solve()`` the attribute ``value`` of a variable holds its solution, and ``dual_value`` of a constraint the
    dual variables of its rows. To add terms or constraints, make another problem of these: ``cvxpy.Problem(cvxpy.Minimize(
    problem.objective.expr + term), [*problem.constraints, constraint])``.

    Parameters
    ----------
    problem : cvxpy.Problem
    weights : cvxpy.Variable of shape (n,)
        The weights w, in the units of the program.
    residuals : cvxpy.Variable of shape (m,)
        The residuals r of the rows.
    residual_rows : cvxpy.Constraint
        ``A w - y == r``.
    lower_bounds : cvxpy.Constraint or None
        ``w >= lower``, of the weights that have a finite lower bound, in their order; None if there are none.
    inequality_rows : cvxpy.Constraint or None
        ``G w >= h``; None without other inequalities than those of triangles.
    triangle_rows : cvxpy.Constraint or None
        ``T w >= 0``, a row ``w_ab + w_bc - w_ac`` for every triangle of every table; None if none is required.
    """

    problem: cvxpy.Problem
    weights: cvxpy.Variable
    residuals: cvxpy.Variable
    residual_rows: cvxpy.Constraint
    lower_bounds: cvxpy.Constraint | None = None
    inequality_rows: cvxpy.Constraint | None = None
    triangle_rows: cvxpy.Constraint | None = None


@dataclass(frozen=True, eq=False)
class ConvexProgram:
    """min_w  sum_i s_i loss(a_i·w - y_i) + penalty(w)   over  w >= lower,  G w >= h,  and triangles.

    Parameters
    ----------
    design : Design
        The matrix A, shape (m, n); ``design.csr()`` is the matrix itself.
    y : ndarray of shape (m,)
        The targets.
    sample_weight : ndarray of shape (m,)
        The weights s of the rows; they are positive and sum to 1.
    loss : Loss
    penalties : tuple of Penalty
    columns : PenaltyColumns
        What the penalties need to know of the columns.
    lower : ndarray of shape (n,)
        The lower bounds of the weights; -inf where a weight is free.
    inequalities : Inequalities or None
        The matrix G of shape (k, n), and the bounds h of shape (k,).
    triangles : Triangles or None
        The tables that must satisfy the triangle inequality.
    inside : ndarray of shape (n,) or None
        Weights that are known to satisfy every inequality.
    """

    design: Design
    y: Floats
    sample_weight: Floats
    loss: Loss
    penalties: tuple[Penalty, ...]
    columns: PenaltyColumns
    lower: Floats
    inequalities: Inequalities | None = None
    # the solver `CuttingPlane` turns triangles into inequalities
    triangles: Triangles | None = None
    # weights that are known to satisfy every inequality bound the optimum from above, and where a
    # solver stops with weights that violate an inequality, those are moved towards ``inside`` until they satisfy it
    inside: Floats | None = None

    def to_cvxpy(self) -> CvxpyProgram:
        """Return the program as a problem of CVXPY, with the residuals as variables of their own, see `CvxpyProgram`.

        Examples
        --------
        >>> import numpy as np
        >>> from semimetric import DistanceRegressor
        >>> pairs = np.random.default_rng(0).random((50, 2, 2))
        >>> model = DistanceRegressor(n_knots=3, alpha=0.01).fit(pairs, np.abs(pairs[:, 0] - pairs[:, 1]).sum(axis=1))
        >>> built = model.program_.to_cvxpy()
        >>> optimum = built.problem.solve()
        >>> bool(abs(optimum - model.solution_.objective) < 1e-6)
        True
        """
        import cvxpy as cp  # noqa: PLC0415 - importing CVXPY takes about a second, and only this needs it

        w, r = cp.Variable(len(self.lower), name="weights"), cp.Variable(len(self.y), name="residuals")
        objective = self.loss.expression(cp, r, self.sample_weight)
        objective += sum(p.expression(cp, w, self.columns) for p in self.penalties)
        bounded, tables = np.isfinite(self.lower), self.triangles
        rows = self.design.csr() @ w - self.y == r
        lower = w[bounded] >= self.lower[bounded] if bounded.any() else None
        more = None if self.inequalities is None else self.inequalities.matrix @ w >= self.inequalities.bound
        triangles = None if tables is None or not tables.tables else tables.rows() @ w[: tables.n_columns] >= 0
        constraints = [rows, *(given for given in (lower, more, triangles) if given is not None)]
        return CvxpyProgram(cp.Problem(cp.Minimize(objective), constraints), w, r, rows, lower, more, triangles)

    @cached_property
    def penalty(self) -> Quadratic:
        """The sum of the penalties, as one quadratic function of the weights."""
        return total(self.penalties, self.columns)

    @property
    def bounded(self) -> bool:
        """True if every weight has a finite lower bound."""
        return bool(np.isfinite(self.lower).all())

    @cached_property
    def exact(self) -> float:
        """The objective below which a fit counts as exact: rounding would drown a gap relative to anything smaller."""
        return EXACT * self.loss.value(-self.y, self.sample_weight)

    def objective(self, w: Floats) -> float:
        """Return the loss plus the penalty at the weights ``w`` of shape (n,)."""
        return self.loss.value(self.design.matvec(w) - self.y, self.sample_weight) + self.penalty.value(w)

    @cached_property
    def reached(self) -> float:
        """The objective at ``inside``, the weights that satisfy every inequality; infinite where none are known."""
        return np.inf if self.inside is None else self.objective(self.inside)

    def feasible(self, w: Floats) -> Floats:
        """Return the weights ``w`` moved towards ``inside`` just as far as it takes to satisfy every inequality."""
        if self.inequalities is None or self.inside is None:
            return w
        return self.inequalities.mixed(w, self.inside)

    def with_triangle_rows(self) -> ConvexProgram:
        """Return the same program with every triangle inequality as a row of ``inequalities``."""
        triangles, n = self.triangles, len(self.lower)
        if triangles is None or not triangles.tables:
            return replace(self, triangles=None)
        matrix = triangles.rows()
        matrix.resize((matrix.shape[0], n))
        rows = Inequalities.homogeneous(matrix)
        rows = rows if self.inequalities is None else rows + self.inequalities
        return replace(self, triangles=None, inequalities=replace(rows, tables=triangles if triangles.free else None))

    @property
    def stacked(self) -> Design:
        """The rows of A, followed by the rows of the inequalities: shape (m + k, n)."""
        return self.design if self.inequalities is None else StackedDesign(self.design, self.inequalities.matrix)

    @property
    def targets(self) -> Floats:
        """The targets y, followed by the bounds h of the inequalities: shape (m + k,)."""
        return self.y if self.inequalities is None else np.append(self.y, self.inequalities.bound)

    @property
    def slopes(self) -> tuple[Floats, Floats]:
        """The lower and the upper bounds of the dual variables theta, each of shape (m + k,).

        The loss bounds those of the rows of A; those of the inequalities lie between -inf and 0.
        """
        low, high = self.loss.bounds(self.sample_weight)
        k = len(self.targets) - len(self.y)
        return np.append(low, np.full(k, -np.inf)), np.append(high, np.zeros(k))

    @property
    def curvature(self) -> Floats:
        """The curvature c / s of the dual objective in each theta, 0 for the inequalities: shape (m + k,)."""
        k = len(self.targets) - len(self.y)
        return np.append(self.loss.curvature / self.sample_weight, np.zeros(k))
