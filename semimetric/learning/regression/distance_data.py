"""Pairs with measured distances as the user gives them, in memory or in parts."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..._foundation.types import Floats, Integers, Pairs
from ...data.identical_items import distinct_items
from ..recipe import Recipe
from ..structure import Structure
from .pair_targets import PairTargets, ScaledDistances

__all__ = ["DistanceData", "InMemoryDistances", "sampled_rows"]


class DistanceData(ABC):
    """Pairs with measured distances, in the user's unit."""

    @property
    @abstractmethod
    def items(self) -> Floats:
        """The items that knots are placed among, shape (n_items, n_features)."""

    @abstractmethod
    def scaled(self, recipe: Recipe, structure: Structure) -> ScaledDistances:
        """The distances in units of their mean, with the base distances of the structure."""


@dataclass(frozen=True, eq=False)
class InMemoryDistances(DistanceData):
    """Pairs in memory.

    Parameters
    ----------
    pairs : Pairs
    y : ndarray of shape (n_pairs,)
        The distances.
    weight : ndarray of shape (n_pairs,)
        Positive, summing to 1.
    """

    pairs: Pairs
    y: Floats
    weight: Floats

    @cached_property
    def items(self) -> Floats:  # type: ignore[override]  # it is computed once
        """The distinct items that are in some pair, or a sample of very many."""
        return distinct_items(self.pairs.used)

    def sampled(self, most: int, random_state: int | None) -> "InMemoryDistances":
        """These pairs, or a sample of so many."""
        rows = sampled_rows(len(self.pairs), most, random_state)
        return self.take(rows)

    def take(self, rows: Integers) -> "InMemoryDistances":
        """Some of the pairs."""
        return InMemoryDistances(self.pairs.take(rows), self.y[rows], self.weight[rows] / self.weight[rows].sum())

    def scaled(self, recipe: Recipe, structure: Structure) -> PairTargets:
        """Each base distance is evaluated once for every pair."""
        return PairTargets.of(recipe, structure, self.pairs, self.y, self.weight)


def sampled_rows(n: int, most: int, random_state: int | None) -> Integers:
    """The rows of n that candidates are compared on: all, or a sample of ``most``."""
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(random_state).choice(n, most, replace=False))
