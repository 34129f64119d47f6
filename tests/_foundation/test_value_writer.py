import numpy as np
import pytest
from cases import assert_refused
from hypothesis import given
from hypothesis import strategies as st

from semimetric import InputError, NotSupportedError, Ridge, StorageError
from semimetric._foundation.stored import Reader, Writer
from semimetric.distances import Status

leaves = st.none() | st.booleans() | st.integers(-(2**62), 2**62) | st.floats() | st.text(max_size=5)
keys = st.text(max_size=3) | st.integers(0, 9)
values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3) | st.lists(inner, max_size=3).map(tuple) | st.dictionaries(keys, inner, max_size=3)
    ),
    max_leaves=12,
)


def again(value):
    """The value, written and read."""
    writer = Writer("Thing")
    stored = writer.value(value, "Thing.x")
    reader = Reader(writer.arrays)
    found = reader.value(stored, object, "Thing.x")
    reader.done()
    return found


@given(values)
def test_values_are_written_and_read(value):
    found = again(value)
    assert type(found) is type(value)
    assert repr(found) == repr(value)


ARRAYS = [
    np.arange(3), np.ones((2, 0)), np.array(2.5), np.float32([1.5]), np.float16([0.1]), np.int8([-3]), np.uint64([2**60]),
    np.array([True]), np.array(["a", "bcd"]), np.array([], dtype=str),
    np.array(["a", None, 1, 2.5, True, np.nan], dtype=object), np.ones((3, 2)).T,
    np.arange(3).astype(">i4"), np.uint16([7]), np.empty((0, 3), dtype=object),
    np.array([np.nan, np.inf]),
]  # fmt: skip


@pytest.mark.parametrize("array", ARRAYS, ids=lambda a: f"{a.dtype}{a.shape}")
def test_arrays_keep_dtype_shape_and_values(array):
    found = again([array])[0]
    assert found.shape == array.shape
    assert found.dtype == array.dtype.newbyteorder("=")
    assert found.flags.writeable
    assert found.tolist() == array.tolist() or repr(found.tolist()) == repr(array.tolist())


@pytest.mark.parametrize("kind", [list, tuple])
def test_vectors_are_joined_in_one_array(kind):
    vectors = kind([np.array([0.5, 1.0]), np.empty(0), np.array([np.nan])])
    writer = Writer("Thing")
    assert "arrays" in writer.value(vectors, "Thing.x")
    assert len(writer.arrays) == 2
    found = again(vectors)
    assert type(found) is kind
    assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(found, vectors, strict=True))


def test_numbers_of_numpy_are_those_of_python():
    assert [type(v) for v in again([np.float64(0.5), np.int32(3), np.bool_(True)])] == [float, int, bool]


def test_own_objects_are_made_again():
    assert again((Ridge(0.25, towards="zero"), Status.LIMIT)) == (Ridge(0.25, towards="zero"), Status.LIMIT)


@pytest.mark.parametrize(
    "value", [len, object(), {1, 2}, 2**70, np.ma.array([1.0], mask=[True]), np.array([1j]), np.array([object()]), 1j, b"x"]
)
def test_anything_else_is_refused_by_name(value):
    assert_refused(
        lambda: Writer("Thing").value([0, value], "Thing.x"), "Thing.x[1] is of type", "Values of JSON", "set_params",
        error=NotSupportedError,
    )  # fmt: skip


DEEP = {"tuple": []}
for _ in range(60):
    DEEP = {"tuple": [DEEP]}

BAD = {
    "deep": (DEEP, "40 values in one another"),
    "no form": ({"other": 1}, "no form that is known"),
    "two forms": ({"float": "nan", "tuple": []}, "no part of such an object"),
    "no number": ({"float": "1.5"}, "no number"),
    "long integer": ([2**64], "63 bits"),
    "array": ({"array": "a9"}, "missing"),
    "wrong cast": ({"array": "a0", "dtype": "<i4"}, "<i4 does not"),
    "foreign cast": ({"array": "a0", "dtype": "O"}, "dtype 'O'"),
    "joined vectors": ({"arrays": {"flat": {"array": "a0"}, "counts": {"array": "a1"}}, "tuple": False}, "adds up to 4 for 1"),
    "joined vectors without lengths": ({"arrays": {"flat": {"array": "a0"}}, "tuple": False}, "lengths missing"),
    "joined vectors that are none": ({"arrays": {"flat": {"array": "a1"}}, "tuple": False}, "is required"),
    "cells": ({"cells": [1, 2], "shape": [3]}, "2 cells for the shape"),
    "an empty array of endless sides": ({"cells": [], "shape": [0, 2**30, 2**30, 2**30]}, "0 cells for the shape"),
    "no cell": ({"cells": [[1]], "shape": [1]}, "no cell"),
    "unknown class": ({"object": "Popen", "arguments": {}}, "'Popen', which this version cannot read"),
    "wrong class": ({"object": "Semimetric", "arguments": {}}, "written in another way"),
    "wrong type": ({"object": "Ridge", "arguments": {"alpha": "x"}}, "alpha is of type str, but float"),
    "no argument": ({"object": "Ridge", "arguments": {"beta": 1}}, "'beta'"),
    "missing argument": ({"object": "Bounded", "arguments": {}}, "without 'ceiling'"),
    "no names": ({"object": "Ridge", "arguments": []}, "no names"),
    "member": ({"member": "mro", "of": "Status"}, "'mro', which is not known"),
    "function": ({"function": "Ridge"}, "no function"),
    "state": ({"state": "Ridge", "values": {}, "prefix": "s"}, "no form that is known"),
    "estimator": ({"estimator": "Ridge", "parameters": {}, "fitted": None}, "no estimator"),
    "pair": ({"dict": [[1, 2, 3]]}, "no pair"),
    "key": ({"dict": [[[1], 2]]}, "no pair, or a key"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_nothing_writes_is_refused(name):
    stored, part = BAD[name]
    with pytest.raises(StorageError, match="restore the file") as caught:
        Reader({"a0": np.array([0.5]), "a1": np.array([5, -1])}).value(stored, object, "Thing.x")
    assert part in str(caught.value)


def test_arguments_pass_through_the_constructor():
    with pytest.raises(InputError, match="alpha=-1"):
        Reader({}).value({"object": "Ridge", "arguments": {"alpha": -1}}, object, "Thing.x")


def test_an_array_that_nothing_names_is_refused():
    with pytest.raises(StorageError, match="'a0' is no part"):
        Reader({"a0": np.ones(1)}).done()
