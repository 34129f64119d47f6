"""Large-margin nearest neighbours with the pair embedding (Weinberger & Saul 2009; paper 2, section 4).

The theory is in docs/mathematics.md, section 3.

    min_w  mean_t s_t loss(1 + d_ij - d_il) + (1 - mu) / mu mean d_ij + penalty(w),      t = (i, j, l)

Targets j are the nearest items of the class of i, impostors l the nearest of other classes, both under the current distance;
they are found again in a few passes, and each pass is a convex program, warm from the one before. The margin 1 is a share of
the mean distance to a target under the even L1 distance, to which every feature contributes equally: units play no part. A
given distance, `Recipe.prior`, replaces the uniform one as what targets are first found under and weights are drawn to,
times the number that makes the margin 0.7 of its mean distance to a target.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ..._foundation.errors import InputError, NotSupportedError, TooFewError, warn
from ..._foundation.iteration import Status
from ..._foundation.progress import announce, progress_bar
from ..._foundation.stored import storable
from ..._foundation.types import Floats, TripletTuples
from ...data.schema import Schema
from ...data.splits import ItemClasses, leaves_enough
from ..features.from_labels import are_combined
from ..model.semimetric import Semimetric
from ..pairs.base import PairMap
from ..pairs.monotone_scales import WarpedEmbedding
from ..programs.losses import resolve_loss
from ..programs.penalties import Linear, Penalty, Ridge
from ..programs.program import ConvexProgram
from ..search.votes import shares
from ..solvers.base import Solution
from ..solvers.newton import Newton
from .assembly import count_out_of_range, warn_out_of_range
from .comparisons import OrderedTuples
from .items import (
    N_DRAWN,
    LabeledDataset,
    LabeledItems,
    LargeMargin,
    LargeMarginProblem,
    SearchableItems,
    TripletNeighbors,
    assemble_for_margin,
)
from .options import LABELS, Limits, Recipe, SearchCost
from .prior import L1Prior, spread_of_pairs
from .program import BuiltProgram, Terms, determined, held, make_terms, solve
from .search import (
    Candidate,
    Choices,
    FittedModel,
    HeldOutData,
    Trial,
    as_good_as_best,
    compare,
    n_fits,
    n_losses,
    with_defaults,
)
from .structure import Structure, l1_embedding

_MARGIN = 0.7  # of the mean distance to a target
_SHARE = 0.3  # of the uniform distance that directions have, beside raw features
_SHARE_COMBINED = 0.6  # the fraction of components and discriminants together, which are more
_NEVER = 1e-3  # of the typical spread, for a feature that no drawn pair varies


@storable
class LargeMarginPass(NamedTuple):
    """One pass of large-margin learning."""

    n_triplets: int  # of the program
    n_violated: int  # triplets that lacked their margin at the end
    before: float  # the objective at the weights that the pass began with
    after: float  # the objective at its solution
    solution: Solution


@dataclass(frozen=True, eq=False)
class LargeMarginResult:
    """The result of large-margin learning."""

    semimetric: Semimetric
    passes: tuple[LargeMarginPass, ...]
    neighbors: TripletNeighbors  # targets and impostors of the last pass
    built: BuiltProgram | str  # the program of the last pass, or why it is not held

    @property
    def weights(self) -> Floats:
        """The weights after the last pass; Ctrl-C in that pass raises KeyboardInterrupt."""
        return self.passes[-1].solution.raise_if_interrupted().weights


def fit_large_margin(
    recipe: Recipe, rule: LargeMargin, structure: Structure, items: SearchableItems, start: Floats | None = None
) -> LargeMarginResult:
    """Learn the distance in a few passes, each of which searches targets and impostors anew and solves one program.

    Ctrl-C ends the passes: what was reached is returned, with the status INTERRUPTED in the last solution.

    ``items``: located on the grid of the structure. ``start``: shape (n_columns,) or None; weights to begin from, such as
    those of a stronger penalty.
    """
    problem, first = make_problem(recipe, rule, structure, items)
    weights, passes, neighbors, program = _run(problem, items, start, first)
    out_of_range, example = None, items.data.example[:1].copy()  # so that a model holds no more than one item
    if not isinstance(recipe.knots, str):
        out_of_range = count_out_of_range(structure, items.data.example)
        warn_out_of_range(recipe, structure, out_of_range, len(items.data.example))

    def distance(weights: Floats) -> Semimetric:
        terms = make_terms(problem.recipe, problem.measured, problem.prior)
        return assemble_for_margin(problem, determined(terms, program, weights, _norms(program)), example, out_of_range)

    return LargeMarginResult(distance(weights), passes, neighbors, held(BuiltProgram(program, distance)))


def make_problem(
    recipe: Recipe, rule: LargeMargin, structure: Structure, items: SearchableItems
) -> tuple[LargeMarginProblem, TripletNeighbors]:
    """The problem, whose unit is the margin, and the neighbours under the uniform distance, which has no unit."""
    if not structure.embedding.holds_tables:
        raise NotSupportedError("a group's table is too large to be held, as its neighbours' rows must; use fewer knots")
    measured = structure
    if rule.base == "positions":
        measured = structure.with_grid(recipe, structure.embedding.grid.position_grid)
    even = _uniform_weights(structure, measured, items.data, recipe)
    problem = LargeMarginProblem(recipe, rule, structure, measured, _prior_of(measured, even))
    first = items.neighbors(problem, measured.embedding.prior(even))
    problem = replace(problem, prior=_prior_of(measured, even / (_MARGIN * first.sums.mean_target)))
    return (problem, first) if recipe.prior is None else _from_given(problem, items)


def _from_given(problem: LargeMarginProblem, items: SearchableItems) -> tuple[LargeMarginProblem, TripletNeighbors]:
    """The problem with the given distance as its prior, in units of the margin, and the neighbours under it.

    The uniform distance stays what penalties measure weights with.
    """
    prior = replace(problem.prior, given=problem.recipe.prior)
    first = items.neighbors(replace(problem, prior=prior), prior.weights(problem.measured))
    if not first.sums.n_apart:
        raise InputError(
            "prior= is 0 between every item and the nearest ones of its class, so that it measures no margin; give another, or "
            "none"
        )
    return replace(problem, prior=replace(prior, multiple=1.0 / (_MARGIN * first.sums.mean_target))), first


def uniform_prior(recipe: Recipe, structure: Structure, items: LabeledItems) -> L1Prior:
    """The uniform distance, to which all raw features contribute equally, as a prior; it has no unit."""
    return _prior_of(structure, _uniform_weights(structure, structure, items, recipe))


def _prior_of(structure: Structure, slopes: Floats) -> L1Prior:
    """The prior with these slopes, and with spreads for which the unit of a weight is its prior."""
    return L1Prior(slopes, 1.0 / np.maximum(slopes * len(structure.embedding.groups), 1e-300))


def _uniform_weights(structure: Structure, measured: Structure, items: LabeledItems, recipe: Recipe) -> Floats:
    """Slopes of the L1 distance to which all raw features contribute equally, and all directions; its mean is about 1."""
    drawn = items.drawn(recipe.random_state)
    features = structure.features_of(drawn.items)
    if measured is not structure:
        features = structure.embedding.grid.positions(features)
    alone, pairs = replace(measured, directions=None), replace(drawn, items=features)
    weight = np.full(N_DRAWN, 1.0 / N_DRAWN)
    spread = spread_of_pairs(alone, l1_embedding(alone), pairs, weight, recipe.n_jobs, least=_NEVER)
    return _even_share(structure, len(spread)) / spread


def _even_share(structure: Structure, n_features: int) -> Floats:
    """The fraction of the uniform distance that each feature of the grid has, shape (n_features,)."""
    groups, is_raw = structure.embedding.groups, structure.is_raw
    of_directions = _SHARE_COMBINED if are_combined(structure.directions) else _SHARE
    share = np.zeros(n_features)
    for members, part in (
        (is_raw, 1.0 if is_raw.all() else 1.0 - of_directions),
        (~is_raw, 1.0 if not is_raw.any() else of_directions),
    ):
        chosen = [group for group, member in zip(groups, members, strict=True) if member]
        for f in {f for group in chosen for f in group}:
            share[f] = max(share[f], part / len(chosen))
    return share


def _run(
    problem: LargeMarginProblem, items: SearchableItems, start: Floats | None, first: TripletNeighbors
) -> tuple[Floats, tuple[LargeMarginPass, ...], TripletNeighbors, ConvexProgram]:
    """The weights after all passes, the passes, and neighbours and program of the last; ``first`` are those of the prior."""
    terms = make_terms(problem.recipe, problem.measured, problem.prior)
    weights = np.maximum(terms.columns.prior if start is None else start, terms.lower)
    passes: list[LargeMarginPass] = []
    with progress_bar(problem.rule.n_passes, "passes", verbose=problem.recipe.verbose) as bar:
        for _ in range(problem.rule.n_passes):
            try:
                neighbors = items.neighbors(problem, weights) if passes or start is not None else first
                done, program = _one_pass(problem, terms, neighbors, weights)
                passes.append(done)
            except KeyboardInterrupt:
                if not passes:
                    raise
                stopped = replace(passes[-1].solution, status=Status.INTERRUPTED)
                passes[-1] = passes[-1]._replace(solution=stopped)
                break
            weights = passes[-1].solution.weights
            if passes[-1].solution.status is Status.INTERRUPTED:
                break
            bar.update()
    return weights, tuple(passes), neighbors, program


def _one_pass(
    problem: LargeMarginProblem, terms: Terms, neighbors: TripletNeighbors, weights: Floats
) -> tuple[LargeMarginPass, ConvexProgram]:
    program = program_of_pass(problem, neighbors, terms)
    before = program.objective(weights)
    norms = _norms(program)
    solution, program = solve(problem.recipe, problem.structure, terms, program, norms=norms, start=weights)
    n_violated = int((program.design.matvec(solution.weights) - program.y > 0).sum())
    return LargeMarginPass(len(program.y), n_violated, before, solution.objective, solution), program


def _norms(program: ConvexProgram) -> Callable[[], Floats]:
    """A function that returns norms of the columns, shape (n_columns,)."""
    return lambda: program.design.absolute.rmatvec(program.sample_weight)


def program_of_pass(problem: LargeMarginProblem, neighbors: TripletNeighbors, terms: Terms) -> ConvexProgram:
    """The program of one pass: the loss of the triplets, the penalties, and the pull of the targets where mu < 1."""
    recipe, rule, weight = problem.recipe, problem.rule, neighbors.weight
    penalties = _penalties(recipe, problem.embedding)
    if rule.mu < 1.0:
        penalties = (*penalties, Linear((1.0 - rule.mu) / rule.mu * neighbors.sums.mean_pull))
    loss, y = resolve_loss(recipe.loss, margins=True), -np.ones(len(weight))
    return ConvexProgram(neighbors.design(), y, weight / weight.sum(), loss, penalties, terms.columns, terms.lower)


def _penalties(recipe: Recipe, embedding: PairMap) -> tuple[Penalty, ...]:
    """The penalties of the recipe; on scales "auto" is the ridge alone: smoother scales were no better when measured."""
    if recipe.penalty == "auto" and isinstance(embedding, WarpedEmbedding):
        return (Ridge(recipe.alpha),)
    return recipe.penalties(embedding)


_COMPLETE = 0.8  # of the items have all numbers: directions are missing where one of them is
_FEW_ITEMS, _FEW_FEATURES = 400, 30
_LARGE = 500_000  # numbers in a table of which learning may take minutes
_TOL = 1e-3  # relative gap, for candidates
_FOR_FEW = {"directions": None, "tables": "warped", "n_knots": 6, "alpha": 1e-2}  # where nothing can be held out
_MEASURE = "wrong votes on items held out"


class HeldOutLabels(HeldOutData[LabeledDataset]):
    """Labelled items in folds; the loss is the weighted fraction of held-out items that their neighbours outvote.

    ``n_passes``: the most passes of a candidate; None for what the effort of the recipe says. ``n_folds``: the most folds;
    None for as many as there are. A search of groups, which fits many models, takes fewer.
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
        """Return items to learn from and to score on, stratified by class; of large tables, from a sample."""
        return _class_folds(self.dataset, recipe)[: self.n_folds]

    def all_data(self, recipe: Recipe) -> LabeledDataset:
        """All items with their classes; the folds divide a sample of many."""
        return self.dataset

    def _rule(self, recipe: Recipe) -> LargeMargin:
        most = self.n_passes or LABELS[recipe.effort].n_passes
        return replace(self.rule, n_passes=min(self.rule.n_passes, most))

    def losses(self, trial: Trial, part: LabeledDataset, held: LabeledDataset) -> list[float] | None:
        """Wrong votes of every strength, strong to weak, each fit warm from the one before."""
        items = LabeledItems.of_arrays(part)
        structure = items.structure(trial.recipe, self.schema)
        if structure.embedding.n_columns > LABELS[trial.recipe.effort].n_columns[trial.recipe.tables]:
            return None
        losses, start, rule = [], None, self._rule(trial.recipe)
        with items.searchable(trial.recipe, rule, structure) as located:
            for alpha in trial.alphas:
                result = fit_large_margin(replace(trial.recipe, alpha=alpha), rule, structure, located, start)
                start = result.weights  # raises if the fit was interrupted, before anything is scored
                losses.append(self._wrong_votes(result, part, held, trial.recipe.n_jobs))
        return losses

    def fitted(
        self, recipe: Recipe, part: LabeledDataset, held: LabeledDataset | None = None, near: FittedModel | None = None
    ) -> FittedModel:
        """The model of one recipe, with the triplets of its last pass; those of a model near to it are others."""
        recipe = _quick(replace(recipe, axioms=recipe.without_triangle))
        items = LabeledItems.of_arrays(part)
        structure = items.structure(recipe, self.schema)
        rule = self._rule(recipe)
        with items.searchable(recipe, rule, structure) as located:
            result = fit_large_margin(recipe, rule, structure, located)
        weights = result.weights  # raises if the fit was interrupted, before anything is scored
        block = result.neighbors.blocks.in_memory
        assert block is not None
        triplets, weight = block.found.triplets(), result.neighbors.weight
        loss = np.nan if held is None else self._wrong_votes(result, part, held, recipe.n_jobs)
        tuples = OrderedTuples(TripletTuples(part.items, triplets), weight / weight.sum())
        return FittedModel(tuples, structure, weights, loss)

    def _wrong_votes(self, result: LargeMarginResult, part: LabeledDataset, held: LabeledDataset, n_jobs: int | None) -> float:
        """Weighted fraction of the held-out items that their nearest neighbours in the part learned from outvote."""
        raw = (self.schema.decode(side.items) for side in (held, part))
        distances = result.semimetric.pairwise(*raw, n_jobs=n_jobs)
        nearest = np.argsort(distances, axis=1, kind="stable")[:, : self.rule.n_targets]
        votes = shares(part.labels[nearest], int(max(part.labels.max(), held.labels.max())) + 1)
        return float(held.weight @ (votes.argmax(axis=1) != held.labels))


def choose_stage(
    recipe: Recipe, rule: LargeMargin, dataset: LabeledDataset, schema: Schema, auto: frozenset[str]
) -> tuple[Recipe, Choices]:
    """Choose the kind of tables, directions, numbers of knots and the strength of the penalty.

    ``recipe``: values for what is not in ``auto``. ``rule``: how many targets, impostors and passes there are. ``dataset``:
    items, classes and weights, of which folds are held out. ``schema``: what the columns of the items are. ``auto``: what is
    to be chosen, among "n_knots", "alpha", "directions" and "tables". ``choices``: what was compared, in the order of the
    stages.
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
        return with_defaults(recipe, error, {name: _FOR_FEW[name] for name in sorted(auto)}), Choices(measure=_MEASURE)
    if not found:
        return _without_comparison(recipe, auto), Choices(measure=_MEASURE)
    more, n = replace(recipe, effort="thorough"), len(dataset.labels)
    thorough = n_fits(list(_stages(more, auto, dataset, schema)), LABELS["thorough"].n_folds * _repeats(dataset, more))
    cost = SearchCost("items", min(n, LABELS[recipe.effort].n_rows), n, n_losses(found), thorough)
    choices = Choices(found, _MEASURE, first_unless_better, cost=cost)
    taken = {"tables", "n_knots", "alpha"} | (auto & {"directions"})
    return replace(recipe, **{name: choices.chosen.settings[name] for name in taken}), choices


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
        "each, which may take minutes and gigabytes; n_targets= and Triplets(n_passes=, n_impostors=) are limits, "
        'directions=None has fewer weights, and what is not "auto" is not compared',
        verbose=recipe.verbose,
    )


@storable
def first_unless_better(candidates: Sequence[Candidate]) -> Candidate:
    """The first kind of columns, unless a later is better by over one standard error; its first setting near its best."""
    stages: dict[tuple[str | None, str | None], list[Candidate]] = {}
    for c in candidates:
        stages.setdefault((c.settings["tables"], c.settings["directions"]), []).append(c)
    first, *later = (as_good_as_best(stage)[0] for stage in stages.values())
    return next((c for c in sorted(later, key=lambda c: c.loss) if c.better_than(first)), first)


def _without_comparison(recipe: Recipe, auto: frozenset[str]) -> Recipe:
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
    limits = LABELS[recipe.effort]
    numbers, every_alpha = _candidates(schema, limits)
    alphas = every_alpha if "alpha" in auto else (recipe.alpha,)
    plain = replace(recipe, directions=None if "directions" in auto else recipe.directions)
    tables = "warped" if "tables" in auto else recipe.tables
    plain = _quick(replace(plain, tables=tables, axioms=recipe.without_triangle, verbose=False))
    placed, counts = isinstance(recipe.knots, str), numbers if "n_knots" in auto else (recipe.n_knots,)
    if "directions" in auto and not recipe.asks_of_features and placed and _combinable(dataset, schema):
        for n_knots in _capped(limits.n_knots["combined"], numbers) if "n_knots" in auto else (recipe.n_knots,):
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
    newton = recipe.solver == "auto" and not recipe.needs_inequalities and smooth
    return replace(recipe, solver=Newton(tol=_TOL)) if newton else recipe


def _have_scales(schema: Schema) -> list[bool]:
    """Return True for features with a scale under ``tables="warped"``; all others have a table."""
    return [f.kind == "numeric" for f in schema.features]


def _candidates(schema: Schema, limits: Limits) -> tuple[Sequence[int], Sequence[float]]:
    """Numbers of knots and strengths to compare; of categories alone the number of knots plays no part."""
    knots, alphas = limits.n_knots["warped"], limits.alphas["warped"]
    if set(schema.kinds) == {"categorical"}:
        return knots[:1], alphas
    most = limits.n_columns["warped"] // sum(1 + f.missing for f in schema.features) + 1
    if most < min(knots):
        return (max(most, 2),), alphas
    scales = zip(schema.features, _have_scales(schema), strict=True)
    has_tables = any(f.kind != "categorical" and not scale for f, scale in scales)
    return (limits.n_knots["tables"], limits.alphas["tables"]) if has_tables else (knots, alphas)


def preferred_knots(schema: Schema, limits: Limits) -> int:
    """The number of knots that is tried first."""
    return int(_candidates(schema, limits)[0][0])


def _combinable(dataset: LabeledDataset, schema: Schema) -> bool:
    """Return True if directions have numbers to combine, which most items have."""
    numbers = dataset.items[:, schema.usable]
    return numbers.shape[1] > 1 and bool((~np.isnan(numbers).any(axis=1)).mean() >= _COMPLETE)


def _class_folds(dataset: LabeledDataset, recipe: Recipe) -> list[tuple[LabeledDataset, LabeledDataset]]:
    """Return parts to learn from and to score on, on small tables twice; of large tables, from a sample."""
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
    """Return the number of divisions into folds: several for small tables, since few items are scored."""
    n, n_features = dataset.items.shape
    return LABELS[recipe.effort].n_repeats if n <= _FEW_ITEMS and n_features <= _FEW_FEATURES else 1
