"""EM with a given number of planes: its objective never falls, and one component is one plane."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mixtures import draw_planes, draw_points, points_of, prior_of
from scipy.optimize import minimize
from scipy.stats import gamma, multivariate_normal

from semimetric.vectors.pieces.mixture_em import Planes, fit_planes, planes_of_labels, run_em


def sample(seed, d, n=25, k=2):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, k, n)
    return points_of(*draw_points(draw_planes(prior_of(d), k, d, rng), labels, rng), rng.integers(1, 4, n).astype(float))


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 4), st.sampled_from([0.1, 1.0, 1000.0]))
def test_the_objective_never_falls(seed, d, k, w_prior):
    points, rng = sample(seed, d), np.random.default_rng(seed)
    share = rng.dirichlet(np.ones(k))
    _, trace = run_em(points, draw_planes(prior_of(d, w_prior), k, d, rng), share, prior_of(d, w_prior), max_iter=30)
    assert (np.diff(trace) >= -1e-9 * np.abs(trace[1:])).all()


@pytest.mark.parametrize("d", [1, 2, 3])
def test_a_component_is_at_a_maximum_of_the_posterior(d):
    """No general optimizer finds a higher one from there."""
    points, prior = sample(3, d, k=1), prior_of(d, 10.0)
    planes, _, trace = fit_planes(points, 1, prior, np.random.default_rng(0))

    def falling(z):
        mu, w, logs = z[:d], z[d : 2 * d], np.exp(z[2 * d :])
        at = Planes(mu[None], w[None], logs[:1], logs[1:2], logs[2:])
        return -float(points.weight @ at.log_density(points)[:, 0] + at.log_prior(prior)[0])

    start = np.concatenate([planes.mu[0], planes.w[0], np.log([planes.lam[0], planes.r[0], planes.t[0]])])
    assert -falling(start) == pytest.approx(trace[-1], rel=1e-6)
    assert -minimize(falling, start, method="Nelder-Mead", options={"maxiter": 4000, "xatol": 1e-8}).fun < trace[-1] + 1e-3


def test_densities_are_those_of_equations_15_to_22(rng):
    prior, d = prior_of(3, 4.0), 3
    planes, points = draw_planes(prior, 2, d, rng), sample(0, d, n=4)
    for j in range(2):
        w, omega, eye = planes.w[j], planes.w[j] @ planes.w[j], np.eye(d)
        of_x = planes.lam[j] * eye + np.outer(w, w)
        of_v = (planes.r[j] + planes.t[j]) * omega * eye - planes.t[j] * np.outer(w, w)
        expected = multivariate_normal(planes.mu[j], np.linalg.inv(of_x)).logpdf(points.x)
        expected = expected + multivariate_normal(np.zeros(d), np.linalg.inv(of_v)).logpdf(points.v)
        assert np.allclose(planes.log_density(points)[:, j], expected)
        log_prior = multivariate_normal(np.zeros(d), np.linalg.inv(0.1 * of_x)).logpdf(planes.mu[j])
        log_prior += multivariate_normal(np.zeros(d), 4.0 * eye).logpdf(w)
        for value, (shape, rate) in (
            (planes.lam[j], (1.15, 1.15)), (planes.r[j], (2.5, 25.0)), (planes.t[j], (2.5, 1.25)),
        ):  # fmt: skip
            log_prior += gamma(shape, scale=1 / rate).logpdf(value)
        assert planes.log_prior(prior)[j] == pytest.approx(log_prior)


def test_two_lines_are_found_with_their_normals():
    along = np.linspace(-1, 1, 30)
    x = np.concatenate([np.column_stack([along, np.full(30, 2.0)]), np.column_stack([np.full(30, 3.0), along])])
    v = np.concatenate([np.tile([0.0, 0.1], (30, 1)), np.tile([0.1, 0.0], (30, 1))])
    points = points_of(x, v)
    planes, labels, _ = fit_planes(points, 2, prior_of(2, 1000.0), np.random.default_rng(0))
    assert len(set(labels[:30])) == len(set(labels[30:])) == 1
    first, second = planes.w[labels[0]], planes.w[labels[-1]]
    assert abs(first[0] / first[1]) < 0.02
    assert abs(second[1] / second[0]) < 0.02
    assert np.linalg.norm(first) > 10


def test_given_labels_start_from_their_own_points():
    points, labels = sample(1, 2), np.arange(25) % 3
    planes = planes_of_labels(points, labels, 3, prior_of(2))
    for j in range(3):
        mean = np.average(points.x[labels == j], axis=0, weights=points.weight[labels == j])
        n = points.weight[labels == j].sum()
        assert np.allclose(planes.mu[j], mean * n / (n + 0.1))


@pytest.mark.parametrize("d", [16, 60])
def test_fewer_points_than_dimensions_are_climbed_in_their_span(d, monkeypatch):
    points, prior = sample(3, d, n=6, k=1), prior_of(d)
    narrow, whole = (draw_planes(prior, 1, d, np.random.default_rng(0)) for _ in range(2))
    _, trace = run_em(points, narrow, np.ones(1), prior)
    monkeypatch.setattr("semimetric.vectors.pieces.mixture_em._basis_of_span", lambda rows: np.eye(rows.shape[1]))
    _, twin = run_em(points, whole, np.ones(1), prior)
    assert trace[-1] == pytest.approx(twin[-1], rel=1e-8)
    assert (np.diff(trace) >= -1e-9 * np.abs(trace[1:])).all()
    np.testing.assert_allclose(narrow.mu, whole.mu, atol=1e-9)
    np.testing.assert_allclose((narrow.w**2).sum(), (whole.w**2).sum(), rtol=1e-6)
