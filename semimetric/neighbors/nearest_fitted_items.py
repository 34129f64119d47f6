"""What an estimator has that keeps the items it was fitted to, and looks for the nearest of them."""

from __future__ import annotations

from typing import Any, ClassVar, NotRequired

from sklearn.utils.validation import check_is_fitted

from .._foundation.errors import InputError
from .._foundation.types import ArrayLike, Floats, Integers
from .._foundation.validation import check_count
from ..distances.explanations import Explanation
from ..distances.semimetric import Semimetric
from .index_estimator import IndexEstimator
from .stored_items import index_of_stored, stored_index

__all__ = ["NearestFittedItems"]


class NearestFittedItems(IndexEstimator):
    """The items of a fit in an index, which goes into the file of the estimator; subclasses say what neighbours tell."""

    n_neighbors: int
    n_jobs: int | None

    _fitted: ClassVar[dict[str, Any]] = IndexEstimator._fitted | {"distance": NotRequired[Semimetric]}

    def _items_of(self, rows: Integers) -> Floats:
        """The encoded values of the fitted items of these row numbers, shape (n_rows, n_features)."""
        values: Floats = self.index_.segments_[0].points.raw[rows]
        return values

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

    def _stored(self) -> dict[str, Any]:
        stored = super()._stored() | stored_index(self.index_, self.n_samples_fit_)
        return stored | ({"distance": self.semimetric_} if isinstance(self.semimetric, str) else {})

    def _restore(self, fitted: dict[str, Any]) -> None:
        d = fitted.get("distance", self.semimetric)
        if not isinstance(d, Semimetric) or ("distance" in fitted) != isinstance(self.semimetric, str):
            raise InputError("there is no distance, or one beside that which was given; restore the file")
        self._restore_index(index_of_stored(d, fitted, fitted.get("feature_names_in_")), fitted)
