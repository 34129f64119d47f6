"""Neighbours of items held out, by which votes are chosen: those that the learner kept of its choice, or of folds made here.

A distance draws the items that it was learned from to their own kind, so that votes chosen by leaving one item out of its own
training set trust near neighbours too much: measured on 35 tables under distances of `LargeMarginLearner`, they have 4 % more
errors and a fifth more log loss than votes chosen on folds, for each of which the distance is learned anew.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from .._foundation.tables import take_rows
from .._foundation.types import Floats, Integers
from ..data.identical_items import identities
from ..data.splits import ItemClasses, leaves_enough
from ..distances.semimetric import Semimetric
from ..embeddings.directions.linear_directions import Directions
from ..neighbors.index import NeighborIndex
from ..neighbors.vote_choice import MOST_NEIGHBORS, HeldOutNeighbors

__all__ = ["HeldOutSearch", "as_chosen", "strata_of_values", "usable_folds"]

_N_FOLDS = 3
_STRATA, _LEAST_STRATUM = 10, 6  # of values, and the fewest items in one
_MANY = 3_000  # items, of which one part is held out once
_MOST_HELD_OUT = 2_000  # items that judge, of many
_CHOSEN = ("n_knots", "alpha", "directions", "tables", "groups")


def as_chosen(learner: Any, fitted: Any) -> Any:
    """A copy of the learner with the settings that a fit of it has chosen in place of "auto", where its recipe says them.

    It has no time budget, which is for the choice of settings.
    """
    recipe, made = getattr(fitted, "recipe_", None), clone(learner)
    names = [name for name in _CHOSEN if name in made.get_params(deep=False) and hasattr(recipe, name)]
    if isinstance(getattr(made, "directions", None), str) and isinstance(getattr(recipe, "directions", None), Directions):
        names = [name for name in names if name not in ("directions", "tables")]  # they were fitted to all items
    chosen = {name: getattr(recipe, name) for name in names}
    return made.set_params(**chosen | ({"time_budget": None} if "time_budget" in made.get_params(deep=False) else {}))


def usable_folds(rows: Floats, strata: NDArray[Any], random_state: int, *, n_strata: int) -> list[tuple[Integers, Integers]]:
    """Row numbers to learn from and to judge by, with equal shares of every stratum; identical items are on one side.

    Parts to learn from that have fewer than ``n_strata`` strata, or two items in none, are left out.
    """
    found = identities(rows)
    order = np.argsort(found.hashes[found.number], kind="stable")  # neither the order of the rows nor repetition plays a part
    classes = ItemClasses(rows[order], strata[order])
    n_folds = min(_N_FOLDS, classes.most_folds)
    if n_folds < 2:
        return []
    if len(classes.labels) > _MANY:
        parts = [classes.shares(min(0.2, _MOST_HELD_OUT / len(classes.labels)), random_state)]
    else:
        parts = classes.folds(n_folds, random_state)
    usable = [
        (part, held)
        for part, held in parts
        if len(held) and leaves_enough(classes.labels[np.unique(classes.number[part])], n_strata)
    ]
    return [(np.sort(order[part]), np.sort(order[held])) for part, held in usable]


def strata_of_values(values: Floats) -> Integers:
    """The number of the tenth of the distinct values in which each value lies; of few values they are fewer than ten."""
    distinct = np.unique(values)
    n_strata = min(_STRATA, max(len(distinct) // _LEAST_STRATUM, 1))
    bounds = np.quantile(distinct, np.arange(1, n_strata) / n_strata, method="inverted_cdf")
    return np.searchsorted(np.unique(bounds), values, side="left")


class HeldOutSearch:
    """Searches the nearest items, of a part, of the items that are held out of it.

    Parameters
    ----------
    X : array-like or frame of shape (n_items, n_features)
    targets : ndarray of shape (n_items,)
        Classes as numbers, or values.
    weight : ndarray of shape (n_items,) or None
        How many neighbours each item is; None is one each.
    learn : callable
        Given sorted row numbers, it learns a distance from these rows.
    n_jobs : int or None
    """

    def __init__(
        self, X: Any, targets: Any, weight: Floats | None, learn: Callable[[Integers], Semimetric], n_jobs: int | None
    ) -> None:
        self.X, self.targets, self.weight, self.learn, self.n_jobs = X, targets, weight, learn, n_jobs

    def folds(
        self, rows: Floats, strata: NDArray[Any], random_state: int, *, n_strata: int = 1, n_targets: int = 1
    ) -> list[HeldOutNeighbors]:
        """The neighbours of the items that each fold holds out of those that have a weight.

        Parameters
        ----------
        rows : ndarray of shape (n_items, n_encoded)
            The items, encoded.
        strata : ndarray of shape (n_items,)
            What has equal shares in all folds.
        random_state : int
        n_strata, n_targets : int
            A part to learn from that has fewer strata, or fewer different targets, is left out.
        """
        used = np.arange(len(rows)) if self.weight is None else np.flatnonzero(self.weight > 0)
        parts = usable_folds(rows[used], strata[used], random_state, n_strata=n_strata)
        return [
            self.neighbors(used[part], used[held])
            for part, held in parts
            if len(np.unique(self.targets[used[part]])) >= n_targets
        ]

    def neighbors(self, part: Integers, held: Integers) -> HeldOutNeighbors:
        """The nearest items among the rows of ``part`` of the rows ``held``, whose targets are the classes or values."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit on all items has said it
            index = NeighborIndex(self.learn(part), n_jobs=self.n_jobs).fit(take_rows(self.X, part))
            distances, near = index.kneighbors(take_rows(self.X, held), min(MOST_NEIGHBORS, len(part)))
        weight = np.ones(len(self.targets)) if self.weight is None else self.weight
        return HeldOutNeighbors(
            distances, self.targets[part][near], self.targets[held], weight[held],
            neighbor_weight=None if self.weight is None else weight[part][near],
        )  # fmt: skip
