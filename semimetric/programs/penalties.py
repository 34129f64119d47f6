"""Penalties on the weights of the tables, as slopes (see `Columns`); base distances are not penalised.

Every penalty is a convex quadratic (given w >= 0), so solvers see their sum as one `Quadratic`; the CVXPY expression is
written apart from it, as the oracle of the tests.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from .._foundation.errors import InputError, NotSupportedError
from .._foundation.types import Floats
from .._foundation.validation import check_alpha, check_choice

__all__ = ["Columns", "Lasso", "Linear", "Penalty", "Quadratic", "Ridge", "Roughness", "Shift", "total"]


@dataclass(frozen=True, eq=False)
class Columns:
    """What a penalty may ask of the columns; arrays have one entry a table column.

    A weight is measured in slopes: ``unit`` is what it would be in the L1 distance to which every feature contributes
    equally, so w / unit is about 1 and penalties do not depend on units, on numbers of knots or on numbers of features.

    Attributes
    ----------
    n : int
        All columns: the tables' first, then the base distances.
    prior : ndarray
        Weights of the weighted L1 distance fitted to the targets.
    unit : ndarray
        See above; > 0.
    step : ndarray
        The unit of one mean cell of the column's group.
    share : ndarray
        1 / (number of groups x cells of the group): sums become means over features and cells.
    cells : ndarray
        Cells of the column's group.
    differences : callable
        "tables" (order 1), "curves" (order 2) or "shifts" to the sparse matrix D of those differences.
    nonnegative : bool
    """

    n: int
    prior: Floats
    unit: Floats
    step: Floats
    share: Floats
    cells: Floats
    differences: Callable[[str], sparse.csr_array]
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
    """A convex penalty, >= 0 for the weights that it allows; most have a strength ``alpha``."""

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
    """alpha / 2 mean (w / unit - c / unit)², with c = 0, or c = the prior: the weighted L1 distance on the same knots.

    Parameters
    ----------
    alpha : float, default 1e-4
    towards : {"prior", "zero"}
        Vertices that no pair ever touched go there: towards zero, to their lower bound.
    """

    alpha: float = 1e-4
    towards: str = "prior"

    def __post_init__(self) -> None:
        check_alpha("alpha", self.alpha)
        check_choice("towards", self.towards, ("prior", "zero"))

    def _centre(self, columns: Columns) -> Floats:
        return columns.prior if self.towards == "prior" else np.zeros_like(columns.prior)

    def quadratic(self, columns: Columns) -> Quadratic:
        centre, diagonal = self._centre(columns), self.alpha * columns.share / columns.unit**2
        P = sparse.csr_array(sparse.diags_array(_padded(diagonal, columns)))
        return Quadratic(P, _padded(diagonal * centre, columns), float(diagonal @ (centre * centre)) / 2)

    def reach(self, value: float, columns: Columns) -> Floats:
        if self.alpha == 0:
            return super().reach(value, columns)
        return _padded(
            self._centre(columns) + columns.unit * np.sqrt(2.0 * value / (self.alpha * columns.share)), columns, np.inf
        )

    def expression(self, cp: Any, w: Any, columns: Columns) -> Any:
        centre = self._centre(columns)
        scaled = cp.multiply(np.sqrt(columns.share) / columns.unit, w[: len(centre)] - centre)
        return self.alpha / 2 * cp.sum_squares(scaled)


class _Differences(Penalty):
    """alpha / 2 ‖D w‖² for differences that the columns define."""

    alpha: float

    @abstractmethod
    def matrix(self, columns: Columns) -> sparse.csr_array:
        """D on the table columns, scaled."""

    def quadratic(self, columns: Columns) -> Quadratic:
        D = self.matrix(columns)
        P = sparse.csr_array(self.alpha * (D.T @ D))
        P.resize((columns.n, columns.n))
        return Quadratic(P, np.zeros(columns.n))

    def expression(self, cp: Any, w: Any, columns: Columns) -> Any:
        D = self.matrix(columns)
        return self.alpha / 2 * cp.sum_squares(D @ w[: D.shape[1]]) if D.shape[0] else cp.Constant(0.0)


@dataclass(frozen=True)
class Roughness(_Differences):
    """alpha / 2 mean ‖D w / step‖², D the tensor differences of the tables (docs/mathematics.md, section 2).

    Order 1 takes mixed differences and is zero exactly on warped L1 distances; order 2 takes second differences along each
    axis and is zero exactly on weighted L1. It shrinks towards a small, safe family instead of towards zero.

    Parameters
    ----------
    alpha : float, default 1e-2
    order : {1, 2}
    """

    alpha: float = 1e-2
    order: int = 1

    def __post_init__(self) -> None:
        check_alpha("alpha", self.alpha)
        check_choice("order", self.order, (1, 2))

    def matrix(self, columns: Columns) -> sparse.csr_array:
        D = columns.differences("tables" if self.order == 1 else "curves")
        return sparse.csr_array(D @ sparse.diags_array(np.sqrt(columns.share) / columns.step))


@dataclass(frozen=True)
class Shift(_Differences):
    """alpha / 2 mean (cells x (slope after - slope before))²: how much a distance changes as both points shift together.

    A slope is w / unit; the two vertices are (a, b) and (a + 1, b + 1) along one feature. Zero exactly on tables whose
    slopes depend only on the difference of the indices: weighted L1, but also distances that saturate.

    Parameters
    ----------
    alpha : float, default 1e-4
    """

    alpha: float = 1e-4

    def __post_init__(self) -> None:
        check_alpha("alpha", self.alpha)

    def matrix(self, columns: Columns) -> sparse.csr_array:
        scale = np.sqrt(columns.share) * columns.cells / columns.unit
        return sparse.csr_array(columns.differences("shifts") @ sparse.diags_array(scale))


@dataclass(frozen=True)
class Lasso(Penalty):
    """alpha mean |w / unit|: weights that the data do not need fall to their lower bound.

    So do those of vertices that no pair ever touched: distances between regions that no pair joins come out close to 0.

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
        q = _padded(-self.alpha * columns.share / columns.unit, columns)
        return Quadratic(sparse.csr_array((columns.n, columns.n)), q)

    def reach(self, value: float, columns: Columns) -> Floats:
        if self.alpha == 0:
            return super().reach(value, columns)
        return _padded(value * columns.unit / (self.alpha * columns.share), columns, np.inf)

    def expression(self, cp: Any, w: Any, columns: Columns) -> Any:
        return self.alpha * cp.norm1(cp.multiply(columns.share / columns.unit, w[: len(columns.prior)]))


@dataclass(frozen=True, eq=False)
class Linear(Penalty):
    """cost · w: a pull. With cost = (1 - mu) Aᵀs, the weighted mean of some distances A w (Weinberger & Saul 2009).

    Parameters
    ----------
    cost : ndarray of shape (n,)
        >= 0, one for every column, those of base distances too.
    """

    cost: Floats

    def __post_init__(self) -> None:
        if not np.isfinite(self.cost).all() or (self.cost < 0).any():
            raise InputError(f"cost has {np.min(self.cost):g}; finite numbers >= 0 are required, one a column")

    def quadratic(self, columns: Columns) -> Quadratic:
        if self.cost.shape != (columns.n,) or not columns.nonnegative:
            raise NotSupportedError(f"Linear has {len(self.cost)} costs; {columns.n} are required, of weights >= 0")
        return Quadratic(sparse.csr_array((columns.n, columns.n)), -self.cost)

    def reach(self, value: float, columns: Columns) -> Floats:
        with np.errstate(divide="ignore"):
            return np.where(self.cost > 0, value / self.cost, np.inf)

    def expression(self, cp: Any, w: Any, columns: Columns) -> Any:
        return self.cost @ w


def total(penalties: tuple[Penalty, ...], columns: Columns) -> Quadratic:
    """The sum of the penalties on these columns."""
    zero = Quadratic(sparse.csr_array((columns.n, columns.n)), np.zeros(columns.n))
    return sum((p.quadratic(columns) for p in penalties), zero)
