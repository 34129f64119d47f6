"""Distances in the units of measured ones: the link alone is new."""

import numpy as np
import pandas as pd
import pytest
from cases import assert_refused
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from semimetric import InputError, LargeMarginLearner, NeighborIndex, Semimetric, TripletLearner, calibrate_distance, load

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
PAIRS = RNG.integers(0, 60, (400, 2))
L1 = Semimetric.l1(X)


def measured(function):
    return function(np.abs(X[PAIRS[:, 0]] - X[PAIRS[:, 1]]).sum(axis=1))


@given(st.floats(0.01, 100), st.floats(0.3, 1.0))
@settings(max_examples=20, deadline=None)
def test_scale_and_concave_powers_are_found(scale, power):
    y = measured(lambda s: scale * s**power)
    d = calibrate_distance(L1, PAIRS, y, preprocessor=X)
    error = np.abs(d.paired(X[PAIRS[:, 0]], X[PAIRS[:, 1]]) - y)
    assert error.mean() < 0.03 * y.mean()
    assert d.axioms.name == "metric"


def test_no_scale_alone_is_nearer(tmp_path):
    y = measured(lambda s: np.minimum(s, 3.0)) + 0.05 * RNG.random(400)
    d = calibrate_distance(L1, PAIRS, y, preprocessor=X)
    s = L1.paired(X[PAIRS[:, 0]], X[PAIRS[:, 1]])
    best = minimize_scalar(lambda c: ((c * s - y) ** 2).sum(), bounds=(0, 10)).fun
    assert ((d.paired(X[PAIRS[:, 0]], X[PAIRS[:, 1]]) - y) ** 2).sum() < 0.2 * best
    d.save(tmp_path / "d.smm")
    np.testing.assert_array_equal(load(tmp_path / "d.smm").pairwise(X), d.pairwise(X))


def test_neighbours_stay_what_they_are():
    d = calibrate_distance(L1, PAIRS, measured(np.sqrt), preprocessor=X)
    before, after = (NeighborIndex(model).fit(X).kneighbors(X[:9] + 0.1, 5)[1] for model in (L1, d))
    np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("learner", ["labels", "triplets"])
def test_learners_without_units_get_some(learner):
    true = measured(lambda s: 10 * s)
    if learner == "labels":
        d = (
            LargeMarginLearner(n_knots=4, alpha=1e-2, directions=None, tables="warped")
            .fit(X, X[:, 0] + X[:, 1] > 0)
            .semimetric_
        )
    else:
        near = L1.pairwise(X)
        t = RNG.integers(0, 60, (500, 3))
        t = np.where((near[t[:, 0], t[:, 1]] <= near[t[:, 0], t[:, 2]])[:, None], t, t[:, [0, 2, 1]])
        d = TripletLearner(n_knots=4, alpha=1e-2, directions=None, preprocessor=X).fit(t).semimetric_
    calibrated = calibrate_distance(d, PAIRS, true, preprocessor=X)
    sides = X[PAIRS[:, 0]], X[PAIRS[:, 1]]
    assert ((calibrated.paired(*sides) - true) ** 2).mean() < ((d.paired(*sides) - true) ** 2).mean()
    assert calibrated.paired(*sides).mean() == pytest.approx(true.mean(), rel=0.2)


def test_weights_and_mixed_frames_are_taken():
    frame = pd.DataFrame({"a": X[:, 0], "kind": pd.Categorical(np.where(X[:, 1] > 0, "x", "y"))})
    d = Semimetric.gower(frame)
    y = 5 * d.pairwise(frame)[PAIRS[:, 0], PAIRS[:, 1]]
    wrong = np.arange(400) < 200
    y = np.where(wrong, 100.0, y)
    found = calibrate_distance(d, PAIRS, y, np.where(wrong, 0.0, 1.0), preprocessor=frame)
    np.testing.assert_allclose(found.pairwise(frame), 5 * d.pairwise(frame), rtol=1e-6, atol=1e-9)


def test_what_tells_nothing_is_refused():
    assert_refused(lambda: calibrate_distance(LargeMarginLearner(), PAIRS, np.ones(400)), "LargeMarginLearner", "semimetric_")
    assert_refused(lambda: calibrate_distance(L1, PAIRS, np.zeros(400), preprocessor=X), "are 0", "give pairs that differ")
    same = np.repeat(PAIRS[:, :1], 2, axis=1)
    assert_refused(lambda: calibrate_distance(L1, same, np.ones(400), preprocessor=X), "0 have a distance > 0", "give pairs")
    for wrong in (np.full(400, np.nan), np.full(400, -1.0), np.ones(3)):
        with pytest.raises(InputError):
            calibrate_distance(L1, PAIRS, wrong, preprocessor=X)
