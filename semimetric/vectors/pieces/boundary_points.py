"""Boundary points of two classes: points of the surface between their nearest-neighbour regions, and its normals there.

This is step 1 of paper 3, "Sampling boundary points".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import ClassifierTags
from sklearn.utils.multiclass import type_of_target

from ..._foundation.arrays import as_classes, check_sorted_classes, validated
from ..._foundation.errors import InputError
from ..._foundation.estimator import SavedEstimator, ShortRepr, check_names
from ..._foundation.stored import Stored, StoredIfSet, storable
from ..._foundation.types import ArrayLike, Floats, Integers
from .support_pairs import DistinctPlaces, SupportPairs, check_neighbors, find_distinct_places, find_support_pairs


def check_classes(estimator: Any, X: ArrayLike, y: ArrayLike) -> tuple[Floats, Any, Integers]:
    """Return X as floats (n_items, n_features), the sorted classes, at least two, and their numbers (n_items,)."""
    items = validated(estimator, X, dtype=np.float64, order="C", ensure_min_samples=2)
    labels = as_classes(y, items)
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise InputError(f"y has one class only, {classes.tolist()[0]!r}; items of at least two classes are required: add some")
    return items, classes, codes.astype(np.int64)


def support_places(pairs: SupportPairs) -> tuple[Integers, Integers]:
    """Return the sorted positions that are support points of any, and those that are their own."""
    support = np.union1d(pairs.own, pairs.other)
    self_support = np.flatnonzero(pairs.own == np.arange(len(pairs.own)))
    return support, self_support


@dataclass(frozen=True)
class Boundary:
    """The boundary points of a positive class, number 1, and a negative one, and their directions (equation 9)."""

    points: Floats  # (m, d); in the order of their support points, so that the order of the items plays no part
    directions: Floats  # (m, d)
    rows: Integers  # (m, 2); the items that are the positive and the negative support point of each boundary point
    counts: Integers  # (m,); the number of items that lead to each boundary point
    member: Integers  # (n_items,); the number of the boundary point that each item leads to

    @classmethod
    def of(cls, places: DistinctPlaces, pairs: SupportPairs) -> Boundary:
        """Return one boundary point for each distinct pair of support points."""
        is_positive = (places.codes == 1)[:, None]
        own_first = np.column_stack([pairs.own, pairs.other])
        distinct, member = np.unique(np.where(is_positive, own_first, own_first[:, ::-1]), axis=0, return_inverse=True)
        member = member.reshape(-1)[places.place_of_item]
        positive = places.points[distinct[:, 0]]
        negative = places.points[distinct[:, 1]]
        counts = np.bincount(member, minlength=len(distinct))
        return cls(positive / 2 + negative / 2, positive - negative, places.rows[distinct], counts, member)


@storable
class BoundaryPoints(ShortRepr, SavedEstimator, BaseEstimator):
    """Points of the surface between the nearest-neighbour regions of two classes, and the directions that it faces there.

    For an item x, s- is the nearest item of the other class (equation 3), and s+ is the item of its own class whose bisector
    with s- cuts the segment from s- to x first (equation 7), at the edge point of x (equation 8). The boundary point and the
    direction of this pair (equation 9), positive minus negative, are

        (s+ + s-) / 2        s+ - s-

    Many items share a pair, so there are far fewer boundary points than items (Gai & Zhang 2010, "Learning discriminative
    piecewise linear models with boundary points", AAAI; section "Sampling boundary points").

    Items at one place count as one item with a multiplicity, of the class of most of them, with a warning if there are several.
    Of items that are equally near the first in lexicographic order is chosen, so the order of the items plays no part.

    Parameters
    ----------
    neighbors : estimator or None, default None
        An unfitted estimator with ``fit`` and ``kneighbors``, such as ``NeighborIndex(d)`` for a learned distance d, or
        scikit-learn's NearestNeighbors. It replaces Euclid in equation 3; bisectors, equation 7, stay Euclidean, and properties
        1 and 2 and theorem 1 are not proved.
    n_jobs : int or None, default None
        Threads: None is one, -1 all.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The second is the positive one.
    boundary_points_, directions_ : ndarray of shape (n_boundary_points, n_features)
    pairs_ : ndarray of shape (n_boundary_points, 2)
        Rows of X of the positive and the negative support point of each boundary point.
    multiplicities_ : ndarray of shape (n_boundary_points,)
        Number of items that lead to each boundary point.
    boundary_of_ : ndarray of shape (n_items,)
        Number of the boundary point that each item leads to.
    edge_points_ : ndarray of shape (n_items, n_features)
        The edge point of each item, which is as near to the nearest item of one class as to that of the other.
    support_, self_support_ : ndarray
        Rows of X that are support points, and those that are support points of themselves.
    support_share_, self_support_share_ : float
        Their number, divided by the number of items.
    n_features_in_ : int

    Raises
    ------
    InputError
        If there are not two classes, or ``neighbors`` cannot be fitted to these features.

    Examples
    --------
    >>> found = BoundaryPoints().fit([[0.0, 0.0], [0.0, 1.0], [3.0, 0.0], [9.0, 0.0]], ["no", "no", "yes", "yes"])
    >>> found.boundary_points_.tolist(), found.directions_.tolist(), found.multiplicities_.tolist()
    ([[1.5, 0.0], [1.5, 0.5]], [[3.0, 0.0], [3.0, -1.0]], [3, 1])
    """

    classes_: Stored[NDArray[Any]]
    boundary_points_: Stored[Floats]
    directions_: Stored[Floats]
    pairs_: Stored[Integers]
    multiplicities_: Stored[Integers]
    boundary_of_: Stored[Integers]
    edge_points_: Stored[Floats]
    support_: Stored[Integers]
    self_support_: Stored[Integers]
    support_share_: Stored[float]
    self_support_share_: Stored[float]
    n_features_in_: Stored[int]
    feature_names_in_: StoredIfSet[NDArray[Any]]

    def __init__(self, *, neighbors: BaseEstimator | None = None, n_jobs: int | None = None) -> None:
        self.neighbors = neighbors
        self.n_jobs = n_jobs

    def fit(self, X: ArrayLike, y: ArrayLike) -> BoundaryPoints:
        """Find the boundary points of X (n_items, n_features) with classes y (n_items,)."""
        items, self.classes_, codes = check_classes(self, X, y)
        if len(self.classes_) > 2:
            raise InputError(
                f"Only binary classification is supported. The type of the target is {type_of_target(y)}: y has "
                f"{len(self.classes_)} classes, two are required; set one against the rest, (y == one)"
            )
        check_neighbors(self.neighbors)
        places = find_distinct_places(items, codes, 2)
        pairs = find_support_pairs(places, neighbors=self.neighbors, n_jobs=self.n_jobs)
        self._set_boundary(places, pairs)
        self._set_support(places, pairs)
        return self

    def _set_boundary(self, places: DistinctPlaces, pairs: SupportPairs) -> None:
        found = Boundary.of(places, pairs)
        self.boundary_points_ = found.points
        self.directions_ = found.directions
        self.pairs_ = found.rows
        self.multiplicities_ = found.counts
        self.boundary_of_ = found.member
        opposite = places.points[pairs.other]
        edge_points = opposite + pairs.cut[:, None] * (places.points - opposite)
        self.edge_points_ = edge_points[places.place_of_item]

    def _set_support(self, places: DistinctPlaces, pairs: SupportPairs) -> None:
        support, self_support = support_places(pairs)
        self.support_ = np.sort(places.rows[support])
        self.self_support_ = np.sort(places.rows[self_support])
        self.support_share_ = len(support) / places.n_items
        self.self_support_share_ = len(self_support) / places.n_items

    def check_restored(self) -> None:
        check_sorted_classes(self.classes_, 2)
        d = self.n_features_in_
        check_names(self, d)
        check_neighbors(self.neighbors)
        m = len(self.stored_array("boundary_points_", None, d))
        self.stored_array("directions_", m, d)
        self.stored_array("multiplicities_", m)
        n = len(self.stored_array("boundary_of_", None, least=0, most=m - 1))
        self.stored_array("edge_points_", n, d)
        self.stored_array("pairs_", m, 2, least=0, most=n - 1)
        for name in ("support_", "self_support_"):
            self.stored_array(name, None, least=0, most=n - 1)
        if not n or not np.array_equal(np.bincount(self.boundary_of_, minlength=m), self.multiplicities_):
            raise InputError("the items of boundary points are not counted as they are numbered; restore the file")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.classifier_tags = ClassifierTags(multi_class=False)
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "support_share_")
