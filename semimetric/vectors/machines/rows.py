"""Rows of items that are embedded block by block, always into the same buffer, so that the embedding is never stored."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..._foundation.threads import map_blocks
from ..._foundation.types import Floats, Integers
from ..._kernels.coordinate_descent import Machine, Problem
from ..._kernels.csr_rows import Chunk, DifferenceOperator
from ..._kernels.difference_penalties import gather_block, prefix_sums, suffix_sum_rows, suffix_sum_widths
from ..embeddings.base import FeatureMap, dense_rows

_MIN_BUFFER = 1 << 17  # bytes
_MAX_BUFFER = 1 << 25  # bytes
_ITEMS_PER_BUFFER = 8  # the buffer has the bytes of the items, divided by this
_SPARE = 1.2  # than a block of rows phi needs, for the next ones
_INT32 = np.iinfo(np.int32).max


class EmbeddedRows:
    """The rows of ``items`` under a fitted embedding, in one `Chunk`, or two with a difference operator."""

    def __init__(self, embedding: FeatureMap, items: Floats | sparse.csr_array, size: int | None = None) -> None:
        self.embedding = embedding  # fitted
        self.items = items  # (n, n_features); as `FeatureMap.encode` returns them
        width = max(embedding.most_nonzeros, 1)
        index = np.dtype(np.int32 if embedding.n_columns_ <= _INT32 else np.int64)
        data = np.dtype(embedding.dtype)
        if size is None:
            n_bytes = items.nbytes if isinstance(items, np.ndarray) else items.data.nbytes + items.indices.nbytes
            buffer = min(max(n_bytes // _ITEMS_PER_BUFFER, _MIN_BUFFER), _MAX_BUFFER)
            size = buffer // (width * (index.itemsize + data.itemsize))
        # Rows that are embedded at a time. Solvers take several steps on each meanwhile, which is worth more on more rows: 300
        # rows and five sweeps took a third of the time of 64 rows and one, on 7,291 digits.
        self.size = max(1, min(size, len(self)))
        n_entries = self.size * width
        self._chunk = Chunk(np.zeros(self.size + 1, np.int64), np.empty(n_entries, index), np.empty(n_entries, data))
        self._phi = self._chunk._replace(indices=np.empty(0, index), data=np.empty(0, data))

    def __len__(self) -> int:
        return self.items.shape[0]

    @property
    def index_dtype(self) -> type[np.signedinteger]:
        """The integer type of row numbers: four bytes where they suffice."""
        return np.int32 if len(self) <= _INT32 else np.int64

    def blocks(self, rows: Integers | None = None) -> Iterator[tuple[slice, Integers, Chunk]]:
        """Embed the rows numbered ``rows``, or all rows for None, block by block."""
        for place, numbers in self._numbered(rows):
            yield place, numbers, self._written(dense_rows(self.items, numbers))

    def phi_blocks(self, rows: Integers | None = None) -> Iterator[tuple[slice, Integers, Chunk]]:
        """`blocks` of rows phi: for an embedding with a difference operator sums of the rows psi, in a buffer of their own."""
        difference_operator = self.embedding.difference_operator
        if difference_operator is None:
            yield from self.blocks(rows)
            return
        for place, numbers in self._numbered(rows):
            items = dense_rows(self.items, numbers)
            phi = self.embedding.write_phi(items, partial(self._buffer, len(numbers)))
            yield (
                place,
                numbers,
                self._suffix_sums(self._written(items), difference_operator, len(numbers)) if phi is None else phi,
            )

    def _numbered(self, rows: Integers | None) -> Iterator[tuple[slice, Integers]]:
        """Return the position of every block among ``rows``, and the numbers of its rows."""
        n = len(self) if rows is None else len(rows)
        for start in range(0, n, self.size):
            place = slice(start, min(start + self.size, n))
            yield place, np.arange(place.start, place.stop, dtype=self.index_dtype) if rows is None else rows[place]

    def _written(self, items: Floats) -> Chunk:
        chunk = self._chunk._replace(indptr=self._chunk.indptr[: len(items) + 1])
        self.embedding.write(items, chunk)
        return chunk

    def _buffer(self, n: int, n_entries: int) -> Chunk:
        """Return buffers for n rows phi with so many entries; the next call returns the same."""
        if len(self._phi.data) < n_entries:
            most = int(n_entries * _SPARE)
            self._phi = self._phi._replace(
                indices=np.empty(most, self._phi.indices.dtype), data=np.empty(most, self._phi.data.dtype)
            )
        return self._phi._replace(indptr=np.zeros(n + 1, np.int64))

    def _suffix_sums(self, psi: Chunk, difference_operator: DifferenceOperator, n: int) -> Chunk:
        """Return phi of the n rows of psi; the next call overwrites it."""
        widths = suffix_sum_widths(psi, (0, n), difference_operator.starts)
        out = self._buffer(n, int(widths.sum()))
        np.cumsum(widths, out=out.indptr[1:])
        suffix_sum_rows(psi, (0, n), difference_operator.starts, difference_operator.order, out)
        return out


_ONE = np.ones(1)  # stands for a target or a weight of 1 on every row
_MOST_IN_A_BYTE = np.iinfo(np.int8).max  # so many classes are numbered in one byte a row


def classification_problem(
    codes: Integers, sample_weight: Floats | None, class_weight: Floats, *, squared: bool, joint: bool
) -> Problem:
    """Return the hinge losses of rows with class numbers ``codes`` (n,); ``joint`` is Crammer and Singer's loss.

    ``class_weight`` (K + 1,) has C times the weight of every class, and C itself: the weight of the rest, as in LIBLINEAR.
    """
    n_classes = len(class_weight) - 1
    if joint:
        own = class_weight[:n_classes]
        other = own
    elif n_classes == 2:
        codes = 1 - codes
        own = class_weight[1:2]
        other = class_weight[:1]
    else:
        own = class_weight[:n_classes]
        other = np.full(n_classes, class_weight[n_classes])
    return Problem(
        codes=codes.astype(np.int8 if n_classes <= _MOST_IN_A_BYTE else np.int32, copy=False),
        target=_ONE,
        sample=_ONE if sample_weight is None else sample_weight,
        own=own.copy(),
        other=other.copy(),
        epsilon=0.0,
        squared=squared,
        two_sided=False,
        joint=joint,
    )


def regression_problem(y: Floats, sample_weight: Floats | None, C: float, *, epsilon: float, squared: bool) -> Problem:
    """Return the epsilon-insensitive losses of the targets y (n,), in one column that all rows belong to."""
    return Problem(
        codes=np.zeros(len(y), np.int8),
        target=y,
        sample=_ONE if sample_weight is None else sample_weight,
        own=np.array([C]),
        other=np.array([C]),
        epsilon=float(epsilon),
        squared=squared,
        two_sided=True,
        joint=False,
    )


_ROWS_PER_TASK = 4096  # rows whose decision values one thread computes at a time


def zero_machine(
    embedding: FeatureMap, n_classes: int, intercept_scaling: float, positive: NDArray[np.bool_] | None = None
) -> Machine:
    """Return a machine whose weights are all 0; ``positive`` (n_columns,) marks weights that must not be negative."""
    weights = np.zeros(embedding.n_columns_ * n_classes)
    bias = np.zeros(n_classes)
    order, starts = 0, np.zeros(2, np.int64)
    if embedding.difference_operator is not None:
        order = int(embedding.difference_operator.order)
        starts = np.asarray(embedding.difference_operator.starts, np.int64)
    held = np.zeros(0, np.bool_) if positive is None else positive
    return Machine(weights, bias, float(intercept_scaling), order, starts, held)


def coefficients(machine: Machine) -> Floats:
    """Return the weights W of phi, (n_classes, n_columns), with those that must not be negative at least 0."""
    weights = of_phi(machine).weights.reshape(-1, len(machine.bias))
    if len(machine.positive):
        weights = np.where(machine.positive[:, None], np.maximum(weights, 0.0), weights)
    return weights.T


def of_phi(machine: Machine) -> Machine:
    """Return the machine with the weights W = D_d W_d of phi, which kernels learn; without D it is the same object."""
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
    """Return the intercepts b, (n_classes,): the value of the intercept's column times its weight."""
    return machine.scaling * machine.bias


def clip_weights(machine: Machine) -> None:
    """Set negative weights of a trained machine to 0, in place, where they must not be negative."""
    if len(machine.positive):
        machine.weights[:] = coefficients(machine).T.ravel()


def squared_norms(machine: Machine) -> Floats:
    """Return the sum that is penalised, shape (n_classes,): |W_c|² plus the squared weight of the intercept."""
    return np.array([w @ w for w in coefficients(machine)]) + machine.bias**2


def decision_values(machine: Machine, rows: EmbeddedRows, n_jobs: int | None = None) -> Floats:
    """Return f of every row, (n, n_classes); every thread embeds rows into a buffer of its own."""
    values = np.empty((len(rows), len(machine.bias)))

    def fill(task: slice) -> None:
        buffered = EmbeddedRows(rows.embedding, rows.items, rows.size)
        for place, _, chunk in buffered.blocks(np.arange(task.start, task.stop)):
            gather_block(chunk, machine.weights, values[task][place])

    map_blocks(fill, len(rows), size=_ROWS_PER_TASK, n_jobs=n_jobs)
    return values + intercepts(machine)
