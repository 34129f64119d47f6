import numpy as np
import pandas as pd
import polars as pl
import pytest
from cases import assert_refused
from numpy.testing import assert_array_equal

from semimetric.data.rows import single_row
from semimetric.data.schema import Schema

PLAIN = Schema.numeric(("a", "b"))
MIXED = Schema.fit(pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}), categorical_features=["b"])


@pytest.mark.parametrize(
    ("x", "label"),
    [
        ([2.0, 5.0], None),
        (np.array([[2.0, 5.0]]), None),
        (pd.Series({"b": 5.0, "a": 2.0}, name="r7"), "r7"),
        (pd.Series([2.0, 5.0]), None),
        (pd.DataFrame({"a": [2.0], "b": [5.0]}, index=["r7"]), "r7"),
        (pl.DataFrame({"a": [2.0], "b": [5.0]}), None),
        (pl.Series([2.0, 5.0]), None),
    ],
)
def test_every_form_of_one_item_is_read(x, label):
    row, found = single_row(x, PLAIN)
    assert_array_equal(row, [[2.0, 5.0]])
    assert found == label


def test_categories_are_encoded():
    assert_array_equal(single_row(pd.Series({"b": "y", "a": 2.0}), MIXED)[0], [[2.0, 1.0]])
    assert_array_equal(single_row([2.0, "z"], MIXED)[0], [[2.0, 2.0]])


def test_what_is_not_one_item_is_refused():
    assert_refused(
        lambda: single_row([[1.0, 2.0], [3.0, 4.0]], PLAIN), "x holds 2 rows", "one is explained", "a table of one row"
    )
    assert_refused(lambda: single_row(0.5, PLAIN, "y"), "y=0.5 is no vector", "2 features is required")
    assert_refused(lambda: single_row(pd.Series({"a": 1.0, "c": 2.0}), PLAIN), "x names 'c'", "the features are a, b")
