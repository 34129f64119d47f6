"""What an estimator has that keeps the items it was fitted to, and looks for the nearest of them."""

from __future__ import annotations

from typing import Any, ClassVar, NotRequired

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from .._foundation.errors import InputError
from .._foundation.saved_estimators import SavedEstimator, check_names
from .._foundation.short_reprs import ShortRepr
from .._foundation.types import ArrayLike, Floats, Integers
from .._foundation.validation import check_count
from ..distances.explanations import Explanation
from ..distances.semimetric import Semimetric
from .index import NeighborIndex
from .searched_distance import SearchesUnderLearned
from .stored_items import index_of_stored, stored_index

__all__ = ["NearestFittedItems"]


class NearestFittedItems(ShortRepr, SavedEstimator, SearchesUnderLearned):
    """The items of a fit in an index, which goes into the file of the estimator; subclasses say what neighbours tell.

    Attributes
    ----------
    index_ : NeighborIndex
        The items, whose ids are their row numbers.
    """

    n_neighbors: int
    n_jobs: int | None
    index_: NeighborIndex

    _fitted: ClassVar[dict[str, Any]] = {
        "feature_names_in_": NotRequired[NDArray[Any]],
        "distance": NotRequired[Semimetric],
        "index": dict[str, Any],
        "items": NDArray[np.floating],
    }

    def _keep_items(self, d: Semimetric, X: ArrayLike) -> None:
        """Index the rows of X under the distance."""
        self.__dict__.pop("feature_names_in_", None)  # An earlier fit may have left them.
        self.index_ = NeighborIndex(d, n_jobs=self.n_jobs).fit(X)
        self._take_names()

    def _items_of(self, rows: Integers) -> Floats:
        """The encoded values of the fitted items of these row numbers, shape (n_rows, n_features)."""
        values: Floats = self.index_.segments_[0].points.raw[rows]
        return values

    def _take_names(self) -> None:
        self.n_features_in_ = self.index_.n_features_in_
        if hasattr(self.index_, "feature_names_in_"):
            self.feature_names_in_ = self.index_.feature_names_in_

    @property
    def semimetric_(self) -> Semimetric:
        """The distance, which was given or made of the items."""
        check_is_fitted(self, "index_")
        return self.index_.semimetric_

    @property
    def n_samples_fit_(self) -> int:
        """How many items were fitted."""
        check_is_fitted(self, "index_")
        return self.index_.n_samples_fit_

    def explain(self, x: ArrayLike, n_neighbors: int | None = None, *, by: str = "features") -> Explanation:
        """What every feature adds to the distances of x to its nearest items, beside the values of both.

        Parameters
        ----------
        x : array-like of shape (n_features,), dict, series of pandas, or a table of one row
        n_neighbors : int or None
            How many of the nearest items are shown; None is 5.
        by : {"features", "terms"}, default "features"
            See `Semimetric.contributions`.
        """
        check_is_fitted(self, "index_")
        n = 5 if n_neighbors is None else check_count("n_neighbors", n_neighbors)
        return self.index_.explain(x, n_neighbors=min(n, self.n_samples_fit_), by=by)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "index_")

    def _stored_parameters(self) -> dict[str, Any]:
        """The parameters, of which a fitted estimator that has learned the distance goes as the distance."""
        return super()._stored_parameters() | {"semimetric": getattr(self.semimetric, "semimetric_", self.semimetric)}

    def _stored(self) -> dict[str, Any]:
        stored = super()._stored() | stored_index(self.index_, self.n_samples_fit_)
        return stored | ({"distance": self.semimetric_} if isinstance(self.semimetric, str) else {})

    def _restore(self, fitted: dict[str, Any]) -> None:
        names, d = fitted.get("feature_names_in_"), fitted.get("distance", self.semimetric)
        if not isinstance(d, Semimetric) or ("distance" in fitted) != isinstance(self.semimetric, str):
            raise InputError("there is no distance, or one beside that which was given; restore the file")
        self.index_ = index_of_stored(d, fitted, names)
        self._take_names()
        check_names(self, self.n_features_in_)
        others = {n: value for n, value in fitted.items() if n not in ("index", "items", "distance", "feature_names_in_")}
        super()._restore(others)
