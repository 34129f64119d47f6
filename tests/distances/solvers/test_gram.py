import numpy as np
import pytest
import reference
from learners import made
from scipy import sparse
from scipy.optimize import lsq_linear, nnls

from semimetric import DistanceRegressor
from semimetric.distances import Status
from semimetric.distances.programs.design_matrix import Moments
from semimetric.distances.programs.penalties import Quadratic
from semimetric.distances.solvers.box_quadratic import BoxQuadratic
from semimetric.distances.solvers.gram import Gram, minimise, solve_moments


def nothing(n):
    return Quadratic(sparse.csr_array((n, n)), np.zeros(n))


def moments_of(A, y):
    return Moments(A.T @ A / len(y), A.T @ y / len(y), float(y @ y) / len(y), 1.0)


@pytest.mark.parametrize("shape", [(60, 10), (60, 1), (10, 30), (30, 30)])
def test_agrees_with_nonnegative_least_squares(shape, rng):
    A, y = rng.random(shape), rng.normal(size=shape[0])
    solution = solve_moments(Gram(), moments_of(A, y), nothing(shape[1]), np.zeros(shape[1]))
    assert solution.objective == pytest.approx(nnls(A, y)[1] ** 2 / shape[0] / 2, abs=1e-9)
    assert (solution.weights >= 0).all()
    assert solution.gap <= 1e-8


def test_a_box_of_two_weights_by_exhaustion(rng):
    for _ in range(5):
        B = rng.normal(size=(2, 2))
        H, b, lower = B.T @ B + 0.1 * np.eye(2), rng.normal(size=2), rng.normal(size=2)
        w = minimise(BoxQuadratic(H, b, lower, np.full(2, np.inf)), tol=1e-12, max_iter=50).w

        def value(u, v, H=H, b=b):
            return (x := np.array([u, v])) @ H @ x / 2 - b @ x

        axes = [np.append(low, np.linspace(low, low + 8, 161)) for low in lower]
        assert value(*w) <= reference.smallest(value, *axes) + 1e-9


def test_free_weights_solve_the_normal_equations(rng):
    A, y = rng.normal(size=(50, 6)), rng.normal(size=50)
    solution = solve_moments(Gram(), moments_of(A, y), nothing(6), np.full(6, -np.inf))
    np.testing.assert_allclose(solution.weights, np.linalg.lstsq(A, y, rcond=None)[0], atol=1e-8)
    assert solution.gap <= 1e-9


def test_a_singular_system_is_solved(rng):
    A = rng.random((40, 5))
    A = np.hstack([A, A, np.zeros((40, 2))])
    y = A[:, :5] @ np.arange(5.0)
    solution = solve_moments(Gram(), moments_of(A, y), nothing(12), np.zeros(12))
    np.testing.assert_allclose(A @ solution.weights, y, atol=1e-5)


def test_a_warm_start_ends_where_a_cold_one_does(rng):
    A, y = rng.random((60, 8)), rng.random(60)
    cold = solve_moments(Gram(), moments_of(A, y), nothing(8), np.full(8, 0.01))
    warm = solve_moments(Gram(), moments_of(A, y), nothing(8), np.full(8, 0.01), start=cold.weights + 0.1)
    np.testing.assert_allclose(warm.weights, cold.weights, atol=1e-6)


def singular(penalty, groups="pairs"):
    """More weights than pairs say anything about: knots of no two features alike, no penalty that holds them."""
    rng = np.random.default_rng(0)
    items, index = rng.random((60, 3)), rng.integers(0, 60, (400, 2))
    other = np.random.default_rng(2)
    slopes = other.random(3) * 5
    knots = [np.unique(np.append([0, 1], other.random(other.integers(1, 5)))) for _ in range(3)]
    y = np.abs(items[index[:, 0]] - items[index[:, 1]]) @ slopes
    options = {"knots": knots, "groups": groups, "penalty": penalty, "alpha": 1e-3, "delta": 0.0, "preprocessor": items}
    return options, index, y


def test_weighted_l1_is_recovered_without_a_penalty():
    options, index, y = singular(None)
    model = made(DistanceRegressor, **options).fit(index, y)
    assert model.solution_.status is Status.SOLVED
    assert model.solution_.gap <= 1e-6
    np.testing.assert_allclose(model.predict(index), y, atol=1e-3)


def test_the_lasso_alone_is_solved_where_pairs_leave_weights_undetermined():
    options, index, y = singular("lasso")
    mine, other = (made(DistanceRegressor, **options, solver=s).fit(index, y).solution_ for s in ("gram", "interior_point"))
    assert mine.status is Status.SOLVED
    assert mine.objective == pytest.approx(other.objective, rel=1e-5)
    assert mine.objective - mine.gap <= other.objective


def test_free_and_bounded_weights_together(rng):
    A = rng.random((60, 9))
    A = np.hstack([A, A[:, :3]])
    y = A @ rng.normal(size=12)
    lower = np.where(np.arange(12) < 6, -np.inf, 0.0)
    solution = solve_moments(Gram(), moments_of(A, y), nothing(12), lower)
    best = lsq_linear(A, y, (lower, np.inf), tol=1e-14)
    assert solution.objective == pytest.approx(best.cost / 60, abs=1e-8)
    assert solution.status is Status.UNCERTIFIED  # a free weight and a bounded one have the same column
    assert np.isinf(solution.gap)


def test_bounds_above_the_data_are_still_certified(rng):
    """At the bounds the objective is larger than at 0, so what is reached there limits the weights."""
    A = rng.random((30, 4))
    solution = solve_moments(Gram(max_iter=0), moments_of(A, np.full(30, 0.1)), nothing(4), np.full(4, 5.0))
    best = solve_moments(Gram(), moments_of(A, np.full(30, 0.1)), nothing(4), np.full(4, 5.0))
    assert solution.objective - solution.gap <= best.objective
