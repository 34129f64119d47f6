"""A piecewise-linear boundary: boundary points, their pieces, and the plane of every piece (paper 3, eq. 24)."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr
from sklearn.neighbors import NearestNeighbors
from sklearn.svm import LinearSVC

from ..._foundation.errors import InputError
from ..._foundation.stored import check_array, storable
from ..._foundation.types import Floats, Integers
from .boundary_points import Boundary
from .mixture_em import Planes
from .mixture_prior import Units
from .support_pairs import common_unit

_FARTHEST = 1e140
_NARROWEST = 1e-9  # of the spread of all items: a machine with the strength C shows nothing of a piece that is narrower


@storable
@dataclass(frozen=True, eq=False)
class Pieces:
    """Planes that separate a positive class from a negative one, each near the boundary points of its piece."""

    boundary_points: Floats  # (m, d)
    directions: Floats  # (m, d)
    components: Integers  # (m,); the number of the piece that each boundary point belongs to
    centres: Floats  # (K, d); the plane of piece j is <normals[j], x - centres[j]> = 0
    # (K, d); they have length 1 and point to the positive side, as the sum of the directions of the piece does
    normals: Floats
    steepness: Floats  # (K,); square root of the precision lambda + w'w of boundary points across the plane

    @classmethod
    def of(cls, boundary: Boundary, planes: Planes, labels: Integers, units: Units) -> Pieces:
        """Return the planes of the mixture that have points, brought from ``units`` to those of the items."""
        used, components = np.unique(labels, return_inverse=True)
        w = planes.w[used]
        omega = (w**2).sum(axis=1)
        sum_of_directions = np.zeros_like(w)
        np.add.at(sum_of_directions, components, boundary.counts[:, None] * (boundary.directions / units.sigma))
        sign = np.where((sum_of_directions * w).sum(axis=1) < 0, -1.0, 1.0)
        return cls(
            boundary_points=boundary.points,
            directions=boundary.directions,
            components=components,
            centres=units.center + units.sigma * planes.mu[used],
            normals=w * (sign / np.sqrt(omega))[:, None],
            steepness=np.sqrt(planes.lam[used] + omega) / units.sigma,
        )

    def check(self, d: int) -> None:
        """Refuse pieces that are not made of ``m`` points and ``K`` planes in ``d`` dimensions, as a file may say."""
        m, K = (len(np.atleast_1d(array)) for array in (self.components, self.centres))
        shapes = ((m, d), (m, d), (m,), (K, d), (K, d), (K,))
        for field, shape in zip(fields(self), shapes, strict=True):
            array = getattr(self, field.name)
            check_array(f"Pieces.{field.name}", array, array.dtype, *shape)
        right = m > 0 and np.array_equal(np.unique(self.components), np.arange(K)) and self.directions.any(axis=1).all()
        if not right or not np.allclose(np.linalg.norm(self.normals, axis=1), 1.0) or not (self.steepness > 0).all():
            raise InputError(f"pieces are not made of points and planes in {d} dimensions; restore the file")

    @property
    def n_components(self) -> int:
        """Number of pieces, K."""
        return len(self.centres)

    @property
    def width(self) -> float:
        """The mean distance of the two support points of a boundary point, a unit for distances to the planes."""
        largest = np.abs(self.directions).max()
        return float(largest * np.linalg.norm(self.directions / largest, axis=1).mean())

    def of_items(self, X: Floats) -> Integers:
        """Return the piece of the nearest boundary point, (n,), for items X (n, d) cut off at 1e140 units (equation 24)."""
        points, items = self._scaled(X)
        nearest = NearestNeighbors(n_neighbors=1).fit(points)
        return self.components[nearest.kneighbors(items, return_distance=False)[:, 0]]

    def distances(self, X: Floats) -> Floats:
        """Return the distance of items X (n, d) to the nearest boundary point of each piece, in one unit: (n, K)."""
        points, items = self._scaled(X)
        of_pieces = [NearestNeighbors(n_neighbors=1).fit(points[self.components == j]) for j in range(self.n_components)]
        return np.column_stack([nearest.kneighbors(items)[0][:, 0] for nearest in of_pieces])

    def _scaled(self, X: Floats) -> tuple[Floats, Floats]:
        """Return the boundary points and the items X in a unit in which no square overflows."""
        unit = common_unit(self.boundary_points)
        with np.errstate(over="ignore"):
            return self.boundary_points / unit, np.clip(X / unit, -_FARTHEST, _FARTHEST)

    def decision(self, X: Floats) -> Floats:
        """Return the signed distance of each of the items X (n, d) to the plane of its piece, shape (n,)."""
        return self._heights(X, self.of_items(X))

    def probability(self, X: Floats) -> Floats:
        """Return the probability (n,) of the positive side: Phi of the signed distance over (lambda + w'w)^(-1/2)."""
        piece = self.of_items(X)
        return ndtr(self._heights(X, piece) * self.steepness[piece])

    def _heights(self, X: Floats, piece: Integers) -> Floats:
        """Return signed distances of the items X (n, d) to the planes of the pieces (n,)."""
        return ((X - self.centres[piece]) * self.normals[piece]).sum(axis=1)


def with_support_vector_machines(
    pieces: Pieces, X: Floats, positive: NDArray[np.bool_], C: float, *, overlap: float = 1.0, max_iter: int = 20_000
) -> Pieces:
    """Return the pieces with planes of linear support vector machines, each trained on the items of its piece.

    They are the items to which its nearest boundary point is at most ``overlap`` times as far as the nearest of all. A piece
    of one class, or with items a billion times closer together than all, keeps its plane. Items are scaled, so C has no unit.
    """
    if overlap > 1.0 and pieces.n_components > 1:
        distances = pieces.distances(X)
        inside = distances <= overlap * distances.min(axis=1, keepdims=True)
    else:
        inside = pieces.of_items(X)[:, None] == np.arange(pieces.n_components)
    centres = pieces.centres.copy()
    normals = pieces.normals.copy()
    mean = X.mean(axis=0)
    unit = np.abs(X - mean).max()
    for j, of_piece in enumerate(inside.T):
        scaled = (X[of_piece] - mean) / unit
        if len(np.unique(positive[of_piece])) < 2 or not np.ptp(scaled, axis=0).max() > _NARROWEST:
            continue
        machine = LinearSVC(C=C, dual="auto", max_iter=max_iter, random_state=0)
        machine.fit(scaled, positive[of_piece])
        length = np.linalg.norm(machine.coef_[0])
        if length > 0:
            normals[j] = machine.coef_[0] / length
            centres[j] = mean - unit * machine.intercept_[0] / length * normals[j]
    return replace(pieces, centres=centres, normals=normals)
