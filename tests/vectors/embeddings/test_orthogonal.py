import numpy as np
import pytest
from cases import assert_refused
from numpy.polynomial.hermite_e import HermiteE, hermegauss
from numpy.testing import assert_allclose, assert_array_equal

from semimetric import FourierEmbedding, HermiteEmbedding

ENDS = [[-1.0], [1.0]]
EVERY = pytest.mark.parametrize("kind", [FourierEmbedding, HermiteEmbedding])


@pytest.mark.parametrize("order", [1, 2])
def test_derivatives_of_sines_are_orthogonal_with_one_norm(order):
    """By the trapezoidal rule over a period, which is exact for them; derivatives by the Fourier transform."""
    z = np.linspace(-1.0, 1.0, 256, endpoint=False)
    phi = FourierEmbedding(degree=5, penalty_order=order).fit(ENDS).transform(z[:, None])
    frequency = 2j * np.pi * np.fft.fftfreq(256, d=2.0 / 256)
    derivative = np.fft.ifft((frequency**order)[:, None] * np.fft.fft(phi, axis=0), axis=0).real
    assert_allclose(derivative.T @ derivative * 2.0 / 256, np.pi ** (2 * order) * np.eye(10), atol=1e-9)
    assert_allclose(phi.T @ phi * 2.0 / 256, np.diag(np.diag(phi.T @ phi)) * 2.0 / 256, atol=1e-12)


@pytest.mark.parametrize("order", [1, 2])
def test_derivatives_of_hermite_polynomials_are_orthonormal(order):
    """Table 1, under the standard normal weight, by Gauss-Hermite quadrature; the polynomials read off at points in [-1, 1]."""
    degree = 6
    z = np.cos(np.pi * (np.arange(degree + 1) + 0.5) / (degree + 1))
    phi = HermiteEmbedding(degree, penalty_order=order).fit(ENDS).transform(z[:, None])
    nodes, weights = hermegauss(20)
    polynomials = [HermiteE.fit(z, column, degree, domain=[-1, 1], window=[-1, 1]) for column in phi.T]
    derivative = np.array([p.deriv(order)(nodes) for p in polynomials])
    gram = (derivative * weights) @ derivative.T / np.sqrt(2 * np.pi)
    want = np.eye(degree)
    want[0, 0] = order == 1  # phi_1 = z for both orders, and has no second derivative
    assert_allclose(gram, want, atol=1e-9)


def test_high_degrees_do_not_overflow():
    assert np.isfinite(HermiteEmbedding(300).fit(ENDS).transform([[0.3]])).all()


@EVERY
def test_the_range_is_taken_to_minus_one_and_one_and_clipped(kind):
    shifted, plain = (kind(3).fit(np.array(ENDS) * scale + shift) for scale, shift in ((7.0, 20.0), (1.0, 0.0)))
    z = np.linspace(-1, 1, 9)[:, None]
    assert_allclose(shifted.transform(7 * z + 20), plain.transform(z), atol=1e-12)
    assert_array_equal(plain.transform([[-9.0], [9.0]]), plain.transform(ENDS))


def test_ends_of_a_period_meet_unless_told_otherwise():
    whole, part, half = (FourierEmbedding(2, span=span).fit(ENDS).transform(ENDS) for span in (1.0, 0.75, "half"))
    assert_allclose(whole[0], whole[1], atol=1e-12)
    assert np.abs(part[0] - part[1]).max() > 0.5
    assert half.shape == (2, 2)
    assert_allclose(half, [[1.0, 0.5], [-1.0, 0.5]], atol=1e-12)
    assert FourierEmbedding(2, span="half").fit(ENDS).get_feature_names_out().tolist() == ["x0~cos1", "x0~cos2"]


def test_a_half_range_fits_what_rises_from_end_to_end():
    x = np.linspace(-1, 1, 200)[:, None]
    for span, worst in ((1.0, 0.3), ("half", 0.05)):
        phi = np.hstack([np.ones((200, 1)), FourierEmbedding(8, span=span).fit(x).transform(x)])
        fit = phi @ np.linalg.lstsq(phi, x[:, 0], rcond=None)[0]
        assert (np.abs(fit - x[:, 0]).max() > 0.3) == (worst == 0.3)
        assert np.abs(fit - x[:, 0]).max() < max(worst, 1.1 * (worst == 0.3))


def test_standard_scale(rng):
    X = rng.normal(3.0, 5.0, size=(500, 2))
    phi = HermiteEmbedding(1, scale="standard").fit_transform(X)
    assert_allclose(phi, (X - X.mean(axis=0)) / X.std(axis=0))


@EVERY
def test_missing_values_and_constant_features(kind):
    X = np.array([[0.0, 5.0, np.nan], [1.0, 5.0, np.nan], [np.nan, 5.0, np.nan]])
    embedding = kind(1, missing="zeros").fit(X)
    own = embedding.n_columns_ // 3
    assert_array_equal(embedding.transform(X)[:, own:], 0.0)
    assert_array_equal(embedding.transform(X)[2], 0.0)
    marked = kind(1, missing="indicator").fit(X)
    assert_array_equal(marked.transform(X)[:, own :: own + 1], np.isnan(X))
    assert marked.get_feature_names_out()[own] == "x0~missing"
    assert_array_equal(kind(2, scale="standard").fit_transform([[1.0]]) if kind is HermiteEmbedding else 0.0, 0.0)


@EVERY
def test_float32_and_threads(kind, rng):
    X = rng.normal(size=(50_000, 3))
    embedding = kind(4, dtype=np.float32, n_jobs=2).fit(X)
    assert embedding.transform(X).dtype == np.float32
    assert_allclose(embedding.transform(X[-5:]), kind(4).fit(X).transform(X[-5:]), atol=1e-6)


@pytest.mark.parametrize(
    ("model", "given", "required"),
    [
        (FourierEmbedding(0), "degree=0", "an integer >= 1"),
        (HermiteEmbedding(penalty_order=0), "penalty_order=0", "use one of 1, 2"),
        (FourierEmbedding(span=0.0), "span=0.0", "a number in (0, 1]"),
        (FourierEmbedding(span=1.5), "span=1.5", "a number in (0, 1]"),
        (FourierEmbedding(span="quarter"), "span='quarter'", "'half'"),
        (FourierEmbedding(span=None), "span=None", "'half'"),
        (HermiteEmbedding(scale="none"), "scale='none'", "'standard'"),
    ],
)
def test_bad_parameters_are_refused(model, given, required):
    assert_refused(lambda: model.fit(ENDS), given, required)
