"""Axioms as explicit rows on the weights, for embeddings whose columns do not impose them.

With tied columns and no column on the diagonal both hold by construction and their rows are dropped; the tests solve both
ways and demand the same distances.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from .._foundation.errors import NotSupportedError
from ..embeddings.pairs.full_tables import PairEmbedding

__all__ = ["Constraint", "Symmetry", "ZeroDiagonal", "equality_rows"]


class Constraint(ABC):
    """Linear equalities E w = 0 on the columns of a pair embedding."""

    @abstractmethod
    def holds_by_construction(self, embedding: PairEmbedding) -> bool:
        """Whether the columns impose it already."""

    @abstractmethod
    def rows(self, embedding: PairEmbedding) -> sparse.csr_array:
        """E, shape (k, n_columns)."""


def _vertex_columns(embedding: PairEmbedding) -> list[np.ndarray]:
    """Column of (a, b) for each group, shape (C, C); n_columns where there is none."""
    if not embedding.whole:
        raise NotSupportedError('explicit axioms need whole tables; use symmetry="tie"')
    return [t.values.astype(np.int64) for t in embedding.tables(np.arange(1.0, embedding.n_columns + 1))]


@dataclass(frozen=True)
class Symmetry(Constraint):
    """w_ab - w_ba = 0."""

    def holds_by_construction(self, embedding: PairEmbedding) -> bool:
        return embedding.symmetric

    def rows(self, embedding: PairEmbedding) -> sparse.csr_array:
        pairs = [(c[a, b] - 1, c[b, a] - 1) for c in _vertex_columns(embedding) for a in range(len(c)) for b in range(a)]
        left, right = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        k = np.arange(len(left))
        values = np.concatenate([np.ones(len(k)), -np.ones(len(k))])
        entries = (values, (np.concatenate([k, k]), np.concatenate([left, right])))
        return sparse.csr_array(entries, shape=(len(k), embedding.n_columns))


@dataclass(frozen=True)
class ZeroDiagonal(Constraint):
    """w_aa = 0."""

    def holds_by_construction(self, embedding: PairEmbedding) -> bool:
        return embedding.zero_diagonal

    def rows(self, embedding: PairEmbedding) -> sparse.csr_array:
        columns = np.concatenate([np.diag(c) for c in _vertex_columns(embedding)]) - 1
        k = np.arange(len(columns))
        return sparse.csr_array((np.ones(len(k)), (k, columns)), shape=(len(k), embedding.n_columns))


def equality_rows(constraints: Sequence[Constraint], embedding: PairEmbedding) -> sparse.csr_array | None:
    """The rows of the constraints that do not hold by construction, or None."""
    parts = [c.rows(embedding) for c in constraints if not c.holds_by_construction(embedding)]
    return sparse.csr_array(sparse.vstack(parts, format="csr")) if parts else None
