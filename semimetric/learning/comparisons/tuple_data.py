"""What comparisons say: pairs judged alike or not, triplets, quadruplets, and what learning by margins asks of them.

It asks for sums over the tuples and for a design of their rows, so tuples may also be in parts that nobody holds at once.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from ..._foundation.types import Comparisons, Floats, Integers, Pairs, Tuples
from ...embeddings.pairs.base import PairMap
from ...programs.comparison_design import ComparisonDesign
from ...programs.design_matrix import Design, PairDesign, RowsDesign
from ..assembly import beyond
from ..recipe import Recipe
from ..structure import Structure, ends
from ..terms import LEAST_SPREAD, steady, touched_vertices

__all__ = ["OrderedTuples", "InMemoryComparisons", "JudgedPairs", "ComparisonData", "spread_from", "spread_of"]


class ComparisonData(ABC):
    """What learning asks of tuples, wherever they are.

    Attributes
    ----------
    weight : ndarray of shape (m,)
        One a tuple, summing to 1.
    n_extra : int
        Columns behind those of the embedding.
    """

    weight: Floats
    n_extra = 0

    @property
    @abstractmethod
    def used(self) -> Floats:
        """Items that knots are placed among."""

    @property
    @abstractmethod
    def few(self) -> Pairs:
        """Some of the pairs, one at least."""

    @abstractmethod
    def spread(self, structure: Structure, n_jobs: int | None) -> Floats:
        """Root mean square difference of every feature in a near or far pair, as `spread_of` has it."""

    @abstractmethod
    def design(self, structure: Structure, embedding: PairMap, n_jobs: int | None) -> Design:
        """Rows A with residuals A w + 1."""

    @abstractmethod
    def touched(self, structure: Structure) -> list[Integers]:
        """The vertices of each group that near or far pairs touch."""

    @abstractmethod
    def norms(self, structure: Structure, n_jobs: int | None) -> Floats:
        """Sums of the columns over near and far pairs, >= 0."""

    @abstractmethod
    def beyond(self, recipe: Recipe, structure: Structure) -> Integers:
        """`assembly.beyond` of the items."""


@dataclass(frozen=True, eq=False)
class InMemoryComparisons(ComparisonData):
    """Tuples in memory and what they say, one weight each, summing to 1."""

    tuples: Tuples
    weight: Floats

    @property
    @abstractmethod
    def near(self) -> tuple[Pairs, Floats]:
        """Pairs that should be close, and their weights."""

    @property
    @abstractmethod
    def far(self) -> tuple[Pairs, Floats]:
        """Pairs that should not, and their weights."""

    @abstractmethod
    def take(self, rows: Integers) -> "InMemoryComparisons":
        """Some of the tuples, weights summing to 1."""

    @abstractmethod
    def design(self, structure: Structure, embedding: PairMap, n_jobs: int | None) -> RowsDesign:
        """Rows A with residuals A w + 1."""

    @property
    def used(self) -> Floats:
        """Items of the tuples."""
        return self.tuples.used

    @property
    def pairs(self) -> Pairs:
        """Near and far pairs."""
        return Pairs(self.tuples.items, np.concatenate([self.near[0].index, self.far[0].index]))

    @property
    def pair_weight(self) -> Floats:
        """Weights of `pairs`."""
        return np.concatenate([self.near[1], self.far[1]])

    @property
    def few(self) -> Pairs:
        """All of them."""
        return self.pairs

    def spread(self, structure: Structure, n_jobs: int | None) -> Floats:
        """By their second moments."""
        weight = self.pair_weight
        return spread_of(structure, ends(structure), self.pairs, weight / weight.sum(), n_jobs)

    def touched(self, structure: Structure) -> list[Integers]:
        """Of all at once."""
        return touched_vertices(structure, self.pairs)

    def norms(self, structure: Structure, n_jobs: int | None) -> Floats:
        """Of all at once."""
        pairs = self.pairs
        return PairDesign(structure.embedding, pairs, structure.directions, n_jobs=n_jobs).rmatvec(np.ones(len(pairs)))

    def beyond(self, recipe: Recipe, structure: Structure) -> Integers:
        """Of all at once."""
        return beyond(recipe, structure, self.pairs)


@dataclass(frozen=True, eq=False)
class JudgedPairs(InMemoryComparisons):
    """Pairs with y = +1 (similar) or -1; the threshold b is one column more."""

    y: Floats
    n_extra = 1

    def _of(self, label: int) -> tuple[Pairs, Floats]:
        rows = np.flatnonzero(self.y == label)
        return Pairs(self.tuples.items, self.tuples.index[rows]), self.weight[rows]

    @property
    def near(self) -> tuple[Pairs, Floats]:
        """Those judged similar."""
        return self._of(1)

    @property
    def far(self) -> tuple[Pairs, Floats]:
        """Those judged dissimilar."""
        return self._of(-1)

    def take(self, rows: Integers) -> "JudgedPairs":
        """Some of the pairs, weights summing to 1."""
        return JudgedPairs(self.tuples.take(rows), self.weight[rows] / self.weight[rows].sum(), self.y[rows])

    def design(self, structure: Structure, embedding: PairMap, n_jobs: int | None) -> RowsDesign:
        """Rows y (a, -1)."""
        pairs = Pairs(self.tuples.items, self.tuples.index)
        return PairDesign(embedding, pairs, structure.directions, -np.ones((len(pairs), 1)), self.y, n_jobs)


@dataclass(frozen=True, eq=False)
class OrderedTuples(InMemoryComparisons):
    """Triplets or quadruplets: the near pair is closer than the far one."""

    tuples: Comparisons

    @property
    def near(self) -> tuple[Pairs, Floats]:
        """The first pair of every comparison."""
        return self.tuples.near, self.weight

    @property
    def far(self) -> tuple[Pairs, Floats]:
        """The second one."""
        return self.tuples.far, self.weight

    def take(self, rows: Integers) -> "OrderedTuples":
        """Some of the comparisons, weights summing to 1."""
        return OrderedTuples(self.tuples.take(rows), self.weight[rows] / self.weight[rows].sum())

    def design(self, structure: Structure, embedding: PairMap, n_jobs: int | None) -> RowsDesign:
        """Rows a_near - a_far."""
        return ComparisonDesign.of(embedding, self.tuples, structure.directions, n_jobs)


def spread_of(
    structure: Structure, embedding: PairMap, pairs: Pairs, weight: Floats, n_jobs: int | None, *, least: float = LEAST_SPREAD
) -> Floats:
    """Root mean square difference of every feature in a pair, as `steady` has it; 1 where constant.

    ``embedding`` is that of `ends`; weights of pairs sum to 1.
    """
    design = PairDesign(embedding, pairs, structure.directions, n_jobs=n_jobs)
    return spread_from(structure, design.moments(np.zeros(len(weight)), weight).norms(), least)


def spread_from(structure: Structure, rms: Floats, least: float = LEAST_SPREAD) -> Floats:
    """`spread_of` from the root mean squares of the columns of `ends`."""
    grid = structure.embedding.grid
    spread = np.ones(grid.n_features)
    spread[grid.varies] = steady(rms, least) * grid.widths[grid.varies]
    return spread
