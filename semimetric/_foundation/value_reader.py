"""Values of parameters and results from a saved file: what `value_writer` has written, each value proved as it is read."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any, get_type_hints

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from .errors import StorageError
from .members import Members
from .storable import fits, hints_of, known
from .storage import State
from .value_writer import CALLABLES

__all__ = ["Reader"]

_DEEPEST = 40  # how many values may lie in one another
_ADVICE = "restore the file, or save the object again"
_ANY = (object, bool)


class Reader:
    """Values that a `Writer` has written; each is proved to be of the type that is asked.

    Parameters
    ----------
    arrays : mapping of str to ndarray
        The arrays of the file.
    callables : sequence of callables
        The base distances of the object.
    """

    def __init__(self, arrays: Mapping[str, NDArray[Any]], callables: Sequence[object] = ()) -> None:
        self._arrays, self._callables = dict(arrays), tuple(callables)
        self._depth = 0

    def done(self) -> None:
        """Refuse arrays that nothing has named."""
        if self._arrays:
            raise StorageError(f"the array {next(iter(self._arrays))!r} is no part of such an object; {_ADVICE}")

    def value(self, stored: Any, hint: Any, name: str) -> Any:
        """One value, called ``name`` in messages, of the type that the annotation ``hint`` says."""
        self._depth += 1
        if self._depth > _DEEPEST:
            raise StorageError(f"{name} holds more than {_DEEPEST} values in one another; {_ADVICE}")
        found = self._value(stored, name)
        self._depth -= 1
        if not fits(found, hint):
            wanted = getattr(hint, "__name__", hint)
            raise StorageError(f"{name} is of type {type(found).__name__}, but {wanted} is required; {_ADVICE}")
        return found

    def named(self, stored: Any, hints: Mapping[str, Any], name: str) -> dict[str, Any]:
        """Values by their names, each of the type that ``hints`` says; a name that is not there is refused."""
        values = stored if isinstance(stored, dict) else {}
        if values is not stored or (foreign := [key for key in values if key not in hints]):
            raise StorageError(f"{name} has {'no names' if values is not stored else repr(foreign[0][:60])}; {_ADVICE}")
        return {
            key: self._bases(value, name) if key == CALLABLES else self.value(value, hints[key], f"{name}.{key}")
            for key, value in values.items()
        }

    def _bases(self, stored: Any, name: str) -> Any:
        part = Members(stored)
        n, kind = part.whole("callables"), tuple if part.flag("tuple") else list
        part.done()
        if n not in (0, len(self._callables)):
            raise StorageError(
                f"{name} has {n} base distances, which are Python functions, but {len(self._callables)} were given; in Python, "
                "give the same callables, in the same order: semimetric.load(path, base_distances=[...])"
            )
        return kind(self._callables[:n])

    def _value(self, stored: Any, name: str) -> Any:
        if isinstance(stored, list):
            return [self.value(entry, Any, f"{name}[{k}]") for k, entry in enumerate(stored)]
        if not isinstance(stored, dict):
            if isinstance(stored, int) and abs(stored) >= 2**63:
                raise StorageError(f"{name} is an integer of more than 63 bits; {_ADVICE}")
            return stored
        part = Members(stored)
        form = next((form for form in _FORMS if form in stored), None)
        if form is None:
            raise StorageError(f"{name} is written in no form that is known; {_ADVICE}")
        found = _FORMS[form](self, part, name)
        part.done()
        return found

    def _float(self, part: Members, name: str) -> float:
        text = part.text("float")
        if text not in ("nan", "inf", "-inf"):
            raise StorageError(f"{name} is {text[:60]!r}, which is no number; {_ADVICE}")
        return float(text)

    def _scalar(self, part: Members, name: str) -> Any:
        text = part.text("scalar")
        if text not in _SCALARS:
            raise StorageError(f"{name} is {text[:60]!r}, which is no type of numbers that is known; {_ADVICE}")
        return _SCALARS[text]

    def _tuple(self, part: Members, name: str) -> tuple[Any, ...]:
        return tuple(self.value(part.list_of("tuple", _ANY), Any, name))

    def _dict(self, part: Members, name: str) -> dict[Any, Any]:
        pairs = [self.value(pair, Any, name) for pair in part.lists_of("dict", _ANY)]
        if not all(len(pair) == 2 and isinstance(pair[0], (str, int, float)) for pair in pairs):
            raise StorageError(f"{name} is a dict with an entry that is no pair, or a key that is no text or number; {_ADVICE}")
        return dict(pairs)

    def _array(self, part: Members, name: str) -> NDArray[Any]:
        label = part.text("array")
        if label not in self._arrays:
            raise StorageError(f"the array {label[:60]!r} of {name} is missing; {_ADVICE}")
        found = self._arrays.pop(label)
        if "dtype" not in part:
            return found.copy()
        wanted = part.text("dtype")
        if wanted not in _NARROW or found.dtype.kind not in "if" or not np.isfinite(found).all() and found.dtype.kind == "i":
            raise StorageError(f"the array {label!r} is to be of dtype {wanted[:60]!r}; {_ADVICE}")
        with np.errstate(all="ignore"):
            narrow = found.astype(wanted)
        if not np.array_equal(narrow, found, equal_nan=found.dtype.kind == "f"):
            raise StorageError(f"the array {label!r} holds numbers that {wanted} does not; {_ADVICE}")
        return narrow

    def _cells(self, part: Members, name: str) -> NDArray[Any]:
        cells = self.value(part.list_of("cells", _ANY), Any, name)
        shape = part.list_of("shape", int)
        if not all(c is None or isinstance(c, (str, bool, int, float)) for c in cells) or not _holds(shape, len(cells)):
            raise StorageError(f"{name} has {len(cells)} cells for the shape {shape[:8]}, or one that is no cell; {_ADVICE}")
        out = np.empty(len(cells), dtype=object)
        out[:] = cells
        return out.reshape(shape)

    def _made(self, part: Members, name: str) -> Any:
        kind = part.text("object")
        made, arguments = self._known(kind, name), part.any("arguments")
        if not inspect.isclass(made) or issubclass(made, (Enum, BaseEstimator)) or hasattr(made, "from_state"):
            raise StorageError(f"{name} is to be a {kind}, which is written in another way; {_ADVICE}")
        hints, expected = hints_of(made), inspect.signature(made).parameters
        values = self.named(arguments, {key: hints.get(key, Any) for key in expected}, name)
        if missing := [key for key, p in expected.items() if p.default is p.empty and key not in values]:
            raise StorageError(f"{name} is a {kind} without {missing[0]!r}; {_ADVICE}")
        return made(**values)

    def _known(self, kind: str, name: str) -> Any:
        """The storable class or function called ``kind``."""
        found = known(kind)
        if found is None:
            raise StorageError(f"{name} is a {kind[:60]!r}, which this version cannot read; upgrade semimetric, or {_ADVICE}")
        return found

    def _member(self, part: Members, name: str) -> Any:
        made, member = self._known(part.text("of"), name), part.text("member")
        if not inspect.isclass(made) or not issubclass(made, Enum) or member not in made.__members__:
            raise StorageError(f"{name} is {member[:60]!r}, which is not known; {_ADVICE}")
        return made[member]

    def _function(self, part: Members, name: str) -> Any:
        found = self._known(part.text("function"), name)
        if not inspect.isfunction(found):
            raise StorageError(f"{name} is no function; {_ADVICE}")
        return found

    def _state(self, part: Members, name: str) -> Any:
        made = self._known(part.text("state"), name)
        if not hasattr(made, "from_state"):
            raise StorageError(f"{name} has no state of its own; {_ADVICE}")
        values, prefix = part.any("values"), part.text("prefix")
        labels = [label for label in self._arrays if prefix and label.startswith(prefix)]
        arrays = {label.removeprefix(prefix): self._arrays.pop(label) for label in labels}
        return made.from_state(State(made.__name__, values, arrays), self._callables)

    def _estimator(self, part: Members, name: str) -> Any:
        made: Any = self._known(part.text("estimator"), name)
        if not inspect.isclass(made) or not issubclass(made, BaseEstimator):
            raise StorageError(f"{name} is no estimator; {_ADVICE}")
        hints = get_type_hints(made.__init__)
        known = {key: hints.get(key, Any) for key in inspect.signature(made).parameters}
        model: Any = made(**self.named(part.any("parameters"), known, name))
        fitted = part.any("fitted")
        if fitted is not None:
            if not hasattr(made, "_stored_types"):
                raise StorageError(f"{name} is a {made.__name__}, whose parameters alone are saved; {_ADVICE}")
            held = self.named(fitted, model._stored_types(), name)
            model._check_whole(held)
            model._restore(held)
        return model


_FORMS: dict[str, Callable[[Reader, Members, str], Any]] = {
    "float": Reader._float,
    "scalar": Reader._scalar,
    "tuple": Reader._tuple,
    "dict": Reader._dict,
    "array": Reader._array,
    "cells": Reader._cells,
    "object": Reader._made,
    "member": Reader._member,
    "function": Reader._function,
    "state": Reader._state,
    "estimator": Reader._estimator,
}
_SCALARS: dict[str, Any] = {kind.__name__: kind for kind in (np.float32, np.float64)}
_SCALARS |= {f"dtype {name}": np.dtype(kind) for name, kind in _SCALARS.items()}
_NARROW = ("<f2", "|i1", "<i2", "<i4", "<u4", "<u8")


def _holds(shape: list[int], n: int) -> bool:
    """Whether an array of this shape has n entries; sides besides one of 0 may not be larger than NumPy counts."""
    positive = math.prod(side for side in shape if side)
    return len(shape) <= 8 and min(shape, default=1) >= 0 and positive < 2**31 and math.prod(shape) == n
