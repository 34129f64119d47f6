"""The weights of a linear machine, as its kernels keep them and as scikit-learn reads them.

f(x) = W phi(x) + b = W_d psi(x) + b,   W_d = D_d^{-1} W  for an embedding with a ladder (paper 1, eq. 15), else W
"""

from __future__ import annotations

import numpy as np

from ..._foundation.threads import map_blocks
from ..._foundation.types import Floats
from ..._kernels.descent import Machine
from ..._kernels.ladders import gather_block, unclimb
from ...embeddings.vectors.base import FeatureMap
from .embedded_rows import EmbeddedRows

__all__ = ["coefficients", "empty_machine", "intercepts", "scores", "squared_norms"]

_ROWS = 4096  # a thread scores at a time


def empty_machine(embedding: FeatureMap, n_classes: int, scaling: float) -> Machine:
    """All weights 0; ``scaling`` is the value of the column of the intercept, 0 for none."""
    ladder = embedding.ladder
    order, starts = (0, np.zeros(2, np.int64)) if ladder is None else (ladder.order, np.asarray(ladder.starts, np.int64))
    return Machine(np.zeros(embedding.n_columns_ * n_classes), np.zeros(n_classes), float(scaling), int(order), starts)


def coefficients(machine: Machine) -> Floats:
    """W of phi, shape (n_classes, n_columns)."""
    weights = machine.weights.reshape(-1, len(machine.bias))
    if machine.order:
        out = np.empty_like(weights)
        unclimb(weights, machine.order, machine.starts, out)
        weights = out
    return weights.T


def intercepts(machine: Machine) -> Floats:
    """b of every class: the column of the intercept times its weight."""
    return machine.scaling * machine.bias


def squared_norms(machine: Machine) -> Floats:
    """|W_c|² of every class, the weight of the intercept included, as it is penalised."""
    return np.array([w @ w for w in coefficients(machine)]) + machine.bias**2


def scores(machine: Machine, rows: EmbeddedRows, n_jobs: int | None = None) -> Floats:
    """f of every row, shape (n, n_classes); threads embed for themselves."""
    out = np.empty((len(rows), len(machine.bias)))

    def fill(part: slice) -> None:
        own = EmbeddedRows(rows.embedding, rows.items, rows.size)
        for place, _, chunk in own.blocks(np.arange(part.start, part.stop)):
            gather_block(chunk, machine.weights, out[part][place])

    map_blocks(fill, len(rows), size=_ROWS, n_jobs=n_jobs)
    return out + intercepts(machine)
