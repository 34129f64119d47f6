"""Comparisons (pairs labeled alike or not, triplets, quadruplets), and what learning by margins needs of them.

That is sums over the tuples and a design matrix of their rows, so that the tuples can also lie in parts that no process
holds at once: `out_of_core` has the classes for these.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import add
from typing import Any, ClassVar

import numpy as np
from sklearn.metrics import roc_auc_score

from ..._foundation.types import Comparisons, Floats, Integers, Pairs, Tuples
from ...data.identical_items import distinct_items
from ...data.parts.tuples import TuplePart, TupleTable, read_tuples
from ..pairs.base import PairMap
from ..programs.comparison_design import ComparisonDesign
from ..programs.design_in_parts import PartDesign, PartRows
from ..programs.design_matrix import Design, PairDesign, RowsDesign
from ..programs.losses import Loss, SquaredHinge
from ..programs.moments import Moments
from .assembly import count_out_of_range, warn_out_of_range
from .options import Recipe
from .prior import spread_from_moments, spread_of_pairs, vertices_of_pairs
from .structure import Structure, l1_embedding
from .tuples import PartitionedTuples, TrainingTuples


class ComparisonData(ABC):
    """Comparisons, each of which names a near pair, a far pair, or both.

    Attributes
    ----------
    weight : ndarray of shape (n_tuples,)
        Positive, summing to 1.
    n_extra : int
        Number of columns after those of the embedding: 1 for the threshold of labeled pairs.
    """

    weight: Floats
    n_extra = 0

    @property
    @abstractmethod
    def items(self) -> Floats:
        """The items that knots are placed among, shape (n_items, n_features)."""

    @property
    @abstractmethod
    def examples(self) -> Pairs:
        """Some of the near or far pairs, one at least."""

    @abstractmethod
    def spread(self, structure: Structure, n_jobs: int | None) -> Floats:
        """Root mean square difference of every feature in a near or far pair, as `spread_of_pairs` gives it."""

    @abstractmethod
    def design(self, structure: Structure, embedding: PairMap, n_jobs: int | None) -> Design:
        """The design matrix A, shape (n_tuples, n_columns + n_extra): what a comparison lacks of its margin is A w + 1."""

    @abstractmethod
    def vertices(self, structure: Structure) -> list[Integers]:
        """The vertices that near or far pairs touch, one array for every group of full tables."""

    @abstractmethod
    def norms(self, structure: Structure, n_jobs: int | None) -> Floats:
        """The sum of every column over near and far pairs, shape (n_columns,), >= 0."""

    @abstractmethod
    def out_of_range(self, recipe: Recipe, structure: Structure) -> Integers:
        """Count the items outside the knots of each feature, shape (n_features,), and warn of them."""


@dataclass(frozen=True, eq=False)
class InMemoryComparisons(TrainingTuples, ComparisonData):
    """Comparisons in memory."""

    tuples: Tuples
    weight: Floats  # shape (n_tuples,)
    quick_loss: ClassVar[Loss] = SquaredHinge()

    @property
    @abstractmethod
    def near(self) -> tuple[Pairs, Floats]:
        """The pairs that should be close, and their weights."""

    @property
    @abstractmethod
    def far(self) -> tuple[Pairs, Floats]:
        """The pairs that should be far apart, and their weights."""

    @abstractmethod
    def take(self, rows: Integers) -> "InMemoryComparisons":
        """Some of the comparisons, their weights again summing to 1."""

    @abstractmethod
    def over(self, items: Floats) -> "InMemoryComparisons":
        """The same comparisons over other features of the items."""

    @abstractmethod
    def design(self, structure: Structure, embedding: PairMap, n_jobs: int | None) -> RowsDesign:
        """The design matrix A, whose rows are made when they are needed."""

    @abstractmethod
    def error(self, structure: Structure, weights: Floats) -> float:
        """Return the error of a distance on these comparisons, from 0 to 1; ``weights`` are those of the tables."""

    @property
    def decides(self) -> bool:
        """True if they can score a distance."""
        return True

    @cached_property
    def items(self) -> Floats:  # type: ignore[override]  # it is computed once
        """The distinct items that are in some tuple, or a sample of very many."""
        return distinct_items(self.tuples.used)

    @property
    def targets(self) -> Floats:
        """The target -1 of every comparison, shape (n_tuples,): the residual is then what it lacks of the margin."""
        return -np.ones(len(self.weight))

    @property
    def pairs(self) -> Pairs:
        """The near pairs, then the far ones."""
        return Pairs(self.tuples.items, np.concatenate([self.near[0].index, self.far[0].index]))

    @property
    def pair_weight(self) -> Floats:
        """The weights of `pairs`: that of the tuple of each, shape (n_pairs,)."""
        return np.concatenate([self.near[1], self.far[1]])

    @property
    def examples(self) -> Pairs:
        """All near and far pairs, as `pairs` has them."""
        return self.pairs

    def spread(self, structure: Structure, n_jobs: int | None) -> Floats:
        """The root mean square differences, from the second moments of all near and far pairs."""
        weight = self.pair_weight
        return spread_of_pairs(structure, l1_embedding(structure), self.pairs, weight / weight.sum(), n_jobs)

    def vertices(self, structure: Structure) -> list[Integers]:
        """The vertices that any near or far pair touches, one array for every group."""
        return vertices_of_pairs(structure, self.pairs)

    def norms(self, structure: Structure, n_jobs: int | None) -> Floats:
        """The sum of every column over all near and far pairs, shape (n_columns,)."""
        pairs = self.pairs
        return PairDesign(structure.embedding, pairs, structure.directions, n_jobs=n_jobs).rmatvec(np.ones(len(pairs)))

    def out_of_range(self, recipe: Recipe, structure: Structure) -> Integers:
        """The counts over the members of all tuples, shape (n_features,), after a warning if there are some."""
        counts = count_out_of_range(structure, self.tuples.used, self.tuples.occurrences)
        warn_out_of_range(recipe, structure, counts, self.tuples.index.size)
        return counts


@dataclass(frozen=True, eq=False)
class LabeledPairs(InMemoryComparisons):
    """Pairs labeled similar or not; the threshold b is one column more.

    Parameters
    ----------
    tuples : Pairs
    weight : ndarray of shape (n_pairs,)
    y : ndarray of shape (n_pairs,)
        +1 (similar) or -1 (dissimilar).
    """

    tuples: Pairs
    y: Floats
    n_extra = 1

    def _pairs_judged(self, label: int) -> tuple[Pairs, Floats]:
        """The pairs with y = ``label``, and their weights."""
        rows = np.flatnonzero(self.y == label)
        return Pairs(self.tuples.items, self.tuples.index[rows]), self.weight[rows]

    @property
    def near(self) -> tuple[Pairs, Floats]:
        """The pairs labeled similar, and their weights."""
        return self._pairs_judged(1)

    @property
    def far(self) -> tuple[Pairs, Floats]:
        """The pairs labeled dissimilar, and their weights."""
        return self._pairs_judged(-1)

    def take(self, rows: Integers) -> "LabeledPairs":
        """Some of the pairs, their weights again summing to 1."""
        return LabeledPairs(self.tuples.take(rows), self.weight[rows] / self.weight[rows].sum(), self.y[rows])

    def over(self, items: Floats) -> "LabeledPairs":
        """The same judgements over other features of the items."""
        return LabeledPairs(Pairs(items, self.tuples.index), self.weight, self.y)

    def design(self, structure: Structure, embedding: PairMap, n_jobs: int | None) -> RowsDesign:
        """The design matrix of rows y (a, -1), where a is the row of a pair; shape (n_pairs, n_columns + 1)."""
        return PairDesign(embedding, self.tuples, structure.directions, -np.ones((len(self.tuples), 1)), self.y, n_jobs)

    def error(self, structure: Structure, weights: Floats) -> float:
        """1 less the area under the ROC curve of minus the distance."""
        distances = PairDesign(structure.embedding, self.tuples, structure.directions).matvec(weights)
        return 1.0 - float(roc_auc_score(self.y, -distances, sample_weight=self.weight))

    @property
    def decides(self) -> bool:
        """True if there are similar and dissimilar pairs."""
        return len(np.unique(self.y)) == 2


@dataclass(frozen=True, eq=False)
class OrderedTuples(InMemoryComparisons):
    """Triplets or quadruplets, which say that a near pair is closer than a far one."""

    tuples: Comparisons

    @property
    def near(self) -> tuple[Pairs, Floats]:
        """The first pair of every tuple, which is the closer one, and the weights of the tuples."""
        return self.tuples.near, self.weight

    @property
    def far(self) -> tuple[Pairs, Floats]:
        """The second pair of every tuple, and the weights of the tuples."""
        return self.tuples.far, self.weight

    def take(self, rows: Integers) -> "OrderedTuples":
        """Some of the tuples, their weights again summing to 1."""
        return OrderedTuples(self.tuples.take(rows), self.weight[rows] / self.weight[rows].sum())

    def over(self, items: Floats) -> "OrderedTuples":
        """The same order over other features of the items."""
        return OrderedTuples(type(self.tuples)(items, self.tuples.index), self.weight)

    def design(self, structure: Structure, embedding: PairMap, n_jobs: int | None) -> RowsDesign:
        """The design matrix of rows a_near - a_far, shape (n_tuples, n_columns)."""
        return ComparisonDesign.of(embedding, self.tuples, structure.directions, n_jobs)

    def error(self, structure: Structure, weights: Floats) -> float:
        """The weighted share of the tuples that come out wrong, or equal."""
        gap = self.design(structure, structure.embedding, None).matvec(weights)
        return float(self.weight @ (gap >= 0))


_MOST_EXAMPLES = 8  # pairs


def _comparisons(part: TuplePart, table: TupleTable) -> InMemoryComparisons:
    """The comparisons of one part, with weights as they are given."""
    read = read_tuples(part, table)
    if isinstance(read.tuples, Comparisons):
        return OrderedTuples(read.tuples, read.weight)
    return LabeledPairs(read.pairs, read.weight, read.y)


def _weights(part: TuplePart, table: TupleTable) -> Floats:
    return read_tuples(part, table).weight


def _rows(part: TuplePart, table: TupleTable, structure: Structure, embedding: PairMap, n_jobs: int | None) -> PartRows:
    """The rows of one part, kept as a matrix where that is small."""
    comparisons = _comparisons(part, table)
    design = comparisons.design(structure, embedding, n_jobs).held()
    return PartRows(design, comparisons.targets, comparisons.weight)


def _squares(part: TuplePart, table: TupleTable, structure: Structure, n_jobs: int | None) -> Moments:
    """Second moments of the differences of features in the near and far pairs of one part."""
    comparisons = _comparisons(part, table)
    design = PairDesign(l1_embedding(structure), comparisons.pairs, structure.directions, n_jobs=n_jobs)
    return design.moments(np.zeros(len(comparisons.pairs)), comparisons.pair_weight)


def _vertices(part: TuplePart, table: TupleTable, structure: Structure) -> list[Integers]:
    return _comparisons(part, table).vertices(structure)


def _union(left: list[Integers], right: list[Integers]) -> list[Integers]:
    return [np.union1d(a, b) for a, b in zip(left, right, strict=True)]


def _norms(part: TuplePart, table: TupleTable, structure: Structure, n_jobs: int | None) -> Floats:
    return _comparisons(part, table).norms(structure, n_jobs)


def _out_of_range(part: TuplePart, table: TupleTable, structure: Structure) -> Integers:
    """Count members of tuples outside the knots of each feature, then all members; shape (n_features + 1,)."""
    tuples = _comparisons(part, table).tuples
    return np.append(count_out_of_range(structure, tuples.used, tuples.occurrences), tuples.index.size)


@dataclass(frozen=True, eq=False)
class PartitionedComparisons(PartitionedTuples, ComparisonData):
    """Comparisons in parts."""

    @property
    def n_extra(self) -> int:  # type: ignore[override]  # it depends on what the tuples are
        """The number of columns that follow those of the embedding: 1 for the threshold of labeled pairs, else 0."""
        return 0 if issubclass(self.table.spec.kind, Comparisons) else 1

    @cached_property
    def weight(self) -> Floats:  # type: ignore[override]  # it is read once
        """The weights of all tuples, part after part, summing to 1."""
        if all(part.weight is None for part in self.parts):
            return np.full(sum(self.sample.counts), 1.0 / sum(self.sample.counts))
        weight = np.concatenate(list(self.engine.each(_weights, self.parts, self.table)))
        return weight / weight.sum()

    @property
    def examples(self) -> Pairs:
        """Pairs of the first items of the sample; a distance keeps only examples of pairs."""
        return Pairs(self.sample.items, np.arange(2 * (min(len(self.sample.items), _MOST_EXAMPLES) // 2)).reshape(-1, 2))

    def spread(self, structure: Structure, n_jobs: int | None) -> Floats:
        """The root mean square differences, from second moments added up along the tree of parts."""
        moments = self.engine.total(_squares, add, self.parts, self.table, structure, n_jobs)
        return spread_from_moments(structure, moments.mean)

    def design(self, structure: Structure, embedding: PairMap, n_jobs: int | None) -> Design:
        """The design matrix in parts, whose rows are made, and kept if there is room, where the parts are."""
        rows: Sequence[Any] = self.engine.kept(_rows, self.parts, self.table, structure, embedding, n_jobs)
        return PartDesign(self.engine, rows, self.sample.counts, embedding.n_columns + self.n_extra)

    def vertices(self, structure: Structure) -> list[Integers]:
        """The union of the vertices that the pairs of each part touch."""
        return self.engine.total(_vertices, _union, self.parts, self.table, structure)

    def norms(self, structure: Structure, n_jobs: int | None) -> Floats:
        """The sums of the columns, added up along the tree of parts."""
        return self.engine.total(_norms, add, self.parts, self.table, structure, n_jobs)

    def out_of_range(self, recipe: Recipe, structure: Structure) -> Integers:
        """The counts summed over the parts, shape (n_features,), after one warning for all parts."""
        *counts, n_items = self.engine.total(_out_of_range, add, self.parts, self.table, structure)
        warn_out_of_range(recipe, structure, np.array(counts), int(n_items))
        return np.array(counts)
