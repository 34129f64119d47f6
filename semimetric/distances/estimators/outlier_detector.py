"""Items that lie apart from all others, by the distances to their nearest ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import OutlierMixin
from sklearn.utils.validation import check_is_fitted

from ..._foundation.errors import InputError
from ..._foundation.real_numbers import real_number, shown
from ..._foundation.stored import Stored, storable
from ..._foundation.types import ArrayLike, Floats, Integers
from ..._foundation.validation import check_choice, check_count, check_n_jobs
from ..model.semimetric import Semimetric
from ..search.index import NeighborIndex, searched_distance
from .indexed import NearestFittedItems

_METHODS = ("lof", "distance")
_LOF = -1.5  # scores below it are outliers, as in the paper's pictures and in scikit-learn
_FENCE = 1.5  # interquartile ranges beyond the upper quartile (Tukey)
_LEAST = 1e-10  # of a mean k-th distance: what reachability has at least, so that items of which many coincide have a density


@storable
class SemimetricOutlierDetector(OutlierMixin, NearestFittedItems):
    """Outliers under a distance of any kind: of mixed tables with missing values, learned from labels, or measured.

    Of an item x let N(x) be its k nearest other items, and d_k(x) the distance to the last of them. The score is::

        "distance"   d_k(x)                                                                   (Ramaswamy et al. 2000)
        "lof"        mean_{o in N(x)} lrd(o) / lrd(x),   the local outlier factor             (Breunig et al. 2000)
                     lrd(x) = 1 / mean_{o in N(x)} max(d_k(o), d(x, o)),

    its sign changed, so that lower is more abnormal, as scikit-learn has it. `explain` shows which features make an item lie
    apart. A row that equals a fitted item in every value is scored as that item, one of which is not its own neighbour:
    ``fit_predict(X)`` and ``fit(X).predict(X)`` are the same.

    Parameters
    ----------
    semimetric : Semimetric, fitted estimator with ``semimetric_``, or {"gower", "l1"}, default "gower"
        The distance; names are made of the items.
    method : {"lof", "distance"}, default "lof"
        "lof" compares an item with the density around its neighbours, "distance" with all items.
    n_neighbors : int, default 20
        k; of fewer items all others.
    contamination : "auto" or float, default "auto"
        The share of the fitted items that are outliers, above 0 and up to 0.5. "auto" takes those whose local outlier factor is
        above 1.5, or whose k-th distance is above the upper quartile by more than 1.5 interquartile ranges.
    n_jobs : int or None, default None
        Threads: None is one, -1 all.

    Attributes
    ----------
    offset_ : float
        Scores below it are those of outliers.
    negative_scores_ : ndarray of shape (n_items,)
        The scores of the fitted items.
    kth_distances_, densities_ : ndarray of shape (n_items,)
        d_k and lrd of the fitted items.
    index_ : NeighborIndex
        The items.
    semimetric_ : Semimetric
    n_features_in_, n_samples_fit_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from semimetric import SemimetricOutlierDetector
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0], [40.0]])
    >>> model = SemimetricOutlierDetector(n_neighbors=2).fit(X)
    >>> model.predict(X)
    array([ 1,  1,  1,  1, -1])
    >>> bool(model.score_samples([[41.0]]) < model.offset_)
    True
    """

    kth_distances_: Stored[Floats]
    densities_: Stored[Floats]
    negative_scores_: Stored[Floats]
    offset_: Stored[float]

    def __init__(
        self,
        semimetric: Semimetric | str = "gower",
        *,
        method: str = "lof",
        n_neighbors: int = 20,
        contamination: float | str = "auto",
        n_jobs: int | None = None,
    ) -> None:
        self.semimetric = semimetric
        self.method = method
        self.n_neighbors = n_neighbors
        self.contamination = contamination
        self.n_jobs = n_jobs

    def fit(self, X: ArrayLike, y: Any = None) -> SemimetricOutlierDetector:
        """Index the rows of X, and score each by the others.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_items, n_features), n_items >= 2
        y : ignored

        Raises
        ------
        InputError
            If the data or a parameter cannot be used.
        """
        self._check()
        index = NeighborIndex(searched_distance(self.semimetric, X), n_jobs=self.n_jobs).fit(X)
        n = index.n_samples_fit_
        if n < 2:
            raise InputError(f"X has n_samples = {n}, whose neighbours would be none; give two items at least")
        self._set_index(index)
        distances, rows = self._others(index.encoded_items_)
        self.kth_distances_ = distances[:, -1]
        self.densities_ = self._reachable(distances, rows)
        self.negative_scores_ = self._scores(distances, rows)
        if self.contamination != "auto":
            self.offset_ = float(np.percentile(self.negative_scores_, 100 * float(self.contamination)))
        elif self.method == "lof":
            self.offset_ = _LOF
        else:
            low, high = np.percentile(-self.negative_scores_, [25, 75])
            self.offset_ = float(-(high + _FENCE * (high - low)))
        return self

    def _check(self) -> None:
        check_choice("method", self.method, _METHODS)
        check_count("n_neighbors", self.n_neighbors)
        check_n_jobs(self.n_jobs)
        share = self.contamination
        known = share == "auto" if isinstance(share, str) else 0 < (real_number(share) or 0.0) <= 0.5
        if not known:
            raise InputError(
                f'contamination={shown(share)}: "auto", or a share of the items above 0 and up to 0.5, is required'
            )

    def _others(self, queries: Floats) -> tuple[Floats, Integers]:
        """Return distances and rows of the k nearest items of queries, both (n_queries, k); one equal item is left out."""
        k = min(self.n_neighbors, self.n_samples_fit_ - 1)
        distances, rows = self.index_.search_encoded(queries, k + 1)[:2]
        query, column = np.nonzero(distances == 0)
        values, items = queries[query], self._items_of(rows[query, column])
        same = np.zeros(distances.shape, dtype=np.bool_)
        same[query, column] = ((values == items) | (np.isnan(values) & np.isnan(items))).all(axis=1)
        left_out = np.where(same.any(axis=1), same.argmax(axis=1), k)  # the farthest where no item equals the query
        keep = np.arange(k + 1) != left_out[:, None]
        return distances[keep].reshape(-1, k), rows[keep].reshape(-1, k)

    def _reachable(self, distances: Floats, rows: Integers) -> Floats:
        """Return the local reachability density of queries with these neighbours, shape (n_queries,)."""
        least = _LEAST * float(self.kth_distances_.mean()) or _LEAST
        density: Floats = 1.0 / (np.maximum(distances, self.kth_distances_[rows]).mean(axis=1) + least)
        return density

    def _scores(self, distances: Floats, rows: Integers) -> Floats:
        if self.method == "distance":
            return -distances[:, -1]
        scores: Floats = -self.densities_[rows].mean(axis=1) / self._reachable(distances, rows)
        return scores

    def score_samples(self, X: ArrayLike) -> Floats:
        """Return the local outlier factor, or the k-th distance, of every row with its sign changed, shape (n_queries,)."""
        check_is_fitted(self, "index_")
        return self._scores(*self._others(self.index_.encoded_items_ if X is None else self.index_.encode(X)))

    def decision_function(self, X: ArrayLike) -> Floats:
        """`score_samples` less ``offset_``, shape (n_queries,): below 0 of outliers."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: ArrayLike) -> Integers:
        """Return -1 for outliers and 1 for other rows, shape (n_queries,), int64."""
        return np.where(self.decision_function(X) < 0, -1, 1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = isinstance(self.semimetric, str) and self.semimetric == "gower"
        return tags

    def check_restored(self) -> None:
        super().check_restored()
        for name in ("kth_distances_", "densities_", "negative_scores_"):
            self.stored_array(name, self.n_samples_fit_, infinite=True)
            if np.isnan(getattr(self, name)).any():
                raise InputError(f"{name} is NaN for an item; restore the file")
