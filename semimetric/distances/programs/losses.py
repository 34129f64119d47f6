"""Losses of the residuals r = A w - y, averaged with weights s that sum to 1: ``sum_i s_i l(r_i)``.

Every loss is piecewise linear-quadratic, so it is the maximum of a concave quadratic over an interval,

    l(r) = max { t r - c t² / 2 :  a <= t <= b },

and a solver sees only a, b and c (as in the dual of the programs of paper 2). To add a loss, add one class here. Least squares
has the interval of all numbers and c = 1; least absolute deviations have [-1, 1] and c = 0; the hinge has [0, 1] and c = 0.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._foundation.errors import InputError
from ..._foundation.real_numbers import shown
from ..._foundation.stored import storable
from ..._foundation.types import Floats
from ..._foundation.validation import check_alpha


class Loss(ABC):
    """A convex, non-negative loss l with l(0) = 0."""

    @property
    @abstractmethod
    def interval(self) -> tuple[float, float]:
        """The smallest and the largest slope (a, b); they may be infinite."""

    @property
    @abstractmethod
    def curvature(self) -> float:
        """The curvature c >= 0 of the dual, > 0 where the interval is infinite: the loss curves by 1 / c inside it."""

    @abstractmethod
    def growth(self, value: float) -> float:
        """Return an upper bound of sum_i s_i |r_i| where the loss is at most ``value``; inf where negative r cost nothing."""

    @abstractmethod
    def expression(self, cp: Any, r: Any, s: Floats) -> Any:
        """Return the loss as a CVXPY expression of the residual expression ``r``, without the interval and the curvature."""

    def slope(self, r: Floats) -> Floats:
        """Return the derivative l'(r), shape (m,); at a kink it is the lower end of the interval."""
        return np.clip(r / self.curvature, *self.interval) if self.curvature else np.where(r > 0, *self.interval[::-1])

    def curved(self, r: Floats) -> NDArray[np.bool_]:
        """Return a mask of the residuals, shape (m,), at which l curves: the slope is inside the interval. Needs c > 0."""
        t = r / self.curvature
        return (t > self.interval[0]) & (t < self.interval[1])

    @property
    def quadratic(self) -> bool:
        """True if the loss is least squares up to a factor."""
        return bool(np.isinf(self.interval).all())

    def value(self, r: Floats, s: Floats) -> float:
        """Return the weighted loss sum_i s_i l(r_i)."""
        slope = self.slope(r)
        return float(s @ (slope * r - self.curvature * slope * slope / 2))

    def bounds(self, s: Floats) -> tuple[Floats, Floats]:
        """Return the lower and the upper bounds of the dual variables theta_i = s_i t_i, each of shape (m,)."""
        low, high = self.interval
        return low * s, high * s

    def conjugate(self, theta: Floats, s: Floats) -> float:
        """Return the conjugate sum_i c theta_i² / (2 s_i) of the loss, for theta within `bounds` and s > 0."""
        return self.curvature * float(np.sum(theta * theta / s)) / 2


@storable
@dataclass(frozen=True)
class Squared(Loss):
    """l(r) = r² / 2: least squares.

    Examples
    --------
    >>> import numpy as np
    >>> from semimetric import DistanceRegressor, Squared
    >>> pairs = np.random.default_rng(0).random((200, 2, 2))
    >>> y = np.abs(pairs[:, 0] - pairs[:, 1]) @ [1.0, 3.0]
    >>> model = DistanceRegressor(n_knots=3, alpha=1e-6, loss=Squared()).fit(pairs, y)
    >>> bool(model.score(pairs, y) > 0.99)
    True
    """

    interval = -np.inf, np.inf
    curvature = 1.0

    def growth(self, value: float) -> float:
        return float(np.sqrt(2.0 * value))  # Jensen: (sum s |r|)² <= sum s r²

    def expression(self, cp: Any, r: Any, s: Floats) -> Any:
        return cp.sum_squares(cp.multiply(np.sqrt(s), r)) / 2


@storable
@dataclass(frozen=True)
class Absolute(Loss):
    """l(r) = |r|: least absolute deviations (Pele & Ben-Aliz 2016, section 4).

    Examples
    --------
    >>> Absolute().value(np.array([1.0, -2.0]), np.array([0.5, 0.5]))
    1.5
    """

    interval = -1.0, 1.0
    curvature = 0.0

    def growth(self, value: float) -> float:
        return value

    def expression(self, cp: Any, r: Any, s: Floats) -> Any:
        return s @ cp.abs(r)


@storable
@dataclass(frozen=True)
class Huber(Loss):
    """l(r) = r² / 2 for |r| <= t, and t |r| - t² / 2 beyond.

    Parameters
    ----------
    threshold : float, default 0.1
        t > 0, in units of the mean target (targets are divided by their mean before the fit).

    Examples
    --------
    >>> Huber(threshold=0.5).value(np.array([1.0, -2.0]), np.array([0.5, 0.5]))
    0.625
    """

    threshold: float = 0.1
    curvature = 1.0

    def __post_init__(self) -> None:
        check_alpha("threshold", self.threshold, strict=True)

    @property
    def interval(self) -> tuple[float, float]:
        return -self.threshold, self.threshold

    def growth(self, value: float) -> float:
        return value / self.threshold + self.threshold / 2  # l(r) >= t |r| - t² / 2

    def expression(self, cp: Any, r: Any, s: Floats) -> Any:
        return s @ cp.huber(r, self.threshold) / 2


@storable
@dataclass(frozen=True)
class Hinge(Loss):
    """l(r) = max(0, r): a violated margin costs what it lacks (Weinberger & Saul 2009, for r = margin + d_near - d_far).

    Examples
    --------
    >>> Hinge().value(np.array([1.0, -2.0]), np.array([0.5, 0.5]))
    0.5
    """

    interval = 0.0, 1.0
    curvature = 0.0

    def growth(self, value: float) -> float:
        return np.inf

    def expression(self, cp: Any, r: Any, s: Floats) -> Any:
        return s @ cp.pos(r)


@storable
@dataclass(frozen=True)
class SquaredHinge(Loss):
    """l(r) = max(0, r)² / 2: smooth, so that Newton's method solves it.

    Examples
    --------
    >>> SquaredHinge().value(np.array([1.0, -2.0]), np.array([0.5, 0.5]))
    0.25
    """

    interval = 0.0, np.inf
    curvature = 1.0

    def growth(self, value: float) -> float:
        return np.inf

    def expression(self, cp: Any, r: Any, s: Floats) -> Any:
        return cp.sum_squares(cp.multiply(np.sqrt(s), cp.pos(r))) / 2


_OF_DISTANCES: dict[str, Loss] = {"squared": Squared(), "absolute": Absolute(), "huber": Huber()}
_OF_MARGINS: dict[str, Loss] = {"squared_hinge": SquaredHinge(), "hinge": Hinge()}


def resolve_loss(loss: str | Loss, *, margins: bool = False) -> Loss:
    """Return the loss of that name, a hinge if residuals are violations of margins; a `Loss` is returned as it is."""
    if isinstance(loss, Loss):
        return loss
    known = _OF_MARGINS if margins else _OF_DISTANCES
    if loss not in known:
        raise InputError(f"loss={shown(loss)} is not known; use one of {', '.join(map(repr, known))}, or a Loss")
    return known[loss]
