"""A map of items: two coordinates of each, whose Euclidean distances are near the learned ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.decomposition import KernelPCA
from sklearn.manifold import trustworthiness

from .._foundation.types import Floats
from ..distances.model.semimetric import Semimetric
from .packed_numbers import packed
from .subjects import ReportItems

_FEWEST = 4  # items of which a map says anything
_NEAREST = 10


def map_of_items(d: Semimetric, shown: ReportItems | None) -> dict[str, Any] | None:
    """The coordinates of the items of a page by classical scaling, and how far they can be trusted.

    Classical scaling (Torgerson 1952) centres the squares of the distances and takes the two leading eigenvectors, which
    `sklearn.decomposition.KernelPCA` finds. Of a distance that is not symmetric the mean of both directions is taken. There is
    no map of fewer than four items, of items that coincide, or where a distance is negative, which only a model without axioms
    can say. The trust is that of `sklearn.manifold.trustworthiness`: 1 if the nearest on the map are among the nearest under
    the distance.
    """
    if shown is None or len(shown) < _FEWEST:
        return None
    between = _distances(d, shown.values)
    places = classical_scaling(between)
    if places is None or between.min() < 0:
        return None
    k = min(_NEAREST, (len(shown) - 1) // 2)
    trust = float(trustworthiness(between, places, n_neighbors=k, metric="precomputed"))
    return {"x": packed(places[:, 0]), "y": packed(places[:, 1]), "trust": trust, "k": k}


def _distances(d: Semimetric, values: Floats) -> Floats:
    """The distances of all encoded items, symmetric, shape (n, n)."""
    n = len(values)
    rows, columns = np.triu_indices(n, 1)
    one = d.paired_by_index(values, np.column_stack([rows, columns]))
    if not d.axioms.symmetric:
        one = one / 2 + d.paired_by_index(values, np.column_stack([columns, rows])) / 2
    out = np.zeros((n, n))
    out[rows, columns] = out[columns, rows] = one
    return out


def classical_scaling(distances: Floats) -> Floats | None:
    """Two coordinates of items, shape (n, 2), from their distances (n, n); None where the distances are all equal to 0.

    The coordinates are in units of the largest distance. The sign of each is such that its largest value is positive.
    """
    largest = distances.max()
    if not largest > 0 or not np.isfinite(largest):
        return None
    gram = -0.5 * (distances / largest) ** 2
    found = KernelPCA(n_components=2, kernel="precomputed", eigen_solver="dense").fit_transform(gram)
    out = np.zeros((len(distances), 2))
    out[:, : found.shape[1]] = found
    out[~np.isfinite(out)] = 0.0
    far = np.abs(out).argmax(axis=0)
    return np.where(out[far, [0, 1]] < 0, -out, out)
