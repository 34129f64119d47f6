"""Blocks of rows of the design matrix A, in a sparse form with a fixed number of entries a row, or in a dense form."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ..._foundation.threads import blocks
from ..._foundation.types import Floats, Integers
from ..._kernels.products import add_gram, add_rmatvec, group_sums, matvec, scatter

_DENSE = 4  # with fewer columns for each entry of a row, BLAS on dense blocks beats scattered additions (measured: 4.8)


class PairRows(ABC):
    """B rows of A, and a constant for each row: the value of vertices without a column."""

    @property
    @abstractmethod
    def offset(self) -> Floats:
        """The constant of each row, shape (B,); 0 where every vertex has a column."""

    @abstractmethod
    def matvec(self, w: Floats) -> Floats:
        """Return a w + offset for the weights ``w`` of shape (n_columns,): shape (B,)."""

    @abstractmethod
    def add_rmatvec(self, r: Floats, out: Floats) -> None:
        """Add Aᵀ r to ``out``, which has n_columns + 1 entries, the last of them unused."""

    @abstractmethod
    def add_gram(self, weights: Floats, out: Floats) -> None:
        """Add Aᵀ diag(weights) A to the lower triangle of ``out``, which has one unused row and column at its end."""

    @abstractmethod
    def minus(self, other: Any, sign: float = -1.0) -> "PairRows":
        """Return the rows A + sign B, where B are the rows ``other`` of the same class."""

    @abstractmethod
    def csr(self, n_columns: int) -> sparse.csr_array:
        """Return the rows as a CSR matrix with sorted indices and without explicit zeros, shape (B, n_columns)."""


@dataclass(frozen=True, eq=False)
class SparseRows(PairRows):
    """Rows with K entries each, in slots: the entries of group g are in the slots ``slot[g]:slot[g + 1]``."""

    # (B, K), the column of each entry. The number n_columns stands for a vertex without a column: one on the diagonal,
    # whose value is 0, or one that training never used.
    columns: np.ndarray
    values: Floats  # (B, K), the values of the entries
    slot: Integers  # (n_groups + 1,)
    unseen: Floats | None = None  # (B, n_groups) or None: the value of the vertices of each group that training never used

    @property
    def offset(self) -> Floats:
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
            columns = np.ascontiguousarray(self.columns[part].T)
            values = np.ascontiguousarray(self.values[part].T)
            add_gram(columns, values, weights[part], self.slot, out)

    def group_sums(self, w: Floats) -> Floats:
        """Return the contribution of every group to A w + offset, shape (B, n_groups)."""
        out = np.empty((len(self.columns), len(self.slot) - 1))
        group_sums(self.columns, self.values, np.append(w, 0.0), self.slot, out)
        return out if self.unseen is None else out + self.unseen

    def csr(self, n_columns: int) -> sparse.csr_array:
        keep = (self.columns < n_columns) & (self.values != 0)
        indptr = np.concatenate([[0], np.cumsum(keep.sum(axis=1))])
        shape = (len(self.columns), n_columns)
        matrix = sparse.csr_array((self.values[keep], self.columns[keep], indptr), shape=shape)
        matrix.sum_duplicates()  # this also sorts the indices
        return matrix

    def minus(self, other: "SparseRows", sign: float = -1.0) -> "SparseRows":
        """Return rows A + sign B: for each group the slots of A are followed by those of B, so the groups keep their order."""
        width = np.diff(self.slot)
        order = np.concatenate([self._both(start, stop) for start, stop in zip(self.slot[:-1], self.slot[1:], strict=True)])
        columns = np.hstack([self.columns, other.columns])[:, order]
        values = np.hstack([self.values, sign * other.values])[:, order]
        unseen = None if self.unseen is None or other.unseen is None else self.unseen + sign * other.unseen
        return SparseRows(columns, values, np.concatenate([[0], np.cumsum(2 * width)]), unseen)

    def _both(self, start: int, stop: int) -> Integers:
        """Return the slots ``start:stop`` of these rows, followed by the same slots of rows that are appended to these."""
        own = np.arange(start, stop)
        return np.concatenate([own, own + self.slot[-1]])


@dataclass(frozen=True, eq=False)
class DenseRows(PairRows):
    """Dense rows, whose ``values`` have shape (B, n_columns)."""

    values: Floats

    @property
    def offset(self) -> Floats:
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
