"""Parameters name features by number or by name; periods are finite and > 0."""

import numpy as np
import pytest
from cases import assert_refused

from semimetric.data.schema import Schema, by_column, check_period, column_number, column_numbers

NAMES = ("width", "height", "hour")


def test_a_feature_is_given_by_number_or_by_name():
    assert [column_number(f, NAMES, "periodic") for f in ("hour", 0, np.int64(1))] == [2, 0, 1]


@pytest.mark.parametrize("feature", ["depth", 3, -1, True, 1.0, None], ids=repr)
def test_what_names_no_feature_is_refused(feature):
    call = lambda: column_number(feature, NAMES, "periodic")  # noqa: E731
    assert_refused(
        call, f"periodic= names the feature {feature!r}", "a name (width, height, hour) or a number below 3", "correct"
    )


@pytest.mark.parametrize(
    ("given", "numbers"),
    [("hour", [2]), (1, [1]), (np.int64(0), [0]), (["hour", 0], [2, 0]), (("hour", 2, "width"), [2, 0]), ([], [])],
    ids=repr,
)
def test_one_name_is_one_feature_and_several_are_a_sequence(given, numbers):
    assert column_numbers(given, NAMES, "features") == numbers


@pytest.mark.parametrize("given", ["h", None, 1.5, ["h"]], ids=repr)
def test_letters_are_no_features(given):
    assert_refused(lambda: column_numbers(given, NAMES, "features"), "features= names the feature", "width, height, hour")


def test_a_dict_names_every_column_once():
    assert by_column({"hour": 24, 0: "day"}, NAMES, "periodic") == {2: 24, 0: "day"}
    for twice in ({0: 2, "width": 3}, {"width": 2, 0: 2}, {np.int64(0): 2, "width": 3}):
        assert_refused(
            lambda given=twice: by_column(given, NAMES, "weights"), "weights= names the column 'width' twice", "once"
        )


def test_many_names_are_not_all_told():
    call = lambda: column_number("z", [f"x{k}" for k in range(9)], "categorical_features")  # noqa: E731
    assert_refused(call, "categorical_features= names the feature 'z'", "x6, x7, ...) or a number below 9")


@pytest.mark.parametrize("period", [0, -1.0, np.inf, np.nan, "24", True, None], ids=repr)
def test_what_is_no_period_is_refused(period):
    assert_refused(lambda: check_period("hour", period), "periodic= gives 'hour' the period", "a finite number > 0")


def test_a_period_is_a_float():
    assert (check_period("hour", 24), type(check_period("hour", np.int64(24)))) == (24.0, float)


def test_categorical_columns_are_given_or_told_by_their_dtypes():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"width": [1.0, 2.0], "height": pd.Categorical([3, 7]), "hour": [1, 2]})

    def chosen(table, given):
        return [k for k, kind in enumerate(Schema.fit(table, categorical_features=given).kinds) if kind == "categorical"]

    assert chosen(frame, None) == chosen(frame.to_numpy(), "auto") == []
    assert chosen(frame, "auto") == [1]
    assert chosen(frame, ["hour", 0]) == [0, 1, 2]
