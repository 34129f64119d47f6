"""The one place where compiler flags are set."""

from numba import njit

__all__ = ["exported", "kernel"]

# There is no fastmath: d(x, x) == 0 and d(x, y) == d(y, x) hold to the bit only without contraction and reordering.
kernel = njit(cache=True, nogil=True, error_model="numpy")
# This compiles functions that are handed to other libraries: they close over arrays, so they are not cached.
exported = njit(nogil=True, error_model="numpy")
