"""A concave link of straight pieces, learned together with the sum by steps that are convex each.

    fix g: the sum is learned by regression under the link g  (`linked_targets`)
    fix the sum: g = sum_j b_j min(s, κ_j) + b s, with b_j >= 0 and b > 0, by least squares with bounds

Every increasing concave function of pieces between the bends κ_j that is 0 at 0 is such a sum of hinges, so the second step
is exact. A round keeps what lowers the direct loss of the training pairs, so that no round ends worse than it began; how many
rounds there are is chosen on held-out pairs, and there is none unless they gain more than one standard error. Rounds that lose
on pairs longer than those learned from are no choice.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from scipy.optimize import lsq_linear

from ..._foundation.errors import InputError, SemimetricWarning, TooFewError
from ..._foundation.progress import progress_bar
from ..._foundation.types import ArrayLike, Floats, Integers, Pairs
from ..._foundation.validation import check_distances, check_tuples, check_weights
from ...data.schema import Names
from ...data.splits import item_disjoint_splits
from ..model.links import ConcaveLink
from ..model.semimetric import Semimetric
from ..programs.losses import resolve_loss
from .measured import MeasuredDistances
from .measured_fit import fit_distances
from .options import DISTANCES, Recipe
from .prior import fit_l1_prior
from .program import Learned
from .search import Candidate, as_good_as_best
from .structure import Structure, build_structure, l1_embedding

_ROUNDS = 4
_BENDS = 8
_LEAST_BEND = 0.05  # mean sums
_LEAST_SLOPE = 0.01  # of the last piece, mean slopes: sums are recovered from distances, so links are never flat
_STEEPEST = 5e3  # times the last slope

Split: TypeAlias = tuple[Integers, Integers]  # rows to train on, and rows to validate on


def fit_concave_link(recipe: Recipe, data: MeasuredDistances, names: Names) -> tuple[Recipe, Learned]:
    """Learn a distance with a concave link, beginning from the link of the recipe.

    ``recipe``: with everything chosen; its link is where rounds begin, and stays where these gain nothing on held-out pairs.
    ``recipe``: with the link that was learned.
    """
    structure = build_structure(recipe, data.items, names)
    n_rounds = _chosen_rounds(recipe, structure, data)
    *_, learned = _rounds(recipe, structure, data, n_rounds)
    return replace(recipe, link=learned.semimetric.link), learned


def _chosen_rounds(recipe: Recipe, structure: Structure, data: MeasuredDistances) -> int:
    """The fewest rounds within one standard error of the best on held-out pairs; none where nothing can be held out.

    Rounds whose loss on pairs longer than those learned from exceeds that of none are left out.
    A fold with distances of 0 alone on one of its sides teaches nothing, or scores nothing, and is left out.
    """
    limits, quiet = DISTANCES[recipe.effort], replace(recipe, verbose=False)
    sample = data.sampled(limits.n_rows, recipe.random_state)
    try:
        splits = list(item_disjoint_splits(sample.pairs, n_splits=limits.n_folds, random_state=recipe.random_state))
    except TooFewError:
        return 0
    splits = [sides for sides in splits if all(sample.y[rows].any() for rows in sides)]
    if not splits:
        return 0
    try:
        longer = shorter_and_longer(recipe, structure, sample, splits)
    except TooFewError:
        longer = []
    with warnings.catch_warnings(), progress_bar(len(splits) + len(longer), "link", verbose=recipe.verbose, share=True) as bar:
        warnings.simplefilter("ignore", SemimetricWarning)  # the final fit warns of ties and constants once
        within, beyond = (_losses_of_rounds(quiet, structure, sample, sides, bar) for sides in (splits, longer))
    rounds = [Candidate({"rounds": n}, tuple(column)) for n, column in enumerate(zip(*within, strict=True))]
    if beyond:
        loss = np.mean(beyond, axis=0)
        rounds = [candidate for candidate, n in zip(rounds, loss, strict=True) if n <= loss[0]]
    return int(as_good_as_best(rounds)[0].settings["rounds"])


def _losses_of_rounds(
    recipe: Recipe, structure: Structure, data: MeasuredDistances, splits: Sequence[Split], bar: Any
) -> list[list[float]]:
    """The held-out losses before the first round and after each, a list for each split."""
    losses = []
    for train, test in splits:
        rounds = _rounds(recipe, structure, data.take(train), _ROUNDS)
        found = [_loss(recipe, learned.semimetric, data.take(test)) for learned in rounds]
        losses.append(found + [found[-1]] * (_ROUNDS + 1 - len(found)))
        bar.update(1)
    return losses


def shorter_and_longer(recipe: Recipe, structure: Structure, data: MeasuredDistances, splits: Sequence[Split]) -> list[Split]:
    """Return splits that train on pairs up to the median length, and validate on those beyond it.

    The length of a pair is the weighted L1 distance that fits all pairs best. Measured distances would not do: of pairs
    equally long, those measured too small would be learned from, and those measured too large would be scored. `TooFewError`
    says that a split has no shorter, or no longer, pairs with distances > 0.
    """
    targets = data.targets(replace(recipe, link="identity"), replace(structure, bases=()))
    prior = fit_l1_prior(replace(structure, bases=()), targets.l1_moments(structure, recipe.n_jobs))
    embedding = l1_embedding(structure)
    design = replace(targets, scale=None).design(structure, embedding, recipe.n_jobs)
    length = design.matvec(embedding.prior(prior.slopes))
    longer = length > np.median(length)
    found = [(train[~longer[train]], test[longer[test]]) for train, test in splits]
    if not all(data.y[rows].any() for sides in found for rows in sides):
        raise TooFewError("a split holds no longer pairs out")
    return found


def _rounds(recipe: Recipe, structure: Structure, data: MeasuredDistances, most: int) -> Iterator[Learned]:
    """The distances before the first round and after each, until none lowers the loss of the pairs."""
    learned = fit_distances(recipe, structure, data.scaled(recipe, structure))
    yield learned
    for _ in range(most):
        d = learned.semimetric
        learned.solution.raise_if_interrupted()
        sums = d.link_function.invert(_distances(recipe, d, data))
        if not sums.any():
            return
        link = least_squares_link(sums, data.y, data.weight * _scale(recipe, data) ** 2)
        linked = replace(recipe, link=link)
        candidates = [learned, _with_link(learned, link), fit_distances(linked, structure, data.scaled(linked, structure))]
        best = min(candidates, key=lambda fitted: _loss(recipe, fitted.semimetric, data))
        if best is learned:
            return
        learned = best
        yield learned


def _with_link(learned: Learned, link: ConcaveLink) -> Learned:
    """The same weights under another link."""
    built = learned.built
    if not isinstance(built, str):
        made = built.assemble
        built = replace(built, assemble=lambda weights: replace(made(weights), link=link))
    return Learned(replace(learned.semimetric, link=link), learned.solution, built)


def least_squares_link(sums: Floats, y: Floats, weight: Floats) -> ConcaveLink:
    """The concave link of pieces between quantiles of the sums that is nearest to distances y by weighted least squares.

    ``sums``, ``y``: shape (n_pairs,); sums and distances >= 0, some of them > 0. ``weight``: shape (n_pairs,).
    """
    s, d = float(weight @ sums / weight.sum()), float(weight @ y / weight.sum())
    bends = np.unique(np.quantile(sums / s, np.arange(1, _BENDS + 1) / (_BENDS + 1)))
    bends = bends[bends >= _LEAST_BEND]
    hinges = np.column_stack([*(np.minimum(sums / s, bend) for bend in bends), sums / s])
    root = np.sqrt(weight / weight.sum())
    lower = np.append(np.zeros(len(bends)), _LEAST_SLOPE)
    found = lsq_linear(hinges * root[:, None], y / d * root, (lower, np.full(len(lower), np.inf)), method="bvls").x
    slopes = np.cumsum(np.maximum(found, lower)[::-1])[::-1]
    slopes = np.minimum(slopes, _STEEPEST * slopes[-1]) * (d / s)
    bent = np.abs(np.diff(slopes)) > 1e-9 * slopes[0]
    return ConcaveLink(tuple(bends[bent] * s), tuple(slopes[np.append(True, bent)]))


def _distances(recipe: Recipe, d: Semimetric, data: MeasuredDistances) -> Floats:
    return d.paired_by_index(data.pairs.items, data.pairs.index, n_jobs=recipe.n_jobs)


def _scale(recipe: Recipe, data: MeasuredDistances) -> Floats:
    """Return the factors of residuals in units of the mean distance; they exceed 1 where the loss is relative."""
    if recipe.relative is False:
        return np.ones(len(data.y))
    mean = float(data.weight @ data.y / data.weight.sum())
    return 1.0 / np.maximum(data.y / mean, 0.1 if recipe.relative is True else float(recipe.relative))


def _loss(recipe: Recipe, d: Semimetric, data: MeasuredDistances) -> float:
    mean = float(data.weight @ data.y / data.weight.sum())
    residuals = (_distances(recipe, d, data) - data.y) / mean * _scale(recipe, data)
    return resolve_loss(recipe.loss).value(residuals, data.weight / data.weight.sum())


def calibrate_distance(
    model: Semimetric,
    pairs: ArrayLike,
    distances: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    preprocessor: ArrayLike | None = None,
) -> Semimetric:
    """The distance with the concave link that comes nearest to measured distances, so that its values mean something.

    What is learned from classes, pairs or triplets orders pairs, in units of its own. Here

        d'(x, y) = g(s(x, y)),     min_g sum_i w_i (g(s_i) - y_i)²     over the increasing concave g of pieces with g(0) = 0

    where s is the sum that the model has before its link, and g bends at eight quantiles of the s_i at most. Neighbours, their
    order and the shares of features stay what they are; a metric whose link was concave stays one.

    Parameters
    ----------
    model : Semimetric
        Of any learner, with values >= 0.
    pairs : array-like of shape (n_pairs, 2, n_features), or (n_pairs, 2) with ``preprocessor``
    distances : array-like of shape (n_pairs,)
        Measured, finite and >= 0, some of them > 0, in the units that are wanted.
    sample_weight : array-like of shape (n_pairs,) or None
    preprocessor : array-like or frame of shape (n_items, n_features), or None
        The items that the row numbers in ``pairs`` name.

    Returns
    -------
    Semimetric

    Raises
    ------
    InputError
        If model is no `Semimetric`, or pairs and distances do not fit it or one another, or determine no scale.

    Examples
    --------
    >>> import numpy as np
    >>> from semimetric import Semimetric, calibrate_distance
    >>> X = np.arange(20.0)[:, None]
    >>> pairs = np.array([(i, j) for i in range(20) for j in range(i)])
    >>> miles = np.sqrt(np.abs(X[pairs[:, 0], 0] - X[pairs[:, 1], 0]))
    >>> d = calibrate_distance(Semimetric.l1(X), pairs, miles, preprocessor=X)
    >>> round(d([0.0], [9.0]), 1), d.axioms.name
    (3.0, 'metric')
    """
    if not isinstance(model, Semimetric):
        raise InputError(f"model is a {type(model).__name__}; a Semimetric is required: give model.semimetric_")
    if not model.axioms.nonnegative:
        raise InputError("the model has values below 0, where no link is defined; learn with axioms= other than None")
    found = check_tuples(
        pairs, Pairs, preprocessor, n_features=model.n_features, names=model.feature_names,
        encode=None if model.schema.plain else model.schema.encode,
    )  # fmt: skip
    y = check_distances(distances, len(found.index))
    weight = check_weights(sample_weight, len(y))
    values = model.paired_by_index(found.items, found.index)
    sums = model.link_function.invert(values)
    known = np.isfinite(sums) & (weight > 0)
    if not (sums[known] > 0).any() or not (y[known] > 0).any():
        raise InputError(
            f"of {len(y)} pairs {int((sums[known] > 0).sum())} have a distance > 0 by the model, and "
            f"{int((y[known] > 0).sum())} a measured one; both are required: give pairs of items that differ"
        )
    return replace(model, link=least_squares_link(sums[known], y[known], weight[known]))
