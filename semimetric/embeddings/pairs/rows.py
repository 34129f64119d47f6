"""Blocks of rows of the design matrix A: sparse in slot form, or dense where rows are full. Both give the same products."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ..._foundation.threads import blocks
from ..._foundation.types import Floats, Integers
from ..._kernels.products import add_gram, add_rmatvec, group_sums, matvec, scatter

__all__ = ["DenseRows", "PairRows", "SparseRows"]

_DENSE = 4  # columns a slot below which BLAS on dense blocks beats scattered additions (measured: 4.8)


class PairRows(ABC):
    """B rows of A, and a constant for each: the value of vertices that are no columns (0 where every vertex is one)."""

    offset: Floats

    @abstractmethod
    def matvec(self, w: Floats) -> Floats:
        """A w + offset, shape (B,)."""

    @abstractmethod
    def add_rmatvec(self, r: Floats, out: Floats) -> None:
        """out += Aᵀ r; ``out`` has n_columns + 1 entries, the last unused."""

    @abstractmethod
    def add_gram(self, weights: Floats, out: Floats) -> None:
        """Lower triangle of out += Aᵀ diag(weights) A; ``out`` has a row and a column more, unused."""

    @abstractmethod
    def minus(self, other: Any, sign: float = -1.0) -> "PairRows":
        """The rows A + sign B, for B of the same kind."""

    @abstractmethod
    def csr(self, n_columns: int) -> sparse.csr_array:
        """The block as CSR with sorted indices, without explicit zeros."""


@dataclass(frozen=True, eq=False)
class SparseRows(PairRows):
    """Slots: ``columns`` (B, K) int32, ``values`` (B, K); group g has slots ``slot[g]:slot[g + 1]``.

    Column n_columns stands for none: the diagonal, or an unseen vertex, whose value is in ``unseen`` (B, n_groups).
    """

    columns: np.ndarray
    values: Floats
    slot: Integers
    unseen: Floats | None = None

    @property
    def offset(self) -> Floats:  # type: ignore[override]
        """Sum of the unseen vertices' values, shape (B,)."""
        return np.zeros(len(self.columns)) if self.unseen is None else self.unseen.sum(axis=1)

    def matvec(self, w: Floats) -> Floats:
        out = np.empty(len(self.columns))
        matvec(self.columns, self.values, np.append(w, 0.0), self.slot, out)
        return out if self.unseen is None else out + self.offset

    def add_rmatvec(self, r: Floats, out: Floats) -> None:
        add_rmatvec(self.columns, self.values, r, out)

    def add_gram(self, weights: Floats, out: Floats) -> None:
        if len(out) < _DENSE * self.columns.shape[1]:
            dense = np.zeros((len(self.columns), len(out)))
            scatter(self.columns, self.values, np.sqrt(weights), dense)
            out += dense.T @ dense
            return
        for part in blocks(len(self.columns), 256):
            columns, values = (np.ascontiguousarray(a[part].T) for a in (self.columns, self.values))
            add_gram(columns, values, weights[part], self.slot, out)

    def group_sums(self, w: Floats) -> Floats:
        """Contribution of every group to A w + offset, shape (B, n_groups)."""
        out = np.empty((len(self.columns), len(self.slot) - 1))
        group_sums(self.columns, self.values, np.append(w, 0.0), self.slot, out)
        return out if self.unseen is None else out + self.unseen

    def csr(self, n_columns: int) -> sparse.csr_array:
        keep = (self.columns < n_columns) & (self.values != 0)
        indptr = np.concatenate([[0], np.cumsum(keep.sum(axis=1))])
        shape = (len(self.columns), n_columns)
        matrix = sparse.csr_array((self.values[keep], self.columns[keep], indptr), shape=shape)
        matrix.sum_duplicates()  # which sorts
        return matrix

    def minus(self, other: "SparseRows", sign: float = -1.0) -> "SparseRows":
        """Slots side by side, group by group, so that groups go on numbering their columns in order."""
        width = np.diff(self.slot)
        order = np.concatenate([self._both(start, stop) for start, stop in zip(self.slot[:-1], self.slot[1:], strict=True)])
        columns = np.hstack([self.columns, other.columns])[:, order]
        values = np.hstack([self.values, sign * other.values])[:, order]
        unseen = None if self.unseen is None or other.unseen is None else self.unseen + sign * other.unseen
        return SparseRows(columns, values, np.concatenate([[0], np.cumsum(2 * width)]), unseen)

    def _both(self, start: int, stop: int) -> Integers:
        own = np.arange(start, stop)
        return np.concatenate([own, own + self.slot[-1]])


@dataclass(frozen=True, eq=False)
class DenseRows(PairRows):
    """Full rows ``values`` (B, n_columns)."""

    values: Floats

    @property
    def offset(self) -> Floats:  # type: ignore[override]
        """Zero: full rows leave nothing out."""
        return np.zeros(len(self.values))

    def matvec(self, w: Floats) -> Floats:
        return self.values @ w

    def add_rmatvec(self, r: Floats, out: Floats) -> None:
        out[:-1] += self.values.T @ r

    def add_gram(self, weights: Floats, out: Floats) -> None:
        root = self.values * np.sqrt(weights)[:, None]
        out[:-1, :-1] += root.T @ root

    def minus(self, other: "DenseRows", sign: float = -1.0) -> "DenseRows":
        return DenseRows(self.values - other.values if sign == -1.0 else self.values + sign * other.values)

    def csr(self, n_columns: int) -> sparse.csr_array:
        return sparse.csr_array(self.values)
