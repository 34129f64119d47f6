"""Penalties on the weights of the tables, measured as slopes (see `PenaltyColumns`); base distances are not penalised.

Given w >= 0, every penalty is a convex quadratic, so solvers see the sum of the penalties as one `Quadratic`. Each penalty is
also written as an independent CVXPY expression, against which the tests check the quadratic.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy import sparse

from ..._foundation.arrays import rounding_of
from ..._foundation.errors import InputError, NotSupportedError
from ..._foundation.stored import storable
from ..._foundation.types import Floats, Integers
from ..._foundation.validation import check_alpha, check_choice


class Square(NamedTuple):
    """The term ‖R (w - c)‖² / 2: ``rows`` are R, a sparse matrix of shape (k, n), and ``center`` is c, of shape (n,)."""

    rows: sparse.csr_array
    center: Floats


class EnclosedGradient(NamedTuple):
    """A gradient of shape (n,) and by how much rounding may be off in each entry.

    ``missed`` is how far the penalty may lie above the plane with this gradient that touches it from below.
    """

    value: Floats
    error: Floats
    missed: float


@dataclass(frozen=True, eq=False)
class Quadratic:
    """The quadratic wᵀ P w / 2 - qᵀ w + constant, with P sparse and positive semidefinite.

    Where it is known as a ``square``, its value is computed from that: strong penalties would cancel. A sum keeps ``parts``.
    """

    P: sparse.csr_array
    q: Floats
    constant: float = 0.0
    square: Square | None = None
    parts: tuple[Quadratic, ...] = ()

    def __add__(self, other: Quadratic) -> Quadratic:
        P = sparse.csr_array(self.P + other.P)
        parts = (*(self.parts or (self,)), *(other.parts or (other,)))
        return Quadratic(P, self.q + other.q, self.constant + other.constant, parts=parts)

    def value(self, w: Floats) -> float:
        """Return the value of the quadratic at ``w``, shape (n,)."""
        if self.parts:
            return sum(part.value(w) for part in self.parts)
        if self.square is not None:
            rise = self.square.rows @ (w - self.square.center)
            return float(rise @ rise) / 2
        return float(w @ (self.P @ w)) / 2 - float(self.q @ w) + self.constant

    def gradient(self, w: Floats) -> Floats:
        """Return the gradient P w - q, shape (n,)."""
        return self.P @ w - self.q

    def enclosed_gradient(self, v: Floats, w: Floats | None = None) -> EnclosedGradient:
        """Return the gradient at ``v``; ``missed`` is how far the quadratic at ``w``, or at v, lies above its tangent."""
        if self.parts:
            values, errors, missed = zip(*(part.enclosed_gradient(v, w) for part in self.parts), strict=True)
            error = np.sum(errors, axis=0) + rounding_of(len(values)) * np.abs(values).sum(axis=0)
            return EnclosedGradient(np.sum(values, axis=0), error, sum(missed))
        if self.square is None:
            size, moved = abs(self.P) @ np.abs(v) + np.abs(self.q), np.zeros_like(v) if w is None else w - v
            missed_of = float(np.abs(moved) @ (abs(self.P) @ np.abs(moved))) / 2
            return EnclosedGradient(self.gradient(v), rounding_of(len(v)) * size, missed_of)
        R, move = self.square.rows, v - self.square.center
        rise, size = R @ move, abs(R)
        off = rounding_of(len(v)) * (size @ np.abs(move))
        error = rounding_of(R.shape[0]) * (size.T @ np.abs(rise))
        if w is None and self.ridge.any():  # the curvature is used beside the gradient, which must be that at w itself
            return EnclosedGradient(R.T @ rise, error + size.T @ off, 0.0)
        if w is not None:
            off += np.abs(R @ (w - v)) + rounding_of(len(v)) * (size @ np.abs(w - v))
        return EnclosedGradient(R.T @ rise, error, float(off @ off) / 2)

    @cached_property
    def ridge(self) -> Floats:
        """The curvature of squares of single weights, shape (n,): along each weight the quadratic curves so much."""
        if self.parts:
            return np.sum([part.ridge for part in self.parts], axis=0)
        curvature = np.zeros(len(self.q))
        if self.square is not None:
            diagonal = self.square.rows.diagonal()
            if np.count_nonzero(diagonal) == np.count_nonzero(self.square.rows.data):
                curvature[: len(diagonal)] = diagonal**2 * (1.0 - rounding_of(0))
        return curvature


@dataclass(frozen=True, eq=False)
class PenaltyColumns:
    """The columns that a penalty needs to know; each array has one entry for every column of a table.

    A weight is measured as a slope: ``unit`` is the weight that the column would have in the L1 distance to which every
    feature contributes equally. So w / unit is about 1, and penalties do not depend on the units of the features, on the
    numbers of knots or on the number of features.
    """

    n: int  # the number of all columns: those of the tables come first, then those of the base distances
    prior: Floats  # (n_table_columns,): the weights of the weighted L1 distance that was fitted to the targets
    unit: Floats  # (n_table_columns,): the unit of each weight, as above; > 0
    step: Floats  # (n_table_columns,): the unit of one mean cell of the column's group
    # (n_table_columns,): 1 / (number of groups x number of cells of the group), which turns sums into means over features
    # and cells
    share: Floats
    cells: Floats  # (n_table_columns,): the number of cells of the column's group
    # the function from "tables" (order 1), "curves" (order 2) or "shifts" to the sparse matrix D of those differences
    differences: Callable[[str], sparse.csr_array]
    nonnegative: bool = True  # True if the program requires weights >= 0
    given: bool = False  # True if ``prior`` was given; differences are measured from it, too
    # (n_table_columns,): the number of each column's group of features, of single features that of the feature; None of others
    group: Integers | None = None


class Penalty(ABC):
    """A convex penalty that is >= 0 for the weights that it allows; most penalties have a strength ``alpha``."""

    @abstractmethod
    def quadratic(self, columns: PenaltyColumns) -> Quadratic:
        """Return the penalty on these columns as a quadratic, which need hold only for w >= 0 if ``columns.nonnegative``."""

    def reach(self, value: float, columns: PenaltyColumns) -> Floats:
        """Return an upper bound of every weight (n,) while the penalty is at most ``value``; infinite where there is none."""
        return np.full(columns.n, np.inf)

    @abstractmethod
    def expression(self, cp: Any, w: Any, columns: PenaltyColumns) -> Any:
        """Return the penalty as a CVXPY expression of the variable ``w``."""


Penalties: TypeAlias = str | Penalty | Sequence[Penalty] | None
"""What ``Program(penalty=)`` takes: a name, a penalty, several, or none."""


def _padded(values: Floats, columns: PenaltyColumns, fill: float = 0.0) -> Floats:
    """Append ``fill`` for the base distances to the values of the table columns: shape (n,)."""
    return np.concatenate([values, np.full(columns.n - len(values), fill)])


@storable
@dataclass(frozen=True)
class Ridge(Penalty):
    """alpha / 2 mean (w / unit - c / unit)², with c = 0, or c = the prior: the weighted L1 distance on the same knots.

    Parameters
    ----------
    alpha : float, default 1e-4
    towards : {"prior", "zero"}
        What the weights are drawn to. The weight of a vertex that no pair uses ends exactly there: at the prior, or, towards
        zero, at its lower bound.

    Examples
    --------
    >>> import numpy as np
    >>> from semimetric import DistanceRegressor, Program, Ridge
    >>> pairs = np.random.default_rng(0).random((200, 2, 2))
    >>> y = np.abs(pairs[:, 0] - pairs[:, 1]) @ [1.0, 3.0]
    >>> model = DistanceRegressor(n_knots=3, program=Program(penalty=Ridge(1e-6))).fit(pairs, y)
    >>> bool(model.score(pairs, y) > 0.99)
    True
    """

    alpha: float = 1e-4
    towards: str = "prior"

    def __post_init__(self) -> None:
        check_alpha("alpha", self.alpha)
        check_choice("towards", self.towards, ("prior", "zero"))

    def _center(self, columns: PenaltyColumns) -> Floats:
        """Return the weights that the penalty draws to, shape (n_table_columns,)."""
        return columns.prior if self.towards == "prior" else np.zeros_like(columns.prior)

    def quadratic(self, columns: PenaltyColumns) -> Quadratic:
        center = self._center(columns)
        diagonal = self.alpha * columns.share / columns.unit**2
        P, R = (sparse.csr_array(sparse.diags_array(_padded(v, columns))) for v in (diagonal, np.sqrt(diagonal)))
        constant = float(diagonal @ (center * center)) / 2
        return Quadratic(P, _padded(diagonal * center, columns), constant, Square(R, _padded(center, columns)))

    def reach(self, value: float, columns: PenaltyColumns) -> Floats:
        if self.alpha == 0:
            return super().reach(value, columns)
        with np.errstate(over="ignore"):
            radius = columns.unit * np.sqrt(2.0 * value / (self.alpha * columns.share))
        return _padded(self._center(columns) + radius, columns, np.inf)

    def expression(self, cp: Any, w: Any, columns: PenaltyColumns) -> Any:
        center = self._center(columns)
        scaled = cp.multiply(np.sqrt(columns.share) / columns.unit, w[: len(center)] - center)
        return self.alpha / 2 * cp.sum_squares(scaled)


class _Differences(Penalty):
    """alpha / 2 ‖D w‖² for a matrix D of differences between the weights of neighbouring vertices."""

    alpha: float

    @abstractmethod
    def matrix(self, columns: PenaltyColumns) -> sparse.csr_array:
        """Return the scaled matrix D, shape (n_differences, n_table_columns)."""

    def quadratic(self, columns: PenaltyColumns) -> Quadratic:
        D = self.matrix(columns)
        P = sparse.csr_array(self.alpha * (D.T @ D))
        P.resize((columns.n, columns.n))
        R = sparse.csr_array(np.sqrt(self.alpha) * D)
        R.resize((D.shape[0], columns.n))
        center = _padded(columns.prior * columns.given, columns)
        return Quadratic(P, P @ center, float(center @ (P @ center)) / 2, Square(R, center))

    def expression(self, cp: Any, w: Any, columns: PenaltyColumns) -> Any:
        D = self.matrix(columns)
        moved = w[: D.shape[1]] - columns.prior * columns.given
        return self.alpha / 2 * cp.sum_squares(D @ moved) if D.shape[0] else cp.Constant(0.0)


@storable
@dataclass(frozen=True)
class Roughness(_Differences):
    """alpha / 2 mean ‖D w / step‖², where D are the tensor differences of the tables (docs/mathematics.md, section 2).

    Order 1 takes mixed differences and is zero exactly on warped L1 distances; order 2 takes second differences along each
    axis and is zero exactly on weighted L1 distances. So the penalty shrinks a distance towards a small family of distances
    that are known to be sound, instead of towards zero.

    Parameters
    ----------
    alpha : float, default 1e-2
    order : {1, 2}

    Examples
    --------
    >>> from semimetric import DistanceRegressor, Program, Ridge, Roughness
    >>> model = DistanceRegressor(program=Program(penalty=[Roughness(1e-6, order=2), Ridge(1e-6)]))
    """

    alpha: float = 1e-2
    order: int = 1

    def __post_init__(self) -> None:
        check_alpha("alpha", self.alpha)
        check_choice("order", self.order, (1, 2))

    def matrix(self, columns: PenaltyColumns) -> sparse.csr_array:
        D = columns.differences("tables" if self.order == 1 else "curves")
        return sparse.csr_array(D @ sparse.diags_array(np.sqrt(columns.share) / columns.step))


@storable
@dataclass(frozen=True)
class Shift(_Differences):
    """alpha / 2 mean (cells x (slope after - slope before))²: how much a distance changes as both points shift together.

    A slope is w / unit. The slopes before and after are those of the vertices (a, b) and (a + 1, b + 1) along one feature. The
    penalty is zero exactly on tables whose slopes depend only on the difference of the indices: on weighted L1 distances, but
    also on distances that saturate.

    Parameters
    ----------
    alpha : float, default 1e-4

    Examples
    --------
    >>> from semimetric import DistanceRegressor, Program, Ridge, Shift
    >>> model = DistanceRegressor(program=Program(penalty=[Ridge(1e-6), Shift(1e-6)]))
    """

    alpha: float = 1e-4

    def __post_init__(self) -> None:
        check_alpha("alpha", self.alpha)

    def matrix(self, columns: PenaltyColumns) -> sparse.csr_array:
        scale = np.sqrt(columns.share) * columns.cells / columns.unit
        return sparse.csr_array(columns.differences("shifts") @ sparse.diags_array(scale))


@storable
@dataclass(frozen=True)
class Lasso(Penalty):
    """alpha mean |w / unit|: weights that the data do not need fall to their lower bound.

    So do the weights of vertices that no pair uses: distances between regions that no pair connects come out close to 0.

    Parameters
    ----------
    alpha : float, default 1e-3

    Examples
    --------
    >>> from semimetric import DistanceRegressor, Lasso, Program
    >>> model = DistanceRegressor(program=Program(penalty=Lasso(1e-6)))
    """

    alpha: float = 1e-3

    def __post_init__(self) -> None:
        check_alpha("alpha", self.alpha)

    def quadratic(self, columns: PenaltyColumns) -> Quadratic:
        if not columns.nonnegative:
            raise NotSupportedError("Lasso needs weights >= 0; with axioms=None use Ridge")
        q = _padded(-self.alpha * columns.share / columns.unit, columns)
        return Quadratic(sparse.csr_array((columns.n, columns.n)), q)

    def reach(self, value: float, columns: PenaltyColumns) -> Floats:
        if self.alpha == 0:
            return super().reach(value, columns)
        with np.errstate(over="ignore"):
            return _padded(value * columns.unit / (self.alpha * columns.share), columns, np.inf)

    def expression(self, cp: Any, w: Any, columns: PenaltyColumns) -> Any:
        return self.alpha * cp.norm1(cp.multiply(columns.share / columns.unit, w[: len(columns.prior)]))


@storable
@dataclass(frozen=True, eq=False)
class Linear(Penalty):
    """cost · w: with cost = (1 - mu) Aᵀs this is (1 - mu) times a mean of distances A w (Weinberger & Saul 2009).

    Parameters
    ----------
    cost : ndarray of shape (n,)
        The cost of every column, those of base distances too; >= 0.

    Examples
    --------
    >>> import numpy as np
    >>> from semimetric import Linear
    >>> Linear(np.array([0.5, 0.0, 2.0])).cost
    array([0.5, 0. , 2. ])
    """

    cost: Floats

    def __post_init__(self) -> None:
        if not np.isfinite(self.cost).all() or (self.cost < 0).any():
            raise InputError(f"cost has {np.min(self.cost):g}; finite numbers >= 0 are required, one a column")

    def quadratic(self, columns: PenaltyColumns) -> Quadratic:
        if self.cost.shape != (columns.n,) or not columns.nonnegative:
            raise NotSupportedError(f"Linear has {len(self.cost)} costs; {columns.n} are required, of weights >= 0")
        return Quadratic(sparse.csr_array((columns.n, columns.n)), -self.cost)

    def reach(self, value: float, columns: PenaltyColumns) -> Floats:
        with np.errstate(divide="ignore"):
            return np.where(self.cost > 0, value / self.cost, np.inf)

    def expression(self, cp: Any, w: Any, columns: PenaltyColumns) -> Any:
        return self.cost @ w


def total(penalties: tuple[Penalty, ...], columns: PenaltyColumns) -> Quadratic:
    """Return the sum of the penalties on these columns, as one quadratic."""
    zero = Quadratic(sparse.csr_array((columns.n, columns.n)), np.zeros(columns.n))
    parts = tuple(p.quadratic(columns) for p in penalties)
    return replace(sum(parts, zero), parts=parts)  # without the zero, whose value would be computed each time
