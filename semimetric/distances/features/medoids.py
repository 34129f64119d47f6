"""Medoids: the objects of a set to which all are near on the whole (Kaufman & Rousseeuw 1990, PAM)."""

from __future__ import annotations

import numpy as np

from ..._foundation.types import Floats, Integers

_MOST_SWAPS = 1000


def medoids(distances: Floats, n: int) -> Integers:
    """Return positions of ``n`` medoids under distances (m, m) by PAM: added one by one, then exchanged while the sum falls."""
    chosen: list[int] = []
    nearest = np.full(len(distances), np.inf)
    for _ in range(n):
        cost = np.minimum(nearest[:, None], distances).sum(axis=0)
        cost[chosen] = np.inf
        chosen.append(int(np.argmin(cost)))
        nearest = np.minimum(nearest, distances[:, chosen[-1]])
    total = nearest.sum()
    for _ in range(_MOST_SWAPS):
        best, swap = total * (1 - 1e-12), None
        for k in range(n):
            others = chosen[:k] + chosen[k + 1 :]
            without = distances[:, others].min(axis=1, initial=np.inf)
            cost = np.minimum(without[:, None], distances).sum(axis=0)
            cost[others] = np.inf
            if cost.min() < best:
                best, swap = float(cost.min()), (k, int(np.argmin(cost)))
        if swap is None:
            break
        chosen[swap[0]], total = swap[1], best
    return np.array(chosen, dtype=np.int64)
