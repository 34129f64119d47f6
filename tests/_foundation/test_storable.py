from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import GenericAlias
from typing import Any, NamedTuple, NotRequired

import numpy as np
import pytest
from cases import candidate
from numpy.typing import ArrayLike, NDArray

from semimetric._foundation.stored import arguments_of, fits, hints_of, known, storable
from semimetric.distances.learning.search import Choices, one_standard_error

FITS = [
    (3, int), (True, bool), (2, bool), (3, float), (np.int64(3), int), (None, int | None), ("a", str | Sequence[int]),
    ([1, 2], tuple[int, ...]), (np.array([1, 2]), Sequence[int]), ((1, "a"), tuple[int, str]), ({"a": 1}, Mapping[str, int]),
    ({}, dict[str, Any]), (np.ones(3), NDArray[np.float64]), (np.array(["a"]), NDArray[Any]), ([[1.0]], ArrayLike),
    (np.ones(2), ArrayLike), (1.5, NotRequired[float]), (len, Callable[..., Any]), (object(), Any),
]  # fmt: skip
DOES_NOT_FIT = [
    (True, int), (True, float), (1.5, int), ("a", int), (None, int), ([1, "a"], tuple[int, ...]), ((1,), tuple[int, str]),
    ({"a": "b"}, Mapping[str, int]), ([], Mapping[str, int]), (np.ones(3), NDArray[np.int64]), ([1.0], NDArray[np.float64]),
    ("ab", Sequence[str]), ({"a": 1}, ArrayLike), (1, str | None), ("a", NotRequired[float]),
]  # fmt: skip


class Alias:
    """An alias as the statement ``type Alias[T] = ...`` of Python 3.12 makes it, which 3.11 cannot write."""

    def __init__(self, value):
        self.__value__ = value

    def __getitem__(self, parts):
        return GenericAlias(self, parts)


@pytest.mark.parametrize(("value", "hint"), FITS)
def test_a_value_fits_its_annotation(value, hint):
    assert fits(value, hint)
    assert fits(value, Alias(Alias(hint)))


def test_an_alias_with_parts_stands_for_its_type_with_these_parts():
    arrays = Alias(NDArray)[np.int64]
    assert fits(np.arange(3), arrays)
    assert not fits(np.ones(3), arrays)
    assert not fits([1], Sequence[arrays])


@pytest.mark.parametrize(("value", "hint"), DOES_NOT_FIT)
def test_another_value_does_not(value, hint):
    assert not fits(value, hint)
    assert not fits(value, Alias(Alias(hint)))


@dataclass(frozen=True)
class Box:
    low: float
    high: float = 1.0


class Pass(NamedTuple):
    n: int
    before: float


def test_objects_are_the_arguments_that_make_them():
    choices = Choices([candidate(3, 0.1, (1.0, 2.0))], "error", one_standard_error, ("a",))
    for value in (Box(0.5), Pass(3, 0.1), choices):
        arguments = arguments_of(value)
        assert type(value)(**arguments) == value
        assert all(fits(found, hints_of(type(value))[name]) for name, found in arguments.items())
    assert arguments_of(choices)["measure"] == "error"


def test_what_is_storable_is_known_by_its_name():
    assert storable(Box) is Box
    assert known("Box") is Box
    assert known("box") is None


def test_a_name_is_given_once():
    def one_standard_error():
        """Of another module than the rule of this name."""

    with pytest.raises(ValueError, match=r"semimetric\.distances\.learning\.search\.one_standard_error; rename one"):
        storable(one_standard_error)
    assert known("one_standard_error") is not one_standard_error
