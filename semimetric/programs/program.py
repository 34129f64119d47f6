"""A convex program as a value: what every solver is given."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from .._foundation.types import Floats
from ..embeddings.pairs.triangle_inequality import Triangles
from .design_matrix import Design
from .inequalities import Inequalities, StackedDesign
from .losses import Loss
from .penalties import Columns, Penalty, Quadratic, total

__all__ = ["ConvexProgram"]


@dataclass(frozen=True, eq=False)
class ConvexProgram:
    """min_w  sum_i s_i loss(a_i·w - y_i) + penalty(w)   over  w >= lower,  E w = 0,  G w >= h,  and triangles.

    Parameters
    ----------
    design : Design
        A, shape (m, n).
    y : ndarray of shape (m,)
    sample_weight : ndarray of shape (m,)
        s, positive, summing to 1.
    loss : Loss
    penalties : tuple of Penalty
    columns : Columns
        What the penalties need to know of the columns.
    lower : ndarray of shape (n,)
        -inf where a weight is free.
    equalities : sparse array of shape (k, n) or None
        Rows E that the columns do not impose by construction.
    inequalities : Inequalities or None
        G and h.
    triangles : Triangles or None
        Tables that must satisfy the triangle inequality; `CuttingPlane` makes rows of them.
    inside : ndarray of shape (n,) or None
        Weights that keep every inequality, known beforehand: they bound the optimum, and what a solver leaves of a violation
        is repaired by moving towards them.
    """

    design: Design
    y: Floats
    sample_weight: Floats
    loss: Loss
    penalties: tuple[Penalty, ...]
    columns: Columns
    lower: Floats
    equalities: sparse.csr_array | None = None
    inequalities: Inequalities | None = None
    triangles: Triangles | None = None
    inside: Floats | None = None

    @cached_property
    def penalty(self) -> Quadratic:
        """The penalties as one quadratic."""
        return total(self.penalties, self.columns)

    @property
    def bounded(self) -> bool:
        """Whether every weight has a finite lower bound."""
        return bool(np.isfinite(self.lower).all())

    @cached_property
    def exact(self) -> float:
        """An objective that is as good as 0: a gap relative to less could not be computed."""
        return 1e-9 * self.loss.value(-self.y, self.sample_weight)

    def objective(self, w: Floats) -> float:
        """Loss plus penalty at w."""
        return self.loss.value(self.design.matvec(w) - self.y, self.sample_weight) + self.penalty.value(w)

    @cached_property
    def reached(self) -> float:
        """The objective at the weights known to keep every inequality; infinite where none are known."""
        return np.inf if self.inside is None else self.objective(self.inside)

    def feasible(self, w: Floats) -> Floats:
        """The weights, moved towards those known to keep every inequality as far as it takes."""
        rows = self.inequalities
        return w if rows is None or self.inside is None else rows.mixed(w, self.inside)

    @property
    def stacked(self) -> Design:
        """A, then the rows of the inequalities."""
        return self.design if self.inequalities is None else StackedDesign(self.design, self.inequalities.matrix)

    @property
    def targets(self) -> Floats:
        """y, then the bounds of the inequalities."""
        return self.y if self.inequalities is None else np.append(self.y, self.inequalities.bound)

    @property
    def slopes(self) -> tuple[Floats, Floats]:
        """Lower and upper ends of theta: those of the loss; of a row of the inequalities from -inf to 0."""
        low, high = self.loss.bounds(self.sample_weight)
        k = len(self.targets) - len(self.y)
        return np.append(low, np.full(k, -np.inf)), np.append(high, np.zeros(k))

    @property
    def curvature(self) -> Floats:
        """c / s of every row, 0 of the inequalities."""
        k = len(self.targets) - len(self.y)
        return np.append(self.loss.curvature / self.sample_weight, np.zeros(k))
