"""Expectation-maximisation of a mixture with a given number of planes, to a maximum of the posterior (paper 3).

    max  sum_i m_i log sum_j pi_j p(x_i, v_i | theta_j) + sum_j log p_0(theta_j)

with the weight m_i of a boundary point. The paper leaves out the M-step. Let n be the sum of the responsibilities of a
component, and S_x and S_v its second moments around mu and 0. Then every block of parameters has a maximum in closed form, so
the objective never falls:

    mu = sum x / (n + eta)
    w / |w|: eigenvector of the least eigenvalue q of  M = S_x + eta mu mu' + p I + (r + t) tr(S_v) I - t S_v
    |w|^2, lambda, r and t: each the maximum of a function x^a (x + c)^b exp(-e x), which is the root of a quadratic
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, lapack
from scipy.special import gammaln, logsumexp
from sklearn.cluster import KMeans

from ..._foundation.types import Floats, Integers
from ..._kernels.draws import mode
from ..._kernels.mixture import Points, Prior

_M_STEP_ROUNDS = 5  # over the blocks of parameters in one M-step
_EMPTY = 1e-8  # a component whose responsibilities sum to less stays as it is


@dataclass
class Planes:
    """The K components theta_j of the mixture: mu and w have shape (K, d), and lam, r and t have shape (K,)."""

    mu: Floats
    w: Floats
    lam: Floats
    r: Floats
    t: Floats

    @classmethod
    def start(cls, n_components: int, d: int) -> Planes:
        """Return components at the means of the prior, with w along the first axis."""
        w = np.zeros((n_components, d))
        w[:, 0] = np.sqrt(d)
        one = np.ones(n_components)
        return cls(np.zeros((n_components, d)), w, one.copy(), 0.1 * one, 2.0 * one)

    def log_density(self, points: Points) -> Floats:
        """Return log p(x_i, v_i | theta_j), shape (m, K), equations 14 to 16."""
        d = self.mu.shape[1]
        omega = (self.w**2).sum(axis=1)
        apart = points.x[:, None] - self.mu
        of_x = self.lam * (apart**2).sum(axis=2) + np.einsum("mkd,kd->mk", apart, self.w) ** 2
        of_v = (self.r + self.t) * omega * (points.v**2).sum(axis=1)[:, None] - self.t * (points.v @ self.w.T) ** 2
        log_det = (d - 1) * np.log(self.lam) + np.log(self.lam + omega)
        log_det = log_det + np.log(self.r * omega) + (d - 1) * np.log((self.r + self.t) * omega)
        return 0.5 * (log_det - of_x - of_v) - d * np.log(2 * np.pi)

    def log_prior(self, prior: Prior) -> Floats:
        """Return log p_0(theta_j), shape (K,), equation 17."""
        d = self.mu.shape[1]
        omega = (self.w**2).sum(axis=1)
        of_w = d * np.log(prior.w_precision) - prior.w_precision * omega
        quadratic = self.lam * (self.mu**2).sum(axis=1) + (self.mu * self.w).sum(axis=1) ** 2
        of_mu = d * np.log(prior.eta) + (d - 1) * np.log(self.lam) + np.log(self.lam + omega) - prior.eta * quadratic
        gammas = _log_gamma(self.lam, prior.lam_shape, prior.lam_rate) + _log_gamma(self.r, prior.r_shape, prior.r_rate)
        return gammas + _log_gamma(self.t, prior.t_shape, prior.t_rate) + 0.5 * (of_w + of_mu) - d * np.log(2 * np.pi)


def _log_gamma(x: Floats, shape: float, rate: float) -> Floats:
    return shape * np.log(rate) - gammaln(shape) + (shape - 1) * np.log(x) - rate * x


def kmeans_labels(points: Points, n_components: int, random_state: int) -> Integers:
    """Return components (m,) of the boundary points by k-means, to start from; at most one for each distinct point."""
    n = min(n_components, len(np.unique(points.x, axis=0)))
    return KMeans(n, n_init=1, random_state=random_state).fit(points.x).labels_.astype(np.int64)


def fine_labels(points: Points, n_groups: int, random_state: int) -> Integers:
    """Return groups (m,) of boundary points by k-means on positions and directions; at most one for each distinct point."""
    length = np.linalg.norm(points.v, axis=1, keepdims=True)
    features = np.hstack([points.x, points.v / np.where(length > 0, length, 1.0)])
    n = min(n_groups, len(np.unique(features, axis=0)))
    return KMeans(n, n_init=1, random_state=random_state).fit(features).labels_.astype(np.int64)


def planes_of_labels(points: Points, labels: Integers, n_components: int, prior: Prior, *, n_steps: int = 3) -> Planes:
    """Return the planes of highest posterior given ``labels`` (m,), by up to ``n_steps`` M-steps."""
    planes = Planes.start(n_components, points.x.shape[1])
    responsibilities = (labels[:, None] == np.arange(n_components)) * points.weight[:, None]
    for _ in range(n_steps):
        _m_step(planes, points, responsibilities, prior)
    return planes


def _m_step(planes: Planes, points: Points, responsibilities: Floats, prior: Prior) -> None:
    """Maximise over the planes, in place, for responsibilities (m, K) times the weights of the points."""
    for j in np.flatnonzero(responsibilities.sum(axis=0) > _EMPTY):
        _m_step_of_one(planes, int(j), points, responsibilities[:, j], prior)


def _m_step_of_one(planes: Planes, j: int, points: Points, responsibility: Floats, prior: Prior) -> None:
    """Maximise over component j, in place; moments are taken in a basis of the span of the points."""
    n = responsibility.sum()
    d = points.x.shape[1]
    mu = responsibility @ points.x / (n + prior.eta)
    basis = _basis_of_span(np.vstack([points.x - mu, mu, points.v]))
    x_moment = _second_moment((points.x - mu) @ basis, responsibility)
    x_moment += prior.eta * np.outer(mu @ basis, mu @ basis)
    v_moment = _second_moment(points.v @ basis, responsibility)
    x_trace, v_trace = np.trace(x_moment), np.trace(v_moment)
    lam, r, t = planes.lam[j], planes.r[j], planes.t[j]
    for _ in range(_M_STEP_ROUNDS):
        value, axis = _least_eigenvector(x_moment - t * v_moment, d)
        omega_rate = max(value + (r + t) * v_trace, 0.0) + prior.w_precision
        omega = mode(n * d / 2, (n + 1) / 2, lam, omega_rate / 2)
        lam_power = prior.lam_shape - 1 + (n + 1) * (d - 1) / 2
        lam = mode(lam_power, (n + 1) / 2, omega, prior.lam_rate + x_trace / 2)
        r = mode(prior.r_shape - 1 + n / 2, n * (d - 1) / 2, t, prior.r_rate + omega * v_trace / 2)
        v_across = max(omega * v_trace - omega * (axis @ v_moment @ axis), 0.0)
        t = mode(prior.t_shape - 1, n * (d - 1) / 2, r, prior.t_rate + v_across / 2)
    direction = basis @ axis if axis.any() else _orthogonal_to(basis)
    planes.mu[j] = mu
    planes.w[j] = np.sqrt(omega) * direction
    planes.lam[j], planes.r[j], planes.t[j] = lam, r, t


def _second_moment(rows: Floats, weight: Floats) -> Floats:
    """Return the sum of the outer products of the rows (m, k) with themselves, times their weights (m,); shape (k, k)."""
    return rows.T @ (weight[:, None] * rows)


def _basis_of_span(rows: Floats) -> Floats:
    """Return orthonormal columns that span the rows if these are fewer than their dimensions, else all axes."""
    return np.linalg.qr(rows.T)[0] if len(rows) < rows.shape[1] else np.eye(rows.shape[1])


def _least_eigenvector(matrix: Floats, d: int) -> tuple[float, Floats]:
    """Return the least eigenvalue in d dimensions and its eigenvector in the span, 0 if it lies outside."""
    n_work, n_int_work, _ = lapack.dsyevr_lwork(len(matrix), lower=1)
    values, axes, _, _, info = lapack.dsyevr(
        np.asarray_chkfinite(matrix), range="I", il=1, iu=1, lower=1, lwork=int(n_work), liwork=int(n_int_work)
    )
    if info:
        raise LinAlgError(f"the least eigenvector of a matrix of shape {matrix.shape} was not found: LAPACK says {info}")
    if values[0] > 0 and len(matrix) < d:
        return 0.0, np.zeros(len(matrix))
    return float(values[0]), axes[:, 0]


def _orthogonal_to(basis: Floats) -> Floats:
    axis = np.eye(len(basis))[np.argmin((basis**2).sum(axis=1))]
    rest = axis - basis @ (basis.T @ axis)
    return rest / np.linalg.norm(rest)


def run_em(
    points: Points, planes: Planes, share: Floats, prior: Prior, *, max_iter: int = 200, tol: float = 1e-8
) -> tuple[Integers, Floats]:
    """Run EM on ``planes``, in place; return the labels (m,) and the objective before every M-step."""
    trace: list[float] = []
    for _ in range(max_iter):
        with np.errstate(divide="ignore"):
            log_joint = planes.log_density(points) + np.log(share)
        log_total = logsumexp(log_joint, axis=1)
        trace.append(float(points.weight @ log_total + planes.log_prior(prior).sum()))
        if len(trace) > 1 and trace[-1] - trace[-2] <= tol * abs(trace[-1]):
            break
        responsibilities = np.exp(log_joint - log_total[:, None]) * points.weight[:, None]
        share = responsibilities.sum(axis=0) / points.weight.sum()
        _m_step(planes, points, responsibilities, prior)
    return log_joint.argmax(axis=1), np.array(trace)


def fit_planes(
    points: Points, n_components: int, prior: Prior, rng: np.random.Generator, *, n_starts: int = 10
) -> tuple[Planes, Integers, Floats]:
    """Return the planes, labels (m,) and objectives of the best run of EM.

    Runs start in turn from k-means on positions alone, and on positions and directions; those that keep all components go
    first.
    """
    runs = []
    for start in range(n_starts if n_components > 1 else 1):
        make_labels = fine_labels if start % 2 else kmeans_labels
        labels = make_labels(points, n_components, int(rng.integers(2**31)))
        planes = planes_of_labels(points, labels, n_components, prior)
        share = np.bincount(labels, weights=points.weight, minlength=n_components) / points.weight.sum()
        runs.append((planes, *run_em(points, planes, share, prior)))
    return max(runs, key=lambda run: (len(np.unique(run[1])), run[2][-1]))
