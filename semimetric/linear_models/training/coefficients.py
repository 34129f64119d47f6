"""The coefficients and decision values of a linear machine, from the arrays in which its kernels keep the weights.

    f(x) = W phi(x) + b = W_d psi(x) + b

For most embeddings psi is phi and W_d is W. An embedding with a ladder has rows psi that are sparser than phi, and its weights
are W_d = D_d^{-1} W (paper 1, equation 15).
"""

from __future__ import annotations

import numpy as np

from ..._foundation.threads import map_blocks
from ..._foundation.types import Floats
from ..._kernels.coordinate_descent import Machine
from ..._kernels.difference_penalties import gather_block, unclimb
from ...embeddings.vectors.base import FeatureMap
from .embedded_rows import EmbeddedRows

__all__ = ["coefficients", "decision_values", "intercepts", "squared_norms", "zero_machine"]

_ROWS_PER_TASK = 4096  # rows whose decision values one thread computes at a time


def zero_machine(embedding: FeatureMap, n_classes: int, intercept_scaling: float) -> Machine:
    """A machine whose weights are all 0; ``intercept_scaling`` is the value of the intercept's column, 0 for no intercept."""
    weights = np.zeros(embedding.n_columns_ * n_classes)
    bias = np.zeros(n_classes)
    ladder = embedding.ladder
    if ladder is None:
        return Machine(weights, bias, float(intercept_scaling), 0, np.zeros(2, np.int64))
    return Machine(weights, bias, float(intercept_scaling), int(ladder.order), np.asarray(ladder.starts, np.int64))


def coefficients(machine: Machine) -> Floats:
    """The weights W of phi, shape (n_classes, n_columns)."""
    weights = machine.weights.reshape(-1, len(machine.bias))
    if not machine.order:
        return weights.T
    without_ladder = np.empty_like(weights)
    unclimb(weights, machine.order, machine.starts, without_ladder)
    return without_ladder.T


def intercepts(machine: Machine) -> Floats:
    """The intercepts b, shape (n_classes,): the value of the intercept's column times its weight."""
    return machine.scaling * machine.bias


def squared_norms(machine: Machine) -> Floats:
    """What the penalty sums up, shape (n_classes,): the squared norm of W_c plus the squared weight of the intercept."""
    return np.array([w @ w for w in coefficients(machine)]) + machine.bias**2


def decision_values(machine: Machine, rows: EmbeddedRows, n_jobs: int | None = None) -> Floats:
    """f of every row, shape (n, n_classes); every one of the ``n_jobs`` threads embeds rows into a buffer of its own."""
    values = np.empty((len(rows), len(machine.bias)))

    def fill(task: slice) -> None:
        buffered = EmbeddedRows(rows.embedding, rows.items, rows.size)
        for place, _, chunk in buffered.blocks(np.arange(task.start, task.stop)):
            gather_block(chunk, machine.weights, values[task][place])

    map_blocks(fill, len(rows), size=_ROWS_PER_TASK, n_jobs=n_jobs)
    return values + intercepts(machine)
