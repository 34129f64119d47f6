"""Labelled items in memory: their structure, their neighbours, and the rows of their triplets."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..._foundation.types import Floats, Pairs, Triplets
from ...data.schema import Schema
from ...embeddings.directions.from_labels import LABELLED, grown_to_labels, labelled_directions
from ...embeddings.pairs.base import Items
from ...neighbors.index import NeighborIndex
from ...programs.comparison_design import ComparisonDesign
from ...programs.design_matrix import Design
from ...programs.triplet_design import TripletDesign, pair_rows
from ..recipe import Recipe
from ..structure import Structure, build_structure
from .labeled_items import (
    LabeledDataset,
    LabeledItems,
    LargeMargin,
    LargeMarginProblem,
    SearchableItems,
    TargetSums,
    TripletNeighbors,
    assemble_for_search,
    drawn_rows,
)
from .targets_and_impostors import ClassMembers, TargetsAndImpostors, find_neighbors, find_neighbors_by_index

__all__ = ["InMemoryItems", "InMemoryNeighbors", "InMemorySearch"]

_MANY = 30_000  # items: above this number an index is faster than all distances
_HELD = 1 << 28  # entries of pair rows that are held, 2 GiB


@dataclass(frozen=True, eq=False)
class InMemoryNeighbors(TripletNeighbors):
    """Targets and impostors of items in memory.

    Parameters
    ----------
    problem : LargeMarginProblem
    dataset : LabeledDataset
        Its first items are those that have neighbours.
    located : Items
        All of its items on the grid.
    found : TargetsAndImpostors
    """

    problem: LargeMarginProblem
    dataset: LabeledDataset
    located: Items
    found: TargetsAndImpostors

    @property
    def weight(self) -> Floats:
        """The weights of all triplets, in the order of `TargetsAndImpostors.triplets`."""
        return self.dataset.weight[self.found.triplets()[:, 0]]

    @cached_property
    def sums(self) -> TargetSums:  # type: ignore[override]  # it is computed once
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
            triplets = Triplets(self.dataset.items, self.found.triplets())
            return ComparisonDesign.of(problem.embedding, triplets, problem.structure.directions, problem.recipe.n_jobs)
        pairs = pair_rows(problem.embedding, self.located, left, right)
        return TripletDesign.of_triplets(pairs, *self.found.rows(), problem.recipe.n_jobs)

    def impostor_pairs(self, most: int) -> Pairs:
        """Pairs of an item and an impostor, over the items of the dataset."""
        pairs = np.column_stack(self.found.impostors)
        return Pairs(self.dataset.items, pairs[:: max(len(pairs) // most, 1)])


@dataclass(frozen=True, eq=False)
class InMemoryItems(LabeledItems):
    """Items in memory.

    Parameters
    ----------
    dataset : LabeledDataset
    """

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
    """Items in memory, located on a grid.

    Parameters
    ----------
    dataset : LabeledDataset
    located : Items
    """

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
