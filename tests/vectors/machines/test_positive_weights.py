"""Weights that must not be negative, against SciPy's bounded solver on the stored rows."""

import numpy as np
import pytest
from cases import assert_refused
from scipy.optimize import minimize, nnls
from scipy.sparse import issparse

from semimetric import (
    BSplineEmbedding,
    ConicEmbedding,
    EmbeddedLinearClassifier,
    EmbeddedLinearRegressor,
    NotSupportedError,
    PL1Embedding,
)
from semimetric.persistence import load


@pytest.fixture
def items(rng):
    return rng.normal(size=(80, 3))


def bounded_minimum(phi, loss, bounded):
    """min |w|² / 2 + sum of loss(phi w) over w, with w >= 0 where ``bounded`` says so: the weights by L-BFGS-B."""

    def objective(w):
        value, slope = loss(phi @ w)
        return w @ w / 2 + value, w + phi.T @ slope

    bounds = [(0, None) if b else (None, None) for b in bounded]
    found = minimize(objective, np.zeros(phi.shape[1]), jac=True, bounds=bounds, method="L-BFGS-B",
                     options={"maxiter": 20_000, "maxfun": 40_000, "ftol": 1e-15, "gtol": 1e-10})  # fmt: skip
    return found.x


def hinge(y, C):
    def loss(f):
        slack = np.maximum(1 - y * f, 0)
        return C * (slack**2).sum(), -2 * C * y * slack

    return loss


@pytest.mark.parametrize(
    "embedding",
    ["linear", PL1Embedding(4), ConicEmbedding(), BSplineEmbedding(5), BSplineEmbedding(4, degree=2, penalty_order=2)],
)
@pytest.mark.parametrize("positive", [True, [0, 2]])
def test_the_classifier_is_the_bounded_optimum(items, rng, embedding, positive):
    y = np.where(items[:, 0] - items[:, 1] + 0.5 * rng.normal(size=80) > 0, 1, -1)
    if positive is not True and isinstance(embedding, ConicEmbedding):
        pytest.skip("its columns depend on all features together")
    model = EmbeddedLinearClassifier(embedding, C=0.5, positive=positive, tol=1e-9, max_iter=20_000).fit(items, y)
    phi = model.embedding_.transform(items)
    phi = phi.toarray() if issparse(phi) else phi
    terms = model.embedding_.terms_
    bounded = np.concatenate([np.full(t.stop - t.start, positive is True or t.features[0] in positive) for t in terms])
    w = bounded_minimum(np.column_stack([phi, np.ones(80)]), hinge(y, 0.5), [*bounded, False])
    assert np.allclose(model.coef_[0], w[:-1], atol=2e-4)
    assert model.intercept_[0] == pytest.approx(w[-1], abs=2e-4)
    assert (model.coef_[0][bounded] >= 0).all()
    if positive is True:
        assert (model.coef_[0] == 0).any()
    assert model.duality_gap_ < 1e-9


def test_the_regressor_is_nonnegative_least_squares(items, rng):
    y = items @ [1.0, -1.0, 0.3] + 0.1 * rng.normal(size=80)
    C = 1.0
    model = EmbeddedLinearRegressor("linear", C=C, positive=True, fit_intercept=False, tol=1e-10, max_iter=20_000).fit(items, y)
    ridge = np.vstack([items * np.sqrt(2 * C), np.eye(3)])
    expected, _ = nnls(ridge, np.concatenate([y * np.sqrt(2 * C), np.zeros(3)]))
    assert np.allclose(model.coef_, expected, atol=1e-5)
    assert model.coef_[1] == 0


def test_features_are_named_and_classes_each_have_their_weights(items, rng):
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame(items, columns=["a", "b", "c"])
    y = rng.integers(0, 3, 80)
    model = EmbeddedLinearClassifier("linear", positive=["b"]).fit(X, y)
    assert (model.coef_[:, 1] >= 0).all()
    assert (model.coef_[:, [0, 2]] < 0).any()
    assert np.array_equal(model.coef_, EmbeddedLinearClassifier("linear", positive=[1]).fit(X, y).coef_)


def test_a_weighted_norm_grows_with_every_feature(rng):
    """With anchors at 0 and weights >= 0, the score is a norm of the distance from there, up to sign and the intercept."""
    X = rng.normal(size=(300, 2))
    y = np.abs(X[:, 0]) + 0.5 * np.abs(X[:, 1]) > 1
    model = EmbeddedLinearClassifier(ConicEmbedding(p=1, anchors=[[0.0, 0.0]]), positive=True).fit(X, y)
    assert (model.coef_[0][2:] >= 0).all()
    assert model.score(X, y) > 0.8


def test_warm_start_and_saving_keep_the_bounds(items, rng, tmp_path):
    y = rng.random(80) < 0.5
    cold = EmbeddedLinearClassifier(PL1Embedding(3), positive=True, tol=1e-8, max_iter=9999).fit(items, y)
    warm = EmbeddedLinearClassifier(PL1Embedding(3), positive=True, tol=1e-8, max_iter=9999, warm_start=True, C=0.1).fit(
        items, y
    )
    warm.set_params(C=1.0).fit(items, y)
    assert np.allclose(warm.coef_, cold.coef_, atol=1e-3)
    cold.save(tmp_path / "machine.smm")
    assert np.array_equal(load(tmp_path / "machine.smm").coef_, cold.coef_)


def test_what_cannot_be_bounded_is_refused(items):
    y = items[:, 0] > 0

    def refused(given, required, embedding="linear", **parameters):
        assert_refused(
            lambda: EmbeddedLinearClassifier(embedding, positive=True, **parameters).fit(items, y), given, required, "give",
            error=NotSupportedError,
        )  # fmt: skip

    refused("positive=True", 'solver="dual"', solver="pegasos")
    refused("crammer_singer", "ovr", loss="hinge", multi_class="crammer_singer")
    with pytest.raises(NotSupportedError, match="partial_fit cannot"):
        EmbeddedLinearRegressor(positive=True).partial_fit(items, items[:, 0])
    with pytest.raises(ValueError, match="positive"):
        EmbeddedLinearRegressor("linear", positive=[7]).fit(items, items[:, 0])


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_differences_that_are_not_negative_make_functions_that_never_fall(rng, degree):
    X = rng.uniform(-1, 1, (300, 2))
    y = np.sin(2 * X[:, 0]) - X[:, 1] ** 2 + 0.1 * rng.normal(size=300)  # the second falls on one half, where it stays level
    embedding = BSplineEmbedding(8, degree=degree)
    model = EmbeddedLinearRegressor(embedding, C=10, positive=True, tol=1e-8, max_iter=20_000).fit(X, y)
    places = np.linspace(-1, 1, 101)
    for k in range(2):
        at = np.zeros((101, 2))
        at[:, k] = places
        assert (np.diff(model.predict(at)) >= -1e-12).all()
    one = EmbeddedLinearRegressor(embedding, C=10, positive=[0], tol=1e-8, max_iter=20_000).fit(X, y)
    falling = one.predict(np.column_stack([np.zeros(101), places]))
    assert np.diff(falling).min() < -1e-3
    assert ((one.predict(X) - y) ** 2).mean() < ((model.predict(X) - y) ** 2).mean()
