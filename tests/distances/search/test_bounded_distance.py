"""A learned distance is clipped into bounds of the expensive one, in every form in which it is asked for."""

import numpy as np
import pytest
from cases import assert_refused

from semimetric import BoundedDistance, DistanceApproximator, DistanceRegressor, LandmarkBounds, Semimetric

X = np.random.default_rng(0).random((30, 2))


def euclid(x, y):
    return float(np.linalg.norm(np.subtract(x, y)))


BOUNDS = LandmarkBounds(euclid, n_landmarks=3).fit(X)


def test_values_lie_within_the_bounds_whatever_was_learned():
    learned = Semimetric.l1(X)
    d = BoundedDistance(learned, BOUNDS)
    low, high = BOUNDS.pairwise(X)
    values = d.pairwise(X)
    assert ((low <= values) & (values <= high)).all()
    within = (low <= learned.pairwise(X)) & (learned.pairwise(X) <= high)
    np.testing.assert_array_equal(values[within], learned.pairwise(X)[within])
    assert not within.all()
    np.testing.assert_array_equal(d.paired(X[:5], X[5:10]), values[np.arange(5), np.arange(5, 10)])
    assert d(X[0], X[7]) == pytest.approx(values[0, 7], abs=1e-15)
    assert d.bounds(X[0], X[7]) == (low[0, 7], high[0, 7])


def test_clipping_never_moves_a_value_away_from_the_distance():
    learned, true = Semimetric.l1(X), np.linalg.norm(X[:, None] - X, axis=2)
    clipped = BoundedDistance(learned, BOUNDS).pairwise(X)
    assert (np.abs(clipped - true) <= np.abs(learned.pairwise(X) - true) + 1e-8).all()


def test_without_clipping_the_learned_value_is_returned():
    learned = Semimetric.l1(X)
    d = BoundedDistance(learned, BOUNDS, clip=False)
    np.testing.assert_array_equal(d.pairwise(X), learned.pairwise(X))
    np.testing.assert_array_equal(d.paired(X[:5], X[5:10]), learned.paired(X[:5], X[5:10]))
    assert d(X[0], X[1]) == learned(X[0], X[1])
    assert "clip=False" in repr(d)


def test_a_fitted_learner_stands_for_what_it_has_learned():
    model = DistanceApproximator(euclid, DistanceRegressor(n_knots=2, alpha=1e-3), n_pairs=100).fit(X)
    assert BoundedDistance(model, BOUNDS).distance is model.semimetric_


def test_what_is_no_distance_and_what_are_no_bounds_are_refused():
    assert_refused(lambda: BoundedDistance(euclid, BOUNDS), "distance= is a function", "give a Semimetric")
    assert_refused(lambda: BoundedDistance(Semimetric.l1(X), (0.0, 1.0)), "bounds=(0.0, 1.0)", "must be fitted bounds")
