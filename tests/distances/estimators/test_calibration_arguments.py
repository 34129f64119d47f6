"""The arguments by which a threshold is set: what is taken, and what a reader of an error sees."""

import pickle
import traceback

import numpy as np
import pytest

from semimetric import InputError
from semimetric.distances.estimators.pair_learner import check_calibration, check_threshold


@pytest.mark.parametrize("rate", [0, 1, 0.5, np.float32(0.5), np.float64(1.0), np.int64(1)])
@pytest.mark.parametrize("strategy", ["max_tpr", "max_tnr"])
def test_a_rate_is_any_number_from_0_to_1(strategy, rate):
    assert check_calibration(strategy, rate, None) is None


@pytest.mark.parametrize("beta", [0, -2.0, 3, np.float32(0.5), np.int64(2)])
def test_beta_is_any_number(beta):
    assert check_calibration("f_beta", None, beta) is None


@pytest.mark.parametrize("strategy", ["accuracy", "f_beta"])
def test_an_argument_that_a_strategy_does_not_use_plays_no_part(strategy):
    assert check_calibration(strategy, "weird", 1.0) is None
    assert check_calibration("accuracy", None, "weird") is None


@pytest.mark.parametrize("value", [-1, 0.5, np.float32(0.5), np.int64(2)])
def test_a_threshold_becomes_a_float(value):
    found = check_threshold(value)
    assert found == value
    assert type(found) is float


@pytest.mark.parametrize("value", ["ABC", None, [1, 2], {"key": None}, set(), True, np.zeros((99, 2))])
def test_a_traceback_shows_the_value_in_one_line_below_the_message(value):
    with pytest.raises(InputError) as caught:
        check_threshold(value)
    shown = "".join(traceback.format_exception_only(pickle.loads(pickle.dumps(caught.value)))).splitlines()
    assert len(shown) == 2
    assert shown[0].endswith(f"Parameter threshold must be a real number. Got {type(value)} instead.")
    assert shown[1].startswith("threshold=")
    assert shown[1].endswith("is no number; give a distance, up to which pairs are predicted similar")
