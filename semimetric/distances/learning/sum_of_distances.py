"""Three distances that are learned from the same labelled items, each in its own way, and what each says of new items.

    scales       sum over features |phi_f(x_f) - phi_f(y_f)|, by a large margin, with a table for every category (`fit`)
    components   |M phi(x) - M phi(y)|_1, by the votes of all items (`embeddings.directions.embedded_components`)
    forest       the fraction of trees that part x and y (`embeddings.directions.partitions`)

Their sum with weights >= 0 is one distance of the family, over the features followed by components and trees: `structure` has a
column for everything, and `weights` says what each of the three gives to the columns. Scales see one feature at a time and need
few items; components combine numbers smoothly; trees combine features of all kinds by steps.
"""

import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import chain, combinations, product
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..._foundation.errors import SemimetricWarning, TooFewError, warn
from ..._foundation.progress import Stopwatch, TimeBudget, progress_bar
from ..._foundation.stored import storable
from ..._foundation.threads import blocks, map_blocks
from ..._foundation.types import Floats, Integers
from ...data.schema import Schema
from ...data.splits import ItemClasses, leaves_enough
from ..features.embedded_components import work_of_components
from ..features.from_labels import labelled_directions
from ..features.linear_directions import Directions
from ..pairs.base import PairMap
from ..search.votes import MOST_NEIGHBORS, HeldOutNeighbors, choose_votes, nearest_columns
from .items import LabeledDataset, LabeledItems, LabelProblem, LargeMargin, LargeMarginProblem, assemble_for_margin
from .large_margin import LargeMarginResult, fit_large_margin, preferred_knots, uniform_prior
from .options import LABELS, Recipe, SearchCost
from .program import make_terms
from .search import Candidate, Choices, best_of, default_unless_better
from .structure import Structure, build_structure

_KNOTS_OF_COMPONENTS = 2  # a component counts as it is: its scale is a straight line
_N_MAPS = {"fast": 1, "default": 1, "thorough": 4}  # of components, from as many seeds
MOST_FOR_SCALES = 2_000  # items that scales are learned from: a scale is a curve of few numbers


class Summand(NamedTuple):
    """One of the distances that are added, over some features of the structure of the sum."""

    embedding: PairMap  # of these features alone
    features: Integers  # their numbers among the features of the sum
    weights: Floats  # shape (n_columns,); on the columns of ``embedding``

    def pairwise(self, x: Floats, y: Floats) -> Floats:
        """Distances of rows of features of the sum, shape (n_x, n_y)."""
        left, right = (self.embedding.locate(np.ascontiguousarray(side[:, self.features])) for side in (x, y))
        return self.embedding.pairwise(left, right, self.weights, n_jobs=1)


@dataclass(frozen=True, eq=False)
class Summands:
    """The distances that were learned."""

    scales: LargeMarginResult
    structure: Structure  # of the sum: all raw features, components and trees
    # Shape (n_columns,); the weights of each distance on the columns of the sum, 0 on those of the others; "components" and
    # "forest" are missing where there are none.
    weights: Mapping[str, Floats]
    seconds: Mapping[str, float]  # how long each took to learn

    def parts(self) -> Iterator[tuple[str, Summand]]:
        """Each distance by its name."""
        embedding = self.structure.embedding
        for name, weights in self.weights.items():
            of_group = np.bincount(embedding.group_of_column, weights=weights != 0, minlength=len(embedding.groups))
            keep = np.flatnonzero(of_group)
            features = np.array(sorted({f for g in keep for f in embedding.groups[g]}), dtype=np.int64)
            if len(keep):
                columns = np.isin(embedding.group_of_column, keep)
                yield name, Summand(embedding.select(keep, features), features, weights[columns])


def learn_summands(
    recipe: Recipe,
    rule: LargeMargin,
    dataset: LabeledDataset,
    schema: Schema,
    *,
    wanted: Collection[str] = ("components", "forest"),
    n_jobs: int | None = None,
    most_for_scales: int | None = None,
) -> Summands:
    """Learn components, a forest and scales from the same items.

    ``recipe``: how scales are learned; its ``directions`` play no part. ``wanted``: which of "components" and "forest" are
    learned beside the scales. ``most_for_scales``: the most items that scales are learned from; None is 2,000.
    """
    plain = replace(recipe, directions=None, n_jobs=n_jobs)
    seconds: dict[str, float] = {}
    directions = _directions(plain, dataset, schema, wanted, seconds)
    watch = Stopwatch()
    alone = LabeledItems.of_arrays(dataset).structure(plain, schema)
    few = LabeledItems.of_arrays(_sample(dataset, most_for_scales or MOST_FOR_SCALES, recipe.random_state))
    with few.searchable(plain, rule, alone) as located:
        scales = fit_large_margin(plain, rule, alone, located)
    seconds["scales"] = watch.seconds
    learned = scales.passes[-1].solution.weights
    if directions is None:
        return Summands(scales, alone, {"scales": learned}, seconds)
    n_raw, n_linear = len(schema.features), directions.n_linear
    counts = [int(k) for k in np.broadcast_to(recipe.n_knots, n_raw)] + [_KNOTS_OF_COMPONENTS] * (n_linear + directions.n_trees)
    structure = build_structure(replace(plain, directions=directions, n_knots=counts), dataset.items, schema)
    weights = {"scales": _over(structure, alone, learned)}
    n_features = n_raw + n_linear + directions.n_trees
    for name, first, stop in (("components", n_raw, n_raw + n_linear), ("forest", n_raw + n_linear, n_features)):
        if stop > first:
            slopes = np.zeros(n_features)
            slopes[first:stop] = 1.0 if name == "components" else 1.0 / (stop - first)
            weights[name] = structure.embedding.prior(slopes)
    return Summands(scales, structure, weights, seconds)


def _sample(dataset: LabeledDataset, most: int, random_state: int | None) -> LabeledDataset:
    """The items, or a sample of about ``most`` of more, with the same share of every class."""
    rows = rows_of_classes(dataset, most, random_state)
    return dataset if len(rows) == len(dataset.labels) else dataset.take(rows)


def rows_of_classes(dataset: LabeledDataset, most: int, random_state: int | None) -> Integers:
    """The rows of about ``most`` items with the same share of every class, or of all, increasing."""
    n = len(dataset.labels)
    if n <= most:
        return np.arange(n)
    rng = np.random.default_rng(random_state)
    members = [rng.permutation(np.flatnonzero(dataset.labels == c)) for c in np.unique(dataset.labels)]
    return np.sort(np.concatenate([m[: int(np.ceil(most / n * len(m)))] for m in members]))


def _directions(
    recipe: Recipe, dataset: LabeledDataset, schema: Schema, wanted: Collection[str], seconds: dict[str, float]
) -> Directions | None:
    """Components and trees together, as far as they are wanted; None where there are neither. ``seconds`` are written down."""
    found: dict[str, Directions | None] = {"components": None, "forest": None}
    for name, kind in (("components", "nca-embedded"), ("forest", "forest")):
        if name in wanted:
            watch = Stopwatch()
            found[name] = labelled_directions(
                kind, dataset.items, dataset.labels, weight=dataset.weight, usable=schema.usable,
                random_state=recipe.random_state, n_jobs=recipe.n_jobs, n_maps=_N_MAPS[recipe.effort],
            )  # fmt: skip
            seconds[name] = watch.seconds
    components, trees = found["components"], found["forest"]
    if components is None or trees is None:
        return components or trees
    return Directions(components.matrix, components.names + trees.names, components.bends, trees.partitions)


def _over(structure: Structure, alone: Structure, weights: Floats) -> Floats:
    """Weights of the raw features alone on the columns of the sum, whose raw features have the same knots."""
    old, new = alone.embedding, structure.embedding
    of_old, of_new = old.group_of_column, new.group_of_column
    group = {g: k for k, g in enumerate(new.groups)}
    out = np.zeros(new.n_columns)
    for k, members in enumerate(old.groups):
        out[of_new == group[members]] = weights[of_old == k]
    return out


Shares: TypeAlias = tuple[Fraction, ...]

MEASURE = "wrong votes plus log loss on items held out"
_ALPHA = 1e-2  # of scales
_NO_PROGRAM = (
    "it is a sum of scales, components and a forest, whose shares were chosen on items held out, and which no one program has; "
    'give tables="warped" or directions=None, which ask for one'
)
_FAR = 2.0  # standard errors
_COARSE = 3  # shares are multiples of 1 / 3 first,
_FINE = 6  # and of 1 / 6 around the best
_HALVES = {"components": Fraction(1, 2), "forest": Fraction(1, 2)}  # what is taken unless others are far better
_NEIGHBOR = 15  # distances are in units of the mean distance to this neighbour
_FOLDED = 2_500  # items: of more, some are held out once
_FIVE_FOLDS = 500  # items: of more, up to _FOLDED, three folds say as much
_PARTS = 3  # of the items that are held out once
_MOST_HELD = 2_000  # items that are held out once
_MOST_PAIRS = 30_000_000  # of items held out and items learned from
_BLOCK = 256  # items held out, whose distances to all others are computed at once


@storable
def first_unless_far_better(candidates: Sequence[Candidate]) -> Candidate:
    """The first, unless the best is better by over two standard errors."""
    return best_of(default_unless_better(candidates[:1], candidates[1:], _FAR))


class ChosenSum(NamedTuple):
    """A sum that was learned."""

    recipe: Recipe  # with the directions of the sum
    result: LargeMarginResult  # the distance, and the passes of its scales
    choices: Choices  # the shares that were compared
    held_out: list[HeldOutNeighbors]  # the neighbours of the items held out, under the shares that were chosen


class FoldDistances(NamedTuple):
    """Distances of the items ``held`` to the items ``part`` by each summand, by name: (n_held, n_part), float32."""

    part: Integers
    held: Integers
    distances: Mapping[str, NDArray[np.float32]]


def with_scales(problem: LabelProblem) -> LabelProblem:
    """The problem with the number of knots and the strength that scales have in a sum, where these are "auto"."""
    recipe, limits = problem.recipe, LABELS[problem.recipe.effort]
    most = max(limits.n_columns["warped"] // sum(1 + f.missing for f in problem.schema.features) + 1, 2)
    n_knots = min(preferred_knots(problem.schema, limits), most) if "n_knots" in problem.auto else recipe.n_knots
    alpha = _ALPHA if "alpha" in problem.auto else recipe.alpha
    return problem._replace(recipe=replace(recipe, n_knots=n_knots, alpha=alpha))


def learn_sum(problem: LabelProblem) -> ChosenSum:
    """Choose the shares by items held out, and learn the sum from all items."""
    problem = with_scales(problem)
    folds = folds_of(problem)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SemimetricWarning)  # the last fit warns of ties and constants once
        scored = _scored_folds(problem, folds)
    units = units_of(scored)
    found = compared(problem, scored, units)
    n_scored = len(np.unique(np.concatenate([held for _, held in folds])))
    choices = Choices(list(found.values()), MEASURE, first_unless_far_better, cost=scored_on(problem, n_scored, len(folds)))
    return learn_chosen(problem, scored, units, found, choices)


def scored_on(problem: LabelProblem, n_scored: int, n_folds: int) -> SearchCost:
    """Return on how many items weights were compared, and in how many folds."""
    n = len(problem.dataset.labels)
    return SearchCost("items", n_scored, n, n_folds, max(_most_folds(n, "thorough"), n_folds))


def learn_chosen(
    problem: LabelProblem,
    scored: Sequence[FoldDistances],
    units: Mapping[str, float],
    found: Mapping[Shares, Candidate],
    choices: Choices,
    *,
    most_for_scales: int | None = None,
) -> ChosenSum:
    """Learn the sum that was chosen among the candidates ``found`` from all items."""
    best = next(shares for shares, candidate in found.items() if candidate is choices.chosen)
    weights = {name: share / unit for (name, unit), share in zip(units.items(), best, strict=True)}
    held_out = [_neighbors(problem, fold, weights) for fold in scored]
    wanted = [name for name, weight in weights.items() if weight]
    summands = learn_summands(
        problem.recipe, problem.rule, problem.dataset, problem.schema,
        wanted=wanted, n_jobs=problem.recipe.n_jobs, most_for_scales=most_for_scales,
    )  # fmt: skip
    recipe, result = _assembled(problem, summands, weights)
    return ChosenSum(recipe, result, choices, held_out)


def _most_folds(n_items: int, effort: str) -> int:
    """Return the most folds in which scales, components and a forest are learned."""
    limits = LABELS[effort]
    return 1 if n_items > _FOLDED else (limits.n_folds if n_items <= _FIVE_FOLDS else 3) * limits.n_repeats


def folds_of(problem: LabelProblem) -> list[tuple[Integers, Integers]]:
    """Return rows to learn from and rows to score on: folds, or of many items one split. Identical items are on one side."""
    dataset, recipe = problem.dataset, problem.recipe
    n, seed = len(dataset.labels), recipe.random_state or 0
    classes = ItemClasses(dataset.items, dataset.labels)
    limits = LABELS[recipe.effort]
    if n > _FOLDED:
        n_held = min(_MOST_HELD, int(_MOST_PAIRS / n), n // 4)
        parts = [classes.split(n_held / n, seed)]
    else:
        n_folds = min(limits.n_folds if n <= _FIVE_FOLDS else 3, classes.most_folds)
        if n_folds < 2:
            raise TooFewError("every class has one member, or identical ones, so nothing can be held out; give more")
        parts = [part for repeat in range(limits.n_repeats) for part in classes.folds(n_folds, seed + repeat)]
    usable = [(part, held) for part, held in parts if len(held) and leaves_enough(dataset.labels[part])]
    if not usable:
        raise TooFewError(f"no class keeps two members where others of {n} items are held out; give more of each")
    return usable


def _scored_folds(problem: LabelProblem, folds: Sequence[tuple[Integers, Integers]]) -> list[FoldDistances]:
    """Compute the distances of every fold; a single one is scored in parts, so that the error of the loss is known."""
    with progress_bar(len(folds), "folds", verbose=problem.recipe.verbose) as bar:

        def scored(block: slice) -> FoldDistances:
            found, _ = scored_fold(problem, *folds[block.start], n_jobs=1 if len(folds) > 1 else problem.recipe.n_jobs)
            bar.update()
            return found

        done = map_blocks(scored, len(folds), size=1, n_jobs=problem.recipe.n_jobs)
    return done if len(done) > 1 else in_parts(done[0])


def scored_fold(
    problem: LabelProblem,
    part: Integers,
    held: Integers,
    *,
    wanted: Collection[str] = ("components", "forest"),
    n_jobs: int | None = None,
) -> tuple[FoldDistances, Mapping[str, float]]:
    """The distances of one fold, and how many seconds each summand took to learn."""
    rule = replace(problem.rule, n_passes=1)  # more change scales little, and their share less
    summands = learn_summands(
        problem.recipe, rule, problem.dataset.take(part), problem.schema, wanted=wanted, n_jobs=n_jobs
    )  # fmt: skip
    summands.scales.passes[-1].solution.raise_if_interrupted()
    features = [summands.structure.features_of(problem.dataset.items[rows]) for rows in (held, part)]
    distances = {name: _distances(summand, *features) for name, summand in summands.parts()}
    return FoldDistances(part, held, distances), summands.seconds


def in_parts(fold: FoldDistances) -> list[FoldDistances]:
    """A fold whose items held out are divided, so that the error of the loss is known."""
    rows = np.array_split(np.random.default_rng(0).permutation(len(fold.held)), min(_PARTS, len(fold.held)))
    return [FoldDistances(fold.part, fold.held[r], {name: d[r] for name, d in fold.distances.items()}) for r in rows]


def _distances(summand: Summand, held: Floats, part: Floats) -> NDArray[np.float32]:
    """Distances of the rows ``held`` to the rows ``part``, shape (n_held, n_part), float32."""
    out = np.empty((len(held), len(part)), np.float32)
    for block in blocks(len(held), _BLOCK):
        out[block] = summand.pairwise(held[block], part)
    return out


def units_of(scored: Sequence[FoldDistances]) -> dict[str, float]:
    """The mean distance to a near neighbour of every summand that all folds have."""
    names = [name for name in scored[0].distances if all(name in fold.distances for fold in scored)]
    units = {}
    for name in names:
        near = [np.partition(d, k, axis=1)[:, k].mean() for d, k in _nth(scored, name)]
        every = [d.mean() for d, _ in _nth(scored, name)]
        unit = float(np.mean(near)) or float(np.mean(every))
        if np.isfinite(unit) and unit > 0:
            units[name] = unit
    if not units:
        raise TooFewError("all items held out coincide with those learned from; give more that differ")
    return units


def _nth(scored: Sequence[FoldDistances], name: str) -> Iterator[tuple[NDArray[np.float32], int]]:
    """The distances of every fold, and the place of the neighbour among them, or of the last."""
    for fold in scored:
        d = fold.distances[name]
        yield d, min(_NEIGHBOR, d.shape[1]) - 1


def compared(problem: LabelProblem, scored: Sequence[FoldDistances], units: Mapping[str, float]) -> dict[Shares, Candidate]:
    """The candidates by their shares: the halves, those of the coarse lattice, then those near the best of them."""
    first = tuple(_HALVES.get(name, Fraction(0)) for name in units)
    others = [shares for shares in _lattice(len(units)) if shares != first]
    found = {shares: _candidate(problem, scored, units, shares) for shares in ([first] if sum(first) == 1 else []) + others}
    best = min(found, key=lambda shares: found[shares].loss)
    for shares in [s for s in _around(best) if s not in found]:
        found[shares] = _candidate(problem, scored, units, shares)
    return found


def _lattice(n: int) -> list[Shares]:
    counts = (c for c in product(range(_COARSE, -1, -1), repeat=n) if sum(c) == _COARSE)
    return [tuple(Fraction(k, _COARSE) for k in c) for c in counts]


def _around(shares: Shares) -> list[Shares]:
    """The shares of which 1 / 6 has gone from one summand to another."""
    step, out = Fraction(1, _FINE), []
    for a, b in product(range(len(shares)), repeat=2):
        if a != b and shares[a] >= step:
            moved = list(shares)
            moved[a], moved[b] = moved[a] - step, moved[b] + step
            out.append(tuple(moved))
    return out


def _candidate(problem: LabelProblem, scored: Sequence[FoldDistances], units: Mapping[str, float], shares: Shares) -> Candidate:
    weights = {name: float(share) / unit for (name, unit), share in zip(units.items(), shares, strict=True)}
    _, losses = choose_votes([_neighbors(problem, fold, weights) for fold in scored], weights="kernel")
    words = " + ".join(f"{share} {name}" for name, share in zip(units, shares, strict=True) if share)
    recipe = problem.recipe
    settings = {"tables": recipe.tables, "directions": words, "n_knots": recipe.n_knots, "alpha": recipe.alpha}
    return Candidate(settings, tuple((losses.error + losses.log_loss).tolist()))


def _neighbors(problem: LabelProblem, fold: FoldDistances, weights: Mapping[str, float]) -> HeldOutNeighbors:
    total = np.zeros((len(fold.held), len(fold.part)))
    for name, weight in weights.items():
        total += weight * fold.distances[name]
    distances, nearest = nearest_columns(total, MOST_NEIGHBORS)
    dataset, votes = problem.dataset, problem.votes
    rows = fold.part[nearest]
    shares = np.bincount(dataset.labels[fold.part], weights=votes[fold.part], minlength=int(dataset.labels.max()) + 1)
    alike = bool((np.abs(votes - 1.0) < 1e-9).all())
    return HeldOutNeighbors(
        distances, dataset.labels[rows], dataset.labels[fold.held], votes[fold.held], shares / shares.sum(),
        None if alike else votes[rows],
    )  # fmt: skip


def _assembled(problem: LabelProblem, summands: Summands, weights: Mapping[str, float]) -> tuple[Recipe, LargeMarginResult]:
    """The recipe and the result of the sum: the passes of its scales, and the distance of all weights together."""
    structure, items = summands.structure, LabeledItems.of_arrays(problem.dataset)
    recipe = replace(problem.recipe, directions=structure.directions)
    prior = uniform_prior(recipe, structure, items)
    margin = LargeMarginProblem(recipe, problem.rule, structure, structure, prior)
    total = sum(weights.get(name, 0.0) * of_part for name, of_part in summands.weights.items())
    total = np.maximum(total, make_terms(recipe, structure, prior).lower)
    d = assemble_for_margin(margin, total, items.example)
    return recipe, replace(summands.scales, semimetric=d, built=_NO_PROGRAM)


_FIRST = 300  # items of the first round
_GROWTH = 4  # times as many in the next
_HELD = 0.25  # of the items of a round
_FOR_SCALES = (MOST_FOR_SCALES, 1_000, 500, 250)  # items that scales are learned from, to choose of
_TENTH = 0.1  # of the loss of the best
_STEEPEST = 1.5  # power of the number of items with which seconds are taken to grow
_REST = "rest"  # grids, distances and votes


@storable
def least_loss(candidates: Sequence[Candidate]) -> Candidate:
    """The one with the least loss."""
    return best_of(candidates)


@dataclass
class _Seconds:
    """Seconds that each component took to learn from numbers of items, in the order of the rounds."""

    measured: dict[str, list[tuple[int, float]]] = field(default_factory=dict)

    def add(self, n_items: int, seconds: Mapping[str, float]) -> None:
        for name, value in seconds.items():
            self.measured.setdefault(name, []).append((n_items, value))

    def expected(self, name: str, n_items: int) -> float:
        """Estimate the seconds of a component for so many items from the last round and the one before."""
        if name not in self.measured:
            return 0.0
        points = self.measured[name]
        (m, last), power = points[-1], 1.0
        if name == "components":  # their steps grow by leaps, so that what came before says little
            return last * work_of_components(n_items) / work_of_components(m)
        before = [(k, t) for k, t in points if k < m]
        if before and before[-1][1] > 0 and last > 0:
            power = float(np.clip(np.log(last / before[-1][1]) / np.log(m / before[-1][0]), 0.0, _STEEPEST))
        return float(last * (n_items / m) ** power)


@dataclass(frozen=True)
class _Plan:
    """The components that are learned from all items."""

    names: tuple[str, ...]  # beside the scales
    most_for_scales: int
    seconds: float


def learn_sum_within(problem: LabelProblem, budget: TimeBudget) -> ChosenSum:
    """Choose the shares by items held out, and learn the sum from all items, within the budget."""
    problem = with_scales(problem)
    halving = _Halving(problem, budget)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SemimetricWarning)  # the last fit warns of ties and constants once
        halving.run()
    folds = halving.last
    units = units_of(folds)
    found = compared(problem, folds, units)
    plan = halving.plan(found, list(units))
    in_time = {
        s: replace(c, seconds=halving.seconds_of(s, units, plan)) for s, c in found.items() if _names(s, units) <= {*plan.names}
    }
    same = next(iter(in_time)) == next(iter(found)) and len(in_time) == len(found) and not halving.dropped
    rule = first_unless_far_better if same else least_loss
    n_scored = len(np.unique(np.concatenate([fold.held for fold in folds])))
    choices = Choices(list(in_time.values()), MEASURE, rule, cost=scored_on(problem, n_scored, halving.n_fits))
    if plan.seconds > budget.left:
        spent = budget.watch.seconds
        warn(
            f"time_budget={budget.seconds:g} is too short: {spent:.2g} s have passed, and the cheapest candidate, which is "
            f"taken, needs about {plan.seconds:.2g} s more; give at least {spent + plan.seconds:.2g}",
            cause="time budget too short",
        )
    return learn_chosen(problem, folds, units, in_time, choices, most_for_scales=plan.most_for_scales)


def _names(shares: Shares, units: Mapping[str, float]) -> set[str]:
    return {name for name, share in zip(units, shares, strict=True) if share and name != "scales"}


class _Halving:
    """Rounds of successive halving, and the components that are left."""

    def __init__(self, problem: LabelProblem, budget: TimeBudget) -> None:
        self.problem, self.budget, self.seconds = problem, budget, _Seconds()
        self.alive: tuple[str, ...] = ("components", "forest")
        self.dropped: set[str] = set()
        self.n_fits = 0
        self.last: list[FoldDistances] = []

    def run(self) -> None:
        """Run all rounds for which there is time."""
        with progress_bar(self.budget.seconds, "seconds", verbose=self.problem.recipe.verbose, share=True) as bar:
            folds: list[FoldDistances] = []
            for part, held, whole in self._rounds():
                if self.n_fits and not self._has_time(len(part)):
                    break
                bar.set_postfix_str(f"{' + '.join(('scales', *self.alive))} of {len(part):,} items")
                fold = self._score(part, held)
                folds = [*folds, fold] if whole else []
                self.last = folds if len(folds) > 1 else in_parts(fold)
                bar.update(min(self.budget.watch.seconds, self.budget.seconds) - bar.n)
                if not whole:
                    self._drop()

    def _rounds(self) -> Iterator[tuple[Integers, Integers, bool]]:
        """Yield rows to learn from and to score on, and True if they are one of the folds of all items."""
        dataset, seed = self.problem.dataset, self.problem.recipe.random_state or 0
        folds, n = folds_of(self.problem), _FIRST
        while n * _GROWTH <= 2 * len(dataset.labels):
            rows = rows_of_classes(dataset, n, seed)
            some = dataset.take(rows)
            part, held = ItemClasses(some.items, some.labels).split(_HELD, seed)
            if len(held) and leaves_enough(some.labels[part]):
                yield rows[part], rows[held], False
            n *= _GROWTH
        yield from ((part, held, True) for part, held in folds)

    def _score(self, part: Integers, held: Integers) -> FoldDistances:
        watch = Stopwatch()
        fold, seconds = scored_fold(self.problem, part, held, wanted=self.alive, n_jobs=self.problem.recipe.n_jobs)
        rest = max(watch.seconds - sum(seconds.values()), 0.0)
        self.seconds.add(len(part), {**seconds, _REST: rest})
        self.n_fits += 1
        return fold

    def _has_time(self, n_items: int) -> bool:
        """Return True if the next round, and learning from all items after it, are likely to end in time."""
        seconds = sum(self.seconds.expected(name, n_items) for name in ("scales", *self.alive, _REST))
        return seconds + self.learning(self.alive, _FOR_SCALES[0]) <= self.budget.left

    def _drop(self) -> None:
        try:
            units = units_of(self.last)
        except TooFewError:
            return
        found = compared(self.problem, self.last, units)
        best = best_of(found.values())
        near = [s for s, c in found.items() if not _is_hopeless(c, best)]
        self.dropped |= {name for name in self.alive if name in units and not any(name in _names(s, units) for s in near)}
        self.alive = tuple(name for name in self.alive if name not in self.dropped)

    def learning(self, names: Sequence[str], most_for_scales: int) -> float:
        """Estimate the seconds of learning from all items with these components beside the scales."""
        n, passes = len(self.problem.dataset.labels), self.problem.rule.n_passes
        of_scales = passes * self.seconds.expected("scales", min(n, most_for_scales))
        return of_scales + sum(self.seconds.expected(name, n) for name in (*names, _REST))

    def seconds_of(self, shares: Shares, units: Mapping[str, float], plan: _Plan) -> float:
        """Estimate the seconds of learning a candidate from all items."""
        return self.learning(sorted(_names(shares, units)), plan.most_for_scales)

    def plan(self, found: Mapping[Shares, Candidate], units: Sequence[str]) -> _Plan:
        """Return the components of the candidate with the least loss that can be learned in time, or of the cheapest one.

        All that are left are taken if there is time for them.
        """
        others = [name for name in units if name != "scales"]
        plans = []
        for names in chain.from_iterable(combinations(others, k) for k in range(len(others), -1, -1)):
            losses = [c.loss for s, c in found.items() if _names(s, dict.fromkeys(units, 1.0)) <= {*names}]
            for most in _FOR_SCALES if losses else ():
                plans.append((_Plan(names, most, self.learning(names, most)), min(losses)))
        in_time = [(plan, loss) for plan, loss in plans if plan.seconds <= self.budget.left]
        if in_time:
            return min(in_time, key=lambda p: (p[1], -p[0].most_for_scales))[0]
        return min((plan for plan, _ in plans), key=lambda p: p.seconds)


def _is_hopeless(candidate: Candidate, best: Candidate) -> bool:
    """Return True if a candidate loses more than the best by over two standard errors and a tenth."""
    more = np.array(candidate.losses) - np.array(best.losses)
    error = more.std(ddof=1) / np.sqrt(len(more)) if len(more) > 1 else np.inf
    return bool(more.mean() > max(_FAR * error, _TENTH * best.loss))
