"""Classes and values by the votes of nearest neighbours under a distance that is learned first."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin

from .._foundation.errors import InputError
from .._foundation.shared_docstrings import with_shared_parameters
from .._foundation.storable import storable
from .._foundation.tables import numbered_rows, take_rows
from .._foundation.target_arrays import as_classes, as_targets
from .._foundation.types import ArrayLike, Floats
from .._foundation.validation import check_count, check_weights, weight_option
from ..data.distinct_rows import distinct_rows
from ..data.pair_sampling import sample_pairs
from ..data.schema import Schema
from ..neighbors.voting import shares
from .large_margin_learner import LargeMarginLearner
from .learned_neighbors import LearnedNeighbors
from .regressor import DistanceRegressor
from .shared_parameters import VOTE_PARAMETERS

__all__ = ["SemimetricClassifier", "SemimetricRegressor"]


@storable
@with_shared_parameters(VOTE_PARAMETERS)
class SemimetricClassifier(ClassifierMixin, LearnedNeighbors):
    """k nearest neighbours under a distance learned from the classes: fit learns, indexes, and predict counts votes.

    Parameters
    ----------
    learner : estimator or None, default None
        With ``fit(X, y)`` and ``semimetric_``; None is a `LargeMarginLearner` with its default settings. Parameters of the
        learner are set as ``learner__alpha`` and so on, those of the default one too.
    n_neighbors : int, default 3
        Neighbours that vote.
    weights : {"uniform", "distance"}, default "uniform"
        Votes count alike, or by 1 / distance; neighbours at distance 0 then vote alone.
    {algorithm}
    {n_jobs}
    random_state : int, RandomState or None, default None
        Seed of what the learner draws, in place of its own; None leaves the learner as it is.
    {effort}

    Attributes
    ----------
    learner_ : estimator
        The fitted learner.
    semimetric_ : Semimetric
    index_ : NeighborIndex
    classes_ : ndarray
    n_features_in_ : int

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> learner = LargeMarginLearner(n_knots=6, alpha=1e-2, directions=None, tables="warped")
    >>> model = SemimetricClassifier(learner).fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.9)
    True
    """

    def __init__(
        self,
        learner: Any = None,
        *,
        n_neighbors: int = 3,
        weights: str = "uniform",
        algorithm: str = "exact",
        n_jobs: int | None = None,
        random_state: Any = None,
        effort: str | None = None,
    ) -> None:
        self.learner = learner
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.algorithm = algorithm
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.effort = effort

    @staticmethod
    def _default_learner() -> LargeMarginLearner:
        return LargeMarginLearner()

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> SemimetricClassifier:
        """Learn the distance from X (n_items, n_features) and the classes y, and index the items.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_items, n_features)
        y : array-like of shape (n_items,)
        sample_weight : array-like of shape (n_items,) or None
            An item of weight 3 learns and votes like the item three times, and is three of the ``n_neighbors``; one of weight
            0 neither learns nor votes. Votes are counted with the weights divided by ``min(1, max(sample_weight))``, so that
            weights that sum to 1 leave the number of neighbours what it is.

        Raises
        ------
        InputError
            If the data cannot be used, or there are weights and the learner takes none; NotSupportedError if parameters of the
            learner do not go together.
        """
        self._check()
        labels = as_classes(y, X)
        learner = self._own_learner(self.random_state)
        self.learner_ = learner.fit(X, y, **weight_option(learner, sample_weight))
        used = check_weights(sample_weight, len(labels)) > 0
        self._keep_classes(labels, used)
        self._index(X, labels, sample_weight)
        return self

    def _keep_classes(self, labels: Any, used: Any) -> None:
        """Record the classes of the items that are used, and the number of the class of every item."""
        self.classes_ = np.unique(labels[used])
        self._codes = np.searchsorted(self.classes_, np.where(used, labels, self.classes_[0]))  # unused ones have no vote

    def _keep_targets(self, targets: Any, used: Any) -> Any:
        labels = as_classes(targets, targets)
        self._keep_classes(labels, used)
        return labels

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Share of the votes that each class gets, shape (n_queries, n_classes)."""
        indices, vote = self._voters(X)
        return shares(self._codes[indices], len(self.classes_), vote)

    def predict(self, X: ArrayLike) -> Any:
        """The class with the most votes; of several, the first in ``classes_``."""
        chosen = self.predict_proba(X).argmax(axis=1)
        return self.classes_[chosen]


@storable
@with_shared_parameters(VOTE_PARAMETERS)
class SemimetricRegressor(RegressorMixin, LearnedNeighbors):
    """k nearest neighbours under a distance learned from abs(y_i - y_j): near are items with like values.

    Parameters
    ----------
    learner : DistanceRegressor or None, default None
        Learns from pairs and distances; None is ``DistanceRegressor()``. Its ``preprocessor`` is set to the items. Its
        parameters are set as ``learner__alpha`` and so on, those of the default one too.
    n_neighbors : int, default 5
        Neighbours that vote.
    weights : {"uniform", "distance"}, default "distance"
        Votes count alike, or by 1 / distance; neighbours at distance 0 then vote alone.
    n_pairs : int, default 20000
        Pairs of items drawn to learn from, a quarter of them near ones.
    {algorithm}
    {n_jobs}
    random_state : int or None, default 0
        Seed of the pairs that are drawn.
    {effort}

    Attributes
    ----------
    learner_ : DistanceRegressor
    semimetric_ : Semimetric
    index_ : NeighborIndex
    n_features_in_ : int

    Examples
    --------
    >>> X = np.random.default_rng(0).random((200, 2))
    >>> model = SemimetricRegressor(DistanceRegressor(n_knots=3, alpha=1e-3), n_pairs=500).fit(X, 5 * X[:, 0])
    >>> bool(model.score(X, 5 * X[:, 0]) > 0.9)
    True
    """

    def __init__(
        self,
        learner: Any = None,
        *,
        n_neighbors: int = 5,
        weights: str = "distance",
        n_pairs: int = 20_000,
        algorithm: str = "exact",
        n_jobs: int | None = None,
        random_state: int | None = 0,
        effort: str | None = None,
    ) -> None:
        self.learner = learner
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.n_pairs = n_pairs
        self.algorithm = algorithm
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.effort = effort

    @staticmethod
    def _default_learner() -> DistanceRegressor:
        return DistanceRegressor()

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> SemimetricRegressor:
        """Learn the distance from X (n_items, n_features) and the values y, and index the items.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_items, n_features)
        y : array-like of shape (n_items,)
        sample_weight : array-like of shape (n_items,) or None
            An item of weight 3 learns and votes like the item three times, and is three of the ``n_neighbors``; one of weight
            0 neither learns nor votes. A pair has the product of the weights of its items. Votes are counted with the weights
            divided by ``min(1, max(sample_weight))``.

        Raises
        ------
        InputError
            If the data cannot be used, or all values are the same.
        """
        self._check()
        check_count("n_pairs", self.n_pairs)
        learner = self._own_learner()
        items, schema = learner._encoded(X, min_items=2)
        values = as_targets(y, items)
        self._learn(learner, X, items, schema, values, check_weights(sample_weight, len(items)))
        self._index(X, values, sample_weight)
        return self

    def _keep_targets(self, targets: Any, used: Any) -> Any:
        return as_targets(targets, targets)

    def _stored(self) -> dict[str, Any]:
        """What is saved; the learner goes without the items that `fit` gave it, which the index has."""
        return super()._stored() | {"learner_": copy(self.learner_).set_params(preprocessor=None)}

    def _learn(self, learner: Any, X: ArrayLike, items: Floats, schema: Schema, values: Floats, weight: Floats) -> None:
        """Learn from pairs of the distinct items, which have the encoded form ``items``."""
        found = distinct_rows(items, values, weight)
        if found is not None:
            X, items, values, weight = take_rows(X, found.rows), items[found.rows], values[found.rows], found.weight
        if np.ptp(values) == 0:
            raise InputError("all values in y are the same, so no distance follows from them; give values that differ")
        features = items if schema.plain else schema.coordinates(items)
        pairs = sample_pairs(features, self.n_pairs, random_state=self.random_state)
        left, right = pairs.T
        option = {} if found is None else weight_option(learner, weight[left] * weight[right])
        learner.set_params(preprocessor=numbered_rows(X))
        self.learner_ = learner.fit(pairs, np.abs(values[left] - values[right]), **option)

    def predict(self, X: ArrayLike) -> Floats:
        """Mean of the neighbours' values, each by its vote, shape (n_queries,)."""
        indices, vote = self._voters(X)
        return (vote * self._targets[indices]).sum(axis=1) / vote.sum(axis=1)
