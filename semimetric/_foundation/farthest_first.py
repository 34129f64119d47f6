"""Choosing items that are spread over a set: each as far as possible from those before it (Gonzalez 1985)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .types import Floats, Integers

__all__ = ["farthest_first"]


def farthest_first(distances_to: Callable[[int], Floats], first: int, count: int) -> Integers:
    """The numbers of up to ``count`` items, each the farthest from the nearest of those before it.

    The first of several that are equally far is taken. Fewer are chosen where no further item is away from all of them.

    Parameters
    ----------
    distances_to : callable
        The number of an item to the distances of all items to it, shape (n_items,); called once for each that is chosen.
    first : int
        The item to begin with.
    count : int
        At least 1.

    Returns
    -------
    ndarray of int64
        In the order in which they were chosen.
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
