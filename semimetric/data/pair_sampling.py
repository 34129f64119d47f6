"""Drawing the pairs to learn from, always seeded."""

from itertools import combinations

import numpy as np
from sklearn.neighbors import NearestNeighbors

from .._foundation.arrays import spread
from .._foundation.errors import InputError
from .._foundation.types import Floats, Integers


def sample_pairs(
    items: Floats, n_pairs: int, *, near: float = 0.25, n_neighbors: int = 30, random_state: int | None = None
) -> Integers:
    """Return distinct pairs of different rows, shape (n_pairs, 2), the share ``near`` of near neighbours; all, if no more."""
    n = len(items)
    if n < 2:
        raise InputError("at least two items are required to draw pairs")
    rng = np.random.default_rng(random_state)
    n_all = n * (n - 1) // 2
    found = set[tuple[int, int]]()
    while missing := min(n_pairs, n_all) - len(found):
        n_near = round(near * missing)
        drawn = [_near_pairs(items, n_near, n_neighbors, rng), rng.integers(0, n, (2 * (missing - n_near) + 16, 2))]
        if found and n_all <= 4 * n_pairs:  # random draws seldom hit the last few pairs, so all pairs are offered
            drawn.append(rng.permutation(list(combinations(range(n), 2))))
        for i, j in np.concatenate(drawn).tolist():
            if i != j and len(found) < n_pairs:
                found.add((min(i, j), max(i, j)))
        near /= 2  # all near pairs may have been drawn already
    pairs = np.array(sorted(found), dtype=np.int64).reshape(-1, 2)
    return rng.permuted(rng.permutation(pairs), axis=1)


def _near_pairs(items: Floats, n: int, n_neighbors: int, rng: np.random.Generator) -> Integers:
    """Return ``n`` pairs of a random item and one of its nearest neighbours (standardised), (n, 2); none if all are equal."""
    if not n:
        return np.empty((0, 2), np.int64)
    width = spread(items)
    scaled = items[:, width > 0] / width[width > 0]
    if not scaled.shape[1]:
        return np.empty((0, 2), np.int64)
    k = min(n_neighbors, len(items) - 1)
    neighbours = NearestNeighbors(n_neighbors=k + 1).fit(scaled).kneighbors(return_distance=False, X=scaled)
    left = rng.integers(0, len(items), n)
    return np.column_stack([left, neighbours[left, rng.integers(1, k + 1, n)]]).astype(np.int64)
