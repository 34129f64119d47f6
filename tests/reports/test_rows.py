"""Values of a page become rows that the model takes, of the user's columns and dtypes, and rows become values of a page."""

import json
from functools import cache

import numpy as np
import pandas as pd
import pytest
from cases import assert_refused
from hypothesis import given, settings
from hypothesis import strategies as st
from reports_cases import MACHINES, NO_ITEMS, of_every_kind

import semimetric as sm
from semimetric import InputError


@cache
def fitted():
    return of_every_kind()


@cache
def rows():
    model, table, y = fitted()
    return sm.report(model, table, y, include=["items"]).rows


def encoded():
    return rows().schema.encode(fitted()[1])


def test_rows_are_those_that_were_given():
    model, table, _ = fitted()
    back = rows().to_table(encoded())
    pd.testing.assert_frame_equal(back, table)
    np.testing.assert_array_equal(model.predict_proba(back), model.predict_proba(table))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_value_of_a_page_becomes_a_row_that_reads_the_same(data):
    schema, row = rows().schema, encoded()[[data.draw(st.integers(0, 119))]].copy()
    for f, feature in enumerate(schema.features):
        if feature.missing and data.draw(st.booleans()):
            row[0, f] = np.nan
        elif feature.kind == "categorical":
            row[0, f] = data.draw(st.integers(0, len(feature.categories)))
        elif feature.kind == "periodic":
            row[0, f] = data.draw(st.floats(0, feature.period, exclude_max=True))
        elif feature.time:  # in milliseconds, as browsers count
            row[0, f] = data.draw(st.integers(-62_135_510_400_000, 253_402_128_000_000)) / 86_400_000
        else:
            row[0, f] = data.draw(st.one_of(st.floats(-1e6, 1e6), st.integers(-300, 300)))
    message = json.loads(json.dumps(rows().to_message(row)))
    np.testing.assert_array_equal(rows().from_message(message, 1), row)
    table = rows().to_table(row)
    assert list(table.columns) == list(fitted()[1].columns)
    np.testing.assert_array_equal(schema.encode(table), row)
    np.testing.assert_array_equal(rows().from_table(table, 1, "row"), row)


@pytest.mark.parametrize(
    ("name", "value", "dtype"),
    [
        ("age", 41.0, "int64"), ("age", 41.5, "float64"), ("rooms", 300.0, "float64"), ("rooms", 1e300, "float64"),
        ("weight", 0.5, "float32"), ("weight", 0.1, "float64"), ("visits", np.nan, "Int64"), ("visits", 2.0, "Int64"),
        ("member", 1.0, "bool"), ("member", 0.5, "float64"), ("maybe", np.nan, "boolean"), ("colour", 1.0, "category"),
        ("colour", 3.0, "category"), ("grade", 3.0, "category"), ("town", 2.0, "str"), ("land", 2.0, "string"),
        ("zoned", 19_000.25, "datetime64[us, Europe/Berlin]"), ("day", 19_000.0, "str"), ("day", 19_000.5, "str"),
    ],
)  # fmt: skip
def test_a_column_keeps_its_dtype_as_far_as_that_has_the_value(name, value, dtype):
    row = encoded()[[0]].copy()
    row[0, rows().schema.names.index(name)] = value
    column = rows().to_table(row)[name]
    assert column.dtype == fitted()[1][name].dtype or str(column.dtype) == dtype
    assert str(column.dtype).startswith(dtype) or dtype == "str"
    np.testing.assert_array_equal(rows().schema.encode(rows().to_table(row)), row)


def test_a_time_of_the_day_is_the_hour_that_is_counted_of_it():
    table = pd.DataFrame({"when": pd.date_range("2024-01-01", periods=48, freq="h"), "size": np.arange(48.0)})
    d = sm.gower(table, periodic={"when": "day"})
    found = sm.report(d, table).rows
    back = found.to_table(found.schema.encode(table))
    assert back["when"].tolist() == [k % 24 for k in range(48)]
    np.testing.assert_array_equal(d.pairwise(back), d.pairwise(table))
    assert found.to_table(found.schema.encode(table[:1]))["when"].tolist() == [0.0]


def test_a_category_that_the_fit_has_not_seen_is_other():
    row = encoded()[[0]].copy()
    row[0, rows().schema.names.index("colour")] = 3
    assert rows().to_table(row)["colour"].tolist() == ["(other)"]


def test_without_names_rows_are_arrays():
    model, X, y = MACHINES["PL1 with gaps"]()
    found = sm.report(model, X, y).rows
    table = found.to_table(X[:2])
    assert isinstance(table, np.ndarray)
    np.testing.assert_array_equal(table, X[:2])
    assert not np.shares_memory(table, X)
    np.testing.assert_array_equal(found.from_table(X[3], 1, "row"), X[[3]])


def test_a_vector_and_a_dict_are_rows_too():
    record = fitted()[1].iloc[4].to_dict()
    np.testing.assert_array_equal(rows().from_table(record, 1, "row"), encoded()[[4]])
    np.testing.assert_array_equal(rows().from_table(fitted()[1].iloc[4:6], 2, "rows"), encoded()[4:6])


def test_tables_of_another_shape_are_refused():
    table = fitted()[1]
    assert_refused(lambda: rows().from_table(table[:3], 2, "rows"), "rows has 3 rows", "shows 2", "as many")
    assert_refused(lambda: rows().from_table(table.drop(columns="age")[:1], 1, "row"), "row", "age")


def test_times_that_no_datetime_has_are_refused():
    wrong = encoded()[[0]].copy()
    f = rows().schema.names.index("when")
    for days in (1e9, -1e9):
        wrong[0, f] = days
        assert_refused(lambda: rows().from_message(rows().to_message(wrong), 1), "'when'", "holds times")


@pytest.mark.parametrize("message", NO_ITEMS, ids=str)
def test_a_message_that_holds_no_items_is_refused(message):
    with pytest.raises(InputError, match="the page sent"):
        rows().from_message(message, 2)


@pytest.mark.parametrize(
    ("name", "cell"),
    [
        ("age", "41"), ("age", True), ("age", None), ("age", float("nan")), ("age", float("inf")), ("age", 10**400),
        ("age", [41]), ("age", {"valueOf": 41}), ("colour", 0.5), ("colour", -1), ("colour", 4), ("colour", 1e300),
        ("hour", 24), ("hour", -0.1), ("when", 1e12), ("town", "<img src=x onerror=alert(1)>"),
    ],
    ids=str,
)  # fmt: skip
def test_a_value_that_no_item_has_is_refused_without_its_text(name, cell):
    message = rows().to_message(encoded()[:2])
    message[1][rows().schema.names.index(name)] = cell
    with pytest.raises(InputError, match="the page sent") as caught:
        rows().from_message(message, 2)
    assert "<img" not in str(caught.value)
