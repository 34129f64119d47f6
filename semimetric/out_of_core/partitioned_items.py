"""Labelled items in parts: their neighbours are searched in shards that every worker opens, and their triplets stay there.

Shards are built once, one a part, in a folder that all see; the codes of items do not depend on the weights, so every pass
searches the same shards under the distance that it has. What goes out is that distance and a label an item; what comes back
is a number a triplet.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._foundation.types import Floats, Integers, Pairs
from ..data.parts.engine import Engine
from ..data.parts.labeled_parts import ItemSurvey, LabeledPart, LabeledTable, read_items
from ..distances.semimetric import Semimetric
from ..learning.large_margin.labeled_items import (
    InMemoryNeighbors,
    LabeledDataset,
    LabeledItems,
    LargeMargin,
    LargeMarginProblem,
    TargetSums,
    TripletNeighbors,
    assembled,
    drawn_rows,
    located_in,
    searched,
)
from ..learning.large_margin.targets_and_impostors import TargetsAndImpostors, find_neighbors_by_index
from ..learning.recipe import Recipe
from ..learning.structure import Structure
from ..learning.terms import Baseline
from ..neighbors.index import NeighborIndex
from ..neighbors.sharded.shard_files import Place, Shard, check_root, distance_digest, places_of, save_shard, switch
from ..neighbors.sharded.sharded_index import joined
from ..programs.design_matrix import Design
from .partitioned_design import PartDesign, PartRows

__all__ = ["PartitionedItems", "PartitionedNeighbors", "build_places", "stand_in"]


class PartNeighbors(NamedTuple):
    """Neighbours of the items from ``start`` on, by their numbers among all, and the weights of these items."""

    start: int
    weight: Floats
    found: TargetsAndImpostors


def stand_in(recipe: Recipe, rule: LargeMargin, structure: Structure, example: Floats) -> Semimetric:
    """A distance over the cells that all passes have."""
    even = Baseline(np.ones(structure.embedding.grid.n_features), np.ones(structure.embedding.grid.n_features))
    return assembled(
        LargeMarginProblem(recipe, rule, structure, structure, even),
        structure.embedding.prior(even.slopes),
        example,
        compact=False,
    )


def build_places(
    engine: Engine,
    folder: Path,
    d: Semimetric,
    parts: Sequence[LabeledPart],
    table: LabeledTable,
    counts: Sequence[int],
    size: int,
) -> list[Place]:
    """Shards in ``folder`` of parts that follow one another, of at most ``size`` items where these are smaller.

    Their ids number the items on from part to part. Small shards are searched slowly, one item after the other.
    """
    root, start, room = check_root(folder), 0, 0
    tasks: list[tuple[list[LabeledPart], int]] = []
    for part, n in zip(parts, counts, strict=True):
        if tasks and n <= room:
            tasks[-1][0].append(part)
        else:
            tasks.append(([part], start))
            room = size
        start, room = start + n, room - n
    shards = list(engine.each(_shard, tasks, table, d, str(root)))
    switch(root, distance_digest(d), shards)
    return places_of(root)


def _shard(task: tuple[list[LabeledPart], int], table: LabeledTable, d: Semimetric, root: str) -> Shard:
    parts, start = task
    items = np.concatenate([read_items(part, table) for part in parts])
    return save_shard(root, NeighborIndex(d).fit(items, ids=np.arange(start, start + len(items))))


def _vectors(index: NeighborIndex, rows: Integers) -> Floats:
    """Items by number: shard after shard."""
    ends = np.cumsum([len(s) for s in index.segments_])
    owner, out = np.searchsorted(ends, rows, side="right"), np.empty((len(rows), index.n_features_in_))
    for k in np.unique(owner):
        here, segment = owner == k, index.segments_[k]
        out[here] = segment.points.raw[rows[here] - (ends[k] - len(segment))]
    return out


def _searched(
    task: tuple[int, Floats], places: Sequence[Place], d: Semimetric, labels: NDArray, rule: LargeMargin
) -> PartNeighbors:
    """Neighbours of the items from a number on, one for each weight."""
    start, weight = task
    index, rows = joined(places, d), np.arange(start, start + len(weight))
    return PartNeighbors(
        start, weight, find_neighbors_by_index(index, _vectors(index, rows), rows, labels, rule.n_targets, rule.n_impostors)
    )


def _near(hood: PartNeighbors, places: Sequence[Place], setting: LargeMarginProblem) -> InMemoryNeighbors:
    """The neighbours with their vectors: own items first, then those that are others' only."""
    n, (near, far, distances) = len(hood.weight), hood.found
    own = np.arange(hood.start, hood.start + n)
    others = np.setdiff1d(np.concatenate([side[side >= 0] for side in (near, far)]), own)
    items = _vectors(joined(places), np.concatenate([own, others]))

    def here(side: Integers) -> Integers:
        mine = (side >= hood.start) & (side < hood.start + n)
        place = np.where(mine, side - hood.start, n + np.searchsorted(others, side))
        return np.where(side >= 0, place, -1)

    classes = LabeledDataset(items, np.empty(0, np.int64), np.append(hood.weight, np.zeros(len(others))))
    found = TargetsAndImpostors(here(near), here(far), distances)
    return InMemoryNeighbors(setting, classes, located_in(setting.structure, items), found)


def _weights(hood: PartNeighbors) -> Floats:
    return hood.weight[hood.found.triplets()[:, 0]]


def _sums(hood: PartNeighbors, places: Sequence[Place], setting: LargeMarginProblem) -> TargetSums:
    return _near(hood, places, setting).sums


def _rows(hood: PartNeighbors, places: Sequence[Place], setting: LargeMarginProblem) -> PartRows:
    near = _near(hood, places, setting)
    return PartRows(near.design(), np.empty(0), near.weight)


def _n_impostors(hood: PartNeighbors) -> int:
    return int((hood.found.far >= 0).sum())


def _impostors(task: tuple[PartNeighbors, Integers], places: Sequence[Place]) -> Floats:
    """Vectors of some pairs of an item and an impostor, shape (n, 2, n_features)."""
    hood, wanted = task
    left, right = (side[wanted] for side in hood.found.impostors)
    index = joined(places)
    return np.stack([_vectors(index, left + hood.start), _vectors(index, right)], axis=1)


@dataclass(frozen=True, eq=False)
class PartitionedNeighbors(TripletNeighbors):
    """Neighbours of items in parts, which stay where they were found."""

    engine: Engine
    hoods: Sequence[Any]
    places: Sequence[Place]
    setting: LargeMarginProblem

    @cached_property
    def _weight_by_part(self) -> list[Floats]:
        return list(self.engine.each(_weights, self.hoods))

    @property
    def weight(self) -> Floats:
        """Part after part."""
        return np.concatenate(self._weight_by_part)

    @cached_property
    def sums(self) -> TargetSums:  # type: ignore[override]
        """Added up along the tree of parts."""
        return self.engine.total(_sums, TargetSums.plus, self.hoods, self.places, self.setting)

    def design(self) -> Design:
        """Rows that are made, and if there is room kept, where the parts are."""
        rows = self.engine.kept(_rows, self.hoods, self.places, self.setting)
        return PartDesign(self.engine, rows, tuple(map(len, self._weight_by_part)), self.setting.embedding.n_columns)

    def impostors(self, most: int) -> Floats:
        """Vectors of every so manieth pair of an item and an impostor, about ``most``, shape (n, 2, n_features)."""
        counts = list(self.engine.each(_n_impostors, self.hoods))
        chosen = np.arange(0, sum(counts), max(sum(counts) // most, 1))
        starts = np.cumsum([0, *counts])
        wanted = [chosen[(chosen >= a) & (chosen < b)] - a for a, b in zip(starts[:-1], starts[1:], strict=True)]
        return np.concatenate(list(self.engine.each(_impostors, list(zip(self.hoods, wanted, strict=True)), self.places)))


@dataclass(frozen=True, eq=False)
class PartitionedItems(LabeledItems):
    """Items in parts.

    Parameters
    ----------
    engine : Engine
    places : sequence of Place
        Shards of the items, numbered from 0 on.
    labels : ndarray of shape (n_items,)
        Of unsigned integers, as small as there is room for all.
    weights : list of ndarray
        Of the items of each part.
    survey : ItemSurvey
        The items picked are those of `drawn_rows`.
    """

    engine: Engine
    places: Sequence[Place]
    labels: NDArray
    weights: Sequence[Floats]
    survey: ItemSurvey

    @property
    def example(self) -> Floats:
        """The sample of the survey."""
        return self.survey.items

    def drawn(self, n: int, random_state: int | None) -> Pairs:
        """Those that the survey picked."""
        rows, place = np.unique(drawn_rows(len(self.labels), n, random_state), return_inverse=True)
        return Pairs(self.survey.picked, place.reshape(n, 2))

    def neighbours(self, setting: LargeMarginProblem, weights: Floats) -> PartitionedNeighbors:
        """Searched where the parts are."""
        d = searched(setting, weights, self.example, compact=False)
        starts = np.cumsum([0, *map(len, self.weights)]).tolist()[:-1]
        tasks = list(zip(starts, self.weights, strict=True))
        hoods = self.engine.stored(_searched, tasks, self.places, d, self.labels, setting.rule)
        return PartitionedNeighbors(self.engine, hoods, self.places, setting)
