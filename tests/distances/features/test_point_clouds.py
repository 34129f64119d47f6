"""Features of point clouds: bounds of the Earth Mover's Distance, and invariances."""

import numpy as np
import pytest
from cases import assert_refused
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from scipy.stats import wasserstein_distance

from semimetric import PointCloudFeatures, load


def clouds(seed, sizes=(3, 5, 7), dimension=2):
    rng = np.random.default_rng(seed)
    return [(rng.normal(size=(n, dimension)), rng.random(n) + 0.1) for n in sizes]


def sliced(x, y, directions):
    """The mean over directions of the Earth Mover's Distance between projections."""
    return np.mean([wasserstein_distance(x[0] @ u, y[0] @ u, x[1], y[1]) for u in directions])


@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 9))
def test_quantiles_are_a_lower_bound_of_the_sliced_distance(seed, dimension, n_quantiles):
    x, y, _ = given_clouds = clouds(seed, dimension=dimension)
    model = PointCloudFeatures(n_directions=4, n_quantiles=n_quantiles, n_centers=0).fit(given_clouds)
    a, b = model.transform([x, y])
    assert np.abs(a - b).sum() <= sliced(x, y, model.directions_) * (1 + 1e-9) + 1e-12


@given(st.integers(0, 10**6))
def test_quantiles_approach_the_sliced_distance(seed):
    x, y, _ = given_clouds = clouds(seed)
    model = PointCloudFeatures(n_directions=4, n_quantiles=2000, n_centers=0).fit(given_clouds)
    a, b = model.transform([x, y])
    assert np.abs(a - b).sum() == pytest.approx(sliced(x, y, model.directions_), rel=0.02, abs=5e-3)


@given(st.integers(0, 10**6), st.integers(1, 6))
def test_quantiles_are_exact_for_as_many_equal_points(seed, n):
    points = np.random.default_rng(seed).normal(size=(2, n, 3))
    model = PointCloudFeatures(n_directions=5, n_quantiles=n, n_centers=0).fit(list(points))
    a, b = model.transform(list(points))
    ones = np.ones(n)
    assert np.abs(a - b).sum() == pytest.approx(sliced((points[0], ones), (points[1], ones), model.directions_), abs=1e-9)


@given(st.integers(0, 10**6), st.integers(1, 3))
def test_every_ball_changes_by_at_most_the_earth_movers_distance(seed, dimension):
    x, y = np.random.default_rng(seed).normal(size=(2, 5, dimension))
    model = PointCloudFeatures(n_directions=0, n_centers=6, n_radii=3).fit([x, y])
    a, b = model.transform([x, y])
    ground = cdist(x, y)
    exact = ground[linear_sum_assignment(ground)].mean()
    assert np.abs(a - b).max() <= exact * (1 + 1e-9)


@given(st.integers(0, 10**6))
def test_order_and_unit_of_mass_and_split_points_make_no_difference(seed):
    (P, m), *_ = given_clouds = clouds(seed)
    model = PointCloudFeatures().fit(given_clouds)
    split = np.concatenate([P, P[:2]]), 7 * np.concatenate([m[:2] / 2, m[2:], m[:2] / 2])
    want, reordered, again = model.transform([(P, m), (P[::-1], m[::-1]), split])
    np.testing.assert_allclose(reordered, want, atol=1e-12)
    np.testing.assert_allclose(again, want, atol=1e-12)


def test_masses_whose_sum_overflows_are_shares_too():
    points = [[0.0, 1.0], [2.0, 3.0]]
    huge, plain = PointCloudFeatures().fit_transform([(points, [1e308, 1e308]), (points, [1.0, 1.0])])
    np.testing.assert_array_equal(huge, plain)


def test_names_and_files(tmp_path):
    given_clouds = clouds(0)
    model = PointCloudFeatures(n_directions=3, n_quantiles=2, n_centers=4, n_radii=2).fit(given_clouds)
    assert model.transform(given_clouds).shape == (3, len(model.get_feature_names_out())) == (3, 14)
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(load(tmp_path / "m").transform(given_clouds), model.transform(given_clouds))
    assert PointCloudFeatures().fit([[[1.0, 2.0]]]).transform([[[1.0, 2.0]]]).shape[0] == 1  # one point alone


@pytest.mark.parametrize(
    ("changes", "objects", "words"),
    [
        ({}, [np.ones((2, 2)), np.ones((2, 3))], "X[1] has shape (2, 3); (n_points, 2)"),
        ({}, [np.empty((0, 2))], "with a point or more is required"),
        ({}, [(np.ones((2, 2)), [1.0])], "masses of X[0] have shape (1,); 2 numbers"),
        ({}, [(np.ones((2, 2)), [1.0, -1.0])], "numbers >= 0"),
        ({}, [(np.ones((2, 2)), [0.0, 0.0])], "not all 0"),
        ({}, [np.full((2, 2), np.nan)], "not finite"),
        ({}, [(np.ones((2, 2)), [np.nan, 1.0])], "masses that are not finite"),
        ({}, [["a"]], "X[0]"),
        ({"n_quantiles": 0}, [np.ones((2, 2))], "n_quantiles=0"),
        ({"n_centers": -1}, [np.ones((2, 2))], "n_centers=-1"),
        ({"n_centers": 0, "n_directions": 0}, [np.ones((2, 2))], "leave no features"),
    ],
)
def test_what_cannot_be_used_is_refused(changes, objects, words):
    assert_refused(lambda: PointCloudFeatures(**changes).fit(objects), words, "")


@pytest.mark.parametrize(("dimension", "shape"), [(2, (16, 8)), (3, (16, 8)), (4, (64, 16)), (7, (64, 16))])
def test_points_of_many_dimensions_have_more_directions_and_parts(dimension, shape):
    given_clouds = clouds(0, dimension=dimension)
    model = PointCloudFeatures(n_centers=0).fit(given_clouds)
    assert model.directions_.shape == (shape[0], dimension)
    assert model.transform(given_clouds).shape == (3, shape[0] * shape[1])
    assert len(model.get_feature_names_out()) == shape[0] * shape[1]
