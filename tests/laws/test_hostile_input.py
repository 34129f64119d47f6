"""Every public call that takes data: their form changes no answer, and bad data are refused in one sentence before any work.

Here every argument is given a part of the forms, another part than the argument before it, so that all forms meet all kinds of
arguments; ``make soak ATTACKS=hostile-input`` goes on with the rest.
"""

import warnings

import numpy as np
import pytest
from cases import assert_refused
from hostile.forms import BAD, SAME, SPARSE
from hostile.trials import ARGUMENTS, FORMS, tried

import semimetric as sm
from semimetric._foundation.arrays import as_array, as_classes, as_floats
from semimetric._foundation.errors import InputTypeError

NAMES = list(ARGUMENTS)
KINDS = [list(SAME), list(SPARSE), list(BAD)]


def share(names, place, step=5):
    """Every fifth name, from another one on at every place."""
    return names[place % step :: step]


LONG = {
    *("DPLMClassifier.fit(X)", "DPLMClassifier.fit(y)", "EmbeddedLinearRegressor.fit(y)", "BSplineEmbedding.fit(X)"),
    *("ShardedIndex.build(X)", "HyperplaneMixture.fit(X)", "SemimetricRegressor.fit(X)", "SemimetricRegressor.fit(y)"),
}
"""Arguments among the slow tests: siblings, such as ``SemimetricClassifier.fit(X)``, are read by the same functions."""


def test_arguments_that_take_long_are_there():
    assert set(NAMES) > LONG


@pytest.mark.parametrize("argument", [pytest.param(name, marks=[pytest.mark.slow] * (name in LONG)) for name in NAMES])
def test_the_same_data_in_other_forms_change_nothing_and_bad_data_are_refused(argument):
    chosen = [name for names in KINDS for name in share(names, NAMES.index(argument))]
    outcomes = [tried(argument, form) for form in chosen]
    assert {"equal", "refused"} & set(outcomes)


def test_every_form_is_tried():
    tried_forms = {name for place in range(5) for names in KINDS for name in share(names, place)}
    assert tried_forms == set(FORMS)


PLACES = {
    "NaN": ([[0.0, 1.0], [2.0, np.nan]], "row 1 of X has a missing value", "in column 1"),
    "several": ([[np.inf, 1.0], [np.nan] * 2], "row 0 of X has an infinite value", "3 such values in all: 2 in column 0, 1 in"),
    "text": ([[0.0, 1.0], ["much", 2.0]], "X holds text", "numbers are required"),
    "an object": (np.array([[0.0, {}]], dtype=object), "row 0 of X has {} in column 1, which is no number", "correct it"),
    "mask": (np.ma.masked_equal([[0.0, 1.0], [2.0, 5.0]], 5.0), "row 1 of X has a missing value", "in column 1"),
    "complex": ([[1j, 1.0]], "Complex data not supported", "real numbers are required"),
    "dates": (np.array([["2020-01-01"]], dtype="M8[D]"), "X holds times", "turn them into such"),
    "ragged": ([[1.0], [1.0, 2.0]], "X cannot be read as numbers of equally long rows", "give an array"),
}  # fmt: skip


@pytest.mark.parametrize("name", PLACES)
def test_the_place_of_what_is_wrong_is_named(name):
    X, given, required = PLACES[name]
    index = sm.NeighborIndex(sm.Semimetric(sm.PairEmbedding(sm.Grid([[0.0, 1.0]] * 2)), np.ones(2), np.ones(2), ("u", "v")))
    assert_refused(lambda: index.fit(X), given, required)


def test_a_column_of_a_frame_is_named():
    frame = pytest.importorskip("pandas").DataFrame({"width": [1.0, 2.0], "height": [0.0, np.inf]})
    assert_refused(lambda: sm.PL1Embedding().fit(frame), "row 1 of X", "in 'height'", "correct it")


def test_nothing_is_copied_that_need_not_be():
    X = np.arange(6.0).reshape(3, 2)
    assert as_array(X, "X") is X
    assert as_floats(X, "X") is X
    assert np.shares_memory(as_array(np.ma.masked_array(X), "X"), X)


def test_what_no_number_can_be_made_of_is_a_type_error_too():
    with pytest.raises(TypeError, match="argument must be a string or a real number") as caught:
        as_floats(np.array([{}], dtype=object), "y")
    assert isinstance(caught.value, InputTypeError)


CLASSES = {
    "None": (None, "y to be passed", "give a class"),
    "a missing one": (["a", None], "y[1] is missing", "a class is required"),
    "NaN": ([0.0, np.nan], "y[1] is missing (nan", "a class is required"),
    "a masked one": (np.ma.masked_equal([0, 1], 1), "y[1] is masked", "a class is required"),
    "several types": (np.array(["a", 1], dtype=object), "classes of several types", "give all of one type"),
    "too few": (["a"], "y has 1 class labels for 2 items", "one for each item is required"),
    "measured": ([0.5, 1.25], "Unknown label type: continuous", ""),
    "infinite": ([np.inf, 1.0], "row 0 of y has an infinite value", "finite values are required"),
}


@pytest.mark.parametrize("name", CLASSES)
def test_classes_that_are_none_are_refused(name):
    y, given, required = CLASSES[name]
    assert_refused(lambda: as_classes(y, np.zeros((2, 1))), given, required)


SCALES = {
    "huge": lambda X: X * 1e300,
    "large": lambda X: X * 1e150,
    "small": lambda X: X * 1e-150,
    "tiny": lambda X: X * 1e-300,
    "one huge": lambda X: np.where(np.arange(X.size).reshape(X.shape) == X.size // 2, 1e300, X),
    "one subnormal": lambda X: np.where(np.arange(X.size).reshape(X.shape) == X.size // 2, 5e-324, X),
}
SCALED = [
    name
    for name, argument in ARGUMENTS.items()
    if argument.plain.dtype.kind == "f" and not name.startswith(("plot", "map", "Sharded"))
]


@pytest.mark.parametrize("argument", SCALED)
def test_any_magnitude_is_answered_by_numbers_or_refused(argument):
    names = list(SCALES)
    for scale in (names[SCALED.index(argument) % len(names)], names[(SCALED.index(argument) + 3) % len(names)]):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", RuntimeWarning)
            try:
                answer = ARGUMENTS[argument].call(SCALES[scale](ARGUMENTS[argument].plain))
            except sm.SemimetricError:
                continue
        assert not any(np.isnan(part).any() for part in (answer if isinstance(answer, tuple) else (answer,)))
