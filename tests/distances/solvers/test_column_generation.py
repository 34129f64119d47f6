from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import nnls

from semimetric.distances import Status
from semimetric.distances.solvers import column_generation
from semimetric.distances.solvers.column_generation import generate_columns


@dataclass
class Matrix:
    """Columns of a matrix, with the numbers of those that were asked for."""

    values: np.ndarray
    taken: tuple = ()

    @property
    def n_columns(self):
        return self.values.shape[1]

    def slopes(self, r):
        return r @ self.values

    def take(self, columns):
        self.taken += tuple(columns)
        return self.values[:, columns]


@pytest.fixture
def problem(rng):
    """400 columns of which six make the targets, nearly."""
    A = rng.random((300, 400)) ** 3
    w = np.zeros(400)
    w[rng.permutation(400)[:6]] = rng.uniform(1, 3, 6)
    return Matrix(A), A @ w + 0.05 * rng.normal(size=300), rng.dirichlet(np.ones(300)), w


def by_nnls(A, y, sample, cost):
    """The weights by SciPy: the cost c.w is the square of one more row, up to a constant, for a target far away."""
    root, far = np.sqrt(sample), 1e5
    rows = np.vstack([root[:, None] * A, -cost / far])
    return nnls(rows, np.append(root * y, far), maxiter=10_000)[0]


def objective(A, y, sample, cost, w):
    return float(sample @ (A @ w - y) ** 2) / 2 + float(cost @ w)


@pytest.mark.parametrize("most_exchanges", [100, 0])
@pytest.mark.parametrize("strength", [0.0, 1e-3, 1e-1])
def test_weights_are_those_of_the_whole_program(problem, strength, most_exchanges, monkeypatch):
    """Also where block pivoting has no exchanges, and leaves the program to Newton steps."""
    monkeypatch.setattr(column_generation, "_MOST_EXCHANGES", most_exchanges)
    A, y, sample, _ = problem
    cost = np.full(400, strength)
    found = generate_columns(A, y, sample, cost, tol=1e-8)
    best = objective(A.values, y, sample, cost, by_nnls(A.values, y, sample, cost))
    here = objective(A.values, y, sample, cost, found.weights)
    assert found.status is Status.SOLVED
    assert found.objective == pytest.approx(here, rel=1e-6)
    assert here - best <= max(found.gap, 1e-7 * best)


def test_the_gap_is_certified_wherever_it_stops(problem):
    A, y, sample, _ = problem
    cost = np.full(400, 1e-2)
    best = objective(A.values, y, sample, cost, by_nnls(A.values, y, sample, cost))
    for rounds in range(6):
        found = generate_columns(A, y, sample, cost, tol=1e-9, max_iter=rounds)
        assert found.objective - best <= found.gap + 1e-9
        assert found.n_iter <= rounds


def test_few_columns_are_formed_and_few_have_weight(problem):
    A, y, sample, w = problem
    found = generate_columns(A, y, sample, np.full(400, 0.02))
    assert len(set(A.taken)) < 200
    assert np.count_nonzero(found.weights) < 40
    assert set(np.flatnonzero(w)) <= set(np.flatnonzero(found.weights))


def test_columns_of_infinite_cost_stay_out(problem):
    A, y, sample, w = problem
    cost = np.where(w > 0, np.inf, 0.0)
    found = generate_columns(A, y, sample, cost)
    assert not found.weights[w > 0].any()
    assert found.weights.any()


def test_a_start_is_gone_on_from(problem):
    A, y, sample, _ = problem
    first = generate_columns(A, y, sample, np.full(400, 1e-2), tol=1e-7)
    again = generate_columns(A, y, sample, np.full(400, 1e-2), start=first.weights, tol=1e-6)
    assert again.n_iter == 0
    assert_allclose(again.weights, first.weights, rtol=1e-3, atol=1e-6)


def test_targets_of_zero_have_weights_of_zero(problem):
    A, _, sample, _ = problem
    assert not generate_columns(A, np.zeros(300), sample, np.ones(400)).weights.any()


def test_of_columns_that_resemble_each_other_few_have_a_weight(rng):
    """Differences along 1,000 directions of the plane make a length; the best weights are far fewer than the columns."""
    angle = np.linspace(0, np.pi, 1_000, endpoint=False)
    moves = rng.normal(size=(500, 2))
    A, y = Matrix(np.abs(moves @ [np.cos(angle), np.sin(angle)])), np.linalg.norm(moves, axis=1)
    found = generate_columns(A, y, np.full(500, 1 / 500), np.full(1_000, 1e-4))
    assert found.status is Status.SOLVED
    assert np.count_nonzero(found.weights) < 50
    assert_allclose(A.values @ found.weights, y, rtol=0.05)
