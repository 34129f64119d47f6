"""A learned distance together with bounds of the distance that it stands for."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._foundation.errors import InputError
from .._foundation.types import ArrayLike, Floats
from .base import Bounds

__all__ = ["BoundedDistance"]


class BoundedDistance:
    """A learned distance, and beside it numbers between which the expensive distance that it approximates is sure to lie.

    Bounds know nothing of the learned distance, and it knows nothing of them: it is a sum of tables, which is searched,
    explained and saved as such. A value that is clipped into bounds is no such sum, and may break axioms that the learned
    distance keeps, so it has an object of its own.

    Parameters
    ----------
    distance : Semimetric or fitted learner
        What has ``paired`` and ``pairwise``, or has learned it as ``semimetric_``.
    bounds : Bounds
        `TransportBounds` or `LandmarkBounds`, fitted.
    clip : bool, default True
        Whether the distances that are returned lie within the bounds: the learned value, or the bound that it passes.

    Examples
    --------
    >>> import numpy as np
    >>> from semimetric import BoundedDistance, LandmarkBounds, Semimetric
    >>> X = np.random.default_rng(0).random((50, 2))
    >>> euclid = lambda x, y: float(np.linalg.norm(np.subtract(x, y)))
    >>> d = BoundedDistance(Semimetric.l1(X), LandmarkBounds(euclid, n_landmarks=4).fit(X))
    >>> low, high = d.bounds(X[0], X[1])
    >>> low <= d(X[0], X[1]) <= high
    True
    """

    def __init__(self, distance: Any, bounds: Bounds, *, clip: bool = True) -> None:
        learned = getattr(distance, "semimetric_", distance)
        if not all(callable(getattr(learned, name, None)) for name in ("paired", "pairwise")):
            raise InputError(
                f"distance= is a {type(distance).__name__}, which has no paired and pairwise; give a Semimetric, or a "
                "fitted learner"
            )
        if not isinstance(bounds, Bounds):
            raise InputError(f"bounds={bounds!r} must be fitted bounds, such as TransportBounds(cost_matrix).fit(X)")
        self.distance = learned
        self.bounds_ = bounds
        self.clip = clip

    def __repr__(self) -> str:
        return f"BoundedDistance({type(self.distance).__name__}, {type(self.bounds_).__name__}, clip={self.clip})"

    def bounds(self, x: ArrayLike, y: ArrayLike) -> tuple[float, float]:
        """The lower and the upper bound of the expensive distance of two vectors."""
        return self.bounds_.bounds(x, y)

    def __call__(self, x: ArrayLike, y: ArrayLike) -> float:
        """The learned distance of two vectors, within the bounds if ``clip``."""
        value = float(self.distance(x, y))
        return float(np.clip(value, *self.bounds(x, y))) if self.clip else value

    def paired(self, X: ArrayLike, Y: ArrayLike, *, n_jobs: int | None = None) -> Floats:
        """The distances of the rows of X to the same rows of Y, shape (n,); threads compute those that were learned."""
        values = self.distance.paired(X, Y, n_jobs=n_jobs)
        return np.clip(values, *self.bounds_.paired(X, Y)) if self.clip else values

    def pairwise(self, X: ArrayLike, Y: ArrayLike | None = None, *, n_jobs: int | None = None) -> Floats:
        """The distances of all rows of X to all rows of Y (of X if Y is None), shape (n, m)."""
        values = self.distance.pairwise(X, Y, n_jobs=n_jobs)
        return np.clip(values, *self.bounds_.pairwise(X, Y)) if self.clip else values
