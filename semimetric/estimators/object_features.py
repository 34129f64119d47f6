"""Approximating a distance of objects of any kind: what turns them into features, and the calls of the distance on them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.base import clone

from .._foundation.errors import DistanceCallError, InputError, NotSupportedError
from .._foundation.saved_estimators import SavedEstimator
from .._foundation.types import Floats, Integers, distinct
from .._foundation.validation import check_items
from ..data.object_lists import Objects, as_objects, hold_out_objects, object_numbers
from ..data.schema import Schema
from ..distances.callables import Distance
from ..distances.object_calls import ObjectDistance
from ..objects.landmarks import LandmarkFeatures

__all__ = ["EncodedObjects", "check_features", "check_stored_features", "feature_rows", "landmark_parts"]

_NAME = "features of the objects"


def check_features(features: Any) -> None:
    """Refuse what is neither a transformer nor a function."""
    if isinstance(features, type) or not (hasattr(features, "transform") or callable(features)):
        raise InputError(
            f"features={features!r:.60} must be a transformer, such as LandmarkFeatures(), or a function of a sequence of "
            "objects that returns their features, shape (n_objects, n_features)"
        )


def landmark_parts(features: Any) -> list[LandmarkFeatures]:
    """The landmarks among features: themselves, or the steps of a pipeline or union."""
    parts = [features, *(features.get_params(deep=True).values() if hasattr(features, "get_params") else ())]
    return [part for part in parts if isinstance(part, LandmarkFeatures)]


def feature_rows(features: Any, objects: Objects, n_features: int | None = None, *, fit: bool = False) -> Floats:
    """The features of objects by a transformer or function, shape (n_objects, n_features)."""
    if not hasattr(features, "transform"):
        found = features(objects)
    elif fit and hasattr(features, "fit_transform"):
        found = features.fit_transform(objects)
    else:
        found = (features.fit(objects) if fit else features).transform(objects)
    rows = check_items(found.toarray() if hasattr(found, "toarray") else found, name=_NAME, n_features=n_features)
    if len(rows) != len(objects):
        raise InputError(f"features= returned {len(rows)} rows for {len(objects)} objects; one row an object is required")
    return rows


def _names(features: Any, n_features: int) -> tuple[str, ...]:
    """The names that the features say they have, or their numbers."""
    try:
        names = [str(name) for name in features.get_feature_names_out()]
    except (AttributeError, TypeError, ValueError):  # those of a function, or of a step that asks for names of its input
        names = []
    return distinct(names) if len(names) == n_features else tuple(f"feature{k}" for k in range(n_features))


class EncodedObjects:
    """Objects to learn a distance of: their features, those held out, and the distance to be called.

    Parameters
    ----------
    features : transformer or callable
        A transformer is cloned and fitted to the objects that are not held out.
    distance : callable
    X : sequence of objects
    share : float
        That of distinct objects to hold out.
    random_state : int or None

    Attributes
    ----------
    features : transformer or callable
        As it was fitted.
    items : ndarray of shape (n_objects, n_features)
    schema : Schema
    learn, held : ndarray of int64
        Positions of the objects to learn from, and of those held out.
    number : ndarray of shape (n_objects,), int64
        That of each object among the distinct ones, of which some may have the same features.
    function : ObjectDistance
        It calls no pair again that landmarks have called.
    """

    def __init__(self, features: Any, distance: Distance | None, X: Any, share: float, random_state: int | None) -> None:
        if not callable(distance):
            raise InputError(f"distance={distance!r} must be callable: a function of two objects that returns their distance")
        self._objects = as_objects(X, min_objects=2)
        self.learn, self.held = hold_out_objects(self._objects, share, random_state)
        self.number = object_numbers(self._objects)
        self.features = clone(features) if hasattr(features, "transform") else features
        for part in landmark_parts(self.features):
            if part.distance is None:
                part.set_params(distance=distance)
        first = self.features if isinstance(self.features, LandmarkFeatures) else None
        same = first is not None and first.distance is distance
        self._landmarks = first if same else None
        options: dict[str, Any] = {} if first is None else {"backend": first.backend, "cache": first.cache if same else None}
        self.function = ObjectDistance(distance, self._objects, known=self._known if same else None, **options)

    def read(self) -> None:
        """Fit the features to the objects that are not held out, and compute those of all."""
        with self._positions_in_X(self.learn, self.learn):
            rows = feature_rows(self.features, self._taken(self.learn), fit=True)
        self.items = np.empty((len(self._objects), rows.shape[1]))
        self.items[self.learn] = rows
        if len(self.held):
            parts = landmark_parts(self.features)
            landmarks = self.learn[parts[0].landmark_indices_] if len(parts) == 1 else self.learn
            with self._positions_in_X(self.held, landmarks):
                self.items[self.held] = feature_rows(self.features, self._taken(self.held), rows.shape[1])
        self.schema = Schema.numeric(_names(self.features, rows.shape[1]))

    @contextmanager
    def _positions_in_X(self, left: Integers, right: Integers) -> Iterator[None]:
        """Let an error of the distance, which names positions among some objects, name those of X."""
        try:
            yield
        except DistanceCallError as error:
            if len(landmark_parts(self.features)) != 1:
                raise
            pair = int(left[error.pair[0]]), int(right[error.pair[1]])
            pairs = np.column_stack([left[error.pairs[:, 0]], right[error.pairs[:, 1]]])
            message = f"{error.args[0]}. In X these two are the objects {pair[0]} and {pair[1]}"
            raise DistanceCallError(message, pair, pairs, error.distances) from error.__cause__

    def _taken(self, positions: Integers) -> Objects:
        return self._objects if len(positions) == len(self._objects) else [self._objects[i] for i in positions.tolist()]

    def _known(self, index: Integers) -> Floats:
        """The distances of pairs that landmarks have called, NaN of others."""
        place = np.full(len(self._objects), -1)
        place[self.learn] = np.arange(len(self.learn))
        at = place[index]
        values, rows = np.full(len(index), np.nan), np.flatnonzero((at >= 0).all(axis=1))
        if self._landmarks is not None:
            values[rows] = self._landmarks.known_distances(at[rows])
        return values


def check_stored_features(features: Any, distance: Distance | None) -> None:
    """Refuse to save fitted features that a file does not hold whole.

    Raises
    ------
    NotSupportedError
        If it is no transformer of this package that saves what it has fitted, or has landmarks under another distance.
    """
    foreign = not isinstance(features, SavedEstimator)
    if foreign or any(part.distance is not distance for part in landmark_parts(features)):
        what = (
            f"is a {type(features).__name__}, of which no file holds what it fitted" if foreign else "has a distance of its own"
        )
        raise NotSupportedError(
            f"the model cannot be saved: features= {what}. Features of this package are saved, with landmarks under the "
            "distance of the model; save semimetric_.save(path), which is of the features, and pickle the transformer"
        )
