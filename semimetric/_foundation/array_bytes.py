"""An array as the bytes of a ``.npy`` file, and back: only what this package writes is read, and nothing is asked of memory.

NumPy's own reader trusts the header. Here the header must be the one that `header_of` writes, and the bytes that follow must be
exactly those of its shape, so an array is a view of bytes that are there already.
"""

import io
import math
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import StorageError

__all__ = ["array_in", "header_of"]

_START = re.compile(rb"\x93NUMPY\x01\x00([\x00-\xff]{2})")
_HEADER = re.compile(
    rb"\{'descr': '(<f8|<f4|<i8|<i4|<u2|\|u1|\|b1|<U[1-9][0-9]{0,5})', 'fortran_order': False, "
    rb"'shape': \(((?:[0-9]{1,15},|[0-9]{1,15}(?:, [0-9]{1,15})+)?)\), \} *\n"
)
_ALIGNED = 64  # bytes: the values of an array begin at a multiple of this
_LAST_CHARACTER = 0x10FFFF


def header_of(array: NDArray[Any]) -> bytes:
    """The bytes of the ``.npy`` file of a C-contiguous array that come before its values."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(array))
    return header.getvalue()


def array_in(content: Any, name: str) -> NDArray[Any]:
    """The array in the bytes of a ``.npy`` file, as a view of them; ``name`` is what errors call it.

    Parameters
    ----------
    content : bytes-like
    name : str

    Raises
    ------
    StorageError
        If the header is not one that this package writes, the values are more or fewer than it says, or what they hold are no
        truth values or no characters.
    """
    raw = memoryview(content).cast("B")
    start = _START.fullmatch(raw[:10])
    begin = 10 + int.from_bytes(start[1], "little") if start else 0
    header = _HEADER.fullmatch(raw[10:begin]) if start else None
    if header is None or begin % _ALIGNED:
        raise StorageError(
            f"{name} does not begin as an array that semimetric saved; restore the file, or save the object again"
        )
    dtype = np.dtype(header[1].decode())
    shape = tuple(int(n) for n in header[2].decode().split(",") if n)
    whole = math.prod(shape) * dtype.itemsize == len(raw) - begin and math.prod(n for n in shape if n) < 2**59
    if not whole:
        raise StorageError(
            f"{name} has {len(raw) - begin} bytes of values, but its header says {dtype} of shape {shape}; restore the file"
        )
    if not len(raw) - begin:
        return np.empty(shape, dtype)
    array = np.frombuffer(raw[begin:], dtype=dtype).reshape(shape)
    if dtype.kind == "b" and array.view(np.uint8).max() > 1:
        raise StorageError(f"{name} holds bytes that are no truth values; restore the file")
    if dtype.kind == "U" and array.reshape(-1).view(np.uint32).max() > _LAST_CHARACTER:
        raise StorageError(f"{name} holds numbers that are no characters; restore the file")
    return array
