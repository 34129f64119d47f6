"""Pegasos on embedded rows: the steps of its slow twin, and a gap that bounds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from linear_machines import PL1, PROBLEMS, TWO, X, small_problem
from reference import pegasos_steps, problem_losses

from semimetric import ConvergenceWarning, EmbeddedLinearClassifier
from semimetric.distances import Status
from semimetric.vectors.embeddings.base import IdentityEmbedding
from semimetric.vectors.machines import pegasos as pegasos_module
from semimetric.vectors.machines.dual_descent import DualDescent
from semimetric.vectors.machines.pegasos import Pegasos, StepCounter, bound_gap, run_epoch
from semimetric.vectors.machines.rows import EmbeddedRows, classification_problem, coefficients, zero_machine


@given(st.integers(0, 1000), st.booleans(), st.integers(0, 50), st.integers(1, 40), st.integers(1, 5))
def test_steps_are_those_of_the_slow_twin(seed, squared, n_steps, n_rows, size):
    rng = np.random.default_rng(seed)
    items, codes = rng.normal(size=(9, 3)), rng.integers(0, 2, 9)
    problem = classification_problem(codes, None, np.full(3, 0.8), squared=squared, joint=False)
    rows = EmbeddedRows(IdentityEmbedding().fit(items), items, size)
    machine = zero_machine(rows.embedding, 1, 2.0)
    machine.weights[:], machine.bias[:] = rng.normal(size=3), rng.normal()
    w = np.append(machine.weights, machine.bias)
    order, counter = rng.permutation(9), StepCounter(float(n_steps), float(n_rows))
    run_epoch(rows, order, problem, machine, counter)
    phi = np.column_stack([items, np.full(9, 2.0)])[order]
    expected = pegasos_steps(w, phi, 2 * codes[order] - 1, squared, 0.8, n_steps, n_rows)
    np.testing.assert_allclose(np.append(machine.weights, machine.bias), expected, atol=1e-10)
    assert (counter.n_steps, counter.n_rows) == (n_steps + 9, n_rows)


def values(items, problem, machine):
    """The objective of every column, or of all together if the loss is joint."""
    rows = np.column_stack([items, np.full(len(items), machine.scaling)])
    W = np.column_stack([coefficients(machine), machine.bias])
    value = problem_losses(problem, rows @ W.T) + 0.5 * (W**2).sum(axis=1)
    return value.sum(keepdims=True) if problem.joint else value


@pytest.mark.parametrize("kind", PROBLEMS)
@given(st.integers(0, 1000), st.integers(1, 10))
def test_the_gap_bounds_the_distance_to_the_optimum(kind, seed, max_iter):
    items, rows, problem = small_problem(kind, seed)
    n_columns = len(problem.own)
    machine, best = (zero_machine(rows.embedding, n_columns, 1.0) for _ in range(2))
    report = Pegasos(max_iter, np.random.RandomState(seed)).train(rows, problem, machine, StepCounter(0.0, float(len(rows))))
    assert (report.n_iter, report.status) == (max_iter, Status.FINISHED)
    dual = np.zeros((len(rows), n_columns))
    DualDescent(1e-9, 20_000, np.random.RandomState(0)).train(rows, problem, best, dual)
    found, least = values(items, problem, machine), values(items, problem, best)
    assert (least >= (1 - report.gap) * found - 1e-7).all()
    assert report.gap <= 1 + 1e-12


def test_the_gap_of_a_squared_loss_closes_at_the_optimum():
    _, rows, problem = small_problem("squared hinge")
    machine, dual = zero_machine(rows.embedding, 3, 1.0), np.zeros((len(rows), 3))
    DualDescent(1e-12, 20_000, np.random.RandomState(0)).train(rows, problem, machine, dual)
    assert bound_gap(rows, problem, machine) < 1e-6


def test_weights_of_another_objective_count_as_one_epoch():
    assert StepCounter(50.0, 20.0).after_one_epoch() == StepCounter(20.0, 20.0)
    assert StepCounter(5.0, 20.0).after_one_epoch() == StepCounter(5.0, 20.0)


def test_ctrl_c_keeps_the_weights(monkeypatch):
    original, calls = pegasos_module.stochastic_pass, iter(range(10**6))

    def interrupted(*arguments):
        if next(calls) == 5:
            raise KeyboardInterrupt
        return original(*arguments)

    monkeypatch.setattr(pegasos_module, "stochastic_pass", interrupted)
    model = EmbeddedLinearClassifier(PL1, solver="pegasos")
    interrupts, warns = pytest.raises(KeyboardInterrupt), pytest.warns(ConvergenceWarning, match="only with warm_start=True")
    with interrupts, warns:
        model.fit(X, TWO)
    assert model.status_ == Status.INTERRUPTED
    assert model.score(X, TWO) > 0.8
    assert 0 < model.duality_gap_ <= 1
