"""Distances of pairs of items that were not learned from, by learning again without them: items fall into folds.

For each fold the recipe is learned from the pairs that have no item in it (knots and directions are placed anew), and predicts
the pairs that have both. Pairs of two folds are neither. The difficulty of pairs is learned on the first fold, and intervals
are calibrated on the others.
"""

import warnings
from dataclasses import replace

import numpy as np

from ..._foundation.errors import InputError, SemimetricWarning, TooFewError
from ..._foundation.progress import progress_bar
from ..._foundation.types import Floats
from ...data.schema import Names
from ...data.splits import tuple_identities, units_of
from ...distances.semimetric import Semimetric
from ..recipe import Recipe
from .distance_data import InMemoryDistances
from .fit import learn
from .unseen_pairs import UnseenPairs, divided, landmarks_among, novelty_of, whole_rows

__all__ = ["cross_fitted", "judged", "set_aside"]

_N_FOLDS = 5
_FEWEST = 20  # pairs that are held out in all
_MOST = 10_000  # pairs that the folds divide; of more a sample is drawn
_LEAST = 2  # pairs to learn from


def set_aside(data: InMemoryDistances, share: float, recipe: Recipe) -> tuple[InMemoryDistances, InMemoryDistances]:
    """Pairs to learn from, and pairs of a share of the items, or of the components that share no item.

    Pairs of items of both sides are left out.

    Raises
    ------
    TooFewError
        If fewer than 20 pairs would be set aside, or fewer than two learned from.
    """
    identity = tuple_identities(data.pairs)
    unit = units_of(identity)
    n_units = int(unit.max()) + 1
    aside = np.zeros(n_units, dtype=bool)
    aside[np.random.default_rng(recipe.random_state).permutation(n_units)[: round(share * n_units)]] = True
    n_aside = aside[unit][identity].sum(axis=1)
    sides = n_aside == 0, n_aside == 2
    if sides[0].sum() < _LEAST or sides[1].sum() < _FEWEST:
        raise TooFewError(
            f"validation_fraction={share:g} of {len(unit)} items leaves {sides[0].sum()} pairs to learn from, and "
            f"{sides[1].sum()} set aside; {_FEWEST} set aside are required: give more pairs, or another share"
        )
    first, second = (taken(data, side) for side in sides)
    return first, second


def taken(data: InMemoryDistances, rows: np.ndarray) -> InMemoryDistances:
    """Some of the pairs, their weights again summing to 1; ``rows`` is a mask, or their numbers."""
    weight = data.weight[rows]
    return InMemoryDistances(data.pairs.take(rows), data.y[rows], weight / weight.sum())


def judged(d: Semimetric, data: InMemoryDistances, landmarks: Floats, recipe: Recipe) -> UnseenPairs:
    """The pairs that were set aside, judged by a model that has not seen their items."""
    identity = tuple_identities(data.pairs)
    index = data.pairs.index
    predicted = d.paired_by_index(data.pairs.items, index, n_jobs=recipe.n_jobs)
    novelty = novelty_of(d, data.pairs.items, index, landmarks, n_jobs=recipe.n_jobs)
    teaches, calibrates = divided(identity, units_of(identity), recipe.random_state)
    recalls = whole_rows(identity, data.y, predicted)
    return UnseenPairs(data.y, predicted, novelty, identity, teaches, calibrates, recalls)


def cross_fitted(recipe: Recipe, data: InMemoryDistances, names: Names) -> UnseenPairs:
    """All pairs of two items of the same fold, judged by models that have seen none of the fold; of many pairs, of a sample.

    Raises
    ------
    TooFewError
        If too few pairs have both items in one fold.
    InputError
        If the rest of the pairs of some fold cannot be learned from.
    """
    if len(data.y) > _MOST:
        data = taken(data, np.sort(np.random.default_rng(recipe.random_state).choice(len(data.y), _MOST, replace=False)))
    identity = tuple_identities(data.pairs)
    unit = units_of(identity)
    fold = _folds(int(unit.max()) + 1, recipe.random_state)[unit]
    left, right = fold[identity].T
    sides = [((left != k) & (right != k), (left == k) & (right == k)) for k in range(_N_FOLDS)]
    n_held = sum(int(held.sum()) for _, held in sides)
    if n_held < _FEWEST or min(int(rest.sum()) for rest, _ in sides) < _LEAST:
        raise TooFewError(
            f"only {n_held} of {len(data.y)} pairs have both items in one of {_N_FOLDS} folds; {_FEWEST} are required: give "
            "more pairs, or pairs of fewer items"
        )
    quiet, found = replace(recipe, verbose=False), []
    with progress_bar(_N_FOLDS, "errors", verbose=recipe.verbose) as bar, warnings.catch_warnings():
        warnings.simplefilter("ignore", SemimetricWarning)  # the fit to all pairs warned once
        for k, (rest, held) in enumerate(sides):
            if held.any():
                found.append(_without(quiet, taken(data, rest), taken(data, held), identity[held], names, teaches=k == 0))
            bar.update()
    return UnseenPairs.joined(found)


def _folds(n_units: int, random_state: int | None) -> np.ndarray:
    """The fold of each unit, at random and of equal sizes."""
    fold = np.empty(n_units, np.int64)
    fold[np.random.default_rng(random_state).permutation(n_units)] = np.arange(n_units) % _N_FOLDS
    return fold


def _without(
    recipe: Recipe, rest: InMemoryDistances, held: InMemoryDistances, items: np.ndarray, names: Names, *, teaches: bool
) -> UnseenPairs:
    """The pairs of one fold, judged by what the rest teaches."""
    if np.ptp(rest.y) == 0:
        raise InputError(
            f"without a fold of items {len(rest.y)} pairs are left, all at distance {rest.y[0]:g}; give more pairs"
        )
    d, solution = learn(recipe, rest, names)
    solution.raise_if_interrupted(kept=True)
    index = held.pairs.index
    predicted = d.paired_by_index(held.pairs.items, index, n_jobs=recipe.n_jobs)
    landmarks = landmarks_among(rest.items, recipe.random_state)
    novelty = novelty_of(d, held.pairs.items, index, landmarks, n_jobs=recipe.n_jobs)
    different = items[:, 0] != items[:, 1]
    return UnseenPairs(
        held.y, predicted, novelty, items, different & teaches, different & (not teaches),
        whole_rows(items, held.y, predicted),
    )  # fmt: skip
