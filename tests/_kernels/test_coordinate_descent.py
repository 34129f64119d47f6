"""Steps on the dual against the primal and dual objectives written out with dense matrices."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from semimetric._kernels.coordinate_descent import (  # fmt: skip
    Machine,
    Problem,
    answer_pass,
    dual_pass,
    dual_values,
    gap_pass,
    restore_pass,
    stochastic_pass,
)
from semimetric._kernels.csr_rows import Chunk  # as the package calls them: the compiler's caches name the class
from semimetric._kernels.dual_states import AWAKE

N, F, K = 14, 4, 3
SCALING = 0.7
ROWS = np.arange(N)


def problem_of(kind, rng):
    """Classes one against the rest, all classes of a row at once, or a regression of one column."""
    weights, sample = rng.uniform(0.5, 2.0, (2, K)), rng.uniform(0.5, 2.0, N)
    if kind.startswith("regression"):
        C = np.array([1.3])
        return Problem(np.zeros(N, np.int8), rng.normal(size=N), sample, C, C, 0.1, "squared" in kind, True, False)
    codes = rng.integers(0, K, N).astype(np.int8)
    return Problem(codes, np.ones(1), sample, *weights, 0.0, "squared" in kind, False, kind == "joint")


def empty_machine(n_columns):
    return Machine(np.zeros(F * n_columns), np.zeros(n_columns), SCALING, 0, np.zeros(1, np.int64))


def setting(kind, rng):
    A = np.where(rng.random((N, F)) < 0.7, rng.normal(size=(N, F)), 0.0)
    row, column = np.nonzero(A)
    phi = Chunk(np.searchsorted(row, np.arange(N + 1)), column.astype(np.int32), A[row, column])
    problem = problem_of(kind, rng)
    return phi, np.hstack([A, np.full((N, 1), SCALING)]), problem, empty_machine(len(problem.own) if kind[0] != "r" else 1)


def targets(problem, n_columns):
    """Targets and weights of all rows in all columns, both (n, K)."""
    target = np.broadcast_to(problem.target, N)[:, None]
    belongs = problem.codes[:, None] == np.arange(n_columns)
    return np.where(belongs, target, -target), problem.sample[:, None] * np.where(belongs, problem.own, problem.other)


def losses(problem, scores):
    if problem.joint:
        ahead = scores + 1.0 - scores[ROWS, problem.codes][:, None]
        ahead[ROWS, problem.codes] = 0.0
        return problem.sample * problem.own[problem.codes] * ahead.max(axis=1)
    target, weight = targets(problem, scores.shape[1])
    x = np.maximum(np.abs(target - scores) - problem.epsilon if problem.two_sided else 1.0 - target * scores, 0.0)
    return weight * (x**2 if problem.squared else x)


def dual_terms(problem, dual):
    if problem.joint:
        others = problem.codes[:, None] != np.arange(K)
        return -problem.sample * problem.own[problem.codes] * np.where(others, dual, 0.0).sum(axis=1)
    target, weight = targets(problem, dual.shape[1])
    return weight * (target * dual - problem.epsilon * np.abs(dual) - (0.25 * dual**2 if problem.squared else 0.0))


def weights_of(problem, A, dual):
    """W (F + 1, K), whose last row is the bias, as the sum over the rows of their dual variables."""
    if problem.joint:
        return A.T @ ((problem.sample * problem.own[problem.codes])[:, None] * dual)
    return A.T @ (targets(problem, dual.shape[1])[1] * dual)


def weights_in(machine):
    return np.vstack([machine.weights.reshape(F, -1), machine.bias])


KINDS = ["hinge", "squared hinge", "regression", "regression, squared", "joint"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_pass_raises_the_dual_until_no_gap_is_left(kind, rng):
    phi, A, problem, machine = setting(kind, rng)
    dual, limits, before = np.zeros((N, len(machine.bias))), np.full(len(machine.bias), np.inf), -np.inf
    for _ in range(3000):
        record, state = np.zeros((2, len(machine.bias))), np.full((N, len(machine.bias)), AWAKE, np.int8)
        dual_pass(phi, ROWS, problem, machine, dual, limits, record, state)
        value = dual_terms(problem, dual).sum() - 0.5 * (weights_in(machine) ** 2).sum()
        assert value >= before - 1e-10
        before = value
    W = weights_in(machine)
    assert_allclose(W, weights_of(problem, A, dual), atol=1e-9)
    primal = losses(problem, A @ W).sum() + 0.5 * (W**2).sum()
    assert primal == pytest.approx(before, rel=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_the_gap_is_that_of_the_objectives_and_weights_are_restored(kind, rng):
    phi, A, problem, machine = setting(kind, rng)
    n_columns = len(machine.bias)
    dual, limits = np.zeros((N, n_columns)), np.full(n_columns, np.inf)
    for _ in range(3):
        dual_pass(phi, ROWS, problem, machine, dual, limits, np.zeros((2, n_columns)), np.full((N, n_columns), AWAKE, np.int8))
    W = weights_in(machine)
    record, state, value = np.zeros((2, n_columns)), np.empty((N, n_columns), np.int8), np.empty(n_columns)
    gap_pass(phi, ROWS, problem, machine, dual, limits, record, state)
    dual_values(problem, dual, value)
    assert value.sum() == pytest.approx(dual_terms(problem, dual).sum(), rel=1e-12)
    assert (record[0] >= -1e-12).all()
    assert record[0].sum() == pytest.approx(losses(problem, A @ W).sum() + (W**2).sum() - value.sum(), rel=1e-9)
    again = empty_machine(n_columns)
    restore_pass(phi, ROWS, problem, again, dual)
    assert_allclose(weights_in(again), W, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_the_answer_to_scores_maximises_the_dual_terms(kind, rng):
    """Of Fenchel and Young: with a = -loss'(f) the loss is a's dual term less a f, and no other a has more."""
    phi, A, problem, machine = setting(kind, rng)
    machine.weights[:], machine.bias[:] = rng.normal(size=len(machine.weights)), rng.normal(size=len(machine.bias))
    scores = A @ weights_in(machine)
    answer, record = empty_machine(len(machine.bias)), np.zeros((3, len(machine.bias)))
    answer_pass(phi, ROWS, problem, machine, answer, record)
    assert record[0].sum() == pytest.approx(losses(problem, scores).sum(), rel=1e-12)
    inner = (weights_in(answer) * weights_in(machine)).sum()  # sum of c_i a_i f_i
    assert (record[0] - record[1] + record[2]).sum() == pytest.approx(-inner, rel=1e-9)


@pytest.mark.parametrize("kind", ["squared hinge", "regression, squared", "joint"])
def test_stochastic_steps_come_near_the_optimum(kind, rng):
    phi, A, problem, machine = setting(kind, rng)
    exact, dual = empty_machine(len(machine.bias)), np.zeros((N, len(machine.bias)))
    for _ in range(2000):
        record, state = np.zeros((2, len(machine.bias))), np.full((N, len(machine.bias)), AWAKE, np.int8)
        dual_pass(phi, ROWS, problem, exact, dual, np.full(len(machine.bias), np.inf), record, state)
    clock = np.array([1.0, 0.0, N])
    for _ in range(4000):
        stochastic_pass(phi, ROWS, problem, machine, clock)
    assert clock[1] == 4000 * N
    W, best = clock[0] * weights_in(machine), weights_in(exact)
    objective, least = (losses(problem, A @ V).sum() + 0.5 * (V**2).sum() for V in (W, best))
    assert least <= objective * (1 + 1e-9)
    assert objective <= 1.02 * least
