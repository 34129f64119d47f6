"""The base of estimators that hold items in an index: its distance, its names, and both in a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..._foundation.errors import InputError, NotSupportedError
from ..._foundation.estimator import SavedEstimator, ShortRepr, check_names
from ..._foundation.stored import Members, StoredIfSet, storable
from ..._foundation.types import ArrayLike, Floats, Integers
from ..._foundation.validation import check_count
from ...data.schema import Schema
from ..model.base_distances import check_probe
from ..model.explanations import Explanation
from ..model.semimetric import Semimetric
from ..search.index import NeighborIndex, SearchesUnderLearned
from ..search.query_tables import QueryView


@storable
@dataclass(frozen=True)
class StoredIndex:
    """An index in the file of an estimator, whose ids are row numbers; ``distance`` is set if it was made from the items."""

    parameters: dict[str, Any]
    items: NDArray[Any]  # (n_items, n_features), encoded
    distance: Semimetric | None = None

    @classmethod
    def of(cls, index: NeighborIndex, n_items: int, distance: Semimetric | None = None) -> StoredIndex:
        """Return the stored form of an index of ``n_items`` items.

        It is refused if items were added to the index, or removed, after it was fitted.
        """
        if not np.array_equal(index.ids_, np.arange(n_items)):
            raise NotSupportedError(
                f"index_ has {index.n_samples_fit_} items, which are not the {n_items} that were fitted, in their order; fit "
                "again with the items that it shall have, and save index_ by itself where it has others"
            )
        return cls(index.parameter_values, index.encoded_items_, distance)

    def built(self, distance: Any, names: NDArray[Any] | None) -> NeighborIndex:
        """Return the index under a distance, None for its own; ``names`` are those of the features."""
        semimetric = self.distance if distance is None else distance
        if not isinstance(semimetric, Semimetric) or (distance is None) == (self.distance is None):
            raise InputError("there is no distance, or one beside that which was given or learned; restore the file")
        _check_items(semimetric.schema, self.items)
        values = Members(self.parameters)
        index = NeighborIndex.of_values(semimetric, values.text("side"), values)
        values.done()
        index.n_features_in_ = semimetric.n_features
        if names is not None:
            index.feature_names_in_ = names
        return index.fit_encoded(QueryView(semimetric, index.side), self.items, np.arange(len(self.items)))


class IndexEstimator(ShortRepr, SavedEstimator, SearchesUnderLearned):
    """An estimator whose `fit` puts items into an index under the distance that it was given, made or has learned.

    Attributes
    ----------
    index_ : NeighborIndex
        The items, whose ids are numbers from 0 on.
    """

    semimetric: Semimetric | str | None
    index_: Annotated[NeighborIndex, "stored", StoredIndex]
    feature_names_in_: StoredIfSet[NDArray[Any]]

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

    def stored_parameters(self) -> dict[str, Any]:
        """Return the parameters, where the distance of a fitted learner stands for the learner."""
        return super().stored_parameters() | {"semimetric": getattr(self.semimetric, "semimetric_", self.semimetric)}

    def as_stored(self) -> dict[str, Any]:
        made = isinstance(self.semimetric, str) and not hasattr(self, "learner_")
        index = StoredIndex.of(self.index_, self._n_indexed, self.semimetric_ if made else None)
        return super().as_stored() | {"index_": index}

    def check_restored(self) -> None:
        self._check()
        stored: Any = self.__dict__.pop("index_")  # a `StoredIndex`
        learner = getattr(self, "learner_", None)
        if (learner is None) != (getattr(self, "learner", None) is None):
            raise InputError("there is a learner that was not fitted, or a fitted one that is no parameter; restore the file")
        given: Any = None if isinstance(self.semimetric, str) else self.semimetric
        distance = given if learner is None else getattr(learner, "semimetric_", False)
        self._set_index(stored.built(distance, getattr(self, "feature_names_in_", None)))
        check_names(self, self.n_features_in_)

    def _check(self) -> None:
        """Refuse parameters that do not go together."""
        raise NotImplementedError

    @property
    def _n_indexed(self) -> int:
        """The number of items that a fit has put into the index."""
        return self.index_.n_samples_fit_


def _check_items(schema: Schema, items: NDArray[Any]) -> None:
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
