"""Tuples in memory as rows of a program: what measured distances and comparisons have in common."""

from abc import ABC, abstractmethod
from typing import ClassVar, Self

from ..._foundation.types import Floats, Integers, Tuples
from ..pairs.base import PairMap
from ..programs.design_matrix import RowsDesign
from ..programs.losses import Loss
from .structure import Structure


class TrainingTuples(ABC):
    """Tuples with a target and a weight each: the residual of a tuple is its row times the weights, less its target."""

    tuples: Tuples  # the tuples, over the items that they index
    weight: Floats  # shape (n_tuples,); positive, summing to 1
    quick_loss: ClassVar[Loss]  # a loss with curvature, for fits that only compare settings

    @property
    @abstractmethod
    def targets(self) -> Floats:
        """The target of every tuple, scaled as its row is; shape (n_tuples,)."""

    @abstractmethod
    def take(self, rows: Integers) -> Self:
        """Some of the tuples, their weights again summing to 1."""

    @abstractmethod
    def over(self, items: Floats) -> Self:
        """The same tuples over other features of the items, shape (n_items, n_other_features); without base distances."""

    @abstractmethod
    def design(self, structure: Structure, embedding: PairMap, n_jobs: int | None) -> RowsDesign:
        """The rows of an embedding that lies over the features of ``structure``."""
