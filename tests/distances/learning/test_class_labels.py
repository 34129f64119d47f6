"""Class labels as numbers."""

import warnings

import numpy as np
import pytest
from cases import assert_refused
from hypothesis import assume, given
from hypothesis import strategies as st
from learners import made
from sklearn.datasets import load_wine

from semimetric import InputError, LargeMarginLearner, SemimetricWarning
from semimetric.distances.learning.items import encode_class_labels

RNG = np.random.default_rng(0)
X, Y = load_wine(return_X_y=True)
FAST = {"n_knots": 5, "alpha": 1e-2, "directions": None, "tables": "warped"}


def learned(**changes):
    return made(LargeMarginLearner, **FAST | changes)


def test_labels_of_several_types_or_missing_are_refused():
    pd = pytest.importorskip("pandas")
    for other in (pd.NA, np.nan, None, 1):
        with pytest.raises(InputError, match=r"several types, or missing ones|y\[0\] is missing"):
            learned().fit(X, pd.Series([other, *np.array(["a", "b", "c"])[Y[1:]]], dtype=object))


def test_float_labels_are_refused():
    with pytest.raises(ValueError, match="continuous"):
        learned().fit(X, RNG.random(len(X)))


@given(st.lists(st.sampled_from(["b", "a", "d", "c"]), min_size=6, max_size=30), st.integers(0, 2**32 - 1))
def test_codes_invert_to_labels(labels, seed):
    weight = np.random.default_rng(seed).integers(0, 3, len(labels)).astype(float)
    used = [label for label, w in zip(labels, weight, strict=True) if w > 0]
    assume(len(set(used)) > 1 and len(used) > len(set(used)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SemimetricWarning)
        found = encode_class_labels(labels, len(labels), weight, 3)
    assert found.classes[found.codes].tolist() == used
    assert found.classes.tolist() == sorted(set(used))
    assert found.codes.dtype == np.int64
    assert (found.used == (weight > 0)).all()
    np.testing.assert_allclose(found.weight, weight / weight.sum())


def test_labels_may_be_numbers_or_truth_values_and_weigh_the_same_without_weights():
    for labels in ([3, -1, 3, 3], [True, False, True, True]):
        with pytest.warns(SemimetricWarning, match="1 classes have no more than n_targets=1 items"):
            found = encode_class_labels(labels, 4, None, 1)
        assert found.classes.tolist() == sorted(set(labels))
        assert found.codes.tolist() == [1, 0, 1, 1]
        assert found.weight.tolist() == [0.25] * 4


BAD = {
    "none": ((None, 4, None), "y is None", "requires y", "give a class for every item"),
    "length": ((["a", "b", "a"], 4, None), "3 class labels for 4 items", "one for each item is required"),
    "one class": ((["a"] * 4, 4, None), "one class only, a", "at least two classes are required"),
    "one class of weight": ((["a", "a", "b", "b"], 4, [1, 1, 0, 0]), "one class only, a", "at least two classes"),
    "one item each": ((["a", "b", "c", "d"], 4, None), "every class has one item", "one class of two items is required"),
    "several types": ((np.array(["a", 1, "b", "a"], dtype=object), 4, None), "several types", "give all of one type"),
    "negative weight": ((["a", "a", "b", "b"], 4, [1, -1, 1, 1]), "sample_weight", "non-negative"),
}


@pytest.mark.parametrize("name", BAD)
def test_labels_that_cannot_be_learned_from_are_refused(name):
    arguments, *parts = BAD[name]
    assert_refused(lambda: encode_class_labels(*arguments, 3), *parts)


def test_classes_with_too_few_items_for_their_targets_are_told():
    labels = [*"aaaa", *"bbb", "c"]
    with pytest.warns(SemimetricWarning, match=r"2 classes have no more than n_targets=3 items \(b: 3, c: 1\)"):
        encode_class_labels(labels, 8, None, 3)
    many = [*"aaaa", *"bcdefg"]
    with pytest.warns(SemimetricWarning, match=r"6 classes .*\(b: 1, c: 1, d: 1, e: 1, f: 1, \.\.\.\)"):
        encode_class_labels(many, 10, None, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error", SemimetricWarning)
        encode_class_labels([*"aabb"], 4, None, 1)
