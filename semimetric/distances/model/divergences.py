"""Divergences by name: base distances of rows of numbers >= 0 that are sums over columns, or roots of such sums."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import kl_div, rel_entr

from ..._foundation.errors import InputError
from ..._foundation.types import ArrayLike, Floats


@dataclass(frozen=True)
class Divergence:
    """A divergence as a function of two vectors or of two batches, shape (n_features,) or (n, n_features).

    The powers at which the symmetric ones are metrics are those of Hilbertian metrics of numbers >= 0 (Hein & Bousquet 2005).
    """

    name: str
    term: Callable[[Floats, Floats], Floats]  # of two numbers: what a column adds
    rooted: bool  # True if the distance is the root of the sum
    symmetric: bool = True
    metric_power: float = 0.0  # the largest power at which it is proved to be a metric; 0 if it is at none

    def __call__(self, X: ArrayLike, Y: ArrayLike) -> Floats:
        total: Floats = self.parts(X, Y).sum(axis=-1)
        return np.sqrt(total) if self.rooted else total

    def parts(self, X: ArrayLike, Y: ArrayLike) -> Floats:
        """Return what every column adds to the sum, shape (n_features,) or (n, n_features)."""
        x, y = np.asarray(X, dtype=np.float64), np.asarray(Y, dtype=np.float64)
        least = min(x.min(initial=0.0), y.min(initial=0.0))
        if least < 0.0:
            raise InputError(
                f"base distance {self.name!r} got the number {least:g}; numbers >= 0, as of histograms, are required"
            )
        return np.maximum(self.term(x, y), 0.0)


def _jensen_shannon(x: Floats, y: Floats) -> Floats:
    middle = x / 2 + y / 2
    return (rel_entr(x, middle) + rel_entr(y, middle)) / 2


def _chi_squared(x: Floats, y: Floats) -> Floats:
    total = x + y
    return (x - y) * ((x - y) / np.where(total > 0.0, total, 1.0))  # whose square might overflow


def _hellinger(x: Floats, y: Floats) -> Floats:
    return (np.sqrt(x) - np.sqrt(y)) ** 2 / 2


DIVERGENCES = {
    each.name: each
    for each in (
        Divergence("jensenshannon", _jensen_shannon, True, metric_power=1.0),
        Divergence("hellinger", _hellinger, True, metric_power=1.0),
        Divergence("chi2", _chi_squared, False, metric_power=0.5),
        Divergence("kl_div", kl_div, False, symmetric=False),
    )
}

_POWERS = (1.0, 0.5, 2.0)
_FEW = 20  # pairs


class DivergenceMatch(NamedTuple):
    """A divergence by name with which distances agree: ``factor * divergence ** exponent``."""

    name: str
    exponent: float
    factor: float
    error: float  # the median relative error of the pairs that it was compared with
    n_pairs: int


def closest_divergence(X: Floats, Y: Floats, distances: Floats) -> DivergenceMatch | None:
    """Return the divergence that agrees best with distances of pairs; None without numbers >= 0, or with few pairs.

    ``X`` and ``Y`` hold the items of the pairs, shape (n_pairs, n_features); ``distances`` has the shape (n_pairs,).
    """
    apart = distances > 0.0
    if apart.sum() < _FEW or not min(X.min(), Y.min()) >= 0.0:
        return None
    X, Y, distances = X[apart], Y[apart], distances[apart]
    found: list[DivergenceMatch] = []
    for name, divergence in DIVERGENCES.items():
        with np.errstate(all="ignore"):  # numbers too large or too small for it are no match
            values = divergence(X, Y)
            for exponent in _POWERS:
                terms = values**exponent
                factor = float(np.median(distances / terms))
                error = float(np.median(np.abs(factor * terms / distances - 1.0)))
                if np.isfinite(terms).all() and terms.all() and np.isfinite([factor, error]).all():
                    found.append(DivergenceMatch(name, exponent, factor, error, len(distances)))
    return min(found, key=lambda match: match.error, default=None)
