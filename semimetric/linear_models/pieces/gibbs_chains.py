"""Markov chains of the mixture with a Dirichlet process: the number of planes by vote, then the best state that has as many.

As in the paper, states up to a burn-in are left out, those up to the middle vote on the number of components, and the state
with that number and the highest log p(points, parameters | labels) of all since is the estimate. That sum of logarithms takes
the place of equation 23, which sums densities and is no posterior.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from tqdm.auto import tqdm

from ..._foundation.threads import map_blocks
from ..._foundation.types import Floats, Integers
from ..._kernels.mixture import Mixture, Points, Prior, Settings, sweeps
from .mixture_em import Planes, grouped, settled_on

__all__ = ["Chain", "ChainsResult", "Schedule", "run_chains", "split_r_hat"]

_ROUND = 100  # sweeps between looks at the clock, at the votes and at Ctrl-C
_GROUPS = (1, 8, 3, 16, 5, 2, 12)  # components that chains start with


class Chain:
    """One chain: its state, the best state with the number of components that is wanted, and its random numbers."""

    def __init__(self, points: Points, prior: Prior, *, n_start: int, n_auxiliary: int, rng: np.random.Generator) -> None:
        labels = grouped(points, n_start, int(rng.integers(2**31)))
        size = int(labels.max()) + 1
        planes = settled_on(points, labels, size, prior)
        self.points, self.prior, self.n_auxiliary, self.rng = points, prior, n_auxiliary, rng
        self.state, self.best = (_empty(points, n_auxiliary) for _ in range(2))
        self.state.mu[:size], self.state.w[:size], self.state.labels[:] = planes.mu, planes.w, labels
        self.state.scalars[:size, :4] = np.column_stack([planes.lam, planes.r, planes.t, (planes.w**2).sum(axis=1)])
        self.state.scalars[:size, 4] = _constants(planes)
        self.state.total[:size] = np.bincount(labels, weights=points.weight)
        self.state.size[0] = size

    def advance(self, n_sweeps: int, alpha: float, wanted: int) -> Floats:
        """Trace (n_sweeps, 3) of the log joint, the number of components, and the share of points that moved."""
        if self.best.size[0] != wanted:
            self.best.score[0], self.best.size[0] = -np.inf, wanted
        trace = np.empty((n_sweeps, 3))
        settings = Settings(float(alpha), self.n_auxiliary, wanted)
        sweeps(self.points, self.prior, settings, self.state, self.best, trace, self.rng)
        return trace


def _empty(points: Points, n_auxiliary: int) -> Mixture:
    (m, d), slots = points.x.shape, len(points.x) + n_auxiliary
    return Mixture(
        np.zeros((slots, d)), np.ones((slots, d)), np.ones((slots, 5)), np.zeros(slots),
        np.zeros(m, np.int64), np.zeros(1, np.int64), np.full(1, -np.inf),
    )  # fmt: skip


def _constants(planes: Planes) -> Floats:
    d, omega = planes.mu.shape[1], (planes.w**2).sum(axis=1)
    of_x = (d - 1) * np.log(planes.lam) + np.log(planes.lam + omega)
    return 0.5 * (of_x + np.log(planes.r * omega) + (d - 1) * np.log((planes.r + planes.t) * omega))


@dataclass(frozen=True)
class ChainsResult:
    """What the chains showed.

    Parameters
    ----------
    planes : Planes
    labels : ndarray of shape (m,)
    frequencies : ndarray
        Share of the voting states that have 0, 1, 2, ... components.
    trace : ndarray of shape (n_chains, n_sweeps, 3)
    r_hat : float
        NaN where fewer than four states are behind the burn-in.
    interrupted : bool
    """

    planes: Planes
    labels: Integers
    frequencies: Floats
    trace: Floats
    r_hat: float
    interrupted: bool


@dataclass(frozen=True)
class Schedule:
    """How long, and how many: the parameters of the same names of `DPLMClassifier`."""

    alpha: float
    n_sweeps: int
    burn_in: int
    n_chains: int
    n_auxiliary: int


def run_chains(
    points: Points,
    prior: Prior,
    schedule: Schedule,
    *,
    rng: np.random.Generator,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> ChainsResult:
    """Run the chains, all by the same number of sweeps; Ctrl-C ends them early, and what they found so far is kept."""
    chains = _started(points, prior, schedule, rng)
    n_sweeps, burn_in = schedule.n_sweeps, schedule.burn_in
    half, interrupted = max(n_sweeps // 2, burn_in + 1), False
    traces: list[Floats] = []
    with tqdm(total=n_sweeps, desc="sweeps", disable=not verbose) as bar:
        try:
            while (done := sum(t.shape[1] for t in traces)) < n_sweeps:
                wanted, size = _leading(_votes(traces, burn_in, half)), min(_ROUND, n_sweeps - done)
                step = map_blocks(
                    lambda c: chains[c.start].advance(size, schedule.alpha, wanted),  # noqa: B023 - called at once
                    len(chains), size=1, n_jobs=n_jobs,
                )  # fmt: skip
                traces.append(np.stack(step))
                bar.update(size)
        except KeyboardInterrupt:
            interrupted = True
    trace = np.concatenate(traces, axis=1) if traces else np.empty((len(chains), 0, 3))
    votes = _votes([trace], burn_in, half)
    if not votes.any():  # interrupted before there was one
        votes = np.bincount([int(chain.state.size[0]) for chain in chains])
    planes, labels = _estimate(chains, _leading(votes))
    return ChainsResult(planes, labels, votes / votes.sum(), trace, split_r_hat(trace[:, burn_in:, 0]), interrupted)


def _started(points: Points, prior: Prior, schedule: Schedule, rng: np.random.Generator) -> list[Chain]:
    """Chains that start with different numbers of components."""
    starts = [_GROUPS[c % len(_GROUPS)] for c in range(schedule.n_chains)]
    return [
        Chain(points, prior, n_start=n, n_auxiliary=schedule.n_auxiliary, rng=generator)
        for n, generator in zip(starts, rng.spawn(schedule.n_chains), strict=True)
    ]


def _votes(traces: list[Floats], burn_in: int, half: int) -> Integers:
    """Voting states with 0, 1, 2, ... components."""
    if not traces:
        return np.zeros(1, np.int64)
    return np.bincount(np.concatenate(traces, axis=1)[:, burn_in:half, 1].astype(np.int64).ravel(), minlength=1)


def _leading(votes: Integers) -> int:
    """The number of components with the most votes, 0 before there are any."""
    return int(votes.argmax())


def _estimate(chains: list[Chain], size: int) -> tuple[Planes, Integers]:
    """The best state with ``size`` components; where none was kept, as when interrupted, the last state of a chain."""
    kept = [chain.best for chain in chains if chain.best.size[0] == size and np.isfinite(chain.best.score[0])]
    last = [chain.state for chain in chains if chain.state.size[0] == size] or [chain.state for chain in chains]
    state = max(kept, key=lambda b: b.score[0]) if kept else last[0]
    k = int(state.size[0])
    lam, r, t = state.scalars[:k, :3].T.copy()
    return Planes(state.mu[:k].copy(), state.w[:k].copy(), lam, r, t), state.labels.copy()


def split_r_hat(values: Floats) -> float:
    """Gelman and Rubin's R-hat of chains (n_chains, n), each cut into halves: near 1 where all agree, NaN for n < 4."""
    half = values.shape[1] // 2
    if half < 2:
        return float("nan")
    parts = np.concatenate([values[:, :half], values[:, -half:]])
    within, between = parts.var(axis=1, ddof=1).mean(), parts.mean(axis=1).var(ddof=1)
    if within == 0:
        return 1.0 if between == 0 else float("inf")
    return float(np.sqrt((half - 1) / half + between / within))
