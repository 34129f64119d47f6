"""Anchors of conic embeddings: powers of distances to them, the nearest of a set, and sets of items of the classes.

    cone(x | a) = ||x - a||_p^p = sum_l |x_l - a_l|^p,   p > 0;   max_l |x_l - a_l| for p = inf (paper 4, footnote 4)

A missing value adds nothing: sums and maxima run over the other values.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial import KDTree
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans

from ..._foundation.arrays import as_floats, n_axes
from ..._foundation.errors import InputError
from ..._foundation.real_numbers import real_number, shown
from ..._foundation.threads import map_blocks, one_blas_thread
from ..._foundation.types import Floats, Integers

_TREE_DIMENSIONS = 5  # with more features, a search tree is slower than computing all distances
_TREE_ANCHORS = 500  # with fewer anchors, a search tree is slower than computing all distances
_BLAS_DIMENSIONS = 8  # with more features, Euclidean distances are computed by matrix products
_BLOCK = 1 << 19  # distances that are held at a time


def check_power(name: str, p: object) -> float:
    """Return the power p, a number > 0 or infinity; refuse others."""
    power = real_number(p)
    if power is None or not power > 0:
        raise InputError(f"{name}={shown(p)}: a number > 0 or float('inf') is required, such as 1 or 2")
    return power


def check_band(band: object) -> tuple[float, float]:
    """Return the percentiles (low, high), with 0 <= low <= high <= 100; refuse others."""
    array = np.asarray(band, dtype=object)
    if array.shape == (2,):
        low, high = map(real_number, array)
        if low is not None and high is not None and 0 <= low <= high <= 100:
            return low, high
    raise InputError(
        f"band={shown(band)}: two percentiles (low, high) with 0 <= low <= high <= 100 are required, such as (30, 50)"
    )


def powers(items: Floats, anchors: Floats, p: float) -> Floats:
    """Return ``|x_l - a_l|^p`` for every feature, or ``|x_l - a_l|`` for p = inf, 0 where x_l is missing: (n, n_features)."""
    gap = np.abs(items - anchors)
    gap[np.isnan(gap)] = 0.0
    if p not in (1.0, np.inf):
        with np.errstate(over="ignore", under="ignore"):
            gap = np.square(gap, out=gap) if p == 2.0 else np.power(gap, p, out=gap)
    if not np.isfinite(gap).all():
        raise InputError(f"a distance to an anchor is too large for its power p={p:g}; scale the features, or use a smaller p")
    return gap


def cone(items: Floats, anchors: Floats, p: float) -> Floats:
    """Return ``||x - a||_p^p`` for every row, or the largest ``|x_l - a_l|`` for p = inf: shape (n,)."""
    parts = powers(items, anchors, p)
    return parts.max(axis=1, initial=0.0) if p == np.inf else parts.sum(axis=1)


def as_sets(anchors: Any, n_features: int) -> list[Floats]:
    """Return the anchors that a user gives, as a list of sets, each of shape (n_anchors, n_features)."""
    several = isinstance(anchors, (list, tuple)) and any(n_axes(part) == 2 for part in anchors)
    sets = []
    for part in anchors if several else [anchors]:
        try:
            array = np.atleast_2d(as_floats(part, "anchors"))
        except InputError as error:
            raise InputError(
                f"anchors cannot be read as numbers ({error}); give an array, a list of arrays or a name"
            ) from error
        if array.ndim != 2 or array.shape[1] != n_features:
            raise InputError(f"anchors have shape {np.shape(part)}; (n_anchors, {n_features}) is required: one value a feature")
        if not np.isfinite(array).all():
            raise InputError("anchors hold a value that is not finite; every coordinate of an anchor must be a number")
        sets.append(np.array(array, order="C"))
    if not sets or not all(map(len, sets)):
        raise InputError("a set of anchors is empty; give each set an anchor, or leave the set out")
    return sets


class AnchorSet:
    """A set of anchors, of which the nearest to an item is found: many in few dimensions by a tree (paper 4, eq. 2)."""

    def __init__(self, anchors: Floats, p: float, *, n_jobs: int | None = None) -> None:
        self.anchors = anchors  # (n_anchors, n_features)
        self.p = p  # the power of the distance
        self.n_jobs = n_jobs  # the number of threads of a search
        many = len(anchors) >= _TREE_ANCHORS and anchors.shape[1] <= _TREE_DIMENSIONS
        self._tree = KDTree(anchors) if many and p >= 1 else None

    def nearest(self, items: Floats) -> Integers:
        """Return the number of the nearest anchor of each item, (n_items,), by the features that are not missing."""
        missing = np.isnan(items)
        incomplete = missing.any(axis=1)
        if len(self.anchors) == 1:
            return np.zeros(len(items), np.int64)
        if not incomplete.any():
            return self.nearest_of_complete(items)
        out = np.empty(len(items), np.int64)
        out[~incomplete] = self.nearest_of_complete(items[~incomplete])
        patterns, pattern_of_row = np.unique(missing[incomplete], axis=0, return_inverse=True)
        for k, pattern in enumerate(patterns):
            rows = np.flatnonzero(incomplete)[pattern_of_row.ravel() == k]
            if pattern.all():
                out[rows] = 0
                continue
            reduced = AnchorSet(np.ascontiguousarray(self.anchors[:, ~pattern]), self.p)
            out[rows] = reduced.nearest_of_complete(np.ascontiguousarray(items[rows][:, ~pattern]))
        return out

    def distances(self, items: Floats) -> Floats:
        """Return ``cone(x | a)`` for the nearest anchor a of each item, shape (n_items,)."""
        return cone(items, self.anchors[self.nearest(items)], self.p)

    def nearest_of_complete(self, items: Floats) -> Integers:
        """Return the number of the nearest anchor of each item without missing values, shape (n_items,)."""
        search = self._searcher(items.shape[1])
        out = np.empty(len(items), np.int64)

        def fill(rows: slice) -> None:
            out[rows] = search(items[rows])

        map_blocks(fill, len(items), size=max(_BLOCK // len(self.anchors), 1), n_jobs=self.n_jobs)
        return out

    def _searcher(self, n_features: int) -> Callable[[Floats], Integers]:
        """Return the fastest function from items without missing values to the numbers of their nearest anchors."""
        tree = self._tree
        if tree is not None:
            return lambda items: np.asarray(tree.query(items, p=self.p)[1], np.int64)
        return self._by_products if self.p == 2 and n_features > _BLAS_DIMENSIONS else self._by_distances

    def _by_products(self, items: Floats) -> Integers:
        """Return the nearest anchors for p = 2, by ||a||² - 2 <x, a>; their mean is subtracted, for fewer lost digits."""
        middle = self.anchors.mean(axis=0)
        shifted = self.anchors - middle
        half = np.einsum("kd,kd->k", shifted, shifted) / 2
        return np.argmin(half - (items - middle) @ shifted.T, axis=1)

    def _by_distances(self, items: Floats) -> Integers:
        metrics = {1.0: "cityblock", 2.0: "sqeuclidean", np.inf: "chebyshev"}
        if self.p in metrics:
            return np.argmin(cdist(items, self.anchors, metrics[self.p]), axis=1)
        return np.argmin(cdist(items, self.anchors, "minkowski", p=self.p), axis=1)


def cluster_centers(items: Floats, n: int, random_state: int | None) -> Floats:
    """Return the centres of ``n`` clusters by k-means, sorted by their coordinates: shape (n, n_features)."""
    different = len(np.unique(items, axis=0))
    if different < n:
        raise InputError(f"n_anchors={n}, but there are only {different} different items to cluster; ask for fewer anchors")
    with one_blas_thread():
        found = KMeans(n, n_init=1, random_state=random_state).fit(items).cluster_centers_
    return np.ascontiguousarray(found[np.lexsort(found.T[::-1])])


def class_anchors(
    items: Floats, labels: Integers, *, band: tuple[float, float], p: float, n_jobs: int | None = None
) -> list[Floats]:
    """Return for each class its items whose distance to the nearest of another is in a band of percentiles (§S.2).

    The closest items are likely support vectors, the farthest outliers.
    """
    found = []
    for c in range(int(labels.max()) + 1):
        own = items[labels == c]
        margin = AnchorSet(items[labels != c], p, n_jobs=n_jobs).distances(own)
        low, high = np.percentile(margin, band)
        found.append(np.ascontiguousarray(own[(margin >= low) & (margin <= high)]))
    return found
