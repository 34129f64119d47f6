"""What tests of the mixture of planes share: small states, and draws from the model as it is written down."""

import numpy as np

from semimetric._kernels.mixture import Mixture, Points
from semimetric.vectors.pieces.mixture_em import Planes
from semimetric.vectors.pieces.mixture_prior import base_measure


def prior_of(d, w_prior=1.0):
    return base_measure(d, 1.0, w_prior)


def draw_planes(prior, n, d, rng):
    """theta ~ G_0, equations 17 to 22, with full matrices."""
    lam = rng.gamma(prior.lam_shape, 1 / prior.lam_rate, n)
    w = rng.normal(0, prior.w_precision**-0.5, (n, d))
    mu = np.array([rng.multivariate_normal(np.zeros(d), np.linalg.inv(prior.eta * (a * np.eye(d) + np.outer(b, b))))
                   for a, b in zip(lam, w, strict=True)])  # fmt: skip
    return Planes(mu, w, lam, rng.gamma(prior.r_shape, 1 / prior.r_rate, n), rng.gamma(prior.t_shape, 1 / prior.t_rate, n))


def draw_points(planes, labels, rng):
    """x and v, equations 15 and 16."""
    d, x, v = planes.mu.shape[1], [], []
    for j in labels:
        w, r, t = planes.w[j], planes.r[j], planes.t[j]
        x.append(rng.multivariate_normal(planes.mu[j], np.linalg.inv(planes.lam[j] * np.eye(d) + np.outer(w, w))))
        v.append(rng.multivariate_normal(np.zeros(d), np.linalg.inv((r + t) * (w @ w) * np.eye(d) - t * np.outer(w, w))))
    return np.array(x), np.array(v)


def draw_urn(alpha, n, rng):
    """Labels 0, 1, ... of a Chinese restaurant."""
    labels = [0]
    for i in range(1, n):
        weight = np.append(np.bincount(labels), alpha)
        labels.append(int(rng.choice(len(weight), p=weight / (i + alpha))))
    return np.array(labels)


def state(points, planes, labels, n_auxiliary=3):
    """A state of the kernels."""
    (m, d), k = points.x.shape, len(planes.lam)
    slots = m + n_auxiliary
    made = Mixture(
        np.zeros((slots, d)), np.ones((slots, d)), np.ones((slots, 5)), np.zeros(slots),
        labels.astype(np.int64), np.array([k]), np.full(1, -np.inf),
    )  # fmt: skip
    omega = (planes.w**2).sum(axis=1)
    log_det = (d - 1) * np.log(planes.lam) + np.log(planes.lam + omega)
    log_det = log_det + np.log(planes.r * omega) + (d - 1) * np.log((planes.r + planes.t) * omega)
    made.mu[:k], made.w[:k] = planes.mu, planes.w
    made.scalars[:k] = np.column_stack([planes.lam, planes.r, planes.t, omega, log_det / 2])
    made.total[:k] = np.bincount(labels, weights=points.weight, minlength=k)
    return made


def points_of(x, v, weight=None):
    return Points(np.ascontiguousarray(x), np.ascontiguousarray(v), np.ones(len(x)) if weight is None else np.asarray(weight))
