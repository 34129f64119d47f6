"""How many pairs an expensive distance is called on: in rounds, until more of them no longer help (``n_pairs="auto"``).

A part of the items to learn from is kept back until the end: pairs of it tell, after each round, how far a model of all other
pairs is off. A round adds half as many pairs as there are. It ends where the mean error of two rounds running fell by less than
the standard error of the fall, or where the budget is spent. The last model learns from every pair that was evaluated, those
that told among them; the items that `error_` is told of play no part.

Pairs share items, so the standard error is that of a U-statistic of degree 2: twice that of the mean over items of what their
pairs fell by (Hoeffding 1948).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from .._foundation.errors import SemimetricWarning
from .._foundation.threads import one_blas_thread
from .._foundation.types import Floats, Integers, Pairs
from ..data.pair_sampling import sample_pairs
from ..data.schema import Schema
from ..data.splits import hold_out
from ..distances.semimetric import Semimetric
from ..learning.groups.selection import without_joint
from ..learning.recipe import Recipe
from ..learning.regression.distance_data import InMemoryDistances
from ..learning.regression.fit import learn as learn_distance
from ..learning.regression.link_selection import choose_link
from ..learning.regression.selection import choose_numbers
from ..learning.regression.wide import learn_wide

__all__ = ["draw_in_rounds"]

_SHARE = 0.2  # of the items, and of the budget, tells when to stop
_MOST_TELLING = 1_000  # pairs
_FIRST = 500  # pairs of the first round
_GROWTH = 1.5
_PATIENCE = 2  # rounds without a fall


def draw_in_rounds(
    recipe: Recipe, items: Floats, features: Floats, schema: Schema, evaluate: Callable[[Integers], Floats],
    budget: int, near: float, auto: dict[str, bool],
) -> None:  # fmt: skip
    """Evaluate distances in rounds until more do not help.

    Parameters
    ----------
    recipe : Recipe
        How a round learns; its settings are compared as with ``effort="fast"``.
    items : ndarray of shape (n_items, n_features)
        To learn from.
    features : ndarray of shape (n_items, n)
        By which near neighbours are drawn.
    schema : Schema
    evaluate : callable
        Of pairs of row numbers, shape (n, 2): their distances.
    budget : int
        The most pairs.
    near : float
        The share of pairs drawn among near neighbours.
    auto : dict
        Whether ``knots`` and ``alpha`` are compared.
    """
    rest, telling = hold_out(items, _SHARE, recipe.random_state)
    n_telling = min(int(_SHARE * budget), _MOST_TELLING) if len(telling) else 0
    order = rest[sample_pairs(features[rest], budget - n_telling, near=near, random_state=recipe.random_state)]
    if n_telling < 2 or len(order) <= _FIRST:
        evaluate(order)
        return
    told = telling[sample_pairs(features[telling], n_telling, near=0.0, random_state=recipe.random_state)]
    truth, y = evaluate(told), evaluate(order[:_FIRST])
    quick = replace(without_joint(recipe), effort="fast", verbose=False)
    off, calm = None, 0
    while len(y) < len(order) and calm < _PATIENCE:
        if y.any():  # of nothing but zeros no distance can be learned
            data = InMemoryDistances(Pairs(items, order[: len(y)]), y, np.full(len(y), 1 / len(y)))
            now = np.abs(_quickly(quick, data, schema, auto).paired_by_index(items, told) - truth)
            calm = calm + 1 if off is not None and not _fell(off - now, told) else 0
            off = now
        if calm < _PATIENCE:
            y = np.concatenate([y, evaluate(order[len(y) : int(_GROWTH * len(y))])])


def _quickly(recipe: Recipe, data: InMemoryDistances, schema: Schema, auto: dict[str, bool]) -> Semimetric:
    """The distance that the pairs so far teach."""
    with one_blas_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", SemimetricWarning)  # the last fit warns of ties and constants
        wide = learn_wide(recipe, data, schema, alpha=auto["alpha"]) if auto["knots"] else None
        if wide is None:
            chosen, _ = choose_link(recipe, data, schema, **auto)
            chosen, _ = choose_numbers(chosen, data, schema, **auto)
            d, solution = learn_distance(chosen, data, schema)
        else:
            d, solution = wide.semimetric, wide.solution
    solution.raise_if_interrupted()
    return d


def _fell(less: Floats, index: Integers) -> bool:
    """Whether errors fell by more than the standard error of their mean fall.

    Parameters
    ----------
    less : ndarray of shape (n_pairs,)
        By how much the error of each pair fell.
    index : ndarray of shape (n_pairs, 2)
        The items of each pair.
    """
    place = np.unique(index, return_inverse=True)[1].reshape(index.shape)
    counts = np.bincount(place.ravel())
    of_item = np.bincount(place.ravel(), np.repeat(less, 2)) / counts
    return bool(less.mean() > 2.0 * of_item.std(ddof=1) / np.sqrt(len(counts)))
