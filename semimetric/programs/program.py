"""A convex program as a value: what every solver is given."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from .._types import Floats
from .design import Design
from .losses import Loss
from .penalties import Columns, Penalty, Quadratic, total

__all__ = ["ConvexProgram"]


@dataclass(frozen=True, eq=False)
class ConvexProgram:
    """min_w  sum_i s_i loss(a_i·w - y_i) + penalty(w)   over  w >= lower,  E w = 0.

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
    """

    design: Design
    y: Floats
    sample_weight: Floats
    loss: Loss
    penalties: tuple[Penalty, ...]
    columns: Columns
    lower: Floats
    equalities: sparse.csr_array | None = None

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
