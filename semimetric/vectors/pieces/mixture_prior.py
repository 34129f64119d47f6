"""The base measure of the Dirichlet process: the prior of one plane (paper 3, equations 25 to 29).

Let x be the points that set the prior, d their dimension and sigma^2 = tr(cov x) / d. Measured from the mean of x, in units of
sigma, the prior depends on d alone, apart from the factor f:

    lambda ~ Gamma(1 + 0.05 d, 1 + 0.05 d)      mu | lambda, w ~ N(0, (0.1 lambda I + 0.1 w w')^-1)
    r ~ Gamma(1 + 0.5 d, 10 + 5 d)              t ~ Gamma(1 + 0.5 d, 0.5 + 0.25 d)
    w ~ N(0, f I)

Gamma(a, b) has the shape a and the rate b, so that E lambda = 1, E r = 0.1 and E t = 2; if b were a scale, the dimensions would
not agree. Equation 26 prints the covariance tr(cov x) / d I for w. This is f = sigma^4, which depends on the unit of the
features, since w w' is a precision. f = 1 reads it as the inverse, the precision that equations 19 and 27 call for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ..._foundation.errors import InputError
from ..._foundation.types import Floats
from ..._foundation.validation import check_alpha, check_choice
from ..._kernels.mixture import Points, Prior

WPrior: TypeAlias = float | str


@dataclass(frozen=True)
class Units:
    """The origin and the unit of length of the prior: the mean ``center`` (d,) of the points that set it, and their sigma."""

    center: Floats
    sigma: float

    @classmethod
    def of(cls, x: Floats, fallback: Floats) -> Units:
        """Return the units of the points x (n, d), or of ``fallback`` (m, d) around 0 if all x coincide."""
        largest = max(float(np.abs(x).max()), float(np.abs(fallback).max()))  # divided by it, no square overflows
        center = x.mean(axis=0)
        sigma = largest * np.sqrt(np.mean(((x - center) / largest) ** 2))
        if sigma <= 1e-12 * largest:
            sigma = largest * np.sqrt(np.mean((fallback / largest) ** 2))
        return cls(center, float(sigma))

    def points(self, x: Floats, v: Floats, weight: Floats) -> Points:
        """Boundary points x (m, d), directions v (m, d) and their weights (m,), for the kernels, in these units."""
        return Points((x - self.center) / self.sigma, v / self.sigma, weight)


def check_w_prior(w_prior: WPrior) -> None:
    """Refuse what is neither "auto", the name of a reading of equation 26, nor a factor f > 0."""
    if isinstance(w_prior, str):
        check_choice("w_prior", w_prior, ("auto", "precision", "covariance"))
    else:
        check_alpha("w_prior", w_prior, strict=True)


def base_measure(d: int, sigma: float, w_prior: WPrior) -> Prior:
    """Return the prior of planes in d dimensions, in the `Units` whose sigma is given."""
    f = _variance_factor(sigma, w_prior)
    if not 0.0 < f < np.inf:
        raise InputError(
            f"w_prior={w_prior!r} is the factor {f:g} in the units of these features, a positive finite one is required; "
            "rescale the features, or give a number, which does not depend on units"
        )
    return Prior(
        lam_shape=1.0 + 0.05 * d,
        lam_rate=1.0 + 0.05 * d,
        w_precision=1.0 / f,
        eta=0.1,
        r_shape=1.0 + 0.5 * d,
        r_rate=10.0 + 5.0 * d,
        t_shape=1.0 + 0.5 * d,
        t_rate=0.5 + 0.25 * d,
    )


def _variance_factor(sigma: float, w_prior: WPrior) -> float:
    """Return the factor f of equation 26 in these units; as printed it is sigma^4, infinity where that overflows."""
    if w_prior == "precision":
        return 1.0
    if w_prior == "covariance":
        with np.errstate(over="ignore"):
            return float(np.float64(sigma) ** 4)
    return float(w_prior)
