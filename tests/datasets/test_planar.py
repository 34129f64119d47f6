import numpy as np
import pytest
from cases import assert_refused

from semimetric import BoundaryPoints, SupportPointClassifier
from semimetric.datasets.planar import make_horseshoe, make_s_shape, make_zigzag

BOTH = pytest.mark.parametrize("make", [make_horseshoe, make_s_shape])
EVERY = pytest.mark.parametrize("make", [make_horseshoe, make_s_shape, make_zigzag])


@EVERY
def test_items_are_seeded_and_of_two_classes(make):
    X, y = make(random_state=1)
    assert np.array_equal(X, make(random_state=1)[0])
    assert not np.array_equal(X, make(random_state=2)[0])
    assert set(y) == {0, 1}
    assert len(X) == len(y)


@BOTH
def test_classes_keep_their_distance(make):
    X, y = make(gap=0.4)
    apart = np.linalg.norm(X[y == 1][:, None] - X[y == 0], axis=2).min()
    assert apart > (0.4 if make is make_horseshoe else 0.4 / np.hypot(1, np.pi))  # at the steepest place of the S


def test_the_horseshoe_has_as_many_support_points_as_the_papers():
    found = [BoundaryPoints().fit(*make_horseshoe(random_state=seed)) for seed in range(10)]
    support, own, boundary = np.mean([(len(f.support_), len(f.self_support_), len(f.boundary_points_)) for f in found], axis=0)
    assert abs(support - 127) < 6
    assert abs(own - 99) < 6
    assert abs(boundary - 92) < 6


def test_the_arms_of_the_u_are_inside_the_m():
    X, y = make_horseshoe(4000, 3000)
    assert X[y == 1][:, 0].min() < X[y == 0][:, 0].min() - 1.0
    assert X[y == 0][:, 1].max() < X[y == 1][:, 1].max() - 0.9
    middle = X[y == 1][np.abs(X[y == 1][:, 0] - X[y == 1][:, 0].mean()) < 0.3]
    assert 1.2 <= middle[:, 1].min() < 1.4  # the leg of the M ends above the U's base


def test_the_s_is_uniform_on_what_is_left():
    X, y = make_s_shape(20_000, gap=0.2)
    share = np.mean(y)
    assert abs(share - 0.5) < 0.02
    assert (X[:, 0] > -1.5).all()
    assert (X[:, 0] < 1.5).all()
    assert SupportPointClassifier().fit(X[::10], y[::10]).score(X, y) > 0.98


def test_wrong_measures_are_refused():
    assert_refused(lambda: make_horseshoe(0), "n_positive=0", ">= 1")
    assert_refused(lambda: make_horseshoe(gap=1.0), "gap=1.0", "below 1 is required", "give a smaller one")
    assert_refused(lambda: make_s_shape(gap=-0.1), "gap=-0.1", ">= 0")


def test_the_zigzag_has_as_many_straight_pieces_as_asked_for():
    X, y = make_zigzag(4000, n_pieces=3, height=2.0, gap=0.2)
    corners = np.interp(X[:, 0], [0, 1, 2, 3], [0, 2, 0, 2])
    assert np.array_equal(y == 1, X[:, 1] > corners)
    assert np.abs(X[:, 1] - corners).min() >= 0.1
    assert (X.min(axis=0) > [0, -1]).all()
    assert (X.max(axis=0) < [3, 3]).all()
    assert_refused(lambda: make_zigzag(gap=1.0), "gap=1.0", "below 1", "smaller")
    assert_refused(lambda: make_zigzag(n_pieces=0), "n_pieces=0", ">= 1")
    assert_refused(lambda: make_zigzag(height=0.0), "height=0.0", "> 0")
