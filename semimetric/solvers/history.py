"""How a solver came to its solution: objective and gap at the iterations at which it looked at them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._foundation.optional_imports import optional
from .._foundation.storable import storable
from .._foundation.types import Floats, FrozenValue, Integers, freeze

__all__ = ["History", "Step"]

Step = tuple[int, float, float]  # the number of an iteration, the objective there, and the gap


@storable
@dataclass(frozen=True, eq=False)
class History(FrozenValue):
    """The objective and the gap of a solver, one entry for each time that it looked at them, in the units of the program.

    Parameters
    ----------
    iterations : ndarray of shape (n,)
        The numbers of the iterations, which solvers of many cheap ones do not all look at.
    objective : ndarray of shape (n,)
        The loss plus the penalty at the weights then.
    gap : ndarray of shape (n,)
        How far the objective can be above the optimum by what was known then; ``inf`` where nothing was.

    Examples
    --------
    >>> from semimetric import DistanceRegressor
    >>> pairs = np.random.default_rng(0).random((200, 2, 2))
    >>> y = np.abs(pairs[:, 0] - pairs[:, 1]).sum(axis=1)
    >>> history = DistanceRegressor(n_knots=3, alpha=1e-3, loss="huber").fit(pairs, y).solution_.history
    >>> bool(history.objective[-1] <= history.objective[0])
    True
    """

    iterations: Integers
    objective: Floats
    gap: Floats

    def __post_init__(self) -> None:
        freeze(self, "iterations", "objective", "gap")

    @classmethod
    def of(cls, steps: Sequence[Step]) -> History | None:
        """The history of these steps; None if there are none."""
        if not steps:
            return None
        numbers, objective, gap = zip(*steps, strict=True)
        return cls(np.array(numbers, dtype=np.int64), np.array(objective, dtype=float), np.array(gap, dtype=float))

    def __len__(self) -> int:
        return len(self.iterations)

    def __repr__(self) -> str:
        first, last = self.objective[[0, -1]] if len(self) else (np.nan, np.nan)
        return f"History of {len(self)} looks: objective {first:.6g} to {last:.6g}"

    def to_frame(self) -> Any:
        """The history as a frame of pandas, a row each, with the columns objective and gap, by the number of the iteration."""
        index = optional("pandas").Index(self.iterations, name="iteration")
        return optional("pandas").DataFrame({"objective": self.objective, "gap": self.gap}, index=index)
