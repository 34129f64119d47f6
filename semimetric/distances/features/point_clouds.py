"""Point clouds of any size and weight as features that are Lipschitz under the Earth Mover's Distance."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.cluster import kmeans_plusplus
from sklearn.utils.validation import check_is_fitted

from ..._foundation.arrays import as_floats
from ..._foundation.errors import InputError
from ..._foundation.stored import Stored, storable
from ..._foundation.types import Floats
from ..._foundation.validation import check_count
from ..._kernels.point_clouds import quantile_integrals
from ...data.object_lists import Objects, as_objects
from .objects import ObjectFeatures
from .uniform_directions import half_sphere

_POOLED = 20_000  # points among which centres are drawn
_FEW_DIMENSIONS = 3  # in which directions can be spread evenly
_FEW, _MANY = (16, 8), (64, 16)  # directions and parts of quantile functions by default, in few dimensions and in more


class Cloud(NamedTuple):
    """Points of shape (n, d), and their masses, which add up to 1."""

    points: Floats
    masses: Floats


@storable
class PointCloudFeatures(ObjectFeatures):
    """Quantiles of projections, and mass around centres, of sets of points in any number and of any weight.

    - quantiles: the points are projected on directions u, and the quantile function of every projection is averaged over
      ``n_quantiles`` equal parts of [0, 1]. The L1 distance between these features is at most the sliced Wasserstein distance
      over these directions (Rabin, Peyré, Delon & Bernot 2011), which it approaches as parts become smaller. So it is at most
      the Earth Mover's Distance under the Euclidean ground distance. In up to three dimensions the directions are evenly
      spread. In more they are the principal axes of all points, the longest first, and then orthogonal bases drawn at random.
    - balls: ``sum_i m_i max(0, r - |p_i - c|)`` around centres c: the mass within every radius up to r, summed over radii. It
      changes by at most the Earth Mover's Distance too, because one unit of mass that moves by t changes it by at most t.

    Masses of a cloud are divided by their sum: what is compared is where the mass lies, not how much there is.

    Parameters
    ----------
    n_directions : int or None, default None
        The number of directions, of which points on a line need one; 0 leaves the quantiles out. None is 16 in up to three
        dimensions, and 64 in more.
    n_quantiles : int or None, default None
        The number of parts. None is 8 in up to three dimensions, and 16 in more.
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
        n_directions: int | None = None,
        n_quantiles: int | None = None,
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
        clouds = as_clouds(X)
        dimension = clouds[0].points.shape[1]
        self.directions_ = self._directions(clouds)
        pooled = np.concatenate([cloud.points for cloud in clouds])
        rng = np.random.default_rng(self.random_state)
        pooled = np.unique(pooled[rng.permutation(len(pooled))[:_POOLED]], axis=0)
        n = min(self.n_centers, len(pooled))
        self.centers_ = kmeans_plusplus(pooled, n, random_state=self.random_state)[0] if n else np.empty((0, dimension))
        nearest = cdist(pooled, self.centers_).min(axis=1) if n else np.empty(0)
        spacing = float(np.median(nearest[nearest > 0])) if (nearest > 0).any() else 1.0
        self.radii_ = spacing * 2.0 ** np.arange(self.n_radii if n else 0, dtype=np.float64)
        return self

    def _directions(self, clouds: list[Cloud]) -> Floats:
        dimension = clouds[0].points.shape[1]
        n = _by_dimension(dimension)[0] if self.n_directions is None else self.n_directions
        if dimension <= _FEW_DIMENSIONS or not n:
            return half_sphere(dimension, n, self.random_state)
        bases = orthogonal_bases(clouds, -(-n // dimension), self.random_state)
        return np.ascontiguousarray(bases.reshape(-1, dimension)[:n])

    @property
    def _n_parts(self) -> int:
        return _by_dimension(self.directions_.shape[1])[1] if self.n_quantiles is None else self.n_quantiles

    def transform(self, X: Objects) -> Floats:
        """Return the features, shape (n_objects, n_directions * n_quantiles + n_radii * n_centers).

        Parameters
        ----------
        X : sequence of arrays of shape (n_points, n_dimensions), or of tuples (points, masses)
        """
        check_is_fitted(self, "directions_")
        clouds = as_clouds(X, self.directions_.shape[1])
        return np.array([np.concatenate([self._quantiles(cloud), self._balls(cloud)]) for cloud in clouds])

    def _quantiles(self, cloud: Cloud) -> Floats:
        """Return the mean of the quantile function in each part, divided by the number of parts and directions."""
        return projected_quantiles(cloud, self.directions_, self._n_parts).ravel() / max(len(self.directions_), 1)

    def _balls(self, cloud: Cloud) -> Floats:
        """Return the mass around every center, shape (n_radii * n_centers,)."""
        if not len(self.centers_):
            return np.empty(0)
        away = cdist(cloud.points, self.centers_)
        return np.concatenate([cloud.masses @ np.maximum(0.0, r - away) for r in self.radii_] or [np.empty(0)])

    @property
    def _names_out(self) -> list[str]:
        names = [f"direction {d}, part {k}" for d in range(len(self.directions_)) for k in range(self._n_parts)]
        return names + [f"mass within {r:.4g} of center {c}" for r in self.radii_ for c in range(len(self.centers_))]

    def check_restored(self) -> None:
        self._check_parameters()
        n_features = self.stored_array("directions_", None, None).shape[1]
        self.stored_array("centers_", None, n_features)
        self.stored_array("radii_", None)

    def _check_parameters(self) -> None:
        for name, minimum in {"n_directions": 0, "n_centers": 0, "n_quantiles": 1, "n_radii": 1}.items():
            value = getattr(self, name)
            if value is not None or name not in ("n_directions", "n_quantiles"):
                check_count(name, value, minimum=minimum)
        if self.n_directions == 0 and not self.n_centers:
            raise InputError("n_directions=0 and n_centers=0 leave no features; ask for one of them at least")


def _by_dimension(dimension: int) -> tuple[int, int]:
    """Return the directions and parts of quantile functions that are the default for points of so many dimensions."""
    return _FEW if dimension <= _FEW_DIMENSIONS else _MANY


def orthogonal_bases(clouds: list[Cloud], n_bases: int, random_state: int | None) -> Floats:
    """Return the principal axes of all mass, the longest first, and bases at random: (n_bases, d, d), axes in rows."""
    points, masses = np.concatenate([cloud.points for cloud in clouds]), np.concatenate([cloud.masses for cloud in clouds])
    d = points.shape[1]
    scaled = points / (np.abs(points).max() or 1.0)  # so that no square overflows
    scaled -= masses @ scaled / len(clouds)
    axes = np.linalg.eigh((scaled.T * masses) @ scaled)[1].T[::-1]
    rng = np.random.default_rng(random_state)
    bases = np.stack([axes] + [np.linalg.qr(rng.normal(size=(d, d)))[0].T for _ in range(n_bases - 1)])
    largest = np.take_along_axis(bases, np.abs(bases).argmax(axis=2, keepdims=True), axis=2)
    return bases * np.sign(largest)


def projected_quantiles(cloud: Cloud, directions: Floats, n_quantiles: int) -> Floats:
    """Integrate the quantile functions of a cloud along directions over equal parts of [0, 1]: (n_directions, n_quantiles)."""
    along = cloud.points @ directions.T
    order = np.argsort(along, axis=0, kind="stable")
    out = np.empty((len(directions), n_quantiles))
    quantile_integrals(np.take_along_axis(along, order, axis=0), cloud.masses[order], out)
    return out


def as_clouds(X: Objects, dimension: int | None = None, *, name: str = "X") -> list[Cloud]:
    """Return clouds of one dimension, given as arrays (n_points, n_dimensions) or tuples (points, masses), of mass 1."""
    objects, clouds = as_objects(X, name=name), []
    for k in range(len(objects)):
        clouds.append(as_cloud(objects[k], dimension, f"{name}[{k}]"))
        dimension = clouds[0].points.shape[1]
    return clouds


def as_cloud(value: Any, dimension: int | None, name: str) -> Cloud:
    """Return a cloud of mass 1, given as an array (n_points, n_dimensions) or a tuple (points, masses)."""
    points, masses = value if isinstance(value, tuple) and len(value) == 2 else (value, None)
    P = as_floats(points, name, ndim=2)
    m = np.ones(len(P)) if masses is None else as_floats(masses, f"the masses of {name}", ndim=1)
    dimension = P.shape[1] if dimension is None else dimension
    if not len(P) or P.shape[1] != dimension or not dimension:
        raise InputError(f"{name} has shape {P.shape}; (n_points, {dimension}) with a point or more is required")
    if not (np.isfinite(P).all() and np.isfinite(m).all()):
        raise InputError(f"{name} has points or masses that are not finite; leave these out")
    if m.shape != (len(P),) or (m < 0).any() or not m.any():
        raise InputError(f"the masses of {name} have shape {m.shape}; {len(P)} numbers >= 0 that are not all 0 are required")
    m = m / m.max()  # so that no sum overflows
    return Cloud(P, m / m.sum())
