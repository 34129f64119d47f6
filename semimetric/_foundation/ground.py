"""Choosing items that are spread over a set: each as far as possible from those before it (Gonzalez 1985)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .errors import InputError
from .types import ArrayLike, Floats, Integers
from .validation import check_items


def farthest_first(distances_to: Callable[[int], Floats], first: int, count: int) -> Integers:
    """Return the numbers of up to ``count`` items, each the farthest from the nearest of those before it.

    ``distances_to(number)`` has the shape (n_items,), and is called once for each item that is chosen. The first of equally far
    items is taken, and fewer where no further item is away from all of them.
    """
    chosen = [first]
    nearest = np.array(distances_to(first), dtype=np.float64)
    while len(chosen) < count:
        nearest[chosen] = -1.0
        following = int(np.argmax(nearest))
        if not nearest[following] > 0.0:
            break
        chosen.append(following)
        nearest = np.minimum(nearest, distances_to(following))
    return np.array(chosen, dtype=np.int64)


def checked_cost_matrix(cost_matrix: ArrayLike) -> Floats:
    """Return the ground distance as an array of shape (n_bins, n_bins)."""
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
