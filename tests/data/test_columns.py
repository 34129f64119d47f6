"""Columns of arrays, pandas and polars as numbers and as codes: all three alike."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from cases import assert_refused
from hypothesis import given
from hypothesis import strategies as st

from semimetric.data.columns import as_table, categories_of, cells_of, codes_of, column_of, is_categorical, numbers_of

NUMBERS = st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False, width=32), st.integers(-1000, 1000))
TEXTS = st.lists(st.one_of(st.none(), st.sampled_from("abcde")), min_size=1, max_size=8)


@given(st.lists(NUMBERS, min_size=1, max_size=8))
def test_numbers_are_the_same_from_every_kind_of_table(cells):
    want = [np.nan if cell is None else float(cell) for cell in cells]
    columns = [
        np.array(cells, dtype=object),
        pd.Series(cells, dtype=object),
        pd.Series(want),
        pl.Series(cells, dtype=pl.Float64, strict=False),
    ]
    for column in columns:
        found = numbers_of(column, "size", "X")
        assert found.dtype == np.float64
        np.testing.assert_array_equal(found, want)


@given(TEXTS)
def test_codes_are_places_among_the_sorted_categories(cells):
    known = sorted({cell for cell in cells if cell is not None})
    if not known:
        assert_refused(lambda: categories_of(np.array(cells, dtype=object), "'c' of X"), "nothing but missing values", "")
        return
    for column in (np.array(cells, dtype=object), pd.Series(cells, dtype=object), pl.Series(cells, dtype=pl.String)):
        assert categories_of(column, "'c' of X") == tuple(known)
        codes = codes_of(cells_of(column), known, "'c' of X")
        np.testing.assert_array_equal(codes, [np.nan if cell is None else known.index(cell) for cell in cells])
        unknown = codes_of(cells_of(column), known[1:], "'c' of X")  # the first is a new category now
        assert ((unknown == len(known) - 1) == (np.array(cells, dtype=object) == known[0])).all()


def test_a_dtype_lists_categories_in_its_order():
    values = ["b", "a", "b"]
    ordered = pd.Series(pd.Categorical(values, categories=["c", "b", "a"]))
    enum = pl.Series(values, dtype=pl.Enum(["c", "b", "a"]))
    assert categories_of(ordered, "X") == categories_of(enum, "X") == ("c", "b", "a")
    assert categories_of(pl.Series(values, dtype=pl.Categorical), "X") == ("a", "b")
    for column in (ordered, enum, pl.Series(values, dtype=pl.Categorical)):
        assert is_categorical(column)
    for column in (pd.Series(values), pl.Series(values), np.array(values)):
        assert not is_categorical(column)


def test_tables_are_frames_arrays_or_objects():
    frame, array, rows = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}), np.ones((2, 2)), [[1, "x"], [2, "y"]]
    assert as_table(frame) is frame
    assert as_table(array) is array
    assert as_table(rows).tolist() == rows
    for table in (frame, pl.DataFrame({"a": [1, 2], "b": ["x", "y"]}), as_table(rows)):
        assert cells_of(column_of(table, 1)) == ["x", "y"]


BAD_NUMBERS = {
    "text": (np.array([1, "a"], dtype=object), "is not of numbers", "name it in categorical_features="),
    "times": (pd.Series(pd.to_datetime(["2020-01-01"])), "holds times (datetime64", "numbers are required"),
    "dates": (pl.Series(["2020-01-01"]).str.to_date(), "holds times (Date)", "numbers are required"),
}


@pytest.mark.parametrize("name", BAD_NUMBERS)
def test_what_is_no_number_is_refused(name):
    column, *parts = BAD_NUMBERS[name]
    assert_refused(lambda: numbers_of(column, "size", "X"), "column 'size' of X", *parts)


BAD_CATEGORIES = {
    "lists": (np.array([[1], [2], None], dtype=object), "no categories", "give text or numbers"),
    "infinity": (np.array([1.0, np.inf], dtype=object), "category inf of type float", "finite numbers are required"),
    "tuples": (np.array([(1, 2), "a", None], dtype=object), "category (1, 2) of type tuple", "convert the column"),
}


@pytest.mark.parametrize("name", BAD_CATEGORIES)
def test_what_is_no_category_is_refused(name):
    column, *parts = BAD_CATEGORIES[name]
    assert_refused(lambda: categories_of(column, "'c' of X"), "column 'c' of X", *parts)
    assert_refused(lambda: codes_of([[1]], ("a",), "'c' of X"), "no categories", "text or numbers")


def test_values_that_cannot_be_told_apart_are_no_categories():
    column = np.empty(2, dtype=object)
    column[:] = [[1, 2], [3]]
    given = "column 'a' of X holds values that are no categories"
    assert_refused(lambda: categories_of(column, "'a' of X"), given, "list", "give text or numbers")


def test_complex_numbers_are_refused():
    column = np.array([1.0 + 2.0j, 0.0])
    assert_refused(
        lambda: numbers_of(column, "phase", "X"), "column 'phase' of X is complex", "not supported", "real and imaginary"
    )


@pytest.mark.parametrize(
    ("categories", "cells", "expected"),
    [
        (["10", "7", "x"], [10, 10.0, "10", "10.0", "7", True, "X", "010"], [0, 0, 0, 0, 1, 3, 3, 3]),
        ([7, 10, 0.5], ["10", "10.0", 7.0, np.int32(7), "seven", "0.5", "0.50"], [1, 1, 0, 0, 3, 2, 3]),
        (["1", "1.0"], [1, "1", "1.0", "01"], [2, 0, 1, 2]),  # which of both a number is, is not known
        (["12345678901234567890", "1E5", "1_0", "Inf"], ["12345678901234567891", "100000", "10", "infinity"], [4, 4, 4, 4]),
        (["12345678901234567890"], [12345678901234567890, 12345678901234567890.0], [0, 1]),
        ([True, False], [1, "1", None], [0, 2, np.nan]),
    ],
)
def test_numbers_and_their_texts_are_one_category(categories, cells, expected):
    np.testing.assert_array_equal(codes_of(cells, categories, "'c' of X"), expected)
