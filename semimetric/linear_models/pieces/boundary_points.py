"""Boundary points of two classes: where the surface of nearest neighbours runs, and which way it faces (paper 3, step 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import ClassifierTags
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import validate_data

from ..._foundation.errors import InputError
from ..._foundation.types import ArrayLike, Floats, Integers
from ...distances.semimetric import Semimetric
from .support_pairs import DistinctPlaces, SupportPairs, find_support_pairs, settle

__all__ = ["Boundary", "BoundaryPoints", "check_classes", "check_semimetric", "support_of"]


def check_classes(estimator: Any, X: ArrayLike, y: ArrayLike) -> tuple[Floats, Any, Integers]:
    """Items, classes and the class of each item by its number; two classes at least."""
    if y is None:
        raise InputError("requires y to be passed, but the target y is None; give a class for every item")
    items, labels = validate_data(estimator, X, y, dtype=np.float64, order="C", ensure_min_samples=2)
    check_classification_targets(labels)
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise InputError(f"y has one class only, {classes.tolist()[0]!r}; items of at least two classes are required: add some")
    return items, classes, codes.astype(np.int64)


def check_semimetric(semimetric: Any, n_features: int) -> None:
    """Refuse what is no `Semimetric` of so many numbers."""
    if semimetric is None:
        return
    if not isinstance(semimetric, Semimetric):
        raise InputError(f"semimetric={semimetric!r} is no Semimetric; give model.semimetric_ of a learner, or None for Euclid")
    if semimetric.n_features != n_features or not semimetric.schema.plain:
        raise InputError(
            f"semimetric is a distance of {semimetric.n_features} features, X has {n_features}; a distance of the same "
            "features, all of them numbers, is required: learn one from items like X"
        )


def support_of(pairs: SupportPairs) -> tuple[Integers, Integers]:
    """Places that are support points of some, and those that are support points of themselves."""
    return np.union1d(pairs.own, pairs.other), np.flatnonzero(pairs.own == np.arange(len(pairs.own)))


@dataclass(frozen=True)
class Boundary:
    """Boundary points and directions (m, d), equation 9, with the places whose class is 1 positive.

    Parameters
    ----------
    points, directions : ndarray of shape (m, d)
        In the order of their support points, so that the order of the items plays no part.
    rows : ndarray of shape (m, 2)
        Items that are the positive and the negative support point.
    counts : ndarray of shape (m,)
        Items that lead to each.
    member : ndarray of shape (n_items,)
        Which one each item leads to.
    """

    points: Floats
    directions: Floats
    rows: Integers
    counts: Integers
    member: Integers

    @classmethod
    def of(cls, places: DistinctPlaces, pairs: SupportPairs) -> Boundary:
        """Those of the distinct pairs of support points."""
        positive = (places.codes == 1)[:, None]
        ends = np.where(positive, np.column_stack([pairs.own, pairs.other]), np.column_stack([pairs.other, pairs.own]))
        distinct, member = np.unique(ends, axis=0, return_inverse=True)
        member = member.reshape(-1)[places.place]
        plus, minus = places.points[distinct[:, 0]], places.points[distinct[:, 1]]
        counts = np.bincount(member, minlength=len(distinct))
        return cls(plus / 2 + minus / 2, plus - minus, places.rows[distinct], counts, member)


class BoundaryPoints(BaseEstimator):
    """Points between two classes through which the surface of nearest neighbours runs, with the directions that it faces.

    For an item x, s- is the nearest item of the other class (equation 3), and s+ the item of its own class whose bisector with
    s- cuts the segment between s- and x first (equation 7), at the edge point of x (equation 8). Boundary point and direction
    of the pair (equation 9), positive minus negative:

        (s+ + s-) / 2        s+ - s-

    Many items share a pair, so there are far fewer boundary points than items (Gai & Zhang 2010, "Learning discriminative
    piecewise linear models with boundary points", AAAI; section "Sampling boundary points").

    Items at one place count as one with its multiplicity. Where they contradict, the place has the class of most, of as many
    the first, with a warning: the paper assumes that there are none. Among items equally near the first in lexicographic order
    is chosen, so the order of the items plays no part.

    Parameters
    ----------
    semimetric : Semimetric or None, default None
        A distance of this package in place of Euclid in equation 3. Equation 7 is about bisectors and stays Euclidean;
        properties 1 and 2 and theorem 1 are then not proved.
    n_jobs : int or None, default None
        Threads.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The second is the positive one.
    boundary_points_, directions_ : ndarray of shape (n_boundary_points, n_features)
    pairs_ : ndarray of shape (n_boundary_points, 2)
        Rows of X of the positive and the negative support point of each.
    multiplicities_ : ndarray of shape (n_boundary_points,)
        Items that lead to each.
    boundary_of_ : ndarray of shape (n_items,)
        Which boundary point each item leads to.
    edge_points_ : ndarray of shape (n_items, n_features)
        As near to the nearest item of one class as of the other.
    support_, self_support_ : ndarray
        Rows of X that are support points, and those that are support points of themselves.
    support_share_, self_support_share_ : float
        Their number, divided by the number of items.
    n_features_in_ : int

    Raises
    ------
    InputError
        If there are not two classes, or ``semimetric`` is none for these features.

    Examples
    --------
    >>> found = BoundaryPoints().fit([[0.0, 0.0], [0.0, 1.0], [3.0, 0.0], [9.0, 0.0]], ["no", "no", "yes", "yes"])
    >>> found.boundary_points_.tolist(), found.directions_.tolist(), found.multiplicities_.tolist()
    ([[1.5, 0.0], [1.5, 0.5]], [[3.0, 0.0], [3.0, -1.0]], [3, 1])
    """

    def __init__(self, *, semimetric: Semimetric | None = None, n_jobs: int | None = None) -> None:
        self.semimetric = semimetric
        self.n_jobs = n_jobs

    def fit(self, X: ArrayLike, y: ArrayLike) -> BoundaryPoints:
        """Find the boundary points of X (n_items, n_features) with classes y (n_items,)."""
        items, self.classes_, codes = check_classes(self, X, y)
        if len(self.classes_) > 2:
            raise InputError(
                f"Only binary classification is supported. The type of the target is {type_of_target(y)}: y has "
                f"{len(self.classes_)} classes, two are required; set one against the rest, (y == one)"
            )
        check_semimetric(self.semimetric, items.shape[1])
        places = settle(items, codes, 2)
        pairs = find_support_pairs(places, semimetric=self.semimetric, n_jobs=self.n_jobs)
        self._keep_boundary(places, pairs)
        self._keep_support(places, pairs)
        return self

    def _keep_boundary(self, places: DistinctPlaces, pairs: SupportPairs) -> None:
        found = Boundary.of(places, pairs)
        self.boundary_points_, self.directions_, self.pairs_ = found.points, found.directions, found.rows
        self.multiplicities_, self.boundary_of_ = found.counts, found.member
        start, x = places.points[pairs.other], places.points
        self.edge_points_ = (start + pairs.cut[:, None] * (x - start))[places.place]

    def _keep_support(self, places: DistinctPlaces, pairs: SupportPairs) -> None:
        some, own = support_of(pairs)
        self.support_, self.self_support_ = np.sort(places.rows[some]), np.sort(places.rows[own])
        self.support_share_, self.self_support_share_ = (len(rows) / places.n_items for rows in (some, own))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.classifier_tags = ClassifierTags(multi_class=False)
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "support_share_")
