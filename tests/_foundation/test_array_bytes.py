import io

import numpy as np
import pytest
from cases import assert_refused
from numpy.testing import assert_array_equal

from semimetric import StorageError
from semimetric._foundation.files import array_in, header_of

ARRAYS = {
    "numbers": np.arange(6.0).reshape(2, 3),
    "singles": np.ones(3, np.float32),
    "integers": np.array([-1, 2**62]),
    "vertices": np.array([[0, 65535]], np.uint16),
    "codes": np.zeros((3, 0), np.uint8),
    "truths": np.array([True, False]),
    "text": np.array(["a", "böse", ""]),
    "a number": np.array(2.0),
}


def content_of(array):
    out = io.BytesIO()
    np.lib.format.write_array(out, np.asanyarray(array), allow_pickle=False)
    return out.getvalue()


@pytest.mark.parametrize("name", ARRAYS)
def test_an_array_is_read_as_numpy_writes_it(name):
    array = ARRAYS[name]
    assert header_of(array) + array.tobytes() == content_of(array)
    again = array_in(content_of(array), "x")
    assert_array_equal(again, array)
    assert again.dtype == array.dtype


def lying(shape, descr="<f8"):
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(64)


BAD = {
    "big-endian": (content_of(np.ones(3, ">f8")), "does not begin as"),
    "halves": (content_of(np.ones(3, np.float16)), "does not begin as"),
    "complex": (content_of(np.ones(3, complex)), "does not begin as"),
    "a structure": (content_of(np.zeros(2, [("a", "<f8")])), "does not begin as"),
    "by columns": (content_of(np.asfortranarray(np.ones((2, 2)))), "does not begin as"),
    "version 2": (content_of(np.ones(2)).replace(b"NUMPY\x01", b"NUMPY\x02"), "does not begin as"),
    "empty": (b"", "does not begin as"),
    "deeply nested": (b"\x93NUMPY\x01\x00" + (118).to_bytes(2, "little") + b"(" * 118, "does not begin as"),
    "4 PiB": (lying("(562949953421312,)"), "but its header says float64 of shape (562949953421312,)"),
    "nothing of much": (lying("(999999999999999, 999999999999999, 0)")[:128], "but its header says"),
    "cut": (content_of(np.ones(9))[:-1], "71 bytes of values"),
    "grown": (content_of(np.ones(9)) + b"x", "73 bytes of values"),
    "no truths": (content_of(np.array([True, False])).replace(b"\n\x01", b"\n\x02"), "no truth values"),
    "no characters": (content_of(np.array(["a"]))[:-4] + b"\xff" * 4, "no characters"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_this_package_does_not_write_is_refused(name):
    content, problem = BAD[name]
    assert_refused(lambda: array_in(content, "arrays/x.npy"), "arrays/x.npy", problem, "restore the file", error=StorageError)
