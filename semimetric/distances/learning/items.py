"""Labelled items in memory or in parts, and what a pass of large-margin learning needs of them."""

import os
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._foundation.arrays import as_classes
from ..._foundation.errors import InputError, warn
from ..._foundation.progress import TimeBudget
from ..._foundation.types import Floats, Integers, Pairs, TripletTuples
from ..._foundation.unfinished import unfinished_folder
from ..._foundation.validation import check_weights
from ...data.feature_groups import only_singles
from ...data.parts.engine import Engine
from ...data.parts.labeled_parts import ItemSample, LabeledPart, LabeledTable, read_items
from ...data.rows import distinct_rows
from ...data.schema import Schema
from ..features.from_labels import LABELLED, grown_to_labels, labelled_directions
from ..model.semimetric import Semimetric
from ..pairs.base import Items, PairMap
from ..programs.comparison_design import ComparisonDesign, TripletDesign, pair_rows
from ..programs.design_in_parts import PartDesign, PartRows
from ..programs.design_matrix import Design
from ..search.index import NeighborIndex
from ..search.shard_files import (
    Shard,
    ShardLocation,
    building,
    close,
    distance_digest,
    locations_of,
    new_root,
    save_shard,
    shard_size,
    switch,
)
from ..search.sharded import joined
from .assembly import assemble
from .options import Recipe
from .prior import L1Prior
from .program import least_weight
from .structure import Structure, build_structure
from .targets_and_impostors import ClassMembers, TargetsAndImpostors, find_neighbors, find_neighbors_by_index


@dataclass(frozen=True)
class LargeMargin:
    """The parameters of the large-margin program beside those of a recipe."""

    n_targets: int = 3  # nearest items of the own class, for every item
    n_impostors: int = 6  # nearest items of other classes, for every item
    mu: float = 1.0  # weight of the push against the pull
    n_passes: int = 3
    even: str = "values"  # what the even distance counts: differences of values, or of places among the knots


@dataclass(frozen=True, eq=False)
class LabeledDataset:
    """Labelled items in memory."""

    items: Floats  # shape (n_items, n_features)
    labels: Integers  # shape (n_items,), int64; the class of each item, from 0 on
    weight: Floats  # shape (n_items,); weights that sum to 1

    @classmethod
    def of_distinct(cls, items: Floats, labels: Integers, weight: Floats) -> "LabeledDataset":
        """Items of which those that are given several times with one label are one, with the sum of the weights.

        Where no class has two different items, there would be no targets, so that repeated items stay what they are.
        """
        found = distinct_rows(items, labels, weight)
        if found is not None and np.bincount(labels[found.rows]).max() > 1:
            items, labels, weight = items[found.rows], labels[found.rows], found.weight
        return cls(np.ascontiguousarray(items), labels, weight)

    def take(self, rows: Integers) -> "LabeledDataset":
        """Some of the items, their weights again summing to 1."""
        return LabeledDataset(self.items[rows], self.labels[rows], self.weight[rows] / self.weight[rows].sum())


@dataclass(frozen=True, eq=False)
class LargeMarginProblem:
    """Structure, prior and options that all passes of large-margin learning share."""

    recipe: Recipe
    rule: LargeMargin
    structure: Structure
    measured: Structure  # the same columns over the knots in which the even distance counts
    prior: L1Prior  # in units of the margin

    @property
    def embedding(self) -> PairMap:
        """The columns of a pair of items."""
        return self.structure.embedding


def assemble_for_margin(
    problem: LargeMarginProblem,
    weights: Floats,
    example: Floats,
    out_of_range: Integers | None = None,
    *,
    compact: bool = True,
) -> Semimetric:
    """`assemble` in units of the margin; ``example`` are some items, shape (n, n_features)."""
    delta = least_weight(problem.recipe, problem.prior.weights(problem.measured))
    pairs = Pairs(example[:1], np.array([[0, 0]], dtype=np.int64))
    return assemble(
        problem.recipe, problem.structure, weights, delta, examples=pairs, out_of_range=out_of_range, compact=compact
    )


def assemble_for_search(problem: LargeMarginProblem, weights: Floats, example: Floats, *, compact: bool = True) -> Semimetric:
    """`assemble_for_margin` for search between passes: as in the program, items outside given knots count as at their ends."""
    d = assemble_for_margin(problem, weights, example, compact=compact)
    return replace(d, epsilon=np.zeros_like(d.epsilon))


class TargetSums(NamedTuple):
    """Sums over the target pairs of some items, to be added up over all items."""

    pull: Floats  # shape (n_columns,); the sum of the rows of the target pairs, each times the weight of its item
    pull_weight: float  # the sum of these weights
    distance: float  # the sum of the distances to targets that differ from their item: identical items say nothing about scale
    n_apart: int  # how many these are

    def plus(self, other: "TargetSums") -> "TargetSums":
        """The sums over the items of both."""
        return TargetSums(
            self.pull + other.pull,
            self.pull_weight + other.pull_weight,
            self.distance + other.distance,
            self.n_apart + other.n_apart,
        )

    @property
    def mean_target(self) -> float:
        """The mean distance to a target; 1, the mean distance of random pairs, where no target differs from its item."""
        return self.distance / self.n_apart if self.n_apart else 1.0

    @property
    def mean_pull(self) -> Floats:
        """The weighted mean of the rows of the target pairs, shape (n_columns,)."""
        return self.pull / self.pull_weight


class TripletNeighbors(ABC):
    """Targets and impostors of all items under some weights."""

    @cached_property
    @abstractmethod
    def sums(self) -> TargetSums:
        """Sums over the targets of all items."""

    @property
    @abstractmethod
    def weight(self) -> Floats:
        """The weight of every triplet: that of its item, shape (n_triplets,)."""

    @abstractmethod
    def design(self) -> Design:
        """The rows A_ij - A_il of the triplets, shape (n_triplets, n_columns)."""

    @abstractmethod
    def impostor_pairs(self, most: int) -> Pairs:
        """Pairs of an item and one of its impostors: evenly spaced ones, about ``most``, where there are more."""


class SearchableItems(ABC):
    """Labelled items on the grid of a structure, among which neighbours can be searched."""

    @property
    @abstractmethod
    def example(self) -> Floats:
        """Some items, one at least, shape (n, n_features)."""

    @abstractmethod
    def drawn(self, n: int, random_state: int | None) -> Pairs:
        """The n pairs of items, drawn at random, by which spreads are measured."""

    @abstractmethod
    def neighbors(self, problem: LargeMarginProblem, weights: Floats) -> TripletNeighbors:
        """Targets and impostors of every item under the current weights."""


class LabeledItems(ABC):
    """Labelled items to learn from, before a structure is decided."""

    @property
    @abstractmethod
    def example(self) -> Floats:
        """Some items, one at least, shape (n, n_features)."""

    @abstractmethod
    def structure(self, recipe: Recipe, schema: Schema) -> Structure:
        """The structure that a recipe gives them."""

    @abstractmethod
    def searchable(self, recipe: Recipe, rule: LargeMargin, structure: Structure) -> AbstractContextManager[SearchableItems]:
        """The items on the grid, for as long as the context lasts."""


def drawn_rows(n_items: int, n: int, random_state: int | None) -> Integers:
    """Row numbers of n random pairs among ``n_items`` items, shape (n, 2)."""
    return np.random.default_rng(random_state).integers(0, n_items, (n, 2))


class ClassLabels(NamedTuple):
    """Classes of items as numbers."""

    classes: NDArray[Any]  # shape (n_classes,); the labels, sorted: class k is ``classes[k]``
    used: NDArray[np.bool_]  # shape (n_items,); whether each item has a weight > 0
    codes: Integers  # shape (n_used_items,), int64; the class of each of these
    weight: Floats  # shape (n_items,); the weights of all items, which sum to 1


def encode_class_labels(y: Any, n_items: int, sample_weight: Any, n_targets: int) -> ClassLabels:
    """Number the classes of items.

    ``y``: shape (n_items,); labels of one type. ``sample_weight``: shape (n_items,) or None. ``n_targets``: warns of classes
    that have no more items than that.
    """
    labels = as_classes(y, range(n_items))
    weight = check_weights(sample_weight, n_items)
    used = weight > 0
    classes, codes = np.unique(labels[used], return_inverse=True)
    counts = np.bincount(codes)
    if len(counts) < 2:
        raise InputError(f"y has one class only, {classes[0]}; at least two classes are required")
    if counts.max() < 2:
        raise InputError("every class has one item, so none has a target; at least one class of two items is required")
    _warn_of_small_classes(classes, counts, n_targets)
    return ClassLabels(classes, used, codes.astype(np.int64), weight)


def _warn_of_small_classes(classes: NDArray[Any], counts: Integers, n_targets: int) -> None:
    small = np.flatnonzero(counts <= n_targets)
    if len(small):
        shown = ", ".join(f"{classes[c]}: {counts[c]}" for c in small[:5]) + (", ..." if len(small) > 5 else "")
        warn(
            f"{len(small)} classes have no more than n_targets={n_targets} items ({shown}); their items get the "
            "targets that there are, none where an item is alone",
            cause="small classes",
        )


_MANY = 30_000  # items: above this number an index is faster than all distances
_HELD = 1 << 28  # entries of pair rows that are held, 2 GiB


@dataclass(frozen=True, eq=False)
class InMemoryNeighbors(TripletNeighbors):
    """Targets and impostors of items in memory."""

    problem: LargeMarginProblem
    dataset: LabeledDataset  # its first items are those that have neighbours
    located: Items  # all of its items on the grid
    found: TargetsAndImpostors

    @property
    def weight(self) -> Floats:
        """The weights of all triplets, in the order of `TargetsAndImpostors.triplets`."""
        return self.dataset.weight[self.found.triplets()[:, 0]]

    @cached_property
    def sums(self) -> TargetSums:
        """Sums over the targets of these items."""
        near = self.found.near
        i, j = np.nonzero(near >= 0)
        rows = pair_rows(self.problem.embedding, self.located, i, near[i, j])
        weight, distances = self.dataset.weight[i], self.found.near_distances[i, j]
        apart = distances[distances > 0]
        return TargetSums(np.asarray(rows.T @ weight), float(weight.sum()), float(apart.sum()), len(apart))

    def design(self) -> Design:
        """The rows of the triplets; those of the pairs are held, if there is room."""
        left, right = self.found.pairs
        problem = self.problem
        if len(left) * problem.embedding.n_columns > _HELD:
            triplets = TripletTuples(self.dataset.items, self.found.triplets())
            return ComparisonDesign.of(problem.embedding, triplets, problem.structure.directions, problem.recipe.n_jobs)
        pairs = pair_rows(problem.embedding, self.located, left, right)
        return TripletDesign.of_triplets(pairs, *self.found.rows(), problem.recipe.n_jobs)

    def impostor_pairs(self, most: int) -> Pairs:
        """Pairs of an item and an impostor, over the items of the dataset."""
        pairs = np.column_stack(self.found.impostors)
        return Pairs(self.dataset.items, pairs[:: max(len(pairs) // most, 1)])


@dataclass(frozen=True, eq=False)
class InMemoryItems(LabeledItems):
    """Items in memory."""

    dataset: LabeledDataset

    @property
    def example(self) -> Floats:
        """All items, shape (n_items, n_features)."""
        return self.dataset.items

    def structure(self, recipe: Recipe, schema: Schema) -> Structure:
        """The structure, with directions from the labels if the recipe names some."""
        kind, dataset = recipe.directions, self.dataset
        if isinstance(kind, str) and kind in LABELLED:
            fitted = labelled_directions(
                kind, dataset.items, dataset.labels, weight=dataset.weight, usable=schema.usable,
                random_state=recipe.random_state, n_jobs=recipe.n_jobs,
            )  # fmt: skip
        else:
            fitted = grown_to_labels(
                kind, dataset.items, dataset.labels, weight=dataset.weight, random_state=recipe.random_state
            )
        recipe = replace(recipe, directions=fitted)
        return build_structure(recipe, self.dataset.items, schema)

    @contextmanager
    def searchable(self, recipe: Recipe, rule: LargeMargin, structure: Structure) -> Iterator["InMemorySearch"]:
        """The items on the grid, in memory."""
        yield InMemorySearch(self.dataset, structure.embedding.locate(structure.features_of(self.dataset.items)))


@dataclass(frozen=True, eq=False)
class InMemorySearch(SearchableItems):
    """Items in memory, located on a grid."""

    dataset: LabeledDataset
    located: Items

    @property
    def example(self) -> Floats:
        """All items, shape (n_items, n_features)."""
        return self.dataset.items

    def drawn(self, n: int, random_state: int | None) -> Pairs:
        """n pairs of items at random, by row number."""
        return Pairs(self.dataset.items, drawn_rows(len(self.dataset.items), n, random_state))

    def neighbors(self, problem: LargeMarginProblem, weights: Floats) -> InMemoryNeighbors:
        """Targets and impostors from the distances of all items to one another; of many items, by an exact index."""
        rule, items, labels, n_jobs = problem.rule, self.dataset.items, self.dataset.labels, problem.recipe.n_jobs
        if len(labels) > _MANY:
            d = assemble_for_search(problem, weights, items)
            raw = d.schema.decode(items)
            index, rows = NeighborIndex(d, n_jobs=n_jobs).fit(raw), np.arange(len(labels))
            found = find_neighbors_by_index(index, raw, rows, labels, rule.n_targets, rule.n_impostors)
        else:
            members = ClassMembers(problem.embedding, self.located, labels, n_jobs)
            found = find_neighbors(members, weights, rule.n_targets, rule.n_impostors)
        return InMemoryNeighbors(problem, self.dataset, self.located, found)


class LabelProblem(NamedTuple):
    """Labeled items, and the settings of the distance that is learned from them."""

    recipe: Recipe  # with stand-ins for what is to be chosen
    auto: frozenset[str]  # what that is, among "n_knots", "alpha", "directions" and "tables"
    rule: LargeMargin
    dataset: LabeledDataset
    schema: Schema
    n_votes: float  # how many votes all items have together: their number, if each has one
    time_budget: TimeBudget | None = None  # how long learning may take

    @property
    def is_sum(self) -> bool:
        """True if a sum is learned: directions and tables are open, and nothing is asked of the raw features."""
        recipe = self.recipe
        placed = isinstance(recipe.knots, str) and recipe.tables == "warped" and only_singles(recipe.groups)
        asked = recipe.constraints or recipe.prior is not None or self.rule.even != "values"
        return {"directions", "tables"} <= self.auto and placed and not asked

    @property
    def votes(self) -> Floats:
        """The votes that each item has, shape (n_items,)."""
        return self.dataset.weight * self.n_votes


class PartNeighbors(NamedTuple):
    """Targets and impostors of the items of one part, by their numbers among all items."""

    start: int  # the number of the first of these items
    weight: Floats  # shape (n_items,); the weights of these items
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
) -> list[ShardLocation]:
    """Build shards of about ``size`` items in a new folder; the ids number the items of all parts from 0 on.

    Small parts that follow one another are joined, because small shards are searched item by item.
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
    return locations_of(root)


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
    task: tuple[int, Floats], places: Sequence[ShardLocation], d: Semimetric, labels: NDArray[Any], rule: LargeMargin
) -> PartNeighbors:
    """Targets and impostors of the items from a number on, one item for each weight."""
    start, weight = task
    index, numbers = joined(places, d), np.arange(start, start + len(weight))
    vectors = _vectors(index, numbers)
    found = find_neighbors_by_index(index, vectors, numbers, labels, rule.n_targets, rule.n_impostors)
    return PartNeighbors(start, weight, found)


def _with_vectors(part: PartNeighbors, places: Sequence[ShardLocation], problem: LargeMarginProblem) -> InMemoryNeighbors:
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
    return part.weight[part.found.triplets()[:, 0]]


def _sums(part: PartNeighbors, places: Sequence[ShardLocation], problem: LargeMarginProblem) -> TargetSums:
    return _with_vectors(part, places, problem).sums


def _rows(part: PartNeighbors, places: Sequence[ShardLocation], problem: LargeMarginProblem) -> PartRows:
    """The rows of the triplets of one part; all their targets are the margin, so the array of targets is empty."""
    neighbors = _with_vectors(part, places, problem)
    return PartRows(neighbors.design(), np.empty(0), neighbors.weight)


def _n_impostors(part: PartNeighbors) -> int:
    return int((part.found.far >= 0).sum())


def _impostors(task: tuple[PartNeighbors, Integers], places: Sequence[ShardLocation]) -> Floats:
    """Vectors of some pairs of an item and an impostor, shape (n, 2, n_features)."""
    part, wanted = task
    left, right = (side[wanted] for side in part.found.impostors)
    index = joined(places)
    return np.stack([_vectors(index, left + part.start), _vectors(index, right)], axis=1)


@dataclass(frozen=True, eq=False)
class PartitionedNeighbors(TripletNeighbors):
    """Neighbours of items in parts, which stay where they were found."""

    engine: Engine
    parts: Sequence[Any]  # stand-ins for the `PartNeighbors` of each part, as `Engine.stored` gives them
    places: Sequence[ShardLocation]  # the shards of the items
    problem: LargeMarginProblem

    @cached_property
    def _weight_by_part(self) -> list[Floats]:
        return list(self.engine.each(_weights, self.parts))

    @property
    def weight(self) -> Floats:
        """The weights of all triplets, part after part."""
        return np.concatenate(self._weight_by_part)

    @cached_property
    def sums(self) -> TargetSums:
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
    """Items in parts, in shards among which neighbours can be searched."""

    items: "PartitionedItems"
    places: Sequence[ShardLocation]  # shards of the items, numbered from 0 on

    @property
    def example(self) -> Floats:
        """The sample of the items."""
        return self.items.example

    def drawn(self, n: int, random_state: int | None) -> Pairs:
        """The n pairs of items that the sample has picked; n and the seed are those of the sample."""
        rows, place = np.unique(drawn_rows(len(self.items.labels), n, random_state), return_inverse=True)
        return Pairs(self.items.sample.picked, place.reshape(n, 2))

    def neighbors(self, problem: LargeMarginProblem, weights: Floats) -> PartitionedNeighbors:
        """Targets and impostors of every item, searched in the shards by the processes that work on parts."""
        d, items = assemble_for_search(problem, weights, self.example, compact=False), self.items
        starts = np.cumsum([0, *map(len, items.weights)]).tolist()[:-1]
        tasks = list(zip(starts, items.weights, strict=True))
        found = items.engine.stored(_search, tasks, self.places, d, items.labels, problem.rule)
        return PartitionedNeighbors(items.engine, found, self.places, problem)


@dataclass(frozen=True, eq=False)
class PartitionedItems(LabeledItems):
    """Labelled items in parts."""

    engine: Engine
    parts: Sequence[LabeledPart]
    table: LabeledTable
    labels: NDArray[Any]  # shape (n_items,); classes as unsigned integers, as small as there is room for all
    weights: Sequence[Floats]  # the weights of the items of each part
    sample: ItemSample  # the items picked are those of `drawn_rows`
    limit: int  # bytes that a shard may take while it is built
    scratch: str | os.PathLike[str] | None  # the folder in which shards are built; None for that of the system

    @property
    def example(self) -> Floats:
        """The sample that knots are placed among."""
        return self.sample.items

    def structure(self, recipe: Recipe, schema: Schema) -> Structure:
        """The structure over the sample."""
        return build_structure(recipe, self.sample.items, schema)

    @contextmanager
    def searchable(self, recipe: Recipe, rule: LargeMargin, structure: Structure) -> Iterator[PartitionedSearch]:
        """The items in shards, which are closed by all workers before their folder is deleted."""
        d = distance_of_cells(recipe, rule, structure, self.sample.items)
        counts, size = list(map(len, self.weights)), shard_size(len(self.table.names), self.limit)
        target = Path(tempfile.gettempdir() if self.scratch is None else self.scratch).resolve() / "semimetric"
        with unfinished_folder(target, mode=0o700) as parent:
            folder = parent / "items"
            try:
                places = build_places(self.engine, folder, d, self.parts, self.table, counts, size)
                yield PartitionedSearch(self, places)
            finally:
                self.engine.everywhere(close, str(folder))
