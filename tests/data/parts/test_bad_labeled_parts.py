"""Labelled items in parts: what cannot be used is refused under the name of its part."""

import numpy as np
import pandas as pd
import pytest
from cases import assert_refused
from learners import made

from semimetric import LargeMarginLearner, out_of_core
from semimetric.data.parts.labeled_parts import LabeledPart, LabeledTable, labeled_parts, read_items, read_label_columns

X = np.random.default_rng(0).random((60, 3))
Y = (X[:, 0] > 0.5).astype(int)
FAST = {"n_knots": 3, "alpha": 1e-2, "directions": None, "tables": "warped", "n_passes": 1}
TABLE = LabeledTable(("u", "v", "w"), "kind", "weight")
FRAME = pd.DataFrame(X, columns=list("uvw")).assign(kind=Y, weight=1.0)


def fit(x, y, **options):
    return out_of_core.fit(made(LargeMarginLearner, **FAST), x, y, **options)


BAD_ARRAYS = {
    "pairs": (X.reshape(30, 2, 3), Y[:30], "X has shape (30, 2, 3)", "items of shape (n, n_features)", "reshape"),
    "one column": (X[:, 0], Y, "X has shape (60,)", "items of shape (n, n_features)", "reshape"),
    "no rows": (X[:0], Y[:0], "X has no rows", "at least one is required", ""),
    "text": (X.astype(str), Y, "X holds text (dtype <U", "numbers are required", "turn them into such"),
    "a column of an array": (X, "kind", "'kind' names a column", "X is read as an array", "give the values instead"),
}


@pytest.mark.parametrize("name", BAD_ARRAYS)
def test_arrays_that_are_no_items_are_refused(name):
    x, y, *parts = BAD_ARRAYS[name]
    assert_refused(lambda: fit(x, y), *parts)


def test_rows_of_another_shape_are_refused():
    assert_refused(
        lambda: labeled_parts(X.reshape(30, 2, 3), Y[:30], None, 10),
        "X has shape (30, 2, 3)",
        "(n, n_features) are required",
    )


def test_the_part_of_an_infinite_value_is_named(tmp_path):
    pytest.importorskip("pyarrow")
    FRAME.assign(v=np.where(np.arange(60) == 41, np.inf, 1.0)).to_parquet(tmp_path / "items.parquet", row_group_size=20)
    given = "feature 'v' of item 1 is inf"
    with pytest.raises(ValueError, match=given) as caught:
        out_of_core.fit(made(LargeMarginLearner, **FAST), tmp_path / "items.parquet", "kind", "weight", memory_limit="50 kB")
    assert "items.parquet" in str(caught.value)


BAD_PARTS = {
    "no items": (FRAME[:0], "part 1 is empty", "some items", "leave it out, or repartition"),
    "a column less": (FRAME.drop(columns="v"), "part 1: it has no column 'v'", "all parts need the same", "write it again"),
    "text": (
        FRAME.assign(v="red"),
        "part 1: items have shape (60, 3) and dtype object",
        "numbers of shape (n, 3)",
        "convert them",
    ),
    "an array of another width": (X[:, :2], "part 1: items have shape (60, 2)", "numbers of shape (n, 3)", "leave columns out"),
    "missing": (FRAME.assign(w=np.where(Y, np.nan, 1.0)), "part 1: feature 'w' of item", "finite numbers", "fill them in"),
}


@pytest.mark.parametrize("name", BAD_PARTS)
def test_items_of_a_part_that_cannot_be_used_are_refused(name):
    items, *parts = BAD_PARTS[name]
    assert_refused(lambda: read_items(LabeledPart("part 1", items), TABLE), *parts)


BAD_COLUMNS = {
    "no classes": (FRAME.drop(columns="kind"), "part 1: it has no column 'kind'", "name another, or add it"),
    "no weights": (FRAME.drop(columns="weight"), "part 1: it has no column 'weight'", "name another, or add it"),
    "an array": (X, "part 1: it has no column 'kind'", "name another, or add it"),
    "a class is missing": (
        FRAME.assign(kind=[None, *Y[1:]]),
        "part 1: 'kind' of item 0 is missing",
        "one for every item",
        "fill it in",
    ),
    "a weight below 0": (
        FRAME.assign(weight=-1.0),
        "the weights in 'weight' have dtype float64",
        "finite numbers >= 0",
        "correct them",
    ),
    "weights in words": (
        FRAME.assign(weight="heavy"),
        "the weights in 'weight' have dtype object",
        "finite numbers >= 0",
        "correct",
    ),
}


@pytest.mark.parametrize("name", BAD_COLUMNS)
def test_classes_and_weights_that_a_part_does_not_tell_are_refused(name):
    frame, *parts = BAD_COLUMNS[name]
    assert_refused(lambda: read_label_columns(LabeledPart("part 1", frame), TABLE), *parts)


def test_a_part_says_what_its_columns_hold():
    told = read_label_columns(LabeledPart("part 0", FRAME), TABLE)
    assert told.n == 60
    np.testing.assert_array_equal(told.y, Y)
    np.testing.assert_array_equal(told.weight, np.ones(60))
    kept = LabeledPart("part 0", FRAME, keep=Y == 1)
    np.testing.assert_array_equal(read_items(kept, TABLE), X[Y == 1])
