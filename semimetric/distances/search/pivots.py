"""A choice of landmarks: sampled items that raise the bounds of sampled pairs most (Bustos, Navarro and Chávez 2003)."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from ..._foundation.types import Floats, Integers

_MOST_SAMPLED = 200  # items, unless twice the landmarks are more
_MOST_PAIRS = 20_000


def sample_size(n_items: int, n_landmarks: int) -> int:
    """Return how many items to sample: so few that the calls between them are at most 2 max(n_items, n_landmarks²)."""
    return min(n_items, max(2 * n_landmarks, min(_MOST_SAMPLED, int(2 * np.sqrt(n_items)))))


def incremental_selection(distances: Floats, count: int, rng: np.random.Generator) -> Integers:
    """Return the numbers of up to ``count`` sampled items, by their distances (n, n) to one another, the best first.

    Given those before it, each raises the mean lower bound ``max_k |d(x, l_k) - d(y, l_k)|`` of sampled pairs x, y most. Fewer
    are returned where no further one raises it, and one at least.
    """
    left, right = np.triu_indices(len(distances), 1)
    if len(left) > _MOST_PAIRS:
        drawn = rng.choice(len(left), _MOST_PAIRS, replace=False)
        left, right = left[drawn], right[drawn]
    bounds = np.abs(distances[:, left] - distances[:, right])  # (n, n_pairs), by each item alone
    best, chosen = np.zeros(len(left)), [int(np.argmax(bounds.sum(axis=1)))]
    while len(chosen) < count:
        best = np.maximum(best, bounds[chosen[-1]])
        gains = np.maximum(bounds - best, 0.0).sum(axis=1)
        if not gains.max() > _SLIGHT * best.sum():
            break
        chosen.append(int(np.argmax(gains)))
    return np.array(chosen, dtype=np.int64)


_SLIGHT = 1e-9  # of the sum of bounds, which rounding alone may raise it by


def discard_rate(distances: Floats, landmarks: Integers) -> float:
    """Estimate the share of items that landmarks discard for a query, by the distances of a sample (n, n) and its landmarks.

    It is the share of ordered pairs of items, no landmarks, whose lower bound exceeds the distance of the first to its nearest.
    NaN without such pairs.
    """
    others = np.setdiff1d(np.arange(len(distances)), landmarks)
    if len(others) < 2:
        return np.nan
    apart = ~np.eye(len(others), dtype=bool)
    nearest = np.where(apart, distances[np.ix_(others, others)], np.inf).min(axis=1)
    to_landmarks = distances[np.ix_(others, landmarks)]
    return float((cdist(to_landmarks, to_landmarks, "chebyshev") > nearest[:, None])[apart].mean())
