"""What every estimator has that keeps items in an index: its distance, its names, and how both go into a file."""

from __future__ import annotations

from typing import Any, ClassVar, NotRequired

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from .._foundation.saved_estimators import SavedEstimator, check_names
from .._foundation.short_reprs import ShortRepr
from ..distances.semimetric import Semimetric
from .index import NeighborIndex
from .searched_distance import SearchesUnderLearned

__all__ = ["IndexEstimator"]

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

    def _keep_index(self, index: NeighborIndex) -> None:
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
        """The parameters, of which a fitted estimator that has learned the distance goes as the distance."""
        return super()._stored_parameters() | {"semimetric": getattr(self.semimetric, "semimetric_", self.semimetric)}

    def _restore_index(self, index: NeighborIndex, fitted: dict[str, Any]) -> None:
        """Take the index that was built of a file, and what else the file holds."""
        self._keep_index(index)
        check_names(self, self.n_features_in_)
        super()._restore({name: value for name, value in fitted.items() if name not in _OF_THE_INDEX})
