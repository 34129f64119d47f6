"""The base measure of planes is that of the paper, whatever the unit of the features."""

import numpy as np
import pytest
from cases import assert_refused
from hypothesis import given
from hypothesis import strategies as st

from semimetric.vectors.pieces.mixture_prior import Units, base_measure, check_w_prior


def test_the_base_measure_in_its_units_is_that_of_equations_25_to_29(rng):
    """lambda = l / sigma^2 and w = u / sigma have the densities that the paper prints."""
    x, d = rng.normal(size=(40, 3)) * [1.0, 4.0, 0.1], 3
    units = Units.of(x, x)
    total = np.trace(np.cov(x.T, bias=True))
    assert units.sigma**2 == pytest.approx(total / d)
    prior = base_measure(d, units.sigma, "precision")
    assert prior.lam_shape == 1 + 0.05 * d
    assert prior.lam_rate * units.sigma**2 == pytest.approx((1 / d + 0.05) * total)
    assert 1 / (prior.w_precision * units.sigma**2) == pytest.approx(d / total)
    printed = base_measure(d, units.sigma, "covariance")
    assert 1 / (printed.w_precision * units.sigma**2) == pytest.approx(total / d)
    assert 1 / base_measure(d, units.sigma, 50.0).w_precision == pytest.approx(50.0)
    assert (prior.r_rate, prior.t_rate, prior.eta) == (25.0, 1.25, 0.1)
    assert_refused(
        lambda: base_measure(2, 1e200, "covariance"), "w_prior='covariance' is the factor inf", "positive", "rescale"
    )


def test_units_do_not_vanish_or_overflow():
    one = Units.of(np.array([[3.0, 1.0]]), np.array([[0.5, 0.0]]))
    assert one.sigma == pytest.approx(0.5 / np.sqrt(2))
    assert np.isfinite(Units.of(np.array([[1e300], [-1e300]]), np.array([[1.0]])).sigma)


@given(st.integers(0, 1000), st.integers(-200, 200))
def test_points_in_their_units_have_mean_0_and_variance_1_whatever_their_unit(seed, power):
    rng = np.random.default_rng(seed)
    x, v, weight = rng.normal(size=(9, 2)) + 3, rng.normal(size=(9, 2)), rng.random(9)
    points = Units.of(x, v).points(x, v, weight)
    np.testing.assert_allclose(points.x.mean(axis=0), 0, atol=1e-12)
    assert np.mean(points.x**2) == pytest.approx(1)
    factor = 2.0**power
    scaled = Units.of(x * factor, v * factor).points(x * factor, v * factor, weight)
    np.testing.assert_allclose(scaled.x, points.x, rtol=1e-12)
    np.testing.assert_allclose(scaled.v, points.v, rtol=1e-12)
    assert np.array_equal(points.weight, weight)


@given(st.integers(1, 50), st.floats(1e-3, 1e3))
def test_means_of_the_prior_are_those_of_the_paper(d, f):
    prior = base_measure(d, 1.0, f)
    assert prior.lam_shape / prior.lam_rate == pytest.approx(1)
    assert prior.r_shape / prior.r_rate == pytest.approx(0.1)
    assert prior.t_shape / prior.t_rate == pytest.approx(2)
    assert prior.w_precision == pytest.approx(1 / f)
    assert base_measure(d, 7.0, "precision") == base_measure(d, 0.1, 1.0)


def test_only_readings_of_equation_26_and_positive_factors_are_taken():
    for w_prior in ("precision", "covariance", 0.5):
        check_w_prior(w_prior)
    assert_refused(lambda: check_w_prior("wide"), "w_prior='wide'", "'precision', 'covariance'")
    assert_refused(lambda: check_w_prior(-1.0), "w_prior=-1.0", "> 0")
