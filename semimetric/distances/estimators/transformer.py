"""Neighbour graphs for scikit-learn's estimators that take precomputed distances."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from ..._foundation.errors import InputError
from ..._foundation.estimator import SavedEstimator
from ..._foundation.stored import StoredIfSet, storable
from ..._foundation.types import ArrayLike
from ..._foundation.validation import check_choice, check_count, weight_option
from ..model.semimetric import Semimetric
from ..search.index import NeighborIndex
from .indexed import IndexEstimator


@storable
class SemimetricNeighborsTransformer(TransformerMixin, IndexEstimator, auto_wrap_output_keys=None):
    """Items to the sparse graph of their nearest neighbours under a learned distance.

    It stands where `sklearn.neighbors.KNeighborsTransformer` does: before ``KNeighborsClassifier(metric="precomputed")``,
    ``DBSCAN(metric="precomputed")``, t-SNE; HDBSCAN and UMAP want a symmetric graph, ``graph.maximum(graph.T)``. Neighbours
    are exact unless ``algorithm`` says otherwise. The graph stays sparse whatever `set_output` says: what it does not store is
    no neighbour rather than 0, so that a table would be wrong.

    Parameters
    ----------
    semimetric : Semimetric or None, default None
        The distance; ``side`` says how one that is not symmetric is read.
    learner : estimator or None, default None
        In place of a distance: what learns it from X and y in `fit`, such as `LargeMarginLearner`, so that the transformer
        can stand at the head of a pipeline.
    n_neighbors : int, default 5
        Neighbours of an item.
    mode : {"distance", "connectivity"}, default "distance"
        With "distance" a row holds one neighbour more, as in scikit-learn: an item that was fitted is a neighbour of itself.
    algorithm : {"exact", "approximate", "brute"}, default "exact"
        How neighbours are searched: with a proof, among the ``n_candidates`` items whose cells are typically nearest, or by
        every distance.
    side : {"query-first", "query-last"}, default "query-first"
        For distances that are not symmetric: d(query, item), or d(item, query).
    n_candidates : int or None, default None
        Of the approximate search; None is the larger of 100 and 10 n_neighbors.
    n_jobs : int or None, default None
        Threads: None is one, -1 all.
    random_state : int or None, default 0
        Seed of the sample that places the cells.

    Attributes
    ----------
    index_ : NeighborIndex
    semimetric_ : Semimetric
    learner_ : estimator
        The fitted learner, where there is one.
    n_samples_fit_, n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from semimetric import Grid, PairEmbedding, Semimetric, SemimetricNeighborsTransformer
    >>> embedding = PairEmbedding(Grid([[0.0, 1.0, 4.0]]))
    >>> d = Semimetric(embedding, embedding.prior(np.array([2.0])), np.array([2.0]), ("height",))
    >>> graph = SemimetricNeighborsTransformer(d, n_neighbors=1).fit_transform([[0.0], [1.0], [4.0]])
    >>> graph.toarray()
    array([[0., 2., 0.],
           [2., 0., 0.],
           [0., 6., 0.]])
    """

    learner_: StoredIfSet[SavedEstimator]

    def __init__(
        self,
        semimetric: Semimetric | None = None,
        *,
        learner: Any = None,
        n_neighbors: int = 5,
        mode: str = "distance",
        algorithm: str = "exact",
        side: str = "query-first",
        n_candidates: int | None = None,
        n_jobs: int | None = None,
        random_state: int | None = 0,
    ) -> None:
        self.semimetric = semimetric
        self.learner = learner
        self.n_neighbors = n_neighbors
        self.mode = mode
        self.algorithm = algorithm
        self.side = side
        self.n_candidates = n_candidates
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> SemimetricNeighborsTransformer:
        """Learn the distance, if there is a learner, and index the rows of X.

        Parameters
        ----------
        X : array-like or frame of shape (n_items, n_features)
        y : array-like of shape (n_items,) or None
            For the learner.
        sample_weight : array-like of shape (n_items,) or None
            For the learner; a distance that is given learns nothing, and takes none.
        """
        self._check()
        if self.learner is None and sample_weight is not None:
            raise InputError("sample_weight is for a learner, but semimetric= is a distance already; drop it, or give learner=")
        self.__dict__.pop("learner_", None)  # An earlier fit may have left it.
        semimetric: Any = getattr(self.semimetric, "semimetric_", self.semimetric)  # X are its features, whatever makes them
        if self.learner is not None:
            learner = clone(self.learner).fit(X, y, **weight_option(self.learner, sample_weight))
            self.learner_, semimetric = learner, learner.semimetric_
        index = NeighborIndex(
            semimetric, side=self.side, algorithm=self.algorithm, n_candidates=self.n_candidates,
            n_jobs=self.n_jobs, random_state=self.random_state,
        )  # fmt: skip
        self._set_index(index.fit(X))
        return self

    def _check(self) -> None:
        check_choice("mode", self.mode, ("distance", "connectivity"))
        check_count("n_neighbors", self.n_neighbors)
        if (self.semimetric is None) == (self.learner is None):
            raise InputError("one of semimetric= and learner= is required: a distance, or what learns it from X and y")

    @property
    def n_samples_fit_(self) -> int:
        """Number of items that were fitted."""
        return self.index_.n_samples_fit_

    def transform(self, X: ArrayLike) -> sparse.csr_matrix:
        """Return graph (n_queries, n_samples_fit_) of the rows of X, each row sorted by distance."""
        check_is_fitted(self)
        return self.index_.kneighbors_graph(X, self.n_neighbors + (self.mode == "distance"), self.mode)

    def explain_graph(self, graph: Any, X: ArrayLike | None = None, *, by: str = "features") -> Any:
        """Explain every edge of a graph, as `NeighborIndex.explain_graph`: what each feature adds to its distance.

        Parameters
        ----------
        graph : sparse matrix of shape (n_rows, n_samples_fit_)
            That of `transform`, or what was made from it, such as ``graph.maximum(graph.T)``.
        X : array-like of shape (n_rows, n_features), frame, or None
            The rows of the graph; None if they are the items of `fit`.
        by : {"features", "terms"}, default "features"

        Returns
        -------
        DataFrame
            "from", "to", "distance", and a column for each feature.
        """
        check_is_fitted(self)
        return self.index_.explain_graph(graph, X, by=by)

    def set_output(self, *, transform: str | None = None) -> SemimetricNeighborsTransformer:
        """Take what a pipeline passes on to all of its steps, and do nothing: the graph stays sparse."""
        return self

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return names of the columns of the graph, one for each item, shape (n_samples_fit_,)."""
        check_is_fitted(self)
        return np.array([f"semimetricneighborstransformer{k}" for k in range(self.n_samples_fit_)], dtype=object)
