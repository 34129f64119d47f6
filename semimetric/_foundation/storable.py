"""Which classes and functions may stand in saved files, what makes their objects, and whether a value is of a type."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, NotRequired, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

__all__ = ["arguments_of", "fits", "hints_of", "known", "storable"]

T = TypeVar("T")

_STORABLE: dict[str, Any] = {}


def storable(made: T) -> T:
    """Let objects of a class, or a function itself, stand in saved files: a decorator.

    Raises
    ------
    ValueError
        If another module has one of the same name, of which files could not tell them apart.
    """
    name: str = made.__name__  # type: ignore[attr-defined]  # classes and functions have names
    if name in _STORABLE and _STORABLE[name].__module__ != made.__module__:
        raise ValueError(f"{made.__module__}.{name} is storable, and so is {_STORABLE[name].__module__}.{name}; rename one")
    _STORABLE[name] = made
    return made


def known(name: str) -> Any:
    """The storable class or function of this name; None if there is none."""
    return _STORABLE.get(name)


def fits(value: object, hint: Any) -> bool:
    """Whether a value is of the type that an annotation says; lists, tuples and arrays stand for one another as sequences."""
    origin, parts = get_origin(hint), get_args(hint)
    if hint is Any or isinstance(hint, (str, TypeVar)):
        return True
    if origin is NotRequired:
        return fits(value, parts[0])
    if origin in (Union, UnionType):
        return any(fits(value, part) for part in parts)
    if origin is np.ndarray:
        dtype = get_args(parts[1])[0] if len(parts) > 1 else Any
        return isinstance(value, np.ndarray) and (dtype is Any or np.issubdtype(value.dtype, dtype))
    if origin is tuple and parts and parts[-1] is not Ellipsis:
        return isinstance(value, (list, tuple)) and len(value) == len(parts) and all(map(fits, value, parts))
    if inspect.isclass(origin) and issubclass(origin, Mapping):
        return isinstance(value, dict) and all(fits(k, parts[0]) and fits(v, parts[1]) for k, v in value.items())
    if inspect.isclass(origin) and issubclass(origin, Iterable):
        return isinstance(value, (list, tuple, np.ndarray)) and all(fits(entry, parts[0]) for entry in value)
    return _is_of(value, hint)


def _is_of(value: object, hint: Any) -> bool:
    """Whether a value is of a type without parts: numbers are whole or not, and truth values count as numbers nowhere else."""
    if hint is None or hint is NoneType:
        return value is None
    if hint is bool:
        return isinstance(value, int)  # scikit-learn's habit of verbose=2
    if hint in (int, float):
        return isinstance(value, Real if hint is float else Integral) and not isinstance(value, bool)
    if getattr(hint, "_is_protocol", False):  # the parts of ArrayLike
        return isinstance(value, (int, float, list, tuple, np.ndarray))
    return isinstance(value, hint) if inspect.isclass(hint) else True


def arguments_of(value: Any) -> dict[str, Any]:
    """The arguments by name that make an object of a storable class."""
    if is_dataclass(value):
        return {f.name: getattr(value, f.name) for f in fields(value) if f.init}
    if hasattr(value, "_asdict"):
        return value._asdict()
    return inspect.signature(type(value)).bind(*value.__reduce__()[1]).arguments


def hints_of(made: Any) -> dict[str, Any]:
    """The annotations of the arguments that make an object of a storable class."""
    named = is_dataclass(made) or hasattr(made, "_fields") or not issubclass(made, tuple)
    return get_type_hints(made if named else made.__new__)
