"""Gibbs sampling of the mixture with a Dirichlet process, in several Markov chains.

As in paper 3, the sweeps of the burn-in are left out, and the states from there to the middle of the chains vote on the number
of components. The estimate is the state with that number of components and the highest log p(points, parameters | labels).
This sum of logarithms takes the place of equation 23, which sums densities and is no posterior.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from sklearn.base import BaseEstimator

from ..._foundation.errors import InputError
from ..._foundation.estimator import ShortRepr
from ..._foundation.progress import progress_bar
from ..._foundation.stored import storable
from ..._foundation.threads import map_blocks
from ..._foundation.types import Floats, Integers
from ..._foundation.validation import check_count
from ..._kernels.mixture import ChainSettings, Mixture, Points, Prior, sweeps
from .merged_planes import merged_labels
from .mixture_em import Planes, planes_of_labels

_MEAN_ALPHA = 1.0  # of the prior of the concentration, where that is drawn
_SWEEPS_PER_ALPHA = 10
_SWEEPS_PER_ROUND = 100  # between two counts of the votes, at which Ctrl-C is seen
_START_GROUPS = (24, 12, 1, 16, 8, 2, 6)  # numbers of groups of points that are merged to where the chains start, in turn


class Chain:
    """One chain: its state, the best state so far with the number of components that leads the votes, and its generator."""

    def __init__(
        self, points: Points, prior: Prior, *, n_start: int, alpha: float | None, n_auxiliary: int, rng: np.random.Generator
    ) -> None:
        self.points = points
        self.prior = prior
        self.n_auxiliary = n_auxiliary
        self.draws_alpha = alpha is None
        self.alpha = _MEAN_ALPHA if alpha is None else alpha
        self.rng = rng
        self.state = _empty_state(points, n_auxiliary)
        self.best = _empty_state(points, n_auxiliary)
        labels = merged_labels(points, prior, self.alpha, n_start, int(rng.integers(2**31)))
        size = int(labels.max()) + 1
        planes = planes_of_labels(points, labels, size, prior)
        self.state.mu[:size] = planes.mu
        self.state.w[:size] = planes.w
        self.state.labels[:] = labels
        self.state.scalars[:size, :4] = np.column_stack([planes.lam, planes.r, planes.t, (planes.w**2).sum(axis=1)])
        self.state.scalars[:size, 4] = _log_constants(planes)
        self.state.total[:size] = np.bincount(labels, weights=points.weight)
        self.state.size[0] = size

    def advance(self, n_sweeps: int, n_components: int) -> Floats:
        """Sweep over the points; return the log joint density, components and share of moves (n_sweeps, 3)."""
        if self.best.size[0] != n_components:
            self.best.score[0] = -np.inf
            self.best.size[0] = n_components
        trace = np.empty((n_sweeps, 3))
        step = _SWEEPS_PER_ALPHA if self.draws_alpha else n_sweeps
        for first in range(0, n_sweeps, step):
            settings = ChainSettings(float(self.alpha), self.n_auxiliary, n_components)
            sweeps(self.points, self.prior, settings, self.state, self.best, trace[first : first + step], self.rng)
            if self.draws_alpha:
                trace[first : first + step, 0] -= self.alpha / _MEAN_ALPHA  # its log density, up to a constant
                self.alpha = draw_alpha(self.alpha, int(self.state.size[0]), float(self.points.weight.sum()), self.rng)
        return trace


def draw_alpha(alpha: float, n_components: int, n_points: float, rng: np.random.Generator) -> float:
    """Draw the concentration under an exponential prior of mean 1 (Escobar & West 1995, section 6).

    With eta ~ Beta(alpha + 1, n), alpha is Gamma(1 + K, 1 - log eta) or, by the odds n (1 - log eta) to K, Gamma(K, 1 - log
    eta).
    """
    rate = 1.0 / _MEAN_ALPHA - np.log(rng.beta(alpha + 1.0, n_points))
    is_more = rng.random() * (n_components + n_points * rate) < n_components
    return float(rng.gamma(n_components + is_more) / rate)


def _empty_state(points: Points, n_auxiliary: int) -> Mixture:
    """Return a state that can hold a component on every point and the auxiliary ones; none is in use."""
    m, d = points.x.shape
    n_slots = m + n_auxiliary
    return Mixture(
        mu=np.zeros((n_slots, d)),
        w=np.ones((n_slots, d)),
        scalars=np.ones((n_slots, 5)),
        total=np.zeros(n_slots),
        labels=np.zeros(m, np.int64),
        size=np.zeros(1, np.int64),
        score=np.full(1, -np.inf),
    )


def _log_constants(planes: Planes) -> Floats:
    """Return the terms of log p(x, v | theta_j) that do not depend on x and v, but for powers of 2 pi; shape (K,)."""
    d = planes.mu.shape[1]
    omega = (planes.w**2).sum(axis=1)
    of_x = (d - 1) * np.log(planes.lam) + np.log(planes.lam + omega)
    return 0.5 * (of_x + np.log(planes.r * omega) + (d - 1) * np.log((planes.r + planes.t) * omega))


@dataclass(frozen=True)
class ChainsResult:
    """The estimate from the chains, and how they ran."""

    planes: Planes  # the components of the estimate
    labels: Integers  # (m,); the number of the component of each point
    frequencies: Floats  # share of the voting states that have 0, 1, 2, ... components
    trace: Floats  # (n_chains, n_sweeps, 3); what `Chain.advance` returned
    r_hat: float  # split R-hat of the log joint density after the burn-in; NaN where that is fewer than four sweeps
    interrupted: bool  # True after Ctrl-C


@dataclass(frozen=True)
class Schedule:
    """The parameters of `DPLMClassifier` of the same names that concern the chains; alpha is None where it is drawn."""

    alpha: float | None
    n_sweeps: int
    burn_in: int
    n_chains: int
    n_auxiliary: int

    @property
    def first_alpha(self) -> float:
        """The concentration with which points are merged: the mean of its prior, where it is drawn."""
        return _MEAN_ALPHA if self.alpha is None else self.alpha


@storable
class GibbsChains(ShortRepr, BaseEstimator):
    """Number and length of the Markov chains by which `DPLMClassifier` samples, algorithm 8 of Neal (2000).

    Parameters
    ----------
    n_sweeps : int, default 10000
        Number of sweeps of each chain.
    burn_in : int or None, default None
        Number of sweeps that are left out at first; None is a tenth of all. The sweeps from there to the middle vote on the
        number of components.
    n_auxiliary : int, default 3
        Candidates for a new component in algorithm 8: with more of them chains take more time, and mix better.
    n_chains : int, default 2
        Number of chains, which vote together. Each starts from planes that are merged, as long as that is more probable, out of
        another number of small groups of boundary points.
    refine : bool, default True
        True lets EM refine the best state of the chains, unless a component would lose all its points.

    Examples
    --------
    >>> GibbsChains(n_sweeps=2000, n_chains=1)
    GibbsChains(n_chains=1, n_sweeps=2000)
    """

    def __init__(
        self,
        *,
        n_sweeps: int = 10_000,
        burn_in: int | None = None,
        n_auxiliary: int = 3,
        n_chains: int = 2,
        refine: bool = True,
    ) -> None:
        self.n_sweeps = n_sweeps
        self.burn_in = burn_in
        self.n_auxiliary = n_auxiliary
        self.n_chains = n_chains
        self.refine = refine

    def check(self) -> None:
        """Refuse numbers that are out of their range.

        Raises
        ------
        InputError
            If a number is too small, or no sweep is left behind the burn-in.
        """
        for name in ("n_sweeps", "n_auxiliary", "n_chains"):
            check_count(name, getattr(self, name))
        if self.burn_in is not None and check_count("burn_in", self.burn_in, minimum=0) >= self.n_sweeps:
            given = f"burn_in={self.burn_in!r} and n_sweeps={self.n_sweeps!r}"
            raise InputError(f"{given}: sweeps must be left behind the burn-in; raise n_sweeps")

    def schedule(self, alpha: float | None) -> Schedule:
        """Return these numbers with the concentration ``alpha``; None draws it."""
        burn_in = self.n_sweeps // 10 if self.burn_in is None else self.burn_in
        return Schedule(alpha, self.n_sweeps, burn_in, self.n_chains, self.n_auxiliary)


def run_chains(
    points: Points,
    prior: Prior,
    schedule: Schedule,
    *,
    rng: np.random.Generator,
    n_jobs: int | None = None,
    verbose: bool | None = None,
) -> ChainsResult:
    """Run all chains by the same number of sweeps; Ctrl-C ends them early, and what they found so far is kept."""
    starts = [_START_GROUPS[c % len(_START_GROUPS)] for c in range(schedule.n_chains)]
    chains = [
        Chain(points, prior, n_start=n_start, alpha=schedule.alpha, n_auxiliary=schedule.n_auxiliary, rng=generator)
        for n_start, generator in zip(starts, rng.spawn(schedule.n_chains), strict=True)
    ]
    trace, interrupted = _sample(chains, schedule, n_jobs, verbose)
    votes = _votes(trace, schedule)
    if not votes.any():  # Ctrl-C came before the first voting state
        votes = np.bincount([int(chain.state.size[0]) for chain in chains])
    planes, labels = _estimate(chains, int(votes.argmax()))
    r_hat = split_r_hat(trace[:, schedule.burn_in :, 0])
    return ChainsResult(planes, labels, votes / votes.sum(), trace, r_hat, interrupted)


def _sample(chains: list[Chain], schedule: Schedule, n_jobs: int | None, verbose: bool | None) -> tuple[Floats, bool]:
    """Return the trace of the chains (n_chains, n_sweeps, 3), and True if Ctrl-C cut it short."""
    trace = np.empty((len(chains), 0, 3))
    with progress_bar(schedule.n_sweeps, "sweeps", verbose=verbose) as bar:
        try:
            while (n_done := trace.shape[1]) < schedule.n_sweeps:
                n_sweeps = min(_SWEEPS_PER_ROUND, schedule.n_sweeps - n_done)
                n_components = int(_votes(trace, schedule).argmax())  # 0 before there are votes
                advance = partial(_advance, chains, n_sweeps, n_components)
                traces = map_blocks(advance, len(chains), size=1, n_jobs=n_jobs)
                trace = np.concatenate([trace, np.stack(traces)], axis=1)
                bar.update(n_sweeps)
        except KeyboardInterrupt:
            return trace, True
    return trace, False


def _advance(chains: list[Chain], n_sweeps: int, n_components: int, place: slice) -> Floats:
    return chains[place.start].advance(n_sweeps, n_components)


def _votes(trace: Floats, schedule: Schedule) -> Integers:
    """Count the states between the burn-in and the middle of the chains that have 0, 1, 2, ... components."""
    middle = max(schedule.n_sweeps // 2, schedule.burn_in + 1)
    n_components = trace[:, schedule.burn_in : middle, 1].astype(np.int64)
    return np.bincount(n_components.ravel(), minlength=1)


def _estimate(chains: list[Chain], size: int) -> tuple[Planes, Integers]:
    """Return the planes and labels (m,) of the best state with ``size`` components, or of a last state if none was stored."""
    kept = [chain.best for chain in chains if chain.best.size[0] == size and np.isfinite(chain.best.score[0])]
    last = [chain.state for chain in chains if chain.state.size[0] == size] or [chain.state for chain in chains]
    state = max(kept, key=lambda best: best.score[0]) if kept else last[0]
    k = int(state.size[0])
    lam, r, t = state.scalars[:k, :3].T.copy()
    return Planes(state.mu[:k].copy(), state.w[:k].copy(), lam, r, t), state.labels.copy()


def split_r_hat(values: Floats) -> float:
    """Gelman and Rubin's R-hat of chains (n_chains, n), each cut into halves: near 1 where all agree, NaN for n < 4."""
    half = values.shape[1] // 2
    if half < 2:
        return float("nan")
    parts = np.concatenate([values[:, :half], values[:, -half:]])
    within = parts.var(axis=1, ddof=1).mean()
    between = parts.mean(axis=1).var(ddof=1)
    if within == 0:
        return 1.0 if between == 0 else float("inf")
    return float(np.sqrt((half - 1) / half + between / within))
