"""The calls of an expensive distance: each is checked and kept, so that no error and no interruption loses one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._foundation.errors import DistanceCallError, InputError
from .._foundation.threads import end_if_interrupted
from .._foundation.types import Floats, Integers

__all__ = ["ExpensiveCalls"]


class ExpensiveCalls:
    """The calls of a distance between queries and items that have been made so far.

    Parameters
    ----------
    function : callable
        Two objects to a number >= 0.
    name : str, default "distance"
        The parameter as which a user has given it, for messages.
    left : str, default "query"
        What the first object of a call is, for messages.
    right : str, default "item"
        What the second one is.
    """

    def __init__(self, function: Any, name: str = "distance", *, left: str = "query", right: str = "item") -> None:
        if not callable(function):
            raise InputError(f"{name}={function!r} must be callable: a function of two objects that returns a number >= 0")
        self.function: Callable[..., Any] = function
        self.name = name
        self.left = left
        self.right = right
        self._made: list[tuple[int, int, float]] = []  # one append a call, so that threads can share it

    def __len__(self) -> int:
        return len(self._made)

    @property
    def pairs(self) -> Integers:
        """The row numbers of the objects of every call, shape (n_calls, 2)."""
        return np.array([made[:2] for made in self._made], dtype=np.int64).reshape(-1, 2)

    @property
    def distances(self) -> Floats:
        """What the calls have returned, shape (n_calls,)."""
        return np.array([made[2] for made in self._made], dtype=np.float64)

    def value(self, x: Any, y: Any, i: int, j: int) -> float:
        """The distance of x to y, which are row i of the left objects and row j of the right ones."""
        return self._called(lambda: (self.function(x, y), None), i, j)[0]

    def value_and_dual(self, x: Any, y: Any, i: int, j: int) -> tuple[float, Any]:
        """The distance, and the dual that ``function.with_dual`` returns beside it; None where it has no such method."""
        solve = getattr(self.function, "with_dual", None)
        if solve is None:
            return self.value(x, y, i, j), None
        return self._called(lambda: solve(x, y), i, j)

    def keep(self, i: int, j: int, value: float) -> None:
        """Record a distance that was called elsewhere."""
        self._made.append((i, j, value))

    def refuse(self, reason: str, i: int, j: int) -> DistanceCallError:
        """The error that the distance of row i to row j cannot be used, with everything that was evaluated so far."""
        return DistanceCallError(
            f"{self.name} of {self.left} {i} and {self.right} {j}: {reason}. The {len(self)} distances evaluated so far are in "
            "the attributes pairs and distances of this error",
            (i, j), self.pairs, self.distances,
        )  # fmt: skip

    def _called(self, call: Callable[[], tuple[Any, Any]], i: int, j: int) -> tuple[float, Any]:
        end_if_interrupted()
        try:
            returned = call()
        except Exception as error:  # a user's function may raise anything
            raise self.refuse(f"it raised {type(error).__name__}: {error}", i, j) from error
        if not isinstance(returned, tuple) or len(returned) != 2:
            raise self.refuse(f"with_dual returned {_brief(returned)}; a pair (distance, dual) is required", i, j)
        value = _number(returned[0])
        if value is None:
            raise self.refuse(f"it returned {_brief(returned[0])}; one number is required", i, j)
        if not np.isfinite(value) or value < 0:
            raise self.refuse(f"it returned {value}; a finite number >= 0 is required", i, j)
        self._made.append((i, j, value))
        return value, returned[1]


def _number(returned: Any) -> float | None:
    """What a call has returned as a number; None if it is not one."""
    if isinstance(returned, (str, bytes)):
        return None
    try:
        array = np.asarray(returned)
        return float(array) if array.ndim == 0 and array.dtype.kind in "biuf" else None
    except (TypeError, ValueError):
        return None


def _brief(returned: Any) -> str:
    """What was returned, in a few words."""
    shape = getattr(returned, "shape", None)
    return f"an array of shape {shape}" if shape else f"{type(returned).__name__} {repr(returned)[:40]}"
