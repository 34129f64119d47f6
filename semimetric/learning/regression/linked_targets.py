"""What a link makes of measured distances: targets of the sum, and how much an error of the sum counts.

The program learns the sum, which is linear in the weights. Under a link g the direct loss ``l(g(s) - y)`` is not convex in s.
Its expansion at the target t = g⁻¹(y) is

    g(s) - y  =  g'(t) (s - t)  +  g''(ξ) (s - t)² / 2       for some ξ between s and t,

so rows and targets are multiplied by g'(t), and the loss is l(g'(t) (s - t)). It is convex, is 0 where the direct loss is, and
differs from it by the second term: for ``g(s) = s^p`` and s = (1 + e) t by (1 - p) e / 2 of the residual, to first order in e.
Where g is steep without bound, at 0, targets count as if they were a tenth of the mean distance.

The link "sqrt" does not multiply: it is least squares of squared distances, as ever.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..._foundation.errors import InputError
from ..._foundation.types import Floats
from ...distances.links import Link, link_function
from ..recipe import Recipe

__all__ = ["LinkedTargets", "sum_unit"]

_LEAST = 0.1  # mean distances: below, the slope of a link is taken there
_UNITS = (1e-290, 1e290)  # of the mean sum: outside, weights in the user's units overflow or lose their digits


def sum_unit(link: Any, mean: float, mean_square: float) -> float:
    """The unit of the sums of distances: the mean square for the link "sqrt", else the sum of the mean distance."""
    if link == "sqrt":
        return mean_square
    return float(link_function(link).invert(np.array(mean)))


class LinkedTargets(NamedTuple):
    """Measured distances as targets of a program.

    Attributes
    ----------
    target : ndarray of shape (n_pairs,)
        The sums that have these distances, in ``unit``.
    scale : ndarray of shape (n_pairs,) or None
        What rows and targets are multiplied by.
    unit : float
        The unit of the sums, in the user's unit.
    link : Link or None
        The link, in the user's unit, if it multiplies rows.
    slopes : ndarray of shape (n_pairs,) or None
        The slopes of the link at the targets, in these units.
    """

    target: Floats
    scale: Floats | None
    unit: float
    link: Link | None
    slopes: Floats | None

    @classmethod
    def of(cls, recipe: Recipe, y: Floats, weight: Floats, unit: float | None) -> LinkedTargets:
        """The targets of distances y, of shape (n_pairs,); their unit is that of their mean unless it is given.

        Raises
        ------
        InputError
            If sums of the distances are too large or too small for floating point.
        """
        with np.errstate(over="ignore", under="ignore"):
            target = y * y if recipe.link == "sqrt" else link_function(recipe.link).invert(y) if _multiplies(recipe) else y
            if unit is None:
                share = weight / weight.sum()
                mean = float(share @ np.abs(target if recipe.link == "sqrt" else y))
                unit = sum_unit(recipe.link, mean, mean)
            _check_unit(recipe, y, unit)
            target = target / unit
        if not np.isfinite(target).all():
            raise InputError(
                f"the distances reach {np.abs(y).max():g}, whose sums under the link {recipe.link} overflow beside their mean; "
                "a larger exponent, or distances nearer to their mean, are required"
            )
        floor = 0.1 if recipe.relative is True else float(recipe.relative)
        if not _multiplies(recipe):
            scale = 1.0 / np.maximum(np.abs(target), floor) if recipe.relative is not False else None
            return cls(target, scale, unit, None, None)
        link = link_function(recipe.link)
        mean = float(link.apply(np.array(unit)))
        least = link.invert(np.array(_LEAST * mean))
        slopes = link.slope(np.maximum(target * unit, least)) * (unit / mean)
        scale = slopes if recipe.relative is False else slopes / np.maximum(y / mean, floor)
        return cls(target, scale, unit, link, slopes)


def _multiplies(recipe: Recipe) -> bool:
    return isinstance(recipe.link, Link)


def _check_unit(recipe: Recipe, y: Floats, unit: float) -> None:
    if not _UNITS[0] < unit < _UNITS[1]:
        if not y.any():
            raise InputError(f"all {len(y)} distances to learn from are 0, which teaches nothing; give pairs that differ")
        squares = 'their squares, which link="sqrt" learns, ' if recipe.link == "sqrt" else ""
        if _multiplies(recipe):
            squares = f"their sums under the link {recipe.link} "
        raise InputError(
            f"the distances reach {np.abs(y).max():g}, and {squares}have the mean {unit:g}; between {_UNITS[0]:g} and "
            f"{_UNITS[1]:g} is required: rescale the distances"
        )
