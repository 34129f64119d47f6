"""Penalties on the weights of the tables, in units where the mean target is 1; base distances are not penalised.

Every penalty is a convex quadratic (given w >= 0), so solvers see their sum as one `Quadratic`; the CVXPY expression is
written apart from it, as the oracle of the tests.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from .._checks import check_alpha, check_choice
from .._errors import NotSupportedError
from .._types import Floats

__all__ = ["Columns", "Lasso", "Penalty", "Quadratic", "Ridge", "Roughness", "total"]


@dataclass(frozen=True, eq=False)
class Columns:
    """What a penalty may ask of the columns: their number, the prior weights, and the roughness of the tables.

    ``n`` counts all columns, the tables' first; ``prior`` has one entry a table column.
    """

    n: int
    prior: Floats
    roughness: Callable[[int], sparse.csr_array]
    nonnegative: bool = True


@dataclass(frozen=True, eq=False)
class Quadratic:
    """wᵀ P w / 2 - qᵀ w + constant, P sparse and positive semidefinite."""

    P: sparse.csr_array
    q: Floats
    constant: float = 0.0

    def __add__(self, other: "Quadratic") -> "Quadratic":
        return Quadratic(sparse.csr_array(self.P + other.P), self.q + other.q, self.constant + other.constant)

    def value(self, w: Floats) -> float:
        """The quadratic at w."""
        return float(w @ (self.P @ w)) / 2 - float(self.q @ w) + self.constant

    def gradient(self, w: Floats) -> Floats:
        """P w - q."""
        return self.P @ w - self.q


class Penalty(ABC):
    """A convex penalty with strength ``alpha``."""

    alpha: float

    @abstractmethod
    def quadratic(self, columns: Columns) -> Quadratic:
        """The penalty on these columns, for w >= 0 where ``columns`` says so."""

    def reach(self, value: float, columns: Columns) -> Floats:
        """The largest each weight can be while the penalty is at most ``value``; infinite where it does not say."""
        return np.full(columns.n, np.inf)

    @abstractmethod
    def expression(self, cp: Any, w: Any, columns: Columns) -> Any:
        """The penalty as a CVXPY expression of the variable ``w``."""


def _padded(values: Floats, columns: Columns, fill: float = 0.0) -> Floats:
    return np.concatenate([values, np.full(columns.n - len(values), fill)])


@dataclass(frozen=True)
class Ridge(Penalty):
    """alpha / 2 ‖w - c‖², with c = 0, or c = the prior: the weighted L1 distance fitted on the same knots.

    Parameters
    ----------
    alpha : float, default 1e-3
    towards : {"prior", "zero"}
    """

    alpha: float = 1e-3
    towards: str = "prior"

    def __post_init__(self) -> None:
        check_alpha("alpha", self.alpha)
        check_choice("towards", self.towards, ("prior", "zero"))

    def _centre(self, columns: Columns) -> Floats:
        return columns.prior if self.towards == "prior" else np.zeros_like(columns.prior)

    def quadratic(self, columns: Columns) -> Quadratic:
        centre = self._centre(columns)
        diagonal = _padded(np.full(len(centre), self.alpha), columns)
        P = sparse.csr_array(sparse.diags_array(diagonal))
        return Quadratic(P, _padded(self.alpha * centre, columns), self.alpha * float(centre @ centre) / 2)

    def reach(self, value: float, columns: Columns) -> Floats:
        if self.alpha == 0:
            return super().reach(value, columns)
        return _padded(self._centre(columns) + np.sqrt(2.0 * value / self.alpha), columns, np.inf)

    def expression(self, cp: Any, w: Any, columns: Columns) -> Any:
        centre = self._centre(columns)
        return self.alpha / 2 * cp.sum_squares(w[: len(centre)] - centre)


@dataclass(frozen=True)
class Roughness(Penalty):
    """alpha / 2 ‖D w‖², D the tensor differences of the tables.

    Order 1 is zero exactly on warped L1 distances, order 2 exactly on weighted L1 (THEORY, section 2), so it shrinks
    towards a small, safe family instead of towards zero.

    Parameters
    ----------
    alpha : float, default 1e-3
    order : {1, 2}
    """

    alpha: float = 1e-3
    order: int = 1

    def __post_init__(self) -> None:
        check_alpha("alpha", self.alpha)
        check_choice("order", self.order, (1, 2))

    def quadratic(self, columns: Columns) -> Quadratic:
        D = columns.roughness(self.order)
        P = sparse.csr_array(self.alpha * (D.T @ D))
        P.resize((columns.n, columns.n))
        return Quadratic(P, np.zeros(columns.n))

    def expression(self, cp: Any, w: Any, columns: Columns) -> Any:
        D = columns.roughness(self.order)
        return self.alpha / 2 * cp.sum_squares(D @ w[: D.shape[1]]) if D.shape[0] else cp.Constant(0.0)


@dataclass(frozen=True)
class Lasso(Penalty):
    """alpha ‖w‖₁: weights that the data do not need fall to their lower bound.

    Parameters
    ----------
    alpha : float, default 1e-3
    """

    alpha: float = 1e-3

    def __post_init__(self) -> None:
        check_alpha("alpha", self.alpha)

    def quadratic(self, columns: Columns) -> Quadratic:
        if not columns.nonnegative:
            raise NotSupportedError("Lasso needs weights >= 0; with axioms=None use Ridge")
        q = _padded(np.full(len(columns.prior), -self.alpha), columns)
        return Quadratic(sparse.csr_array((columns.n, columns.n)), q)

    def reach(self, value: float, columns: Columns) -> Floats:
        if self.alpha == 0:
            return super().reach(value, columns)
        return _padded(np.full(len(columns.prior), value / self.alpha), columns, np.inf)

    def expression(self, cp: Any, w: Any, columns: Columns) -> Any:
        return self.alpha * cp.norm1(w[: len(columns.prior)])


def total(penalties: tuple[Penalty, ...], columns: Columns) -> Quadratic:
    """The sum of the penalties on these columns."""
    zero = Quadratic(sparse.csr_array((columns.n, columns.n)), np.zeros(columns.n))
    return sum((p.quadratic(columns) for p in penalties), zero)
