import numpy as np
import pytest
from cases import assert_refused

from semimetric import InputError
from semimetric._foundation.types import Pairs
from semimetric._foundation.validation import (
    check_alpha,
    check_choice,
    check_distances,
    check_items,
    check_tuples,
    check_weights,
)


def check_pairs(pairs, preprocessor=None):
    return check_tuples(pairs, Pairs, preprocessor)


ITEMS = np.arange(6.0).reshape(3, 2)
BAD = {
    "features": (lambda: check_items(ITEMS, n_features=3), "2 features", "3 features are required", "same columns"),
    "shape by index": (lambda: check_pairs([0, 1], ITEMS), "shape (2,)", "(n_pairs, 2)", "model.semimetric_.paired(X, Y)"),
    "floats by index": (lambda: check_pairs([[0.0, 1.0]], ITEMS), "dtype float64", "must be integers", "drop preprocessor="),
    "too large": (lambda: check_pairs([[0, 1], [0, 3]], ITEMS), "pair 1 is (0, 3)", "3 items", "between 0 and 2"),
    "negative": (lambda: check_pairs([[-1, 1]], ITEMS), "pair 0 is (-1, 1)", "3 items", "between 0 and 2"),
    "no pairs by index": (lambda: check_pairs(np.empty((0, 2), int), ITEMS), "0 pairs", "at least one is required"),
    "two dimensions": (
        lambda: check_pairs(ITEMS),
        "(3, 2): Expected 3D array, got 2D array instead",
        "(n_pairs, 2, n_features) is required",
        "preprocessor=X",
    ),
    "flat row numbers": (
        lambda: check_pairs([0, 1], ITEMS),
        "(2,): Expected 2D array, got 1D array instead",
        "(n_pairs, 2)",
        "points",
    ),
    "no pairs": (
        lambda: check_pairs(np.ones((0, 2, 3))),
        "Found array with 0 sample(s): there are 0 pairs",
        "at least one",
        "give",
    ),
    "no row numbers": (
        lambda: check_pairs(np.ones((0, 2)), ITEMS),
        "Found array with 0 sample(s): there are 0",
        "one is required",
    ),
    "triplets": (lambda: check_pairs(np.ones((4, 3, 2))), "shape (4, 3, 2)", "(n_pairs, 2, n_features)", "preprocessor"),
    "ragged": (lambda: check_pairs([[[1.0], [1.0, 2.0]]]), "cannot be read", "same number of features", "give all 2 items"),
    "text": (lambda: check_pairs([[["a"], ["b"]]]), "cannot be read as numbers", "(n_pairs, 2, n_features)", "numeric"),
    "number of y": (lambda: check_distances([1.0], 2), "shape (1,) for 2 pairs", "one distance a pair is required"),
    "negative y": (lambda: check_distances([1.0, -2.0], 2), "y[1] is -2", "must be >= 0", "turn it into a distance"),
    "zero y": (
        lambda: check_distances([0.0, 0.0], 2),
        "all distances in y are 0",
        "nothing to learn",
        "give pairs that differ",
    ),
    "number of weights": (lambda: check_weights([1.0], 2), "shape (1,)", "each of the 2 pairs is required"),
    "negative weight": (lambda: check_weights([1.0, -1.0], 2), "sample_weight", "non-negative", "correct or drop it"),
    "no weight": (lambda: check_weights([0.0, 0.0], 2), "sample_weight", "not all zero", "correct or drop it"),
    "choice": (lambda: check_choice("link", "log", ("identity", "sqrt")), "link='log'", "not known", "use one of 'identity'"),
    "not a number": (lambda: check_alpha("alpha", "much"), "alpha='much'", "must be a finite number"),
    "boolean": (lambda: check_alpha("alpha", True), "alpha=True", "must be a finite number"),
    "below zero": (lambda: check_alpha("alpha", -1.0), "alpha=-1.0", "must be >= 0"),
    "zero where positive": (lambda: check_alpha("threshold", 0.0, strict=True), "threshold=0.0", "must be > 0"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_in_three_parts(name):
    assert isinstance(assert_refused(*BAD[name]), InputError)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_no_numbers_are_refused_by_name(value):
    points = np.ones((2, 2, 3))
    points[1, 0, 2] = value
    for call in (lambda: check_pairs(points), lambda: check_pairs([[0, 1]], points[:, 0]), lambda: check_distances([value], 1)):
        with pytest.raises(ValueError, match=r"row . of (pairs|preprocessor|y) has"):
            call()


def test_points_are_viewed_and_not_copied():
    points = np.random.default_rng(0).random((4, 2, 3))
    pairs = check_pairs(points)
    assert np.shares_memory(pairs.items, points)
    assert (pairs.items[pairs.index] == points).all()


def test_row_numbers_of_any_integer_type_are_taken():
    for kind in (np.uint8, np.int32, np.int64):
        assert check_pairs(np.array([[0, 2]], kind), ITEMS).index.dtype == np.int64


def test_weights_sum_to_one():
    np.testing.assert_allclose(check_weights(None, 4), 0.25)
    np.testing.assert_allclose(check_weights([1, 3], 2), [0.25, 0.75])


def test_a_column_of_text_is_named():
    frame = pytest.importorskip("pandas").DataFrame({"width": [1.0, 2.0], "colour": ["1", "red"]})
    assert_refused(lambda: check_items(frame), "column 'colour' of X is not of numbers", "'red'", "encode it")
