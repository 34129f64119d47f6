"""The Earth Mover's Distance of point clouds, and its bounds: projections, relaxed plans and duals, and a feasible plan."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from ..._foundation.arrays import as_vector, rounding_of
from ..._foundation.errors import InputError
from ..._foundation.optional_imports import optional
from ..._foundation.types import Floats, Integers
from ..._foundation.validation import check_alpha, check_choice, check_count
from ..._kernels.point_clouds import dual_lower, plan_upper, projected_lower, reaches, relaxed_lower
from ...data.object_lists import listed_objects
from ..features.point_clouds import Cloud, as_cloud, orthogonal_bases, projected_quantiles
from .bounds import Bounds, Coordinates
from .transport import NetworkSimplex

_METRICS = ("euclidean", "cityblock", "sqeuclidean")  # by their numbers in kernels
_LARGEST = 1e100  # of a coordinate, whose square is a number


class PointCloudDistance(NetworkSimplex):
    """The Earth Mover's Distance of two point clouds of any sizes and masses, by the network simplex of POT.

    It is the least total cost ``sum_ij F_ij c(p_i, q_j)`` of plans F >= 0 that move the masses of the points p_i of x to the
    points q_j of y (Rubner, Tomasi & Guibas 2000). Masses are divided by their sum. An index with this distance as ``rerank=``
    reads the dual of each exact distance, by which it bounds the distances of the query to other items: see `PointCloudBounds`.

    Parameters
    ----------
    metric : {"euclidean", "cityblock", "sqeuclidean"}, default "euclidean"
        The cost c of a unit of mass. Under "sqeuclidean" the distance is the square of the 2-Wasserstein distance.
    max_iter : int, default 1000000
        Iterations of the network simplex, after which it is an error.

    Raises
    ------
    InputError
        If the metric is none of these.
    MissingExtraError
        If POT is not installed.

    Examples
    --------
    >>> from semimetric import PointCloudDistance
    >>> emd = PointCloudDistance()
    >>> emd([[0.0, 0.0]], [[3.0, 4.0], [0.0, 1.0]])  # half of the mass goes by 5, half by 1
    3.0
    >>> emd(([[0.0], [1.0]], [3.0, 1.0]), [[0.0]])
    0.25
    """

    def __init__(self, metric: str = "euclidean", *, max_iter: int = 1_000_000) -> None:
        check_choice("metric", metric, _METRICS)
        self.metric = metric
        self.max_iter = check_count("max_iter", max_iter)
        optional("ot")

    def __repr__(self) -> str:
        return f"PointCloudDistance({self.metric!r})"

    def __call__(self, x: Any, y: Any) -> float:
        """Return the distance of two clouds, each an array (n_points, n_dimensions) or a tuple (points, masses)."""
        return self.with_dual(x, y)[0]

    def with_dual(self, x: Any, y: Any) -> tuple[float, Floats]:
        """Return the distance, and the dual variables of the points of x whose mass is not 0, in their order."""
        a = _read(x, None, "x")
        b = _read(y, a.points.shape[1], "y")
        return self._least_cost(a.masses, b.masses, cdist(a.points, b.points, self.metric))


class PointCloudBounds(Bounds):
    """Bounds of `PointCloudDistance`, the Earth Mover's Distance of clouds of any points.

    The lower bound is the largest of these:

    - projections: along a direction u the distance is that of two quantile functions. With W_1, ..., W_d for orthogonal
      directions, no plan costs less than ``sqrt(sum_u W_u^2)``, as the mean of vectors is no longer than their mean length.
      Each W_u is bounded by means over ``n_quantiles`` parts, which a fit computes.
    - relaxed plans: every point of one cloud fills the nearest ones of the other, as if no other point did (Atasu &
      Mittelholzer 2019), in either direction.
    - duals: the distance to the nearest point as a potential, in either direction, made feasible and best by c-transforms.

    An index whose ``rerank=`` returns duals, such as `PointCloudDistance`, gains one potential with every exact distance of a
    query. It bounds the distances of the query to all other items. The upper bound is the cost of a plan that fills the
    cheapest pairs of points first. Projections cost a pass over ``n_directions * n_quantiles`` numbers. The other bounds
    grow with the product of both sizes. Clouds are held padded to the largest.

    Parameters
    ----------
    metric : {"euclidean", "cityblock", "sqeuclidean"}, default "euclidean"
        That of the distance.
    n_directions : int, default 64
        Directions: whole bases of the space, or a part of one if there are fewer directions than dimensions. The first basis
        are the principal axes of all points, and the others are drawn at random. Under "cityblock" they are coordinates
        alone, those that vary most.
    n_quantiles : int, default 16
        Parts of the quantile functions.
    tolerance : float, default 1e-7
        By how much the values of the exact distance may be off, as a share of the largest cost between the points of two
        clouds; bounds make room for it. Costs by a product of matrices, as many packages compute them, are off by so much.
    random_state : int or None, default 0
        Seed of the bases.

    Attributes
    ----------
    directions_ : ndarray of shape (n_bases, n_directions_per_basis, n_dimensions)
    center_ : ndarray of shape (n_dimensions,)
        The mean of all points, which is subtracted from them so that rounding is small.
    n_features_in_ : int
        The number of dimensions.

    Examples
    --------
    >>> import numpy as np
    >>> from semimetric import PointCloudBounds, PointCloudDistance
    >>> clouds = [np.random.default_rng(k).normal(k, 1.0, (5 + k, 3)) for k in range(4)]
    >>> low, high = PointCloudBounds().fit(clouds).bounds(clouds[0], clouds[3])
    >>> low <= PointCloudDistance()(clouds[0], clouds[3]) <= high
    True
    """

    reads_duals = True
    has_quick = True

    def __init__(
        self,
        metric: str = "euclidean",
        *,
        n_directions: int = 64,
        n_quantiles: int = 16,
        tolerance: float = 1e-7,
        random_state: int | None = 0,
    ) -> None:
        self.metric = metric
        self.n_directions = n_directions
        self.n_quantiles = n_quantiles
        self.tolerance = tolerance
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> PointCloudBounds:
        """Choose directions, and project clouds X: arrays (n_points, n_dimensions) or tuples (points, masses); y is ignored.

        Raises
        ------
        InputError
            If clouds have no points, other dimensions than the first, coordinates that are not finite or beyond 1e100, or
            masses < 0 or all 0; or if a parameter is none of these.
        """
        check_choice("metric", self.metric, _METRICS)
        check_count("n_directions", self.n_directions)
        check_count("n_quantiles", self.n_quantiles)
        check_alpha("tolerance", self.tolerance)
        clouds = _listed(listed_objects(X), None, "X")
        self.n_features_in_ = clouds[0].points.shape[1]
        self.center_ = np.mean([cloud.masses @ cloud.points for cloud in clouds], axis=0)
        self.directions_ = self._bases(clouds)
        self.items_ = self._coordinates(clouds)
        return self

    def _bases(self, clouds: list[Cloud]) -> Floats:
        """Return orthogonal directions, (n_bases, at most n_dimensions, n_dimensions)."""
        d = self.n_features_in_
        if self.metric == "cityblock":
            spread = np.concatenate([cloud.points for cloud in clouds]).std(axis=0)
            return np.eye(d)[None, np.sort(np.argsort(-spread, kind="stable")[: self.n_directions])]
        bases = orthogonal_bases(clouds, max(1, self.n_directions // d) if d > 1 else 1, self.random_state)
        return np.ascontiguousarray(bases[:, : self.n_directions])

    def _placed(self, objects: list[Any], name: str) -> Coordinates:
        return self._coordinates(_listed(objects, self.n_features_in_, name))

    def _coordinates(self, clouds: list[Cloud]) -> Coordinates:
        """Return quantiles of the projections, points padded to the largest cloud with their masses, and sizes."""
        counts = np.array([len(cloud.masses) for cloud in clouds])
        d = self.n_features_in_
        padded = np.zeros((len(clouds), int(counts.max()), d + 1))
        directions = self.directions_.reshape(-1, d)
        quantiles = np.empty((len(clouds), len(directions), self.n_quantiles))
        for row, cloud in enumerate(clouds):
            centred = Cloud(cloud.points - self.center_, cloud.masses)
            padded[row, : counts[row], :d], padded[row, : counts[row], d] = centred
            quantiles[row] = projected_quantiles(centred, directions, self.n_quantiles)
        return Coordinates(quantiles.reshape(len(clouds), -1), padded.reshape(len(clouds), -1), counts.astype(np.float64))

    def lower_at(self, query: Coordinates, items: Coordinates) -> Floats:
        (x, _), (points, sizes) = self._one(query), self._points(items)
        relaxed, largest = np.empty(len(items)), np.empty(len(items))
        relaxed_lower(x, points, sizes, self._kind, relaxed, largest)
        return np.maximum(self.quick_at(query, items), self._less(relaxed, x, points, largest))

    def quick_at(self, query: Coordinates, items: Coordinates) -> Floats:
        """Return the bounds by projections alone."""
        (x, values), (points, sizes) = self._one(query), self._points(items)
        along, reach, shape = np.empty(len(items)), np.empty(len(items)), (*self.directions_.shape[:2], self.n_quantiles)
        projected_lower(values.reshape(shape), items.values.reshape(-1, *shape), self.n_quantiles, self._kind, along)
        reaches(x, points, sizes, reach)  # Rounding of projections is relative to coordinates, not to their differences.
        if self.metric == "sqeuclidean":
            reach *= reach  # no cost between the points of two clouds is larger
        off = 2 * x.shape[1] * rounding_of(len(x) + points.shape[1] + x.shape[1] + self.n_quantiles)
        return self._less(along - off * reach, x, points, reach)

    def upper_at(self, query: Coordinates, items: Coordinates) -> Floats:
        (x, _), (points, sizes) = self._one(query), self._points(items)
        costs, largest = np.empty(len(items)), np.empty(len(items))
        plan_upper(x, points, sizes, self._kind, costs, largest)
        return costs + self._slack(x, points) * largest

    def lower_at_dual(self, query: Coordinates, items: Coordinates, dual: Any) -> Floats:
        (x, _), (points, sizes) = self._one(query), self._points(items)
        potentials = as_vector(dual, "the dual that rerank.with_dual returns")
        if len(potentials) != len(x):
            raise InputError(
                f"rerank.with_dual returned a dual of {len(potentials)} values for the {len(x)} points of the query that have "
                "mass; one value for each is required"
            )
        values, largest = np.empty(len(items)), np.empty(len(items))
        dual_lower(x, potentials, points, sizes, self._kind, values, largest)
        return self._less(values, x, points, largest + np.abs(potentials).max())

    @property
    def _kind(self) -> int:
        return _METRICS.index(self.metric)

    def _one(self, query: Coordinates) -> tuple[Floats, Floats]:
        """Return the points of one cloud with their masses, and the quantiles of its projections."""
        points, (size,) = self._points(query)
        return np.ascontiguousarray(points[0, :size]), query.values[0]

    def _points(self, placed: Coordinates) -> tuple[Floats, Integers]:
        width = self.n_features_in_ + 1
        size = placed.histograms.shape[1] // width
        return placed.histograms.reshape(len(placed), size, width), placed.masses.astype(np.int64)

    def _less(self, bounds: Floats, x: Floats, points: Floats, largest: Floats) -> Floats:
        return np.maximum(bounds - self._slack(x, points) * largest, 0.0)

    def _slack(self, x: Floats, points: Floats) -> float:
        """Return by how much sums over points, and the exact distance, may be off: as a share of the largest cost."""
        return 2 * rounding_of(len(x) + points.shape[1] + self.n_features_in_) + self.tolerance


def _listed(objects: list[Any], dimension: int | None, name: str) -> list[Cloud]:
    """Return clouds as `_read` does, of the dimension of the first if none is given."""
    first = _read(objects[0], dimension, f"{name}[0]")
    return [first] + [_read(value, first.points.shape[1], f"{name}[{k}]") for k, value in enumerate(objects[1:], 1)]


def _read(value: Any, dimension: int | None, name: str) -> Cloud:
    """Return a cloud without the points that have no mass; coordinates whose squares overflow are refused."""
    points, masses = as_cloud(value, dimension, name)
    if np.abs(points).max() > _LARGEST:
        raise InputError(f"{name} has a coordinate beyond {_LARGEST:g}; divide all coordinates by a number")
    return Cloud(points[masses > 0], masses[masses > 0])
