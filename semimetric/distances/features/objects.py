"""The base of every transformer of objects."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..._foundation.errors import InputError
from ..._foundation.estimator import SavedEstimator, ShortRepr
from ..._foundation.types import ArrayLike


class ObjectFeatures(ShortRepr, SavedEstimator, TransformerMixin, BaseEstimator, ABC):
    """A scikit-learn transformer from a sequence of objects to a matrix of numbers."""

    @property
    @abstractmethod
    def _names_out(self) -> list[str]:
        """The names of the features, once it is fitted."""

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[Any]:
        """Return the names of the features, shape (n_features_out,); objects have none, so ``input_features`` is to be None."""
        check_is_fitted(self)
        if input_features is not None:
            raise InputError("objects have no features of their own; leave input_features out")
        return np.array(self._names_out, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.allow_nan = True
        return tags
