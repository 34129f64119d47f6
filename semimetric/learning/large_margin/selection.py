"""What is ``"auto"`` in large-margin learning, by the error of nearest neighbours on items held out.

Stage by stage: scales with combined directions, where features can be combined; scales of raw features; full tables. Within a
stage, of numbers of knots and strengths, the first candidate within one standard error of the best is taken, and a later stage
wins over the first only if its error is lower by more than one standard error, paired by fold: on small tables the noise of
choosing costs more than it gains. Directions come first because they are no worse on most tables (measured, as is all here).
Items that judge a candidate are in no program and in no directions that it was fitted with.
"""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold
from tqdm import tqdm

from ..._foundation.errors import InputError, SemimetricWarning, warn
from ..._foundation.types import Floats, Integers
from ...data.schema import Schema
from ...neighbors.voting import shares
from ...programs.losses import resolve_loss
from ...solvers.newton import Newton
from ..recipe import Recipe
from ..regression.selection import Candidate
from .fit import LargeMarginResult, learn, structure_of
from .labelled_data import LabeledDataset, LargeMargin

__all__ = ["LargeMarginChoice", "LargeMarginChoices", "class_folds", "decide_large_margin", "wrong_votes"]

_ALPHAS = (1e-2, 1e-3)
_KNOTS = (16, 6)  # the first is as good or better on most tables (measured); fewer must be better to be taken
_HELD_ALPHAS, _HELD_KNOTS = (1e-1, 1e-2, 1e-3), (8, 5)  # where whole tables are held of numbers: entries are many
_COMPLETE = 0.8  # of the items have all numbers: directions are missing where one of them is
_COMBINED_KNOTS = 6  # directions are many, so that a few knots each do
_FULL_KNOTS = 5
_MOST_ITEMS, _FEW_ITEMS, _FEW_FEATURES = 1_000, 400, 30
_MOST_COLUMNS = {"warped": 1_600, "full": 600}
_FOLDS = 5
_QUICK, _TOL = 2, 1e-3  # passes, and relative gap, for candidates


@dataclass(frozen=True)
class LargeMarginChoice(Candidate):
    """A candidate judged by its share of wrong votes in each fold."""

    tables: str
    directions: Any


class LargeMarginChoices(tuple[LargeMarginChoice, ...]):
    """What "auto" compared, in the order of the stages; printed as a table in which the choice has a star."""

    __slots__ = ()

    @property
    def chosen(self) -> LargeMarginChoice:
        """What the stages led to."""
        stages: dict[tuple[str, str], list[LargeMarginChoice]] = {}
        for c in self:
            stages.setdefault((c.tables, str(c.directions)), []).append(c)
        first, *later = (_simplest(stage) for stage in stages.values())
        for challenger in sorted(later, key=lambda c: c.loss):
            if challenger.better_than(first):
                return challenger
        return first

    def __repr__(self) -> str:
        if not self:
            return "LargeMarginChoices: nothing was left to choose"
        chosen = self.chosen
        lines = [f"wrong votes on items held out, mean of {len(chosen.losses)} folds; * the choice"]
        for c in self:
            kind = c.directions if c.directions is None or isinstance(c.directions, str) else "given"
            setting = f"tables={c.tables}, directions={kind}, n_knots={c.n_knots}, alpha={c.alpha:g}"
            lines.append(f"{setting}: {c.loss:.4f}{' *' if c is chosen else ''}")
        return "\n".join(lines)


def _simplest(stage: Sequence[LargeMarginChoice]) -> LargeMarginChoice:
    """The first candidate of a stage that the best is not better than."""
    best = min(stage, key=lambda c: c.loss)
    return next(c for c in stage if not best.better_than(c))


def decide_large_margin(
    recipe: Recipe, rule: LargeMargin, classes: LabeledDataset, schema: Schema, auto: frozenset[str]
) -> tuple[Recipe, LargeMarginChoices]:
    """The recipe with everything decided that is asked for, and what was compared.

    Parameters
    ----------
    recipe : Recipe
        Values for what is not in ``auto``.
    rule : LargeMargin
        How many targets, impostors and passes there are.
    classes : LabeledDataset
        Items, classes and weights, of which folds are held out.
    schema : Schema
        What the columns of the items are.
    auto : frozenset of str
        Among "n_knots", "alpha", "directions" and "tables".
    """
    if not isinstance(recipe.penalty, str):
        auto = auto - {"alpha"}
    if not isinstance(recipe.knots, str):
        auto = auto - {"n_knots"}
    if not auto:
        return recipe, LargeMarginChoices()
    folds = class_folds(classes, recipe)
    quick = replace(rule, n_passes=min(rule.n_passes, _QUICK))
    found: list[LargeMarginChoice] = []
    with warnings.catch_warnings(), tqdm(desc="selection", disable=not recipe.verbose) as bar:
        warnings.simplefilter("ignore", SemimetricWarning)  # the final fit warns once
        for trial, alphas in _stages(recipe, auto, classes, schema):
            found += _compared(trial, quick, folds, schema, alphas)
            bar.update()
    if not found:
        return _too_wide(recipe, auto), LargeMarginChoices()
    choices = LargeMarginChoices(found)
    best = choices.chosen
    return (
        replace(recipe, tables=best.tables, directions=best.directions, n_knots=best.n_knots, alpha=best.alpha),
        choices,
    )


def _too_wide(recipe: Recipe, auto: frozenset[str]) -> Recipe:
    """The recipe for tables so wide that no candidate is compared: few knots, and the first of all else."""
    most = _MOST_COLUMNS["full" if recipe.tables == "full" else "warped"]
    knots = 2 if "n_knots" in auto else recipe.n_knots
    alpha = _ALPHAS[0] if "alpha" in auto else recipe.alpha
    warn(
        f"every candidate has more than {most} weights, so nothing was compared, and n_knots={knots}, alpha={alpha:g} are "
        'taken; set n_knots=, alpha=, directions= and tables= instead of "auto", or give fewer columns'
    )
    tables = "warped" if "tables" in auto else recipe.tables
    return replace(recipe, n_knots=knots, alpha=alpha, tables=tables)


def _stages(
    recipe: Recipe, auto: frozenset[str], classes: LabeledDataset, schema: Schema
) -> Iterator[tuple[Recipe, Sequence[float]]]:
    """Recipes to compare, and their strengths, in the order of the stages."""
    numbers, every_alpha = _candidates(schema)
    alphas = every_alpha if "alpha" in auto else (recipe.alpha,)
    plain = replace(recipe, directions=None if "directions" in auto else recipe.directions)
    tables = "warped" if "tables" in auto else recipe.tables
    plain = replace(plain, tables=tables, axioms=recipe.without_triangle, verbose=False)
    if plain.solver == "auto" and not plain.asks_rows and resolve_loss(recipe.loss, margins=True).curvature > 0:
        plain = replace(plain, solver=Newton(tol=_TOL))
    placed, counts = isinstance(recipe.knots, str), numbers if "n_knots" in auto else (recipe.n_knots,)
    if "directions" in auto and not recipe.asks_of_features and placed and _combinable(classes, schema):
        few = min(_COMBINED_KNOTS, *numbers) if "n_knots" in auto else recipe.n_knots
        yield replace(plain, n_knots=few, directions="combined"), alphas
    for n_knots in counts:
        yield replace(plain, n_knots=n_knots), alphas
    if "tables" in auto and any(_scaled(schema)):
        few = min(_FULL_KNOTS, *numbers) if "n_knots" in auto else recipe.n_knots
        yield replace(plain, n_knots=few, tables="full"), alphas


def _scaled(schema: Schema) -> list[bool]:
    """Whether ``tables="warped"`` gives each feature a scale; of all others it holds a table."""
    return [f.kind == "numeric" and not f.missing for f in schema.features]


def _candidates(schema: Schema) -> tuple[Sequence[int], Sequence[float]]:
    """Numbers of knots and strengths to compare; of categories alone the number of knots plays no part."""
    if set(schema.kinds) == {"categorical"}:
        return _KNOTS[:1], _ALPHAS
    most = _MOST_COLUMNS["warped"] // len(schema.features) + 1
    if most < min(_KNOTS):
        return (max(most, 2),), _ALPHAS
    held = [f.kind != "categorical" and not scaled for f, scaled in zip(schema.features, _scaled(schema), strict=True)]
    return (_HELD_KNOTS, _HELD_ALPHAS) if any(held) else (_KNOTS, _ALPHAS)


def _combinable(classes: LabeledDataset, schema: Schema) -> bool:
    """Whether directions have numbers to combine, which most items have."""
    numbers = classes.items[:, schema.usable]
    return numbers.shape[1] > 1 and bool((~np.isnan(numbers).any(axis=1)).mean() >= _COMPLETE)


def class_folds(classes: LabeledDataset, recipe: Recipe) -> list[tuple[LabeledDataset, LabeledDataset]]:
    """Parts to learn from and to judge by; of large tables, from a sample."""
    rng = np.random.default_rng(recipe.random_state)
    n = len(classes.labels)
    if n > _MOST_ITEMS:
        classes = classes.take(np.sort(rng.choice(n, _MOST_ITEMS, replace=False)))
    counts = np.bincount(classes.labels)
    n_folds = min(_FOLDS, int(counts.max()))
    if n_folds < 2:
        raise InputError(
            "every class has one member, so nothing can be held out; set n_knots=, alpha=, directions= and tables="
        )
    out = []
    small = n <= _FEW_ITEMS and classes.items.shape[1] <= _FEW_FEATURES
    for seed in range(2 if small else 1):
        split = StratifiedKFold(n_folds, shuffle=True, random_state=(recipe.random_state or 0) + seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # classes with fewer members than folds
            parts = list(split.split(classes.items, classes.labels))
        out += [(classes.take(a), classes.take(b)) for a, b in parts if len(np.unique(classes.labels[a])) > 1]
    return out


def _compared(
    trial: Recipe,
    rule: LargeMargin,
    folds: Sequence[tuple[LabeledDataset, LabeledDataset]],
    schema: Schema,
    alphas: Sequence[float],
) -> list[LargeMarginChoice]:
    """The candidates of one recipe; none where it has too many weights."""
    losses = []
    for part, held in folds:
        structure = structure_of(trial, part, schema)
        if structure.embedding.n_columns > _MOST_COLUMNS[trial.tables]:
            return []
        errors, start = [], None
        for alpha in alphas:  # strong to weak, each warm from the one before
            learned = learn(replace(trial, alpha=alpha), rule, structure, part, start)
            start = learned.passes[-1].solution.raise_if_interrupted().weights
            errors.append(wrong_votes(learned, part, held, rule.n_targets, schema, trial.n_jobs))
        losses.append(errors)
    return [
        LargeMarginChoice(trial.n_knots, alpha, tuple(map(float, values)), trial.tables, trial.directions)
        for alpha, values in zip(alphas, np.array(losses).T, strict=True)
    ]


def wrong_votes(
    learned: LargeMarginResult, part: LabeledDataset, held: LabeledDataset, k: int, schema: Schema, n_jobs: int | None
) -> float:
    """Weighted share of the held-out items that their k nearest neighbours in the part learned from outvote."""
    distances = learned.semimetric.pairwise(schema.decode(held.items), schema.decode(part.items), n_jobs=n_jobs)
    return _wrong(distances, part.labels, held, k)


def _wrong(distances: Floats, labels: Integers, held: LabeledDataset, k: int) -> float:
    nearest = np.argsort(distances, axis=1, kind="stable")[:, :k]
    votes = shares(labels[nearest], int(max(labels.max(), held.labels.max())) + 1)
    return float(held.weight @ (votes.argmax(axis=1) != held.labels))
