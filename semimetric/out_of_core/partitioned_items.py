"""Labelled items in parts: neighbours are searched in shards that every worker opens, and triplets stay on the workers.

Shards are built once, of one part or several small ones each, in a folder that all workers see. The codes of the items in them
do not depend on the weights, so every pass searches the same shards, each under its own distance. A distance and one label an
item are sent to the workers; one number a triplet comes back.
"""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._foundation.types import Floats, Integers, Pairs
from .._foundation.unfinished import unfinished_folder
from ..data.parts.engine import Engine
from ..data.parts.labeled_parts import ItemSurvey, LabeledPart, LabeledTable, read_items
from ..data.schema import Schema
from ..distances.semimetric import Semimetric
from ..learning.large_margin.in_memory_items import InMemoryNeighbors
from ..learning.large_margin.labeled_items import (
    LabeledDataset,
    LabeledItems,
    LargeMargin,
    LargeMarginProblem,
    SearchableItems,
    TargetSums,
    TripletNeighbors,
    assemble_for_margin,
    assemble_for_search,
    drawn_rows,
)
from ..learning.large_margin.targets_and_impostors import TargetsAndImpostors, find_neighbors_by_index
from ..learning.prior import L1Prior
from ..learning.recipe import Recipe
from ..learning.structure import Structure, build_structure
from ..neighbors.index import NeighborIndex
from ..neighbors.sharded.shard_files import (
    Place,
    Shard,
    building,
    close,
    distance_digest,
    new_root,
    places_of,
    save_shard,
    shard_size,
    switch,
)
from ..neighbors.sharded.sharded_index import joined
from ..programs.design_matrix import Design
from .partitioned_design import PartDesign, PartRows

__all__ = ["PartitionedItems", "PartitionedNeighbors", "PartitionedSearch", "build_places", "distance_of_cells"]


class PartNeighbors(NamedTuple):
    """Targets and impostors of the items of one part, by their numbers among all items.

    Attributes
    ----------
    start : int
        The number of the first of these items.
    weight : ndarray of shape (n_items,)
        The weights of these items.
    found : TargetsAndImpostors
    """

    start: int
    weight: Floats
    found: TargetsAndImpostors


def distance_of_cells(recipe: Recipe, rule: LargeMargin, structure: Structure, example: Floats) -> Semimetric:
    """A distance over the cells of the grid that all passes share, to code items by: its weights do not matter."""
    ones = np.ones(structure.embedding.grid.n_features)
    problem = LargeMarginProblem(recipe, rule, structure, structure, L1Prior(ones, ones))
    return assemble_for_margin(problem, structure.embedding.prior(ones), example, compact=False)


def build_places(
    engine: Engine,
    folder: Path,
    d: Semimetric,
    parts: Sequence[LabeledPart],
    table: LabeledTable,
    counts: Sequence[int],
    size: int,
) -> list[Place]:
    """Build shards in a new folder, each from one part or from several that follow one another and have ``size`` items at most.

    The ids number the items of all parts from 0 on. Parts are joined because small shards are searched item by item.
    """
    start, room = 0, 0  # the id of the next item, and how many items the last shard has room for
    tasks: list[tuple[list[LabeledPart], int]] = []
    for part, n in zip(parts, counts, strict=True):
        if tasks and n <= room:
            tasks[-1][0].append(part)
        else:
            tasks.append(([part], start))
            room = size
        start, room = start + n, room - n
    with new_root(folder) as root, building(root) as built:
        shards = list(engine.each(_build_shard, tasks, table, d, str(built)))
        switch(root, distance_digest(d), shards, built)
    return places_of(root)


def _build_shard(task: tuple[list[LabeledPart], int], table: LabeledTable, d: Semimetric, root: str) -> Shard:
    parts, start = task
    items = np.concatenate([read_items(part, table) for part in parts])
    return save_shard(root, NeighborIndex(d).fit(items, ids=np.arange(start, start + len(items))))


def _vectors(index: NeighborIndex, numbers: Integers) -> Floats:
    """The vectors of items by their numbers, which go on from shard to shard; shape (n, n_features)."""
    ends = np.cumsum([len(s) for s in index.segments_])
    owner, out = np.searchsorted(ends, numbers, side="right"), np.empty((len(numbers), index.n_features_in_))
    for k in np.unique(owner):
        in_segment, segment = owner == k, index.segments_[k]
        out[in_segment] = segment.points.raw[numbers[in_segment] - (ends[k] - len(segment))]
    return out


def _search(
    task: tuple[int, Floats], places: Sequence[Place], d: Semimetric, labels: NDArray[Any], rule: LargeMargin
) -> PartNeighbors:
    """Targets and impostors of the items from a number on, one item for each weight."""
    start, weight = task
    index, numbers = joined(places, d), np.arange(start, start + len(weight))
    vectors = _vectors(index, numbers)
    found = find_neighbors_by_index(index, vectors, numbers, labels, rule.n_targets, rule.n_impostors)
    return PartNeighbors(start, weight, found)


def _with_vectors(part: PartNeighbors, places: Sequence[Place], problem: LargeMarginProblem) -> InMemoryNeighbors:
    """The neighbours of one part with their vectors: the items of the part first, then neighbours in other parts."""
    n, (near, far, distances) = len(part.weight), part.found
    own = np.arange(part.start, part.start + n)
    others = np.setdiff1d(np.concatenate([side[side >= 0] for side in (near, far)]), own)
    items = _vectors(joined(places), np.concatenate([own, others]))

    def rows_of(numbers: Integers) -> Integers:
        """Rows among these vectors, -1 where there is no neighbour."""
        is_own = (numbers >= part.start) & (numbers < part.start + n)
        rows = np.where(is_own, numbers - part.start, n + np.searchsorted(others, numbers))
        return np.where(numbers >= 0, rows, -1)

    dataset = LabeledDataset(items, np.empty(0, np.int64), np.append(part.weight, np.zeros(len(others))))
    found = TargetsAndImpostors(rows_of(near), rows_of(far), distances)
    located = problem.embedding.locate(problem.structure.features_of(items))
    return InMemoryNeighbors(problem, dataset, located, found)


def _weights(part: PartNeighbors) -> Floats:
    """The weights of the triplets of one part."""
    return part.weight[part.found.triplets()[:, 0]]


def _sums(part: PartNeighbors, places: Sequence[Place], problem: LargeMarginProblem) -> TargetSums:
    return _with_vectors(part, places, problem).sums


def _rows(part: PartNeighbors, places: Sequence[Place], problem: LargeMarginProblem) -> PartRows:
    """The rows of the triplets of one part; all their targets are the margin, so the array of targets is empty."""
    neighbors = _with_vectors(part, places, problem)
    return PartRows(neighbors.design(), np.empty(0), neighbors.weight)


def _n_impostors(part: PartNeighbors) -> int:
    return int((part.found.far >= 0).sum())


def _impostors(task: tuple[PartNeighbors, Integers], places: Sequence[Place]) -> Floats:
    """Vectors of some pairs of an item and an impostor, shape (n, 2, n_features)."""
    part, wanted = task
    left, right = (side[wanted] for side in part.found.impostors)
    index = joined(places)
    return np.stack([_vectors(index, left + part.start), _vectors(index, right)], axis=1)


@dataclass(frozen=True, eq=False)
class PartitionedNeighbors(TripletNeighbors):
    """Neighbours of items in parts, which stay where they were found.

    Parameters
    ----------
    engine : Engine
    parts : sequence
        Stand-ins for the `PartNeighbors` of each part, as `Engine.stored` gives them.
    places : sequence of Place
        The shards of the items.
    problem : LargeMarginProblem
    """

    engine: Engine
    parts: Sequence[Any]
    places: Sequence[Place]
    problem: LargeMarginProblem

    @cached_property
    def _weight_by_part(self) -> list[Floats]:
        return list(self.engine.each(_weights, self.parts))

    @property
    def weight(self) -> Floats:
        """The weights of all triplets, part after part."""
        return np.concatenate(self._weight_by_part)

    @cached_property
    def sums(self) -> TargetSums:  # type: ignore[override]  # it is computed once
        """Sums over the targets, added up along the tree of parts."""
        return self.engine.total(_sums, TargetSums.plus, self.parts, self.places, self.problem)

    def design(self) -> Design:
        """The design matrix in parts, whose rows are made, and kept if there is room, where the parts are."""
        rows = self.engine.kept(_rows, self.parts, self.places, self.problem)
        return PartDesign(self.engine, rows, tuple(map(len, self._weight_by_part)), self.problem.embedding.n_columns)

    def impostor_pairs(self, most: int) -> Pairs:
        """Pairs of an item and an impostor, over a table of the vectors of all of them."""
        counts = list(self.engine.each(_n_impostors, self.parts))
        chosen = np.arange(0, sum(counts), max(sum(counts) // most, 1))
        starts = np.cumsum([0, *counts])
        wanted = [chosen[(chosen >= a) & (chosen < b)] - a for a, b in zip(starts[:-1], starts[1:], strict=True)]
        tasks = list(zip(self.parts, wanted, strict=True))
        vectors = np.concatenate(list(self.engine.each(_impostors, tasks, self.places)))
        return Pairs(vectors.reshape(-1, vectors.shape[2]), np.arange(2 * len(vectors)).reshape(-1, 2))


@dataclass(frozen=True, eq=False)
class PartitionedSearch(SearchableItems):
    """Items in parts, in shards among which neighbours can be searched.

    Parameters
    ----------
    items : PartitionedItems
    places : sequence of Place
        Shards of the items, numbered from 0 on.
    """

    items: "PartitionedItems"
    places: Sequence[Place]

    @property
    def example(self) -> Floats:
        """The items of the survey."""
        return self.items.example

    def drawn(self, n: int, random_state: int | None) -> Pairs:
        """The n pairs of items that the survey has picked; n and the seed are those of the survey."""
        rows, place = np.unique(drawn_rows(len(self.items.labels), n, random_state), return_inverse=True)
        return Pairs(self.items.survey.picked, place.reshape(n, 2))

    def neighbors(self, problem: LargeMarginProblem, weights: Floats) -> PartitionedNeighbors:
        """Targets and impostors of every item, searched in the shards by the processes that work on parts."""
        d, items = assemble_for_search(problem, weights, self.example, compact=False), self.items
        starts = np.cumsum([0, *map(len, items.weights)]).tolist()[:-1]
        tasks = list(zip(starts, items.weights, strict=True))
        found = items.engine.stored(_search, tasks, self.places, d, items.labels, problem.rule)
        return PartitionedNeighbors(items.engine, found, self.places, problem)


@dataclass(frozen=True, eq=False)
class PartitionedItems(LabeledItems):
    """Labelled items in parts.

    Parameters
    ----------
    engine : Engine
    parts : sequence of LabeledPart
    table : LabeledTable
    labels : ndarray of shape (n_items,)
        Classes as unsigned integers, as small as there is room for all.
    weights : sequence of ndarray
        The weights of the items of each part.
    survey : ItemSurvey
        The items picked are those of `drawn_rows`.
    limit : int
        Bytes that a shard may take while it is built.
    scratch : path-like or None
        The folder in which shards are built; None for that of the system.
    """

    engine: Engine
    parts: Sequence[LabeledPart]
    table: LabeledTable
    labels: NDArray[Any]
    weights: Sequence[Floats]
    survey: ItemSurvey
    limit: int
    scratch: str | os.PathLike[str] | None

    @property
    def example(self) -> Floats:
        """The items of the survey: the sample that knots are placed among."""
        return self.survey.items

    def structure(self, recipe: Recipe, schema: Schema) -> Structure:
        """The structure over the sample of the survey."""
        return build_structure(recipe, self.survey.items, schema)

    @contextmanager
    def searchable(self, recipe: Recipe, rule: LargeMargin, structure: Structure) -> Iterator[PartitionedSearch]:
        """The items in shards, which are closed by all workers before their folder is deleted."""
        d = distance_of_cells(recipe, rule, structure, self.survey.items)
        counts, size = list(map(len, self.weights)), shard_size(len(self.table.names), self.limit)
        target = Path(tempfile.gettempdir() if self.scratch is None else self.scratch).resolve() / "semimetric"
        with unfinished_folder(target, mode=0o700) as parent:
            folder = parent / "items"
            try:
                places = build_places(self.engine, folder, d, self.parts, self.table, counts, size)
                yield PartitionedSearch(self, places)
            finally:
                self.engine.everywhere(close, str(folder))
