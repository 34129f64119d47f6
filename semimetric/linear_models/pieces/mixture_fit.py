"""The pieces between a positive class and the rest: boundary points, the prior, the mixture of planes, and machines."""

from __future__ import annotations

import warnings
from copy import deepcopy
from dataclasses import dataclass, replace

import numpy as np
from sklearn.exceptions import ConvergenceWarning as NotConverged

from ..._foundation.errors import ConvergenceWarning, InputError, warn
from ..._foundation.types import Floats, Integers
from ..._kernels.mixture import Points, Prior
from ...distances.semimetric import Semimetric
from .boundary_points import Boundary
from .gibbs_chains import ChainsResult, Schedule, run_chains
from .merged_planes import merged_labels
from .mixture_em import Planes, fit_planes, planes_of_labels, run_em
from .mixture_prior import Units, WPrior, base_measure
from .piecewise_boundary import Pieces, with_support_vector_machines
from .prior_choice import PriorChoice, choose_prior
from .support_pairs import DistinctPlaces, find_support_pairs

__all__ = [
    "FoundPieces",
    "MixtureSettings",
    "find_pieces",
    "sample_planes",
    "say_if_fewer",
    "warn_unless_converged",
    "without_sweeps",
]

_MAX_R_HAT = 1.1  # above it the chains are taken not to have converged
_PASSES_OF_JUDGED = 1_000  # over the items, of machines that only judge a prior: on data of wild scales they never end
_GROUPS_BY_FOLD = 12  # of boundary points, before they are merged, where priors are compared


@dataclass(frozen=True)
class MixtureSettings:
    """The parameters of `DPLMClassifier` of the same names."""

    schedule: Schedule
    n_components: int | None
    local: str
    C: float
    w_prior: WPrior
    counted: bool
    prior_points: str
    refine: bool
    semimetric: Semimetric | None
    n_jobs: int | None
    verbose: bool | None


@dataclass(frozen=True)
class FoundPieces:
    """Pieces, the chains or the trace of EM that found them, and how their prior was chosen, if it was."""

    pieces: Pieces
    run: ChainsResult | Floats
    choice: PriorChoice | None


@dataclass(frozen=True)
class _Setup:
    """Boundary points between two classes, in the units of their prior."""

    boundary: Boundary
    units: Units
    points: Points

    @classmethod
    def of(cls, places: DistinctPlaces, items: Floats, settings: MixtureSettings) -> _Setup:
        pairs = find_support_pairs(places, semimetric=settings.semimetric, n_jobs=settings.n_jobs)
        boundary = Boundary.of(places, pairs)
        units = Units.of(boundary.points if settings.prior_points == "boundary" else items, boundary.directions)
        weight = boundary.counts if settings.counted else np.ones(len(boundary.points))
        return cls(boundary, units, units.points(boundary.points, boundary.directions, weight.astype(np.float64)))

    def prior(self, w_prior: WPrior) -> Prior:
        return base_measure(self.boundary.points.shape[1], self.units.sigma, w_prior)

    def pieces(
        self, planes: Planes, labels: Integers, items: Floats, positive: Integers, settings: MixtureSettings, **limit: int
    ) -> Pieces:
        """The pieces of these planes, with machines where ``local="svm"``, whose passes ``max_iter=`` may limit."""
        pieces = Pieces.of(self.boundary, planes, labels, self.units)
        if settings.local != "svm":
            return pieces
        return with_support_vector_machines(pieces, items, positive, settings.C, **limit)


def find_pieces(
    items: Floats, positive: Integers, places: DistinctPlaces, settings: MixtureSettings, rng: np.random.Generator
) -> FoundPieces:
    """The pieces that separate the positive items from the rest.

    Parameters
    ----------
    items : ndarray of shape (n_items, n_features)
    positive : ndarray of shape (n_items,)
        Whether each item is of the positive class.
    places : DistinctPlaces
        Those of the items, with codes 0 and 1.
    settings : MixtureSettings
    rng : Generator
    """
    setup = _Setup.of(places, items, settings)
    m = len(setup.boundary.points)
    n_components, w_prior, choice = settings.n_components, settings.w_prior, None
    if n_components is not None and n_components > m:
        raise InputError(f"n_components={n_components} is more than there are boundary points, {m}; give fewer, or None")
    if w_prior == "auto":
        w_prior = 1000.0
        if n_components is None:
            choice = choose_prior(places, items, positive, _Judge(settings), random_state=int(rng.integers(2**31)))
            n_components = 1 if choice.one_piece else None
            w_prior = w_prior if choice.one_piece else float(choice.w_prior[choice.chosen])
    prior = setup.prior(w_prior)
    run: ChainsResult | Floats
    if n_components is None:
        planes, labels, run = sample_planes(
            setup.points,
            prior,
            settings.schedule,
            rng,
            refine=settings.refine,
            n_jobs=settings.n_jobs,
            verbose=settings.verbose,
        )
    else:
        planes, labels, run = fit_planes(setup.points, n_components, prior, rng)
        say_if_fewer(len(np.unique(labels)), n_components)
    return FoundPieces(setup.pieces(planes, labels, items, positive, settings), run, choice)


@dataclass(frozen=True)
class _Judge:
    """It makes pieces of some items by merging, without sampling, and decides on other items."""

    settings: MixtureSettings

    def __call__(
        self, places: DistinctPlaces, items: Floats, positive: Integers, others: Floats, w_prior: float
    ) -> tuple[Floats, int]:
        setup = _Setup.of(places, items, self.settings)
        is_one = np.isnan(w_prior)
        prior = setup.prior(1000.0 if is_one else w_prior)
        labels = np.zeros(len(setup.points.x), np.int64)
        if not is_one:
            labels = merged_labels(setup.points, prior, self.settings.schedule.first_alpha, _GROUPS_BY_FOLD, 0)
        planes = planes_of_labels(setup.points, labels, int(labels.max()) + 1, prior)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotConverged)  # the machines that are kept warn of themselves
            pieces = setup.pieces(planes, labels, items, positive, self.settings, max_iter=_PASSES_OF_JUDGED)
        return pieces.decision(others), pieces.n_components


def say_if_fewer(found: int, asked: int) -> None:
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
    """The planes and the labels (m,) that the chains estimate, refined by EM, and the result of the chains."""
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


def without_sweeps(settings: MixtureSettings) -> MixtureSettings:
    """The settings of what is left to do after Ctrl-C: no sweeps, and no choice of the prior."""
    w_prior = 1000.0 if settings.w_prior == "auto" else settings.w_prior
    return replace(settings, schedule=replace(settings.schedule, n_sweeps=0), w_prior=w_prior)
