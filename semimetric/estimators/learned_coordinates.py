"""Coordinates of a learned distance: `transform` of learners whose parameters make scales of numbers, and trees."""

from __future__ import annotations

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._foundation.input_arrays import validated
from .._foundation.types import ArrayLike, Floats
from ..data.item_lookup import items_named
from .base import LearnedDistance, has_coordinates

__all__ = ["LearnedCoordinates"]


class LearnedCoordinates(TransformerMixin, LearnedDistance):
    """A learner from items, a transformer of scikit-learn: `transform` checks features as its other transformers do."""

    preprocessor: ArrayLike | None

    def transform(self, X: ArrayLike) -> Floats:
        """Coordinates whose L1 distance is the learned distance.

        A scale is a coordinate, and a tree has one for each of its leaves; ``semimetric_.transform`` makes them sparse. Only
        learners have it whose parameters ask for no other tables, so that a pipeline knows before; a fitted one whose data have
        categories or angles lacks it, unless any two of the categories are equally far apart, as two are.

        Parameters
        ----------
        X : array-like or frame of shape (n_items, n_features), or (n_items,) row numbers or labels with ``preprocessor``
        """
        check_is_fitted(self, "semimetric_")
        d, X = self.semimetric_, items_named(X, self.preprocessor)
        by_name = d.schema.table(X) is not X
        return d.transform(X if by_name or not d.schema.plain else validated(self, X, reset=False, dtype=np.float64))


# The mixin wraps the transform that a class defines for `set_output`, and would wrap a condition inside, where nobody asks it.
for _name in ("transform", "fit_transform"):
    setattr(LearnedCoordinates, _name, available_if(has_coordinates)(getattr(LearnedCoordinates, _name)))
