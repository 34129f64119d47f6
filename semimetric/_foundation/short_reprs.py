"""How estimators are printed: arrays, frames and long lists by their shapes, never by what they hold."""

from __future__ import annotations

import inspect
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from .types import FrozenValue

__all__ = ["ShortFields", "ShortRepr", "abbreviated"]

_FEW = 8  # an array of one axis, or a list, of up to so many entries is shown
_LARGEST = 40  # numbers that a list of lists may hold to be shown


class _Shown:
    """A text that is printed as it is."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


class _ShownSignature:
    """The signature of a class as `help` shows it: parameters and defaults, whose types its docstring tells.

    With them it would be twice as long. Editors, and whoever asks for the signature of ``__init__``, see the types.
    """

    def __get__(self, instance: object, owner: type) -> inspect.Signature:
        if instance is not None:
            raise AttributeError("__signature__ is that of the class")
        _, *parameters = inspect.signature(owner.__init__).parameters.values()  # type: ignore[misc]  # of this very class
        return inspect.Signature([p.replace(annotation=p.empty) for p in parameters])


class ShortRepr:
    """The part of an estimator that prints it; its parameters stay what they are."""

    __signature__ = _ShownSignature()

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return BaseEstimator.__repr__(_copy(self), N_CHAR_MAX)

    def _get_params_html(self, *args: Any, **options: Any) -> Any:
        """What scikit-learn shows of the parameters in a notebook."""
        shown = super()._get_params_html(*args, **options)  # type: ignore[misc]  # an estimator of scikit-learn 1.7 or later
        shown.data = {name: abbreviated(value) for name, value in shown.data.items()}
        return shown


class ShortFields:
    """The part of a dataclass, made with ``repr=False``, that prints its arrays by their shapes."""

    def __repr__(self) -> str:
        return repr(abbreviated(self))


def _copy(model: Any) -> Any:
    """An estimator of the same name and signature, with abbreviated parameters, that scikit-learn prints."""
    kind = type(type(model).__name__, (BaseEstimator,), {"__init__": type(model).__init__})
    copy: Any = object.__new__(kind)
    vars(copy).update({name: abbreviated(value) for name, value in model.get_params(deep=False).items()})
    return copy


def abbreviated(value: Any) -> Any:
    """The value, in which everything that holds data is replaced by a short text that says what it is."""
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
    """How many values a list of lists holds, as far as that matters."""
    return sum(_size(entry) if isinstance(entry, (list, tuple)) else 1 for entry in value[: _LARGEST + 1])
