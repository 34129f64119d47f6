"""The shares of scales, components and a forest in the distance, chosen with the votes by items held out.

    d = sum_b share_b d_b / unit_b,   shares >= 0 that sum to 1,   unit_b the mean distance of d_b to a near neighbour

Each of the three distances is learned in every fold without the items that it is judged by, so that a forest, which knows its
own items by heart, counts no more than what it says of new ones. Then shares are compared, each with the best votes by a kernel
(`choose_votes`), by the share of wrong votes plus log loss. Components and forest have half each unless other shares are better
by two standard errors, paired by fold: on 46 splits of 23 tables the halves erred on 12.3 % of new items, the least loss on
12.8. Of larger tables the folds tell more, and other shares are taken more often. Where there are no components, as of
categories alone, the first are scales. Items held out that lie outside the range of those learned from are judged at its ends.
"""

import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..._foundation.errors import SemimetricWarning, TooFewError
from ..._foundation.progress import progress_bar
from ..._foundation.storable import storable
from ..._foundation.threads import blocks, map_blocks
from ..._foundation.types import Floats, Integers
from ...data.splits import ItemClasses, leaves_enough
from ...neighbors.nearest_columns import nearest_columns
from ...neighbors.vote_choice import MOST_NEIGHBORS, HeldOutNeighbors, choose_votes
from ..candidates import Candidate, Choices
from ..effort import LABELS, Judged
from ..recipe import Recipe
from ..terms import make_terms
from .fit import LargeMarginResult, even_prior
from .in_memory_items import InMemoryItems
from .label_problem import LabelProblem
from .labeled_items import LargeMarginProblem, assemble_for_margin
from .selection import preferred_knots
from .summands import Summand, Summands, learn_summands

__all__ = [
    "MEASURE", "ChosenSum", "FoldDistances", "Shares", "compared", "first_unless_far_better", "folds_of", "in_parts",
    "judged_fold", "judged_on", "learn_chosen", "learn_sum", "units_of", "with_scales",
]  # fmt: skip

Shares: TypeAlias = tuple[Fraction, ...]

MEASURE = "wrong votes plus log loss on items held out"
_ALPHA = 1e-2  # of scales
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
    first, best = candidates[0], min(candidates, key=lambda c: c.loss)
    gain = np.array(first.losses) - np.array(best.losses)
    if len(gain) < 2 or not gain.mean() > _FAR * gain.std(ddof=1) / np.sqrt(len(gain)):
        return first
    return best


class ChosenSum(NamedTuple):
    """A sum that was learned.

    Attributes
    ----------
    recipe : Recipe
        With the directions of the sum.
    result : LargeMarginResult
        The distance, and the passes of its scales.
    choices : Choices
        The shares that were compared.
    held_out : list of HeldOutNeighbors
        The neighbours of the items held out, under the shares that were chosen.
    """

    recipe: Recipe
    result: LargeMarginResult
    choices: Choices
    held_out: list[HeldOutNeighbors]


class FoldDistances(NamedTuple):
    """Distances of the items ``held`` to the items ``part`` by each summand, by name: (n_held, n_part), float32."""

    part: Integers
    held: Integers
    distances: Mapping[str, NDArray[np.float32]]


def with_scales(problem: LabelProblem) -> LabelProblem:
    """The problem with the number of knots and the strength that scales have in a sum, where these are "auto"."""
    recipe, limits = problem.recipe, LABELS[problem.recipe.effort]
    most = max(limits.n_columns["warped"] // len(problem.schema.features) + 1, 2)
    n_knots = min(preferred_knots(problem.schema, limits), most) if "n_knots" in problem.auto else recipe.n_knots
    alpha = _ALPHA if "alpha" in problem.auto else recipe.alpha
    return problem._replace(recipe=replace(recipe, n_knots=n_knots, alpha=alpha))


def learn_sum(problem: LabelProblem) -> ChosenSum:
    """Choose the shares by items held out, and learn the sum from all items.

    Raises
    ------
    TooFewError
        If nothing can be held out.
    KeyboardInterrupt
        On Ctrl-C, but while the scales of all items are learned: the result then has the status INTERRUPTED.
    """
    problem = with_scales(problem)
    folds = folds_of(problem)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SemimetricWarning)  # the last fit warns of ties and constants once
        judged = _judged_folds(problem, folds)
    units = units_of(judged)
    found = compared(problem, judged, units)
    n_judged = len(np.unique(np.concatenate([held for _, held in folds])))
    choices = Choices(list(found.values()), MEASURE, first_unless_far_better, judged=judged_on(problem, n_judged, len(folds)))
    return learn_chosen(problem, judged, units, found, choices)


def judged_on(problem: LabelProblem, n_judged: int, n_folds: int) -> Judged:
    """On how many items shares were compared, and in how many folds."""
    n = len(problem.dataset.labels)
    return Judged("items", n_judged, n, n_folds, max(_most_folds(n, "thorough"), n_folds))


def learn_chosen(
    problem: LabelProblem,
    judged: Sequence[FoldDistances],
    units: Mapping[str, float],
    found: Mapping[Shares, Candidate],
    choices: Choices,
    *,
    most_for_scales: int | None = None,
) -> ChosenSum:
    """Learn the sum that was chosen among the candidates ``found`` from all items."""
    best = next(shares for shares, candidate in found.items() if candidate is choices.chosen)
    weights = {name: share / unit for (name, unit), share in zip(units.items(), best, strict=True)}
    held_out = [_neighbors(problem, fold, weights) for fold in judged]
    wanted = [name for name, weight in weights.items() if weight]
    summands = learn_summands(
        problem.recipe, problem.rule, problem.dataset, problem.schema,
        wanted=wanted, n_jobs=problem.recipe.n_jobs, most_for_scales=most_for_scales,
    )  # fmt: skip
    recipe, result = _assembled(problem, summands, weights)
    return ChosenSum(recipe, result, choices, held_out)


def _most_folds(n_items: int, effort: str) -> int:
    """How often at most scales, components and a forest are learned without the items that judge them."""
    limits = LABELS[effort]
    return 1 if n_items > _FOLDED else (limits.n_folds if n_items <= _FIVE_FOLDS else 3) * limits.n_repeats


def folds_of(problem: LabelProblem) -> list[tuple[Integers, Integers]]:
    """Rows to learn from and rows to judge by: folds, or of many items one split. Identical items are on one side."""
    dataset, recipe = problem.dataset, problem.recipe
    n, seed = len(dataset.labels), recipe.random_state or 0
    classes = ItemClasses(dataset.items, dataset.labels)
    limits = LABELS[recipe.effort]
    if n > _FOLDED:
        n_held = min(_MOST_HELD, int(_MOST_PAIRS / n), n // 4)
        parts = [classes.shares(n_held / n, seed)]
    else:
        n_folds = min(limits.n_folds if n <= _FIVE_FOLDS else 3, classes.most_folds)
        if n_folds < 2:
            raise TooFewError("every class has one member, or identical ones, so nothing can be held out; give more")
        parts = [part for repeat in range(limits.n_repeats) for part in classes.folds(n_folds, seed + repeat)]
    usable = [(part, held) for part, held in parts if len(held) and leaves_enough(dataset.labels[part])]
    if not usable:
        raise TooFewError(f"no class keeps two members where others of {n} items are held out; give more of each")
    return usable


def _judged_folds(problem: LabelProblem, folds: Sequence[tuple[Integers, Integers]]) -> list[FoldDistances]:
    """The distances of every fold; a single one is judged in parts, so that the error of the loss is known."""
    with progress_bar(len(folds), "folds", verbose=problem.recipe.verbose) as bar:

        def judged(block: slice) -> FoldDistances:
            found, _ = judged_fold(problem, *folds[block.start], n_jobs=1 if len(folds) > 1 else problem.recipe.n_jobs)
            bar.update()
            return found

        done = map_blocks(judged, len(folds), size=1, n_jobs=problem.recipe.n_jobs)
    return done if len(done) > 1 else in_parts(done[0])


def judged_fold(
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


def units_of(judged: Sequence[FoldDistances]) -> dict[str, float]:
    """The mean distance to a near neighbour of every summand that all folds have."""
    names = [name for name in judged[0].distances if all(name in fold.distances for fold in judged)]
    units = {}
    for name in names:
        near = [np.partition(d, k, axis=1)[:, k].mean() for d, k in _nth(judged, name)]
        every = [d.mean() for d, _ in _nth(judged, name)]
        unit = float(np.mean(near)) or float(np.mean(every))
        if np.isfinite(unit) and unit > 0:
            units[name] = unit
    if not units:
        raise TooFewError("all items held out coincide with those learned from; give more that differ")
    return units


def _nth(judged: Sequence[FoldDistances], name: str) -> Iterator[tuple[NDArray[np.float32], int]]:
    """The distances of every fold, and the place of the neighbour among them, or of the last."""
    for fold in judged:
        d = fold.distances[name]
        yield d, min(_NEIGHBOR, d.shape[1]) - 1


def compared(problem: LabelProblem, judged: Sequence[FoldDistances], units: Mapping[str, float]) -> dict[Shares, Candidate]:
    """The candidates by their shares: the halves, those of the coarse lattice, then those near the best of them."""
    first = tuple(_HALVES.get(name, Fraction(0)) for name in units)
    others = [shares for shares in _lattice(len(units)) if shares != first]
    found = {shares: _candidate(problem, judged, units, shares) for shares in ([first] if sum(first) == 1 else []) + others}
    best = min(found, key=lambda shares: found[shares].loss)
    for shares in [s for s in _around(best) if s not in found]:
        found[shares] = _candidate(problem, judged, units, shares)
    return found


def _lattice(n: int) -> list[Shares]:
    """All shares that are multiples of 1 / 3."""
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


def _candidate(problem: LabelProblem, judged: Sequence[FoldDistances], units: Mapping[str, float], shares: Shares) -> Candidate:
    """The candidate of some shares, with the loss of the best votes by a kernel."""
    weights = {name: float(share) / unit for (name, unit), share in zip(units.items(), shares, strict=True)}
    _, losses = choose_votes([_neighbors(problem, fold, weights) for fold in judged], weights="kernel")
    words = " + ".join(f"{share} {name}" for name, share in zip(units, shares, strict=True) if share)
    recipe = problem.recipe
    return Candidate(recipe.n_knots, recipe.alpha, tuple((losses.error + losses.log_loss).tolist()), recipe.tables, words)


def _neighbors(problem: LabelProblem, fold: FoldDistances, weights: Mapping[str, float]) -> HeldOutNeighbors:
    """The neighbours of the items held out under a weighted sum of the distances."""
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
    structure, items = summands.structure, InMemoryItems(problem.dataset)
    recipe = replace(problem.recipe, directions=structure.directions)
    with items.searchable(recipe, problem.rule, structure) as located:
        prior = even_prior(recipe, structure, located)
    margin = LargeMarginProblem(recipe, problem.rule, structure, structure, prior)
    total = sum(weights.get(name, 0.0) * of_part for name, of_part in summands.weights.items())
    total = np.maximum(total, make_terms(recipe, structure, prior).lower)
    return recipe, replace(summands.scales, semimetric=assemble_for_margin(margin, total, items.example))
