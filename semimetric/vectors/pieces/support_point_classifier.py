"""A nearest-neighbour classifier that keeps the support points only (paper 3, theorems 1 and 2)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.validation import check_is_fitted

from ..._foundation.arrays import check_sorted_classes, input_errors, validated
from ..._foundation.errors import InputError
from ..._foundation.estimator import SavedEstimator, ShortRepr, check_names
from ..._foundation.stored import Stored, StoredIfSet, storable
from ..._foundation.types import ArrayLike, Floats, Integers
from ..._foundation.validation import check_n_jobs
from .boundary_points import check_classes, support_places
from .support_pairs import check_neighbors, common_unit, find_distinct_places, find_support_pairs, nearest_rows


@storable
class SupportPointClassifier(ShortRepr, SavedEstimator, ClassifierMixin, BaseEstimator):
    """Nearest-neighbour classifier that keeps the support points only and still has no training error (theorem 1).

    The support point of its own class that is nearest to an item is nearer than any item of another class. So leaving out all
    other items costs no training error, unless items at one place belong to several classes. With more than two classes each is
    set against the others, and the proof holds as it stands. The error on new items is bounded by the error that leaving one
    item out would show (theorem 2),

        E[error with N - 1 items] <= E[2 N_support - N_self] / N

    with N_support support points, N_self of which are support points of themselves. Items at places with several classes are
    added to the numerator, since leaving one of them out may cause an error.

    Parameters
    ----------
    neighbors : estimator or None, default None
        An unfitted estimator with ``fit`` and ``kneighbors``, such as ``NeighborIndex(d)`` for a learned distance d, or
        scikit-learn's NearestNeighbors. It replaces Euclid in equation 3, and finds the nearest support point of a query;
        bisectors stay Euclidean, and neither theorem is proved.
    n_jobs : int or None, default None
        Threads: None is one, -1 all.

    Attributes
    ----------
    classes_ : ndarray
    support_ : ndarray
        Rows of X that are kept.
    support_points_ : ndarray of shape (n_support, n_features)
    support_codes_ : ndarray of shape (n_support,)
        The place of the class of each in ``classes_``.
    neighbors_ : estimator or None
        The clone of ``neighbors`` that was fitted to the support points.
    support_share_ : float
        Their number, divided by the number of items.
    generalization_bound_ : float
        (2 N_support - N_self) / N of these items, at most 1: an estimate of the bound, which is an expectation over items. NaN
        with ``neighbors``, where it is not proved.
    n_features_in_ : int

    Raises
    ------
    InputError
        If there are not two classes at least, or ``neighbors`` cannot be fitted to these features.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(400, noise=0.15, random_state=0)
    >>> model = SupportPointClassifier().fit(X, y)
    >>> model.score(X, y), model.support_share_ < 0.3
    (1.0, True)
    """

    classes_: Stored[NDArray[Any]]
    support_: Stored[Integers]
    support_share_: Stored[float]
    generalization_bound_: Stored[float]
    _codes: Stored[Integers]
    _unit: Stored[float]
    _points: Stored[Floats]
    n_features_in_: Stored[int]
    feature_names_in_: StoredIfSet[NDArray[Any]]

    def __init__(self, *, neighbors: BaseEstimator | None = None, n_jobs: int | None = None) -> None:
        self.neighbors = neighbors
        self.n_jobs = n_jobs

    def fit(self, X: ArrayLike, y: ArrayLike) -> SupportPointClassifier:
        """Keep the support points of X (n_items, n_features) with classes y (n_items,)."""
        items, self.classes_, codes = check_classes(self, X, y)
        check_neighbors(self.neighbors)
        places = find_distinct_places(items, codes, len(self.classes_))
        pairs = find_support_pairs(places, neighbors=self.neighbors, n_jobs=self.n_jobs)
        support, self_support = support_places(pairs)
        self.support_ = np.sort(places.rows[support])
        self.support_share_ = len(support) / places.n_items
        n_errors = 2 * len(support) - len(self_support) + places.n_contradicted
        self.generalization_bound_ = min(1.0, n_errors / places.n_items) if self.neighbors is None else np.nan
        self._codes = codes[self.support_]
        self._unit = common_unit(items)
        self._search_among(items[self.support_] / self._unit)
        return self

    def _search_among(self, points: Floats) -> None:
        self._points = points
        self.neighbors_ = None
        if self.neighbors is None:
            self._nearest = NearestNeighbors(n_neighbors=1, n_jobs=self.n_jobs).fit(points)
        else:
            self.neighbors_ = clone(self.neighbors).fit(points * self._unit)

    @property
    def support_points_(self) -> Floats:
        """The support points, shape (n_support, n_features)."""
        return self._points * self._unit

    @property
    def support_codes_(self) -> Integers:
        """For each support point the place of its class in ``classes_``, shape (n_support,)."""
        return self._codes

    def check_restored(self) -> None:
        check_n_jobs(self.n_jobs)
        check_sorted_classes(self.classes_)
        n = len(self.stored_array("support_", None, least=0))
        points = self.stored_array("_points", n, None, least=-1, most=1)
        self.stored_array("_codes", n, least=0, most=len(self.classes_) - 1)
        if not n:
            raise InputError("there are no support points; restore the file")
        bound = self.generalization_bound_
        is_bound = 0 <= bound <= 1 or (np.isnan(bound) and self.neighbors is not None)
        if not 0 < self._unit < np.inf or not (0 <= self.support_share_ <= 1 and is_bound):
            raise InputError("the unit of support points is not positive, or a share is not between 0 and 1; restore the file")
        if (np.diff(self.support_) <= 0).any():
            raise InputError("support_ are not different rows in ascending order; restore the file")
        check_names(self, points.shape[1])
        check_neighbors(self.neighbors)
        with input_errors():  # of the search, whose parameters the file has too
            self._search_among(points)

    def predict(self, X: ArrayLike) -> Any:
        """Return the class of the nearest support point, shape (n_queries,)."""
        check_is_fitted(self, "support_")
        items = validated(self, X, dtype=np.float64, reset=False)
        if self.neighbors_ is None:
            nearest = self._nearest.kneighbors(items / self._unit, return_distance=False)[:, 0]
        else:
            nearest = nearest_rows(self.neighbors_, items, len(self._points))
        return self.classes_[self._codes[nearest]]
