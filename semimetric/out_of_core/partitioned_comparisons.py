"""Comparisons in parts: what learning by margins asks of them as sums over parts, their rows staying where they are made."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import add
from typing import Any

import numpy as np

from .._foundation.types import Comparisons, Floats, Integers, Pairs
from ..data.parts.engine import Engine
from ..data.parts.tuple_parts import Survey, TuplePart, TupleTable, read_tuples
from ..embeddings.pairs.base import PairMap
from ..learning.assembly import count_beyond, warn_beyond
from ..learning.comparisons.tuple_data import ComparisonData, InMemoryComparisons, JudgedPairs, OrderedTuples, spread_from
from ..learning.recipe import Recipe
from ..learning.structure import Structure, ends
from ..programs.design_matrix import Design, Moments, PairDesign
from .partitioned_design import PartDesign, PartRows

__all__ = ["PartitionedComparisons"]

_FEW = 8  # pairs


def _evidence(part: TuplePart, table: TupleTable) -> InMemoryComparisons:
    """What one part says, with weights as they are given."""
    block = read_tuples(part, table)
    if isinstance(block.tuples, Comparisons):
        return OrderedTuples(block.tuples, block.weight)
    return JudgedPairs(block.tuples, block.weight, block.y)


def _weights(part: TuplePart, table: TupleTable) -> Floats:
    return read_tuples(part, table).weight


def _rows(part: TuplePart, table: TupleTable, structure: Structure, embedding: PairMap, n_jobs: int | None) -> PartRows:
    said = _evidence(part, table)
    design = said.design(structure, embedding, n_jobs).held()
    return PartRows(design, -np.ones(len(said.weight)), said.weight)


def _squares(part: TuplePart, table: TupleTable, structure: Structure, n_jobs: int | None) -> Moments:
    """Second moments of the differences of features in near and far pairs."""
    said = _evidence(part, table)
    design = PairDesign(ends(structure), said.pairs, structure.directions, n_jobs=n_jobs)
    return design.moments(np.zeros(len(said.pairs)), said.pair_weight)


def _touched(part: TuplePart, table: TupleTable, structure: Structure) -> list[Integers]:
    return _evidence(part, table).touched(structure)


def _union(left: list[Integers], right: list[Integers]) -> list[Integers]:
    return [np.union1d(a, b) for a, b in zip(left, right, strict=True)]


def _norms(part: TuplePart, table: TupleTable, structure: Structure, n_jobs: int | None) -> Floats:
    return _evidence(part, table).norms(structure, n_jobs)


def _beyond(part: TuplePart, table: TupleTable, structure: Structure) -> Integers:
    """Items beyond the knots of every feature, and how many items there are."""
    used = _evidence(part, table).used
    return np.append(count_beyond(structure, used), len(used))


@dataclass(frozen=True, eq=False)
class PartitionedComparisons(ComparisonData):
    """Tuples in parts.

    Parameters
    ----------
    engine : Engine
    parts : sequence of TuplePart
    table : TupleTable
    survey : Survey
        Of these parts.
    """

    engine: Engine
    parts: Sequence[TuplePart]
    table: TupleTable
    survey: Survey

    @property
    def n_extra(self) -> int:  # type: ignore[override]
        """The threshold, where pairs are judged."""
        return 0 if issubclass(self.table.asked.kind, Comparisons) else 1

    @cached_property
    def weight(self) -> Floats:  # type: ignore[override]
        """Of all tuples, part after part, summing to 1."""
        if all(part.weight is None for part in self.parts):
            return np.full(sum(self.survey.counts), 1.0 / sum(self.survey.counts))
        weight = np.concatenate(list(self.engine.each(_weights, self.parts, self.table)))
        return weight / weight.sum()

    @property
    def used(self) -> Floats:
        """The sample of the survey."""
        return self.survey.items

    @property
    def few(self) -> Pairs:
        """Pairs of the first items of the sample: a distance asks only for examples."""
        return Pairs(self.survey.items, np.arange(2 * (min(len(self.survey.items), _FEW) // 2)).reshape(-1, 2))

    def spread(self, structure: Structure, n_jobs: int | None) -> Floats:
        """One pass."""
        return spread_from(structure, self.engine.total(_squares, add, self.parts, self.table, structure, n_jobs).mean.norms())

    def design(self, structure: Structure, embedding: PairMap, n_jobs: int | None) -> Design:
        """Rows that are made, and if there is room kept, where the parts are."""
        rows: Sequence[Any] = self.engine.kept(_rows, self.parts, self.table, structure, embedding, n_jobs)
        return PartDesign(self.engine, rows, self.survey.counts, embedding.n_columns + self.n_extra)

    def touched(self, structure: Structure) -> list[Integers]:
        """One pass."""
        return self.engine.total(_touched, _union, self.parts, self.table, structure)

    def norms(self, structure: Structure, n_jobs: int | None) -> Floats:
        """One pass."""
        return self.engine.total(_norms, add, self.parts, self.table, structure, n_jobs)

    def beyond(self, recipe: Recipe, structure: Structure) -> Integers:
        """One pass, and a word of warning for all parts."""
        *counts, n_items = self.engine.total(_beyond, add, self.parts, self.table, structure)
        warn_beyond(recipe, structure, np.array(counts), int(n_items))
        return np.array(counts)
