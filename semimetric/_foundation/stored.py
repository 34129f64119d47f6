"""Values in saved files: the classes that may stand in them, checks of types, a writer and a reader."""

from __future__ import annotations

import inspect
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from enum import Enum
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Annotated, Any, NotRequired, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import DTypeLike, NDArray
from sklearn.base import BaseEstimator

from .errors import InputError, NotSupportedError, StorageError
from .files import State

T = TypeVar("T")
Made = TypeVar("Made", bound=Callable[..., Any])

Stored = Annotated[T, "stored"]  # a fitted attribute that every file of its class has
StoredIfSet = Annotated[T, "stored if set"]

_STORABLE: dict[str, Any] = {}


def storable(made: Made) -> Made:
    """Allow objects of a class, or a function, in saved files; this is a decorator.

    It refuses a name that another module has made storable, for files could not distinguish the two.
    """
    name: str = made.__name__
    if name in _STORABLE and _STORABLE[name].__module__ != made.__module__:
        raise ValueError(f"{made.__module__}.{name} is storable, and so is {_STORABLE[name].__module__}.{name}; rename one")
    _STORABLE[name] = made
    return made


def known(name: str) -> Any:
    """Return the storable class or function of this name, or None."""
    return _STORABLE.get(name)


def stored_types(kind: type, *, required: bool = False) -> dict[str, Any]:
    """Return the type of every attribute that a class stores, by name; with ``required`` only of those that are always set.

    A third entry of `Annotated` is the type that stands for the attribute in a file.
    """
    marks = ("stored",) if required else ("stored", "stored if set")
    hints = get_type_hints(kind, include_extras=True).items()
    parts = {name: get_args(hint) for name, hint in hints if get_origin(hint) is Annotated}
    return {name: form[0] if form else hint for name, (hint, mark, *form) in parts.items() if mark in marks}


def fits(value: object, hint: Any) -> bool:
    """Return True if a value is of an annotated type; lists, tuples and arrays stand for one another as sequences."""
    hint = _without_alias(hint)
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
        if isinstance(value, np.ndarray) and value.ndim == 0:
            return False
        return isinstance(value, (list, tuple, np.ndarray)) and all(fits(entry, parts[0]) for entry in value)
    return _is_of(value, hint)


def _without_alias(hint: Any) -> Any:
    """Return the type that an alias of a ``type`` statement stands for, as ArrayLike and NDArray are from NumPy 2.5 on."""
    alias = get_origin(hint) or hint
    while hasattr(alias, "__value__"):
        hint = alias.__value__[get_args(hint)] if get_args(hint) else alias.__value__
        alias = get_origin(hint) or hint
    return hint


def _is_of(value: object, hint: Any) -> bool:
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
    """Return the arguments by name that make an object of a storable class.

    A class that is neither a dataclass nor a tuple, and is not pickled in its own way, has an attribute for each argument.
    """
    if is_dataclass(value):
        return {f.name: getattr(value, f.name) for f in fields(value) if f.init}
    if hasattr(value, "_asdict"):
        return value._asdict()
    parameters = inspect.signature(type(value))
    if type(value).__reduce__ is object.__reduce__:
        return {name: getattr(value, name) for name in parameters.parameters}
    return parameters.bind(*value.__reduce__()[1]).arguments


def hints_of(made: Any) -> dict[str, Any]:
    """Return the annotations of the arguments that make an object of a storable class."""
    named = is_dataclass(made) or hasattr(made, "_fields") or not issubclass(made, tuple)
    return get_type_hints(made if named else made.__new__)


_ADVICE = "restore the file, or save the object again"


@contextmanager
def refused_as_stored(what: str) -> Iterator[None]:
    """Turn an error about saved values into a `StorageError` that begins with ``what``."""
    try:
        yield
    except (InputError, NotSupportedError) as error:
        raise StorageError(f"{what} is not as semimetric saved it: {error}") from error


@contextmanager
def located(path: str | os.PathLike[str]) -> Iterator[None]:
    """Put the path of the damaged file before the message of a `StorageError`."""
    try:
        yield
    except StorageError as error:
        raise StorageError(f"{os.fspath(path)}: {error}") from error


class Members:
    """The JSON values and arrays of a saved object, each of which is asked for once; `done` refuses the rest."""

    def __init__(self, values: object, arrays: Mapping[str, NDArray[Any]] | None = None) -> None:
        if not isinstance(values, dict):
            raise StorageError(f"a part of the state is {_shown(values)}, but a JSON object is required; {_ADVICE}")
        self._values, self._arrays = dict(values), dict(arrays or {})

    def __contains__(self, name: str) -> bool:
        return name in self._values or name in self._arrays

    def any(self, name: str) -> Any:
        """Return the value of this name, of any type."""
        if name not in self._values:
            raise StorageError(f"the value {name!r} is missing; {_ADVICE}")
        return self._values.pop(name)

    def typed(self, name: str, kinds: tuple[type, ...]) -> Any:
        """Return a value of one of these types; an integer has at most 63 bits."""
        value = self._of(name, self.any(name), kinds)
        if isinstance(value, int) and abs(value) >= 2**63:
            raise StorageError(f"the value {name!r} is {_shown(value)}; an integer of 63 bits is required: {_ADVICE}")
        return value

    def text(self, name: str) -> str:
        """Return a string."""
        return self._of(name, self.any(name), str)

    def whole(self, name: str, least: int = 0) -> int:
        """Return an integer from ``least`` to 2⁶³ - 1."""
        value = self._of(name, self.any(name), int)
        if not least <= value < 2**63:
            raise StorageError(f"the value {name!r} is {_shown(value)}; an integer >= {least} is required: {_ADVICE}")
        return value

    def seed(self, name: str) -> int | None:
        """Return an integer >= 0, or None."""
        value = self.typed(name, (int, type(None)))
        if value is not None and value < 0:
            raise StorageError(f"the value {name!r} is {value}; a seed >= 0, or none, is required: {_ADVICE}")
        return value

    def flag(self, name: str) -> bool:
        """Return a truth value."""
        return self._of(name, self.any(name), bool)

    def list_of(self, name: str, kind: Any) -> list[Any]:
        """Return a list whose entries are all of the type ``kind``."""
        return [self._of(f"{name}[{k}]", value, kind) for k, value in enumerate(self._of(name, self.any(name), list))]

    def lists_of(self, name: str, kind: Any) -> list[list[Any]]:
        """Return a list of lists whose entries are all of the type ``kind``."""
        rows = self.list_of(name, list)
        return [[self._of(f"{name}[{k}]", value, kind) for value in row] for k, row in enumerate(rows)]

    def parts(self, name: str) -> list[Members]:
        """Return a list of JSON objects, each as members without arrays."""
        return [Members(part) for part in self.list_of(name, dict)]

    def array(self, name: str, dtype: DTypeLike, *shape: int | None, **options: Any) -> NDArray[Any]:
        """Return a copy of an array, checked as `check_array` does."""
        if name not in self._arrays:
            raise StorageError(f"the array {name!r} is missing; {_ADVICE}")
        found = self._arrays.pop(name)
        check_array(name, found, dtype, *shape, **options)
        return found.copy()

    def done(self) -> None:
        """Refuse members that were not asked for."""
        if foreign := [*self._values, *self._arrays]:
            raise StorageError(f"{_shown(foreign[0])} is no part of such an object; {_ADVICE}")

    def _of(self, name: str, value: object, kind: Any) -> Any:
        kinds = kind if isinstance(kind, tuple) else (kind,)
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            required = " or ".join(k.__name__ for k in kinds)
            raise StorageError(f"the value {name!r} is {_shown(value)}, but {required} is required; {_ADVICE}")
        return value


def check_array(
    name: str,
    found: NDArray[Any],
    dtype: DTypeLike,
    *shape: int | None,
    missing: bool = False,
    infinite: bool = False,
    least: float | None = None,
    most: float | None = None,
) -> None:
    """Refuse another dtype or shape (None is any length), NaN unless ``missing``, and infinity unless ``infinite``.

    Numbers below ``least`` or above ``most`` are refused too: labels, row numbers and counts are checked before one of them is
    the size of an array, or an index.
    """
    fits = found.ndim == len(shape) and all(n is None or n == m for n, m in zip(shape, found.shape, strict=True))
    if found.dtype != np.dtype(dtype) or not fits:
        wanted = tuple("n" if n is None else n for n in shape)
        raise StorageError(
            f"the array {name!r} is {found.dtype} of shape {found.shape}; {np.dtype(dtype)} of shape "
            f"{str(wanted).replace(chr(39), '')} is required: {_ADVICE}"
        )
    if found.dtype.kind == "f" and not infinite and (np.isinf(found) if missing else ~np.isfinite(found)).any():
        raise StorageError(f"the array {name!r} holds NaN or infinity; finite numbers are required: {_ADVICE}")
    below, above = least is not None and (found < least).any(), most is not None and (found > most).any()
    if below or above:
        number, limit = (found[found < least][0], f">= {least}") if below else (found[found > most][0], f"<= {most}")
        raise StorageError(f"the array {name!r} holds {number}; numbers {limit} are required: {_ADVICE}")


def split_vectors(name: str, flat: NDArray[Any], counts: NDArray[np.int64], *, least: int = 1) -> list[NDArray[Any]]:
    """Return the vectors that are joined in ``flat``; their lengths are ``counts``, which messages call ``name``."""
    right = flat.ndim == counts.ndim == 1 and counts.min(initial=least) >= least and counts.max(initial=0) <= len(flat)
    if not right or not len(counts) or counts.sum() != len(flat):
        raise StorageError(f"the array {name!r} adds up to {counts.sum()} for {flat.size} numbers; {_ADVICE}")
    return [part.copy() for part in np.split(flat, np.cumsum(counts)[:-1])]


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:56]} ..."


CALLABLES = "base_distances"  # a parameter, or a field, that holds callables: they are given again when a file is read
_KEPT = ("<f8", "<f4", "<i8", "<u2", "|u1", "|b1")  # the dtypes of arrays in files, beside text
_CAST = {"f": ("<f4", "<f8"), "i": ("<i8",), "u": ("<i8",)}  # what holds the numbers of another dtype of this kind


class Writer:
    """The values of an object called ``what`` as JSON, and the ``arrays`` in them by their labels."""

    def __init__(self, what: str) -> None:
        self._what = what
        self.arrays: dict[str, NDArray[Any]] = {}

    def value(self, value: Any, name: str, *, fitted: bool = False) -> Any:
        """Return a value as JSON; ``name`` is for messages, and with ``fitted`` estimators keep what they have learned."""
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
        """Return the attributes of an object as JSON; ``name`` is for messages."""
        return {
            key: self._callables(value, name) if key == CALLABLES else self.value(value, f"{name}.{key}", fitted=fitted)
            for key, value in values.items()
        }

    def _callables(self, given: Any, name: str) -> Any:
        if not isinstance(given, (list, tuple)):
            raise self._refused(given, f"{name}.{CALLABLES}")
        names = [each if isinstance(each, str) else None for each in given]
        stored = {"callables": names.count(None), "tuple": isinstance(given, tuple)}
        return stored | ({"names": names} if len(names) > names.count(None) else {})

    def _sequence(self, value: Any, name: str, fitted: bool) -> Any:
        if isinstance(value, dict):
            return {"dict": [[self.value(part, name, fitted=fitted) for part in pair] for pair in value.items()]}
        if len(value) > 1 and all(type(part) is np.ndarray and part.ndim == 1 and part.dtype == np.float64 for part in value):
            joined = {"flat": np.concatenate(value), "counts": np.array([len(part) for part in value], np.int64)}
            return {"arrays": self.named(joined, name), "tuple": isinstance(value, tuple)}
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
        if hasattr(value, "stored_form"):
            return self._object(value.stored_form(), name, fitted)
        if isinstance(value, BaseEstimator):
            return self.estimator(value, name, fitted=fitted)
        return {"object": kind, "arguments": self.named(arguments_of(value), name)}

    def estimator(self, model: Any, name: str, *, fitted: bool) -> dict[str, Any]:
        """Return the parameters of an estimator and, with ``fitted``, its stored attributes as JSON."""
        hints = get_type_hints(type(model).__init__)
        parameters = getattr(model, "stored_parameters", lambda: model.get_params(deep=False))()
        for key, value in parameters.items():
            if key != CALLABLES and not fits(_plain(value), hints.get(key, Any)):
                raise self._refused(value, f"{name}.{key}")
        held = None
        if fitted and hasattr(model, "as_stored"):
            held = self.named(model.as_stored(), name, fitted=True)
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
    return value.item() if isinstance(value, np.generic) else value


_DEEPEST = 40  # how many values may lie in one another
_ANY = (object, bool)


class Reader:
    """The values that a `Writer` has written, each checked against an annotation; ``callables`` are the base distances."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]], callables: Sequence[object] = ()) -> None:
        self._arrays, self._callables = dict(arrays), tuple(callables)
        self._depth = 0

    def done(self) -> None:
        """Refuse arrays that no value has named."""
        if self._arrays:
            raise StorageError(f"the array {next(iter(self._arrays))!r} is no part of such an object; {_ADVICE}")

    def value(self, stored: Any, hint: Any, name: str) -> Any:
        """Return the value of a type that is written in JSON; ``name`` is for messages."""
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
        """Return values by their names, each of its type in ``hints``; other names are refused."""
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
        given = self.value(part.any("names"), list[str | None], f"{name}.names") if "names" in part else None
        part.done()
        if given is not None and given.count(None) != n:
            raise StorageError(f"{name} has {n} base distances without a name, but {given.count(None)} places; {_ADVICE}")
        if n not in (0, len(self._callables)):
            raise StorageError(
                f"{name} has {n} base distances, which are Python functions, but {len(self._callables)} were given; in Python, "
                "give the same callables, in the same order: semimetric.load(path, base_distances=[...])"
            )
        names = [None] * n if given is None else given  # n may be any number before it is that of the callables
        functions = iter(self._callables)
        return kind(next(functions) if each is None else each for each in names) if n == len(self._callables) else kind(names)

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

    def _split(self, part: Members, name: str) -> Any:
        joined = self.named(part.any("arrays"), {"flat": NDArray[np.float64], "counts": NDArray[np.int64]}, name)
        if len(joined) < 2:
            raise StorageError(f"{name} has vectors or their lengths missing; {_ADVICE}")
        return (tuple if part.flag("tuple") else list)(
            split_vectors(f"{name}.counts", joined["flat"], joined["counts"], least=0)
        )

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
        if not inspect.isclass(made) or issubclass(made, (Enum, BaseEstimator)) or hasattr(made, "stored_form"):
            raise StorageError(f"{name} is to be a {kind}, which is written in another way; {_ADVICE}")
        hints, expected = hints_of(made), inspect.signature(made).parameters
        values = self.named(arguments, {key: hints.get(key, Any) for key in expected}, name)
        if missing := [key for key, p in expected.items() if p.default is p.empty and key not in values]:
            raise StorageError(f"{name} is a {kind} without {missing[0]!r}; {_ADVICE}")
        found = made(**values)
        return found.restored(self._callables) if hasattr(found, "restored") else found

    def _known(self, kind: str, name: str) -> Any:
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

    def _estimator(self, part: Members, name: str) -> Any:
        made: Any = self._known(part.text("estimator"), name)
        if not inspect.isclass(made) or not issubclass(made, BaseEstimator):
            raise StorageError(f"{name} is no estimator; {_ADVICE}")
        hints = get_type_hints(made.__init__)
        known = {key: hints.get(key, Any) for key in inspect.signature(made).parameters}
        model: Any = made(**self.named(part.any("parameters"), known, name))
        fitted = part.any("fitted")
        if fitted is not None:
            if not hasattr(made, "restore"):
                raise StorageError(f"{name} is a {made.__name__}, whose parameters alone are saved; {_ADVICE}")
            model.restore(self.named(fitted, stored_types(made), name))
        return model


_FORMS: dict[str, Callable[[Reader, Members, str], Any]] = {
    "arrays": Reader._split,
    "float": Reader._float,
    "scalar": Reader._scalar,
    "tuple": Reader._tuple,
    "dict": Reader._dict,
    "array": Reader._array,
    "cells": Reader._cells,
    "object": Reader._made,
    "member": Reader._member,
    "function": Reader._function,
    "estimator": Reader._estimator,
}
_SCALARS: dict[str, Any] = {kind.__name__: kind for kind in (np.float32, np.float64)}
_SCALARS |= {f"dtype {name}": np.dtype(kind) for name, kind in _SCALARS.items()}
_NARROW = ("<f2", "|i1", "<i2", "<i4", "<u4", "<u8")


def state_of(value: Any) -> State:
    """Return an object of a storable class as the content of a file, with what it has learned."""
    kind = type(value).__name__
    writer = Writer(kind)
    return State(kind, {"object": writer.value(value, kind, fitted=True)}, writer.arrays)


def value_of(state: State, hint: Any, callables: Sequence[object]) -> Any:
    """Return the object of a `state_of`, which must be of an annotated type, with its base distances."""
    members, reader = Members(state.values), Reader(state.arrays, callables)
    stored = members.any("object")
    members.done()
    with refused_as_stored(f"the {state.kind}"):
        found = reader.value(stored, hint, state.kind)
    reader.done()
    return found


def _holds(shape: list[int], n: int) -> bool:
    """Return True if an array of this shape has n entries, and no side is too large for NumPy."""
    positive = math.prod(side for side in shape if side)
    return len(shape) <= 8 and min(shape, default=1) >= 0 and positive < 2**31 and math.prod(shape) == n
