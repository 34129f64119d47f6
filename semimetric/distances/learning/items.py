"""Labelled items in memory or in parts, and what a pass of large-margin learning needs of them."""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._foundation.arrays import as_classes
from ..._foundation.errors import InputError, warn
from ..._foundation.files import real_path
from ..._foundation.progress import TimeBudget
from ..._foundation.types import Floats, Integers, Pairs, TripletTuples
from ..._foundation.unfinished import unfinished_folder
from ..._foundation.validation import check_weights
from ...data.feature_groups import only_singles
from ...data.parts.engine import Engine
from ...data.parts.labeled_parts import LabeledPart, LabeledTable, read_items, sample_items
from ...data.parts.parts import Parts
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
    new_root,
    save_shard,
    shard_locations,
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

_MANY = 30_000  # items: above this number an index is faster than all distances
_HELD = 1 << 28  # entries of pair rows that are held, 2 GiB
N_DRAWN = 4_000  # pairs of items from which the spread of each feature is estimated


@dataclass(frozen=True)
class LargeMargin:
    """The parameters of the large-margin program beside those of a recipe."""

    n_targets: int = 3  # nearest items of the own class, for every item
    n_impostors: int = 6  # nearest items of other classes, for every item
    mu: float = 1.0  # weight of the push against the pull
    n_passes: int = 3
    base: str = "values"  # differences that the uniform distance counts: of values, or of "positions" among the knots


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
    measured: Structure  # the same columns over the knots in which the uniform distance counts
    prior: L1Prior  # in units of the margin

    @property
    def embedding(self) -> PairMap:
        """The columns of a pair of items."""
        return self.structure.embedding


def assemble_for_margin(
    problem: LargeMarginProblem, weights: Floats, example: Floats, out_of_range: Integers | None = None, *, compact: bool = True
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


@dataclass(frozen=True, eq=False)
class PartNeighbors:
    """Targets and impostors of the items of one part, by their numbers among all items."""

    start: int  # the number of the first of these items
    weight: Floats  # shape (n_items,); the weights of these items
    found: TargetsAndImpostors


@dataclass(frozen=True, eq=False)
class TripletBlock:
    """Items of one part with their targets and impostors, by row of a table of vectors that begins with these items."""

    problem: LargeMarginProblem
    vectors: Floats  # shape (n_vectors, n_features)
    located: Items  # the vectors on the grid
    weight: Floats  # shape (n_items,); the weights of the items
    found: TargetsAndImpostors

    def sums(self) -> TargetSums:
        """Return the sums over the targets of these items."""
        near = self.found.near
        i, j = np.nonzero(near >= 0)
        rows = pair_rows(self.problem.embedding, self.located, i, near[i, j])
        weight, distances = self.weight[i], self.found.near_distances[i, j]
        apart = distances[distances > 0]
        return TargetSums(np.asarray(rows.T @ weight), float(weight.sum()), float(apart.sum()), len(apart))

    def design(self) -> Design:
        """Return the rows of the triplets; those of the pairs are held, if there is room."""
        left, right = self.found.pairs
        problem = self.problem
        if len(left) * problem.embedding.n_columns > _HELD:
            triplets = TripletTuples(self.vectors, self.found.triplets())
            return ComparisonDesign.of(problem.embedding, triplets, problem.structure.directions, problem.recipe.n_jobs)
        pairs = pair_rows(problem.embedding, self.located, left, right)
        return TripletDesign.of_triplets(pairs, *self.found.rows(), problem.recipe.n_jobs)


@dataclass(frozen=True, eq=False)
class TripletNeighbors:
    """Targets and impostors of all items under some weights."""

    blocks: Parts[TripletBlock]  # the parts are `PartNeighbors`, which stay where they were found
    n_columns: int

    @cached_property
    def _weight_by_part(self) -> list[Floats]:
        return list(self.blocks.engine.each(_triplet_weight, self.blocks.parts))

    @property
    def weight(self) -> Floats:
        """The weight of every triplet, which is that of its item; shape (n_triplets,)."""
        return np.concatenate(self._weight_by_part)

    @cached_property
    def sums(self) -> TargetSums:
        """Sums over the targets of all items."""
        return self.blocks.total(TripletBlock.sums, add=TargetSums.plus)

    def design(self) -> Design:
        """Return the rows A_ij - A_il of the triplets, shape (n_triplets, n_columns).

        Those of parts are made when they are needed, and kept, if there is room, where the parts are.
        """
        block = self.blocks.in_memory
        if block is not None:
            return block.design()
        rows = self.blocks.persist(_rows)
        return PartDesign(self.blocks.engine, rows, tuple(map(len, self._weight_by_part)), self.n_columns)

    def impostor_pairs(self, most: int) -> Pairs:
        """Return pairs of an item and one of its impostors: evenly spaced ones, about ``most``, where there are more."""
        block = self.blocks.in_memory
        if block is not None:
            pairs = np.column_stack(block.found.impostors)
            return Pairs(block.vectors, pairs[:: max(len(pairs) // most, 1)])
        engine, parts = self.blocks.engine, self.blocks.parts
        counts = list(engine.each(_n_impostors, parts))
        step = max(sum(counts) // most, 1)
        first = -np.cumsum([0, *counts[:-1]]) % step  # the first of each part that is taken
        tasks = list(zip(parts, first.tolist(), strict=True))
        vectors = np.concatenate(list(engine.each(_impostors, tasks, step, self.blocks.shared[0])))
        return Pairs(vectors.reshape(-1, vectors.shape[2]), np.arange(2 * len(vectors)).reshape(-1, 2))


def _triplet_weight(part: PartNeighbors | TripletBlock) -> Floats:
    return part.weight[part.found.triplets()[:, 0]]


def _rows(block: TripletBlock) -> PartRows:
    """The rows of the triplets of one part; all their targets are the margin, so the array of targets is empty."""
    return PartRows(block.design(), np.empty(0), _triplet_weight(block))


def _n_impostors(part: PartNeighbors) -> int:
    return int((part.found.far >= 0).sum())


def _impostors(task: tuple[PartNeighbors, int], step: int, locations: Sequence[ShardLocation]) -> Floats:
    """Vectors of every so manyth pair of an item and an impostor from a first one on, shape (n, 2, n_features)."""
    part, first = task
    left, right = (side[first::step] for side in part.found.impostors)
    index = joined(locations)
    return np.stack([_vectors(index, left + part.start), _vectors(index, right)], axis=1)


class ItemParts(NamedTuple):
    """Items in parts, a sample of them, and the folder for the shards in which they are searched."""

    engine: Engine
    parts: Sequence[LabeledPart]
    table: LabeledTable
    drawn: Floats  # the items of `drawn_rows`, in the order of their numbers
    limit: int  # bytes that a shard may take while it is built
    scratch: str | os.PathLike[str] | None  # the folder in which shards are built; None for that of the system


@dataclass(frozen=True, eq=False)
class LabeledItems:
    """Labelled items to learn from, in memory or in parts."""

    example: Floats  # all items in memory, or a sample of those in parts; shape (n, n_features)
    labels: Integers  # shape (n_items,); the classes of all items; of those in parts, integers as small as have room for all
    weights: Sequence[Floats]  # the weights of the items of each part; memory is one part
    source: ItemParts | None = None  # None in memory

    @classmethod
    def of_arrays(cls, dataset: LabeledDataset) -> "LabeledItems":
        """Items in memory."""
        return cls(dataset.items, dataset.labels, [dataset.weight])

    @classmethod
    def of_parts(
        cls,
        engine: Engine,
        parts: Sequence[LabeledPart],
        table: LabeledTable,
        labels: Integers,
        weights: Sequence[Floats],
        *,
        random_state: int | None,
        limit: int,
        scratch: str | os.PathLike[str] | None,
    ) -> "LabeledItems":
        """Items that are read part by part; ``limit`` and ``scratch`` are those of `ItemParts`."""
        rows = np.unique(drawn_rows(len(labels), random_state))
        sample = sample_items(engine, parts, table, list(map(len, weights)), rows, random_state)
        return cls(sample.items, labels, weights, ItemParts(engine, parts, table, sample.picked, limit, scratch))

    def structure(self, recipe: Recipe, schema: Schema) -> Structure:
        """Return the structure that a recipe gives them; in memory, directions may learn from the labels."""
        if self.source is None:
            items, labels, (weight,), kind = self.example, self.labels, self.weights, recipe.directions
            if isinstance(kind, str) and kind in LABELLED:
                fitted = labelled_directions(
                    kind, items, labels, weight=weight, usable=schema.usable,
                    random_state=recipe.random_state, n_jobs=recipe.n_jobs,
                )  # fmt: skip
            else:
                fitted = grown_to_labels(kind, items, labels, weight=weight, random_state=recipe.random_state)
            recipe = replace(recipe, directions=fitted)
        return build_structure(recipe, self.example, schema)

    def drawn(self, random_state: int | None) -> Pairs:
        """Return the pairs of items, drawn at random, by which spreads are measured; the seed is that of the sample."""
        rows = drawn_rows(len(self.labels), random_state)
        if self.source is None:
            return Pairs(self.example, rows)
        return Pairs(self.source.drawn, np.unique(rows, return_inverse=True)[1].reshape(rows.shape))

    @contextmanager
    def searchable(self, recipe: Recipe, rule: LargeMargin, structure: Structure) -> Iterator["SearchableItems"]:
        """The items on the grid; those in parts are in shards, which are deleted when the context ends."""
        if self.source is None:
            yield SearchableItems(self, structure.embedding.locate(structure.features_of(self.example)))
            return
        target = real_path(self.source.scratch or tempfile.gettempdir()) / "semimetric"
        ones = np.ones(structure.embedding.grid.n_features)
        problem = LargeMarginProblem(recipe, rule, structure, structure, L1Prior(ones, ones))
        # Shards are coded by the cells of the grid, so that these weights do not matter.
        d = assemble_for_margin(problem, structure.embedding.prior(ones), self.example, compact=False)
        with unfinished_folder(target, mode=0o700) as parent:
            folder = parent / "items"
            try:
                yield SearchableItems(self, build_item_shards(self.source, list(map(len, self.weights)), folder, d))
            finally:
                self.source.engine.everywhere(close, str(folder))


@dataclass(frozen=True, eq=False)
class SearchableItems:
    """Labelled items on the grid of a structure, among which neighbours can be searched."""

    data: LabeledItems
    located: Items | Sequence[ShardLocation]  # on the grid in memory, or in shards that number the items from 0 on

    def neighbors(self, problem: LargeMarginProblem, weights: Floats) -> TripletNeighbors:
        """Return targets and impostors of every item under the current weights.

        In memory they come from the distances of all items to one another, or from an exact index of many items. Items in
        parts are searched in the shards by the processes that work on parts.
        """
        data, rule, n_columns = self.data, problem.rule, problem.embedding.n_columns
        if data.source is not None:
            d = assemble_for_search(problem, weights, data.example, compact=False)
            starts = np.cumsum([0, *map(len, data.weights)]).tolist()[:-1]
            tasks, engine = list(zip(starts, data.weights, strict=True)), data.source.engine
            parts = engine.stored(_search, tasks, self.located, d, data.labels, rule)
            return TripletNeighbors(Parts(engine, parts, _with_vectors, (self.located, problem)), n_columns)
        assert isinstance(self.located, Items)
        items, labels, n_jobs = data.example, data.labels, problem.recipe.n_jobs
        if len(labels) > _MANY:
            d = assemble_for_search(problem, weights, items)
            raw = d.schema.decode(items)
            index, rows = NeighborIndex(d, n_jobs=n_jobs, verbose=False).fit(raw), np.arange(len(labels))
            found = find_neighbors_by_index(index, raw, rows, labels, rule.n_targets, rule.n_impostors)
        else:
            members = ClassMembers(problem.embedding, self.located, labels, n_jobs)
            found = find_neighbors(members, weights, rule.n_targets, rule.n_impostors)
        return TripletNeighbors(Parts.of(TripletBlock(problem, items, self.located, data.weights[0], found)), n_columns)


def drawn_rows(n_items: int, random_state: int | None) -> Integers:
    """Return the row numbers of `N_DRAWN` random pairs among ``n_items`` items, shape (N_DRAWN, 2)."""
    return np.random.default_rng(random_state).integers(0, n_items, (N_DRAWN, 2))


def build_item_shards(source: ItemParts, counts: Sequence[int], folder: Path, d: Semimetric) -> list[ShardLocation]:
    """Build shards in a new folder; the ids number the items of all parts, which have ``counts`` items, from 0 on.

    Small parts that follow one another are joined, because small shards are searched item by item.
    """
    size = shard_size(len(source.table.names), source.limit)
    start, room = 0, 0  # the id of the next item, and how many items the last shard has room for
    tasks: list[tuple[list[LabeledPart], int]] = []
    for part, n in zip(source.parts, counts, strict=True):
        if tasks and n <= room:
            tasks[-1][0].append(part)
        else:
            tasks.append(([part], start))
            room = size
        start, room = start + n, room - n
    with new_root(folder) as root, building(root) as built:
        shards = list(source.engine.each(_build_shard, tasks, source.table, d, str(built)))
        switch(root, distance_digest(d), shards, built)
    return shard_locations(root)


def _build_shard(task: tuple[list[LabeledPart], int], table: LabeledTable, d: Semimetric, root: str) -> Shard:
    parts, start = task
    items = np.concatenate([read_items(part, table) for part in parts])
    return save_shard(root, NeighborIndex(d).fit(items, ids=np.arange(start, start + len(items))))


def _search(
    task: tuple[int, Floats], locations: Sequence[ShardLocation], d: Semimetric, labels: Integers, rule: LargeMargin
) -> PartNeighbors:
    """Targets and impostors of the items from a number on, one item for each weight."""
    start, weight = task
    index, numbers = joined(locations, d), np.arange(start, start + len(weight))
    found = find_neighbors_by_index(index, _vectors(index, numbers), numbers, labels, rule.n_targets, rule.n_impostors)
    return PartNeighbors(start, weight, found)


def _vectors(index: NeighborIndex, numbers: Integers) -> Floats:
    """The vectors of items by their numbers, which go on from shard to shard; shape (n, n_features)."""
    ends = np.cumsum([len(s) for s in index.segments_])
    owner, out = np.searchsorted(ends, numbers, side="right"), np.empty((len(numbers), index.n_features_in_))
    for k in np.unique(owner):
        in_segment, segment = owner == k, index.segments_[k]
        out[in_segment] = segment.points.raw[numbers[in_segment] - (ends[k] - len(segment))]
    return out


def _with_vectors(part: PartNeighbors, locations: Sequence[ShardLocation], problem: LargeMarginProblem) -> TripletBlock:
    """The neighbours of one part with their vectors: the items of the part first, then neighbours in other parts."""
    n, (near, far, distances) = len(part.weight), part.found
    own = np.arange(part.start, part.start + n)
    others = np.setdiff1d(np.concatenate([side[side >= 0] for side in (near, far)]), own)
    vectors = _vectors(joined(locations), np.concatenate([own, others]))

    def rows_of(numbers: Integers) -> Integers:
        """Rows among these vectors, -1 where there is no neighbour."""
        is_own = (numbers >= part.start) & (numbers < part.start + n)
        rows = np.where(is_own, numbers - part.start, n + np.searchsorted(others, numbers))
        return np.where(numbers >= 0, rows, -1)

    located = problem.embedding.locate(problem.structure.features_of(vectors))
    return TripletBlock(problem, vectors, located, part.weight, TargetsAndImpostors(rows_of(near), rows_of(far), distances))


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
        asked = recipe.constraints or recipe.prior is not None or self.rule.base != "values"
        return {"directions", "tables"} <= self.auto and placed and not asked

    @property
    def votes(self) -> Floats:
        """The votes that each item has, shape (n_items,)."""
        return self.dataset.weight * self.n_votes
