"""The state of a trained machine in a file: its weights, and where stochastic steps go on; dual variables are left out."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._foundation.errors import InputError
from ..._foundation.types import Floats
from ..embeddings.base import FeatureMap
from .fit import TrainedState
from .pegasos import StepCounter
from .rows import zero_machine

STORED_STATE: dict[str, Any] = {
    "weights": Floats,
    "bias": Floats,
    "scaling": float,
    "n_steps": float,
    "n_rows": float,
    "objective": tuple[float | bool, ...],
}
"""The annotation of everything that `stored_state` gives."""


def stored_state(state: TrainedState) -> dict[str, Any]:
    """Return the weights of a machine as kernels have them, the steps that they are worth, and their objective."""
    machine, counter = state.machine, state.counter
    return {
        "weights": machine.weights,
        "bias": machine.bias,
        "scaling": float(machine.scaling),
        "n_steps": float(counter.n_steps),
        "n_rows": float(counter.n_rows),
        "objective": tuple(state.objective),
    }


def state_of_stored(stored: dict[str, Any], embedding: FeatureMap, n_classes: int) -> TrainedState:
    """Return the machine with ``n_classes`` columns of weights from the numbers of `stored_state`."""
    weights, bias, scaling = stored["weights"], stored["bias"], stored["scaling"]
    n = embedding.n_columns_
    if bias.shape != (n_classes,) or weights.shape != (n * n_classes,):
        raise InputError(f"there are weights of shape {weights.shape} and {bias.shape} for {n} columns and {n_classes} scores")
    numbers = [scaling, stored["n_steps"], stored["n_rows"]]
    if not (np.isfinite(weights).all() and np.isfinite(bias).all() and all(0 <= number < np.inf for number in numbers)):
        raise InputError("weights or intercepts are not finite, or a count is negative; restore the file")
    machine = zero_machine(embedding, n_classes, scaling)
    machine.weights[:] = weights
    machine.bias[:] = bias
    return TrainedState(machine, StepCounter(stored["n_steps"], stored["n_rows"]), tuple(stored["objective"]))
