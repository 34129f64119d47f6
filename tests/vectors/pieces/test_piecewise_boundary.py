"""Pieces of a boundary against slow twins, and the machines that replace their planes."""

import dataclasses

import numpy as np
import pytest
from cases import assert_refused
from hypothesis import given
from hypothesis import strategies as st
from mixtures import draw_planes, prior_of
from scipy.stats import norm
from sklearn.svm import LinearSVC

from semimetric import StorageError
from semimetric.vectors.pieces.boundary_points import Boundary
from semimetric.vectors.pieces.mixture_prior import Units
from semimetric.vectors.pieces.piecewise_boundary import Pieces, with_support_vector_machines


def made(seed, m=8, d=2, k=3):
    """Random pieces, the boundary and the planes that they come from, the labels of its points, and its units."""
    rng = np.random.default_rng(seed)
    points, directions = 5 + 3 * rng.normal(size=(m, d)), rng.normal(size=(m, d))
    boundary = Boundary(points, directions, np.zeros((m, 2), np.int64), rng.integers(1, 4, m), np.arange(m))
    planes, labels, units = draw_planes(prior_of(d), k, d, rng), rng.integers(0, k, m), Units.of(points, directions)
    return Pieces.of(boundary, planes, labels, units), boundary, planes, labels, units


def test_pieces_that_a_file_may_hold_wrongly_are_refused():
    pieces = made(0)[0]
    pieces.check(2)
    wrong = {"directions": 0 * pieces.directions, "normals": 2 * pieces.normals, "steepness": -pieces.steepness}
    wrong |= {"components": pieces.components + 1}
    for name, array in wrong.items():
        broken = dataclasses.replace(pieces, **{name: array})
        assert_refused(lambda broken=broken: broken.check(2), "not made of points and planes", "restore the file")
    broken = dataclasses.replace(pieces, centres=pieces.centres + np.nan)
    assert_refused(
        lambda: broken.check(2), "centres' holds NaN", "finite numbers are required", "restore the file", StorageError
    )


@given(st.integers(0, 1000), st.integers(1, 4))
def test_planes_are_those_of_the_mixture_in_the_units_of_the_items(seed, d):
    pieces, boundary, planes, labels, units = made(seed, d=d)
    used = np.unique(labels)
    assert pieces.n_components == len(used)  # those without points are left out
    assert np.array_equal(used[pieces.components], labels)
    X = np.random.default_rng(seed).normal(size=(5, d)) * 4
    for j, component in enumerate(used):
        w = planes.w[component]
        in_units = ((X - units.center) / units.sigma - planes.mu[component]) @ w / np.linalg.norm(w)
        height = (X - pieces.centres[j]) @ pieces.normals[j] / units.sigma
        np.testing.assert_allclose(np.abs(height), np.abs(in_units), rtol=1e-6, atol=1e-9)
        mine = labels == component
        assert (boundary.counts[mine] @ boundary.directions[mine]) @ pieces.normals[j] >= -1e-9
        assert pieces.steepness[j] == pytest.approx(np.sqrt(planes.lam[component] + w @ w) / units.sigma)


@given(st.integers(0, 1000))
def test_an_item_takes_the_plane_of_its_nearest_boundary_point(seed):
    pieces, boundary, *_ = made(seed)
    X = np.random.default_rng(seed).normal(size=(20, 2)) * 4 + 5
    nearest = ((X[:, None] - boundary.points) ** 2).sum(axis=2).argmin(axis=1)
    own = pieces.components[nearest]
    assert np.array_equal(pieces.of_items(X), own)
    height = [(x - pieces.centres[j]) @ pieces.normals[j] for x, j in zip(X, own, strict=True)]
    np.testing.assert_allclose(pieces.decision(X), height)
    np.testing.assert_allclose(pieces.probability(X), norm.cdf(height * pieces.steepness[own]))


def test_machines_are_trained_on_the_items_of_their_piece():
    pieces, *_ = made(3)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2)) * 4 + 5
    piece = pieces.of_items(X)
    positive = X[:, 0] + rng.normal(size=200) > 5
    positive[piece == 0] = True
    found = with_support_vector_machines(pieces, X, positive, 10.0)
    assert np.array_equal(found.centres[0], pieces.centres[0])  # of one class
    assert np.array_equal(found.normals[0], pieces.normals[0])
    mean, unit = X.mean(axis=0), np.abs(X - X.mean(axis=0)).max()
    for j in range(1, pieces.n_components):
        inside = piece == j
        machine = LinearSVC(C=10.0, dual="auto", max_iter=20_000, random_state=0)
        machine.fit((X[inside] - mean) / unit, positive[inside])
        expected = unit * machine.decision_function((X - mean) / unit) / np.linalg.norm(machine.coef_)
        np.testing.assert_allclose((X - found.centres[j]) @ found.normals[j], expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("factor", [2.0**-60, 2.0**200])
def test_no_unit_is_too_small_or_too_large(factor):
    pieces, boundary, *_ = made(1)
    X = np.random.default_rng(1).normal(size=(20, 2)) * 4 + 5
    scaled = Pieces(boundary.points * factor, boundary.directions * factor, pieces.components, pieces.centres * factor,
                    pieces.normals, pieces.steepness / factor)  # fmt: skip
    assert np.array_equal(scaled.of_items(X * factor), pieces.of_items(X))
    np.testing.assert_allclose(scaled.decision(X * factor) / factor, pieces.decision(X))


@pytest.mark.parametrize("unit", [1.0, 1e-300])
@pytest.mark.parametrize("far", [1e150, 1.7e308])
def test_items_so_far_out_that_their_squares_overflow_have_the_piece_of_items_far_out(unit, far):
    pieces = made(3)[0]
    X = np.array([[far, 0.0], [-far, far], [0.0, -far]])
    near = pieces.of_items(X / far * 1e100)
    small = dataclasses.replace(pieces, boundary_points=pieces.boundary_points * unit)
    assert np.array_equal(small.of_items(X), near)
