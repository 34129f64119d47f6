"""Tuples in parts: what measured distances and comparisons in parts have in common."""

from collections.abc import Sequence
from dataclasses import dataclass

from .._foundation.types import Floats
from ..data.parts.engine import Engine
from ..data.parts.tuple_parts import TuplePart, TupleTable
from ..data.parts.tuple_survey import Survey

__all__ = ["PartitionedTuples"]


@dataclass(frozen=True, eq=False)
class PartitionedTuples:
    """Pairs, triplets or quadruplets in parts.

    Parameters
    ----------
    engine : Engine
    parts : sequence of TuplePart
    table : TupleTable
    survey : Survey
        What a first pass over these parts has found.
    """

    engine: Engine
    parts: Sequence[TuplePart]
    table: TupleTable
    survey: Survey

    @property
    def items(self) -> Floats:
        """The items of the survey: the sample that knots are placed among, shape (n, n_features)."""
        return self.survey.items
