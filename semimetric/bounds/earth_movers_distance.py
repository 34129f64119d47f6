"""The exact Earth Mover's Distance of two histograms, and the dual that proves it."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from .._foundation.errors import InputError
from .._foundation.input_arrays import as_vector
from .._foundation.optional_imports import optional
from .._foundation.types import ArrayLike, Floats
from .._foundation.validation import check_items

__all__ = ["EarthMoversDistance"]


class EarthMoversDistance:
    """The exact Earth Mover's Distance on one ground distance, by the network simplex of POT.

    It is the least total cost ``sum_ij F_ij c_ij`` of plans F >= 0 whose row sums are x and column sums y. Beside it the solver
    finds dual variables, which `with_dual` returns: an index that is given this distance as ``rerank=`` bounds the distances
    of its query to all other items by the dual of each exact distance, see `TransportBounds`.

    Parameters
    ----------
    cost_matrix : array-like of shape (n_bins, n_bins)
        The ground distance c between the bins.
    max_iter : int, default 1000000
        Iterations of the network simplex, after which it is an error.

    Raises
    ------
    MissingExtraError
        If POT is not installed.

    Examples
    --------
    >>> from semimetric import EarthMoversDistance
    >>> emd = EarthMoversDistance([[0.0, 1.0, 3.0], [1.0, 0.0, 2.0], [3.0, 2.0, 0.0]])
    >>> emd([1.0, 0.0, 0.0], [0.0, 0.5, 0.5])
    2.0
    >>> value, dual = emd.with_dual([1.0, 0.0, 0.0], [0.0, 0.5, 0.5])
    >>> dual.shape
    (3,)
    """

    def __init__(self, cost_matrix: ArrayLike, *, max_iter: int = 1_000_000) -> None:
        self.cost_matrix = check_items(cost_matrix, name="cost_matrix")
        if self.cost_matrix.shape[0] != self.cost_matrix.shape[1]:
            raise InputError(f"cost_matrix has shape {self.cost_matrix.shape}; a square matrix is required")
        self.max_iter = max_iter
        optional("ot")

    def __repr__(self) -> str:
        return f"EarthMoversDistance(<cost_matrix of shape {self.cost_matrix.shape}>)"

    @cached_property
    def _solve(self) -> Any:
        return optional("ot").emd2

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_solve"}

    def __call__(self, x: ArrayLike, y: ArrayLike) -> float:
        """The distance of two histograms (n_bins,) of equal mass."""
        return self.with_dual(x, y)[0]

    def with_dual(self, x: ArrayLike, y: ArrayLike) -> tuple[float, Floats]:
        """The distance, and the dual variables of the bins of x, shape (n_bins,); they are 0 where x has no mass."""
        a, b = as_vector(x, "x"), as_vector(y, "y")
        n = len(self.cost_matrix)
        if a.shape != (n,) or b.shape != (n,):
            raise InputError(f"the histograms have {len(a)} and {len(b)} bins, and the cost matrix {n}; {n} bins are required")
        left, right, mass, other = float(a.min()), float(b.min()), float(a.sum()), float(b.sum())
        if min(left, right) < 0 or not abs(mass - other) <= 1e-9 * mass or not mass > 0:
            raise InputError(
                f"the histograms have the masses {mass:g} and {other:g}, and the least entry {min(left, right):g}; "
                "equal masses > 0 and entries >= 0 are required: divide each by its sum"
            )
        rows, columns = np.flatnonzero(a), np.flatnonzero(b)  # for which POT need not guess dual variables, which takes long
        cost = self.cost_matrix[np.ix_(rows, columns)]
        of_mass, of_cost = _exponent(mass), _exponent(float(np.abs(cost).max()))  # far from 1 the solver is wrong, or crashes
        value, log = self._solve(
            np.ldexp(a[rows], -of_mass), np.ldexp(b[columns], -of_mass), np.ldexp(cost, -of_cost),
            numItermax=self.max_iter, log=True, center_dual=False, check_marginals=False,
        )  # fmt: skip
        if log["warning"] is not None:
            raise InputError(f"the solver gave no exact distance ({log['warning']}); give a larger max_iter=")
        dual = np.zeros(n)
        dual[rows] = np.ldexp(log["u"], of_cost)
        return float(np.ldexp(value, of_mass + of_cost)), dual


def _exponent(size: float) -> int:
    """The power of two by which a size is divided to lie between 1 and 2, without rounding; 0 for nothing."""
    return int(np.frexp(size)[1]) - 1 if size > 0.0 else 0
