"""The base of estimators that hold items in an index: its distance, its names, and both in a file."""

from __future__ import annotations

from typing import Any, ClassVar, NotRequired

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..._foundation.errors import InputError, NotSupportedError
from ..._foundation.estimator import SavedEstimator, ShortRepr, check_names
from ..._foundation.stored import Members
from ..._foundation.types import ArrayLike, Floats, Integers
from ..._foundation.validation import check_count
from ...data.schema import Schema
from ..model.axioms import check_probe
from ..model.explanations import Explanation
from ..model.semimetric import Semimetric
from ..search.index import NeighborIndex, SearchesUnderLearned
from ..search.query_tables import QueryView

_OF_THE_INDEX = ("index", "items", "distance")  # members of a file from which the index is built again


class IndexEstimator(ShortRepr, SavedEstimator, SearchesUnderLearned):
    """An estimator whose `fit` puts items into an index under the distance that it was given, made or has learned.

    Attributes
    ----------
    index_ : NeighborIndex
        The items, whose ids are numbers from 0 on.
    """

    index_: NeighborIndex

    _fitted: ClassVar[dict[str, Any]] = {
        "feature_names_in_": NotRequired[NDArray[Any]],
        "index": dict[str, Any],
        "items": NDArray[np.floating],
    }

    def _set_index(self, index: NeighborIndex) -> None:
        """Take a fitted index, and its names, for those of an earlier fit."""
        self.__dict__.pop("feature_names_in_", None)
        self.index_ = index
        self.n_features_in_ = index.n_features_in_
        if hasattr(index, "feature_names_in_"):
            self.feature_names_in_ = index.feature_names_in_

    @property
    def semimetric_(self) -> Semimetric:
        """The distance, which was given, made of the items, or learned."""
        check_is_fitted(self, "index_")
        return self.index_.semimetric_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "index_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _stored_parameters(self) -> dict[str, Any]:
        """Return the parameters, of which a fitted estimator that has learned the distance goes as the distance."""
        return super()._stored_parameters() | {"semimetric": getattr(self.semimetric, "semimetric_", self.semimetric)}

    def _restore_index(self, index: NeighborIndex, fitted: dict[str, Any]) -> None:
        """Take the index that was built of a file, and what else the file holds."""
        self._set_index(index)
        check_names(self, self.n_features_in_)
        super()._restore({name: value for name, value in fitted.items() if name not in _OF_THE_INDEX})


def stored_index(index: NeighborIndex, n_items: int) -> dict[str, Any]:
    """Return the parameters and the encoded items of an index whose ids are the row numbers of ``n_items`` items.

    Raises
    ------
    NotSupportedError
        If items were added to the index, or removed, after it was fitted.
    """
    if not np.array_equal(index.ids_, np.arange(n_items)):
        raise NotSupportedError(
            f"index_ has {index.n_samples_fit_} items, which are not the {n_items} that were fitted, in their order; fit again "
            "with the items that it shall have, and save index_ by itself where it has others"
        )
    return {"index": index.parameter_values, "items": index.encoded_items_}


def index_of_stored(semimetric: Semimetric, stored: dict[str, Any], names: Any) -> NeighborIndex:
    """Build the index that `stored_index` gave, under a distance; ``names`` are those of its features, or None."""
    items, values = stored["items"], Members(stored["index"])
    _check_items(semimetric.schema, items)
    index = NeighborIndex.of_values(semimetric, values.text("side"), values)
    values.done()
    index.n_features_in_ = semimetric.n_features
    if names is not None:
        index.feature_names_in_ = names
    return index.fit_encoded(QueryView(semimetric, index.side), items, np.arange(len(items)))


def _check_items(schema: Schema, items: Floats) -> None:
    """Refuse items that are no encoded vectors of this schema, shape (n_items, n_features)."""
    n = len(schema.features)
    if items.ndim != 2 or items.shape[1] != n or not len(items) or items.dtype not in (np.float64, np.float32):
        raise InputError(f"items are {items.dtype} of shape {items.shape}; floating-point numbers (n_items, {n}) are required")
    if items.dtype == np.float32 and not schema.plain:
        raise InputError("items with categories, periods or missing values are float32, but float64 is required")
    if np.isinf(items).any():
        raise InputError("items hold infinity, but finite values are required")
    check_probe(schema, items, "items")
    for feature, column in zip(schema.features, items.T, strict=True):
        if feature.kind == "periodic" and not (np.isnan(column) | ((column >= 0) & (column < feature.period))).all():
            raise InputError(f"items have values of {feature.name!r} outside of its period")


class NearestFittedItems(IndexEstimator):
    """The items of a fit in an index, which goes into the file of the estimator; subclasses say what neighbours mean."""

    n_neighbors: int
    n_jobs: int | None

    _fitted: ClassVar[dict[str, Any]] = IndexEstimator._fitted | {"distance": NotRequired[Semimetric]}

    def _items_of(self, rows: Integers) -> Floats:
        """Return the encoded values of the fitted items of these row numbers, shape (n_rows, n_features)."""
        values: Floats = self.index_.segments_[0].points.raw[rows]
        return values

    @property
    def n_samples_fit_(self) -> int:
        """The number of fitted items."""
        check_is_fitted(self, "index_")
        return self.index_.n_samples_fit_

    def explain(self, x: ArrayLike, n_neighbors: int | None = None, *, by: str = "features") -> Explanation:
        """Explain the distances of x to its nearest items: what every feature adds, beside the values of both.

        Parameters
        ----------
        x : array-like of shape (n_features,), dict, series of pandas, or a table of one row
        n_neighbors : int or None
            The number of nearest items that are shown; None is 5.
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
