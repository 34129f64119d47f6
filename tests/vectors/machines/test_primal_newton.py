"""Newton steps in the weights: the optimum of the written objective, few steps, and a gap that is certified."""

import tracemalloc
import warnings

import numpy as np
import pytest
from cases import assert_refused
from hypothesis import given
from hypothesis import strategies as st
from linear_machines import PL1, TWO, VALUES, X_DIABETES, Ladders, X, Y, small_problem
from numpy.testing import assert_allclose
from reference import linear_objective
from scipy import linalg
from scipy.optimize import nnls
from sklearn.linear_model import Ridge
from sklearn.svm import LinearSVC

from semimetric import (
    BSplineEmbedding,
    ConicEmbedding,
    ConvergenceWarning,
    EmbeddedLinearClassifier,
    EmbeddedLinearRegressor,
    NotSupportedError,
)
from semimetric.distances import Status
from semimetric.vectors.machines import primal_newton as newton_module
from semimetric.vectors.machines.dual_descent import DualDescent
from semimetric.vectors.machines.primal_newton import PrimalNewton
from semimetric.vectors.machines.rows import coefficients, zero_machine


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["squared hinge", "squared epsilon"])
@given(st.integers(0, 1000), st.integers(2, 4))
def test_the_optimum_is_that_of_dual_descent(kind, seed, n_classes):
    _, rows, problem = small_problem(kind, seed, n=30, n_classes=n_classes)
    slow, fast = (zero_machine(rows.embedding, len(problem.own), 1.5) for _ in range(2))
    dual = np.zeros((len(rows), len(problem.own)))
    DualDescent(1e-13, 20_000, np.random.RandomState(0)).train(rows, problem, slow, dual)
    report = PrimalNewton(1e-12, 50).train(rows, problem, fast)
    assert report.status == Status.SOLVED
    assert report.gap <= 1e-12
    assert report.n_iter <= 15
    assert_allclose(coefficients(fast), coefficients(slow), atol=1e-5)
    assert_allclose(fast.bias, slow.bias, atol=1e-5)


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("y", [TWO, Y])
def test_stiff_columns_take_few_steps(C, y):
    """Raw columns of wine, whose lengths differ a thousandfold: LIBLINEAR's optimum, in one step or twenty."""
    model = EmbeddedLinearClassifier("linear", C=C, solver="newton", tol=1e-10).fit(X, y)
    theirs = LinearSVC(C=C, dual=False, tol=1e-9, max_iter=100_000).fit(X, y)
    ours, their = (linear_objective(m, X, y) for m in (model, with_parameters_of(model, theirs)))
    assert ours <= their * (1 + 1e-9)
    assert model.n_iter_ <= 30
    assert model.duality_gap_ <= 1e-10


def with_parameters_of(model, theirs):
    """Their weights, with what the objective asks of ours."""
    theirs.multi_class, theirs.loss, theirs.intercept_scaling = model.multi_class, model.loss, model.intercept_scaling
    return theirs


def hard_margin(rows, bounds):
    """The least |w|² with rows w >= bounds: from the residual r of the nearest point of a cone, w = -r[:-1] / r[-1] (NNLS)."""
    system, corner = np.vstack([rows.T, bounds]), np.append(np.zeros(rows.shape[1]), 1.0)
    residual = system @ nnls(system, corner, maxiter=10_000)[0] - corner
    weights = -residual[:-1] / residual[-1]
    assert (rows @ weights - bounds).min() > -1e-6
    return weights @ weights


def test_without_epsilon_it_is_ridge_regression_in_one_step():
    model = EmbeddedLinearRegressor("linear", C=5.0, fit_intercept=False, solver="newton").fit(X_DIABETES, VALUES)
    assert model.n_iter_ == 1
    assert_allclose(model.coef_, Ridge(alpha=0.1, fit_intercept=False).fit(X_DIABETES, VALUES).coef_, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("embedding", [PL1, Ladders(2), BSplineEmbedding(4, degree=2, dtype=np.float32), ConicEmbedding(2)])
@pytest.mark.parametrize("block_size", [None, 7])
def test_on_sparse_rows_rows_with_a_ladder_and_dense_ones(embedding, block_size, monkeypatch):
    settings = {"class_weight": {0: 2.0, 1: 0.5, 2: 1.0}, "tol": 1e-9, "block_size": block_size}
    items = (X - X.mean(axis=0)) / X.std(axis=0)
    fast = EmbeddedLinearClassifier(embedding, solver="newton", C=0.1, **settings).fit(items, Y)
    slow = EmbeddedLinearClassifier(embedding, C=0.1, max_iter=20_000, **settings).fit(items, Y)
    assert_allclose(fast.decision_function(items), slow.decision_function(items), atol=2e-3)
    monkeypatch.setattr(newton_module, "_DENSE", 2.0)  # second moments entry by entry, or all by products of dense blocks
    sparse = EmbeddedLinearClassifier(embedding, solver="newton", C=0.1, **settings).fit(items, Y)
    monkeypatch.setattr(newton_module, "_DENSE", -1.0)
    dense = EmbeddedLinearClassifier(embedding, solver="newton", C=0.1, **settings).fit(items, Y)
    assert_allclose(sparse.coef_, dense.coef_, atol=1e-5)


def test_rows_of_a_weight_are_rows_that_are_repeated():
    weight = np.arange(len(Y)) % 3
    model = EmbeddedLinearClassifier(PL1, solver="newton", tol=1e-11)
    a = model.fit(X, Y, weight).coef_.copy()
    assert_allclose(model.fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight)).coef_, a, atol=1e-5)


def test_a_warm_start_goes_on_from_the_weights():
    model = EmbeddedLinearClassifier(PL1, solver="newton", warm_start=True, tol=1e-9).fit(X, TWO)
    first, coefficients_before = model.n_iter_, model.coef_.copy()
    assert first > 1
    assert model.fit(X, TWO).n_iter_ <= 1
    assert_allclose(model.coef_, coefficients_before, atol=1e-5)
    assert model.partial_fit(X, TWO).status_ == Status.FINISHED


def test_a_limit_of_steps_is_told():
    with pytest.warns(ConvergenceWarning, match="max_iter=2 steps"):
        model = EmbeddedLinearClassifier(PL1, solver="newton", max_iter=2, C=100.0, tol=1e-9).fit(X, TWO)
    assert (model.n_iter_, model.status_) == (2, Status.LIMIT)
    assert model.duality_gap_ > 1e-9


@pytest.mark.parametrize("dual_equations", [True, False])
def test_rounding_ends_the_descent(dual_equations, monkeypatch):
    """Whatever the tolerance, steps end where the objective falls no more; without the dual equations the gap is not 0."""
    if not dual_equations:
        monkeypatch.setattr(newton_module._WeightColumn, "dual_step", lambda column: False)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        model = EmbeddedLinearClassifier(PL1, solver="newton", tol=0.0).fit(X, TWO)
    assert model.status_ == (Status.INACCURATE if model.duality_gap_ else Status.SOLVED)
    assert model.duality_gap_ or dual_equations
    assert len(warned) == (model.status_ == Status.INACCURATE)
    assert model.n_iter_ < 200
    assert model.duality_gap_ < 1e-12


@pytest.mark.parametrize(("scale", "C"), [(1e6, 1.0), (1.0, 1e11)])
@pytest.mark.parametrize("own", [0, 1, 2])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_the_dual_equations_certify_what_scores_are_too_coarse_for(scale, C, own, fit_intercept):
    """Raw columns of wine, whose margins are all but hard: the optimum of the hard margin, which SciPy finds."""
    model = EmbeddedLinearClassifier("linear", C=C, solver="newton", fit_intercept=fit_intercept).fit(scale * X, Y == own)
    assert model.status_ == Status.SOLVED
    assert model.duality_gap_ <= 1e-4
    signed = np.where(Y == own, 1.0, -1.0)[:, None] * np.c_[X, np.full(len(X), fit_intercept / scale)]
    weights = scale * np.append(model.coef_, model.intercept_)
    assert (signed @ weights).min() > 1 - 1e-6
    assert weights @ weights <= hard_margin(signed, np.ones(len(X))) * (1 + 2e-4)


def test_the_dual_equations_of_regression_keep_their_signs():
    """More columns than rows, and errors that cost so much that they stay at epsilon: the least weights that do."""
    rows, values = X_DIABETES[:7], VALUES[:7]
    model = EmbeddedLinearRegressor("linear", C=1e5, epsilon=0.1, fit_intercept=False, solver="newton").fit(1e6 * rows, values)
    weights = 1e6 * model.coef_
    assert model.status_ == Status.SOLVED
    assert np.abs(rows @ weights - values).max() < 0.1 + 1e-6
    bounds = np.append(values - 0.1, -values - 0.1)
    assert weights @ weights <= hard_margin(np.vstack([rows, -rows]), bounds) * (1 + 2e-4)


def test_where_nothing_helps_the_status_is_rounding():
    """At the default tolerance, with columns so long that all digits of the second moments are lost."""
    with pytest.warns(ConvergenceWarning, match="rounding lets the objective fall no more") as warned:
        model = EmbeddedLinearClassifier("linear", solver="newton").fit(1e9 * X, Y)
    assert model.status_ == Status.INACCURATE
    assert model.n_iter_ < 200
    assert 1e-4 < model.duality_gap_ <= 1.0
    text = str(warned[0].message)
    assert "scale the features" in text
    assert "max_iter" not in text
    assert "passes" not in text
    assert EmbeddedLinearClassifier("linear", solver="newton").fit(X, TWO).status_ == Status.SOLVED


def test_a_step_holds_one_square_besides_the_moments():
    _, rows, problem = small_problem("squared hinge", 0, n=50, d=600)
    column = newton_module._WeightColumn(rows, problem, zero_machine(rows.embedding, len(problem.own), 1.0), 0)
    tracemalloc.start()
    try:
        assert column.step()
        assert tracemalloc.get_traced_memory()[1] < 1.5 * column.moments.nbytes
    finally:
        tracemalloc.stop()
    below = np.tril(column.moments, -1)
    moments = below + below.T + np.diag(np.diag(column.moments))
    assert_allclose(column.gradient, column.weights + moments @ column.weights - column.pull, atol=1e-9)


def test_moments_that_hide_the_ridge_are_solved_by_eigenvalues(monkeypatch):
    def indefinite(matrix, **_):
        raise linalg.LinAlgError("not positive definite")

    want = EmbeddedLinearClassifier(PL1, solver="newton", tol=1e-10).fit(X, TWO).coef_
    monkeypatch.setattr(newton_module.linalg, "cho_factor", indefinite)
    assert_allclose(EmbeddedLinearClassifier(PL1, solver="newton", tol=1e-10).fit(X, TWO).coef_, want, atol=1e-5)


def test_ctrl_c_keeps_the_weights(monkeypatch):
    step, calls = newton_module._WeightColumn.step, iter(range(100))

    def interrupted(self):
        if next(calls) == 2:
            raise KeyboardInterrupt
        return step(self)

    monkeypatch.setattr(newton_module._WeightColumn, "step", interrupted)
    model = EmbeddedLinearClassifier(PL1, solver="newton", C=10.0, tol=1e-9)
    with pytest.warns(ConvergenceWarning, match="interrupted after 2 steps"), pytest.raises(KeyboardInterrupt):
        model.fit(X, TWO)
    assert model.status_ == Status.INTERRUPTED
    assert model.score(X, TWO) > 0.9


def test_what_it_cannot_solve_is_refused(monkeypatch):
    for model in (
        EmbeddedLinearClassifier(solver="newton", loss="hinge"),
        EmbeddedLinearRegressor(solver="newton", loss="epsilon_insensitive"),
    ):
        assert_refused(lambda m=model: m.fit(X, TWO), model.loss, model._losses[0], error=NotSupportedError)
    positive = EmbeddedLinearClassifier(solver="newton", positive=True)
    assert_refused(lambda: positive.fit(X, TWO), "positive=True", 'solver="dual"', error=NotSupportedError)
    huge = ConicEmbedding(2)
    assert_refused(
        lambda: EmbeddedLinearClassifier(huge, solver="newton", C=1e300).fit(X, TWO), "overflow", "scale the features"
    )
    monkeypatch.setattr("semimetric.vectors.machines.base.MOST_COLUMNS", 10)
    many = EmbeddedLinearClassifier("linear", solver="newton")
    assert_refused(lambda: many.fit(X, TWO), "13 columns", 'solver="dual"', error=NotSupportedError)
