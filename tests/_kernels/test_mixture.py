"""The sampler draws from the posterior: Geweke's joint-distribution test, and partitions enumerated one by one.

Enumeration needs the marginal density of a set of points with the parameters integrated out, which is feasible for one
feature: mu and r by formula, lambda and w by quadrature. More features are left to Geweke's test.
"""

import math

import numpy as np
import pytest
from mixtures import draw_planes, draw_points, draw_urn, points_of, prior_of, state
from scipy.special import gammaln, logsumexp
from scipy.stats import multivariate_normal

from semimetric._kernels.jit import kernel
from semimetric._kernels.mixture import ChainSettings, log_joint, reassign, sweeps, update

ALPHA = 0.8


@kernel
def draw_data(points, mixture, rng):
    """Data given the parameters, by Cholesky factors of full precision matrices."""
    m, d = points.x.shape
    for i in range(m):
        w = mixture.w[mixture.labels[i]]
        lam, r, t, omega = mixture.scalars[mixture.labels[i], :4]
        z, outer = np.empty(d), np.outer(w, w)
        for f in range(d):
            z[f] = rng.standard_normal()
        upper = np.ascontiguousarray(np.linalg.cholesky(lam * np.eye(d) + outer).T)
        points.x[i] = mixture.mu[mixture.labels[i]] + np.linalg.solve(upper, z)
        for f in range(d):
            z[f] = rng.standard_normal()
        upper = np.ascontiguousarray(np.linalg.cholesky((r + t) * omega * np.eye(d) - t * outer).T)
        points.v[i] = np.linalg.solve(upper, z)


@kernel
def alternate(points, prior, settings, mixture, out, rng):
    """Data and Gibbs sweeps in turn; out (steps, m, 6 + 4 d): label, scalars, mu, w, x and v of every point."""
    m, d = points.x.shape
    for step in range(out.shape[0]):
        for _ in range(4):
            draw_data(points, mixture, rng)
            reassign(points, prior, settings, mixture, np.empty(1, np.int64), rng)
            update(points, prior, mixture, rng)
        for i in range(m):
            k = mixture.labels[i]
            out[step, i, 0], out[step, i, 1:6] = k, mixture.scalars[k]
            out[step, i, 6 : 6 + d], out[step, i, 6 + d : 6 + 2 * d] = mixture.mu[k], mixture.w[k]
            out[step, i, 6 + 2 * d : 6 + 3 * d], out[step, i, 6 + 3 * d :] = points.x[i], points.v[i]


@kernel
def labels_of(points, prior, settings, mixture, out, rng):
    """Labels after each sweep, (steps, m)."""
    for step in range(out.shape[0]):
        reassign(points, prior, settings, mixture, np.empty(1, np.int64), rng)
        update(points, prior, mixture, rng)
        out[step] = mixture.labels


def functions(states, d):
    """Bounded functions of joint states, as moments of theta and of data need not exist."""
    label, (lam, r, t, omega) = states[:, :, 0], np.moveaxis(states[:, :, 1:5], 2, 0)
    mu, w, x, v = (states[:, :, 6 + k * d : 6 + (k + 1) * d] for k in range(4))
    along, size = np.abs((w * v).sum(axis=2)), np.array([len(set(row)) for row in label.tolist()])
    return np.column_stack(
        [
            size, label[:, 0] == label[:, 1], np.tanh(x[:, 0, 0]), np.tanh(mu[:, 0, -1]), np.tanh(w[:, 0, 0] * w[:, 0, -1]),
            np.tanh(np.log(lam[:, 0])), np.tanh(np.log(10 * r[:, 0])), np.tanh(np.log(t[:, 0] / 2)),
            np.tanh(np.log(omega[:, 0])),
            np.tanh(np.log(along[:, 0])), np.tanh((x**2).mean(axis=(1, 2))),
            np.tanh(np.log((v**2).sum(axis=2)).mean(axis=1) / 3),
            np.tanh(np.log(lam * r).mean(axis=1)), np.tanh((w * v)[:, 0, 0] * x[:, 0, 0]),
        ]
    )  # fmt: skip


def from_the_prior(n, d, prior, rng):
    labels = draw_urn(ALPHA, n, rng)
    planes = draw_planes(prior, labels.max() + 1, d, rng)
    points = points_of(*draw_points(planes, labels, rng))
    return points, state(points, planes, labels)


def as_state(points, mixture):
    k = mixture.labels
    return np.column_stack([k, mixture.scalars[k], mixture.mu[k], mixture.w[k], points.x, points.v])


def geweke(d, n, n_direct, n_chain, seed=0, w_prior=1.0):
    """z-scores of means of `functions`: prior and data, against data and Gibbs sweeps in turn."""
    rng, prior = np.random.default_rng(seed), prior_of(d, w_prior)
    direct = functions(np.array([as_state(*from_the_prior(n, d, prior, rng)) for _ in range(n_direct)]), d)
    states = np.empty((n_chain, n, 6 + 4 * d))
    points, mixture = from_the_prior(n, d, prior, rng)
    alternate(points, prior, ChainSettings(ALPHA, 3, 0), mixture, states, rng)
    batches = np.array([part.mean(axis=0) for part in np.array_split(functions(states, d), 40)])
    error = np.sqrt(direct.var(axis=0) / n_direct + batches.var(axis=0, ddof=1) / 40)
    return (direct.mean(axis=0) - batches.mean(axis=0)) / error


@pytest.mark.compiled
@pytest.mark.slow
@pytest.mark.parametrize(("d", "w_prior"), [(1, 1.0), (2, 1.0), (3, 20.0)])
def test_geweke(d, w_prior):
    z = geweke(d, 4, 3000, 12_000, w_prior=w_prior)
    assert np.abs(z).max() < 3.9, z


@pytest.mark.slow
@pytest.mark.parametrize("d", [2, 4])
def test_geweke_at_length(d):
    z = geweke(d, 5, 40_000, 200_000, seed=1)
    assert np.abs(z).max() < 3.9, z


def log_marginal(x, v, prior):
    """log of the integral of prod p(x_i, v_i | theta) over p_0(theta), for one feature."""
    n, grid = len(x), np.linspace(-14, 6, 601)  # of log lambda and log omega
    lam, omega = np.exp(grid)[:, None], np.exp(grid)[None]
    # mu given p = lambda + omega: x ~ N(0, (I + 1 1' / eta) / p);  r: gamma
    p, quadratic = lam + omega, (x**2).sum() - x.sum() ** 2 / (n + prior.eta)
    of_x = 0.5 * (n * np.log(p / (2 * np.pi)) - np.log(1 + n / prior.eta) - p * quadratic)
    a, b = prior.r_shape, prior.r_rate
    of_v = 0.5 * n * np.log(omega / (2 * np.pi)) + a * np.log(b) - gammaln(a) + gammaln(a + n / 2)
    of_v = of_v - (a + n / 2) * np.log(b + omega * (v**2).sum() / 2)
    of_lam = prior.lam_shape * (np.log(prior.lam_rate) + grid) - gammaln(prior.lam_shape) - prior.lam_rate * np.exp(grid)
    of_omega = 0.5 * (np.log(prior.w_precision / (2 * np.pi)) + grid - prior.w_precision * np.exp(grid))
    total = of_x + of_v + of_lam[:, None] + of_omega[None]
    return logsumexp(total) + 2 * np.log(grid[1] - grid[0])


def partitions(n):
    """All, as labels in order of first appearance."""
    if n == 1:
        return [(0,)]
    return [(*p, k) for p in partitions(n - 1) for k in range(max(p) + 2)]


def exact_posterior(points, prior, alpha):
    x, v, weight = points.x[:, 0], points.v[:, 0], points.weight.astype(int)
    marginal, logs = {}, []
    for p in partitions(len(x)):
        total = 0.0
        for k in range(max(p) + 1):
            inside = tuple(i for i in range(len(x)) if p[i] == k)
            copies = [i for i in inside for _ in range(weight[i])]
            if inside not in marginal:
                marginal[inside] = log_marginal(x[copies], v[copies], prior)
            total += math.log(alpha) + math.lgamma(len(copies)) + marginal[inside]
        logs.append(total)
    return dict(zip(partitions(len(x)), np.exp(logs - logsumexp(logs)), strict=True))


def canonical(labels):
    seen = {}
    return tuple(seen.setdefault(k, len(seen)) for k in labels.tolist())


def frequencies(points, prior, alpha, n, seed=0):
    """Of partitions along a chain."""
    rng, drawn = np.random.default_rng(seed), np.empty((n, len(points.x)), np.int64)
    mixture = state(points, draw_planes(prior, 1, points.x.shape[1], rng), np.zeros(len(points.x), int))
    labels_of(points, prior, ChainSettings(alpha, 3, 0), mixture, drawn, rng)
    rows, counts = np.unique(drawn, axis=0, return_counts=True)
    found = {}
    for row, count in zip(rows, counts, strict=True):
        found[canonical(row)] = found.get(canonical(row), 0.0) + count / n
    return found


def distance(one, other):
    return 0.5 * sum(abs(one.get(key, 0.0) - other.get(key, 0.0)) for key in {*one, *other})


X = np.array([[-1.2], [-1.0], [0.1], [0.9], [1.4]])
V = np.array([[0.2], [0.3], [2.0], [-0.2], [0.25]])


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("weight", [[1, 1, 1, 1, 1], [1, 3, 1, 2, 1]])
def test_partitions_come_as_often_as_the_exact_posterior_says(weight):
    points, prior = points_of(X, V, np.array(weight, float)), prior_of(1, 5.0)
    exact = exact_posterior(points, prior, 1.5)
    assert 0.02 < max(exact.values()) < 0.9
    assert len(exact) == 52  # Bell's number
    assert distance(exact, frequencies(points, prior, 1.5, 100_000)) < 0.025


@pytest.mark.compiled
@pytest.mark.slow
def test_six_points_and_another_order():
    points, prior = points_of(np.append(X, [[0.4]], axis=0), np.append(V, [[-1.0]], axis=0)), prior_of(1)
    exact, order = exact_posterior(points, prior, 1.0), np.array([3, 5, 0, 2, 4, 1])
    shuffled = frequencies(points_of(points.x[order], points.v[order]), prior, 1.0, 120_000, seed=1)
    back = {}
    for key, share in shuffled.items():
        again = canonical(np.array(key)[np.argsort(order)])
        back[again] = back.get(again, 0.0) + share
    assert len(exact) == 203
    assert distance(exact, back) < 0.03


def test_the_log_joint_is_the_sum_of_its_densities(rng):
    for d in (1, 2, 4):
        prior, labels = prior_of(d, 3.0), np.array([0, 1, 0, 1, 1])
        planes = draw_planes(prior, 2, d, rng)
        points = points_of(rng.normal(size=(5, d)), rng.normal(size=(5, d)), np.array([1.0, 2, 1, 1, 3]))
        urn, rest = log_joint(points, prior, ALPHA, state(points, planes, labels))
        assert urn == pytest.approx(
            2 * math.log(ALPHA) + math.lgamma(2) + math.lgamma(6) - sum(math.log(ALPHA + i) for i in range(8))
        )
        expected = 0.0
        for i, j in enumerate(labels):
            w, omega = planes.w[j], planes.w[j] @ planes.w[j]
            of_x = planes.lam[j] * np.eye(d) + np.outer(w, w)
            of_v = (planes.r[j] + planes.t[j]) * omega * np.eye(d) - planes.t[j] * np.outer(w, w)
            expected += points.weight[i] * (
                multivariate_normal(planes.mu[j], np.linalg.inv(of_x)).logpdf(points.x[i])
                + multivariate_normal(np.zeros(d), np.linalg.inv(of_v)).logpdf(points.v[i])
            )
        assert rest == pytest.approx(expected + planes.log_prior(prior).sum())


def test_the_best_state_with_the_number_wanted_is_kept(rng):
    points, prior = points_of(rng.normal(size=(12, 2)), rng.normal(size=(12, 2))), prior_of(2)
    mixture, best = (state(points, draw_planes(prior, 1, 2, rng), np.zeros(12, int)) for _ in range(2))
    trace = np.empty((400, 3))
    sweeps(points, prior, ChainSettings(2.0, 3, 2), mixture, best, trace, rng)
    assert best.size[0] == 2
    assert sorted(set(best.labels)) == [0, 1]
    assert best.score[0] == pytest.approx(log_joint(points, prior, 2.0, best)[1])
    assert (trace[:, 1] == 2).any()
    assert ((trace[:, 2] >= 0) & (trace[:, 2] <= 1)).all()
