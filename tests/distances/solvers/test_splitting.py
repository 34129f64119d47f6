"""Least squares under inequalities, by either kind of linear algebra, against CVXPY."""

from dataclasses import replace

import cases
import numpy as np
import pytest
from cases import assert_refused
from scipy import sparse

from semimetric import Gram, NotSupportedError, Reference, Splitting
from semimetric.distances import Status
from semimetric.distances.programs.inequalities import Inequalities
from semimetric.distances.solvers import splitting


def bounded_program(seed=0, n_rows=12, penalty="mixed"):
    """A program with random inequalities, most of which the minimum without them violates."""
    program = cases.program(cases.PENALTIES[penalty])
    rng = np.random.default_rng(seed)
    n = len(program.lower)
    G = sparse.csr_array(rng.normal(size=(n_rows, n)) * (rng.random((n_rows, n)) < 0.4))
    inside = program.lower + rng.random(n)
    return replace(program, inequalities=Inequalities(G, G @ inside - 0.05), inside=inside)


def either_system(monkeypatch, dense):
    monkeypatch.setattr(splitting, "_DENSE", 10**6 if dense else 0)


@pytest.mark.parametrize("dense", [True, False], ids=["Cholesky", "conjugate gradients"])
@pytest.mark.parametrize("seed", range(3))
def test_agrees_with_cvxpy(seed, dense, monkeypatch):
    either_system(monkeypatch, dense)
    program = bounded_program(seed)
    reference = Reference().solve(program)
    solution = Splitting(tol=1e-6, max_iter=20_000).solve(program)
    scale = max(reference.objective, 1e-3)
    assert solution.status is Status.SOLVED
    assert program.inequalities.excess(solution.weights) <= 1e-12
    assert (solution.weights >= program.lower - 1e-15).all()
    assert solution.objective == pytest.approx(program.objective(solution.weights), rel=1e-9)
    assert solution.objective == pytest.approx(reference.objective, abs=2e-6 * scale)
    assert solution.objective - solution.gap <= reference.objective + 1e-7 * scale


@pytest.mark.parametrize("dense", [True, False], ids=["Cholesky", "conjugate gradients"])
def test_without_inequalities_it_is_least_squares(dense, monkeypatch):
    either_system(monkeypatch, dense)
    program = cases.program(cases.PENALTIES["ridge"])
    exact = Gram().solve(program)
    solution = Splitting(tol=1e-7, max_iter=20_000).solve(program)
    assert solution.objective == pytest.approx(exact.objective, rel=1e-6)
    assert solution.repair is None


@pytest.mark.parametrize("dense", [True, False], ids=["Cholesky", "conjugate gradients"])
@pytest.mark.parametrize("max_iter", [0, 1, 30])
def test_a_bound_is_sound_however_few_the_iterations(max_iter, dense, monkeypatch):
    either_system(monkeypatch, dense)
    program = bounded_program()
    best = Reference().solve(program).objective
    with pytest.warns(UserWarning, match="stopped at the limit"):
        solution = Splitting(tol=0.0, max_iter=max_iter).solve(program)
    assert solution.status is Status.LIMIT
    assert solution.n_iter == max_iter
    assert solution.objective - solution.gap <= best * (1 + 1e-7)
    assert program.inequalities.excess(solution.weights) <= 1e-12


def test_starts_at_given_weights():
    program = bounded_program()
    best = Splitting(tol=1e-8, max_iter=20_000).solve(program)
    cold = Splitting(tol=1e-4).solve(program)
    warm = Splitting(tol=1e-4).solve(program, start=best.weights)
    assert warm.n_iter <= cold.n_iter
    assert warm.objective == pytest.approx(best.objective, rel=1e-3)


def test_columns_that_nothing_connects_are_factored_apart():
    """The sets are those of the graph whose edges are the entries of P and the rows of G."""
    P = sparse.csr_array((np.ones(4), ([0, 1, 2, 3], [1, 0, 2, 3])), shape=(6, 6))
    G = sparse.csr_array(np.array([[0, 0, 1.0, 0, 1.0, 0]]))
    sets = splitting._components(P, Inequalities.homogeneous(G))
    assert {tuple(part.tolist()) for part in sets} == {(0, 1), (2, 4), (3,), (5,)}
    assert {tuple(part.tolist()) for part in splitting._components(P, None)} == {(0, 1), (2,), (3,), (4,), (5,)}


@pytest.mark.parametrize("loss", ["absolute", "huber"])
def test_refuses_other_losses(loss):
    program = cases.program(cases.PENALTIES["ridge"], loss=loss)
    assert_refused(
        lambda: Splitting().solve(program), f"{loss.title()} is not a squared loss", "", "InteriorPoint", NotSupportedError
    )


def test_refuses_inequalities_without_known_weights():
    program = replace(bounded_program(), inside=None)
    assert_refused(lambda: Splitting().solve(program), "no weights are known", "inside", "Reference", NotSupportedError)


@pytest.mark.parametrize("dense", [True, False], ids=["Cholesky", "conjugate gradients"])
@pytest.mark.parametrize("after", [0, 7, 45])
def test_ctrl_c_leaves_the_best_weights_and_a_sound_bound(after, dense, monkeypatch):
    """Interrupted within an iteration, between two certificates of the gap: the last iterate is certified too."""
    either_system(monkeypatch, dense)
    program = bounded_program()
    reference = Reference().solve(program)
    step, calls = splitting._AdmmRun.step, iter(range(10**6))

    def interrupted(run):
        if next(calls) == after:
            raise KeyboardInterrupt
        step(run)

    monkeypatch.setattr(splitting._AdmmRun, "step", interrupted)
    with pytest.warns(UserWarning, match="interrupted by the user"):
        solution = Splitting(tol=1e-15).solve(program)
    assert solution.status is Status.INTERRUPTED
    assert solution.n_iter == after
    assert program.inequalities.excess(solution.weights) <= 1e-12
    assert (solution.weights >= program.lower - 1e-15).all()
    assert solution.objective == pytest.approx(program.objective(solution.weights), rel=1e-9)
    assert solution.objective >= reference.objective * (1 - 1e-7)
    assert solution.objective - solution.gap <= reference.objective * (1 + 1e-7)
    if after:
        assert solution.gap < np.inf
    monkeypatch.setattr(splitting._AdmmRun, "step", step)
    with pytest.warns(UserWarning, match="max_iter"):
        limited = Splitting(tol=1e-15, max_iter=after).solve(program)
    np.testing.assert_array_equal(limited.weights, solution.weights)
