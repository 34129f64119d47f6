"""The one way in for numbers: every number becomes float64, and none raises an error of its own."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from cases import assert_refused
from hypothesis import given
from hypothesis import strategies as st

from semimetric import InputError
from semimetric._foundation.real_numbers import check_number, real_number, shown

LARGEST = int(np.finfo(float).max)


@given(st.one_of(st.integers(-(10**400), 10**400), st.floats(allow_nan=False)))
def test_a_number_is_the_nearest_float_and_infinite_beyond_the_largest(value):
    found = real_number(value)
    if abs(value) <= LARGEST:
        assert found == float(value)
    else:
        assert np.isinf(found)
        assert (found > 0) == (value > 0)


@pytest.mark.parametrize("value", [True, np.True_, None, "1", [1.0], np.array([1.0]), 1j, {}, Decimal(1), Fraction(1)])
def test_what_is_no_number_is_none(value):
    assert real_number(value) is None


@pytest.mark.parametrize("value", [np.float32(0.5), np.int8(3), np.longdouble("0.25"), np.float16(4)])
def test_numbers_of_every_type_are_floats(value):
    assert type(real_number(value)) is float
    assert real_number(value) == value


@pytest.mark.parametrize("value", [10**400, -(10**5000), "9" * 5000, [0.0] * 500], ids=lambda value: type(value).__name__)
def test_a_value_in_a_message_is_short(value):
    assert len(shown(value)) <= 60


@pytest.mark.parametrize("cell", [10**400, -(10**5000), Fraction(10**400)], ids=lambda value: type(value).__name__)
def test_a_number_that_no_float_holds_is_refused_by_its_row(cell):
    assert_refused(lambda: check_number(cell, "row 3 of X", " in 'b'"), "row 3 of X has", "in 'b', which is no number that")


def test_a_number_passes():
    for cell in (1, 0.5, np.float32(1), Decimal(2), None, np.nan, True):
        check_number(cell, "row 3 of X", "")
    with pytest.raises(InputError, match="but text"):
        check_number("1", "row 3 of X", "")
