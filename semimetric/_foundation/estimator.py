"""Fitted estimators in files and in print: a file has their parameters and their stored attributes."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from .errors import InputError, StorageError
from .files import State, real_path, write_state
from .sources import ReadsSources
from .stored import check_array, state_of, stored_types, value_of
from .types import FrozenValue


class SavedEstimator(ReadsSources):
    """A fitted estimator that `save` writes; the annotations `Stored` and `StoredIfSet` say which attributes a file holds."""

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
        write_state(real_path(path), state_of(self), key=key)

    def stored_parameters(self) -> dict[str, Any]:
        """Return the parameters that a file holds, by name."""
        return self.get_params(deep=False)

    def as_stored(self) -> dict[str, Any]:
        """Return the attributes that a file holds, by name.

        An interrupted fit, which may leave one of them missing, is refused.
        """
        self._check_whole(vars(self))
        return {name: vars(self)[name] for name in stored_types(type(self)) if name in vars(self)}

    def restore(self, stored: Mapping[str, Any]) -> None:
        """Set the attributes that `as_stored` returned, each of its type, and refuse those that do not fit together."""
        self._check_whole(stored)
        self.__dict__.update(stored)
        self.check_restored()

    def check_restored(self) -> None:
        """Refuse stored attributes that do not fit together, and set attributes that follow from them."""

    def stored_array(self, name: str, *shape: int | None, **limits: Any) -> NDArray[Any]:
        """Return a stored array once `check_array` has found it to be of this shape, and its numbers within the limits.

        `check_restored` reads every array so, before a number of it is the size of an array, or an index.
        """
        array: NDArray[Any] = getattr(self, name)
        check_array(f"{type(self).__name__}.{name}", array, array.dtype, *shape, **limits)
        return array

    def _check_whole(self, stored: Mapping[str, Any]) -> None:
        if missing := [name for name in stored_types(type(self), required=True) if name not in stored]:
            raise InputError(f"{type(self).__name__} has no {missing[0]}; a whole fit is required: call fit again")


def read_estimator(state: State, callables: Sequence[object]) -> Any:
    """Return the fitted estimator of a file, with its base distances."""
    model = value_of(state, SavedEstimator, callables)
    if type(model).__name__ != state.kind or not _is_fitted(model):
        raise StorageError(f"it holds no fitted {state.kind}; restore the file, or save the object again")
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


_FEW = 8  # an array of one axis, or a list, of up to so many entries is shown
_LARGEST = 40  # numbers that a list of lists may hold to be shown


class _Shown:
    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


class _ShownSignature:
    """The signature of a class for `help`: parameters and defaults without types, which ``__init__`` has."""

    def __get__(self, instance: object, owner: Any) -> inspect.Signature:
        if instance is not None:
            raise AttributeError("__signature__ is that of the class")
        _, *parameters = inspect.signature(owner.__init__).parameters.values()
        return inspect.Signature([p.replace(annotation=p.empty) for p in parameters])


class ShortRepr(ReadsSources):
    """An estimator that is printed with short texts for parameters that hold data."""

    __signature__ = _ShownSignature()

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return BaseEstimator.__repr__(_copy(self), N_CHAR_MAX)

    def _get_params_html(self, *args: Any, **options: Any) -> Any:
        """Return the parameters as scikit-learn shows them in a notebook."""
        shown = super()._get_params_html(*args, **options)
        shown.data = {name: abbreviated(value) for name, value in shown.data.items()}
        return shown


class NestedParameters(BaseEstimator):
    """The part of an estimator that reaches the parameters of its settings, and of a learner that it is given.

    None, or a text, may stand for such a value: `set_params` makes the value where one of its parameters is set.
    """

    _moved: ClassVar[Mapping[str, str]] = {}  # names of earlier versions, and what they are called now

    def _nested(self) -> Mapping[str, Callable[[Any], BaseEstimator | None]]:
        """Return functions that make the value of a nested parameter of what stands for it, by name; else None."""
        return {}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name.

        Parameters
        ----------
        deep : bool, default True
            Include those of settings and of the learner, as ``tables__groups`` and so on, which `set_params` takes.

        Returns
        -------
        dict of str to object
        """
        params: dict[str, Any] = super().get_params(deep=deep)
        for name, make in self._nested().items() if deep else ():
            if (made := make(params[name])) is not None:
                params |= {f"{name}__{key}": value for key, value in made.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, those of settings and of the learner as ``tables__groups`` and so on.

        A parameter that is None, or a text, becomes a value with these; it stays if all of them are what it stands for.

        Parameters
        ----------
        **params : dict
        """
        own = super().get_params(deep=False)
        for name in params:
            if name in self._moved and name not in own and self._moved[name].split("__")[0] in own:
                raise InputError(f"{name} is a parameter of before; set {self._moved[name]}")
        for name, make in self._nested().items():
            given = {key: value for key, value in params.items() if key.startswith(f"{name}__")}
            current = params.get(name, getattr(self, name))
            if given and (made := make(current)) is not None:
                default = made.get_params()
                nested = {key.removeprefix(f"{name}__"): value for key, value in given.items()}
                made.set_params(**nested)  # an error if it lacks one of these parameters
                params = {key: value for key, value in params.items() if key not in given}
                params[name] = current if all(_same(value, default[key]) for key, value in nested.items()) else made
        return super().set_params(**params)


def _same(value: object, default: object) -> bool:
    """Return True if a value is the default, which is a number, a text, a truth value, None or an empty tuple."""
    return value is default or (type(value) is type(default) and bool(value == default))


class ShortFields:
    """A dataclass, made with ``repr=False``, whose arrays are printed by their shapes."""

    def __repr__(self) -> str:
        return repr(abbreviated(self))


def _copy(model: Any) -> Any:
    """Return an estimator of the same name and signature with abbreviated parameters, for scikit-learn to print."""
    kind = type(type(model).__name__, (BaseEstimator,), {"__init__": type(model).__init__})
    copy: Any = object.__new__(kind)
    vars(copy).update({name: abbreviated(value) for name, value in model.get_params(deep=False).items()})
    return copy


def abbreviated(value: Any) -> Any:
    """Return the value with a short text in place of each part that holds data."""
    if isinstance(value, ShortRepr):
        return _copy(value)
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and len(shape) and (len(shape) > 1 or shape[0] > _FEW):
        kind = "array" if isinstance(value, np.ndarray) else type(value).__name__
        return _Shown(f"<{kind} of shape {shape}>")
    if type(value) in (list, tuple):
        if len(value) > _FEW and _size(value) > _LARGEST:
            return _Shown(f"<{type(value).__name__} of {len(value)}>")
        return type(value)(abbreviated(entry) for entry in value)
    if is_dataclass(value) and not isinstance(value, (type, FrozenValue)):
        parts = [(f.name, getattr(value, f.name)) for f in fields(value) if f.repr]
        return _Shown(f"{type(value).__name__}({', '.join(f'{name}={abbreviated(part)!r}' for name, part in parts)})")
    return value


def _size(value: Any) -> int:
    """Return the number of values of a list of lists, counted up to a limit."""
    return sum(_size(entry) if isinstance(entry, (list, tuple)) else 1 for entry in value[: _LARGEST + 1])
