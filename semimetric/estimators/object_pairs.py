"""The questions that a distance learned over features of objects answers: of the objects themselves."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._foundation.errors import InputError, NotSupportedError, silent
from .._foundation.types import ArrayLike, Floats
from ..data.object_lists import Objects, as_objects, object_pairs
from ..distances.object_calls import counted_calls
from ..objects.base import ObjectFeatures
from .base import LearnedDistance, T
from .judged_items import judge_by_calls
from .object_features import EncodedObjects, check_features, check_stored_features, feature_rows, landmark_parts

__all__ = ["ObjectDistances"]


def _has_features(learner: ObjectDistances) -> bool:
    if learner.features is None:
        raise NotSupportedError("encode is for models with features=; without them the items are features already")
    return True


class ObjectDistances(LearnedDistance):
    """A learner that may have ``features=``, a transformer or function from objects to the features of its distance.

    Attributes
    ----------
    features_ : transformer or callable
        As it was fitted.
    n_calls_ : int
        How often `fit` called the distance, for landmarks too.

    Examples
    --------
    Words, whose distance is the number of letters that only one of them has:

    >>> import numpy as np
    >>> from semimetric import DistanceApproximator, LandmarkFeatures, NeighborIndex
    >>> words = ["".join(word) for word in np.random.default_rng(0).choice(list("abcdefgh"), (80, 4))]
    >>> model = DistanceApproximator(
    ...     lambda x, y: len(set(x) ^ set(y)), features=LandmarkFeatures(n_landmarks=8), n_knots=3, alpha=1e-3
    ... ).fit(words)
    >>> near, far = model.predict([("abcd", "abce"), ("abcd", "efgh")])
    >>> bool(near < far)
    True
    >>> index = NeighborIndex(model.semimetric_).fit(model.encode(words))
    >>> index.kneighbors(model.encode(["abcd"]), 2)[1].shape
    (1, 2)
    """

    features: Any
    distance: Any
    method: str
    validation_fraction: float
    random_state: int | None
    features_: Any
    n_calls_: int

    def _check_features(self) -> None:
        """Refuse features that no objects can be given as, and parameters that do not go with features."""
        if self.features is None:
            return
        check_features(self.features)
        if self.method == "vertices" or not self.only_numbers:
            raise NotSupportedError(
                'features= are numbers, all of them there, and objects have no grid; use method="regress", and leave '
                "categorical_features=, periodic= and missing= out"
            )

    def _check_no_texts(self, X: Any) -> None:
        """Refuse texts where nothing says what numbers to make of them."""
        sequence = isinstance(X, list | tuple) or (isinstance(X, np.ndarray) and X.ndim > 0)
        if sequence and len(X) and isinstance(X[0], str):
            raise InputError(
                f"X holds texts, such as {X[0]!r:.40}, and features= is None; give features=StringFeatures() or "
                "LandmarkFeatures(), which learn a distance of texts, or a table of numbers"
            )

    def _fit_objects(self, recipe: Any, X: Any) -> Self:
        """Learn the distance of objects over their features."""
        for name in ("semimetric_", "solution_", "feature_names_in_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        objects = EncodedObjects(self.features, self.distance, X, self.validation_fraction, self.random_state)
        self.features_ = objects.features
        # counts that no object of the fit tells apart are no columns that a person made, and none that one could mend
        no_news = ("constant features", "fewer knots") if isinstance(self.features, ObjectFeatures) else ()
        with counted_calls() as count, silent(*no_news):
            try:
                objects.read()
                self._check_symmetry(recipe, objects.function, objects.items)
                self._regress(recipe, objects.items, objects.learn, objects.schema, objects.function)
                judge_by_calls(self, objects.items, objects.learn, objects.held, objects.function, objects.number)
            finally:
                self.n_calls_ = count.n
        return self

    def _stored_parameters(self) -> dict[str, Any]:
        """All but code: distance and function of a loaded model are None, until `set_params` gives them again."""
        code = ("distance",) if self.features is None or hasattr(self.features, "transform") else ("distance", "features")
        return {name: value for name, value in super()._stored_parameters().items() if name not in code}

    def _stored(self) -> dict[str, Any]:
        held = super()._stored()
        if self.features is None or not hasattr(self.features, "transform"):
            held.pop("features_", None)
        else:
            check_stored_features(self.features_, self.distance)
        return held

    @available_if(_has_features)
    def encode(self, X: Objects) -> Floats:
        """The features of objects, shape (n_objects, n_features): what ``semimetric_`` is a distance of.

        So ``NeighborIndex(model.semimetric_).fit(model.encode(objects))`` finds neighbours of ``model.encode(others)``. With
        landmarks it calls the distance once for every object and landmark.

        Parameters
        ----------
        X : sequence of objects
        """
        check_is_fitted(self, "semimetric_")
        features = getattr(self, "features_", self.features)  # of a file, which holds no code, what was given again
        for part in landmark_parts(features):
            if part.distance is None:
                part.set_params(distance=self.distance)
        return feature_rows(features, as_objects(X), self.n_features_in_)

    def pairwise(self, X: Objects | ArrayLike, Y: Objects | ArrayLike | None = None) -> Floats:
        """Learned distances of all items of X to all items of Y, or of X, shape (n_X, n_Y).

        Parameters
        ----------
        X, Y : sequence of objects; without ``features=`` array-like of shape (n_items, n_features)
        """
        check_is_fitted(self, "semimetric_")
        return self.semimetric_.pairwise(self._points(X), None if Y is None else self._points(Y))

    def _points(self, X: Any) -> Any:
        return super()._points(X) if self.features is None else self.encode(X)

    def _known(self, tuples: ArrayLike, kind: type[T]) -> T:
        """Tuples for the fitted model; of pairs of objects the features of each object are computed once."""
        if self.features is None:
            return super()._known(tuples, kind)
        objects, index = object_pairs(tuples)
        return kind(self.encode(objects), index)
