"""Pairs with measured distances as the user gives them, in memory or in parts."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

from ..._foundation.types import Floats, Pairs
from ...data.identical_items import distinct_items
from ..recipe import Recipe
from ..structure import Structure
from .pair_targets import PairTargets, ScaledDistances

__all__ = ["DistanceData", "InMemoryDistances"]


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

    def scaled(self, recipe: Recipe, structure: Structure) -> PairTargets:
        """Each base distance is evaluated once for every pair."""
        return PairTargets.of(recipe, structure, self.pairs, self.y, self.weight)
