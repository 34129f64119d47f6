"""A reader of single rows encodes them as the schema does, to the bit, or leaves them to it."""

from datetime import UTC, date, datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from semimetric import Schema
from semimetric.data.rows import RowReader, single_row

MOMENTS = st.datetimes(datetime(1901, 1, 1), datetime(2099, 1, 1))
NUMBERS = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True), st.integers(-(2**70), 2**70), st.booleans(), st.none(),
    st.floats(width=32).map(np.float32), st.integers(-9, 9).map(np.int64), st.just("3.5"), st.just(pd.NA), st.just(1j),
)  # fmt: skip
WORDS = st.one_of(
    st.sampled_from(["red", "blue", "green", "", 1, 1.0, True, None, np.nan, pd.NA, np.str_("red")]), st.text(max_size=3),
    st.just(["red"]), MOMENTS,
)  # fmt: skip
TIMES = st.one_of(
    MOMENTS, MOMENTS.map(pd.Timestamp), MOMENTS.map(str), MOMENTS.map(datetime.date), MOMENTS.map(np.datetime64), st.none(),
    st.just(pd.NaT), st.just(np.nan), st.floats(-1e3, 1e3), st.just("soon"), MOMENTS.map(lambda t: t.replace(tzinfo=UTC)),
)  # fmt: skip
CELLS = {"size": NUMBERS, "hour": NUMBERS, "colour": WORDS, "when": TIMES, "day": TIMES}
FRAME = pd.DataFrame(
    {
        "size": [1.0, 2.5, np.nan], "hour": [3.0, 23.5, 7.0], "colour": ["red", "blue", None],
        "when": pd.to_datetime(["2024-01-01T00:00", "2024-05-01T12:30", "1969-03-01T06:00"]),
        "day": pd.to_datetime(["2024-01-01T00:00", "2024-05-01T12:30", "1969-03-01T06:00"]),
    }
)  # fmt: skip
OPTIONS = {"categorical_features": ["colour"], "periodic": {"hour": 24, "day": "week"}}


def schema_of(names, missing, dropped=()):
    options = {"categorical_features": [n for n in ["colour"] if n in names]}
    options["periodic"] = {n: p for n, p in {"hour": 24, "day": "week"}.items() if n in names}
    return Schema.fit(FRAME[[*names, *dropped]], missing=missing, drop=list(dropped) or None, **options)


def forms(names, values, draw):
    """The same row in every form that a reader takes, each with the way in which the schema reads it."""
    row = dict(zip(names, values, strict=True))
    turned = dict(reversed(row.items()))
    series = pd.Series(turned, dtype=object)
    return [
        (turned, lambda schema: schema.encode(turned)),
        (list(values), lambda schema: single_row(list(values), schema)[0]),
        (tuple(values), lambda schema: single_row(tuple(values), schema)[0]),
        (series, lambda schema: single_row(series, schema)[0]),
    ]


@given(st.data())
def test_rows_are_encoded_as_the_schema_does(data):
    names = data.draw(st.lists(st.sampled_from(list(CELLS)), min_size=1, unique=True))
    missing = data.draw(st.sampled_from(["level", "auto"]))
    schema = schema_of(names, missing)
    values = [data.draw(CELLS[name]) for name in names]
    for given_as, encode in forms(names, values, data.draw):
        found = RowReader(schema).read(given_as)
        if found is not None:
            assert_array_equal(found.view(np.int64), encode(schema).view(np.int64))


@given(st.data())
def test_frames_of_one_row_are_encoded_as_the_schema_does(data):
    names = data.draw(st.lists(st.sampled_from(["size", "hour", "colour"]), min_size=1, unique=True))
    schema = schema_of(names, "level")
    frame = pd.DataFrame({name: [data.draw(CELLS[name].filter(lambda cell: not isinstance(cell, list)))] for name in names})
    forms = [frame, frame.convert_dtypes(), frame.astype(dict.fromkeys({"colour"} & {*names}, "category"))]
    for table in forms:
        found = RowReader(schema, names).read(table)
        if found is not None:
            assert_array_equal(found.view(np.int64), schema.encode(table).view(np.int64))


@pytest.mark.parametrize("missing", ["level", "auto"])
def test_plain_rows_are_read(missing):
    """The laws above hold of what is read, and this is read."""
    names = list(CELLS)
    schema, row = schema_of(names, missing), dict(zip(names, FRAME.iloc[1], strict=True))
    want = schema.encode(FRAME[1:2])
    reader = RowReader(schema, names)
    for given_as in (row, list(row.values()), tuple(row.values()), FRAME.iloc[1]):
        assert_array_equal(reader.read(given_as), want)
    assert reader.read(FRAME[1:2]) is None  # The dtypes of columns say how times are read.
    assert_array_equal(reader.read(row | {"when": "2024-05-01T12:30", "day": date(2024, 5, 1)})[0, 3], want[0, 3])
    few = ["size", "hour", "colour"]
    schema, reader = schema_of(few, missing), RowReader(schema_of(few, missing), few)
    for table in (FRAME[few][1:2], FRAME[few][2:3], pl.from_pandas(FRAME[few][1:2])):
        assert_array_equal(reader.read(table), schema.encode(table))


@pytest.mark.parametrize(
    "x",
    [
        {"size": 1.0}, {"size": 1.0, "hour": 2.0, "other": 3.0}, {"size": 1.0, "hour": "2"}, {"size": np.inf, "hour": 2.0},
        {"size": [1.0], "hour": 2.0}, {"size": 1.0, "hour": None}, [1.0], [[1.0, 2.0]], "red", 3.0, None, np.array([1.0, 2.0]),
        pd.Series([1.0, 2.0]), FRAME[["hour", "size"]][:1], FRAME[["size", "hour"]][:2], FRAME[:1], {},
    ],
)  # fmt: skip
def test_everything_else_is_left_to_the_schema(x):
    names = ["size", "hour"]
    assert RowReader(schema_of(names, ["size"]), names).read(x) is None


def test_columns_that_are_left_out_may_be_there():
    schema = schema_of(["size", "hour"], "level", dropped=["colour"])
    reader = RowReader(schema, ["size", "hour", "colour"])
    row = {"size": 1.0, "hour": 25.0}
    for given_as in (row, row | {"colour": "red"}, pd.DataFrame([{"colour": "red"} | row])):
        assert_array_equal(reader.read(given_as), [[1.0, 1.0]])
    assert reader.read(row | {"color": "red"}) is None
    assert reader.read(pd.DataFrame([row])) is None


@pytest.mark.parametrize("cell", ["7", 7, 7.0, "7.0", np.int64(7), "07", "8", True, "x"])
def test_numbers_and_their_texts_are_read_as_by_the_schema(cell):
    for categories in (["7", "x"], [7, 9]):
        schema = Schema.fit(pd.DataFrame({"c": pd.Series(categories * 3, dtype=object)}), categorical_features=["c"])
        row = RowReader(schema).read({"c": cell})
        assert row is None or row[0, 0] == schema.encode(pd.DataFrame({"c": pd.Series([cell], dtype=object)}))[0, 0]
