"""Everything called "auto": candidates are fitted to a part of the data and judged on items held out.

    for each trial, for each fold:  fit along the strengths, strong to weak  ->  loss on what the fold holds out

One loop compares. How a candidate is fitted and judged is in a subclass of `HeldOutData`, one for each kind of learning, and
which one is taken in the rules of `candidates`.
"""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from .._foundation.errors import SemimetricWarning, TooFewError, warn
from .._foundation.progress import progress_bar
from .._foundation.types import Floats
from ..data.schema import Schema
from ..programs.design_matrix import Design
from .candidates import Candidate
from .link_choices import exponent_of, exponents_of
from .recipe import Recipe
from .structure import Structure
from .training_tuples import TrainingTuples

__all__ = ["FittedModel", "HeldOutData", "Trial", "compare", "n_fits", "n_losses", "uncompared"]

P = TypeVar("P")


class Trial(NamedTuple):
    """A recipe, and the strengths of its penalty that are compared."""

    recipe: Recipe
    alphas: Sequence[float]

    @property
    def work(self) -> int:
        """How long a fold takes, in no unit, for the estimate of a bar: by the cells of tables, and a little for the fold."""
        cells = float(np.max(self.recipe.n_knots)) - 1.0
        per_feature = cells if self.recipe.tables == "warped" else cells * (cells + 1.0) / 2.0
        weights = 8.0 + per_feature * (6.0 if self.recipe.directions is not None else 1.0)
        return round(weights**1.5 * (2 + len(self.alphas)))


def n_fits(trials: Sequence[Trial], n_folds: int) -> int:
    """How many models are fitted to compare the trials."""
    return n_folds * sum(len(trial.alphas) for trial in trials)


def n_losses(candidates: Sequence[Candidate]) -> int:
    """How many models were fitted for these candidates."""
    return sum(len(candidate.losses) for candidate in candidates)


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A model, what it was fitted to, and its loss on what was held out.

    Parameters
    ----------
    part : TrainingTuples
        The tuples that it was fitted to.
    structure : Structure
    weights : ndarray of shape (n_columns,)
    loss : float
        NaN where nothing was held out.
    """

    part: TrainingTuples
    structure: Structure
    weights: Floats
    loss: float

    @property
    def design(self) -> Design:
        """The rows of the columns of the model, for the tuples that it was fitted to."""
        return self.part.design(self.structure, self.structure.embedding, None)

    @property
    def residuals(self) -> Floats:
        """Distance less target, or what a comparison lacks of its margin, shape (n_tuples,)."""
        return self.design.matvec(self.weights) - self.part.targets


class HeldOutData(ABC, Generic[P]):
    """Data in folds: how a recipe is fitted to one part, and how it is judged on another that shares no item with it.

    Attributes
    ----------
    schema : Schema
        The features of the items.
    most_joint_columns : int
        How many weights joint tables may have while their numbers of knots are compared.
    """

    schema: Schema
    most_joint_columns = 3_000

    @property
    @abstractmethod
    def items(self) -> Floats:
        """The items that knots are placed among, shape (n_items, n_features)."""

    @abstractmethod
    def folds(self, recipe: Recipe) -> list[tuple[P, P]]:
        """For each fold, the data to fit to and the data to judge by."""

    @abstractmethod
    def all_data(self, recipe: Recipe) -> P:
        """The data that the folds divide: all, or a sample of many."""

    @abstractmethod
    def losses(self, trial: Trial, part: P, held: P) -> list[float] | None:
        """The loss on ``held`` of every strength, fitted to ``part``; None if the recipe has too many weights."""

    @abstractmethod
    def fitted(self, recipe: Recipe, part: P, held: P | None = None) -> FittedModel:
        """The model of one recipe, fitted to ``part`` and judged on ``held``."""


def compare(data: HeldOutData[P], trials: Sequence[Trial], *, verbose: bool | None) -> list[Candidate]:
    """Fit every trial in every fold and judge it on what the fold holds out; trials of too many weights are left out."""
    found: list[Candidate] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SemimetricWarning)  # the final fit warns of ties and constants once
        folds = data.folds(trials[0].recipe)
        total = sum(len(folds) * trial.work for trial in trials)
        with progress_bar(total, "selection", verbose=verbose, share=True) as bar:
            for k, trial in enumerate(trials, 1):
                bar.set_postfix_str(f"setting {k} of {len(trials)}")
                found += _compared(data, folds, trial, bar)
                bar.update(sum(len(folds) * trial.work for trial in trials[:k]) - bar.n)
    return found


def uncompared(recipe: Recipe, error: TooFewError, taken: Mapping[str, Any]) -> Recipe:
    """The recipe with fixed settings where too little data can be held out to compare any; a warning says which and why."""
    settings = ", ".join(f"{name}={value!r}" for name, value in taken.items()) + (" is" if len(taken) == 1 else " are")
    reason = str(error).partition(";")[0]
    warn(
        f'{reason}, so nothing was compared, and {settings} taken instead of "auto"; give more, or set them',
        cause="nothing compared",
    )
    return replace(recipe, **taken)


def _compared(data: HeldOutData[P], folds: Sequence[tuple[P, P]], trial: Trial, bar: Any) -> list[Candidate]:
    """The candidates of one trial, one for each strength; the bar counts its folds."""
    rows = []
    for part, held in folds:
        losses = data.losses(trial, part, held)
        if losses is None:
            return []
        rows.append(losses)
        bar.update(trial.work)
    recipe = trial.recipe
    named = recipe.directions is None or isinstance(recipe.directions, str)
    directions = recipe.directions if named else "given"
    return [
        Candidate(
            recipe.n_knots,
            alpha,
            tuple(map(float, column)),
            recipe.tables,
            directions,
            link=exponent_of(recipe.link),
            base_exponents=exponents_of(recipe.base_exponents),
        )
        for alpha, column in zip(trial.alphas, zip(*rows, strict=True), strict=True)
    ]
