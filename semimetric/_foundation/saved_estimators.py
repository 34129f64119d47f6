"""Fitted estimators as one file: their parameters, and what they hold besides."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NotRequired, get_origin

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from .errors import InputError, StorageError
from .members import Members, refused_as_stored
from .storage import State, write_state
from .value_reader import Reader
from .value_writer import Writer

__all__ = ["SavedEstimator", "check_names", "read_estimator"]


class SavedEstimator:
    """The part of a fitted estimator that saves it, and that proves what a file holds of it.

    Attributes
    ----------
    semimetric_ : Semimetric
        The distance that it has learned, or was given.
    _fitted : mapping of str to type
        The attributes that `save` keeps, and the annotation of each.
    """

    _fitted: ClassVar[Mapping[str, Any]] = {}
    semimetric_: Any

    def save(self, path: str | os.PathLike[str], *, key: bytes | None = None) -> None:
        """Write the fitted estimator to one file, which `semimetric.load` reads as this estimator.

        Parameters
        ----------
        path : path-like
        key : bytes or None
            A secret of at least 16 bytes with which the file is signed, see ``docs/files.md``.

        Raises
        ------
        NotSupportedError
            If a parameter is nothing that a file can hold, such as a frame or a transformer of scikit-learn.
        StorageError
            If the file cannot be written; one that is there already is then unchanged.
        """
        check_is_fitted(self)
        kind = type(self).__name__
        writer = Writer(kind)
        values = {"estimator": writer.value(self, kind, fitted=True)}
        write_state(os.path.realpath(path), State(kind, values, writer.arrays), key=key)

    def _stored_parameters(self) -> dict[str, Any]:
        """The parameters that a file keeps, by name."""
        return self.get_params(deep=False)  # type: ignore[attr-defined]  # every subclass is an estimator

    @classmethod
    def _stored_types(cls) -> dict[str, Any]:
        """The annotation of everything that `_stored` gives, by its name."""
        return dict(cls._fitted)

    def _stored(self) -> dict[str, Any]:
        """What the fitted estimator holds beside its parameters, by name."""
        return {name: vars(self)[name] for name in self._fitted if name in vars(self)}

    def _restore(self, fitted: dict[str, Any]) -> None:
        """Hold what `_stored` gave, each value of its type, and refuse what does not go together."""
        vars(self).update(fitted)

    @classmethod
    def _check_whole(cls, fitted: Mapping[str, Any]) -> None:
        """Refuse to save or to read an estimator that lacks something; an interrupted fit may leave it so."""
        required = [name for name, kind in cls._stored_types().items() if get_origin(kind) is not NotRequired]
        if missing := [name for name in required if name not in fitted]:
            raise InputError(f"{cls.__name__} has no {missing[0]}; a whole fit is required: call fit again")


def read_estimator(state: State, callables: Sequence[object]) -> Any:
    """The fitted estimator of a file, with its base distances.

    Raises
    ------
    StorageError
        If something is missing, foreign, not of the type or in the range that it must have, or does not go together.
    """
    members, reader = Members(state.values), Reader(state.arrays, callables)
    stored = members.any("estimator")
    members.done()
    with refused_as_stored("the estimator"):
        model = reader.value(stored, SavedEstimator, state.kind)
        if type(model).__name__ != state.kind or not _is_fitted(model):
            raise StorageError(f"it holds no fitted {state.kind}; restore the file, or save the object again")
        reader.done()
    return model


def _is_fitted(model: Any) -> bool:
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    return True


def check_names(model: Any, n_features: int) -> None:
    """Refuse names of features that are no texts, or another number of them or of features than ``n_features``."""
    names = getattr(model, "feature_names_in_", None)
    named = names is None or (names.shape == (n_features,) and all(isinstance(name, str) for name in names))
    if model.n_features_in_ != n_features or not named or (names is not None and names.dtype != np.dtype(object)):
        raise InputError(f"there are {model.n_features_in_} features, or names of others; {n_features} are required")
