import numpy as np
import pytest
from cases import assert_refused
from numpy.testing import assert_allclose
from reference import eilers_marx_fit
from sklearn.linear_model import Ridge
from sklearn.svm import LinearSVC

from semimetric import BSplineEmbedding, EmbeddedLinearRegressor
from semimetric.vectors.embeddings.splines import difference_basis

DEGREES = pytest.mark.parametrize("degree", [1, 2, 3])
ORDERS = pytest.mark.parametrize("order", [1, 2, 3, 4])


def smooth(rng, n=150):
    X = rng.random((n, 2))
    return X, np.sin(6 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.normal(size=n)


def fitted_by_ridge(embedding, X, y, alpha):
    """Values of least squares with a ridge on phi and a free intercept."""
    phi = embedding.fit_transform(X).toarray()
    return Ridge(alpha=alpha, solver="svd").fit(phi, y).predict(phi)


def polynomials(X, degree):
    """The values of all polynomials of single features, up to this degree."""
    return np.hstack([np.ones((len(X), 1)), *(X**k for k in range(1, degree + 1))])


@DEGREES
@ORDERS
@pytest.mark.parametrize("norm", ["kernel", "unity"])
def test_a_ridge_is_the_penalty_of_eilers_and_marx(rng, degree, order, norm):
    """Their normal equations, written out; what the ridge of polynomials changes falls as that ridge, and is 0 for order 1."""
    X, y = smooth(rng)
    plain = BSplineEmbedding(7, degree=degree, penalty_order=0, norm=norm).fit(X)
    widths = [term.stop - term.start for term in plain.terms_]
    want = eilers_marx_fit(plain.transform(X).toarray(), widths, order, y, 0.3)
    errors = [
        np.abs(fitted_by_ridge(plain.set_params(penalty_order=order, null_space_ridge=r), X, y, 0.3) - want).max()
        for r in (1e-2, 1e-4)
    ]
    if order == 1:
        assert max(errors) < 1e-12
    else:
        assert 1e-9 < errors[1] < 0.02 * errors[0] < 1e-3


@DEGREES
def test_without_bends_a_straight_line_is_left(rng, degree):
    """However heavy the penalty, order d keeps polynomials of a degree below d; the regular D of Maji loses them."""
    X, y = smooth(rng)
    for order in range(1, degree + 2):
        free = BSplineEmbedding(8, degree=degree, penalty_order=order, null_space_ridge=1e-12)
        values = polynomials(X, order - 1)
        line = values @ np.linalg.lstsq(values, y, rcond=None)[0]
        assert_allclose(fitted_by_ridge(free, X, y, 1e7), line, atol=1e-3)
    regular = BSplineEmbedding(8, degree=degree, penalty_order=degree + 1)
    assert_allclose(fitted_by_ridge(regular, X, y, 1e9), y.mean(), atol=1e-3)


@pytest.mark.parametrize("order", [2, 3, 4])
def test_the_direction_of_a_feature_does_not_matter(rng, order):
    X, y = smooth(rng)
    free = BSplineEmbedding(6, degree=2, penalty_order=order, null_space_ridge=0.1)
    assert_allclose(fitted_by_ridge(free, -X, y, 1.0), fitted_by_ridge(free, X, y, 1.0), atol=1e-10)
    regular = BSplineEmbedding(6, degree=2, penalty_order=order)
    assert np.abs(fitted_by_ridge(regular, -X, y, 1.0) - fitted_by_ridge(regular, X, y, 1.0)).max() > 1e-3


@pytest.mark.parametrize("knots", ["uniform", "quantile"])
def test_with_a_free_intercept_order_one_is_the_same_under_both(rng, knots):
    """The first column of the regular D is constant in each feature: the intercept takes its place, and it costs nothing."""
    X, y = smooth(rng)
    regular, free = (BSplineEmbedding(6, degree=2, knots=knots, null_space_ridge=r) for r in (None, 0.5))
    assert_allclose(fitted_by_ridge(free, X, y, 0.2), fitted_by_ridge(regular, X, y, 0.2), atol=1e-12)


@ORDERS
@pytest.mark.parametrize("m", [0, 1, 2, 5, 40, 400])
def test_the_basis_inverts_differences_and_spans_what_they_do_not_see(order, m):
    basis, low = difference_basis(m, 0.5, order=order, ridge=0.25), min(order, m)
    levels = difference_basis(m, 0.5, order=order, ridge=0.25, level=True)
    assert levels.shape == (m, m)
    assert_allclose(levels[:, :1], 4.0)
    assert_allclose(levels[:, 1:], basis, atol=0)
    lines, bends = basis[:, : max(low - 1, 0)], basis[:, max(low - 1, 0) :]
    assert basis.shape == (m, max(m - 1, 0))
    if m > order:
        scale = np.abs(bends).max() * m
        assert_allclose(np.diff(bends, order, axis=0), np.eye(m - order), atol=1e-13 * scale)
        lengths = np.linalg.norm(bends, axis=0)
        assert_allclose(lines.T @ (bends / lengths), 0, atol=1e-13 * 4 * m)
        assert_allclose((bends / lengths).sum(axis=0), 0, atol=1e-13 * m)
        assert_allclose(np.diff(lines, order, axis=0), 0, atol=1e-12)
    if lines.size:
        assert_allclose(lines[-1], 4.0)  # 1 / (0.5 sqrt(0.25)), where i is the greatest
        assert_allclose(np.abs(lines[0]), 4.0)
        assert_allclose(lines.sum(axis=0), 0, atol=1e-11 * m)


@pytest.mark.parametrize("extrapolation", ["clip", "linear"])
@pytest.mark.parametrize("missing", ["zeros", "indicator"])
def test_rows_are_those_of_b_splines_times_the_maps(rng, extrapolation, missing):
    X = rng.normal(size=(50, 4))
    X[:, 1] = 3.0
    X[:, 2] = np.nan
    X[::7, 0] = np.nan
    Z = np.vstack([X, 3 * X])
    embedding = BSplineEmbedding(5, degree=3, penalty_order=0, extrapolation=extrapolation, missing=missing).fit(X)
    psi, start = embedding.transform(Z).toarray(), 0
    wide = [term.stop - term.start - (missing == "indicator") for term in embedding.terms_]
    want = []
    for width in wide:
        factor = 5**-0.5 if width > 1 else 1.0
        want.append(
            psi[:, start : start + width] @ difference_basis(width, factor, order=2, ridge=0.01, level=missing == "zeros")
        )
        start += width
        if missing == "indicator":
            want.append(psi[:, start : start + 1])
            start += 1
    free = embedding.set_params(penalty_order=2, null_space_ridge=0.01).fit(X)
    phi = free.transform(Z)
    assert_allclose(phi.toarray(), np.hstack(want), atol=1e-12)
    assert phi.data.all()
    assert phi.has_canonical_format
    assert free.difference_operator is None
    assert len(set(free.get_feature_names_out())) == free.n_columns_ == free.terms_[-1].stop == phi.shape[1]
    narrow = free.set_params(dtype=np.float32).transform(Z)
    assert narrow.data.all()
    assert_allclose(narrow.toarray(), phi.toarray(), rtol=1e-5, atol=1e-5)


def test_columns_of_polynomials_and_of_differences_are_named():
    free = BSplineEmbedding(3, penalty_order=2, null_space_ridge=1e-3, missing="indicator").fit([[0.0], [3.0]])
    assert free.get_feature_names_out().tolist() == ["x0^1", "x0~2", "x0~3", "x0~missing"]
    short = BSplineEmbedding(1, penalty_order=4, null_space_ridge=1e-3).fit([[0.0], [3.0]])
    assert short.get_feature_names_out().tolist() == ["x0^1"]


@ORDERS
@pytest.mark.parametrize("missing", ["zeros", "indicator"])
def test_known_values_have_a_level_that_missing_ones_lack(rng, order, missing):
    """Targets 5 + x where x is known and 0 where it is not: levels are no constants, so the intercept cannot stand for them."""
    X = rng.random((200, 2))
    y = 5 + X[:, 0]
    X[::3, 0] = np.nan
    y[::3] = 0.0
    free = BSplineEmbedding(6, degree=2, penalty_order=order, null_space_ridge=0.01, missing=missing)
    assert_allclose(fitted_by_ridge(free, X, y, 1e-9), y, atol=1e-4)
    names = free.get_feature_names_out().tolist()
    assert ("x0^0" in names, "x1^0" in names) == (missing == "zeros",) * 2
    assert len(set(names)) == free.n_columns_ == 2 * 8


def test_order_zero_has_no_null_space(rng):
    X = rng.normal(size=(20, 2))
    plain, free = (BSplineEmbedding(4, penalty_order=0, null_space_ridge=r).fit_transform(X) for r in (None, 0.1))
    assert_allclose(free.toarray(), plain.toarray())


def test_machines_keep_straight_lines(rng):
    """A machine of the package and one of scikit-learn on stored rows, under a penalty that lets nothing bend."""
    X = rng.random((120, 2))
    y = X @ [3.0, -2.0]
    free = BSplineEmbedding(6, degree=2, penalty_order=2, null_space_ridge=1e-2)
    machine = EmbeddedLinearRegressor(free, C=1e-3, epsilon=0.0, loss="squared_epsilon_insensitive", intercept_scaling=10.0)
    assert machine.fit(X, y).score(X, y) > 0.98
    lost = EmbeddedLinearRegressor(**machine.get_params(deep=False) | {"embedding": free.set_params(null_space_ridge=None)})
    assert lost.fit(X, y).score(X, y) < 0.9
    phi = free.set_params(null_space_ridge=1e-4).fit_transform(X)
    assert LinearSVC(C=1e-2, dual=False).fit(phi, y > 0.5).score(phi, y > 0.5) > 0.97


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"null_space_ridge": 0.0}, ("null_space_ridge=0.0", "> 0")),
        ({"null_space_ridge": -1.0}, ("null_space_ridge=-1.0", "> 0")),
        ({"null_space_ridge": 1e-13}, ("null_space_ridge=1e-13", "at least 1e-12")),
        ({"null_space_ridge": np.nan}, ("null_space_ridge=nan", "finite")),
        ({"null_space_ridge": "small"}, ("null_space_ridge='small'", "number")),
        ({"null_space_ridge": 1.0, "n_bins": 6000}, ("6001 B-splines", "at most 5000", "null_space_ridge=None")),
    ],
)
def test_bad_ridges_are_refused(options, said):
    assert_refused(lambda: BSplineEmbedding(**options).fit([[0.0, 1.0], [1.0, 3.0]]), *said)
