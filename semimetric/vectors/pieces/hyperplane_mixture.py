"""Segmentation of clouds of points into pieces of hyperplanes, whose number is inferred (paper 3)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import logsumexp
from sklearn.base import BaseEstimator
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..._foundation.arrays import as_floats, validated
from ..._foundation.errors import InputError
from ..._foundation.estimator import SavedEstimator, ShortRepr, check_names
from ..._foundation.stored import Stored, StoredIfSet, storable
from ..._foundation.types import ArrayLike, Floats, Integers
from ..._foundation.validation import check_alpha, check_choice, check_count
from ...data.identical_items import identities
from .gibbs_chains import ChainsResult, Schedule
from .mixture_em import Planes, fit_planes
from .mixture_fit import sample_planes, warn_if_fewer, warn_unless_converged
from .mixture_prior import Units, WPrior, base_measure, check_w_prior

_FARTHEST = 1e70  # spreads from a centre


@storable
class HyperplaneMixture(ShortRepr, SavedEstimator, BaseEstimator):
    """Clouds of points as pieces of hyperplanes, whose number is inferred: subspace segmentation (Gai & Zhang 2010).

    The points x and the directions v, along the normals there, are modelled by a Dirichlet process mixture of planes,
    equations 11 to 22. Each plane has a centre mu and a normal w, and |w|^2 adds to the precision across the plane:

        x ~ N(mu, (lambda I + w w')^-1)        v ~ N(0, ((r + t) w'w I - t w w')^-1)

    It is the model of `DPLMClassifier` without classes. The sign of a direction plays no part. Without directions, they are
    estimated: at each point, the normal of the plane through its nearest neighbours by principal components, with the mean
    thickness of such planes for its length.

    Parameters
    ----------
    n_components : int or None, default None
        Number of pieces, which EM fits; None infers it. A `SemimetricWarning` says if fewer are left.
    alpha : float or "auto", default "auto"
        Concentration of the Dirichlet process, > 0; "auto" draws it, from an exponential prior of mean 1.
    w_prior : float, "precision" or "covariance", default 1000.0
        Variance of w in the prior, over the mean variance of the points: larger numbers allow thinner planes. The names are
        readings of equation 26, as in `DPLMClassifier`.
    n_neighbors : int, default 10
        Neighbours through which planes are laid where no directions are given; at most all others.
    n_sweeps : int, default 2000
        Number of sweeps of each chain of Gibbs sampling, of which the first tenth is left out.
    n_chains : int, default 2
        Number of chains, which vote on the number of pieces together.
    n_jobs : int or None, default None
        Threads: None is one, -1 all.
    random_state : int or None, default 0
    verbose : bool or None, default None
        True shows progress bars, False none; None shows them at a terminal and in notebooks after two seconds.

    Attributes
    ----------
    labels_ : ndarray of shape (n_items,)
        The piece of each point.
    n_components_ : int
    centres_, normals_ : ndarray of shape (n_components_, n_features)
        The plane of piece j is <normals_[j], x - centres_[j]> = 0; normals have length 1.
    thickness_ : ndarray of shape (n_components_,)
        Standard deviation of points across each plane, (lambda + w'w)^(-1/2). The prior adds to it where pieces lie far from
        the mean of all points.
    spread_ : ndarray of shape (n_components_,)
        Standard deviation of points along each plane, lambda^(-1/2).
    weights_ : ndarray of shape (n_components_,)
        Share of the points in each piece.
    posterior_n_components_ : ndarray
        Share of the voting states that have 0, 1, 2, ... components; only without ``n_components``.
    r_hat_ : float
        Gelman and Rubin's split R-hat of the log joint density, with a `ConvergenceWarning` above 1.1; only without
        ``n_components``.
    trace_ : ndarray
        As in `DPLMClassifier`.
    n_features_in_ : int

    Raises
    ------
    InputError
        If directions have another shape than the points, or are all 0; if all points coincide and there are no directions; if
        a parameter is out of its range.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (200, 3))
    >>> X[:100, 2] = 0.01 * rng.normal(size=100)
    >>> X[100:, 0] = 2 + 0.01 * rng.normal(size=100)
    >>> model = HyperplaneMixture(n_sweeps=200).fit(X)
    >>> model.n_components_, sorted(np.abs(model.normals_).round().astype(int).tolist())
    (2, [[0, 0, 1], [1, 0, 0]])
    """

    labels_: Stored[Integers]
    n_components_: Stored[int]
    centres_: Stored[Floats]
    normals_: Stored[Floats]
    thickness_: Stored[Floats]
    weights_: Stored[Floats]
    spread_: Stored[Floats]
    posterior_n_components_: StoredIfSet[Floats]
    r_hat_: StoredIfSet[float]
    trace_: Stored[Floats]
    n_features_in_: Stored[int]
    feature_names_in_: StoredIfSet[Any]

    def __init__(
        self,
        n_components: int | None = None,
        *,
        alpha: float | str = "auto",
        w_prior: WPrior = 1000.0,
        n_neighbors: int = 10,
        n_sweeps: int = 2000,
        n_chains: int = 2,
        n_jobs: int | None = None,
        random_state: int | None = 0,
        verbose: bool | None = None,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.w_prior = w_prior
        self.n_neighbors = n_neighbors
        self.n_sweeps = n_sweeps
        self.n_chains = n_chains
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: ArrayLike, y: object = None, *, directions: ArrayLike | None = None) -> HyperplaneMixture:
        """Find the pieces of the points.

        Parameters
        ----------
        X : array-like of shape (n_items, n_features)
        y : ignored
        directions : array-like of shape (n_items, n_features) or None
            A vector along the normal at each point, of any length; None estimates them.
        """
        self._check()
        items = validated(self, X, dtype=np.float64, order="C", ensure_min_samples=2)
        if self.n_components is not None and self.n_components > len(items):
            raise InputError(
                f"n_components={self.n_components} is more than there are points, {len(items)}; give fewer, or None"
            )
        v = _local_normals(items, self.n_neighbors, self.n_jobs) if directions is None else _checked(directions, items)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        units = Units.of(items, v)
        prior = base_measure(items.shape[1], units.sigma, self.w_prior)
        points = units.points(items, v, np.ones(len(items)))
        run: ChainsResult | Floats
        if self.n_components is None:
            alpha = None if self.alpha == "auto" else float(self.alpha)
            schedule = Schedule(alpha, self.n_sweeps, self.n_sweeps // 10, self.n_chains, n_auxiliary=3)
            planes, labels, run = sample_planes(points, prior, schedule, rng, n_jobs=self.n_jobs, verbose=self.verbose)
        else:
            planes, labels, run = fit_planes(points, self.n_components, prior, rng)
            warn_if_fewer(len(np.unique(labels)), self.n_components)
        self._set(planes, labels, units, run)
        return self

    def _check(self) -> None:
        check_w_prior(self.w_prior)
        if self.w_prior == "auto":
            raise InputError("w_prior='auto': there are no classes to choose it by; give a number, 'precision' or 'covariance'")
        if isinstance(self.alpha, str):
            check_choice("alpha", self.alpha, ("auto",))
        else:
            check_alpha("alpha", self.alpha, strict=True)
        for name in ("n_sweeps", "n_chains", "n_neighbors"):
            check_count(name, getattr(self, name))
        if self.n_components is not None:
            check_count("n_components", self.n_components)

    def _set(self, planes: Planes, labels: Integers, units: Units, run: ChainsResult | Floats) -> None:
        """Set the attributes of the fit, then raise KeyboardInterrupt if Ctrl-C ended it."""
        used, self.labels_ = np.unique(labels, return_inverse=True)
        w = planes.w[used]
        length = np.linalg.norm(w, axis=1, keepdims=True)
        largest = np.take_along_axis(w, np.abs(w).argmax(axis=1)[:, None], axis=1)
        self.n_components_ = len(used)
        self.centres_ = units.center + units.sigma * planes.mu[used]
        self.normals_ = w / (length * np.sign(largest))  # the largest entry is positive
        self.spread_ = units.sigma / np.sqrt(planes.lam[used])
        self.thickness_ = units.sigma / np.sqrt(planes.lam[used] + length[:, 0] ** 2)
        self.weights_ = np.bincount(self.labels_) / len(labels)
        for name in ("posterior_n_components_", "r_hat_"):
            self.__dict__.pop(name, None)  # an earlier fit may have left it
        self.trace_ = run.trace if isinstance(run, ChainsResult) else run
        if isinstance(run, ChainsResult):
            self.posterior_n_components_ = run.frequencies
            self.r_hat_ = run.r_hat
            if run.interrupted:
                raise KeyboardInterrupt
            warn_unless_converged(run.r_hat, f"n_sweeps={self.n_sweeps}")

    def fit_predict(self, X: ArrayLike, y: object = None, *, directions: ArrayLike | None = None) -> Integers:
        """Find the pieces, and return ``labels_``."""
        return self.fit(X, directions=directions).labels_

    def predict(self, X: ArrayLike) -> Integers:
        """Return the most probable piece of each point, shape (n_queries,), by its position alone."""
        return self._log_joint(X).argmax(axis=1)

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return the probability of each piece, (n_queries, n_components_), by position alone (equation 15)."""
        log_joint = self._log_joint(X)
        return np.exp(log_joint - logsumexp(log_joint, axis=1)[:, None])

    def distances(self, X: ArrayLike) -> Floats:
        """Return the signed distances to the plane of each piece, shape (n_queries, n_components_)."""
        items = self._items(X)
        return np.stack([(items - c) @ n for c, n in zip(self.centres_, self.normals_, strict=True)], axis=1)

    def _items(self, X: ArrayLike) -> Floats:
        check_is_fitted(self, "centres_")
        return validated(self, X, dtype=np.float64, order="C", reset=False)

    def _log_joint(self, X: ArrayLike) -> Floats:
        """Return log (weight times p(x | theta)) of each piece up to a constant, shape (n_queries, K), equation 15."""
        items, d = self._items(X), self.n_features_in_
        across, apart = np.empty((2, len(items), len(self.weights_)))
        with np.errstate(over="ignore"):
            for k, spread in enumerate(self.spread_):
                offset = np.clip((items - self.centres_[k]) / spread, -_FARTHEST, _FARTHEST)
                across[:, k], apart[:, k] = offset @ self.normals_[k], (offset**2).sum(axis=1)
        along = np.maximum(apart - across**2, 0.0)
        log_det = -(d - 1) * np.log(self.spread_) - np.log(self.thickness_)
        return np.log(self.weights_) + log_det - 0.5 * (along + (across * (self.spread_ / self.thickness_)) ** 2)

    def check_restored(self) -> None:
        self._check()
        d, K = self.n_features_in_, self.n_components_
        check_names(self, d)
        for name in ("centres_", "normals_"):
            self.stored_array(name, K, d)
        for name in ("thickness_", "weights_", "spread_"):
            self.stored_array(name, K)
        n = len(self.stored_array("labels_", None, least=0, most=K - 1))
        positive = (self.thickness_ > 0).all() and (self.spread_ > 0).all()
        if not positive or not np.allclose(np.linalg.norm(self.normals_, axis=1), 1.0):
            raise InputError("thickness_ or spread_ is not positive, or normals_ are not of length 1; restore the file")
        with np.errstate(over="ignore"):
            thin = not (self.spread_ / self.thickness_ < _FARTHEST).all()  # of which the squares overflow
        if thin:
            raise InputError("thickness_ is too small beside spread_ for probabilities; restore the file")
        if not n or not np.array_equal(np.bincount(self.labels_, minlength=K) / n, self.weights_):
            raise InputError("weights_ are not the shares of labels_; restore the file")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "weights_")


def _checked(directions: ArrayLike, items: Floats) -> Floats:
    """Return directions as floats; refuse another shape than that of the points, and only zeros."""
    v = as_floats(directions, "directions")
    if v.shape != items.shape:
        raise InputError(f"directions have shape {v.shape}, X has {items.shape}; give one direction for each point")
    if not np.isfinite(v).all():
        raise InputError("directions contain NaN or infinity; finite numbers are required: remove these points")
    if not v.any():
        raise InputError("directions are all 0, which faces nowhere; give vectors along the normals, or None")
    return v


def _local_normals(items: Floats, n_neighbors: int, n_jobs: int | None) -> Floats:
    """Return the normals of planes through the nearest neighbours of each point, as long as these planes are thick.

    Points that coincide are one among the neighbours.
    """
    found = identities(items)
    if len(found.first) < len(items):
        return _local_normals(items[found.first], n_neighbors, n_jobs)[found.number]
    unit = np.abs(items - items.mean(axis=0)).max()
    if unit == 0:
        raise InputError("all points coincide, so that no plane lies through them; give points that differ, or directions")
    k = min(n_neighbors + 1, len(items))
    near = NearestNeighbors(n_neighbors=k, n_jobs=n_jobs).fit(items / unit).kneighbors(items / unit, return_distance=False)
    clouds = (items[near] - items[near].mean(axis=1, keepdims=True)) / unit
    variances, axes = np.linalg.eigh(np.einsum("nki,nkj->nij", clouds, clouds) / k)
    thickness = np.sqrt(np.maximum(variances[:, 0], 0.0)).mean()
    return unit * max(float(thickness), 1e-3) * axes[:, :, 0]
