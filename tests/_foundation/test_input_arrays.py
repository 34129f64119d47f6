"""What users give becomes arrays of numbers, or is refused in one sentence."""

import numpy as np
import pytest
from cases import assert_refused

import semimetric
from semimetric._foundation.arrays import all_finite, check_finite, is_missing

pd = pytest.importorskip("pandas")


@pytest.mark.parametrize("cell", [None, np.nan, float("nan"), pd.NA, pd.NaT, np.datetime64("NaT", "s")], ids=repr)
def test_cells_that_are_missing(cell):
    assert is_missing(cell)


@pytest.mark.parametrize("cell", [0, 0.0, "", "nan", False, np.inf, ()], ids=repr)
def test_cells_that_are_not_missing(cell):
    assert not is_missing(cell)


def test_missing_values_are_counted_by_column():
    values = np.ones((9, 7))
    values[[1, 2], 3], values[4, 0] = np.nan, np.nan
    message = str(assert_refused(lambda: check_finite(values, "X", names=list("abcdefg")), "row 1 of X", "in 'd'"))
    assert "(3 such values in all: 2 in 'd', 1 in 'a', in rows 1, 2, 4)" in message
    values[0] = np.nan
    message = str(assert_refused(lambda: check_finite(values, "X"), "row 0 of X", "in column 0"))
    assert "3 in column 3, 2 in column 0, 1 in column 1, 1 in column 2, 1 in column 4, ...," in message


def test_a_column_of_text_is_named_by_embeddings_too():
    frame = pd.DataFrame({"size": [1.0, 2.0], "colour": ["red", "blue"]})
    assert_refused(lambda: semimetric.PL1Embedding().fit(frame), "column 'colour' of X is not of numbers", "2 different texts")
    times = frame.assign(colour=pd.to_datetime(["2020-01-01", "2020-01-02"]))
    assert_refused(lambda: semimetric.PL1Embedding().fit(times), "column 'colour' of X holds times", "numbers are required")


FITTED = pd.DataFrame({"age": [34, 45, 51, 29], "pay": [1.5, 2.5, 3.5, 7.0]})


def refused_with(given, *parts):
    d = semimetric.gower(FITTED)
    return assert_refused(lambda: d.pairwise(given), *parts)


def test_a_text_among_numbers_is_named_by_row_and_column():
    spoilt = FITTED.astype(object)
    spoilt.loc[2, "age"] = "n/a"
    refused_with(spoilt, "column 'age' of X is not of numbers: row 2 has 'n/a'", "all others are numbers", "correct it")
    refused_with(spoilt.to_numpy(), "row 2 of X has 'n/a' in 'age'", "numbers are required")
    refused_with([[34, 1.5], [45, "much"]], "row 1 of X has 'much' in 'pay'", "numbers are required", "correct it")
    d = semimetric.gower(FITTED)
    assert_refused(lambda: d(["n/a", 1.5], [34, 1.5]), "x holds text: x has 'n/a' in 'age'", "numbers are required")
    assert_refused(lambda: d({"age": "n/a", "pay": 1.5}, [34, 1.5]), "x has 'n/a' in 'age'", "numbers are required")
    gaps = semimetric.gower(FITTED.assign(age=[34, None, 51, 29], plan=["a", "b", "a", "b"]))
    mixed = spoilt.assign(plan="a")
    assert_refused(lambda: gaps.pairwise(mixed), "column 'age' of X is not of numbers: row 2 has 'n/a'", "leave it empty")


@pytest.mark.parametrize("n", [1, 7, 100_000, 100_001, 250_000])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_value_that_is_not_finite_is_found_in_arrays_of_any_size(n, bad):
    values = np.full((n, 1), 1e307)  # of which the sum of many overflows
    check_finite(values, "X")
    assert all_finite(values[:100_000])
    values[n // 2] = bad
    assert not all_finite(values)
    assert_refused(lambda: check_finite(values, "X"), f"row {n // 2} of X", "finite values are required")
