"""Where a fit starts from: warm starts, streams of blocks, and dual variables that are brought into their bounds."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from linear_machines import PL1, PROBLEMS, TWO, Ladders, X, small_problem
from reference import linear_objective
from sklearn.base import clone

from semimetric import ConvergenceWarning, EmbeddedLinearClassifier, SemimetricWarning
from semimetric.distances import Status
from semimetric.vectors.machines.dual_descent import DualDescent
from semimetric.vectors.machines.fit import TrainedState, _make_feasible, fit_machine, partial_fit_machine
from semimetric.vectors.machines.pegasos import Pegasos, StepCounter, run_epoch
from semimetric.vectors.machines.rows import zero_machine


def fresh(rows, problem):
    return TrainedState(zero_machine(rows.embedding, len(problem.own), 1.0))


@pytest.mark.parametrize("kind", PROBLEMS)
@given(hnp.arrays(np.float64, (12, 3), elements=st.floats(-4, 4)))
def test_dual_variables_are_brought_into_the_bounds_of_the_loss_and_feasible_ones_are_kept(kind, dual):
    _, _, problem = small_problem(kind)
    _make_feasible(problem, dual)
    if problem.joint:
        own = dual[np.arange(12), problem.codes]
        np.testing.assert_allclose(dual.sum(axis=1), 0.0, atol=1e-12)
        assert (own <= 1 + 1e-12).all()
        assert (np.where(np.arange(3) == problem.codes[:, None], 0.0, dual) <= 0).all()
    elif not problem.squared:
        assert np.abs(dual).max() <= 1
    before = dual.copy()
    _make_feasible(problem, dual)
    np.testing.assert_allclose(dual, before, atol=1e-12)


@pytest.mark.parametrize("kind", PROBLEMS)
def test_a_fit_that_goes_on_from_its_dual_variables_needs_one_epoch(kind):
    _, rows, problem = small_problem(kind)
    solver = DualDescent(1e-6, 20_000, np.random.RandomState(0))
    state = fresh(rows, problem)
    cold = fit_machine(solver, rows, problem, state, keep_dual=True)
    again = state.warm_start(fresh(rows, problem).machine, problem, stochastic=False)
    warm = fit_machine(solver, rows, problem, again, keep_dual=False)
    assert warm.n_iter < max(cold.n_iter, 3)
    assert again.dual is None
    assert state.counter == StepCounter(12.0, 12.0)


def test_dual_variables_of_other_rows_are_not_used():
    _, rows, problem = small_problem("hinge")
    state = fresh(rows, problem)
    fit_machine(DualDescent(1e-3, 100, np.random.RandomState(0)), rows, problem, state, keep_dual=True)
    _, _, longer = small_problem("hinge", n=15)
    with pytest.warns(SemimetricWarning, match="starting afresh"):
        started = state.warm_start(fresh(rows, problem).machine, longer, stochastic=False)
    assert started.dual is None
    assert not started.machine.weights.any()


@given(st.integers(1, 5), st.integers(0, 1000))
def test_a_stream_takes_the_steps_of_pegasos_on_as_many_rows_as_the_root_of_those_seen(n_blocks, seed):
    _, rows, problem = small_problem("hinge", seed)
    state, twin = fresh(rows, problem), fresh(rows, problem).machine
    order = np.random.default_rng(seed).permutation(12)
    for k in range(n_blocks):
        partial_fit_machine(rows, problem, state, order)
        run_epoch(rows, order, problem, twin, StepCounter(12.0 * k, 12.0 * np.sqrt(max(k, 1))))
    np.testing.assert_allclose(state.machine.weights, twin.weights, atol=1e-12)
    assert state.counter == StepCounter(12.0 * n_blocks, 12.0)


def test_what_was_not_solved_is_warned_of_with_its_gap():
    _, rows, problem = small_problem("hinge")
    with pytest.warns(ConvergenceWarning, match=r"max_iter=1 passes: .*\(duality_gap_\); scale the features"):
        fit_machine(DualDescent(0.0, 1, np.random.RandomState(0)), rows, problem, fresh(rows, problem))
    report = fit_machine(Pegasos(2, np.random.RandomState(0)), rows, problem, fresh(rows, problem))
    assert (report.n_iter, report.status) == (2, Status.FINISHED)


def test_a_warm_start_of_pegasos_keeps_to_the_intercept_and_ladder_that_are_asked_for():
    model = EmbeddedLinearClassifier("linear", solver="pegasos", warm_start=True, max_iter=2).fit(X, TWO)
    before = model.intercept_
    rescaled = clone(model).fit(X, TWO).set_params(intercept_scaling=1e-9).fit(X, TWO)
    np.testing.assert_allclose(rescaled.intercept_, before * 2 / 4, rtol=1e-6)  # the weights of two passes fade over two more
    assert before != 0 == model.set_params(fit_intercept=False).fit(X, TWO).intercept_
    difference_operator = (
        EmbeddedLinearClassifier(Ladders(0), solver="pegasos", warm_start=True).fit(X, TWO).set_params(embedding=Ladders(1))
    )
    with pytest.warns(UserWarning, match="starting afresh"):
        difference_operator.fit(X, TWO)
    assert (difference_operator.coef_ == clone(difference_operator).fit(X, TWO).coef_).all()


def test_weights_of_another_objective_count_as_one_pass():
    strong = EmbeddedLinearClassifier(PL1, C=10.0, solver="pegasos", warm_start=True).fit(X, TWO)
    model = pickle.loads(pickle.dumps(strong)).set_params(C=1e-2).fit(X, TWO)
    best = EmbeddedLinearClassifier(PL1, C=1e-2, tol=1e-6).fit(X, TWO)
    F = best.embedding_.transform(X)
    assert linear_objective(model, F, TWO) < 1.2 * linear_objective(best, F, TWO)
    strong.fit(X, TWO)
    assert strong._state.counter.n_steps == 40 * len(X)  # the same objective goes on
    stream = clone(strong)
    for _ in range(3):
        stream.partial_fit(X, TWO, classes=np.unique(TWO))
    assert stream.fit(X, TWO)._state.counter.n_steps == 23 * len(X)  # that of a stream too
