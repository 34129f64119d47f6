"""What a report needs of a model that scores single items: columns, outputs, probabilities, and what its page reads."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._foundation.types import Floats, Integers
from ..data.grid import Grid
from ..data.schema import Schema
from .shares import Shares
from .subjects import ReportItems


class Predictor(ABC):
    """A fitted model that gives every item numbers, of which its class or its value follows.

    Attributes
    ----------
    kind : {"machine", "pieces"}
        Which tabs its report has.
    model : estimator
        The model that was given.
    schema : Schema
        The columns of the items.
    grid : Grid
        The places of every column between which the model is told, and so the range of each.
    classes : tuple of str or None
        None if values are predicted.
    range_note : str
        What the table of the data says of the range of a column.
    refuses_outside : bool
        Whether the model takes no values outside the range.
    """

    kind: str
    model: Any
    schema: Schema
    grid: Grid
    classes: tuple[str, ...] | None
    range_note: str
    refuses_outside: bool = False

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return len(self.schema.features)

    @property
    @abstractmethod
    def outputs(self) -> tuple[str, ...]:
        """What the K numbers of an item are called."""

    @property
    @abstractmethod
    def terms(self) -> tuple[str, ...]:
        """The names of what the first tab lists."""

    @property
    @abstractmethod
    def summary(self) -> list[str]:
        """Lines that say what the model is made of."""

    @abstractmethod
    def read(self, X: Any) -> Any:
        """Items as they were given to the model, as a table with the columns of ``schema``."""

    @abstractmethod
    def scores(self, values: Floats) -> Floats:
        """The numbers of encoded items (n, n_features), as the model computes them: shape (n, K)."""

    @abstractmethod
    def shares(self, items: ReportItems | None) -> Shares:
        """How much the terms and the columns matter."""

    @abstractmethod
    def to_page(self, items: ReportItems | None) -> dict[str, Any]:
        """What only pages of this kind read."""

    def evidence(self, items: ReportItems | None) -> list[dict[str, Any]]:
        """Tables that only this kind of model has."""
        return []

    def probabilities(self, values: Floats) -> Floats | None:
        """The probabilities of the classes, shape (n, n_classes); None where the model has none."""
        return None

    def grid_with(self, items: ReportItems | None) -> Grid:
        """The grid; where the model itself has no range of columns, that of the items."""
        return self.grid

    def codes(self, scores: Floats) -> Integers:
        """The number of the class of every item, from its scores (n, K)."""
        return np.asarray((scores[:, 0] > 0) if scores.shape[1] == 1 else scores.argmax(axis=1), dtype=np.int64)

    def margins(self, scores: Floats) -> Floats:
        """How far apart the scores of the two best classes are; of one score its distance from 0. Shape (n,)."""
        if scores.shape[1] == 1:
            return np.abs(scores[:, 0])
        ordered = np.sort(scores, axis=1)
        return np.asarray(ordered[:, -1] - ordered[:, -2])

    def settled(self, values: Floats) -> NDArray[np.bool_]:
        """Which items a rounding cannot give to another part of the model: shape (n,)."""
        return np.ones(len(values), dtype=bool)

    def outside(self, values: Floats) -> NDArray[np.bool_] | None:
        """Whether encoded values lie outside the range of their column: shape (n, n_features); None where there is no range."""
        return (values < self.grid.low) | (values > self.grid.high)
