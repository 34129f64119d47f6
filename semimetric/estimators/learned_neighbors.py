"""What classifiers and regressors by neighbours share: items indexed under a distance that is learned first."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from .._foundation.short_reprs import ShortRepr
from .._foundation.tables import row_labels
from .._foundation.types import ArrayLike, Floats, Integers
from .._foundation.validation import check_count
from ..distances.explanations import Explanation
from ..distances.semimetric import Semimetric
from ..neighbors.index import NeighborIndex
from ..neighbors.voting import counted_weights, nearness
from .nested_learner import NestedLearner
from .saved_votes import SavedVotes

__all__ = ["LearnedNeighbors"]


class LearnedNeighbors(ShortRepr, SavedVotes, NestedLearner):
    """Neighbours under a learned distance: the parameters, the index and the explanations that both estimators share."""

    n_neighbors: int
    weights: str
    algorithm: str
    n_jobs: int | None
    learner_: Any
    index_: NeighborIndex

    def _index(self, X: ArrayLike, targets: Any, sample_weight: ArrayLike | None) -> None:
        """Index the items under the learned distance, and record their classes or values, and their weights."""
        self._weight = None if sample_weight is None else _neighbors_each(np.asarray(sample_weight, dtype=np.float64))
        d = self.learner_.semimetric_
        index = NeighborIndex(d, algorithm=self.algorithm, n_jobs=self.n_jobs).fit(X)
        self._keep_index(index, targets, row_labels(X, len(targets)))

    def _keep_index(self, index: NeighborIndex, targets: Any, labels: Any) -> None:
        """Record the index of the items, their classes or values, and what their table calls them."""
        d = self.learner_.semimetric_
        self.index_, self._targets, self._labels = index, targets, labels
        self.n_features_in_ = d.n_features
        self.__dict__.pop("feature_names_in_", None)
        if hasattr(self.learner_, "feature_names_in_"):
            self.feature_names_in_ = self.learner_.feature_names_in_

    def _check(self) -> None:
        """Refuse parameters of the votes that are unknown, before the distance is learned."""
        check_count("n_neighbors", self.n_neighbors)
        nearness(np.ones((1, 1)), self.weights)

    def _voters(self, X: ArrayLike) -> tuple[Integers, Floats]:
        """The rows of the neighbours that vote, and the weights of their votes, both of shape (n_queries, k)."""
        distances, indices = self.kneighbors(X)
        if self._weight is None:
            return indices, nearness(distances, self.weights)
        k = self.n_neighbors
        while k < self.n_samples_fit_ and (self._weight[indices].sum(axis=1) < self.n_neighbors).any():
            k *= 2
            distances, indices = self.kneighbors(X, k)
        counted = counted_weights(self._weight[indices], self.n_neighbors)
        return indices, counted * nearness(np.where(counted > 0, distances, np.inf), self.weights)

    @property
    def semimetric_(self) -> Semimetric:
        """The distance that `learner_` has learned."""
        check_is_fitted(self, "index_")
        return self.learner_.semimetric_

    @property
    def n_samples_fit_(self) -> int:
        """The number of items that were fitted, which vote."""
        return self.index_.n_samples_fit_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "index_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = getattr(self.learner, "missing", "error") == "level"
        return tags

    def kneighbors(self, X: ArrayLike, n_neighbors: int | None = None) -> tuple[Floats, Integers]:
        """Distances and rows of the nearest items that were fitted, both of shape (n_queries, k)."""
        check_is_fitted(self, "index_")
        k = self.n_neighbors if n_neighbors is None else check_count("n_neighbors", n_neighbors)
        return self.index_.kneighbors(X, min(k, self.n_samples_fit_))

    def explain_neighbors(self, x: ArrayLike, n_neighbors: int | None = None, *, by: str = "features") -> Explanation:
        """Why these are the neighbours of x: what every feature adds to their distances, beside the values of both.

        Parameters
        ----------
        x : array-like of shape (n_features,), dict, series of pandas, or a table of one row
        n_neighbors : int or None
            `n_neighbors` of the estimator by default.
        by : {"features", "terms"}, default "features"
            By "terms", directions and joint tables stand by their own names; see `Semimetric.contributions`.

        Returns
        -------
        Explanation
            Printed, a table; neighbours have the labels of the frame of pandas that was fitted.
        """
        check_is_fitted(self, "index_")
        k = self.n_neighbors if n_neighbors is None else check_count("n_neighbors", n_neighbors)
        found = self.index_.explain(x, n_neighbors=min(k, self.n_samples_fit_), by=by)
        targets, labels = self._targets[found.indices], self._labels[found.indices]
        return replace(found, targets=targets, labels=labels, target_name="class" if is_classifier(self) else "value")


def _neighbors_each(weight: Floats) -> Floats:
    """How many neighbours every item is; where all weights are below 1, as if they sum to 1, the largest is one neighbour."""
    return weight / min(1.0, weight.max())
