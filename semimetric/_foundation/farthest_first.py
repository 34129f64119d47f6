"""A choice of items that are spread over a set: each is as far as possible from those before it (Gonzalez 1985)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .types import Floats, Integers


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
