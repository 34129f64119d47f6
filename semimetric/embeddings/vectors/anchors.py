"""Anchors of conic maps: powers of distances to them, the nearest of a set, and sets made of samples of the classes.

    cone(x | a) = ||x - a||_p^p = sum_l |x_l - a_l|^p,   p > 0;   max_l |x_l - a_l| for p = inf (paper 4, footnote 4)

A missing value adds nothing: sums and maxima run over the others.
"""

from typing import Any

import numpy as np
from scipy.spatial import KDTree
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans

from ..._foundation.errors import InputError
from ..._foundation.threads import map_blocks, one_blas_thread
from ..._foundation.types import Floats, Integers

__all__ = ["AnchorSet", "as_sets", "centres", "check_band", "check_power", "class_anchors", "cone", "powers"]

_TREE_DIMENSIONS, _TREE_ANCHORS = 5, 500  # a tree of fewer anchors, or of more features, is slower than all distances
_BLAS_DIMENSIONS = 8
_BLOCK = 1 << 19  # distances held at a time


def check_power(name: str, p: object) -> float:
    """A number > 0, or infinity."""
    if isinstance(p, bool) or not isinstance(p, (int, float, np.integer, np.floating)) or not p > 0:
        raise InputError(f"{name}={p!r}: a number > 0 or float('inf') is required, such as 1 or 2")
    return float(p)


def check_band(band: object) -> tuple[float, float]:
    """Two percentiles, 0 <= low <= high <= 100."""
    array = np.asarray(band, dtype=object)
    if array.shape == (2,) and all(isinstance(v, (int, float, np.integer, np.floating)) for v in array):
        low, high = float(array[0]), float(array[1])
        if 0 <= low <= high <= 100:
            return low, high
    raise InputError(f"band={band!r}: two percentiles (low, high) with 0 <= low <= high <= 100 are required, such as (30, 50)")


def powers(items: Floats, anchors: Floats, p: float) -> Floats:
    """``|x_l - a_l|^p`` for every feature, ``|x_l - a_l|`` for p = inf; 0 where x_l is missing.

    Raises
    ------
    InputError
        If a power is too large for a float.
    """
    gap = np.abs(items - anchors)
    gap[np.isnan(gap)] = 0.0
    if p not in (1.0, np.inf):
        with np.errstate(over="ignore", under="ignore"):
            gap = np.square(gap, out=gap) if p == 2.0 else np.power(gap, p, out=gap)
    if not np.isfinite(gap).all():
        raise InputError(f"a distance to an anchor is too large for its power p={p:g}; scale the features, or use a smaller p")
    return gap


def cone(items: Floats, anchors: Floats, p: float) -> Floats:
    """``||x - a||_p^p`` row by row, or the largest ``|x_l - a_l|`` for p = inf; shape (n,)."""
    parts = powers(items, anchors, p)
    return parts.max(axis=1, initial=0.0) if p == np.inf else parts.sum(axis=1)


def as_sets(anchors: Any, n_features: int) -> list[Floats]:
    """Anchors as a list of sets of shape (n_anchors, n_features).

    Raises
    ------
    InputError
    """
    several = isinstance(anchors, (list, tuple)) and any(np.ndim(part) == 2 for part in anchors)
    sets = []
    for part in anchors if several else [anchors]:
        try:
            array = np.atleast_2d(np.asarray(part, dtype=np.float64))
        except (TypeError, ValueError) as error:
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
    """A set of anchors that finds the nearest (paper 4, eq. 2).

    Many anchors in few dimensions are searched by a tree, p = 2 by products of matrices, else all distances are computed.

    Parameters
    ----------
    anchors : ndarray of shape (n_anchors, n_features)
    p : float
    n_jobs : int or None, default None
        Threads of a search.
    """

    def __init__(self, anchors: Floats, p: float, *, n_jobs: int | None = None) -> None:
        self.anchors, self.p, self.n_jobs = anchors, p, n_jobs
        many = len(anchors) >= _TREE_ANCHORS and anchors.shape[1] <= _TREE_DIMENSIONS
        self._tree = KDTree(anchors) if many and p >= 1 else None

    def nearest(self, items: Floats) -> Integers:
        """Number of the anchor with the smallest distance to each row, over the features that are not missing."""
        missing = np.isnan(items)
        holes = missing.any(axis=1)
        if len(self.anchors) == 1:
            return np.zeros(len(items), np.int64)
        if not holes.any():
            return self._of_complete(items)
        out = np.empty(len(items), np.int64)
        out[~holes] = self._of_complete(items[~holes])
        patterns, which = np.unique(missing[holes], axis=0, return_inverse=True)
        for k, pattern in enumerate(patterns):
            rows = np.flatnonzero(holes)[which.ravel() == k]
            seen = AnchorSet(np.ascontiguousarray(self.anchors[:, ~pattern]), self.p)
            out[rows] = 0 if pattern.all() else seen._of_complete(np.ascontiguousarray(items[rows][:, ~pattern]))
        return out

    def distances(self, items: Floats) -> Floats:
        """``cone(x | a)`` for the nearest anchor a of each row: exact, however the anchor was found."""
        return cone(items, self.anchors[self.nearest(items)], self.p)

    def _of_complete(self, items: Floats) -> Integers:
        products = self.p == 2 and items.shape[1] > _BLAS_DIMENSIONS
        search = self._by_tree if self._tree else self._by_products if products else self._by_distances
        out = np.empty(len(items), np.int64)

        def fill(rows: slice) -> None:
            out[rows] = search(items[rows])

        map_blocks(fill, len(items), size=max(_BLOCK // len(self.anchors), 1), n_jobs=self.n_jobs)
        return out

    def _by_tree(self, items: Floats) -> Integers:
        return np.asarray(self._tree.query(items, p=self.p)[1], np.int64)  # type: ignore[union-attr]

    def _by_products(self, items: Floats) -> Integers:
        """Of ||x - a||² only ||a||² - 2 <x, a> depends on a; shifted by the mean, it loses fewer digits."""
        middle = self.anchors.mean(axis=0)
        shifted = self.anchors - middle
        half = np.einsum("kd,kd->k", shifted, shifted) / 2
        return np.argmin(half - (items - middle) @ shifted.T, axis=1)

    def _by_distances(self, items: Floats) -> Integers:
        metrics = {1.0: "cityblock", 2.0: "sqeuclidean", np.inf: "chebyshev"}
        if self.p in metrics:
            return np.argmin(cdist(items, self.anchors, metrics[self.p]), axis=1)
        return np.argmin(cdist(items, self.anchors, "minkowski", p=self.p), axis=1)


def centres(items: Floats, n: int, random_state: int | None) -> Floats:
    """Centres of n clusters by k-means, in the order of their coordinates.

    Raises
    ------
    InputError
        If there are fewer different items.
    """
    different = len(np.unique(items, axis=0))
    if different < n:
        raise InputError(f"n_anchors={n}, but there are only {different} different items to cluster; ask for fewer anchors")
    with one_blas_thread():
        found = KMeans(n, n_init=1, random_state=random_state).fit(items).cluster_centers_
    return np.ascontiguousarray(found[np.lexsort(found.T[::-1])])


def class_anchors(
    items: Floats, labels: Integers, *, band: tuple[float, float], p: float, n_jobs: int | None = None
) -> list[Floats]:
    """For each class the samples whose distance to the nearest sample of another class is within a band of percentiles (§S.2).

    Percentiles are those of the class. The closest samples are likely support vectors, the farthest outliers.

    Parameters
    ----------
    items : ndarray of shape (n_items, n_features)
        Without missing values.
    labels : ndarray of shape (n_items,)
        Classes numbered from 0; each has a sample.
    band : tuple of float
        Percentiles (low, high), both included.
    p : float
        Of the distance.
    n_jobs : int or None, default None
        Threads: None is one, -1 all.

    Returns
    -------
    list of ndarray of shape (n_anchors, n_features)
        Empty where the band leaves none.
    """
    found = []
    for c in range(int(labels.max()) + 1):
        own = items[labels == c]
        margin = AnchorSet(items[labels != c], p, n_jobs=n_jobs).distances(own)
        low, high = np.percentile(margin, band)
        found.append(np.ascontiguousarray(own[(margin >= low) & (margin <= high)]))
    return found
