"""Frames of any library are read, by name and by row."""

import narwhals
import numpy as np
import pytest
from cases import assert_refused
from scipy import sparse

from semimetric._foundation.tables import no_numbers, numbered_rows, offer, read_table, take_rows

pandas, polars, pyarrow = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
X = np.arange(6.0).reshape(3, 2)
COLUMNS = {"b": X[:, 0], "a": X[:, 1]}


def test_frames_have_names_a_shape_and_columns():
    for frame in (pandas.DataFrame(COLUMNS), polars.DataFrame(COLUMNS), pyarrow.table(COLUMNS)):
        for given in (frame, narwhals.from_native(frame), narwhals.stable.v2.from_native(frame)):
            table = read_table(given)
            assert list(table.columns) == ["b", "a"]
            assert table.shape == (3, 2)
            column = table.iloc[:, 1] if hasattr(table, "iloc") else table[:, 1]
            assert np.asarray(column).tolist() == [1, 3, 5]
            if not isinstance(frame, pyarrow.Table):
                assert type(table) is type(frame)


def test_what_is_no_frame_is_left_alone():
    class Array:
        def __array__(self, dtype=None, copy=None):
            return X

    for given in (X, X.tolist(), sparse.csr_array(X), Array(), 3.0, None):
        assert read_table(given) is given


def test_a_lazy_frame_is_refused():
    assert_refused(lambda: read_table(polars.LazyFrame(COLUMNS)), "a lazy frame (polars)", "a table is required", "X.collect()")


def test_rows_are_taken_from_whatever_holds_them():
    rows = np.array([2, 0])
    frames = pandas.DataFrame(COLUMNS, index=list("xyz")), polars.DataFrame(COLUMNS), pyarrow.table(COLUMNS)
    for given in (X, X.tolist(), sparse.csr_array(X), sparse.coo_matrix(X), *frames):
        taken = take_rows(given, rows)
        assert np.asarray(taken.toarray() if sparse.issparse(taken) else taken).tolist() == [[4, 5], [0, 1]]
        assert type(taken) is type(given) or isinstance(given, list | sparse.coo_matrix)


def test_rows_are_numbered_from_0():
    frame = pandas.DataFrame(COLUMNS, index=[7, 3, 5])
    assert numbered_rows(frame).index.tolist() == [0, 1, 2]
    assert frame.index.tolist() == [7, 3, 5]
    assert numbered_rows(X) is X


def test_what_is_offered_for_text_depends_on_how_much_of_it_differs():
    assert "3 different texts" in offer(["red", "green", "blue", None] * 9)
    assert "categorical_features=" in offer(["red", "green", "blue"])
    assert offer(["red", "red"]).startswith("it holds one text; if")
    assert "60 different texts in 60 rows" in offer([f"name {k}" for k in range(60)])
    assert "make its dtype datetime" in offer(["2024-01-01", "2024-02-30 is not looked at", "2024-03-01 12:00"])
    assert "datetime" not in offer(["2024", "1-2"])


def test_a_few_texts_among_numbers_are_named_by_row():
    def message(cells):
        return str(no_numbers(cells, "'age'", "X", ValueError("no float")))

    ages = [34, 45.5, None, "51", "n/a", " "]
    start = "column 'age' of X is not of numbers: row 4 has 'n/a'"
    assert message(ages).startswith(f"{start}; all others are numbers: correct it, or leave it empty")
    assert message([*ages, "?"]).startswith(f"{start}, and 1 more row has text; all others are numbers: correct them")
    assert "categorical_features=" in message(["red", 1, "blue", 2])  # as many texts as numbers
    assert message(["51", 1j]).startswith("column 'age' of X is not of numbers (no float); ")
    with pytest.raises(TypeError, match="row 1 of X has <object object at .* in 'age', which is no number"):
        no_numbers([1, object()], "'age'", "X", TypeError("no float"))
