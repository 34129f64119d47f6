"""Everything called ``"auto"``: numbers of knots and strength of the penalty, chosen on held-out pairs.

Held-out pairs share no item with those trained on. Of the candidates within one standard error of the best the simplest is
taken. Candidates' weights come from least squares whatever the loss, since then one pass over the pairs serves every
strength; the loss itself judges them.

Simplest means the fewest knots that have a candidate within one standard error, the spread over the splits of the difference
to the best, and of those the strongest penalty.
"""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from tqdm import tqdm

from ..._foundation.errors import InputError, SemimetricWarning
from ..._foundation.types import Floats, Integers, Pairs
from ..._foundation.validation import check_choice
from ...data.pair_sampling import item_disjoint_splits
from ...data.schema import Names
from ...programs.losses import resolve_loss
from ...programs.penalties import total
from ..recipe import Recipe
from ..structure import Structure, Task, build, ends, make_task
from ..terms import Baseline, baseline, least_squares, make_terms, touched

__all__ = ["Candidate", "Choice", "Choices", "decide", "drawn_splits", "simplest", "weights_along"]

_ALPHAS = (1e-7, 1e-6, 3e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 1e-2, 1e-1)
_KNOTS = {"full": (3, 4, 6, 8, 12, 16), "warped": (2, 3, 4, 6, 8, 12)}
_MOST_COLUMNS = 3_000
_MOST_PAIRS = 20_000
_SPLITS = 4


@dataclass(frozen=True)
class Candidate:
    """Knots, strength, and the loss on what each split holds out."""

    n_knots: Any
    alpha: float
    losses: tuple[float, ...]

    @property
    def loss(self) -> float:
        """Mean over the splits."""
        return float(np.mean(self.losses))

    def better_than(self, other: "Candidate") -> bool:
        """Whether its loss is lower by more than one standard error, paired by split."""
        gain = np.array(other.losses) - np.array(self.losses)
        return bool(gain.mean() > gain.std(ddof=1) / np.sqrt(len(gain)))


C = TypeVar("C", bound=Candidate)


@dataclass(frozen=True)
class Choice(Candidate):
    """A candidate judged by its loss on held-out pairs, targets divided by their mean."""


class Choices(tuple[Choice, ...]):
    """What "auto" compared; printed as a table of held-out losses in which the choice has a star."""

    __slots__ = ()

    @property
    def chosen(self) -> Choice:
        """The simplest within one standard error of the best."""
        return simplest(self)

    def __repr__(self) -> str:
        if not self:
            return "Choices: nothing was left to choose"
        knots, alphas = (list(dict.fromkeys(values)) for values in zip(*((str(c.n_knots), c.alpha) for c in self), strict=True))
        losses, chosen = {(str(c.n_knots), c.alpha): c for c in self}, self.chosen
        shown = [["n_knots \\ alpha", *(f"{a:g} " for a in alphas)]]
        shown += [[k, *(_starred(losses.get((k, a)), chosen) for a in alphas)] for k in knots]
        widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
        lines = ["  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in shown]
        title = f"held-out loss, mean of {len(chosen.losses)} splits; * the simplest within one standard error of the best"
        return "\n".join([title, *lines, *self._at_ends()])

    def _at_ends(self) -> list[str]:
        """What to do about a choice at an end of what was tried."""
        notes = []
        for name in ("alpha", "n_knots"):
            tried = list(dict.fromkeys(str(getattr(c, name)) for c in self))
            if len(tried) > 1 and (at := str(getattr(self.chosen, name))) in (tried[0], tried[-1]):
                notes.append(f"{name}={at} is an end of what was tried; give {name}= to go beyond")
        return notes


def _starred(choice: Choice | None, chosen: Choice) -> str:
    return f"{choice.loss:.3g}{'*' if choice is chosen else ' '}" if choice else ""


def decide(
    recipe: Recipe, *, auto_knots: bool, auto_alpha: bool, pairs: Pairs, y: Floats, weight: Floats, names: Names
) -> tuple[Recipe, Choices]:
    """The recipe with numbers of knots and penalty strength chosen, and what was compared.

    Raises
    ------
    InputError
        If there are too few pairs to hold some out.
    """
    auto_alpha = auto_alpha and isinstance(recipe.penalty, str)
    auto_knots = auto_knots and isinstance(recipe.knots, str)
    if not (auto_knots or auto_alpha):
        return recipe, Choices()
    check_choice("tables", recipe.tables, tuple(_KNOTS))
    rows, splits = drawn_splits(pairs, recipe.random_state)
    pairs, y, weight = pairs.take(rows), y[rows], weight[rows]
    knots = _KNOTS[recipe.tables] if auto_knots else (recipe.n_knots,)
    alphas = _ALPHAS if auto_alpha else (recipe.alpha,)
    choices: list[Choice] = []
    with warnings.catch_warnings(), tqdm(total=len(knots), desc="selection", disable=not recipe.verbose) as bar:
        warnings.simplefilter("ignore", SemimetricWarning)  # the final fit warns of ties and constants once
        for candidate in _candidates(recipe, knots, pairs, y, weight, names):
            choices += _compare(*candidate, splits, alphas)
            bar.update()
    if not choices:
        raise InputError(f"every number of knots in {knots} gives more than {_MOST_COLUMNS} weights; set n_knots= and alpha=")
    found = Choices(choices)
    return replace(recipe, n_knots=found.chosen.n_knots, alpha=found.chosen.alpha), found


def drawn_splits(pairs: Pairs, random_state: int | None) -> tuple[Integers, list[tuple[Integers, Integers]]]:
    """Rows of the pairs that candidates are compared on, and of these the rows that train and that validate."""
    rows = np.arange(len(pairs))
    if len(pairs) > _MOST_PAIRS:
        rows = np.sort(np.random.default_rng(random_state).choice(len(pairs), _MOST_PAIRS, replace=False))
    return rows, list(item_disjoint_splits(pairs.take(rows), n_splits=_SPLITS, random_state=random_state))


def simplest(choices: Sequence[C]) -> C:
    """The first (fewest knots) and strongest candidate within one standard error of the best, paired by split."""
    best = min(choices, key=lambda c: c.loss)
    near = [c for c in choices if not best.better_than(c)]
    fewest = [c for c in near if c.n_knots == near[0].n_knots]
    return max(fewest, key=lambda c: c.alpha)


def _candidates(
    recipe: Recipe, knots: Sequence[Any], pairs: Pairs, y: Floats, weight: Floats, names: Names
) -> Iterator[tuple[Recipe, Any, Task]]:
    """Recipe, structure and task for every number of knots whose columns are few enough; the smallest always."""
    task = None
    for n_knots in knots:
        trial = replace(recipe, n_knots=n_knots, verbose=False)
        structure = build(trial, pairs.used, names)
        task = task or make_task(trial, structure, pairs, y, weight)
        yield trial, structure, task


def _compare(recipe: Recipe, structure: Any, task: Task, splits: Sequence[Any], alphas: Sequence[float]) -> list[Choice]:
    """Mean held-out loss of every strength."""
    losses = []
    for train, test in splits:
        part, held = task.take(train), task.take(test)
        base = baseline(structure, part.design(structure, ends(structure), recipe.n_jobs).moments(part.scaled, part.weight))
        fitted = touched(structure, part, base)
        if fitted.embedding.n_columns > _MOST_COLUMNS:
            return []
        losses.append(_path(recipe, fitted, base, part, held, alphas))
    return [Choice(recipe.n_knots, a, tuple(v)) for a, v in zip(alphas, np.array(losses).T.tolist(), strict=True)]


def _path(recipe: Recipe, structure: Structure, base: Baseline, part: Task, held: Task, alphas: Sequence[float]) -> Floats:
    """Held-out losses along the strengths, strong to weak, each fit warm from the one before."""
    loss, n = resolve_loss(recipe.loss), structure.embedding.n_columns
    whole = structure.embedding.expanded(np.zeros(n))[0]
    design = held.design(structure, whole, recipe.n_jobs)
    losses = np.zeros(len(alphas))
    for k, found in weights_along(recipe, structure, base, part, alphas):
        weights = np.concatenate([structure.embedding.expanded(found[:n])[1], found[n:]])
        losses[k] = loss.value(design.matvec(weights) - held.scaled, held.weight)
    return losses


def weights_along(
    recipe: Recipe, structure: Structure, base: Baseline, part: Task, alphas: Sequence[float]
) -> Iterator[tuple[int, Floats]]:
    """Which strength, and its weights by least squares: strong to weak."""
    moments, start = part.design(structure, structure.embedding, recipe.n_jobs).moments(part.scaled, part.weight), None
    for k, alpha in sorted(enumerate(alphas), key=lambda a: -a[1]):
        trial = replace(recipe, alpha=alpha)
        terms = make_terms(trial, structure, base)
        penalty = total(trial.penalties(structure.embedding), terms.columns)
        start = least_squares(moments, penalty, terms.lower, start).weights
        start = terms.settled(start, penalty, moments.norms)
        yield k, start
