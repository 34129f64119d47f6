"""Quadratics over boxes: bounds that are sound at any point, and interior points where the matrix is singular."""

import numpy as np
import pytest

from semimetric.distances.solvers import box_quadratic
from semimetric.distances.solvers.box_quadratic import BoxQuadratic, interior, pivot, solve_regular


def value(box, w):
    return w @ box.H @ w / 2 - box.b @ w


def random_box(rng, n, rank, *, free=0):
    """Distances as data: A, w >= 0, b in the range; some weights free."""
    A = rng.random((rank, n))
    H, b = A.T @ A, A.T @ rng.random(rank) - 0.1 * rng.random() * (rng.random(n) < 0.3)
    lower = np.where(np.arange(n) < free, -np.inf, 0.1 * rng.random(n))
    return BoxQuadratic(H, b, lower, np.full(n, np.inf))


@pytest.mark.parametrize(("n", "rank"), [(6, 12), (6, 6), (20, 6), (40, 5)])
def test_interior_points_solve_singular_systems_to_a_certified_gap(n, rank, rng):
    for _ in range(5):
        box = random_box(rng, n, rank)
        found, multipliers = interior(box, tol=1e-10, max_iter=100)
        assert found.gap <= 1e-10
        assert (found.w >= box.lower).all()
        assert (multipliers >= 0).all()
        assert found.n_iter < 40


@pytest.mark.parametrize(("n", "rank"), [(6, 12), (20, 6)])
def test_the_gap_is_a_bound_at_every_point(n, rank, rng):
    for _ in range(20):
        box = random_box(rng, n, rank)
        best = value(box, interior(box, tol=1e-12, max_iter=100)[0].w)
        for w in (box.lower, box.lower + rng.random(n), box.lower + 1e-3 * rng.random(n)):
            gradient = box.H @ w - box.b
            for step in (None, box.lift(gradient), rng.normal(size=n)):
                assert box.gap(w, gradient, step) >= value(box, w) - best - 1e-11


def test_the_gap_of_coupled_weights_without_an_upper_bound():
    """Each weight alone would gain 1/2; together they gain 100."""
    box = BoxQuadratic(np.array([[1, -0.99], [-0.99, 1]]), np.ones(2), np.zeros(2), np.full(2, np.inf))
    w, gradient = np.zeros(2), -np.ones(2)
    assert box.gap(w, gradient) == pytest.approx(100)
    assert box.gap(w, gradient, box.lift(gradient)) == pytest.approx(100)


def test_free_weights_are_certified_by_the_newton_step_only(rng):
    box = random_box(rng, 8, 20, free=8)
    w = rng.random(8)
    gradient = box.H @ w - box.b
    assert box.gap(w, gradient) == np.inf
    best = value(box, np.linalg.solve(box.H, box.b))
    assert box.gap(w, gradient, box.lift(gradient)) == pytest.approx(value(box, w) - best)


def test_regular_solves_take_their_shift_back(rng):
    A = rng.random((30, 20)) * np.logspace(0, -5, 20)
    x = rng.random(20)
    H = A.T @ A
    assert np.abs(H @ solve_regular(H, H @ x) - H @ x).max() <= 1e-11 * np.abs(H @ x).max()


@pytest.mark.parametrize("n", [1, 5, 40])
def test_pivoting_finds_the_minimum_of_any_regular_box_from_any_guess(n, rng):
    for _ in range(10):
        A, lower = rng.normal(size=(n, n)), rng.normal(size=n)
        box = BoxQuadratic(A.T @ A + 1e-3 * np.eye(n), 10 * rng.normal(size=n), lower, np.full(n, np.inf))
        w = pivot(box, rng.random(n) < 0.5, max_iter=1000)
        slope = box.H @ w - box.b
        assert (w >= lower).all()
        assert (slope >= -1e-8).all()
        assert np.abs(slope[w > lower]).max(initial=0.0) <= 1e-8


def test_pivoting_changes_sides_one_by_one_where_blocks_would_cycle(rng, monkeypatch):
    monkeypatch.setattr("semimetric.distances.solvers.box_quadratic._CHANCES", 0)
    A = rng.normal(size=(12, 12))
    box = BoxQuadratic(A.T @ A + 1e-2 * np.eye(12), rng.normal(size=12), np.zeros(12), np.full(12, np.inf))
    w = pivot(box, np.zeros(12, dtype=bool), max_iter=2000)
    assert (box.H @ w - box.b >= -1e-9).all()


def test_a_step_at_an_exact_solution_stays_there():
    x, z = box_quadratic._step(np.eye(2), np.zeros(2), np.ones(2), np.zeros(2))
    np.testing.assert_allclose([x, z], [np.ones(2), np.zeros(2)])
