"""The one place where compiler flags are set."""

from collections.abc import Callable
from typing import Any

from numba import njit

# There is no fastmath: d(x, x) == 0 and d(x, y) == d(y, x) hold to the bit only without contraction and reordering.
kernel = njit(cache=True, nogil=True, error_model="numpy")
# This compiles functions that are handed to other libraries: they close over arrays, so they are not cached.
exported = njit(nogil=True, error_model="numpy")


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a kernel whose code becomes a part of its callers: to hand over its arguments would cost more."""
    return njit(nogil=True, error_model="numpy", inline="always")(getattr(function, "py_func", function))
