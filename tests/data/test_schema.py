import pickle
from datetime import date

import numpy as np
import pytest
from cases import assert_refused
from numpy.testing import assert_array_equal

from semimetric import InputError, Schema
from semimetric._foundation.stored import state_of, value_of
from semimetric.data.schema import Feature, feature_names

ROWS = [["red", 23.0, 1.5], ["blue", -1.0, 2.0], ["red", 49.0, 0.0]]
TOLD = {"categorical_features": [0], "periodic": {1: 24}}


def frames():
    """The same table as a frame of pandas with a categorical dtype, and of polars."""
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    columns = {"colour": [r[0] for r in ROWS], "hour": [r[1] for r in ROWS], "size": [r[2] for r in ROWS]}
    frame = pandas.DataFrame(columns)
    frame["colour"] = frame["colour"].astype("category")
    return frame, polars.DataFrame(columns, schema_overrides={"colour": polars.Categorical})


def test_codes_are_places_among_the_categories_and_angles_wrap():
    schema = Schema.fit(ROWS, **TOLD)
    assert schema.kinds == ("categorical", "periodic", "numeric")
    assert schema.features[0].categories == ("blue", "red")
    assert_array_equal(schema.encode(ROWS), [[1, 23, 1.5], [0, 23, 2], [1, 1, 0]])
    assert_array_equal(schema.encode([["green", 24.0, 7]]), [[2, 0, 7]])
    assert schema.unseen(schema.encode([["green", 1, 2], ["red", 1, 2]])).tolist() == [[True, False, False], [False] * 3]


def test_frames_tell_their_categories_by_dtype():
    for frame in frames():
        schema = Schema.fit(frame, periodic={"hour": 24})
        assert schema == Schema.fit(frame, categorical_features=["colour"], periodic={1: 24.0})
        assert schema.names == ("colour", "hour", "size")
        assert_array_equal(schema.encode(frame), [[1, 23, 1.5], [0, 23, 2], [1, 1, 0]])
        assert_array_equal(schema.encode(ROWS), schema.encode(frame))


def test_the_dtype_gives_the_order_and_categories_that_do_not_occur():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    order = ["small", "large", "huge"]
    one = pandas.DataFrame({"a": pandas.Categorical(["large"], categories=order)})
    two = polars.DataFrame({"a": ["large"]}, schema={"a": polars.Enum(order)})
    for frame in (one, two):
        schema = Schema.fit(frame)
        assert schema.features[0].categories == tuple(order)
        assert schema.encode(frame).tolist() == [[1.0]]


@pytest.mark.parametrize("values", [[True, False], [3, 10, 7], [0.5, 0.25], ["a", 2, "b", 1]])
def test_categories_are_text_truth_values_or_numbers(values):
    schema = Schema.fit([[v] for v in values], categorical_features=[0])
    assert set(schema.features[0].categories) == set(values)
    assert sorted(schema.encode([[v] for v in values])[:, 0]) == list(range(len(values)))
    assert schema.decode(schema.encode([[v] for v in values]))[:, 0].tolist() == values


def test_missing_values_of_every_kind_are_nan():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    cells = {"colour": ["red", None, "blue"], "hour": [1.0, 30.0, None], "n": [None, 2, 3]}
    frame = pandas.DataFrame(cells | {"n": pandas.array([None, 2, 3], dtype="Int64")})
    rows = [["red", 1.0, None], [np.nan, 30.0, 2], ["blue", pandas.NA, 3]]
    for X in (frame, polars.DataFrame(cells), rows, np.array(rows, dtype=object)):
        schema = Schema.fit(X, categorical_features=[0], periodic={1: 24}, missing="level")
        assert_array_equal(schema.encode(X), [[1, 1, np.nan], [np.nan, 6, 2], [0, np.nan, 3]])
    decoded = schema.decode(schema.encode(rows))
    assert decoded[:, 0].tolist() == ["red", None, "blue"]
    assert decoded[1, 1:].tolist() == [6.0, 2.0]
    assert np.isnan(decoded[0, 2])


def test_a_schema_is_a_value_that_a_file_holds():
    schema = Schema.fit(ROWS, **TOLD, missing="level")
    again = value_of(state_of(schema), Schema, ())
    assert again == schema == pickle.loads(pickle.dumps(schema))
    assert hash(schema) == hash(again)
    assert schema.reads_as(schema.renamed(["a", "b", "c"]))
    assert not schema.reads_as(Schema.fit(ROWS, **TOLD))
    assert Schema.of(schema) is schema
    assert Schema.of(["a"]) == Schema.numeric(["a"]) == Schema((Feature("a"),))


def test_plain_tables_are_checked_as_matrices():
    X = np.arange(6.0).reshape(3, 2)
    schema = Schema.fit(X)
    assert schema.plain
    assert schema.encode(X) is X
    assert schema.decode(X) is X
    assert schema.rows([1, 2]).shape == (1, 2)
    with pytest.raises(ValueError, match="a missing value"):
        schema.encode([[np.nan, 1.0]])


def test_coordinates_place_like_values_near():
    schema = Schema.fit([*ROWS, ["green", 12.0, np.nan]], **TOLD, missing="level")
    Z = schema.coordinates(schema.encode([["red", 0.1, 1.0], ["red", 23.9, 1.0], ["blue", 12.0, None]]))
    assert np.linalg.norm(Z[0] - Z[1]) < 0.1 < np.linalg.norm(Z[0] - Z[2])
    assert np.isfinite(Z).all()


def test_names_come_from_frames_with_names():
    pandas = pytest.importorskip("pandas")
    assert feature_names(pandas.DataFrame(ROWS), 3) == feature_names(ROWS, 3) == ("x0", "x1", "x2")
    assert feature_names(pandas.DataFrame(ROWS, columns=list("abc")), 3) == ("a", "b", "c")


SCHEMA = Schema.fit(ROWS, **TOLD)
BAD = {
    "text": (
        lambda: Schema.fit(ROWS, categorical_features=None, periodic={1: 24}).encode(ROWS),
        "column 'x0' of X is not of numbers",
        "categorical_features=",
    ),
    "a duration": (
        lambda: Schema.fit(np.array([[1]], dtype="m8[D]"), missing="level"),
        "column 'x0' of X holds durations",
        "numbers are required",
    ),
    "missing": (lambda: SCHEMA.encode([["red", None, 1.0]]), "row 0 of X has a missing value (NaN", "'x1'", 'missing="level"'),
    "missing category": (lambda: SCHEMA.encode([["red", 1, 1], [None, 1, 1]]), "row 1 of X", "'x0'", "fill them in"),
    "infinite": (lambda: SCHEMA.encode([["red", 1.0, np.inf]]), "row 0 of X has an infinite", "'x2'", "correct it"),
    "width": (lambda: SCHEMA.encode([["red", 1.0]]), "2 features", "3 features are required"),
    "no rows": (lambda: SCHEMA.encode(np.empty((0, 3))), "shape (0, 3)", "n_items >= 1"),
    "a vector": (lambda: SCHEMA.encode(["red", 1.0, 2.0]), "shape (3,)", "(n_items, 3)"),
    "no such column": (lambda: Schema.fit(ROWS, categorical_features=["colour"]), "'colour'", "a number below 3", "correct it"),
    "no such number": (lambda: Schema.fit(ROWS, periodic={3: 24}), "periodic= names the feature 3", "below 3"),
    "both": (lambda: Schema.fit(ROWS, categorical_features=[1], periodic={1: 24}), "'x1'", "one of the two"),
    "period": (lambda: Schema.fit(ROWS, periodic={1: 0}), "the period 0", "> 0"),
    "word": (lambda: Schema.fit(ROWS, categorical_features="all"), "categorical_features='all'", "'auto'"),
    "missing=": (lambda: Schema.fit(ROWS, missing="drop"), "missing='drop'", "'level'"),
    "nothing but missing": (
        lambda: Schema.fit([["red", None], ["blue", None]], categorical_features=[0], missing="level"),
        "column 'x1' of X holds nothing but missing values",
        "drop it",
    ),
    "no categories": (lambda: Schema.fit([[None], [None]], categorical_features=[0]), "'x0' of X", "no categories", "drop it"),
    "what is no category": (
        lambda: Schema.fit([[date(2020, 1, 1)]], categorical_features=[0]),
        "type date",
        "text",
        "astype(str)",
    ),
    "a list": (lambda: SCHEMA.encode(np.array([[[1], 2.0, 3.0]], dtype=object)), "no categories", "text or numbers"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_tables_are_refused(name):
    assert isinstance(assert_refused(*BAD[name]), InputError)


def test_a_frame_must_have_the_columns_of_the_fit():
    for frame in frames():
        schema = Schema.fit(frame, periodic={"hour": 24})
        other = frame[["hour", "colour", "size"]]
        assert_refused(lambda s=schema, f=other: s.encode(f), "the columns hour, colour, size", "their order differs")


def test_without_categorical_features_the_dtype_of_a_column_says_nothing():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"size": pandas.Categorical([3, 1, 3], categories=[3, 1]), "weight": [0.5, 2.0, 1.0]})
    assert Schema.fit(frame).kinds == ("categorical", "numeric")
    schema = Schema.fit(frame, categorical_features=None)
    assert schema.kinds == ("numeric", "numeric")
    assert_array_equal(schema.encode(frame), [[3, 0.5], [1, 2], [3, 1]])
    text = frames()[0]
    told = Schema.fit(text, categorical_features=None)
    assert_refused(lambda: told.encode(text), "'colour'", "categorical_features")
