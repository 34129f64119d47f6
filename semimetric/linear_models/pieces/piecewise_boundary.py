"""A piecewise-linear boundary: boundary points, each of one piece, and the linear machine of every piece (paper 3, eq. 24)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr
from sklearn.neighbors import NearestNeighbors
from sklearn.svm import LinearSVC

from ..._foundation.types import Floats, Integers
from .boundary_points import Boundary
from .mixture_em import Planes
from .mixture_prior import Units
from .support_pairs import common_unit

__all__ = ["Pieces", "with_machines"]


@dataclass(frozen=True, eq=False)
class Pieces:
    """Planes that separate a positive class from a negative one, each near its own boundary points.

    Parameters
    ----------
    boundary_points, directions : ndarray of shape (m, d)
    components : ndarray of shape (m,)
        The piece of each boundary point.
    centres, normals : ndarray of shape (K, d)
        The plane of piece j is <normals[j], x - centres[j]> = 0; normals have length 1 and face the positive side, as the
        directions of its points do on the whole.
    steepness : ndarray of shape (K,)
        Square root of the precision lambda + w'w of boundary points across the plane.
    """

    boundary_points: Floats
    directions: Floats
    components: Integers
    centres: Floats
    normals: Floats
    steepness: Floats

    @classmethod
    def of(cls, boundary: Boundary, planes: Planes, labels: Integers, units: Units) -> Pieces:
        """The planes of the mixture in the units of the items; components without points are left out."""
        used, components = np.unique(labels, return_inverse=True)
        w, omega = planes.w[used], (planes.w[used] ** 2).sum(axis=1)
        facing = np.zeros_like(w)
        np.add.at(facing, components, boundary.counts[:, None] * (boundary.directions / units.sigma))
        sign = np.where((facing * w).sum(axis=1) < 0, -1.0, 1.0)
        normals = w * (sign / np.sqrt(omega))[:, None]
        steepness = np.sqrt(planes.lam[used] + omega) / units.sigma
        centres = units.centre + units.sigma * planes.mu[used]
        return cls(boundary.points, boundary.directions, components, centres, normals, steepness)

    @property
    def n_components(self) -> int:
        """Number of pieces."""
        return len(self.centres)

    def of_items(self, X: Floats) -> Integers:
        """The piece of the nearest boundary point, equation 24, shape (n,)."""
        unit = common_unit(self.boundary_points)
        nearest = NearestNeighbors(n_neighbors=1).fit(self.boundary_points / unit)
        return self.components[nearest.kneighbors(X / unit, return_distance=False)[:, 0]]

    def decision(self, X: Floats) -> Floats:
        """Signed distance to the plane of each item's piece, shape (n,)."""
        piece = self.of_items(X)
        return ((X - self.centres[piece]) * self.normals[piece]).sum(axis=1)

    def probability(self, X: Floats) -> Floats:
        """Share of the surfaces that the piece allows which leave the item on the positive side.

        Boundary points lie N(0, 1 / (lambda + w'w)) around the plane (equation 15), so the share is Phi of the signed distance
        by the deviation.
        """
        piece = self.of_items(X)
        return ndtr(((X - self.centres[piece]) * self.normals[piece]).sum(axis=1) * self.steepness[piece])


def with_machines(pieces: Pieces, X: Floats, positive: Integers, C: float) -> Pieces:
    """Every plane replaced by that of a linear machine on the training items of its piece, where both classes are there.

    The machines see items from their mean, in units of the largest deviation of a value, so that C has no unit.
    """
    piece, centres, normals = pieces.of_items(X), pieces.centres.copy(), pieces.normals.copy()
    middle = X.mean(axis=0)
    unit = np.abs(X - middle).max()
    for j in range(pieces.n_components):
        inside = piece == j
        if len(np.unique(positive[inside])) < 2:
            continue
        machine = LinearSVC(C=C, dual="auto", max_iter=20_000, random_state=0)
        machine.fit((X[inside] - middle) / unit, positive[inside])
        length = np.linalg.norm(machine.coef_[0])
        if length > 0:
            normals[j] = machine.coef_[0] / length
            centres[j] = middle - unit * machine.intercept_[0] / length * normals[j]
    return replace(pieces, centres=centres, normals=normals)
