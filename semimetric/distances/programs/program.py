"""A convex program as a value: what every solver is given."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..._foundation.types import Floats
from ..pairs.triangle_inequality import Triangles
from .design_matrix import Design
from .inequalities import Inequalities, StackedDesign
from .losses import Loss
from .penalties import Penalty, PenaltyColumns, Quadratic, total

EXACT = 1e-9  # of the loss at w = 0: a fit whose objective is smaller counts as exact


@dataclass(frozen=True, eq=False)
class ConvexProgram:
    """min_w  sum_i s_i loss(a_i·w - y_i) + penalty(w)   over  w >= lower,  G w >= h,  and triangles."""

    design: Design  # A, shape (m, n)
    y: Floats  # (m,): the targets
    sample_weight: Floats  # (m,): the weights s of the rows; they are positive and sum to 1
    loss: Loss
    penalties: tuple[Penalty, ...]
    columns: PenaltyColumns  # what the penalties need to know of the columns
    lower: Floats  # (n,): the lower bounds of the weights; -inf where a weight is free
    inequalities: Inequalities | None = None  # the matrix G, of shape (k, n), and the bounds h, of shape (k,)
    # tables that must satisfy the triangle inequality. The solver `CuttingPlane` turns them into inequalities
    triangles: Triangles | None = None
    # (n,) or None: weights that are known to satisfy every inequality. They bound the optimum from above, and where a
    # solver stops with weights that violate an inequality, those are moved towards ``inside`` until they satisfy it
    inside: Floats | None = None

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

    def with_triangle_rows(self) -> "ConvexProgram":
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
