"""Comparisons (pairs labeled alike or not, triplets, quadruplets), and what learning by margins needs of them."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from sklearn.metrics import roc_auc_score

from ..._foundation.types import Floats, Integers, Pairs, RelativeComparisons, Tuples
from ...data.identical_items import distinct_items
from ...data.parts.engine import Engine
from ...data.parts.parts import Parts
from ...data.parts.tuples import PartTuples, TuplePart, TupleSample, TupleTable, read_tuples
from ..pairs.base import PairMap
from ..programs.comparison_design import ComparisonDesign
from ..programs.design_in_parts import PartDesign, PartRows
from ..programs.design_matrix import Design, Moments, PairDesign, RowsDesign
from ..programs.losses import Loss, SquaredHinge
from .assembly import count_out_of_range, warn_out_of_range
from .options import Recipe
from .prior import spread_from_moments, spread_of_pairs, vertices_of_pairs
from .search import TrainingTuples
from .structure import Structure, l1_embedding


@dataclass(frozen=True, eq=False)
class ComparisonBlock(TrainingTuples):
    """Comparisons in memory, each of which names a near pair, a far pair, or both."""

    tuples: Tuples
    weight: Floats  # shape (n_tuples,)
    n_extra: ClassVar[int] = 0  # number of columns after those of the embedding: 1 for the threshold of labeled pairs
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
    def error(self, structure: Structure, weights: Floats) -> float:
        """Return the error of a distance on these comparisons, from 0 to 1; ``weights`` are those of the tables."""

    @property
    def decides(self) -> bool:
        """True if they can score a distance."""
        return True

    @cached_property
    def items(self) -> Floats:
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


@dataclass(frozen=True, eq=False)
class LabeledPairs(ComparisonBlock):
    """Pairs labeled similar or not; the threshold b is one column more."""

    tuples: Pairs
    y: Floats  # shape (n_pairs,): +1 (similar) or -1 (dissimilar)
    n_extra: ClassVar[int] = 1

    def _pairs_labeled(self, label: int) -> tuple[Pairs, Floats]:
        rows = np.flatnonzero(self.y == label)
        return Pairs(self.tuples.items, self.tuples.index[rows]), self.weight[rows]

    @property
    def near(self) -> tuple[Pairs, Floats]:
        """The pairs labeled similar, and their weights."""
        return self._pairs_labeled(1)

    @property
    def far(self) -> tuple[Pairs, Floats]:
        """The pairs labeled dissimilar, and their weights."""
        return self._pairs_labeled(-1)

    def take(self, rows: Integers) -> "LabeledPairs":
        return LabeledPairs(self.tuples.take(rows), self.weight[rows] / self.weight[rows].sum(), self.y[rows])

    def over(self, items: Floats) -> "LabeledPairs":
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
class OrderedTuples(ComparisonBlock):
    """Triplets or quadruplets, which say that a near pair is closer than a far one."""

    tuples: RelativeComparisons

    @property
    def near(self) -> tuple[Pairs, Floats]:
        """The first pair of every tuple, which is the closer one, and the weights of the tuples."""
        return self.tuples.near, self.weight

    @property
    def far(self) -> tuple[Pairs, Floats]:
        """The second pair of every tuple, and the weights of the tuples."""
        return self.tuples.far, self.weight

    def take(self, rows: Integers) -> "OrderedTuples":
        return OrderedTuples(self.tuples.take(rows), self.weight[rows] / self.weight[rows].sum())

    def over(self, items: Floats) -> "OrderedTuples":
        return OrderedTuples(type(self.tuples)(items, self.tuples.index), self.weight)

    def design(self, structure: Structure, embedding: PairMap, n_jobs: int | None) -> RowsDesign:
        """The design matrix of rows a_near - a_far, shape (n_tuples, n_columns)."""
        return ComparisonDesign.of(embedding, self.tuples, structure.directions, n_jobs)

    def error(self, structure: Structure, weights: Floats) -> float:
        """The weighted fraction of the tuples that come out wrong, or equal."""
        gap = self.design(structure, structure.embedding, None).matvec(weights)
        return float(self.weight @ (gap >= 0))


_MOST_EXAMPLES = 8  # pairs


@dataclass(frozen=True, eq=False)
class ComparisonData:
    """Comparisons to learn from."""

    parts: Parts[ComparisonBlock]
    n_extra: int  # number of columns after those of the embedding: 1 for the threshold of labeled pairs
    weight: Floats  # shape (n_tuples,); the weights of all tuples, part after part, summing to 1
    sample: TupleSample | None = None  # what a first pass over parts has found; None in memory

    @classmethod
    def of(cls, block: ComparisonBlock) -> "ComparisonData":
        """Comparisons in memory."""
        return cls(Parts.of(block), block.n_extra, block.weight)

    @classmethod
    def of_parts(cls, engine: Engine, parts: Sequence[TuplePart], table: TupleTable, sample: TupleSample) -> "ComparisonData":
        """Comparisons that are read part by part."""
        read = Parts(engine, parts, read_tuples, (table,))
        n_extra = 0 if issubclass(table.spec.kind, RelativeComparisons) else 1
        if all(part.weight is None for part in parts):
            weight = np.full(sum(sample.counts), 1.0 / sum(sample.counts))
        else:
            weight = np.concatenate(list(read.each(_weight)))
            weight = weight / weight.sum()
        return cls(read.map(_comparisons), n_extra, weight, sample)

    @property
    def items(self) -> Floats:
        """The items that knots are placed among, shape (n_items, n_features)."""
        block = self.parts.in_memory
        return block.items if block is not None else self._sample.items

    @property
    def _sample(self) -> TupleSample:
        assert self.sample is not None
        return self.sample

    @property
    def examples(self) -> Pairs:
        """Some pairs, one at least: the near and far pairs in memory, or the first items of the sample in pairs."""
        block = self.parts.in_memory
        if block is not None:
            return block.pairs
        items = self._sample.items
        return Pairs(items, np.arange(2 * (min(len(items), _MOST_EXAMPLES) // 2)).reshape(-1, 2))

    def spread(self, structure: Structure, n_jobs: int | None) -> Floats:
        """Root mean square difference of every feature in a near or far pair, as `spread_of_pairs` gives it."""
        block = self.parts.in_memory
        if block is not None:
            weight = block.pair_weight
            return spread_of_pairs(structure, l1_embedding(structure), block.pairs, weight / weight.sum(), n_jobs)
        return spread_from_moments(structure, self.parts.total(_squares, structure, n_jobs).mean)

    def design(self, structure: Structure, embedding: PairMap, n_jobs: int | None) -> Design:
        """The design matrix A, shape (n_tuples, n_columns + n_extra): what a comparison lacks of its margin is A w + 1.

        Its rows are made when they are needed; those of parts are kept, if there is room, where the parts are.
        """
        block = self.parts.in_memory
        if block is not None:
            return block.design(structure, embedding, n_jobs)
        rows = self.parts.persist(_held_rows, structure, embedding, n_jobs)
        return PartDesign(self.parts.engine, rows, self._sample.counts, embedding.n_columns + self.n_extra)

    def vertices(self, structure: Structure) -> list[Integers]:
        """The vertices that near or far pairs touch, one array for every group of full tables."""
        return self.parts.total(_vertices, structure, add=_union)

    def norms(self, structure: Structure, n_jobs: int | None) -> Floats:
        """The sum of every column over near and far pairs, shape (n_columns,), >= 0."""
        return self.parts.total(_norms, structure, n_jobs)

    def out_of_range(self, recipe: Recipe, structure: Structure) -> Integers:
        """Count the items outside the knots of each feature, shape (n_features,), and warn of them once."""
        *counts, n_items = self.parts.total(_out_of_range, structure)
        warn_out_of_range(recipe, structure, np.array(counts), int(n_items))
        return np.array(counts)


def _comparisons(read: PartTuples) -> ComparisonBlock:
    """The comparisons of one part, with weights as they are given."""
    if isinstance(read.tuples, RelativeComparisons):
        return OrderedTuples(read.tuples, read.weight)
    return LabeledPairs(read.pairs, read.weight, read.y)


def _weight(read: PartTuples) -> Floats:
    return read.weight


def _held_rows(block: ComparisonBlock, structure: Structure, embedding: PairMap, n_jobs: int | None) -> PartRows:
    """The rows of one part, kept as a matrix where that is small."""
    return PartRows(block.design(structure, embedding, n_jobs).held(), block.targets, block.weight)


def _squares(block: ComparisonBlock, structure: Structure, n_jobs: int | None) -> Moments:
    design = PairDesign(l1_embedding(structure), block.pairs, structure.directions, n_jobs=n_jobs)
    return design.moments(np.zeros(len(block.pairs)), block.pair_weight)


def _vertices(block: ComparisonBlock, structure: Structure) -> list[Integers]:
    return vertices_of_pairs(structure, block.pairs)


def _union(left: list[Integers], right: list[Integers]) -> list[Integers]:
    return [np.union1d(a, b) for a, b in zip(left, right, strict=True)]


def _norms(block: ComparisonBlock, structure: Structure, n_jobs: int | None) -> Floats:
    pairs = block.pairs
    return PairDesign(structure.embedding, pairs, structure.directions, n_jobs=n_jobs).rmatvec(np.ones(len(pairs)))


def _out_of_range(block: ComparisonBlock, structure: Structure) -> Integers:
    """Count members of tuples outside the knots of each feature, then all members; shape (n_features + 1,)."""
    tuples = block.tuples
    return np.append(count_out_of_range(structure, tuples.used, tuples.occurrences), tuples.index.size)
