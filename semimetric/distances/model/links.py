"""Links: the increasing functions that make a distance of a sum, with what learning and search need of them.

Every link g is 0 at 0 and increases, so that who is nearest by the sum is nearest by the distance. One that is concave is also
subadditive, so that it keeps the triangle inequality (docs/mathematics.md, section 11).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import nan, sqrt
from typing import Any, TypeAlias

import numpy as np

from ..._foundation.arrays import as_floats
from ..._foundation.errors import InputError
from ..._foundation.real_numbers import real_number, shown
from ..._foundation.stored import storable
from ..._foundation.types import Floats

LINKS = ("identity", "sqrt")
_EXPONENTS = (0.1, 10.0)  # beyond these, sums overflow for distances that differ by a factor of some thousands
_LEAST_SLOPE = 1e-4  # of the first: distances along flatter pieces do not give back their sums but for rounding
_REQUIRED = f'"identity", "sqrt", a number from {_EXPONENTS[0]:g} to {_EXPONENTS[1]:g}, a PowerLink or a ConcaveLink'


class Link(ABC):
    """A function g with g(0) = 0 that increases: ``d(x, y) = g(sum)``.

    A metric stays a metric under a concave link.
    """

    @property
    @abstractmethod
    def concave(self) -> bool:
        """True if g is concave, so that a metric stays one."""

    @property
    @abstractmethod
    def straight(self) -> bool:
        """True if g(s) = s."""

    @property
    @abstractmethod
    def parts(self) -> tuple[float, Floats, Floats]:
        """Exponent, and for pieces their ends and slopes, as compiled functions take them."""

    @abstractmethod
    def apply(self, total: Floats) -> Floats:
        """Return the distances of sums >= 0, of any shape.

        Raises
        ------
        InputError
            If one overflows, as under a power above 1, or a slope above 1.
        """

    @abstractmethod
    def invert(self, distances: Floats) -> Floats:
        """Return the sums of distances >= 0, of any shape; infinite where they overflow."""

    @abstractmethod
    def slope(self, total: Floats) -> Floats:
        """Return the derivative of g at sums > 0, of any shape."""

    @property
    @abstractmethod
    def of_one(self) -> Callable[[float], float]:
        """g as a function of one number, which gives NaN for what is out of its reach."""


@storable
@dataclass(frozen=True)
class PowerLink(Link):
    """``g(s) = s^p``: with p <= 1 a large difference counts less than the sum of the small ones that it is made of.

    With p <= 1 a metric stays a metric; with p > 1 it is a semimetric. (Huang et al. 2015, for colours.)

    Parameters
    ----------
    exponent : float
        p, from 0.1 to 10.

    Raises
    ------
    InputError
        If it lies elsewhere.

    Examples
    --------
    >>> import numpy as np
    >>> from semimetric import PowerLink
    >>> PowerLink(0.5).apply(np.array([4.0, 9.0]))
    array([2., 3.])
    """

    exponent: float

    def __post_init__(self) -> None:
        p = real_number(self.exponent)
        if p is None or not _EXPONENTS[0] <= p <= _EXPONENTS[1]:
            raise InputError(
                f"the exponent {shown(self.exponent)} makes no link; a number from {_EXPONENTS[0]:g} to {_EXPONENTS[1]:g} is "
                "required, and at most 1 keeps metrics metrics"
            )
        object.__setattr__(self, "exponent", p)

    @property
    def concave(self) -> bool:
        return self.exponent <= 1

    @property
    def straight(self) -> bool:
        return self.exponent == 1

    @property
    def parts(self) -> tuple[float, Floats, Floats]:
        return self.exponent, np.empty(0), np.empty(0)

    def apply(self, total: Floats) -> Floats:
        if self.straight:
            return total
        with np.errstate(over="ignore"):
            out: Floats = np.sqrt(total) if self.exponent == 0.5 else np.power(total, self.exponent)
        return out if self.concave else _finite(out, total, self)

    def invert(self, distances: Floats) -> Floats:
        if self.straight:
            return distances
        with np.errstate(over="ignore", under="ignore"):
            out: Floats = distances * distances if self.exponent == 0.5 else np.power(distances, 1.0 / self.exponent)
        return out

    def slope(self, total: Floats) -> Floats:
        out: Floats = self.exponent * np.power(total, self.exponent - 1.0)
        return out

    @property
    def of_one(self) -> Callable[[float], float]:
        p = self.exponent
        if p == 1:
            return lambda total: total
        if p == 0.5:
            return lambda total: sqrt(total) if total >= 0 else nan

        def power(total: float) -> float:
            try:
                return total**p if total >= 0 else nan
            except OverflowError:
                return nan

        return power

    def __str__(self) -> str:
        return f"power {self.exponent:g}"


@storable
@dataclass(frozen=True)
class ConcaveLink(Link):
    """An increasing concave function of straight pieces, 0 at 0: it keeps metrics metrics.

    Parameters
    ----------
    bends : sequence of float
        The sums > 0 at which it bends, increasing; the last piece has no end.
    slopes : sequence of float
        The slope of every piece, one more than there are bends: none larger than the one before, nor below 1e-4 of the first,
        which is > 0.

    Raises
    ------
    InputError
        If bends do not increase, or slopes are not as required.

    Examples
    --------
    >>> import numpy as np
    >>> from semimetric import ConcaveLink
    >>> ConcaveLink(bends=(2.0,), slopes=(1.0, 0.5)).apply(np.array([1.0, 2.0, 6.0]))
    array([1., 2., 4.])
    """

    bends: tuple[float, ...]
    slopes: tuple[float, ...]

    def __post_init__(self) -> None:
        for name in ("bends", "slopes"):
            object.__setattr__(self, name, tuple(as_floats(getattr(self, name), name).ravel().tolist()))
        bends, slopes = np.array(self.bends), np.array(self.slopes)
        if len(slopes) != len(bends) + 1:
            raise InputError(
                f"{len(bends)} bends make {len(bends) + 1} pieces, but there are {len(slopes)} slopes; one a piece"
            )
        if not (np.isfinite(bends).all() and (np.diff(bends, prepend=0.0) > 0).all()):
            raise InputError(f"bends={self.bends} of a link do not increase from 0; finite numbers > 0 that do are required")
        if not (
            np.isfinite(slopes).all()
            and (slopes >= _LEAST_SLOPE * slopes[0]).all()
            and slopes[0] > 0
            and (np.diff(slopes) <= 0).all()
        ):
            raise InputError(
                f"slopes={self.slopes} make no link that is concave and increases; numbers > 0 are required, none larger than "
                f"the one before, nor below {_LEAST_SLOPE:g} of the first"
            )

    concave = True

    @property
    def straight(self) -> bool:
        return set(self.slopes) == {1.0}

    @property
    def parts(self) -> tuple[float, Floats, Floats]:
        return 1.0, np.array(self.bends), np.array(self.slopes)

    @cached_property
    def _corners(self) -> tuple[Floats, Floats]:
        sums = np.array([0.0, *self.bends])
        return sums, np.concatenate([[0.0], np.cumsum(np.array(self.slopes[:-1]) * np.diff(sums))])

    def apply(self, total: Floats) -> Floats:
        sums, distances = self._corners
        with np.errstate(over="ignore"):
            out: Floats = np.interp(total, sums, distances) + self.slopes[-1] * np.maximum(total - sums[-1], 0.0)
        return _finite(out, total, self)

    def invert(self, distances: Floats) -> Floats:
        sums, values = self._corners
        with np.errstate(over="ignore"):
            out: Floats = np.interp(distances, values, sums) + np.maximum(distances - values[-1], 0.0) / self.slopes[-1]
        return out

    def slope(self, total: Floats) -> Floats:
        """Return the slope of the piece that a sum lies in, at a bend of the one before it."""
        out: Floats = np.array(self.slopes)[np.searchsorted(self.bends, total)]
        return out

    @property
    def of_one(self) -> Callable[[float], float]:
        bends, slopes = self.bends, self.slopes
        sums, distances = (corners.tolist() for corners in self._corners)

        def value(total: float) -> float:
            piece = bisect_left(bends, total)
            return float(distances[piece] + slopes[piece] * (total - sums[piece]))

        return value

    def __str__(self) -> str:
        return f"concave, slopes {self.slopes[0]:.3g} to {self.slopes[-1]:.3g}"


def _finite(distances: Floats, total: Floats, link: Link) -> Floats:
    if (np.isinf(distances) & np.isfinite(total)).any():
        raise InputError(
            f"a sum of {np.max(total):g} overflows under the link {link}; vectors nearer to the range of the fit are required"
        )
    return distances


LinkLike: TypeAlias = str | float | Link  # what a link can be given as


def checked_link(link: Any) -> str | Link:
    """Return a link as distances keep it: "identity", "sqrt" or a `Link`; a number is an exponent, and 1 is "identity"."""
    if isinstance(link, Link):
        return "identity" if link.straight else link
    if isinstance(link, str) and link in LINKS:
        return link
    if (exponent := real_number(link)) is not None:
        return checked_link(PowerLink(exponent))
    raise InputError(f"link={link!r} is not known; {_REQUIRED} is required")


def link_function(link: str | float | Link) -> Link:
    """Return the function of a link that `checked_link` gave."""
    return link if isinstance(link, Link) else PowerLink({"identity": 1.0, "sqrt": 0.5}[str(link)])
