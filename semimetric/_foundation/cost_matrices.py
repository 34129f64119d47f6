"""Checks of ground distances: what moving mass between two bins of a histogram costs."""

from __future__ import annotations

import numpy as np

from .errors import InputError
from .types import ArrayLike, Floats
from .validation import check_items

__all__ = ["checked_cost_matrix"]


def checked_cost_matrix(cost_matrix: ArrayLike) -> Floats:
    """The ground distance as an array of shape (n_bins, n_bins).

    Raises
    ------
    InputError
        If the matrix is not square, finite, >= 0, symmetric and 0 on its diagonal.
    """
    cost = check_items(cost_matrix, name="cost_matrix")
    if cost.shape[0] != cost.shape[1]:
        raise InputError(f"cost_matrix has shape {cost.shape}; a square matrix is required, with a row for every bin")
    if (cost < 0).any():
        i, j = np.argwhere(cost < 0)[0].tolist()
        raise InputError(f"cost_matrix[{i}, {j}] is {cost[i, j]:g}; costs >= 0 are required: correct it")
    if np.diagonal(cost).any():
        i = int(np.flatnonzero(np.diagonal(cost))[0])
        raise InputError(f"cost_matrix[{i}, {i}] is {cost[i, i]:g}; 0 is required, as mass that stays costs nothing")
    if (cost != cost.T).any():
        i, j = np.argwhere(cost != cost.T)[0].tolist()
        raise InputError(
            f"cost_matrix[{i}, {j}] is {cost[i, j]!r} and cost_matrix[{j}, {i}] is {cost[j, i]!r}; a symmetric ground "
            "distance is required: give (C + C.T) / 2 if they differ by rounding"
        )
    return cost
