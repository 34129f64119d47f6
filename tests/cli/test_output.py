"""What is printed where, and JSON without numbers that it does not know."""

import json
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semimetric._foundation.errors import warn
from semimetric.cli import output
from semimetric.cli.output import CommandResult, first_line, print_message, print_result, warnings_as_messages


def test_numbers_that_json_does_not_know_are_null():
    assert output._json_values({"a": np.array([1.0, np.nan]), 2: (np.float64("inf"), np.int64(3), "x", None, True)}) == {
        "a": [1.0, None], "2": [None, 3, "x", None, True],
    }  # fmt: skip


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(VALUES)
def test_every_value_is_printed_as_json(value):
    def finite(part):
        if isinstance(part, dict):
            return {key: finite(inner) for key, inner in part.items()}
        if isinstance(part, list):
            return [finite(inner) for inner in part]
        return None if isinstance(part, float) and not np.isfinite(part) else part

    assert json.loads(json.dumps(output._json_values(value), allow_nan=False)) == finite(value)


def test_results_go_to_standard_output_and_messages_to_standard_error(capsys):
    result = CommandResult({"n": np.int64(3)}, "three")
    print_result(result, as_json=True)
    print_result(result, as_json=False)
    print_message("be careful")
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ('{"n": 3}\nthree\n', "semimetric: be careful\n")


def test_a_warning_is_one_line_and_the_same_one_is_printed_once(capsys):
    with warnings_as_messages():
        warnings.simplefilter("always")
        for text in ("two\n  lines", "two lines", "another"):
            warnings.warn(text, stacklevel=1)
    assert capsys.readouterr().err == "semimetric: two lines\nsemimetric: another\n"
    with pytest.warns(UserWarning, match="again"):  # warnings are as they were
        warnings.warn("again", stacklevel=1)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("action", ["error", "ignore"])
def test_what_is_said_of_the_data_is_printed_whatever_is_done_with_warnings(action, capsys):
    with warnings.catch_warnings():
        warnings.simplefilter(action)
        with warnings_as_messages():
            warn("one row is odd")
    assert capsys.readouterr().err == "semimetric: one row is odd\n"


def test_the_first_line_of_an_error():
    assert first_line(ValueError("  one\ntwo")) == "one"
    assert first_line(MemoryError()) == "MemoryError"
