"""Search over settings, for everything called "auto": each is fitted to parts of the data and scored on items held out.

    for each trial, for each fold:  fit along the strengths, strong to weak  ->  loss on what the fold holds out

One loop compares. A subclass of `HeldOutData` for each kind of learning fits and scores. Each kind has its own rule of choice,
but every rule takes a simple candidate unless another is better by more than one standard error, paired by fold: few items are
held out, so that a candidate can win a fold by chance.

The loss of the candidate that is taken is too good, since it was taken for it: on noise the best of many looks better than
chance. `Choices.expected_loss` corrects this: the rule takes one by two thirds of the folds, the other third scores it, and the
mean over all such thirds is shown. (Varma & Simon 2006 nest folds for that; here no model is fitted again.)
"""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar, Generic, NamedTuple, Self, TypeAlias, TypeVar

import numpy as np

from ..._foundation.errors import NotSupportedError, SemimetricWarning, TooFewError, warn
from ..._foundation.optional_imports import optional
from ..._foundation.pictures import Axes, picture
from ..._foundation.progress import progress_bar
from ..._foundation.stored import storable
from ..._foundation.text import html_table, text_table
from ..._foundation.types import Floats, Integers, Tuples
from ...data.schema import Schema
from ..pairs.base import PairMap
from ..programs.design_matrix import Design, RowsDesign
from ..programs.losses import Loss
from .options import PowerSum, Recipe, SearchCost, exponent_of, exponents_of
from .structure import Structure


class TrainingTuples(ABC):
    """Tuples with a target and a weight each: the residual of a tuple is its row times the weights, less its target."""

    tuples: Tuples  # the tuples, over the items that they index
    weight: Floats  # shape (n_tuples,); positive, summing to 1
    quick_loss: ClassVar[Loss]  # a loss with curvature, for fits that only compare settings

    @property
    @abstractmethod
    def targets(self) -> Floats:
        """The target of every tuple, scaled as its row is; shape (n_tuples,)."""

    @abstractmethod
    def take(self, rows: Integers) -> Self:
        """Some of the tuples, their weights again summing to 1."""

    @abstractmethod
    def over(self, items: Floats) -> Self:
        """The same tuples over other features of the items, shape (n_items, n_other_features); without base distances."""

    @abstractmethod
    def design(self, structure: Structure, embedding: PairMap, n_jobs: int | None) -> RowsDesign:
        """The rows of an embedding that lies over the features of ``structure``."""


P = TypeVar("P")

_ROUNDING = 1e-9  # relative


@storable
@dataclass(frozen=True)
class Candidate:
    """Settings, and the loss on what each fold holds out."""

    settings: Mapping[str, Any]  # by name: "n_knots" and "alpha", and what else is compared, such as "tables" or "link"
    losses: tuple[float, ...]  # one for each fold
    seconds: float | None = None  # that learning it from all items is expected to take, where a time budget asks for that

    @property
    def loss(self) -> float:
        """The mean loss over the folds."""
        return float(np.mean(self.losses))

    def better_than(self, other: "Candidate", n_errors: float = 1.0) -> bool:
        """Return True if its loss is lower by more than so many standard errors, paired by fold.

        It is not lower by one if the candidates differ in one fold only, for then the gain is just the standard error. With one
        fold the error is unknown, and nothing is better.
        """
        gain = np.array(other.losses) - np.array(self.losses)
        if len(gain) < 2:
            return False
        return bool(gain.mean() > (1 + _ROUNDING) * n_errors * gain.std(ddof=1) / np.sqrt(len(gain)))


Rule: TypeAlias = Callable[[Sequence[Candidate]], Candidate]


def best_of(candidates: Iterable[Candidate]) -> Candidate:
    """Return the first candidate with the least loss."""
    return min(candidates, key=lambda c: c.loss)


def as_good_as_best(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return those within one standard error of the best, in their order."""
    best = best_of(candidates)
    return [c for c in candidates if not best.better_than(c)]


@storable
def one_standard_error(candidates: Sequence[Candidate]) -> Candidate:
    """The simplest within one standard error of the best: the fewest knots, which come first, then the largest alpha."""
    good = as_good_as_best(candidates)
    fewest = [c for c in good if c.settings["n_knots"] == good[0].settings["n_knots"]]
    return max(fewest, key=lambda c: c.settings["alpha"])


def default_unless_better(
    default: Sequence[Candidate], others: Sequence[Candidate], n_errors: float = 1.0
) -> Sequence[Candidate]:
    """Return the default candidates, or the others if the best of these is better than the best default by so many errors."""
    if not (default and others):
        return default or others
    return others if best_of(others).better_than(best_of(default), n_errors) else default


@storable
class Choices(tuple[Candidate, ...]):
    """Candidates that "auto" compared; printed as a table of losses, a row for each setting, in which the choice has a star."""

    measure: str  # the name of the losses
    names: tuple[str, ...]  # of the features, for rows that name groups of them
    cost: SearchCost | None
    rule: Rule  # that takes one of the candidates

    def __new__(  # noqa: D102  # the parameters are the attributes
        cls,
        candidates: Iterable[Candidate] = (),
        measure: str = "held-out loss",
        rule: Rule = one_standard_error,
        names: Sequence[str] = (),
        cost: SearchCost | None = None,
    ) -> "Choices":
        made = super().__new__(cls, candidates)
        made.measure, made.rule, made.names, made.cost = measure, rule, tuple(names), cost
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (tuple(self), self.measure, self.rule, self.names, self.cost)

    @property
    def chosen(self) -> Candidate:
        """The candidate that the rule takes; its loss is too good, because it was taken for it."""
        if not self:
            raise NotSupportedError("nothing was compared in this fit, so there is no choice; `recipe_` has what was given")
        return self.rule(self)

    @cached_property
    def expected_losses(self) -> tuple[float, ...]:
        """For each fold, the mean loss there of what the rule takes by others, a third of all being left out each time.

        There are none of fewer than three folds: a rule compares by two at least.
        """
        n_folds = len(self[0].losses) if self else 0
        if n_folds < 3:
            return ()
        scored: list[list[float]] = [[] for _ in range(n_folds)]
        for left_out in combinations(range(n_folds), n_folds // 3):
            taken = self._taken_by([fold for fold in range(n_folds) if fold not in left_out])
            for fold in left_out:
                scored[fold].append(taken.losses[fold])
        return tuple(float(np.mean(losses)) for losses in scored)

    @property
    def expected_loss(self) -> float:
        """The loss to expect of the choice on new data: the mean of `expected_losses`, NaN where there are none."""
        return float(np.mean(self.expected_losses)) if self.expected_losses else np.nan

    @property
    def standard_error(self) -> float:
        """The standard error of `expected_loss` over the folds, as if these were independent."""
        losses = self.expected_losses
        return float(np.std(losses, ddof=1) / np.sqrt(len(losses))) if losses else np.nan

    def _taken_by(self, folds: Sequence[int]) -> Candidate:
        seen = [replace(c, losses=tuple(c.losses[fold] for fold in folds)) for c in self]
        taken = self.rule(seen)
        return next(c for c, other in zip(self, seen, strict=True) if other is taken)

    def __repr__(self) -> str:
        if not self:
            return "Choices: nothing was left to choose"
        return "\n".join([self.title, *text_table(self._cells), *self._notes])

    def _repr_html_(self) -> str:
        if not self:
            return f"<p>{self!r}</p>"
        return html_table(self._cells, title=self.title, notes=self._notes)

    def to_frame(self) -> Any:
        """Return a pandas frame with a row for each candidate: its settings, its loss, and True if it is the choice."""
        names = ["groups"] if self.names else ["tables", "directions", *self._differing("link", "base_exponents"), "n_knots"]
        columns = {name: [self.setting_text(c) if name == "groups" else c.settings.get(name) for c in self] for name in names}
        columns["alpha"] = [c.settings["alpha"] for c in self]
        columns |= {"loss": [c.loss for c in self], "chosen": [c is self.chosen for c in self]}
        if any(c.seconds is not None for c in self):
            columns |= {"seconds": [c.seconds for c in self]}
        return optional("pandas").DataFrame(columns)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the losses of the candidates, and mark the choice; see `semimetric.plotting.plot_choices`."""
        return picture("plot_choices")(self, ax)

    @property
    def title(self) -> str:
        """A line that says which losses these are, and on what they were measured."""
        of_rows = "" if self.cost is None else f" of {self.cost.sample}"
        return f"{self.measure}, mean of {len(self.chosen.losses)} folds{of_rows}; * the choice"

    @property
    def _notes(self) -> list[str]:
        rule = (self.rule.__doc__ or "").partition("\n")[0].rstrip(".")
        notes = [f"taken: {rule[0].lower()}{rule[1:]}"] if rule else []
        if self.cost:
            notes.append(self.cost.fits)
        if self.expected_losses:
            expected = f"expect {self.expected_loss:.3g} ± {self.standard_error:.2g}"
            notes.append(f"{expected}: chosen by two thirds of the folds, scored by the rest")
        return notes + self._at_ends()

    @property
    def _cells(self) -> list[list[str]]:
        chosen, alphas = self.chosen, list(dict.fromkeys(c.settings["alpha"] for c in self))
        cells: dict[str, dict[float, str]] = {}
        for c in self:
            cells.setdefault(self.setting_text(c), {})[c.settings["alpha"]] = f"{c.loss:.3g}{'*' if c is chosen else ' '}"
        shown = [[f"{', '.join(self.compared)} \\ alpha", *(f"{a:g} " for a in alphas)]]
        shown += [[row, *(losses.get(a, "") for a in alphas)] for row, losses in cells.items()]
        if any(c.seconds is not None for c in self):
            seconds = {self.setting_text(c): c.seconds for c in self}
            last = ["seconds", *("" if seconds[row] is None else f"{seconds[row]:.2g}" for row in cells)]
            shown = [[*cells_of_row, cell] for cells_of_row, cell in zip(shown, last, strict=True)]
        return shown

    @property
    def compared(self) -> tuple[str, ...]:
        """The settings beside alpha that name a row."""
        differing = self._differing("tables", "directions", "link", "base_exponents")
        n_knots = ("n_knots",) if any("n_knots" in c.settings for c in self) else ()
        return ("groups",) if self.names else (*differing, *n_knots)

    def _differing(self, *names: str) -> tuple[str, ...]:
        return tuple(name for name in names if len({str(c.settings.get(name)) for c in self}) > 1)

    def setting_text(self, candidate: Candidate) -> str:
        """Return the settings of a candidate that name its row in the table."""
        if not self.names:
            return ", ".join(str(candidate.settings.get(name)) for name in self.compared)
        groups = candidate.settings["groups"]
        if not groups:
            return "a table for all features" if candidate.settings.get("tables") == "shared" else "single features"
        alone = [self.names[g[0]] for g in groups if len(g) == 1]
        if alone:
            return f"{', '.join(alone)} alone"
        before = max((len(other) for c in self if len(other := c.settings["groups"]) < len(groups)), default=0)
        return f"+ {', '.join(' * '.join(self.names[f] for f in group) for group in groups[before:])}"

    def _at_ends(self) -> list[str]:
        """Advice for numbers whose choice is the least or the largest of those tried."""
        if self.names or (len(self) < 3 and self._differing("tables")):
            return []
        notes = []
        for name in ("alpha", "n_knots"):
            tried = list(dict.fromkeys(str(c.settings.get(name)) for c in self))
            at = str(self.chosen.settings.get(name))
            fewest = (name, at) == ("n_knots", "2")  # there are no fewer
            if len(tried) > 1 and at in (tried[0], tried[-1]) and not fewest:
                notes.append(f"{name}={at} is an end of what was tried; give {name}= to go beyond")
        return notes


class Trial(NamedTuple):
    """A recipe, and the strengths of its penalty that are compared."""

    recipe: Recipe
    alphas: Sequence[float]

    @property
    def work(self) -> int:
        """The time of a fold, in no unit, for the estimate of a bar: by the cells of tables, and a little for the fold."""
        cells = float(np.max(self.recipe.n_knots)) - 1.0
        per_feature = cells if self.recipe.tables == "warped" else cells * (cells + 1.0) / 2.0
        weights = 8.0 + per_feature * (6.0 if self.recipe.directions is not None else 1.0)
        return round(weights**1.5 * (2 + len(self.alphas)))

    def settings(self, alpha: float) -> dict[str, Any]:
        """Return the settings of the candidate with this strength."""
        recipe = self.recipe
        named = recipe.directions is None or isinstance(recipe.directions, str)
        return {
            "tables": recipe.tables,
            "directions": recipe.directions if named else "mahalanobis" if isinstance(recipe.factors, PowerSum) else "given",
            "link": exponent_of(recipe.link),
            "base_exponents": exponents_of(recipe.base_exponents),
            "n_knots": recipe.n_knots,
            "alpha": alpha,
        }


def n_fits(trials: Sequence[Trial], n_folds: int) -> int:
    """Return the number of models that are fitted to compare the trials."""
    return n_folds * sum(len(trial.alphas) for trial in trials)


def n_losses(candidates: Sequence[Candidate]) -> int:
    """Return the number of models that were fitted for these candidates."""
    return sum(len(candidate.losses) for candidate in candidates)


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A model, the tuples that it was fitted to, and its loss on what was held out."""

    part: TrainingTuples  # the tuples that it was fitted to
    structure: Structure
    weights: Floats  # (n_columns,)
    loss: float  # NaN where nothing was held out

    @property
    def design(self) -> Design:
        """The rows of the columns of the model, for the tuples that it was fitted to."""
        return self.part.design(self.structure, self.structure.embedding, None)

    @property
    def residuals(self) -> Floats:
        """Distance less target, or what a comparison lacks of its margin, shape (n_tuples,)."""
        return self.design.matvec(self.weights) - self.part.targets


class HeldOutData(ABC, Generic[P]):
    """Data in folds: a recipe is fitted to one part, and scored on another that shares no item with it."""

    schema: Schema
    most_joint_columns = 3_000  # weights of joint tables while their numbers of knots are compared

    @property
    @abstractmethod
    def items(self) -> Floats:
        """The items that knots are placed among, shape (n_items, n_features)."""

    @abstractmethod
    def folds(self, recipe: Recipe) -> list[tuple[P, P]]:
        """Return, for each fold, the data to fit to and the data to score on."""

    @abstractmethod
    def all_data(self, recipe: Recipe) -> P:
        """Return the data that the folds divide: all, or a sample of many."""

    @abstractmethod
    def losses(self, trial: Trial, part: P, held: P) -> list[float] | None:
        """Return the loss on ``held`` of every strength, fitted to ``part``; None if the recipe has too many weights."""

    def worthwhile(self, trial: Trial, found: Sequence[Candidate]) -> Trial | None:
        """Return what of a trial is worth its cost after the candidates ``found`` before it; None if nothing is."""
        return trial

    @abstractmethod
    def fitted(self, recipe: Recipe, part: P, held: P | None = None, near: FittedModel | None = None) -> FittedModel:
        """Fit the model of one recipe to ``part`` and score it on ``held``; it may begin at weights ``near`` to its own."""


def compare(data: HeldOutData[P], trials: Sequence[Trial], *, verbose: bool | None) -> list[Candidate]:
    """Fit every trial in every fold and score it on what the fold holds out; trials of too many weights are left out."""
    found: list[Candidate] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SemimetricWarning)  # the final fit warns of ties and constants once
        folds = data.folds(trials[0].recipe)
        total = sum(len(folds) * trial.work for trial in trials)
        with progress_bar(total, "selection", verbose=verbose, share=True) as bar:
            for k, trial in enumerate(trials, 1):
                bar.set_postfix_str(f"setting {k} of {len(trials)}")
                if (worthwhile := data.worthwhile(trial, found)) is not None:
                    found += _compared(data, folds, worthwhile, bar)
                bar.update(sum(len(folds) * trial.work for trial in trials[:k]) - bar.n)
    return found


def _compared(data: HeldOutData[P], folds: Sequence[tuple[P, P]], trial: Trial, bar: Any) -> list[Candidate]:
    """Return the candidates of one trial, one for each strength; the bar counts its folds."""
    rows = []
    for part, held in folds:
        losses = data.losses(trial, part, held)
        if losses is None:
            return []
        rows.append(losses)
        bar.update(trial.work)
    columns = zip(*rows, strict=True)
    return [Candidate(trial.settings(a), tuple(map(float, c))) for a, c in zip(trial.alphas, columns, strict=True)]


def with_defaults(recipe: Recipe, error: TooFewError, taken: Mapping[str, Any]) -> Recipe:
    """Return the recipe with fixed settings, and warn, where too little data can be held out to compare any."""
    settings = ", ".join(f"{name}={value!r}" for name, value in taken.items()) + (" is" if len(taken) == 1 else " are")
    reason = str(error).partition(";")[0]
    warn(
        f'{reason}, so nothing was compared, and {settings} taken instead of "auto"; give more, or set them',
        cause="nothing compared",
    )
    return replace(recipe, **taken)
