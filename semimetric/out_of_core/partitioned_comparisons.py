"""Comparisons in parts: what learning by margins needs of them, as sums over the parts; rows stay where they are made."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import add
from typing import Any

import numpy as np

from .._foundation.types import Comparisons, Floats, Integers, Pairs
from ..data.parts.tuple_parts import TuplePart, TupleTable, read_tuples
from ..embeddings.pairs.base import PairMap
from ..learning.assembly import count_out_of_range, warn_out_of_range
from ..learning.comparisons.tuple_data import ComparisonData, InMemoryComparisons, JudgedPairs, OrderedTuples
from ..learning.prior import spread_from_moments
from ..learning.recipe import Recipe
from ..learning.structure import Structure, l1_embedding
from ..programs.design_matrix import Design, PairDesign
from ..programs.moments import Moments
from .partitioned_design import PartDesign, PartRows
from .partitioned_tuples import PartitionedTuples

__all__ = ["PartitionedComparisons"]

_MOST_EXAMPLES = 8  # pairs


def _comparisons(part: TuplePart, table: TupleTable) -> InMemoryComparisons:
    """The comparisons of one part, with weights as they are given."""
    read = read_tuples(part, table)
    if isinstance(read.tuples, Comparisons):
        return OrderedTuples(read.tuples, read.weight)
    return JudgedPairs(read.pairs, read.weight, read.y)


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
    """How many members of tuples lie outside the knots of each feature, then how many there are; shape (n_features + 1,)."""
    tuples = _comparisons(part, table).tuples
    return np.append(count_out_of_range(structure, tuples.used, tuples.occurrences), tuples.index.size)


@dataclass(frozen=True, eq=False)
class PartitionedComparisons(PartitionedTuples, ComparisonData):
    """Comparisons in parts."""

    @property
    def n_extra(self) -> int:  # type: ignore[override]  # it depends on what the tuples are
        """The number of columns that follow those of the embedding: 1 for the threshold of judged pairs, else 0."""
        return 0 if issubclass(self.table.spec.kind, Comparisons) else 1

    @cached_property
    def weight(self) -> Floats:  # type: ignore[override]  # it is read once
        """The weights of all tuples, part after part, summing to 1."""
        if all(part.weight is None for part in self.parts):
            return np.full(sum(self.survey.counts), 1.0 / sum(self.survey.counts))
        weight = np.concatenate(list(self.engine.each(_weights, self.parts, self.table)))
        return weight / weight.sum()

    @property
    def examples(self) -> Pairs:
        """Pairs of the first items of the survey; a distance keeps only examples of pairs."""
        return Pairs(self.survey.items, np.arange(2 * (min(len(self.survey.items), _MOST_EXAMPLES) // 2)).reshape(-1, 2))

    def spread(self, structure: Structure, n_jobs: int | None) -> Floats:
        """The root mean square differences, from second moments added up along the tree of parts."""
        moments = self.engine.total(_squares, add, self.parts, self.table, structure, n_jobs)
        return spread_from_moments(structure, moments.mean)

    def design(self, structure: Structure, embedding: PairMap, n_jobs: int | None) -> Design:
        """The design matrix in parts, whose rows are made, and kept if there is room, where the parts are."""
        rows: Sequence[Any] = self.engine.kept(_rows, self.parts, self.table, structure, embedding, n_jobs)
        return PartDesign(self.engine, rows, self.survey.counts, embedding.n_columns + self.n_extra)

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
