"""Choice of pieces and of the machines that separate them: held-out items choose, for all pairs of classes together.

A vague prior makes pieces costly, and a narrow one makes planes thick. Where a boundary bends, the posterior has the few pieces
that explain its boundary points, and more of them may classify better. Which of them helps depends on how much the classes
overlap, and boundary points alone do not show. So the distinct places of the items are cut into folds. For each fold, pieces
are made of the boundary points of the others by every option, without chains, and scored by the items of the fold. The option
with the fewest pieces is taken, unless another is right more often by more than 1.5 standard errors, paired by item: where
classes overlap, pieces win by chance. A pair of several classes has few items, so the errors of all pairs together choose.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields

import numpy as np
from sklearn.model_selection import StratifiedKFold

from ..._foundation.errors import InputError
from ..._foundation.stored import check_array, storable
from ..._foundation.types import Floats, Integers
from ..._foundation.validation import check_finite_number
from ...data.identical_items import identities
from .mixture_prior import WPrior
from .two_classes import TwoClasses

_MOST_FOLDS = 5
_STANDARD_ERRORS = 1.5  # chosen on other splits of the sets of Table 1 than those that benchmarks report
_VAGUE = 1000.0
_PRIORS = (_VAGUE, 30.0, 1.0)  # factors of equation 26
_GROUPS = (6, 10, 16, 24)
_MACHINES = ((1.0, 1.0), (10.0, 1.0), (100.0, 1.0), (100.0, 1.5))  # C and overlap


@dataclass(frozen=True)
class PieceMachine:
    """The ``C`` and the ``overlap`` of the machines of all pieces, as in `DPLMClassifier`; NaN where planes separate."""

    C: float
    overlap: float


@dataclass(frozen=True)
class PieceOptions:
    """An option to find pieces: as many as the posterior says, in a given number, or as groups of boundary points."""

    w_prior: WPrior = _VAGUE  # the factor of equation 26
    # the number of groups of boundary points that lie and face alike, each of which is a piece; 0 where the posterior gives the
    # number of pieces, or EM fits a given one
    n_groups: int = 0


@storable
@dataclass(frozen=True, eq=False)
class PieceChoice:
    """Results of held-out items for candidates, each of which is an option to find pieces and machines to separate them."""

    # (n_candidates,); groups of boundary points that are pieces, 1 for one piece; 0 where the posterior gives their number, or
    # it is given
    n_groups: Integers
    w_prior: Floats  # (n_candidates,); factors of equation 26; NaN where it plays no part, or is given by a name
    C: Floats  # (n_candidates,); of the machines; NaN where planes separate
    overlap: Floats  # (n_candidates,); of the machines; NaN where planes separate
    # (n_candidates,); mean number of pieces over the folds, summed over the pairs of classes; NaN where there were too few
    # items for folds
    n_components: Floats
    # (n_candidates,); share of decisions about held-out items that are right; NaN where there were too few items for folds
    accuracy: Floats
    # (n_candidates,); standard error of the difference of its accuracy from the highest one, paired by item
    standard_error: Floats
    chosen: int  # the number of the candidate that is taken

    @property
    def one_piece(self) -> bool:
        """True if one piece was chosen."""
        return bool(self.n_groups[self.chosen] == 1)

    def check(self) -> None:
        """Refuse a choice whose arrays do not agree, as a file may say."""
        n = len(np.ravel(self.n_groups))
        for name in (f.name for f in fields(self) if f.name != "chosen"):
            array = getattr(self, name)
            check_array(f"PieceChoice.{name}", array, array.dtype, n, missing=True)
        if not 0 <= self.chosen < n:
            raise InputError(f"candidate {self.chosen} of {n} is to be the chosen one; restore the file")


def options_to_try(w_prior: WPrior, n_components: int | str | None, local: str) -> list[PieceOptions]:
    """Return what is given; else one piece, the posterior under three priors and, for "auto", groups in four numbers."""
    if isinstance(n_components, int) or (w_prior != "auto" and n_components is None):
        return [PieceOptions(_VAGUE if w_prior == "auto" else w_prior)]
    priors = _PRIORS if w_prior == "auto" else (w_prior,)
    groups = _GROUPS if n_components == "auto" and local == "svm" else ()
    return [PieceOptions(n_groups=1), *map(PieceOptions, priors), *(PieceOptions(n_groups=n) for n in groups)]


def machines_to_try(C: float | str, overlap: float | str, local: str) -> list[PieceMachine]:
    """Return machines of the C and the overlap that are given, or four; a single one where planes separate."""
    if local != "svm":
        return [PieceMachine(np.nan, np.nan)]
    tried = {(c if C == "auto" else float(C), o if overlap == "auto" else float(overlap)): None for c, o in _MACHINES}
    return [PieceMachine(*of) for of in tried]


def check_overlap(overlap: float | str) -> None:
    """Refuse a number that is not finite and >= 1; "auto" is none."""
    if not isinstance(overlap, str) and not check_finite_number("overlap", overlap) >= 1.0:
        raise InputError(f"overlap={overlap!r}, a number >= 1 is required: 1 leaves every item to the machine of its own piece")


# The decisions of pieces between two classes on other items, (n_ways * n_machines, n_others), and their numbers (n_options,).
Evaluate = Callable[[TwoClasses, Floats, Sequence[PieceOptions], Sequence[PieceMachine]], tuple[Floats, Floats]]


def choose_pieces(
    problems: Sequence[TwoClasses],
    options: Sequence[PieceOptions],
    machines: Sequence[PieceMachine],
    evaluate: Evaluate,
    *,
    random_state: int,
) -> PieceChoice:
    """Return the choice by the items at held-out positions of all problems; the first candidate if there are none."""
    n = len(options) * len(machines)
    errors = np.zeros((n, 1 + max(int(problem.rows.max()) for problem in problems)))
    n_components, n_decisions = np.zeros(len(options)), 0
    for problem in problems:
        wrong, found = _held_out(problem, options, machines, evaluate, random_state)
        errors[:, problem.rows] += wrong
        n_components += found
        n_decisions += len(problem.rows) if found.any() else 0
    if not n_decisions:
        nothing = np.full(n, np.nan)
        return _choice(options, machines, nothing, nothing, nothing, 0)
    more = _by_place(errors - errors[errors.sum(axis=1).argmin()], problems)
    error = more.std(axis=1, ddof=1) * np.sqrt(more.shape[1])
    good = np.flatnonzero(more.sum(axis=1) <= _STANDARD_ERRORS * error + 1e-9)
    of_candidates = np.repeat(n_components, len(machines))
    chosen = good[np.lexsort((good, errors.sum(axis=1)[good], of_candidates[good]))[0]]
    accuracy = 1 - errors.sum(axis=1) / n_decisions
    return _choice(options, machines, of_candidates, accuracy, error / n_decisions, int(chosen))


def _by_place(errors: Floats, problems: Sequence[TwoClasses]) -> Floats:
    """Return the sums of errors (n_candidates, n_items) over items of one place, (n_candidates, n_places).

    Items of one place are on one side of every fold, so that copies say nothing new.
    """
    items = np.full((errors.shape[1], problems[0].items.shape[1]), np.nan)
    for problem in problems:
        items[problem.rows] = problem.items
    own = np.flatnonzero(np.isnan(items).all(axis=1))  # items of no problem
    found = identities(items)
    first = found.first[found.number]
    first[own] = own
    places = np.unique(first)
    return np.stack([np.bincount(first, weights=row, minlength=len(items))[places] for row in errors])


def _held_out(
    problem: TwoClasses,
    options: Sequence[PieceOptions],
    machines: Sequence[PieceMachine],
    evaluate: Evaluate,
    random_state: int,
) -> tuple[Floats, Floats]:
    """Return errors of held-out items, (n_candidates, n_items), and mean numbers of pieces, (n_options,); 0 without folds."""
    places = problem.places
    wrong, n_components = np.zeros((len(options) * len(machines), len(problem.items))), np.zeros(len(options))
    n_folds = min(_MOST_FOLDS, int(np.bincount(places.codes, minlength=2).min()))
    if n_folds < 2:
        return wrong, n_components
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=random_state)
    for kept, _ in folds.split(places.points, places.codes):
        rest = np.flatnonzero(~np.isin(places.place_of_item, kept))
        decisions, found = evaluate(problem.of_places(kept), problem.items[rest], options, machines)
        wrong[:, rest] = (decisions > 0) != problem.positive[rest]
        n_components += found / n_folds
    return wrong, n_components


def _choice(
    options: Sequence[PieceOptions],
    machines: Sequence[PieceMachine],
    n_components: Floats,
    accuracy: Floats,
    error: Floats,
    chosen: int,
) -> PieceChoice:
    """Return the choice of one of all options with all machines, as arrays of one entry each."""
    candidates = [(option, machine) for option in options for machine in machines]
    priors = [np.nan if option.n_groups or isinstance(option.w_prior, str) else option.w_prior for option, _ in candidates]
    return PieceChoice(
        n_groups=np.array([option.n_groups for option, _ in candidates]),
        w_prior=np.array(priors),
        C=np.array([machine.C for _, machine in candidates]),
        overlap=np.array([machine.overlap for _, machine in candidates]),
        n_components=n_components,
        accuracy=accuracy,
        standard_error=error,
        chosen=chosen,
    )
