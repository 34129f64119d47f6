"""Values of parameters and results as JSON values and arrays of a saved file; `value_reader` reads them.

A value is None, a truth value, a number, a text, a list, a tuple or a dict of values, an array, or an object of a class that is
`storable`. Such an object is written as the arguments that make it, so reading one calls its constructor, which proves them;
each has to be of the type that its annotation says. Nothing else is written, and nothing else is read.

    None, True, 3, .5, "x", [...]     as they are in JSON
    {"float": "nan"}                  a number that JSON has not
    {"tuple": [...]}, {"dict": [[key, value], ...]}
    {"array": NAME}, {"cells": [...], "shape": [...]}
    {"object": CLASS, "arguments": {...}}, {"member": NAME, "of": ENUM}, {"function": NAME}
    {"scalar": "float32"}             a type of numbers of NumPy; its dtype is "dtype float32"
    {"state": CLASS, "values": {...}, "prefix": NAME}    a class with a state of its own
    {"estimator": CLASS, "parameters": {...}, "fitted": {...} or null}
    {"callables": n, "tuple": BOOL}   base distances, which are given when the file is read
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from enum import Enum
from typing import Any, get_type_hints

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from .errors import NotSupportedError
from .storable import arguments_of, fits, known

__all__ = ["CALLABLES", "Writer"]

CALLABLES = "base_distances"  # a parameter, or a field, that holds callables: they are given again when a file is read
_KEPT = ("<f8", "<f4", "<i8", "<u2", "|u1", "|b1")  # the dtypes of arrays in files, beside text
_CAST = {"f": ("<f4", "<f8"), "i": ("<i8",), "u": ("<i8",)}  # what holds the numbers of another dtype of this kind


class Writer:
    """Values as JSON, and the arrays in them.

    Parameters
    ----------
    what : str
        The class of the object that is written, for messages.

    Attributes
    ----------
    arrays : dict of str to ndarray
        The arrays so far.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self.arrays: dict[str, NDArray[Any]] = {}

    def value(self, value: Any, name: str, *, fitted: bool = False) -> Any:
        """One value, called ``name`` in messages; estimators in it are written as they are ``fitted``, or their parameters."""
        if value is None or isinstance(value, (bool, str)):
            return value
        if isinstance(value, np.generic):
            return self.value(value.item(), name)
        if type(value) is int and abs(value) < 2**63:
            return value
        if isinstance(value, np.dtype) and value in (np.float32, np.float64):
            return {"scalar": f"dtype {value.name}"}
        if isinstance(value, type) and value in (np.float32, np.float64):
            return {"scalar": value.__name__}
        if type(value) is float:
            return value if np.isfinite(value) else {"float": repr(value)}
        if isinstance(value, np.ndarray) and type(value) in (np.ndarray, np.memmap):
            return self._array(value, name)
        return self._sequence(value, name, fitted) if type(value) in (list, tuple, dict) else self._object(value, name, fitted)

    def named(self, values: Mapping[str, Any], name: str, *, fitted: bool = False) -> dict[str, Any]:
        """Values by their names, which are attributes of what is called ``name``."""
        return {
            key: self._callables(value, name) if key == CALLABLES else self.value(value, f"{name}.{key}", fitted=fitted)
            for key, value in values.items()
        }

    def _callables(self, given: Any, name: str) -> Any:
        if not isinstance(given, (list, tuple)):
            raise self._refused(given, f"{name}.{CALLABLES}")
        return {"callables": len(given), "tuple": isinstance(given, tuple)}

    def _sequence(self, value: Any, name: str, fitted: bool) -> Any:
        if isinstance(value, dict):
            return {"dict": [[self.value(part, name, fitted=fitted) for part in pair] for pair in value.items()]}
        entries = [self.value(entry, f"{name}[{k}]", fitted=fitted) for k, entry in enumerate(value)]
        return {"tuple": entries} if isinstance(value, tuple) else entries

    def _array(self, array: NDArray[Any], name: str) -> Any:
        kind, dtype = array.dtype.kind, array.dtype.newbyteorder("<")
        if kind == "O":
            cells = array.ravel().tolist()
            if not all(cell is None or type(cell) in (str, bool, int, float) for cell in cells):
                raise self._refused(array, name)
            return {"cells": [self.value(cell, name) for cell in cells], "shape": list(array.shape)}
        kept = [dtype.str] if dtype.str in _KEPT or (kind == "U" and dtype.itemsize) else _CAST.get(kind, ())
        for other in kept:
            with np.errstate(over="ignore"):
                held = array.astype(other)
            if np.array_equal(held, array, equal_nan=kind == "f"):
                label = f"a{len(self.arrays)}"
                self.arrays[label] = held
                return {"array": label} | ({} if held.dtype.str == dtype.str else {"dtype": dtype.str})
        raise self._refused(array, name)

    def _object(self, value: Any, name: str, fitted: bool) -> Any:
        kind = type(value).__name__
        if inspect.isfunction(value) and known(value.__name__) is value:
            return {"function": value.__name__}
        if known(kind) is not type(value):
            raise self._refused(value, name)
        if isinstance(value, Enum):
            return {"member": value.name, "of": kind}
        if hasattr(value, "to_state"):
            state, prefix = value.to_state(), f"s{len(self.arrays)}_"
            self.arrays |= {f"{prefix}{key}": array for key, array in state.arrays.items()}
            return {"state": kind, "values": dict(state.values), "prefix": prefix}
        if isinstance(value, BaseEstimator):
            return self.estimator(value, name, fitted=fitted)
        return {"object": kind, "arguments": self.named(arguments_of(value), name)}

    def estimator(self, model: Any, name: str, *, fitted: bool) -> dict[str, Any]:
        """An estimator: its parameters and, if it is ``fitted``, what it holds besides."""
        hints = get_type_hints(type(model).__init__)
        parameters = getattr(model, "_stored_parameters", lambda: model.get_params(deep=False))()
        for key, value in parameters.items():
            if key != CALLABLES and not fits(_plain(value), hints.get(key, Any)):
                raise self._refused(value, f"{name}.{key}")
        held = None
        if fitted and hasattr(model, "_stored"):
            held = model._stored()
            model._check_whole(held)
            held = self.named(held, name, fitted=True)
        return {"estimator": type(model).__name__, "parameters": self.named(parameters, name), "fitted": held}

    def _refused(self, value: Any, name: str) -> NotSupportedError:
        kind = type(value)
        dtype = f" of dtype {value.dtype}" if isinstance(value, np.ndarray) else ""
        return NotSupportedError(
            f"{self._what} cannot be saved: {name} is of type {kind.__module__}.{kind.__qualname__}{dtype}, which no file "
            "holds. Values of JSON, arrays of numbers or text, and objects of this package are required: give such, as the "
            "array components_ for a transformer and an array for a frame, or leave it out by set_params before saving; the "
            "distance alone is saved by semimetric_.save(path)"
        )


def _plain(value: Any) -> Any:
    """A number of NumPy as the number of Python that is stored for it."""
    return value.item() if isinstance(value, np.generic) else value
