"""What classifiers and regressors by neighbours share: items indexed under a distance that is learned first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from .._foundation.errors import InputError
from .._foundation.short_reprs import ShortRepr
from .._foundation.tables import row_labels
from .._foundation.types import ArrayLike, Floats, Integers
from .._foundation.validation import check_choice, check_count
from ..data.single_rows import single_row
from ..distances.explanations import Explanation
from ..distances.semimetric import Semimetric
from ..neighbors.index import NeighborIndex
from ..neighbors.voters import Voters, find_voters
from ..neighbors.voting import WEIGHTS, VoteRule, neighbor_counts
from .nested_learner import NestedLearner
from .saved_votes import SavedVotes

__all__ = ["KeptItems", "LearnedNeighbors", "kept_items"]

_FOR_FEW = 3  # neighbours that vote where nothing can be held out
_WIDTH_FOR_FEW = (0.25, 5)  # a quarter of the distance to the fifth neighbour

_MOST_SHOWN = 10  # neighbours, unless more are asked for


class KeptItems(NamedTuple):
    """The items that a fitted classifier or regressor by neighbours holds, in the order of its index.

    Parameters
    ----------
    targets : ndarray of shape (n_items,)
        Their classes or values.
    names : ndarray of shape (n_items,)
        What the table of the fit calls its rows.
    has_weights, has_class_weights : bool
        Whether some items, or some classes, count more than others.
    """

    targets: Any
    names: Any
    has_weights: bool
    has_class_weights: bool


def kept_items(model: Any) -> KeptItems | None:
    """The items that a model votes by; None if it is no fitted classifier or regressor by neighbours."""
    if not isinstance(model, LearnedNeighbors) or not hasattr(model, "index_"):
        return None
    has_class_weights = getattr(model, "_factors", None) is not None
    return KeptItems(model._targets, model._labels, model._weight is not None, has_class_weights)


class LearnedNeighbors(ShortRepr, SavedVotes, NestedLearner):
    """Neighbours under a learned distance: the parameters, the index and the explanations that both estimators share."""

    n_neighbors: int | str
    weights: str
    algorithm: str
    n_jobs: int | None
    learner_: Any
    index_: NeighborIndex
    vote_rule_: VoteRule

    def _index(self, X: ArrayLike, targets: Any, sample_weight: ArrayLike | None) -> None:
        """Index the items under the learned distance, and record their classes or values, and their weights."""
        self._weight = None if sample_weight is None else neighbor_counts(np.asarray(sample_weight, dtype=np.float64))
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
        if not (isinstance(self.n_neighbors, str) and self.n_neighbors == "auto"):
            _check_n_neighbors(self.n_neighbors)
        check_choice("weights", self.weights, ("auto", *WEIGHTS))

    @property
    def _given_rule(self) -> VoteRule | None:
        """The rule that the parameters say in full; None where something is left to choose."""
        if isinstance(self.n_neighbors, str) or self.weights in ("auto", "kernel"):
            return None
        return VoteRule(int(self.n_neighbors), self.weights)

    @property
    def _rule_for_few(self) -> VoteRule:
        """The rule where nothing can be held out to choose one."""
        k = _FOR_FEW if isinstance(self.n_neighbors, str) else int(self.n_neighbors)
        if self.weights == "kernel":
            return VoteRule(k, "kernel", *_WIDTH_FOR_FEW)
        return VoteRule(k, "uniform" if self.weights == "auto" else self.weights)

    @property
    def n_neighbors_(self) -> int:
        """How many neighbours vote, beside those tied with the last of them."""
        check_is_fitted(self, "vote_rule_")
        return self.vote_rule_.n_neighbors

    @property
    def weights_(self) -> str:
        """How their votes are weighed: "uniform", "distance" or "kernel"."""
        check_is_fitted(self, "vote_rule_")
        return self.vote_rule_.weights

    def _queries(self, X: ArrayLike) -> Floats:
        """The queries, encoded."""
        check_is_fitted(self, "index_")
        return self.index_._queries(X)

    def _voters(self, queries: Floats) -> Iterator[Voters]:
        """The neighbours of every encoded query, among which are all that vote, in groups of queries."""
        return find_voters(self.index_, queries, self.vote_rule_.n_searched, self._weight)

    def _votes(self, voters: Voters) -> Floats:
        """The weight of the vote of every voter, shape (n, K)."""
        return self.vote_rule_.votes(voters.distances, voters.weight)

    def _vote_shares(self, query: Floats, indices: Integers) -> Floats:
        """The shares of all votes for an encoded query that the items of these row numbers have, shape (k,)."""
        voters = next(v for v in self._voters(query) if len(v.queries))
        votes = self._votes(voters)[0]
        share = dict(zip(voters.indices[0].tolist(), votes / (votes.sum() + self.vote_rule_.smoothing), strict=True))
        return np.array([share.get(i, 0.0) for i in indices.tolist()])

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
        """Distances and rows of the nearest items that were fitted, both of shape (n_queries, k); `n_neighbors_` by default."""
        check_is_fitted(self, "index_")
        k = self.n_neighbors_ if n_neighbors is None else check_count("n_neighbors", n_neighbors)
        return self.index_.kneighbors(X, min(k, self.n_samples_fit_))

    def explain_neighbors(self, x: ArrayLike, n_neighbors: int | None = None, *, by: str = "features") -> Explanation:
        """Why these are the neighbours of x: what every feature adds to their distances, beside the values of both.

        Parameters
        ----------
        x : array-like of shape (n_features,), dict, series of pandas, or a table of one row
        n_neighbors : int or None
            `n_neighbors_` by default, of which the 10 nearest are shown.
        by : {"features", "terms"}, default "features"
            By "terms", directions and joint tables stand by their own names; see `Semimetric.contributions`.

        Returns
        -------
        Explanation
            Printed, a table; neighbours have the labels of the frame of pandas that was fitted, and each its share of all
            votes for x. What these shares lack to 1 have other neighbours, and the smoothing.
        """
        check_is_fitted(self, "index_")
        k = min(self.n_neighbors_, _MOST_SHOWN) if n_neighbors is None else check_count("n_neighbors", n_neighbors)
        found = self.index_.explain(x, n_neighbors=min(k, self.n_samples_fit_), by=by)
        query, _ = single_row(x, self.semimetric_.schema)
        votes, kind = self._vote_shares(query, found.indices), "class" if is_classifier(self) else "value"
        targets, labels = self._targets[found.indices], self._labels[found.indices]
        return replace(found, targets=targets, labels=labels, target_name=kind, votes=votes)


def _check_n_neighbors(n_neighbors: Any) -> int:
    """The number of neighbours that is given, or an error that says "auto" too."""
    if isinstance(n_neighbors, str):
        raise InputError(f'n_neighbors={n_neighbors!r}: an integer >= 1 or "auto" is required')
    return check_count("n_neighbors", n_neighbors)
