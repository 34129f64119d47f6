import numpy as np
import pytest
from cases import assert_refused

from semimetric import InputError, StorageError
from semimetric._foundation.stored import Members, located, refused_as_stored

VALUES = {
    "text": "a",
    "whole": 3,
    "number": 0.5,
    "flag": True,
    "list": [1, 2],
    "rows": [[1], []],
    "parts": [{"a": 1}],
    "none": None,
}
ARRAYS = {"a": np.ones((2, 3)), "nan": np.array([np.nan]), "inf": np.array([np.inf])}


@pytest.fixture
def members():
    return Members(VALUES, ARRAYS)


def test_members_are_given_as_they_are(members):
    assert (members.text("text"), members.whole("whole"), members.flag("flag")) == ("a", 3, True)
    assert (members.list_of("list", int), members.lists_of("rows", int), members.seed("none")) == ([1, 2], [[1], []], None)
    assert members.typed("number", (float,)) == 0.5
    (part,) = members.parts("parts")
    assert part.typed("a", (int, str)) == 1
    part.done()
    assert members.array("a", np.float64, None, 3).flags.writeable
    assert np.isnan(members.array("nan", np.float64, 1, missing=True))
    assert np.isinf(members.array("inf", np.float64, 1, infinite=True))
    members.done()


BAD = {
    "missing": (lambda m: m.text("other"), "'other' is missing"),
    "no text": (lambda m: m.text("whole"), "'whole' is 3, but str is required"),
    "no integer": (lambda m: m.whole("number"), "'number' is 0.5, but int is required"),
    "too small": (lambda m: m.whole("whole", 4), "an integer >= 4"),
    "a truth is no number": (lambda m: m.whole("flag"), "'flag' is True, but int"),
    "no list": (lambda m: m.list_of("text", str), "'text' is 'a', but list"),
    "another entry": (lambda m: m.list_of("list", str), "'list[0]' is 1, but str"),
    "no object": (lambda m: m.parts("rows"), "'rows[0]' is [1], but dict"),
    "no array": (lambda m: m.array("b", np.float64, None), "the array 'b' is missing"),
    "another type": (lambda m: m.array("a", np.int64, None, 3), "float64 of shape (2, 3); int64 of shape (n, 3) is required"),
    "another shape": (lambda m: m.array("a", np.float64, 3, 3), "float64 of shape (3, 3) is required"),
    "NaN": (lambda m: m.array("nan", np.float64, 1), "'nan' holds NaN or infinity"),
    "infinity": (lambda m: m.array("inf", np.float64, 1, missing=True), "'inf' holds NaN or infinity"),
    "foreign": (lambda m: m.done(), "'text' is no part"),
}


@pytest.mark.parametrize("name", BAD)
def test_another_type_shape_or_range_is_refused(members, name):
    ask, problem = BAD[name]
    assert_refused(lambda: ask(members), problem, "", "restore the file", error=StorageError)


@pytest.mark.parametrize("value", [2**63, -1, 2**70])
def test_integers_have_63_bits(value):
    assert_refused(lambda: Members({"a": value}).whole("a"), "an integer >= 0", "restore", error=StorageError)


def test_errors_say_where_they_are():
    def refuse():
        with located("model.smm"), refused_as_stored("the distance"):
            raise InputError("knots must increase")

    assert_refused(refuse, "model.smm: the distance is not as semimetric saved it", "knots must increase", error=StorageError)


def test_what_is_no_object_has_no_members():
    assert_refused(lambda: Members([1]), "is [1]", "JSON object is required", error=StorageError)
