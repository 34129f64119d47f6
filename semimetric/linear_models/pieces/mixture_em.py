"""The mixture with a given number of planes, by EM to a maximum of the posterior (paper 3, "Alternatively ...").

    max  sum_i m_i log sum_j pi_j p(x_i, v_i | theta_j) + sum_j log p_0(theta_j)

The paper leaves out the M-step. With n the responsibility of a component, S_x and S_v its moments around mu and 0, every block
has a maximum in closed form, so the objective never falls:

    mu = sum x / (n + eta)
    w / |w|: eigenvector of the least eigenvalue q of  M = S_x + eta mu mu' + p I + (r + t) tr(S_v) I - t S_v
    |w|^2, lambda, r, t: each the maximum of an x^a (x + c)^b exp(-e x), the root of a quadratic
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh
from scipy.special import gammaln, logsumexp
from sklearn.cluster import KMeans

from ..._foundation.types import Floats, Integers
from ..._kernels.draws import mode
from ..._kernels.mixture import Points, Prior

__all__ = ["Planes", "climb", "fit_planes", "grouped", "settled_on"]

_ROUNDS = 5  # of the blocks in an M-step
_EMPTY = 1e-8


@dataclass
class Planes:
    """Components theta_j: mu and w (K, d); lam, r and t (K,)."""

    mu: Floats
    w: Floats
    lam: Floats
    r: Floats
    t: Floats

    @classmethod
    def start(cls, n_components: int, d: int) -> Planes:
        """At the prior means, w along the first axis."""
        w = np.zeros((n_components, d))
        w[:, 0] = np.sqrt(d)
        one = np.ones(n_components)
        return cls(np.zeros((n_components, d)), w, one.copy(), 0.1 * one, 2.0 * one)

    def log_density(self, points: Points) -> Floats:
        """log p(x_i, v_i | theta_j), shape (m, K), equations 14 to 16."""
        d, omega = self.mu.shape[1], (self.w**2).sum(axis=1)
        apart = points.x[:, None] - self.mu
        of_x = self.lam * (apart**2).sum(axis=2) + np.einsum("mkd,kd->mk", apart, self.w) ** 2
        of_v = (self.r + self.t) * omega * (points.v**2).sum(axis=1)[:, None] - self.t * (points.v @ self.w.T) ** 2
        log_det = (d - 1) * np.log(self.lam) + np.log(self.lam + omega)
        log_det = log_det + np.log(self.r * omega) + (d - 1) * np.log((self.r + self.t) * omega)
        return 0.5 * (log_det - of_x - of_v) - d * np.log(2 * np.pi)

    def log_prior(self, prior: Prior) -> Floats:
        """log p_0(theta_j), shape (K,), equation 17."""
        d, omega = self.mu.shape[1], (self.w**2).sum(axis=1)
        of_w = d * np.log(prior.w_precision) - prior.w_precision * omega
        quadratic = self.lam * (self.mu**2).sum(axis=1) + (self.mu * self.w).sum(axis=1) ** 2
        of_mu = d * np.log(prior.eta) + (d - 1) * np.log(self.lam) + np.log(self.lam + omega) - prior.eta * quadratic
        gammas = _log_gamma(self.lam, prior.lam_shape, prior.lam_rate) + _log_gamma(self.r, prior.r_shape, prior.r_rate)
        return gammas + _log_gamma(self.t, prior.t_shape, prior.t_rate) + 0.5 * (of_w + of_mu) - d * np.log(2 * np.pi)


def _log_gamma(x: Floats, shape: float, rate: float) -> Floats:
    return shape * np.log(rate) - gammaln(shape) + (shape - 1) * np.log(x) - rate * x


def grouped(points: Points, n_components: int, random_state: int) -> Integers:
    """Labels to start from: k-means of the boundary points."""
    n = min(n_components, len(np.unique(points.x, axis=0)))
    return KMeans(n, n_init=1, random_state=random_state).fit(points.x).labels_.astype(np.int64)


def settled_on(points: Points, labels: Integers, n_components: int, prior: Prior) -> Planes:
    """The planes of highest posterior, nearly, for labels that are given."""
    planes = Planes.start(n_components, points.x.shape[1])
    given = (labels[:, None] == np.arange(n_components)) * points.weight[:, None]
    for _ in range(3):
        _maximise(planes, points, given, prior)
    return planes


def _maximise(planes: Planes, points: Points, shares: Floats, prior: Prior) -> None:
    """The M-step for responsibilities (m, K), weights included; a component without any stays as it is."""
    for j in np.flatnonzero(shares.sum(axis=0) > _EMPTY):
        _maximise_one(planes, int(j), points, shares[:, j], prior)


def _maximise_one(planes: Planes, j: int, points: Points, share: Floats, prior: Prior) -> None:
    n, d = share.sum(), points.x.shape[1]
    mu = share @ points.x / (n + prior.eta)
    basis = _basis(np.vstack([points.x - mu, mu, points.v]))
    apart, toward = (points.x - mu) @ basis, points.v @ basis
    of_x, of_v = (side.T @ (share[:, None] * side) for side in (apart, toward))
    of_x += prior.eta * np.outer(mu @ basis, mu @ basis)
    length, many = np.trace(of_v), n * (d - 1) / 2
    lam, r, t = planes.lam[j], planes.r[j], planes.t[j]
    for _ in range(_ROUNDS):
        value, axis = _least(of_x - t * of_v, d)
        least = max(value + (r + t) * length, 0.0) + prior.w_precision
        omega = mode(n * d / 2, (n + 1) / 2, lam, least / 2)
        along = omega * (axis @ of_v @ axis)
        lam_power = prior.lam_shape - 1 + (n + 1) * (d - 1) / 2
        lam = mode(lam_power, (n + 1) / 2, omega, prior.lam_rate + np.trace(of_x) / 2)
        r = mode(prior.r_shape - 1 + n / 2, many, t, prior.r_rate + omega * length / 2)
        t = mode(prior.t_shape - 1, many, r, prior.t_rate + max(omega * length - along, 0.0) / 2)
    direction = basis @ axis if axis.any() else _outside(basis)
    planes.mu[j], planes.w[j] = mu, np.sqrt(omega) * direction
    planes.lam[j], planes.r[j], planes.t[j] = lam, r, t


def _basis(rows: Floats) -> Floats:
    """Orthonormal columns that span the rows, where these are fewer than dimensions: all that the M-step depends on."""
    return np.linalg.qr(rows.T)[0] if len(rows) < rows.shape[1] else np.eye(rows.shape[1])


def _least(matrix: Floats, d: int) -> tuple[float, Floats]:
    """The smallest eigenvalue and its axis, of d dimensions in which the matrix is 0 beyond its own; the axis is 0 there."""
    values, axes = eigh(matrix, subset_by_index=[0, 0])
    if values[0] > 0 and len(matrix) < d:
        return 0.0, np.zeros(len(matrix))
    return float(values[0]), axes[:, 0]


def _outside(basis: Floats) -> Floats:
    """A unit vector that is orthogonal to the columns of the basis: what is left of the axis that they hold least of."""
    axis = np.eye(len(basis))[np.argmin((basis**2).sum(axis=1))]
    rest = axis - basis @ (basis.T @ axis)
    return rest / np.linalg.norm(rest)


def climb(
    points: Points, planes: Planes, share: Floats, prior: Prior, *, max_iter: int = 200, tol: float = 1e-8
) -> tuple[Integers, Floats]:
    """EM from ``planes``, which it changes, and their shares pi (K,); labels, and the objective before every M-step."""
    trace: list[float] = []
    for _ in range(max_iter):
        with np.errstate(divide="ignore"):
            log_parts = planes.log_density(points) + np.log(share)
        total = logsumexp(log_parts, axis=1)
        trace.append(float(points.weight @ total + planes.log_prior(prior).sum()))
        if len(trace) > 1 and trace[-1] - trace[-2] <= tol * abs(trace[-1]):
            break
        parts = np.exp(log_parts - total[:, None]) * points.weight[:, None]
        share = parts.sum(axis=0) / points.weight.sum()
        _maximise(planes, points, parts, prior)
    return log_parts.argmax(axis=1), np.array(trace)


def fit_planes(
    points: Points, n_components: int, prior: Prior, rng: np.random.Generator, *, n_starts: int = 10
) -> tuple[Planes, Integers, Floats]:
    """The best of several climbs from k-means: planes, labels and the objective."""
    climbs = []
    for _ in range(n_starts if n_components > 1 else 1):
        labels = grouped(points, n_components, int(rng.integers(2**31)))
        planes = settled_on(points, labels, n_components, prior)
        share = np.bincount(labels, weights=points.weight, minlength=n_components) / points.weight.sum()
        climbs.append((planes, *climb(points, planes, share, prior)))
    return max(climbs, key=lambda found: found[2][-1])
