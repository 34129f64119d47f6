"""Point clouds of any size and weight as features that are Lipschitz under the Earth Mover's Distance."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.cluster import kmeans_plusplus
from sklearn.utils.validation import check_is_fitted

from ..._foundation.arrays import as_floats
from ..._foundation.errors import InputError
from ..._foundation.stored import Stored, storable
from ..._foundation.types import Floats
from ..._foundation.validation import check_count
from ...data.object_lists import Objects, as_objects
from .objects import ObjectFeatures
from .uniform_directions import half_sphere

_POOLED = 20_000  # points among which centres are drawn


class _Cloud(NamedTuple):
    """Points of shape (n, d), and their masses, which add up to 1."""

    points: Floats
    masses: Floats


@storable
class PointCloudFeatures(ObjectFeatures):
    """Quantiles of projections, and mass around centres, of sets of points in any number and of any weight.

    - quantiles: the points are projected on evenly spread directions u, and the quantile function of every projection is
      averaged over ``n_quantiles`` equal parts of [0, 1]. The L1 distance between these features is at most the sliced
      Wasserstein distance over these directions (Rabin, Peyré, Delon & Bernot 2011), which it approaches as parts become
      smaller. So it is at most the Earth Mover's Distance under the Euclidean ground distance.
    - balls: ``sum_i m_i max(0, r - |p_i - c|)`` around centres c: the mass within every radius up to r, summed over radii. It
      changes by at most the Earth Mover's Distance too, because one unit of mass that moves by t changes it by at most t.

    Masses of a cloud are divided by their sum: what is compared is where the mass lies, not how much there is.

    Parameters
    ----------
    n_directions : int, default 16
        The number of directions, of which points on a line need one; 0 leaves the quantiles out.
    n_quantiles : int, default 8
        The number of parts.
    n_centers : int, default 32
        The number of centres, drawn far apart among all points of the fit (k-means++); 0 leaves the balls out.
    n_radii : int, default 2
        The number of radii: the median distance of a point to the nearest centre, and its doubles.
    random_state : int, default 0

    Attributes
    ----------
    directions_ : ndarray of shape (n_directions, n_dimensions)
    centers_ : ndarray of shape (n_centers, n_dimensions)
    radii_ : ndarray of shape (n_radii,)

    Examples
    --------
    >>> import numpy as np
    >>> from semimetric import PointCloudFeatures
    >>> clouds = [[[0.0], [1.0]], [[2.0], [3.0], [3.0], [4.0]], ([[5.0], [6.0]], [3.0, 1.0])]  # the last with masses
    >>> u, v, w = PointCloudFeatures(n_quantiles=4, n_centers=0).fit_transform(clouds)
    >>> float(np.abs(u - v).sum()), float(np.abs(u - w).sum())
    (2.5, 4.75)
    """

    directions_: Stored[Floats]
    centers_: Stored[Floats]
    radii_: Stored[Floats]

    def __init__(
        self,
        *,
        n_directions: int = 16,
        n_quantiles: int = 8,
        n_centers: int = 32,
        n_radii: int = 2,
        random_state: int = 0,
    ) -> None:
        self.n_directions = n_directions
        self.n_quantiles = n_quantiles
        self.n_centers = n_centers
        self.n_radii = n_radii
        self.random_state = random_state

    def fit(self, X: Objects, y: object = None) -> PointCloudFeatures:
        """Spread the directions, and draw centres and radii among arrays (n_points, n_dimensions), or tuples (points, masses).

        Clouds of no points, of other dimensions, or with masses < 0 or all 0, are refused with an `InputError`; y is ignored.
        """
        self._check_parameters()
        clouds = _clouds(X)
        dimension = clouds[0].points.shape[1]
        self.directions_ = half_sphere(dimension, self.n_directions, self.random_state)
        pooled = np.concatenate([cloud.points for cloud in clouds])
        rng = np.random.default_rng(self.random_state)
        pooled = np.unique(pooled[rng.permutation(len(pooled))[:_POOLED]], axis=0)
        n = min(self.n_centers, len(pooled))
        self.centers_ = kmeans_plusplus(pooled, n, random_state=self.random_state)[0] if n else np.empty((0, dimension))
        nearest = cdist(pooled, self.centers_).min(axis=1) if n else np.empty(0)
        spacing = float(np.median(nearest[nearest > 0])) if (nearest > 0).any() else 1.0
        self.radii_ = spacing * 2.0 ** np.arange(self.n_radii if n else 0, dtype=np.float64)
        return self

    def transform(self, X: Objects) -> Floats:
        """Return the features, shape (n_objects, n_directions * n_quantiles + n_radii * n_centers).

        Parameters
        ----------
        X : sequence of arrays of shape (n_points, n_dimensions), or of tuples (points, masses)
        """
        check_is_fitted(self, "directions_")
        clouds = _clouds(X, self.directions_.shape[1])
        return np.array([np.concatenate([self._quantiles(cloud), self._balls(cloud)]) for cloud in clouds])

    def _quantiles(self, cloud: _Cloud) -> Floats:
        """Return the mean of the quantile function in each part, divided by the number of parts and directions."""
        out = np.empty((len(self.directions_), self.n_quantiles))
        for row, u in zip(out, self.directions_, strict=True):
            along = cloud.points @ u
            order = np.argsort(along, kind="stable")
            share = np.concatenate([[0.0], np.cumsum(cloud.masses[order])])
            area = np.concatenate([[0.0], np.cumsum(cloud.masses[order] * along[order])])
            row[:] = np.diff(np.interp(np.linspace(0.0, 1.0, self.n_quantiles + 1), share / share[-1], area))
        return out.ravel() / max(len(self.directions_), 1)

    def _balls(self, cloud: _Cloud) -> Floats:
        """Return the mass around every center, shape (n_radii * n_centers,)."""
        if not len(self.centers_):
            return np.empty(0)
        away = cdist(cloud.points, self.centers_)
        return np.concatenate([cloud.masses @ np.maximum(0.0, r - away) for r in self.radii_] or [np.empty(0)])

    @property
    def _names_out(self) -> list[str]:
        names = [f"direction {d}, part {k}" for d in range(len(self.directions_)) for k in range(self.n_quantiles)]
        return names + [f"mass within {r:.4g} of center {c}" for r in self.radii_ for c in range(len(self.centers_))]

    def check_restored(self) -> None:
        self._check_parameters()
        n_features = self.stored_array("directions_", None, None).shape[1]
        self.stored_array("centers_", None, n_features)
        self.stored_array("radii_", None)

    def _check_parameters(self) -> None:
        for name in ("n_directions", "n_centers"):
            check_count(name, getattr(self, name), minimum=0)
        for name in ("n_quantiles", "n_radii"):
            check_count(name, getattr(self, name))
        if not self.n_directions and not self.n_centers:
            raise InputError("n_directions=0 and n_centers=0 leave no features; ask for one of them at least")


def _clouds(X: Objects, dimension: int | None = None) -> list[_Cloud]:
    objects = as_objects(X)
    clouds = []
    for k in range(len(objects)):
        value = objects[k]
        points, masses = value if isinstance(value, tuple) and len(value) == 2 else (value, None)
        P = as_floats(points, f"X[{k}]", ndim=2)
        m = np.ones(len(P)) if masses is None else as_floats(masses, f"the masses of X[{k}]", ndim=1)
        dimension = P.shape[1] if dimension is None else dimension
        if not len(P) or P.shape[1] != dimension or not dimension:
            raise InputError(f"X[{k}] has shape {P.shape}; (n_points, {dimension}) with a point or more is required")
        if not (np.isfinite(P).all() and np.isfinite(m).all()):
            raise InputError(f"X[{k}] has points or masses that are not finite; leave these out")
        if m.shape != (len(P),) or (m < 0).any() or not m.any():
            raise InputError(
                f"the masses of X[{k}] have shape {m.shape}; {len(P)} numbers >= 0 that are not all 0 are required"
            )
        m = m / m.max()  # so that no sum overflows
        clouds.append(_Cloud(P, m / m.sum()))
    return clouds
