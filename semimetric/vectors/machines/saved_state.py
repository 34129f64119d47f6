"""The state of a trained machine in a file: its weights, and the steps that they are worth; dual variables are left out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._foundation.errors import InputError
from ..._foundation.stored import storable
from ..._foundation.types import Floats
from ..embeddings.base import FeatureMap
from .fit import TrainedState
from .pegasos import StepCounter
from .rows import zero_machine


@storable
@dataclass(frozen=True)
class StoredMachine:
    """The weights of a machine, and the counts from which stochastic steps go on."""

    weights: Floats  # (n_columns * n_scores,)
    bias: Floats  # (n_scores,)
    scaling: float
    n_steps: float
    n_rows: float
    objective: tuple[float | bool, ...]

    @classmethod
    def of(cls, state: TrainedState) -> StoredMachine:
        """Return the stored form of a trained state."""
        machine, counter = state.machine, state.counter
        numbers = float(machine.scaling), float(counter.n_steps), float(counter.n_rows)
        return cls(machine.weights, machine.bias, *numbers, tuple(state.objective))

    def state(self, embedding: FeatureMap, n_scores: int) -> TrainedState:
        """Return the trained state, with ``n_scores`` columns of weights on an embedding.

        Raises
        ------
        InputError
            If there are not as many weights as columns, or a number is not finite or negative where it counts something.
        """
        weights, bias = self.weights, self.bias
        n = embedding.n_columns_
        if bias.shape != (n_scores,) or weights.shape != (n * n_scores,):
            raise InputError(
                f"there are weights of shape {weights.shape} and {bias.shape} for {n} columns and {n_scores} scores"
            )
        numbers = [self.scaling, self.n_steps, self.n_rows]
        if not (np.isfinite(weights).all() and np.isfinite(bias).all() and all(0 <= number < np.inf for number in numbers)):
            raise InputError("weights or intercepts are not finite, or a count is negative; restore the file")
        machine = zero_machine(embedding, n_scores, self.scaling)
        machine.weights[:] = weights
        machine.bias[:] = bias
        return TrainedState(machine, StepCounter(self.n_steps, self.n_rows), tuple(self.objective))
