"""What a saved object holds, asked for member by member: each is proved to be of the type, shape and range that is asked."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .errors import InputError, NotSupportedError, StorageError

__all__ = ["Members", "check_array", "located", "refused_as_stored"]

_ADVICE = "restore the file, or save the object again"


@contextmanager
def refused_as_stored(what: str) -> Iterator[None]:
    """Turn an error of what is made of saved values into a `StorageError` that begins with ``what``."""
    try:
        yield
    except (InputError, NotSupportedError) as error:
        raise StorageError(f"{what} is not as semimetric saved it: {error}") from error


@contextmanager
def located(path: str | os.PathLike[str]) -> Iterator[None]:
    """Let a `StorageError` begin with the path of the file in which something is wrong."""
    try:
        yield
    except StorageError as error:
        raise StorageError(f"{os.fspath(path)}: {error}") from error


class Members:
    """JSON values and arrays of a saved object; at the end, `done` refuses those that nobody has asked for.

    Parameters
    ----------
    values : object
        What JSON gave; anything but a dict is refused.
    arrays : mapping of str to ndarray
    """

    def __init__(self, values: object, arrays: Mapping[str, NDArray[Any]] | None = None) -> None:
        if not isinstance(values, dict):
            raise StorageError(f"a part of the state is {_shown(values)}, but a JSON object is required; {_ADVICE}")
        self._values, self._arrays = dict(values), dict(arrays or {})

    def __contains__(self, name: str) -> bool:
        return name in self._values or name in self._arrays

    def any(self, name: str) -> Any:
        """The value of this name, of any type."""
        if name not in self._values:
            raise StorageError(f"the value {name!r} is missing; {_ADVICE}")
        return self._values.pop(name)

    def typed(self, name: str, kinds: tuple[type, ...]) -> Any:
        """A value of one of these types, an integer of at most 63 bits."""
        value = self._of(name, self.any(name), kinds)
        if isinstance(value, int) and abs(value) >= 2**63:
            raise StorageError(f"the value {name!r} is {_shown(value)}; an integer of 63 bits is required: {_ADVICE}")
        return value

    def text(self, name: str) -> str:
        """A string."""
        return self._of(name, self.any(name), str)

    def whole(self, name: str, least: int = 0) -> int:
        """An integer from ``least`` to 2⁶³ - 1."""
        value = self._of(name, self.any(name), int)
        if not least <= value < 2**63:
            raise StorageError(f"the value {name!r} is {_shown(value)}; an integer >= {least} is required: {_ADVICE}")
        return value

    def seed(self, name: str) -> int | None:
        """An integer >= 0, or None."""
        value = self.typed(name, (int, type(None)))
        if value is not None and value < 0:
            raise StorageError(f"the value {name!r} is {value}; a seed >= 0, or none, is required: {_ADVICE}")
        return value

    def number(self, name: str) -> float:
        """A finite number."""
        value = self._of(name, self.any(name), (int, float))
        if not abs(value) < 2.0**1023:
            raise StorageError(f"the value {name!r} is {_shown(value)}; a finite number is required: {_ADVICE}")
        return float(value)

    def flag(self, name: str) -> bool:
        """A truth value."""
        return self._of(name, self.any(name), bool)

    def list_of(self, name: str, kind: Any) -> list[Any]:
        """A list whose entries are all of the type ``kind``."""
        return [self._of(f"{name}[{k}]", value, kind) for k, value in enumerate(self._of(name, self.any(name), list))]

    def lists_of(self, name: str, kind: Any) -> list[list[Any]]:
        """A list of lists whose entries are all of the type ``kind``."""
        rows = self.list_of(name, list)
        return [[self._of(f"{name}[{k}]", value, kind) for value in row] for k, row in enumerate(rows)]

    def parts(self, name: str) -> list["Members"]:
        """A list of JSON objects, each as members without arrays."""
        return [Members(part) for part in self.list_of(name, dict)]

    def array(
        self, name: str, dtype: DTypeLike, *shape: int | None, missing: bool = False, infinite: bool = False
    ) -> NDArray[Any]:
        """A new array of this dtype and shape, in which None stands for any length; its numbers are finite.

        With ``missing`` they may be NaN, and with ``infinite`` anything.
        """
        if name not in self._arrays:
            raise StorageError(f"the array {name!r} is missing; {_ADVICE}")
        found = self._arrays.pop(name)
        check_array(name, found, dtype, *shape, missing=missing, infinite=infinite)
        return found.copy()

    def done(self) -> None:
        """Refuse members that nobody has asked for."""
        if foreign := [*self._values, *self._arrays]:
            raise StorageError(f"{_shown(foreign[0])} is no part of such an object; {_ADVICE}")

    def _of(self, name: str, value: object, kind: Any) -> Any:
        kinds = kind if isinstance(kind, tuple) else (kind,)
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            required = " or ".join(k.__name__ for k in kinds)
            raise StorageError(f"the value {name!r} is {_shown(value)}, but {required} is required; {_ADVICE}")
        return value


def check_array(
    name: str, found: NDArray[Any], dtype: DTypeLike, *shape: int | None, missing: bool = False, infinite: bool = False
) -> None:
    """Refuse an array of another dtype or shape, and NaN and infinity unless they may be ``missing`` or ``infinite``."""
    fits = found.ndim == len(shape) and all(n is None or n == m for n, m in zip(shape, found.shape, strict=True))
    if found.dtype != np.dtype(dtype) or not fits:
        wanted = tuple("n" if n is None else n for n in shape)
        raise StorageError(
            f"the array {name!r} is {found.dtype} of shape {found.shape}; {np.dtype(dtype)} of shape "
            f"{str(wanted).replace(chr(39), '')} is required: {_ADVICE}"
        )
    if found.dtype.kind == "f" and not infinite and (np.isinf(found) if missing else ~np.isfinite(found)).any():
        raise StorageError(f"the array {name!r} holds NaN or infinity; finite numbers are required: {_ADVICE}")


def _shown(value: object) -> str:
    """A value as messages show it."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:56]} ..."
