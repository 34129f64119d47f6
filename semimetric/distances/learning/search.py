"""Which of several candidates is taken, and what to expect of it: settings with the losses of every fold, and rules of choice.

Each kind of learning has its own rule for which candidate is taken, but every rule takes a simple candidate unless another is
better by more than one standard error, paired by fold: few items are held out, so that a candidate can win a fold by chance.
How candidates are fitted and judged is in `held_out`.

The loss of the one that is taken is too good, since it was taken for it: on noise the best of many looks better than chance.
`Choices.expected_loss` says what to expect instead: the rule takes one by two thirds of the folds, which the other third
judges, and the mean over all such thirds is told. (Varma & Simon 2006 nest folds for that; here no model is fitted again.)
"""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from ..._foundation.errors import SemimetricWarning, TooFewError, warn
from ..._foundation.optional_imports import optional
from ..._foundation.progress import progress_bar
from ..._foundation.stored import storable
from ..._foundation.text import html_table, text_table
from ..._foundation.types import Floats
from ...data.schema import Schema
from ..programs.design_matrix import Design
from .options import Judged, Recipe, exponent_of, exponents_of
from .structure import Structure
from .tuples import TrainingTuples

_ROUNDING = 1e-9  # relative


@storable
@dataclass(frozen=True)
class Candidate:
    """Settings, and the loss on what each fold holds out.

    Parameters
    ----------
    n_knots : int or sequence of int, or None
        Numbers of knots; of a candidate for groups those of joint features, None for as many as others have.
    alpha : float
        The strength of the penalty; of a candidate for groups that on joint tables.
    losses : tuple of float
        One for each fold.
    tables : str or None
        The kind of tables, where kinds are compared.
    directions : str or None
        The name of the directions; "given" of those that have none.
    pairs : tuple of tuples of int
        The groups of features beside the single ones, where these are compared; a group of one feature is its own table, on
        which the penalty counts as little as on joint ones.
    share : float
        How much the penalty counts on joint tables.
    link : float or None
        The exponent of the link, if it is a power or such are compared.
    base_exponents : tuple of float
        Those of base distances.
    seconds : float or None
        How long learning it from all items is expected to take, where a time budget asks for that.
    """

    n_knots: Any
    alpha: float
    losses: tuple[float, ...]
    tables: str | None = None
    directions: str | None = None
    pairs: tuple[tuple[int, ...], ...] = ()
    share: float = 1.0
    link: float | None = None
    base_exponents: tuple[float, ...] = ()
    seconds: float | None = None

    @property
    def loss(self) -> float:
        """The mean loss over the folds."""
        return float(np.mean(self.losses))

    def better_than(self, other: "Candidate") -> bool:
        """Whether its loss is lower by more than one standard error, paired by fold.

        It is not if only one fold tells them apart, for then the gain is just the standard error, nor if there is one fold, for
        then the error is unknown.
        """
        gain = np.array(other.losses) - np.array(self.losses)
        if len(gain) < 2:
            return False
        return bool(gain.mean() > (1 + _ROUNDING) * gain.std(ddof=1) / np.sqrt(len(gain)))


@storable
def simplest(candidates: Sequence[Candidate]) -> Candidate:
    """The simplest within one standard error of the best: the fewest knots, which come first, then the largest alpha."""
    best = min(candidates, key=lambda c: c.loss)
    as_good = [c for c in candidates if not best.better_than(c)]
    fewest = [c for c in as_good if c.n_knots == as_good[0].n_knots]
    return max(fewest, key=lambda c: c.alpha)


@storable
class Choices(tuple[Candidate, ...]):
    """What "auto" compared; printed as a table of losses, a row for each setting, in which the choice has a star.

    Attributes
    ----------
    measure : str
        What the losses are.
    names : tuple of str
        Names of the features, for rows that name groups of them.
    judged : Judged or None
        On how many rows candidates were judged, and how many models were fitted for it.
    """

    measure: str
    names: tuple[str, ...]
    judged: Judged | None
    _rule: Callable[[Sequence[Candidate]], Candidate]

    def __new__(  # noqa: D102  # the parameters are the attributes
        cls,
        candidates: Iterable[Candidate] = (),
        measure: str = "held-out loss",
        rule: Callable[[Sequence[Candidate]], Candidate] = simplest,
        names: Sequence[str] = (),
        judged: Judged | None = None,
    ) -> "Choices":
        made = super().__new__(cls, candidates)
        made.measure, made._rule, made.names, made.judged = measure, rule, tuple(names), judged
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (tuple(self), self.measure, self._rule, self.names, self.judged)

    @property
    def chosen(self) -> Candidate:
        """The candidate that the rule takes; its loss is too good, because it was taken for it."""
        return self._rule(self)

    @cached_property
    def expected_losses(self) -> tuple[float, ...]:
        """For each fold, the mean loss there of what the rule takes by others, a third of all being left out each time.

        There are none of fewer than three folds: a rule compares by two at least.
        """
        n_folds = len(self[0].losses) if self else 0
        if n_folds < 3:
            return ()
        judged: list[list[float]] = [[] for _ in range(n_folds)]
        for left_out in combinations(range(n_folds), n_folds // 3):
            taken = self._taken_by([fold for fold in range(n_folds) if fold not in left_out])
            for fold in left_out:
                judged[fold].append(taken.losses[fold])
        return tuple(float(np.mean(losses)) for losses in judged)

    @property
    def expected_loss(self) -> float:
        """What to expect of the choice on new data: the mean of `expected_losses`, NaN where there are none."""
        return float(np.mean(self.expected_losses)) if self.expected_losses else np.nan

    @property
    def standard_error(self) -> float:
        """The standard error of `expected_loss` over the folds, as if these were independent."""
        losses = self.expected_losses
        return float(np.std(losses, ddof=1) / np.sqrt(len(losses))) if losses else np.nan

    def _taken_by(self, folds: Sequence[int]) -> Candidate:
        """The candidate that the rule takes by some of the folds."""
        seen = [replace(c, losses=tuple(c.losses[fold] for fold in folds)) for c in self]
        taken = self._rule(seen)
        return next(c for c, other in zip(self, seen, strict=True) if other is taken)

    def __repr__(self) -> str:
        if not self:
            return "Choices: nothing was left to choose"
        return "\n".join([self._title, *text_table(self._cells), *self._notes])

    def _repr_html_(self) -> str:
        if not self:
            return f"<p>{self!r}</p>"
        return html_table(self._cells, title=self._title, notes=self._notes)

    def to_frame(self) -> Any:
        """The candidates as a frame of pandas, a row for each: its settings, its loss, and whether it is the choice."""
        names = [*(self._compared if self.names else ("tables", "directions", *self._links, "n_knots")), "alpha"]
        columns = {name: [self._text(c, name) if name == "groups" else getattr(c, name) for c in self] for name in names}
        columns |= {"loss": [c.loss for c in self], "chosen": [c is self.chosen for c in self]}
        if any(c.seconds is not None for c in self):
            columns |= {"seconds": [c.seconds for c in self]}
        return optional("pandas").DataFrame(columns)

    @property
    def _title(self) -> str:
        of_rows = "" if self.judged is None else f" of {self.judged.sample}"
        return f"{self.measure}, mean of {len(self.chosen.losses)} folds{of_rows}; * the choice"

    @property
    def _notes(self) -> list[str]:
        """What is said below the table, as lines."""
        return [*self._how(), *self._expected(), *self._at_ends()]

    @property
    def _cells(self) -> list[list[str]]:
        """The table of losses, with a row for each setting and a column for each alpha."""
        chosen, alphas = self.chosen, list(dict.fromkeys(c.alpha for c in self))
        cells: dict[str, dict[float, str]] = {}
        for c in self:
            cells.setdefault(self._row(c), {})[c.alpha] = f"{c.loss:.3g}{'*' if c is chosen else ' '}"
        shown = [[f"{', '.join(self._compared)} \\ alpha", *(f"{a:g} " for a in alphas)]]
        shown += [[row, *(losses.get(a, "") for a in alphas)] for row, losses in cells.items()]
        if any(c.seconds is not None for c in self):
            seconds = {self._row(c): c.seconds for c in self}
            last = ["seconds", *("" if seconds[row] is None else f"{seconds[row]:.2g}" for row in cells)]
            shown = [[*cells_of_row, cell] for cells_of_row, cell in zip(shown, last, strict=True)]
        return shown

    def _how(self) -> list[str]:
        """The rule that took the choice, in its own words, and what was fitted for it, as lines."""
        rule = (self._rule.__doc__ or "").partition("\n")[0].rstrip(".")
        return ([f"taken: {rule[0].lower()}{rule[1:]}"] if rule else []) + ([self.judged.cost] if self.judged else [])

    def _expected(self) -> list[str]:
        """What to expect of the choice, as a line."""
        if not self.expected_losses:
            return []
        expected = f"expect {self.expected_loss:.3g} ± {self.standard_error:.2g}"
        return [f"{expected}: chosen by two thirds of the folds, judged by the rest"]

    @property
    def _compared(self) -> tuple[str, ...]:
        """The settings beside alpha that name a row."""
        if self.names:
            return ("groups",)
        return tuple(n for n in ("tables", "directions") if len({self._text(c, n) for c in self}) > 1) + (
            *self._links,
            "n_knots",
        )

    @property
    def _links(self) -> tuple[str, ...]:
        """Of link and exponents of base distances those that are compared."""
        return tuple(n for n in ("link", "base_exponents") if len({self._text(c, n) for c in self}) > 1)

    def _row(self, candidate: Candidate) -> str:
        return ", ".join(self._text(candidate, name) for name in self._compared)

    def _text(self, candidate: Candidate, name: str) -> str:
        """A setting of a candidate as text, for the table of losses."""
        if name == "groups":
            if not candidate.pairs:
                return "single features"
            *_, last = candidate.pairs
            alone = [self.names[g[0]] for g in candidate.pairs if len(g) == 1]
            return f"{', '.join(alone)} alone" if alone else f"+ {' * '.join(self.names[f] for f in last)}"
        return str(getattr(candidate, name))

    def _at_ends(self) -> list[str]:
        """Advice for numbers whose choice is the least or the largest of those tried."""
        if self.names:
            return []
        notes = []
        for name in ("alpha", "n_knots"):
            tried = list(dict.fromkeys(str(getattr(c, name)) for c in self))
            at = str(getattr(self.chosen, name))
            if (
                len(tried) > 1 and at in (tried[0], tried[-1]) and (name, at) != ("n_knots", "2")
            ):  # fewer than two knots there are not
                notes.append(f"{name}={at} is an end of what was tried; give {name}= to go beyond")
        return notes


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
