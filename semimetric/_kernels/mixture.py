"""Gibbs sampling of the mixture of planes (paper 3, equations 11 to 22) by Neal's algorithm 8 (2000).

A component theta = (mu, w, lambda, r, t) and, with omega = |w|^2, its density of a boundary point x and a direction v:

    x ~ N(mu, (lambda I + w w')^-1)                     log det = (d - 1) log lambda + log(lambda + omega)
    v ~ N(0, ((r + t) omega I - t w w')^-1)             log det = log(r omega) + (d - 1) log((r + t) omega)

so a density costs three inner products. Units are those in which the prior mean of mu is 0. A point of weight m stands for m
copies that share a component: its density counts to the power m, and so does its part in the urn.
"""

import math
from typing import NamedTuple

import numpy as np

from .draws import choose, tilted_gamma, turn
from .jit import kernel
from .linear import inner_product, quadratic_form, trace_of

_LAMBDA, _R, _T, _OMEGA, _CONSTANT = 0, 1, 2, 3, 4


class Points(NamedTuple):
    """Boundary points x (m, d), directions v (m, d), and the copies that each stands for (m,)."""

    x: np.ndarray
    v: np.ndarray
    weight: np.ndarray


class Prior(NamedTuple):
    """Equations 18 to 22 with mu_0 = 0: shapes and rates, the precision of w, and eta_0."""

    lam_shape: float
    lam_rate: float
    w_precision: float
    eta: float
    r_shape: float
    r_rate: float
    t_shape: float
    t_rate: float


class ChainSettings(NamedTuple):
    """Concentration, auxiliary components, and the number of components of which the best state is kept."""

    alpha: float
    n_auxiliary: int
    wanted: int


class Mixture(NamedTuple):
    """A state: the first size[0] of C slots are in use."""

    mu: np.ndarray  # (C, d)
    w: np.ndarray  # (C, d)
    scalars: np.ndarray  # (C, 5): lambda, r, t, omega and the constant of the log density
    total: np.ndarray  # (C,): the copies in a component
    labels: np.ndarray  # (m,)
    size: np.ndarray
    score: np.ndarray  # score[0] is that of the state, where it is kept as the best


@kernel
def _set_constant(mixture, k):
    """Set the part of the log density of slot k that does not depend on the point, without d log(2 pi)."""
    lam, r, t, omega = mixture.scalars[k, :4]
    d = mixture.mu.shape[1]
    of_x = (d - 1) * math.log(lam) + math.log(lam + omega)
    of_v = math.log(r * omega) + (d - 1) * math.log((r + t) * omega)
    mixture.scalars[k, _CONSTANT] = 0.5 * (of_x + of_v)


@kernel
def _log_density(points, i, mixture, k):
    """Return log p(x_i, v_i | theta_k) + d log(2 pi)."""
    apart, across, length, along = 0.0, 0.0, 0.0, 0.0
    for f in range(points.x.shape[1]):
        x, v, w = points.x[i, f] - mixture.mu[k, f], points.v[i, f], mixture.w[k, f]
        apart += x * x
        across += w * x
        length += v * v
        along += w * v
    lam, r, t, omega, constant = mixture.scalars[k]
    return constant - 0.5 * (lam * apart + across * across + (r + t) * omega * length - t * along * along)


@kernel
def _draw_mean(mean, precision, mixture, k, rng):
    """Draw mu_k ~ N(mean, (precision (lambda I + w w'))^-1): a normal vector, shortened along w."""
    lam, omega = mixture.scalars[k, _LAMBDA], mixture.scalars[k, _OMEGA]
    d, along = mixture.mu.shape[1], 0.0
    for f in range(d):
        mixture.mu[k, f] = rng.standard_normal()
        along += mixture.mu[k, f] * mixture.w[k, f]
    flat, steep = 1.0 / math.sqrt(precision * lam), 1.0 / math.sqrt(precision * (lam + omega))
    for f in range(d):
        mixture.mu[k, f] = mean[f] + flat * mixture.mu[k, f] + (steep - flat) * along / omega * mixture.w[k, f]


@kernel
def _draw_component(prior, mixture, k, rng):
    """Draw theta_k from the base measure."""
    scalars = mixture.scalars[k]
    scalars[_LAMBDA] = rng.standard_gamma(prior.lam_shape) / prior.lam_rate
    scalars[_R] = rng.standard_gamma(prior.r_shape) / prior.r_rate
    scalars[_T] = rng.standard_gamma(prior.t_shape) / prior.t_rate
    scalars[_OMEGA] = 0.0
    for f in range(mixture.w.shape[1]):
        mixture.w[k, f] = rng.standard_normal() / math.sqrt(prior.w_precision)
        scalars[_OMEGA] += mixture.w[k, f] * mixture.w[k, f]
    _draw_mean(np.zeros(mixture.mu.shape[1]), prior.eta, mixture, k, rng)
    _set_constant(mixture, k)


@kernel
def _exchange(mixture, a, b):
    """Exchange what two slots hold; the labels of points stay as they are."""
    if a != b:
        for f in range(mixture.mu.shape[1]):
            mixture.mu[a, f], mixture.mu[b, f] = mixture.mu[b, f], mixture.mu[a, f]
            mixture.w[a, f], mixture.w[b, f] = mixture.w[b, f], mixture.w[a, f]
        for s in range(mixture.scalars.shape[1]):
            mixture.scalars[a, s], mixture.scalars[b, s] = mixture.scalars[b, s], mixture.scalars[a, s]
        mixture.total[a], mixture.total[b] = mixture.total[b], mixture.total[a]


@kernel
def _is_alone(points, mixture, i):
    return mixture.total[mixture.labels[i]] - points.weight[i] <= 0.5


@kernel
def _take_out(points, mixture, i):
    """Remove point i; a component that it leaves empty moves behind those in use, so that it is auxiliary."""
    k, last = mixture.labels[i], mixture.size[0] - 1
    if not _is_alone(points, mixture, i):
        mixture.total[k] -= points.weight[i]
        return
    mixture.total[k] = 0.0
    _exchange(mixture, k, last)
    for j in range(mixture.labels.shape[0]):
        if mixture.labels[j] == last:
            mixture.labels[j] = k
    mixture.size[0] = last


@kernel
def reassign(points, prior, settings, mixture, moved, rng):
    """Draw every point's component, given all others (algorithm 8); moved[0] becomes the number of points that moved."""
    moved[0], room = 0, np.empty(mixture.mu.shape[0])
    for i in range(points.x.shape[0]):
        before, copies = mixture.labels[i], points.weight[i]
        alone = _is_alone(points, mixture, i)
        _take_out(points, mixture, i)
        used = mixture.size[0]
        for k in range(used + alone, used + settings.n_auxiliary):
            _draw_component(prior, mixture, k, rng)
        logits = room[: used + settings.n_auxiliary]
        fresh = math.log(settings.alpha / settings.n_auxiliary) + math.lgamma(copies)
        for k in range(logits.shape[0]):
            urn = fresh
            if k < used:
                urn = math.lgamma(mixture.total[k] + copies) - math.lgamma(mixture.total[k])
            logits[k] = urn + copies * _log_density(points, i, mixture, k)
        k = choose(logits, rng)
        moved[0] += k != (used if alone else before)
        if k >= used:
            _exchange(mixture, k, used)
            mixture.size[0], k = used + 1, used
            mixture.total[k] = 0.0
        mixture.labels[i] = k
        mixture.total[k] += copies


@kernel
def _turn_normal(basis, values, omega, w, rng):
    """Turn w by moves that leave exp(-w' M w / 2) on its sphere as it is; M = basis diag(values) basis', omega = |w|^2.

    In the axes of M, a rotation in the plane of two axes keeps all else. First the flattest axis, where most of w lies, turns
    with every other, then every other with one at random. w comes out with length sqrt(omega).
    """
    d, y, length = values.shape[0], np.zeros(values.shape[0]), math.sqrt(omega / inner_product(w, w))
    for f in range(d):
        for g in range(d):
            y[g] += length * basis[f, g] * w[f]
    for step in range(1, 2 * d - 1):
        a, b = (0, step) if step < d else (step - d + 1, rng.integers(0, d))
        if a != b:
            square = y[a] * y[a] + y[b] * y[b]
            radius = math.sqrt(square)
            angle = turn(math.atan2(y[b], y[a]), 0.25 * square * (values[b] - values[a]), rng)
            y[a], y[b] = radius * math.cos(angle), radius * math.sin(angle)
    for f in range(d):
        w[f] = inner_product(basis[f], y)


@kernel
def _moments(points, mixture, k, centre):
    """Return the sums of (x - centre) (x - centre)' and of v v' over the points of component k, two matrices (d, d)."""
    d = points.x.shape[1]
    of_x, of_v = np.zeros((d, d)), np.zeros((d, d))
    for i in range(points.x.shape[0]):
        if mixture.labels[i] == k:
            for f in range(d):
                x, v = points.weight[i] * (points.x[i, f] - centre[f]), points.weight[i] * points.v[i, f]
                for g in range(f + 1):
                    of_x[f, g] += x * (points.x[i, g] - centre[g])
                    of_v[f, g] += v * points.v[i, g]
    for f in range(d):
        for g in range(f):
            of_x[g, f], of_v[g, f] = of_x[f, g], of_v[f, g]
    return of_x, of_v


@kernel
def _mean_of(points, mixture, k, n):
    """Return the sum of the points of component k divided by n, shape (d,)."""
    mean = np.zeros(points.x.shape[1])
    for i in range(points.x.shape[0]):
        if mixture.labels[i] == k:
            for f in range(mean.shape[0]):
                mean[f] += points.weight[i] * points.x[i, f] / n
    return mean


@kernel
def _update_normal(prior, mixture, k, of_x, of_v, rng):
    """Draw w_k: its direction, then omega; p(w) = (lambda + omega)^((n + 1) / 2) omega^(n d / 2) exp(-w' M w / 2)."""
    scalars, mu, w = mixture.scalars[k], mixture.mu[k], mixture.w[k]
    n, d, M = mixture.total[k], mu.shape[0], np.empty_like(of_x)
    r, t, length = scalars[_R], scalars[_T], trace_of(of_v)
    for f in range(d):
        for g in range(d):
            M[f, g] = of_x[f, g] + prior.eta * mu[f] * mu[g] - t * of_v[f, g]
        M[f, f] += prior.w_precision + (r + t) * length
    if d > 1:
        values, basis = np.linalg.eigh(M)
        _turn_normal(basis, values, scalars[_OMEGA], w, rng)
    omega = inner_product(w, w)
    a, b, e = 0.5 * (n * d + d - 2), 0.5 * (n + 1), 0.5 * quadratic_form(w, M) / omega
    scalars[_OMEGA] = tilted_gamma(scalars[_OMEGA], a, b, scalars[_LAMBDA], e, rng)
    longer = math.sqrt(scalars[_OMEGA] / omega)
    for f in range(d):
        w[f] *= longer


@kernel
def update(points, prior, mixture, rng):
    """Draw every component's parameters, given its points: mu, w, lambda, r and t in turn."""
    d = points.x.shape[1]
    for k in range(mixture.size[0]):
        scalars, n = mixture.scalars[k], mixture.total[k]
        _draw_mean(_mean_of(points, mixture, k, prior.eta + n), prior.eta + n, mixture, k, rng)
        of_x, of_v = _moments(points, mixture, k, mixture.mu[k])
        _update_normal(prior, mixture, k, of_x, of_v, rng)
        mu, omega = mixture.mu[k], scalars[_OMEGA]
        spread = trace_of(of_x) + prior.eta * inner_product(mu, mu)
        a, many = prior.lam_shape - 1.0 + 0.5 * (n + 1.0) * (d - 1), 0.5 * n * (d - 1)
        scalars[_LAMBDA] = tilted_gamma(scalars[_LAMBDA], a, 0.5 * (n + 1.0), omega, prior.lam_rate + 0.5 * spread, rng)
        length = omega * trace_of(of_v)
        across = length - quadratic_form(mixture.w[k], of_v)
        a, e = prior.r_shape - 1.0 + 0.5 * n, prior.r_rate + 0.5 * length
        scalars[_R] = tilted_gamma(scalars[_R], a, many, scalars[_T], e, rng)
        a, e = prior.t_shape - 1.0, prior.t_rate + 0.5 * max(across, 0.0)
        scalars[_T] = tilted_gamma(scalars[_T], a, many, scalars[_R], e, rng)
        _set_constant(mixture, k)


@kernel
def _log_gamma_density(x, shape, rate):
    return shape * math.log(rate) - math.lgamma(shape) + (shape - 1.0) * math.log(x) - rate * x


@kernel
def _log_prior(prior, mixture, k):
    """Return the log density of the parameters of component k under the prior, log p_0(theta_k), equation 17."""
    lam, r, t, omega = mixture.scalars[k, :4]
    mu, w, d = mixture.mu[k], mixture.w[k], mixture.mu.shape[1]
    of_w = d * math.log(prior.w_precision) - prior.w_precision * omega
    along = inner_product(mu, w)
    quadratic = lam * inner_product(mu, mu) + along * along
    of_mu = d * math.log(prior.eta) + (d - 1) * math.log(lam) + math.log(lam + omega) - prior.eta * quadratic
    scalars = _log_gamma_density(lam, prior.lam_shape, prior.lam_rate) + _log_gamma_density(r, prior.r_shape, prior.r_rate)
    scalars += _log_gamma_density(t, prior.t_shape, prior.t_rate)
    return scalars + 0.5 * (of_w + of_mu) - d * math.log(2.0 * math.pi)


@kernel
def log_joint(points, prior, alpha, mixture):
    """Return log p(labels), the urn, and log p(points and parameters | labels), which takes the place of equation 23."""
    size, copies = mixture.size[0], points.weight.sum()
    urn = math.lgamma(alpha) - math.lgamma(alpha + copies) + size * math.log(alpha)
    rest = -points.x.shape[1] * math.log(2.0 * math.pi) * copies
    for k in range(size):
        urn += math.lgamma(mixture.total[k])
        rest += _log_prior(prior, mixture, k)
    for i in range(points.x.shape[0]):
        rest += points.weight[i] * _log_density(points, i, mixture, mixture.labels[i])
    return urn, rest


@kernel
def _keep(mixture, best, score):
    size = mixture.size[0]
    best.mu[:size], best.w[:size], best.scalars[:size] = mixture.mu[:size], mixture.w[:size], mixture.scalars[:size]
    best.total[:size], best.labels[:], best.size[0], best.score[0] = mixture.total[:size], mixture.labels, size, score


@kernel
def sweeps(points, prior, settings, mixture, best, trace, rng):
    """Make as many sweeps as ``trace`` has rows: of each, the log joint, the components and the share of points that moved.

    ``best`` keeps the state with the highest log p(points, parameters | labels) among those with settings.wanted components.
    """
    moved = np.empty(1, np.int64)
    for s in range(trace.shape[0]):
        reassign(points, prior, settings, mixture, moved, rng)
        update(points, prior, mixture, rng)
        urn, rest = log_joint(points, prior, settings.alpha, mixture)
        trace[s, 0], trace[s, 1], trace[s, 2] = urn + rest, mixture.size[0], moved[0] / points.x.shape[0]
        if mixture.size[0] == settings.wanted and rest > best.score[0]:
            _keep(mixture, best, rest)
