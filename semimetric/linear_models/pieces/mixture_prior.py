"""The base measure of the mixture of planes (paper 3, equations 25 to 29), in units in which it has no parameters left.

With x the points that set it, sigma^2 = tr(cov x) / d, and lengths measured from their mean in units of sigma:

    lambda ~ Gamma(1 + 0.05 d, 1 + 0.05 d)      mu | lambda, w ~ N(0, (0.1 lambda I + 0.1 w w')^-1)
    r ~ Gamma(1 + 0.5 d, 10 + 5 d)              t ~ Gamma(1 + 0.5 d, 0.5 + 0.25 d)
    w ~ N(0, f I)

Gamma(shape, rate): so E lambda = 1, E r = 0.1, E t = 2; as shape and scale the dimensions would not agree. Equation 26 prints
the covariance tr(cov x) / d I, which is f = sigma^4 and depends on the unit of the features, as w w' is a precision. f = 1
reads it as the inverse, the precision that equations 19 and 27 call for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ..._foundation.errors import InputError
from ..._foundation.types import Floats
from ..._foundation.validation import check_alpha, check_choice
from ..._kernels.mixture import Points, Prior

__all__ = ["Units", "WPrior", "base_measure", "check_w_prior"]

WPrior: TypeAlias = float | str


@dataclass(frozen=True)
class Units:
    """Where the prior measures from, and in what unit: the mean, and sigma."""

    centre: Floats
    sigma: float

    @classmethod
    def of(cls, x: Floats, fallback: Floats) -> Units:
        """Of the points x (n, d), which may coincide; then sigma is that of the differences ``fallback`` from 0."""
        unit = max(float(np.abs(x).max()), float(np.abs(fallback).max()))  # so that no square overflows
        centre = x.mean(axis=0)
        sigma = unit * np.sqrt(np.mean(((x - centre) / unit) ** 2))
        return cls(centre, float(sigma if sigma > 1e-12 * unit else unit * np.sqrt(np.mean((fallback / unit) ** 2))))

    def points(self, x: Floats, v: Floats, weight: Floats) -> Points:
        """Boundary points and directions in these units."""
        return Points((x - self.centre) / self.sigma, v / self.sigma, weight)


def check_w_prior(w_prior: WPrior) -> None:
    """Refuse what is neither a reading of equation 26 nor a factor f > 0."""
    if isinstance(w_prior, str):
        check_choice("w_prior", w_prior, ("precision", "covariance"))
    else:
        check_alpha("w_prior", w_prior, strict=True)


def base_measure(d: int, sigma: float, w_prior: WPrior) -> Prior:
    """The prior of d features in `Units`."""
    f = _printed(sigma) if w_prior == "covariance" else 1.0 if w_prior == "precision" else float(w_prior)
    if not 0.0 < f < np.inf:
        raise InputError(
            f"w_prior={w_prior!r} is the factor {f:g} in the units of these features, a positive finite one is required; "
            "rescale the features, or give a number, which does not depend on units"
        )
    lam, half = 1.0 + 0.05 * d, 1.0 + 0.5 * d
    return Prior(lam, lam, 1.0 / f, 0.1, half, 10.0 + 5.0 * d, half, 0.5 + 0.25 * d)


def _printed(sigma: float) -> float:
    """Equation 26 in these units; infinity where it overflows."""
    with np.errstate(over="ignore"):
        return float(np.float64(sigma) ** 4)
