"""Labelled items, and what a pass of large-margin learning asks of them: pairs to measure spreads by, and neighbours.

It asks for sums over triplets and for a design of their rows, so items may also be in parts that nobody holds at once.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..._foundation.types import Floats, Integers, Pairs, Triplets
from ...distances.semimetric import Semimetric
from ...embeddings.pairs.base import Items, PairMap
from ...neighbors.index import NeighborIndex
from ...programs.comparison_design import ComparisonDesign
from ...programs.design_matrix import Design
from ...programs.triplet_design import TripletDesign, pair_rows
from ..assembly import distance
from ..recipe import Recipe
from ..structure import Structure, Task
from ..terms import Baseline, make_terms
from .targets_and_impostors import ClassMembers, TargetsAndImpostors, find_neighbors, find_neighbors_by_index

__all__ = [
    "LabeledDataset",
    "LabeledItems",
    "InMemoryItems",
    "LargeMargin",
    "InMemoryNeighbors",
    "TripletNeighbors",
    "LargeMarginProblem",
    "TargetSums",
    "assembled",
    "drawn_rows",
    "located_in",
    "searched",
]

_MANY = 30_000  # items, beyond which all distances take longer than an index
_HELD = 1 << 28  # entries of pair rows held: 2 GiB


@dataclass(frozen=True)
class LargeMargin:
    """What the program asks for.

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
    """Items, their classes 0, 1, ... and weights that sum to 1."""

    items: Floats
    labels: Integers
    weight: Floats

    def take(self, rows: Integers) -> "LabeledDataset":
        """Some of the items."""
        return LabeledDataset(self.items[rows], self.labels[rows], self.weight[rows] / self.weight[rows].sum())


@dataclass(frozen=True, eq=False)
class LargeMarginProblem:
    """All that the passes share; ``measured`` has the knots in which the even distance counts."""

    recipe: Recipe
    rule: LargeMargin
    structure: Structure
    measured: Structure
    base: Baseline

    @property
    def embedding(self) -> PairMap:
        """Of pairs of items."""
        return self.structure.embedding


def located_in(structure: Structure, items: Floats) -> Items:
    """Items on the grid."""
    return structure.embedding.locate(structure.directions.append(items) if structure.directions else items)


def assembled(
    setting: LargeMarginProblem, weights: Floats, example: Floats, counts: Integers | None = None, *, compact: bool = True
) -> Semimetric:
    """The distance in units of the margin; ``example`` are some items, shape (n, n_features), ``counts`` as in `distance`."""
    terms = make_terms(setting.recipe, setting.measured, setting.base)
    pairs = Pairs(example[:1], np.array([[0, 0]], dtype=np.int64))
    task = Task(pairs, np.zeros(1), np.ones(1), None, 1.0, None)
    return distance(setting.recipe, setting.structure, task, weights, terms.delta, counts, compact=compact)


def searched(setting: LargeMarginProblem, weights: Floats, example: Floats, *, compact: bool = True) -> Semimetric:
    """`assembled` for search: items beyond knots that are given are at their ends, as in the program."""
    d = assembled(setting, weights, example, compact=compact)
    return replace(d, epsilon=np.zeros_like(d.epsilon))


class TargetSums(NamedTuple):
    """What the neighbours of some items say together, to be added up over all.

    Attributes
    ----------
    pull : ndarray of shape (n,)
        Rows of the target pairs, times the weights of their items.
    pull_weight : float
    distance : float
        Of the targets that differ from their item: identical items say nothing about scale.
    apart : int
        How many these are.
    """

    pull: Floats
    pull_weight: float
    distance: float
    apart: int

    def plus(self, other: "TargetSums") -> "TargetSums":
        """Both."""
        return TargetSums(
            self.pull + other.pull, self.pull_weight + other.pull_weight,
            self.distance + other.distance, self.apart + other.apart,
        )  # fmt: skip

    @property
    def mean_target(self) -> float:
        """Mean distance to a target; where there is none, that of random pairs."""
        return self.distance / self.apart if self.apart else 1.0

    @property
    def mean_pull(self) -> Floats:
        """Weighted mean of the rows of the target pairs."""
        return self.pull / self.pull_weight


class TripletNeighbors(ABC):
    """Targets and impostors of all items under some weights."""

    @property
    @abstractmethod
    def weight(self) -> Floats:
        """Of every triplet that of its item."""

    @property
    @abstractmethod
    def sums(self) -> TargetSums:
        """Over all items."""

    @abstractmethod
    def design(self) -> Design:
        """Rows A_ij - A_il of the triplets."""


class LabeledItems(ABC):
    """Labelled items, wherever they are."""

    @property
    @abstractmethod
    def example(self) -> Floats:
        """Some items, one at least."""

    @abstractmethod
    def drawn(self, n: int, random_state: int | None) -> Pairs:
        """Pairs of items at random."""

    @abstractmethod
    def neighbours(self, setting: LargeMarginProblem, weights: Floats) -> TripletNeighbors:
        """Those of every item under the current weights."""


@dataclass(frozen=True, eq=False)
class InMemoryNeighbors(TripletNeighbors):
    """Neighbours of items in memory.

    Parameters
    ----------
    setting : LargeMarginProblem
    classes : LabeledDataset
        The first items of these are those that have neighbours.
    located : Items
        All of them.
    found : TargetsAndImpostors
    """

    setting: LargeMarginProblem
    classes: LabeledDataset
    located: Items
    found: TargetsAndImpostors

    @property
    def weight(self) -> Floats:
        """Of all triplets, in the order of `TargetsAndImpostors.triplets`."""
        return self.classes.weight[self.found.triplets()[:, 0]]

    @cached_property
    def sums(self) -> TargetSums:  # type: ignore[override]
        """Of these items."""
        near = self.found.near
        i, j = np.nonzero(near >= 0)
        rows = pair_rows(self.setting.embedding, self.located, i, near[i, j])
        weight, distances = self.classes.weight[i], self.found.near_distances[i, j]
        apart = distances[distances > 0]
        return TargetSums(np.asarray(rows.T @ weight), float(weight.sum()), float(apart.sum()), len(apart))

    def design(self) -> Design:
        """The rows of the pairs are held, if there is room."""
        left, right = self.found.pairs
        setting = self.setting
        if len(left) * setting.embedding.n_columns > _HELD:
            of = Triplets(self.classes.items, self.found.triplets())
            return ComparisonDesign.of(setting.embedding, of, setting.structure.directions, setting.recipe.n_jobs)
        pairs = pair_rows(setting.embedding, self.located, left, right)
        return TripletDesign.of_triplets(pairs, *self.found.rows(), setting.recipe.n_jobs)


@dataclass(frozen=True, eq=False)
class InMemoryItems(LabeledItems):
    """Items in memory."""

    classes: LabeledDataset
    located: Items

    @property
    def example(self) -> Floats:
        """All of them."""
        return self.classes.items

    def drawn(self, n: int, random_state: int | None) -> Pairs:
        """By row number."""
        return Pairs(self.classes.items, drawn_rows(len(self.classes.items), n, random_state))

    def neighbours(self, setting: LargeMarginProblem, weights: Floats) -> InMemoryNeighbors:
        """By all distances; of many items, by the index of this package."""
        rule, (items, labels), n_jobs = setting.rule, (self.classes.items, self.classes.labels), setting.recipe.n_jobs
        if len(labels) > _MANY:
            d = searched(setting, weights, items)
            raw = d.schema.decode(items)
            index, rows = NeighborIndex(d, n_jobs=n_jobs).fit(raw), np.arange(len(labels))
            found = find_neighbors_by_index(index, raw, rows, labels, rule.n_targets, rule.n_impostors)
        else:
            hoods = ClassMembers(setting.embedding, self.located, labels, n_jobs)
            found = find_neighbors(hoods, weights, rule.n_targets, rule.n_impostors)
        return InMemoryNeighbors(setting, self.classes, self.located, found)


def drawn_rows(n_items: int, n: int, random_state: int | None) -> Integers:
    """Rows of the items of n pairs at random, shape (n, 2)."""
    return np.random.default_rng(random_state).integers(0, n_items, (n, 2))
