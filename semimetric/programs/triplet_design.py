"""Rows that are combinations of a few shared pairs: the triplets of a neighbourhood compare every near pair with every far one.

    rows = Z A,      A one row a pair, held;  Z sparse, +1 at the near pair and -1 at the far one

An item with k near and l far pairs has k l comparisons but k + l pairs, so products and second moments cost what the pairs do:
(Z A)ᵀ S (Z A) = Aᵀ (Zᵀ S Z) A.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from scipy import sparse

from .._foundation.threads import blocks, map_blocks
from .._foundation.types import Floats, Integers
from ..embeddings.pairs.base import Items, PairMap
from ..embeddings.pairs.rows import DenseRows
from .design_matrix import Design, Moments

__all__ = ["TripletDesign", "pair_rows"]

_BLOCK = 4096

Matrix: TypeAlias = Floats | sparse.csr_array


def pair_rows(embedding: PairMap, items: Items, left: Integers, right: Integers) -> Matrix:
    """Rows of A for pairs of located items: dense where the embedding makes dense rows, else CSR."""
    if not len(left):
        return np.zeros((0, embedding.n_columns))
    parts = [embedding.rows(items, left[b], items, right[b]) for b in blocks(len(left), _BLOCK)]
    if all(isinstance(part, DenseRows) for part in parts):
        return np.concatenate([part.values for part in parts])  # type: ignore[attr-defined]
    return sparse.csr_array(sparse.vstack([part.csr(embedding.n_columns) for part in parts], format="csr"))


@dataclass(frozen=True, eq=False)
class TripletDesign(Design):
    """Z A for pair rows that are held.

    Parameters
    ----------
    pairs : ndarray or sparse array of shape (n_pairs, n)
        A, >= 0.
    combine : sparse array of shape (m, n_pairs)
        Z.
    n_jobs : int or None
        Threads of second moments.
    """

    pairs: Matrix
    combine: sparse.csr_array
    n_jobs: int | None = None

    @classmethod
    def of_triplets(cls, pairs: Matrix, near: Integers, far: Integers, n_jobs: int | None = None) -> "TripletDesign":
        """The rows A[near] - A[far]."""
        m = len(near)
        entries = (np.concatenate([np.ones(m), -np.ones(m)]), (np.tile(np.arange(m), 2), np.concatenate([near, far])))
        return cls(pairs, sparse.csr_array(entries, shape=(m, pairs.shape[0])), n_jobs)

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        return self.combine.shape[0], self.pairs.shape[1]

    @cached_property
    def _transposed(self) -> sparse.csr_array:
        return sparse.csr_array(self.combine.T.tocsr())

    def matvec(self, w: Floats) -> Floats:
        return self.combine @ (self.pairs @ w)

    def rmatvec(self, r: Floats) -> Floats:
        return self.pairs.T @ (self._transposed @ r)

    def moments(self, y: Floats, weights: Floats) -> Moments:
        counted = np.flatnonzero(weights)
        Z = self.combine[counted]
        mixed = sparse.csr_array(Z.T @ (Z * weights[counted, None]))
        used: NDArray = np.flatnonzero(np.diff(mixed.indptr))
        A, mixed = self.pairs[used], sparse.csr_array(mixed[used][:, used])

        def product(chunk: slice) -> Floats:
            gram = A[chunk].T @ (mixed[chunk] @ A)
            return np.asarray(gram.toarray() if sparse.issparse(gram) else gram)

        size = max(-(-len(used) // effective_n_jobs(self.n_jobs)), 1)
        dense = np.sum(map_blocks(product, len(used), size=size, n_jobs=self.n_jobs), axis=0)
        dense = np.zeros((self.shape[1],) * 2) + dense  # also where no row counts
        return Moments((dense + dense.T) / 2, self.rmatvec(weights * y), float(weights @ (y * y)), float(weights.sum()))

    def csr(self) -> sparse.csr_array:
        return sparse.csr_array(self.combine @ sparse.csr_array(self.pairs))

    @property
    def nonnegative(self) -> bool:
        return bool((self.combine.data >= 0).all())

    @property
    def absolute(self) -> Design:
        return self if self.nonnegative else TripletDesign(self.pairs, abs(self.combine), self.n_jobs)

    def held(self) -> Design:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _received, (self.pairs, self.combine, self.n_jobs)


def _received(pairs: Matrix, combine: sparse.csr_array, n_jobs: int | None) -> TripletDesign:
    """A design out of a message: at an odd address NumPy would not leave the rows to BLAS, and would round them otherwise."""
    even = pairs if sparse.issparse(pairs) else np.require(pairs, requirements="A")
    return TripletDesign(even, combine, n_jobs)
