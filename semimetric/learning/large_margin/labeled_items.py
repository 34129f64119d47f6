"""Labelled items, and what a pass of large-margin learning needs of them.

That is pairs to measure spreads by, neighbours, sums over triplets and a design matrix of their rows, so that the items can
also lie in parts that no process holds at once. Items in memory are in `in_memory_items`, those in parts are in
`out_of_core`.
"""

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ..._foundation.types import Floats, Integers, Pairs
from ...data.distinct_rows import distinct_rows
from ...data.schema import Schema
from ...distances.semimetric import Semimetric
from ...embeddings.pairs.base import PairMap
from ...programs.design_matrix import Design
from ..assembly import assemble
from ..prior import L1Prior
from ..recipe import Recipe
from ..structure import Structure
from ..terms import least_weight

__all__ = [
    "LabeledDataset",
    "LabeledItems",
    "LargeMargin",
    "LargeMarginProblem",
    "SearchableItems",
    "TargetSums",
    "TripletNeighbors",
    "assemble_for_margin",
    "assemble_for_search",
    "drawn_rows",
]


@dataclass(frozen=True)
class LargeMargin:
    """The parameters of the large-margin program beside those of a recipe.

    Parameters
    ----------
    n_targets, n_impostors : int
        Nearest items of the own class, and of other classes, for every item.
    mu : float in (0, 1]
        Weight of the push against the pull.
    n_passes : int
    even : {"values", "places"}
        What the even distance counts: differences of values, or of places among the knots.
    """

    n_targets: int = 3
    n_impostors: int = 6
    mu: float = 1.0
    n_passes: int = 3
    even: str = "values"


@dataclass(frozen=True, eq=False)
class LabeledDataset:
    """Labelled items in memory.

    Parameters
    ----------
    items : ndarray of shape (n_items, n_features)
    labels : ndarray of shape (n_items,), int64
        The class of each item, 0, 1, ...
    weight : ndarray of shape (n_items,)
        Weights that sum to 1.
    """

    items: Floats
    labels: Integers
    weight: Floats

    @classmethod
    def of_distinct(cls, items: Floats, labels: Integers, weight: Floats) -> "LabeledDataset":
        """Items of which those that are given several times with one label are one, with the sum of the weights.

        Where no class has two different items, there would be no targets, so that repeated items stay what they are.
        """
        found = distinct_rows(items, labels, weight)
        if found is not None and np.bincount(labels[found.rows]).max() > 1:
            items, labels, weight = items[found.rows], labels[found.rows], found.weight
        return cls(np.ascontiguousarray(items), labels, weight)

    def take(self, rows: Integers) -> "LabeledDataset":
        """Some of the items, their weights again summing to 1."""
        return LabeledDataset(self.items[rows], self.labels[rows], self.weight[rows] / self.weight[rows].sum())


@dataclass(frozen=True, eq=False)
class LargeMarginProblem:
    """What all passes of large-margin learning share.

    Parameters
    ----------
    recipe : Recipe
    rule : LargeMargin
    structure : Structure
    measured : Structure
        The same columns over the knots in which the even distance counts.
    prior : L1Prior
        In units of the margin.
    """

    recipe: Recipe
    rule: LargeMargin
    structure: Structure
    measured: Structure
    prior: L1Prior

    @property
    def embedding(self) -> PairMap:
        """The columns of a pair of items."""
        return self.structure.embedding


def assemble_for_margin(
    problem: LargeMarginProblem,
    weights: Floats,
    example: Floats,
    out_of_range: Integers | None = None,
    *,
    compact: bool = True,
) -> Semimetric:
    """`assemble` in units of the margin; ``example`` are some items, shape (n, n_features)."""
    delta = least_weight(problem.recipe, problem.prior.weights(problem.measured))
    pairs = Pairs(example[:1], np.array([[0, 0]], dtype=np.int64))
    return assemble(
        problem.recipe, problem.structure, weights, delta, examples=pairs, out_of_range=out_of_range, compact=compact
    )


def assemble_for_search(problem: LargeMarginProblem, weights: Floats, example: Floats, *, compact: bool = True) -> Semimetric:
    """`assemble_for_margin` for search between passes: as in the program, items outside given knots count as at their ends."""
    d = assemble_for_margin(problem, weights, example, compact=compact)
    return replace(d, epsilon=np.zeros_like(d.epsilon))


class TargetSums(NamedTuple):
    """Sums over the target pairs of some items, to be added up over all items.

    Attributes
    ----------
    pull : ndarray of shape (n_columns,)
        The sum of the rows of the target pairs, each times the weight of its item.
    pull_weight : float
        The sum of these weights.
    distance : float
        The sum of the distances to targets that differ from their item: identical items say nothing about scale.
    n_apart : int
        How many these are.
    """

    pull: Floats
    pull_weight: float
    distance: float
    n_apart: int

    def plus(self, other: "TargetSums") -> "TargetSums":
        """The sums over the items of both."""
        return TargetSums(
            self.pull + other.pull,
            self.pull_weight + other.pull_weight,
            self.distance + other.distance,
            self.n_apart + other.n_apart,
        )

    @property
    def mean_target(self) -> float:
        """The mean distance to a target; 1, the mean distance of random pairs, where no target differs from its item."""
        return self.distance / self.n_apart if self.n_apart else 1.0

    @property
    def mean_pull(self) -> Floats:
        """The weighted mean of the rows of the target pairs, shape (n_columns,)."""
        return self.pull / self.pull_weight


class TripletNeighbors(ABC):
    """Targets and impostors of all items under some weights."""

    @property
    @abstractmethod
    def weight(self) -> Floats:
        """The weight of every triplet: that of its item, shape (n_triplets,)."""

    @property
    @abstractmethod
    def sums(self) -> TargetSums:
        """Sums over the targets of all items."""

    @abstractmethod
    def design(self) -> Design:
        """The rows A_ij - A_il of the triplets, shape (n_triplets, n_columns)."""

    @abstractmethod
    def impostor_pairs(self, most: int) -> Pairs:
        """Pairs of an item and one of its impostors: evenly spaced ones, about ``most``, where there are more."""


class SearchableItems(ABC):
    """Labelled items on the grid of a structure, among which neighbours can be searched."""

    @property
    @abstractmethod
    def example(self) -> Floats:
        """Some items, one at least, shape (n, n_features)."""

    @abstractmethod
    def drawn(self, n: int, random_state: int | None) -> Pairs:
        """The n pairs of items, drawn at random, by which spreads are measured."""

    @abstractmethod
    def neighbors(self, problem: LargeMarginProblem, weights: Floats) -> TripletNeighbors:
        """Targets and impostors of every item under the current weights."""


class LabeledItems(ABC):
    """Labelled items to learn from, before a structure is decided."""

    @property
    @abstractmethod
    def example(self) -> Floats:
        """Some items, one at least, shape (n, n_features)."""

    @abstractmethod
    def structure(self, recipe: Recipe, schema: Schema) -> Structure:
        """The structure that a recipe gives them."""

    @abstractmethod
    def searchable(self, recipe: Recipe, rule: LargeMargin, structure: Structure) -> AbstractContextManager[SearchableItems]:
        """The items on the grid, for as long as the context lasts."""


def drawn_rows(n_items: int, n: int, random_state: int | None) -> Integers:
    """Row numbers of n random pairs among ``n_items`` items, shape (n, 2)."""
    return np.random.default_rng(random_state).integers(0, n_items, (n, 2))
