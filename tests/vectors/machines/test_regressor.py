"""Linear regression that embeds on the fly has the optimum of scikit-learn's on the stored embedding."""

import numpy as np
import pytest
from cases import assert_refused
from linear_machines import PL1, VALUES, WEIGHT, X_DIABETES, X, Y
from reference import linear_objective
from sklearn.svm import LinearSVR

import semimetric
from semimetric import ConvergenceWarning, EmbeddedLinearRegressor, InputError
from semimetric.distances import Status

R = EmbeddedLinearRegressor


@pytest.mark.filterwarnings("ignore:Liblinear failed")
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_the_optimum_of_linear_svr(loss, epsilon):
    model = EmbeddedLinearRegressor(PL1, C=0.1, loss=loss, epsilon=epsilon, tol=1e-6, intercept_scaling=2.0, max_iter=20_000)
    model.fit(X_DIABETES, VALUES)
    F = model.embedding_.transform(X_DIABETES)
    setting = {"loss": loss, "epsilon": epsilon, "intercept_scaling": 2.0, "dual": True, "tol": 1e-7, "max_iter": 100_000}
    about_mean = VALUES - model.offset_
    assert model.offset_ == VALUES.mean()
    stored = LinearSVR(C=0.1, **setting).fit(F, about_mean)
    assert linear_objective(model, F, VALUES) == pytest.approx(linear_objective(stored, F, about_mean), rel=1e-5)
    np.testing.assert_allclose(model.predict(X_DIABETES), F @ model.coef_ + model.intercept_, atol=1e-12)


def test_squared_loss_without_epsilon_is_ridge_regression():
    model = EmbeddedLinearRegressor(PL1, C=2.0, tol=1e-12).fit(X_DIABETES, VALUES)
    F = np.column_stack([model.embedding_.transform(X_DIABETES).toarray(), np.ones(len(VALUES))])
    ridge = np.linalg.solve(F.T @ F + np.eye(F.shape[1]) / 4.0, F.T @ (VALUES - VALUES.mean()))
    ridge[-1] += VALUES.mean()
    np.testing.assert_allclose(np.append(model.coef_, model.intercept_), ridge, atol=1e-5)


@pytest.mark.parametrize("setting", [{}, {"solver": "newton"}, {"loss": "epsilon_insensitive"}, {"solver": "pegasos"}])
def test_values_far_from_0_are_learned_as_those_about_it(setting, tmp_path):
    near = EmbeddedLinearRegressor(PL1, **setting).fit(X_DIABETES, VALUES)
    far = EmbeddedLinearRegressor(PL1, **setting).fit(X_DIABETES, 2_020.0 + VALUES)
    np.testing.assert_allclose(far.predict(X_DIABETES), 2_020.0 + near.predict(X_DIABETES), rtol=1e-6)
    far.save(tmp_path / "far.smm")
    np.testing.assert_array_equal(semimetric.load(tmp_path / "far.smm").predict(X_DIABETES), far.predict(X_DIABETES))
    del far.offset_
    far.save(tmp_path / "earlier.smm")  # as versions without an offset did
    assert semimetric.load(tmp_path / "earlier.smm").partial_fit(X_DIABETES, VALUES).offset_ == 0.0
    through_origin = EmbeddedLinearRegressor(PL1, fit_intercept=False, **setting).fit(X_DIABETES, 2_020.0 + VALUES)
    assert (through_origin.offset_, through_origin.intercept_[0]) == (0.0, 0.0)


def test_weights_of_rows_are_repetitions():
    rows = np.repeat(np.arange(len(Y)), WEIGHT.astype(int))
    weighted = R(PL1, tol=1e-10, max_iter=20_000).fit(X, X[:, 0], WEIGHT)
    repeated = R(weighted.embedding_, tol=1e-10, max_iter=20_000).fit(X[rows], X[rows, 0])
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-3)


def test_a_stream_of_blocks_learns():
    line = R("linear")
    for _ in range(90):
        line.partial_fit(X[:, :1] / 10, X[:, 0] / 10)
    assert line.score(X[:, :1] / 10, X[:, 0] / 10) > 0.9
    assert (line.n_iter_, line.status_) == (90, Status.FINISHED)
    assert np.isnan(line.duality_gap_)


def test_a_limit_of_passes_is_said_with_the_gap():
    with pytest.warns(ConvergenceWarning, match="max_iter=2 passes"):
        EmbeddedLinearRegressor(max_iter=2, tol=1e-9).fit(X_DIABETES, VALUES)


BAD = {
    "threads of a stream": (lambda: R(n_jobs=0.5).partial_fit(X, Y), "n_jobs=0.5", "is required"),
    "epsilon": (lambda: R(epsilon=-1).fit(X, Y), "epsilon=-1", "must be >= 0"),
    "no targets": (lambda: R().fit(X, None), "y is None", "requires y", "give a value"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_in_three_parts(name):
    assert isinstance(assert_refused(*BAD[name]), InputError)
