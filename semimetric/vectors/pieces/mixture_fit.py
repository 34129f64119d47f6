"""The pieces between a positive class and the rest: boundary points, the prior, the mixture of planes, and machines."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning as NotConverged

from ..._foundation.errors import ConvergenceWarning, InputError, warn
from ..._foundation.types import Floats, Integers
from ..._kernels.mixture import Points, Prior
from .boundary_points import Boundary
from .gibbs_chains import ChainsResult, Schedule, run_chains
from .merged_planes import merged_labels
from .mixture_em import Planes, fine_labels, fit_planes, planes_of_labels, run_em
from .mixture_prior import Units, WPrior, base_measure
from .piece_choice import PieceChoice, PieceMachine, PieceOptions, choose_pieces, machines_to_try, options_to_try
from .piecewise_boundary import Pieces, with_support_vector_machines
from .support_pairs import find_support_pairs
from .two_classes import TwoClasses

_MAX_R_HAT = 1.1  # above it the chains are taken not to have converged
_PASSES_OF_SCORED = 1_000  # over the items, of machines that only score a prior: on data of wild scales they never end
_GROUPS_BY_FOLD = 12  # of boundary points, before they are merged, where priors are compared


@dataclass(frozen=True)
class MixtureSettings:
    """The parameters of `DPLMClassifier` of the same names."""

    schedule: Schedule
    n_components: int | str | None
    local: str
    C: float | str
    overlap: float | str
    w_prior: WPrior
    counted: bool
    prior_points: str
    refine: bool
    neighbors: BaseEstimator | None
    n_jobs: int | None
    verbose: bool | None


@dataclass(frozen=True)
class FoundPieces:
    """Pieces, and the chains, the trace of EM or the log joint density of groups that found them."""

    pieces: Pieces
    run: ChainsResult | Floats


@dataclass(frozen=True)
class _Setup:
    """Boundary points between two classes, in the units of their prior."""

    problem: TwoClasses
    boundary: Boundary
    units: Units
    points: Points

    @classmethod
    def of(cls, problem: TwoClasses, settings: MixtureSettings) -> _Setup:
        pairs = find_support_pairs(problem.places, neighbors=settings.neighbors, n_jobs=settings.n_jobs)
        boundary = Boundary.of(problem.places, pairs)
        units = Units.of(boundary.points if settings.prior_points == "boundary" else problem.items, boundary.directions)
        weight = boundary.counts if settings.counted else np.ones(len(boundary.points))
        return cls(problem, boundary, units, units.points(boundary.points, boundary.directions, weight.astype(np.float64)))

    def prior(self, w_prior: WPrior) -> Prior:
        return base_measure(self.boundary.points.shape[1], self.units.sigma, w_prior)

    def pieces(self, planes: Planes, labels: Integers) -> Pieces:
        """Return the pieces of these planes."""
        return Pieces.of(self.boundary, planes, labels, self.units)

    def with_machine(self, pieces: Pieces, machine: PieceMachine, **limit: int) -> Pieces:
        """Return the pieces with machines in place of planes; NaN leaves planes, ``max_iter=`` limits passes."""
        if np.isnan(machine.C):
            return pieces
        problem = self.problem
        return with_support_vector_machines(
            pieces, problem.items, problem.positive, machine.C, overlap=machine.overlap, **limit
        )


def find_pieces(
    problems: Sequence[TwoClasses], settings: MixtureSettings, rng: np.random.Generator
) -> tuple[list[FoundPieces], PieceChoice | None]:
    """Return the pieces of each problem, and the choice by held-out items; after Ctrl-C the others are left unsampled."""
    setups = [_Setup.of(problem, settings) for problem in problems]
    n_points = min(len(setup.boundary.points) for setup in setups)
    if isinstance(settings.n_components, int) and settings.n_components > n_points:
        raise InputError(
            f"n_components={settings.n_components} is more than there are boundary points, {n_points}; give fewer, or None"
        )
    options = options_to_try(settings.w_prior, settings.n_components, settings.local)
    machines = machines_to_try(settings.C, settings.overlap, settings.local)
    candidates = [(option, machine) for option in options for machine in machines]
    choice = None
    if len(candidates) > 1:
        choice = choose_pieces(problems, options, machines, _Evaluation(settings), random_state=int(rng.integers(2**31)))
    option, machine = candidates[0 if choice is None else choice.chosen]
    found: list[FoundPieces] = []
    for setup in setups:
        planes, labels, run = _planes(setup, option, settings, rng)
        found.append(FoundPieces(setup.with_machine(setup.pieces(planes, labels), machine), run))
        if isinstance(run, ChainsResult) and run.interrupted:
            settings = replace(settings, schedule=replace(settings.schedule, n_sweeps=0))
    return found, choice


def _planes(
    setup: _Setup, option: PieceOptions, settings: MixtureSettings, rng: np.random.Generator
) -> tuple[Planes, Integers, ChainsResult | Floats]:
    """Return the planes, the labels (m,) of the boundary points, and the result of the chains or a trace."""
    prior = setup.prior(option.w_prior)
    if option.n_groups > 1:
        labels = fine_labels(setup.points, option.n_groups, int(rng.integers(2**31)))
        planes = planes_of_labels(setup.points, labels, int(labels.max()) + 1, prior)
        of_points = planes.log_density(setup.points)[np.arange(len(labels)), labels]
        return planes, labels, np.array([setup.points.weight @ of_points + planes.log_prior(prior).sum()])
    n_components = 1 if option.n_groups else settings.n_components
    if isinstance(n_components, int):
        planes, labels, trace = fit_planes(setup.points, n_components, prior, rng)
        warn_if_fewer(len(np.unique(labels)), n_components)
        return planes, labels, trace
    return sample_planes(
        setup.points, prior, settings.schedule, rng, refine=settings.refine, n_jobs=settings.n_jobs, verbose=settings.verbose
    )


@dataclass(frozen=True)
class _Evaluation:
    """It makes pieces of some items without sampling, by groups or by merging groups, and decides on other items."""

    settings: MixtureSettings

    def __call__(
        self, problem: TwoClasses, others: Floats, options: Sequence[PieceOptions], machines: Sequence[PieceMachine]
    ) -> tuple[Floats, Floats]:
        setup = _Setup.of(problem, self.settings)
        decided, n_components = [], []
        for option in options:
            prior = setup.prior(option.w_prior)
            labels = self._labels(setup.points, prior, option)
            pieces = setup.pieces(planes_of_labels(setup.points, labels, int(labels.max()) + 1, prior), labels)
            n_components.append(pieces.n_components)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", NotConverged)  # the machines that are kept warn of themselves
                decided += _decisions(setup, pieces, machines, others)
        return np.array(decided), np.array(n_components, dtype=np.float64)

    def _labels(self, points: Points, prior: Prior, option: PieceOptions) -> Integers:
        if option.n_groups:
            return fine_labels(points, option.n_groups, 0)
        given = self.settings.n_components if isinstance(self.settings.n_components, int) else None
        start = max(2 * (given or 0), _GROUPS_BY_FOLD)
        return merged_labels(points, prior, self.settings.schedule.first_alpha, start, 0, n_components=given)


def _decisions(setup: _Setup, pieces: Pieces, machines: Sequence[PieceMachine], others: Floats) -> list[Floats]:
    """Return the decisions on other items by each of the machines."""
    known: dict[PieceMachine, Floats] = {}
    for machine in machines:
        of = replace(machine, overlap=1.0) if pieces.n_components == 1 else machine
        if of not in known:
            known[of] = setup.with_machine(pieces, of, max_iter=_PASSES_OF_SCORED).decision(others)
        known[machine] = known[of]
    return [known[machine] for machine in machines]


def warn_if_fewer(found: int, asked: int) -> None:
    """Warn if there are fewer pieces than were asked for, and say why."""
    if found < asked:
        warn(
            f"n_components={asked} pieces were asked for, {found} are left: from every start the others lost all their "
            f"points, because fewer planes explain these better; give n_components={found}, or None"
        )


def warn_unless_converged(r_hat: float, given: str) -> None:
    """Warn of an R-hat above 1.1, or of NaN, that of too few sweeps; ``given`` says which parameters to raise."""
    if not r_hat <= _MAX_R_HAT:
        warn(
            f"the chains have not settled: the split R-hat of their log joint density is {r_hat:.2f}, at most {_MAX_R_HAT} "
            f"is required; look at trace_, and raise {given}",
            ConvergenceWarning,
        )


def sample_planes(
    points: Points,
    prior: Prior,
    schedule: Schedule,
    rng: np.random.Generator,
    *,
    refine: bool = True,
    n_jobs: int | None = None,
    verbose: bool | None = None,
) -> tuple[Planes, Integers, ChainsResult]:
    """Return the planes and the labels (m,) that the chains estimate, refined by EM, and the result of the chains."""
    run = run_chains(points, prior, schedule, rng=rng, n_jobs=n_jobs, verbose=verbose)
    if not refine:
        return run.planes, run.labels, run
    size = len(run.planes.lam)
    share = np.bincount(run.labels, weights=points.weight, minlength=size) / points.weight.sum()
    planes = deepcopy(run.planes)
    labels, _ = run_em(points, planes, share, prior)
    if len(np.unique(labels)) < size:  # a component lost its points
        return run.planes, run.labels, run
    return planes, labels, run
