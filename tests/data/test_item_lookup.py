"""Items by row number, by label and by function name the same rows."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from cases import assert_refused
from hypothesis import given
from hypothesis import strategies as st

from semimetric import SemimetricWarning
from semimetric.data.rows import item_rows, items_named, warn_of_integer_index

POINTS = np.arange(12.0).reshape(6, 2)
FRAME = pd.DataFrame(POINTS, columns=["a", "b"], index=list("uvwxyz"))
DAYS = FRAME.set_axis(pd.date_range("2026-01-01", periods=6), axis=0)


@given(rows=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1))
def test_labels_and_functions_name_the_rows_that_numbers_do(rows):
    index = np.array(rows)
    ways = {
        "numbers": (index, POINTS),
        "numbers of a frame with labels": (index, FRAME),
        "labels": (np.array(list("uvwxyz"))[index], FRAME),
        "objects": (np.array(list("uvwxyz"), dtype=object)[index].tolist(), FRAME),
        "days": (DAYS.index.to_numpy()[index], DAYS),
        "a function of numbers": (index, lambda names: POINTS[names]),
        "a function of labels": (np.array(list("uvwxyz"))[index], lambda names: FRAME.loc[names]),
        "a function that gives lists": (index, lambda names: POINTS[names].tolist()),
    }
    for tuples, preprocessor in ways.values():
        found, items = item_rows(tuples, preprocessor, "pair")
        np.testing.assert_array_equal(np.asarray(items)[np.asarray(found)], POINTS[index])


def test_points_are_taken_as_they_are_and_a_function_is_called_once_for_each_name():
    points, asked = POINTS[np.array([[0, 1], [1, 2]])], []

    def made(names):
        asked.append(names.tolist())
        return POINTS[names]

    assert item_rows(points, FRAME, "pair") == (points, None)
    assert item_rows(points, made, "pair") == (points, None)
    assert item_rows([[0, 1]], None, "pair") == ([[0, 1]], None)
    item_rows([[3, 1], [1, 3], [5, 5]], made, "pair")
    assert asked == [[1, 3, 5]]


def test_a_table_of_named_items_is_of_the_kind_of_the_preprocessor():
    assert items_named(["w", "u"], FRAME).equals(FRAME.iloc[[2, 0]])
    assert items_named([2, 0], FRAME).equals(FRAME.iloc[[2, 0]])
    assert items_named([2, 0], pl.DataFrame({"a": POINTS[:, 0]}))["a"].to_list() == [4.0, 0.0]
    np.testing.assert_array_equal(items_named([2, 0], POINTS.tolist()), POINTS[[2, 0]])
    np.testing.assert_array_equal(items_named([2, 0, 2], lambda names: POINTS[names]), POINTS[[2, 0, 2]])
    for table in (POINTS, FRAME, [[1.0, 2.0]]):
        assert items_named(table, FRAME) is table
    assert items_named([1, 2], None) == [1, 2]


def test_integers_are_row_numbers_and_learning_warns_where_they_could_be_labels():
    shuffled = FRAME.set_axis([5, 3, 4, 0, 1, 2], axis=0)
    rows, items = item_rows(np.array([[0, 5]]), shuffled, "pair")
    assert items is shuffled
    assert rows.tolist() == [[0, 5]]
    with pytest.warns(SemimetricWarning, match=r"row numbers, .*get_indexer\(labels\).*reset_index"):
        warn_of_integer_index([[0, 5]], shuffled)
    warn_of_integer_index(POINTS[None], shuffled)  # a warning is an error
    for quiet in (FRAME, FRAME.reset_index(drop=True), POINTS):
        warn_of_integer_index([[0, 5]], quiet)


REFUSED = {
    "unknown": (["u", "q"], FRAME, "'q', which is not in the index", "(1 in all)", "such as 'u'"),
    "misspelt": (
        ["bottle1", "Botle2"],
        pd.DataFrame(POINTS[:2], ["bottle1", "bottle2"]),
        "'Botle2'",
        "did you mean 'bottle2'",
        "",
    ),
    "twice": (["u", "v"], pd.concat([FRAME, FRAME]), "'u' twice", "unique labels are required", ""),
    "a function that fails": (["u", "v"], lambda names: 1 / 0, "failed on the 2 names", "ZeroDivisionError", "correct it"),
    "too few rows": ([0, 1], lambda names: POINTS[:1], "returned shape (1, 2) for 2 names", "one row for each", ""),
    "no table": ([0, 1], lambda names: POINTS[0], "returned shape (2,)", "(n_names, n_features)", ""),
}


@pytest.mark.parametrize("case", REFUSED)
def test_names_of_no_item_are_refused(case):
    names, preprocessor, *words = REFUSED[case]
    assert_refused(lambda: item_rows([names], preprocessor, "pair"), *words)
    assert_refused(lambda: items_named(names, preprocessor), *words)


def test_what_names_no_rows_is_refused():
    assert_refused(lambda: items_named([0.5, 1.0], POINTS), "shape (2,) and dtype float64", "row numbers or labels", "a table")
    assert_refused(lambda: items_named(["u"], POINTS), "dtype <U1", "row numbers or labels", "a table")
    assert_refused(lambda: items_named([6], FRAME), "row number 6", "6 items", "0 to 5")
