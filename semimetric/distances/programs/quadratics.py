"""Convex quadratics of the weights, as which solvers see penalties, and how far rounding may be off in them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse

from ..._foundation.arrays import rounding_of
from ..._foundation.types import Floats


class Square(NamedTuple):
    """The term ‖R (w - c)‖² / 2: ``rows`` are R, a sparse matrix of shape (k, n), and ``center`` is c, of shape (n,)."""

    rows: sparse.csr_array
    center: Floats


class EnclosedGradient(NamedTuple):
    """A gradient of shape (n,) and by how much rounding may be off in each entry.

    ``missed`` is how far the penalty may lie above the plane with this gradient that touches it from below.
    """

    value: Floats
    error: Floats
    missed: float


@dataclass(frozen=True, eq=False)
class Quadratic:
    """The quadratic wᵀ P w / 2 - qᵀ w + constant, with P sparse and positive semidefinite.

    Where it is known as a ``square``, its value is computed from that: strong penalties would cancel. A sum keeps ``parts``.
    """

    P: sparse.csr_array
    q: Floats
    constant: float = 0.0
    square: Square | None = None
    parts: tuple[Quadratic, ...] = ()

    def __add__(self, other: Quadratic) -> Quadratic:
        P = sparse.csr_array(self.P + other.P)
        parts = (*(self.parts or (self,)), *(other.parts or (other,)))
        return Quadratic(P, self.q + other.q, self.constant + other.constant, parts=parts)

    def value(self, w: Floats) -> float:
        """Return the value of the quadratic at ``w``, shape (n,)."""
        if self.parts:
            return sum(part.value(w) for part in self.parts)
        if self.square is not None:
            rise = self.square.rows @ (w - self.square.center)
            return float(rise @ rise) / 2
        return float(w @ (self.P @ w)) / 2 - float(self.q @ w) + self.constant

    def gradient(self, w: Floats) -> Floats:
        """Return the gradient P w - q, shape (n,)."""
        return self.P @ w - self.q

    def enclosed_gradient(self, v: Floats, w: Floats | None = None) -> EnclosedGradient:
        """Return the gradient at ``v``; ``missed`` is how far the quadratic at ``w``, or at v, lies above its tangent."""
        if self.parts:
            values, errors, missed = zip(*(part.enclosed_gradient(v, w) for part in self.parts), strict=True)
            error = np.sum(errors, axis=0) + rounding_of(len(values)) * np.abs(values).sum(axis=0)
            return EnclosedGradient(np.sum(values, axis=0), error, sum(missed))
        if self.square is None:
            size, moved = abs(self.P) @ np.abs(v) + np.abs(self.q), np.zeros_like(v) if w is None else w - v
            missed_of = float(np.abs(moved) @ (abs(self.P) @ np.abs(moved))) / 2
            return EnclosedGradient(self.gradient(v), rounding_of(len(v)) * size, missed_of)
        R, move = self.square.rows, v - self.square.center
        rise, size = R @ move, abs(R)
        off = rounding_of(len(v)) * (size @ np.abs(move))
        error = rounding_of(R.shape[0]) * (size.T @ np.abs(rise))
        if (
            w is None and self.ridge.any()
        ):  # its curvature is used beside its gradient, which must therefore be that at w itself
            return EnclosedGradient(R.T @ rise, error + size.T @ off, 0.0)
        if w is not None:
            off += np.abs(R @ (w - v)) + rounding_of(len(v)) * (size @ np.abs(w - v))
        return EnclosedGradient(R.T @ rise, error, float(off @ off) / 2)

    @cached_property
    def ridge(self) -> Floats:
        """The curvature of squares of single weights, shape (n,): along each weight the quadratic curves so much."""
        if self.parts:
            return np.sum([part.ridge for part in self.parts], axis=0)
        curvature = np.zeros(len(self.q))
        if self.square is not None:
            diagonal = self.square.rows.diagonal()
            if np.count_nonzero(diagonal) == np.count_nonzero(self.square.rows.data):
                curvature[: len(diagonal)] = diagonal**2 * (1.0 - rounding_of(0))
        return curvature
