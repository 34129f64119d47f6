"""Kind of tables, directions, knots and strength for large-margin learning, chosen by votes of neighbours on items held out.

Stage by stage: scales with combined directions, where features can be combined; scales of raw features; full tables. Within a
stage, of numbers of knots and strengths, the first candidate within one standard error of the best is taken, and a later stage
wins over the first only if its error is lower by more than one standard error, paired by fold: on small tables the noise of
choosing costs more than it gains. Directions come first because they are no worse on most tables. All of this was measured.
Items that judge a candidate are in no program and in no directions that it was fitted with.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from ..._foundation.errors import TooFewError, warn
from ..._foundation.progress import announce
from ..._foundation.storable import storable
from ..._foundation.types import Floats, Triplets
from ...data.schema import Schema
from ...data.splits import ItemClasses, leaves_enough
from ...neighbors.voting import shares
from ...programs.losses import resolve_loss
from ...solvers.newton import Newton
from ..candidates import Candidate, Choices
from ..comparisons.tuple_data import OrderedTuples
from ..effort import LABELS, Judged, Limits
from ..held_out import FittedModel, HeldOutData, Trial, compare, n_fits, n_losses, uncompared
from ..recipe import Recipe
from .fit import LargeMarginResult, fit_large_margin
from .in_memory_items import InMemoryItems, InMemoryNeighbors
from .labeled_items import LabeledDataset, LargeMargin

__all__ = ["HeldOutLabels", "announce_learning", "choose_stage", "preferred_knots"]

_COMPLETE = 0.8  # of the items have all numbers: directions are missing where one of them is
_FEW_ITEMS, _FEW_FEATURES = 400, 30
_LARGE = 500_000  # numbers in a table of which learning may take minutes
_TOL = 1e-3  # relative gap, for candidates
_FOR_FEW = {"directions": None, "tables": "warped", "n_knots": 6, "alpha": 1e-2}  # where nothing can be held out
_MEASURE = "wrong votes on items held out"


class HeldOutLabels(HeldOutData[LabeledDataset]):
    """Labelled items in folds; the loss is the weighted share of held-out items that their neighbours outvote.

    Parameters
    ----------
    dataset : LabeledDataset
    rule : LargeMargin
    schema : Schema
    n_passes : int or None
        The most passes of a candidate; None for what the effort of the recipe says.
    n_folds : int or None
        The most folds; None for as many as there are. A search of groups, which fits many models, takes fewer.
    """

    most_joint_columns = 600

    def __init__(
        self,
        dataset: LabeledDataset,
        rule: LargeMargin,
        schema: Schema,
        *,
        n_passes: int | None = None,
        n_folds: int | None = None,
    ) -> None:
        self.dataset, self.schema, self.n_folds = dataset, schema, n_folds
        self.rule, self.n_passes = rule, n_passes

    @property
    def items(self) -> Floats:
        """All items, shape (n_items, n_features)."""
        return self.dataset.items

    def folds(self, recipe: Recipe) -> list[tuple[LabeledDataset, LabeledDataset]]:
        """Items to learn from and items to judge by, stratified by class; of large tables, from a sample."""
        return _class_folds(self.dataset, recipe)[: self.n_folds]

    def all_data(self, recipe: Recipe) -> LabeledDataset:
        """All items with their classes; the folds divide a sample of many."""
        return self.dataset

    def _rule(self, recipe: Recipe) -> LargeMargin:
        """The rule with as many passes as candidates have."""
        most = self.n_passes or LABELS[recipe.effort].n_passes
        return replace(self.rule, n_passes=min(self.rule.n_passes, most))

    def losses(self, trial: Trial, part: LabeledDataset, held: LabeledDataset) -> list[float] | None:
        """Wrong votes of every strength, strong to weak, each fit warm from the one before."""
        items = InMemoryItems(part)
        structure = items.structure(trial.recipe, self.schema)
        if structure.embedding.n_columns > LABELS[trial.recipe.effort].n_columns[trial.recipe.tables]:
            return None
        losses, start, rule = [], None, self._rule(trial.recipe)
        with items.searchable(trial.recipe, rule, structure) as located:
            for alpha in trial.alphas:
                result = fit_large_margin(replace(trial.recipe, alpha=alpha), rule, structure, located, start)
                start = result.weights  # raises if the fit was interrupted, before anything is judged
                losses.append(self._wrong_votes(result, part, held, trial.recipe.n_jobs))
        return losses

    def fitted(self, recipe: Recipe, part: LabeledDataset, held: LabeledDataset | None = None) -> FittedModel:
        """The model of one recipe, with the triplets of its last pass."""
        recipe = _quick(replace(recipe, axioms=recipe.without_triangle))
        items = InMemoryItems(part)
        structure = items.structure(recipe, self.schema)
        rule = self._rule(recipe)
        with items.searchable(recipe, rule, structure) as located:
            result = fit_large_margin(recipe, rule, structure, located)
        weights = result.weights  # raises if the fit was interrupted, before anything is judged
        triplets = cast(InMemoryNeighbors, result.neighbors).found.triplets()
        weight = part.weight[triplets[:, 0]]
        loss = np.nan if held is None else self._wrong_votes(result, part, held, recipe.n_jobs)
        tuples = OrderedTuples(Triplets(part.items, triplets), weight / weight.sum())
        return FittedModel(tuples, structure, weights, loss)

    def _wrong_votes(self, result: LargeMarginResult, part: LabeledDataset, held: LabeledDataset, n_jobs: int | None) -> float:
        """Weighted share of the held-out items that their nearest neighbours in the part learned from outvote."""
        raw = (self.schema.decode(side.items) for side in (held, part))
        distances = result.semimetric.pairwise(*raw, n_jobs=n_jobs)
        nearest = np.argsort(distances, axis=1, kind="stable")[:, : self.rule.n_targets]
        votes = shares(part.labels[nearest], int(max(part.labels.max(), held.labels.max())) + 1)
        return float(held.weight @ (votes.argmax(axis=1) != held.labels))


def choose_stage(
    recipe: Recipe, rule: LargeMargin, dataset: LabeledDataset, schema: Schema, auto: frozenset[str]
) -> tuple[Recipe, Choices]:
    """Choose the kind of tables, directions, numbers of knots and the strength of the penalty.

    Parameters
    ----------
    recipe : Recipe
        Values for what is not in ``auto``.
    rule : LargeMargin
        How many targets, impostors and passes there are.
    dataset : LabeledDataset
        Items, classes and weights, of which folds are held out.
    schema : Schema
        What the columns of the items are.
    auto : frozenset of str
        What is to be chosen, among "n_knots", "alpha", "directions" and "tables".

    Returns
    -------
    recipe : Recipe
    choices : Choices
        What was compared, in the order of the stages.
    """
    if not isinstance(recipe.penalty, str):
        auto = auto - {"alpha"}
    if not isinstance(recipe.knots, str):
        auto = auto - {"n_knots"}
    if not auto:
        return recipe, Choices(measure=_MEASURE)
    try:
        trials = list(_stages(recipe, auto, dataset, schema))
        found = compare(HeldOutLabels(dataset, rule, schema), trials, verbose=recipe.verbose)
    except TooFewError as error:
        return uncompared(recipe, error, {name: _FOR_FEW[name] for name in sorted(auto)}), Choices(measure=_MEASURE)
    if not found:
        return _too_wide(recipe, auto), Choices(measure=_MEASURE)
    more, n = replace(recipe, effort="thorough"), len(dataset.labels)
    thorough = n_fits(list(_stages(more, auto, dataset, schema)), LABELS["thorough"].n_folds * _repeats(dataset, more))
    judged = Judged("items", min(n, LABELS[recipe.effort].n_rows), n, n_losses(found), thorough)
    choices = Choices(found, _MEASURE, first_unless_better, judged=judged)
    best = choices.chosen
    chosen = replace(recipe, tables=str(best.tables), n_knots=best.n_knots, alpha=best.alpha)
    return (replace(chosen, directions=best.directions) if "directions" in auto else chosen), choices


def announce_learning(
    recipe: Recipe, rule: LargeMargin, dataset: LabeledDataset, auto: frozenset[str], *, is_sum: bool = False
) -> None:
    """Say what learning from a large table will do, where that is likely to take minutes."""
    n, n_features = dataset.items.shape
    if n * n_features < _LARGE:
        return
    if is_sum:
        announce(
            f"{n:,} items of {n_features} features: scales, components and a forest are learned twice, once without the items "
            "that choose their shares, which may take a minute; directions=None learns scales alone",
            verbose=recipe.verbose,
        )
        return
    n_triplets = n * rule.n_targets * rule.n_impostors
    limits = LABELS[recipe.effort]
    compared = f"settings are compared in {limits.n_folds} folds of {min(n, limits.n_rows):,} items, then " if auto else ""
    announce(
        f"{n:,} items of {n_features} features: {compared}{rule.n_passes} passes learn from up to {n_triplets:,} triplets "
        "each, which may take minutes and gigabytes; n_passes=, n_targets= and n_impostors= are limits, directions=None has "
        'fewer weights, and what is not "auto" is not compared',
        verbose=recipe.verbose,
    )


@storable
def first_unless_better(candidates: Sequence[Candidate]) -> Candidate:
    """The first kind of columns, unless a later is better by over one standard error; its first setting near its best."""
    stages: dict[tuple[str | None, str | None], list[Candidate]] = {}
    for c in candidates:
        stages.setdefault((c.tables, c.directions), []).append(c)
    first, *later = (_first_near_best(stage) for stage in stages.values())
    for challenger in sorted(later, key=lambda c: c.loss):
        if challenger.better_than(first):
            return challenger
    return first


def _first_near_best(stage: Sequence[Candidate]) -> Candidate:
    """The first candidate of a stage that the best is not better than."""
    best = min(stage, key=lambda c: c.loss)
    return next(c for c in stage if not best.better_than(c))


def _too_wide(recipe: Recipe, auto: frozenset[str]) -> Recipe:
    """The recipe for data so wide that no candidate is compared: 2 knots, and of all else the first that would be tried."""
    limits = LABELS[recipe.effort]
    most = limits.n_columns["full" if recipe.tables == "full" else "warped"]
    knots = 2 if "n_knots" in auto else recipe.n_knots
    alpha = 1e-2 if "alpha" in auto else recipe.alpha
    warn(
        f"every candidate has more than {most} weights, so nothing was compared, and n_knots={knots}, alpha={alpha:g} are "
        'taken; set n_knots=, alpha=, directions= and tables= instead of "auto", or give fewer columns'
    )
    tables = "warped" if "tables" in auto else recipe.tables
    return replace(recipe, n_knots=knots, alpha=alpha, tables=tables)


def _stages(recipe: Recipe, auto: frozenset[str], dataset: LabeledDataset, schema: Schema) -> Iterator[Trial]:
    """The trials to compare, in the order of the stages."""
    limits = LABELS[recipe.effort]
    numbers, every_alpha = _candidates(schema, limits)
    alphas = every_alpha if "alpha" in auto else (recipe.alpha,)
    plain = replace(recipe, directions=None if "directions" in auto else recipe.directions)
    tables = "warped" if "tables" in auto else recipe.tables
    plain = _quick(replace(plain, tables=tables, axioms=recipe.without_triangle, verbose=False))
    placed, counts = isinstance(recipe.knots, str), numbers if "n_knots" in auto else (recipe.n_knots,)
    if "directions" in auto and not recipe.asks_of_features and placed and _combinable(dataset, schema):
        kind = "combined tables" if any(f.missing for f in schema.features) else "combined"
        for n_knots in _capped(limits.n_knots[kind], numbers) if "n_knots" in auto else (recipe.n_knots,):
            yield Trial(replace(plain, n_knots=n_knots, directions="combined"), alphas)
    for n_knots in counts:
        yield Trial(replace(plain, n_knots=n_knots), alphas)
    if "tables" in auto and any(_have_scales(schema)):
        for n_knots in _capped(limits.n_knots["full"], numbers) if "n_knots" in auto else (recipe.n_knots,):
            yield Trial(replace(plain, n_knots=n_knots, tables="full"), alphas)


def _capped(wanted: Sequence[int], numbers: Sequence[int]) -> list[int]:
    """Different numbers of knots, none above the largest of ``numbers``."""
    return list(dict.fromkeys(min(n, max(numbers)) for n in wanted))


def _quick(recipe: Recipe) -> Recipe:
    """The recipe with a looser tolerance, where Newton's method may solve its program."""
    smooth = resolve_loss(recipe.loss, margins=True).curvature > 0
    return replace(recipe, solver=Newton(tol=_TOL)) if recipe.solver == "auto" and not recipe.asks_rows and smooth else recipe


def _have_scales(schema: Schema) -> list[bool]:
    """Whether ``tables="warped"`` gives each feature a scale; it gives all others a table."""
    return [f.kind == "numeric" and not f.missing for f in schema.features]


def _candidates(schema: Schema, limits: Limits) -> tuple[Sequence[int], Sequence[float]]:
    """Numbers of knots and strengths to compare; of categories alone the number of knots plays no part."""
    knots, alphas = limits.n_knots["warped"], limits.alphas["warped"]
    if set(schema.kinds) == {"categorical"}:
        return knots[:1], alphas
    most = limits.n_columns["warped"] // len(schema.features) + 1
    if most < min(knots):
        return (max(most, 2),), alphas
    scales = zip(schema.features, _have_scales(schema), strict=True)
    has_tables = any(f.kind != "categorical" and not scale for f, scale in scales)
    return (limits.n_knots["tables"], limits.alphas["tables"]) if has_tables else (knots, alphas)


def preferred_knots(schema: Schema, limits: Limits) -> int:
    """The number of knots that is tried first."""
    return int(_candidates(schema, limits)[0][0])


def _combinable(dataset: LabeledDataset, schema: Schema) -> bool:
    """Whether directions have numbers to combine, which most items have."""
    numbers = dataset.items[:, schema.usable]
    return numbers.shape[1] > 1 and bool((~np.isnan(numbers).any(axis=1)).mean() >= _COMPLETE)


def _class_folds(dataset: LabeledDataset, recipe: Recipe) -> list[tuple[LabeledDataset, LabeledDataset]]:
    """Parts to learn from and to judge by, on small tables twice; of large tables, from a sample."""
    rng = np.random.default_rng(recipe.random_state)
    n = len(dataset.labels)
    limits = LABELS[recipe.effort]
    if n > limits.n_rows:
        dataset = dataset.take(np.sort(rng.choice(n, limits.n_rows, replace=False)))
    classes = ItemClasses(dataset.items, dataset.labels)
    n_folds = min(limits.n_folds, classes.most_folds)
    if n_folds < 2:
        raise TooFewError(
            'every class has one member, or identical ones, so nothing can be held out; give more, or set what is "auto"'
        )
    seed = recipe.random_state or 0
    repeats = range(_repeats(dataset, recipe))
    parts = [part for repeat in repeats for part in classes.folds(n_folds, seed + repeat)]
    folds = [(dataset.take(a), dataset.take(b)) for a, b in parts if leaves_enough(dataset.labels[a])]
    if not folds:
        raise TooFewError(f"no class keeps two members where others of {n} items are held out; give more of each")
    return folds


def _repeats(dataset: LabeledDataset, recipe: Recipe) -> int:
    """How often the items are divided into folds: small tables several times, because few items judge."""
    n, n_features = dataset.items.shape
    return LABELS[recipe.effort].n_repeats if n <= _FEW_ITEMS and n_features <= _FEW_FEATURES else 1
