"""Nearest neighbours with the support points alone (paper 3, theorems 1 and 2)."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.validation import check_is_fitted, validate_data

from ..._foundation.types import ArrayLike
from .boundary_points import check_classes, support_of
from .support_pairs import common_unit, find_support_pairs, settle

__all__ = ["SupportPointClassifier"]


class SupportPointClassifier(ClassifierMixin, BaseEstimator):
    """The nearest neighbour among the support points only: all training items keep their class (theorem 1).

    Every item's nearest support point of its own class is nearer than any item of another, so leaving out all other items
    costs no training error, unless items at one place contradict. With more than two classes each is set against the others,
    and the proof holds as it stands. The error on new items is bounded by what leaving one out would show (theorem 2):

        E[error with N - 1 items] <= E[2 N_support - N_self] / N

    N_support support points, N_self of them their own. Items at places where classes contradict are added to the numerator,
    as leaving one of them out may fail.

    Parameters
    ----------
    n_jobs : int or None, default None
        Threads.

    Attributes
    ----------
    classes_ : ndarray
    support_ : ndarray
        Rows of X that are kept.
    support_share_ : float
        Their share in the items.
    generalization_bound_ : float
        (2 N_support - N_self) / N of these items, at most 1: an estimate of the bound, whose expectation is over items.
    n_features_in_ : int

    Raises
    ------
    InputError
        If there are not two classes at least.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(400, noise=0.15, random_state=0)
    >>> model = SupportPointClassifier().fit(X, y)
    >>> model.score(X, y), model.support_share_ < 0.3
    (1.0, True)
    """

    def __init__(self, *, n_jobs: int | None = None) -> None:
        self.n_jobs = n_jobs

    def fit(self, X: ArrayLike, y: ArrayLike) -> SupportPointClassifier:
        """Keep the support points of X (n_items, n_features) with classes y (n_items,)."""
        items, self.classes_, codes = check_classes(self, X, y)
        places = settle(items, codes, len(self.classes_))
        some, own = support_of(find_support_pairs(places, n_jobs=self.n_jobs))
        self.support_, self.support_share_ = np.sort(places.rows[some]), len(some) / places.n_items
        failing = 2 * len(some) - len(own) + places.n_contradicted
        self.generalization_bound_ = min(1.0, failing / places.n_items)
        self._codes, self._unit = codes[self.support_], common_unit(items)
        self._nearest = NearestNeighbors(n_neighbors=1, n_jobs=self.n_jobs).fit(items[self.support_] / self._unit)
        return self

    def predict(self, X: ArrayLike) -> Any:
        """The class of the nearest support point, shape (n_queries,)."""
        check_is_fitted(self, "support_")
        items = validate_data(self, X, dtype=np.float64, reset=False)
        nearest = self._nearest.kneighbors(items / self._unit, return_distance=False)[:, 0]
        return self.classes_[self._codes[nearest]]
