"""Whether an array lies in memory, or in a file that is mapped into it."""

import mmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["is_mapped"]


def is_mapped(array: NDArray[Any]) -> bool:
    """Whether the values of an array lie in a file that is mapped into memory, seen through views."""
    owner: Any = array
    while isinstance(owner, (np.ndarray, memoryview)):
        if isinstance(owner, np.memmap):
            return True
        owner = owner.obj if isinstance(owner, memoryview) else owner.base
    return isinstance(owner, mmap.mmap)
