"""The coefficients and decision values of a linear machine, from the arrays in which its kernels keep the weights.

    f(x) = W phi(x) + b = W_d psi(x) + b

For most embeddings psi is phi and W_d is W. An embedding with a ladder has rows psi that are sparser than phi, and its weights
are W_d = D_d^{-1} W (paper 1, equation 15).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..._foundation.threads import map_blocks
from ..._foundation.types import Floats
from ..._kernels.coordinate_descent import Machine
from ..._kernels.difference_penalties import gather_block, prefix_sums
from ...embeddings.vectors.base import FeatureMap
from .embedded_rows import EmbeddedRows

__all__ = [
    "clip_weights",
    "coefficients",
    "decision_values",
    "intercepts",
    "of_phi",
    "set_weights_of_phi",
    "squared_norms",
    "zero_machine",
]

_ROWS_PER_TASK = 4096  # rows whose decision values one thread computes at a time


def zero_machine(
    embedding: FeatureMap, n_classes: int, intercept_scaling: float, positive: NDArray[np.bool_] | None = None
) -> Machine:
    """A machine whose weights are all 0.

    ``intercept_scaling`` is the value of the intercept's column, 0 for no intercept. ``positive`` (n_columns,) tells whose
    weights W of phi must not be negative.
    """
    weights = np.zeros(embedding.n_columns_ * n_classes)
    bias = np.zeros(n_classes)
    ladder = embedding.ladder
    order, starts = (0, np.zeros(2, np.int64)) if ladder is None else (int(ladder.order), np.asarray(ladder.starts, np.int64))
    held = np.zeros(0, np.bool_) if positive is None else positive
    return Machine(weights, bias, float(intercept_scaling), order, starts, held)


def coefficients(machine: Machine) -> Floats:
    """The weights W of phi, shape (n_classes, n_columns); those that must not be negative are 0 where they would be."""
    weights = of_phi(machine).weights.reshape(-1, len(machine.bias))
    if len(machine.positive):
        weights = np.where(machine.positive[:, None], np.maximum(weights, 0.0), weights)
    return weights.T


def of_phi(machine: Machine) -> Machine:
    """The machine with the weights W of phi, which is what kernels learn; without a ladder it is the same object.

    W = D_d W_d are d times the differences within every block of columns, the first kept. Both share the bias.
    """
    if not machine.order:
        return machine
    weights = machine.weights.reshape(-1, len(machine.bias)).copy()
    for _ in range(machine.order):
        before = np.zeros_like(weights)
        before[1:] = weights[:-1]
        before[machine.starts[:-1]] = 0.0
        weights -= before
    return machine._replace(weights=weights.ravel(), order=0)


def set_weights_of_phi(machine: Machine, learned: Machine) -> None:
    """Give ``machine`` the weights W_d of psi that belong to those of phi which ``learned``, made by `of_phi`, has now."""
    if learned is not machine:
        machine.weights[:] = learned.weights
        prefix_sums(machine.weights.reshape(-1, len(machine.bias)), machine.order, machine.starts)


def intercepts(machine: Machine) -> Floats:
    """The intercepts b, shape (n_classes,): the value of the intercept's column times its weight."""
    return machine.scaling * machine.bias


def clip_weights(machine: Machine) -> None:
    """Set negative weights of a trained machine to 0, in place, where they must not be negative."""
    if len(machine.positive):
        machine.weights[:] = coefficients(machine).T.ravel()


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
