"""Pairs with measured distances in parts: what learning needs of them, as sums over the parts; rows stay where they are made.

Least squares reads the parts once, for second moments. Other losses are minimised by the solver that one fit would take, for
which products with the design, and second moments if it needs them, are computed part by part.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._foundation.types import Floats, Integers, Pairs
from ..data.parts.tuple_parts import TuplePart, TupleTable, read_tuples
from ..learning.assembly import count_out_of_range, warn_out_of_range
from ..learning.kept_columns import keeps_all_vertices, vertices_of_pairs
from ..learning.recipe import Recipe
from ..learning.regression.distance_data import DistanceData
from ..learning.regression.linked_targets import sum_unit
from ..learning.regression.pair_targets import DistanceRows, Outline, PairTargets, ScaledDistances
from ..learning.regression.second_moments import MomentSums
from ..learning.structure import Structure
from ..programs.losses import resolve_loss
from ..programs.moments import Moments
from ..solvers.auto import resolve_solver
from ..solvers.gram import Gram
from .partitioned_design import PartDesign, PartRows, check_room
from .partitioned_tuples import PartitionedTuples

__all__ = ["PartitionedDistances"]


def _targets(part: TuplePart, table: TupleTable, recipe: Recipe, structure: Structure, unit: float) -> PairTargets:
    """The pairs of one part, their targets divided by ``unit``, the mean target of all parts."""
    read = read_tuples(part, table)
    return PairTargets.of(recipe, structure, read.pairs, read.y, read.weight, unit=unit)


def _sums(part: TuplePart, table: TupleTable, recipe: Recipe, structure: Structure, unit: float) -> MomentSums:
    """The second moments of the pairs of one part, in units of ``unit``."""
    read = read_tuples(part, table)
    return MomentSums.of(recipe, structure, read.pairs, read.y, read.weight, unit=unit)


@dataclass(frozen=True, eq=False)
class _PartOutline:
    """The sums of an `Outline` over one part or several.

    Parameters
    ----------
    l1_moments, vertices, out_of_range : as in `Outline`
    n_items : int
        How many members of pairs were counted for ``out_of_range``.
    examples : Pairs
        A few pairs of the first of the parts.
    """

    l1_moments: Moments
    vertices: list[Integers] | None
    out_of_range: Integers
    n_items: int
    examples: Pairs

    def __add__(self, other: "_PartOutline") -> "_PartOutline":
        """The sums over the parts of both, with the examples of the first."""
        vertices = None
        if self.vertices is not None and other.vertices is not None:
            vertices = [np.union1d(a, b) for a, b in zip(self.vertices, other.vertices, strict=True)]
        return _PartOutline(
            self.l1_moments + other.l1_moments,
            vertices,
            self.out_of_range + other.out_of_range,
            self.n_items + other.n_items,
            self.examples,
        )


def _outline(part: TuplePart, table: TupleTable, recipe: Recipe, structure: Structure, unit: float) -> _PartOutline:
    targets = _targets(part, table, recipe, structure, unit)
    vertices = None if keeps_all_vertices(structure) else vertices_of_pairs(structure, targets.tuples)
    pairs = targets.tuples
    return _PartOutline(
        targets.l1_moments(structure, recipe.n_jobs),
        vertices,
        count_out_of_range(structure, pairs.used, pairs.occurrences),
        pairs.index.size,
        targets.examples,
    )


def _rows(part: TuplePart, table: TupleTable, recipe: Recipe, structure: Structure, unit: float) -> PartRows:
    """The rows of one part over the columns of the structure, as a matrix in memory where that is small."""
    rows = _targets(part, table, recipe, structure, unit).rows(recipe, structure)
    return PartRows(rows.design.held(), rows.target, rows.weight)


def _target_and_weight(rows: PartRows) -> tuple[Floats, Floats]:
    return rows.target, rows.weight


@dataclass(frozen=True, eq=False)
class PartitionedDistances(PartitionedTuples, DistanceData):
    """Pairs with measured distances, in parts."""

    def scaled(self, recipe: Recipe, structure: Structure) -> "_ScaledParts":
        """The distances in units of the mean target of the survey; base distances are evaluated where the parts are."""
        mean, mean_square = (size / self.survey.total for size in self.survey.sizes)
        return _ScaledParts(self, sum_unit(recipe.link, mean, mean_square))


class _ScaledParts(ScaledDistances):
    """Pairs in parts, their distances in units of their mean."""

    def __init__(self, data: PartitionedDistances, unit: float) -> None:
        self.data, self.unit = data, unit
        self.note = f", {len(data.parts)} parts"
        self._found: _PartOutline | None = None

    @property
    def examples(self) -> Pairs:
        """The first pairs of the first part."""
        if self._found is not None:
            return self._found.examples
        return read_tuples(self.data.parts[0], self.data.table).pairs

    def sums(self, recipe: Recipe, structure: Structure) -> MomentSums | None:
        """Second moments over all parts, where the loss is squared and the solver takes them; else None.

        Raises
        ------
        InputError
            If the memory limit has no room for them.
        """
        if not resolve_loss(recipe.loss).quadratic or not isinstance(resolve_solver(recipe.solver), Gram | None):
            return None
        data = self.data
        if keeps_all_vertices(structure):
            check_room(data.engine, structure.embedding.n_columns, len(data.parts))
        sums = data.engine.total(_sums, MomentSums.__add__, data.parts, data.table, recipe, structure, self.unit)
        return sums.warned()

    def outline(self, recipe: Recipe, structure: Structure) -> Outline:
        """The outline from sums over the parts, after one warning for all parts of items outside the knots."""
        data = self.data
        found = data.engine.total(_outline, _PartOutline.__add__, data.parts, data.table, recipe, structure, self.unit)
        warn_out_of_range(recipe, structure, found.out_of_range, found.n_items)
        self._found = found
        return Outline(found.l1_moments, found.vertices, None if isinstance(recipe.knots, str) else found.out_of_range)

    def rows(self, recipe: Recipe, structure: Structure) -> DistanceRows:
        """The design matrix in parts, whose rows are made, and kept if there is room, where the parts are."""
        data = self.data
        rows: Sequence[Any] = data.engine.kept(_rows, data.parts, data.table, recipe, structure, self.unit)
        targets, weights = (list(column) for column in zip(*data.engine.each(_target_and_weight, rows), strict=True))
        n_columns = structure.embedding.n_columns + len(structure.bases)
        design = PartDesign(data.engine, rows, tuple(map(len, targets)), n_columns)
        total = data.survey.total if self._found is None else self._found.l1_moments.total
        return DistanceRows(design, np.concatenate(targets), np.concatenate(weights) / total)
