"""Dual descent on embedded rows: its gap is that of the stored rows, and shrinking changes no optimum."""

import tracemalloc
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from linear_machines import LOSSES, PL1, PROBLEMS, TWO, X, Y, small_problem
from reference import linear_objective, problem_dual, problem_losses

from semimetric import ConvergenceWarning, EmbeddedLinearClassifier
from semimetric._kernels.dual_states import ASLEEP
from semimetric.distances import Status
from semimetric.vectors.embeddings.base import IdentityEmbedding
from semimetric.vectors.machines import dual_descent as dual_module
from semimetric.vectors.machines.dual_descent import DualDescent, add_weights_of_dual, relative_gap
from semimetric.vectors.machines.rows import EmbeddedRows, classification_problem, coefficients, decision_values, zero_machine


def start(rows, problem):
    """A zero machine and zero dual variables."""
    n_columns = len(problem.own)
    return zero_machine(rows.embedding, n_columns, 1.5), np.zeros((len(rows), n_columns))


def slow_gap(items, problem, machine, dual):
    """(P - D) / P on stored rows, P at the weights of the machine."""
    rows = np.column_stack([items, np.full(len(items), machine.scaling)])
    W = np.column_stack([coefficients(machine), machine.bias])
    terms, shares = problem_dual(problem, dual)
    V = shares.T @ rows
    primal = problem_losses(problem, rows @ W.T) + 0.5 * (W**2).sum(axis=1)
    dual_value = terms - 0.5 * (V**2).sum(axis=1)
    if problem.joint:
        primal, dual_value = primal.sum(keepdims=True), dual_value.sum(keepdims=True)
    return np.max((primal - dual_value) / primal)


@pytest.mark.parametrize("kind", PROBLEMS)
@given(st.integers(0, 1000), st.integers(1, 6), st.integers(2, 4))
def test_the_gap_and_the_weights_are_those_of_the_dual_variables(kind, seed, max_iter, n_classes):
    items, rows, problem = small_problem(kind, seed, n_classes=n_classes)
    machine, dual = start(rows, problem)
    report = DualDescent(0.0, max_iter, np.random.RandomState(seed)).train(rows, problem, machine, dual)
    assert report.n_iter <= max_iter
    assert report.gap == pytest.approx(slow_gap(items, problem, machine, dual), rel=1e-6, abs=1e-9)
    again = zero_machine(rows.embedding, len(problem.own), 1.5)
    add_weights_of_dual(rows, problem, again, dual)
    np.testing.assert_allclose(again.weights, machine.weights, atol=1e-9)
    np.testing.assert_allclose(again.bias, machine.bias, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["hinge", "squared hinge"])
@given(st.integers(0, 1000), st.integers(5, 12))
@settings(max_examples=15)
def test_columns_that_learn_together_are_as_near_their_optima_as_each_alone(kind, seed, n_classes):
    """Where few of many columns are awake at a row, scores are computed of single columns."""
    items, rows, together = small_problem(kind, seed, n=40, n_classes=n_classes)
    descent = DualDescent(1e-4, 20_000, np.random.RandomState(seed))

    def objectives(problem):
        machine, dual = start(rows, problem)
        assert descent.train(rows, problem, machine, dual).status == Status.SOLVED
        W = np.column_stack([coefficients(machine), machine.bias])
        return problem_losses(problem, np.column_stack([items, np.full(40, machine.scaling)]) @ W.T) + 0.5 * (W**2).sum(axis=1)

    found = objectives(together)
    for c in range(n_classes):
        one = together._replace(
            codes=(together.codes != c).astype(np.int8), own=together.own[c : c + 1], other=together.other[c : c + 1]
        )
        assert found[c] == pytest.approx(objectives(one)[0], rel=2e-4)


def test_a_class_sleeps_at_a_row_where_others_are_awake(monkeypatch):
    """What falls asleep in an epoch keeps its dual variable in the next, whatever the others at its row do."""
    _, rows, problem = small_problem("hinge", n=60, n_classes=6)
    descent, step, kept = dual_module._ShrinkingDescent, dual_module._ShrinkingDescent.step, []

    def run_and_look(self):
        asleep, before = self.state == ASLEEP, self.dual.copy()
        step(self)
        active = np.isin(np.arange(60), self.active)
        kept.append((asleep & active[:, None]).sum())
        assert (self.state[asleep] == ASLEEP).all()
        np.testing.assert_array_equal(self.dual[asleep], before[asleep])

    monkeypatch.setattr(descent, "step", run_and_look)
    machine, dual = start(rows, problem)
    assert DualDescent(1e-6, 20_000, np.random.RandomState(0)).train(rows, problem, machine, dual).status == Status.SOLVED
    assert max(kept) > 20


def without_limits(kernel):
    """A pass in which no dual variable falls asleep."""
    return lambda *arguments: kernel(*arguments[:5], np.full_like(arguments[5], np.inf), *arguments[6:])


@pytest.mark.parametrize("kind", PROBLEMS)
def test_shrinking_leaves_out_rows_and_changes_no_optimum(kind, monkeypatch):
    _, rows, problem = small_problem(kind, n=60)
    descent, visited = dual_module._ShrinkingDescent, []
    step = descent.step

    def run_and_count(self):
        visited.append(len(self.active))
        step(self)

    def scores():
        machine, dual = start(rows, problem)
        report = DualDescent(1e-10, 20_000, np.random.RandomState(0)).train(rows, problem, machine, dual)
        assert (report.status, report.gap <= 1e-10) == (Status.SOLVED, True)
        return decision_values(machine, rows)

    monkeypatch.setattr(descent, "step", run_and_count)
    shrunk = scores()
    assert "squared" in kind or min(visited) < 60  # of squared losses few variables are at a bound
    for name in ("dual_pass", "gap_pass"):
        monkeypatch.setattr(dual_module, name, without_limits(getattr(dual_module, name)))
    visited.clear()
    np.testing.assert_allclose(scores(), shrunk, atol=1e-4)
    assert min(visited) == 60


@given(st.lists(st.tuples(st.floats(0, 10), st.floats(0.1, 10)), min_size=1, max_size=5))
def test_the_relative_gap_is_the_worst_of_the_columns_or_that_of_their_sums(columns):
    gap, dual_value = np.array(columns).T
    assert relative_gap(gap, dual_value, joint=False) == pytest.approx(max(g / (g + d) for g, d in columns))
    total = gap.sum() / (gap + dual_value).sum()
    assert relative_gap(gap, dual_value, joint=True) == pytest.approx(total)


def test_no_gap_is_relative_to_nothing():
    assert relative_gap(np.zeros(2), np.zeros(2), joint=False) == 0.0
    assert relative_gap(np.array([-1e-17]), np.zeros(1), joint=True) == 0.0  # rounding


@pytest.mark.parametrize("passes", [1, 3, 10, 40])
@pytest.mark.parametrize("solver", ["dual", "pegasos"])
@pytest.mark.parametrize("setting", LOSSES, ids=str)
def test_the_gap_bounds_the_distance_to_the_optimum(passes, solver, setting):
    best = EmbeddedLinearClassifier(PL1, tol=1e-7, **setting).fit(X, Y)
    F = best.embedding_.transform(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = EmbeddedLinearClassifier(PL1, solver=solver, max_iter=passes, tol=0.0, **setting).fit(X, Y)
    found = linear_objective(model, F, Y)
    assert 0 < model.duality_gap_ <= 1
    assert linear_objective(best, F, Y) >= (1 - model.duality_gap_) * found - 1e-9
    assert found >= linear_objective(best, F, Y) * (1 - 1e-6)


@pytest.mark.parametrize("n_columns", [1, 4])
def test_learning_holds_four_bytes_a_row_and_one_a_dual_variable_beside_these(n_columns):
    items = np.random.default_rng(0).random((100_000, 2))
    embedding, n_classes = IdentityEmbedding().fit(items), max(2, n_columns)
    codes = (items[:, 0] * n_classes).astype(int)
    problem = classification_problem(codes, None, np.ones(n_classes + 1), squared=True, joint=False)
    assert problem.codes.itemsize == 1
    rows, solver, machine = EmbeddedRows(embedding, items, 1000), DualDescent(1e-9, 1, np.random.RandomState(0)), zero_machine
    for _ in range(2):  # the first compiles
        dual = np.zeros((len(items), n_columns))
        tracemalloc.start()
        assert solver.train(rows, problem, machine(embedding, n_columns, 1.0), dual).n_iter == 1
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert (4 + n_columns) * len(items) <= most < (6 + n_columns) * len(items)


def test_ctrl_c_keeps_the_weights(monkeypatch):
    original, calls = dual_module.dual_pass, iter(range(10**6))

    def interrupted(*arguments):
        if next(calls) == 5:
            raise KeyboardInterrupt
        return original(*arguments)

    monkeypatch.setattr(dual_module, "dual_pass", interrupted)
    model = EmbeddedLinearClassifier(PL1, tol=1e-9)
    interrupts, warns = pytest.raises(KeyboardInterrupt), pytest.warns(ConvergenceWarning, match="only with warm_start=True")
    with interrupts, warns:
        model.fit(X, TWO)
    assert model.status_ == Status.INTERRUPTED
    assert model.score(X, TWO) > 0.8
    assert 0 < model.duality_gap_ <= 1
