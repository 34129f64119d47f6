"""The design matrix of comparisons, A = A_near - A_far, for d_near + margin <= d_far (Weinberger & Saul 2009).

With targets y = -margin the residual A w - y is margin + d_near - d_far: it is > 0 where a comparison violates its margin. The
theory is in docs/mathematics.md, section 3.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..._foundation.errors import InputError
from ..._foundation.threads import blocks, map_blocks, thread_count
from ..._foundation.types import Floats, Integers, RelativeComparisons
from ..features.linear_directions import Directions
from ..pairs.base import Items, PairMap
from ..pairs.rows import DenseRows, PairRows
from .design_matrix import Design, Moments, PairDesign, RowsDesign


@dataclass(frozen=True, eq=False)
class ComparisonDesign(RowsDesign):
    """The rows A_near + sign A_far over the same items, made block by block as they are needed."""

    near: PairDesign  # the design matrices of m near pairs and of m far pairs, with the same embedding
    far: PairDesign
    sign: float = -1.0
    scale: Floats | None = None  # (m,) or None: the number that each row is multiplied by; None is 1
    embedding: PairMap = field(init=False)
    base: Floats | None = field(init=False)
    n_jobs: int | None = field(init=False)

    def __post_init__(self) -> None:
        if self.near.shape != self.far.shape or self.near.scale is not None or self.far.scale is not None:
            raise InputError(
                f"near has shape {self.near.shape} and far {self.far.shape}; the same shape is required, and multipliers of "
                "rows of the difference only: give scale= here"
            )
        near, far = self.near.base, self.far.base
        object.__setattr__(self, "embedding", self.near.embedding)
        object.__setattr__(self, "base", None if near is None or far is None else near + self.sign * far)
        object.__setattr__(self, "n_jobs", self.near.n_jobs)

    @classmethod
    def of(
        cls, embedding: PairMap, tuples: RelativeComparisons, directions: Directions | None = None, n_jobs: int | None = None
    ) -> "ComparisonDesign":
        """Return the design matrix of triplets or quadruplets, whose items are located on the grid only once."""
        near = PairDesign(embedding, tuples.near, directions, n_jobs=n_jobs)
        return cls(near, near.like(tuples.far))

    def __len__(self) -> int:
        return len(self.near)

    def rows(self, block: slice | Integers) -> PairRows:
        return self.near.rows(block).minus(self.far.rows(block), self.sign)

    def take(self, rows: Integers) -> "ComparisonDesign":
        """Return the design matrix of some of the comparisons."""
        scale = None if self.scale is None else self.scale[rows]
        return replace(self, near=self.near.take(rows), far=self.far.take(rows), scale=scale)

    @property
    def nonnegative(self) -> bool:
        return self.sign >= 0 and self.near.nonnegative and self.far.nonnegative and self.scale is None

    @property
    def absolute(self) -> Design:
        """The rows |A_near| + |sign| |A_far|, which are no smaller than |A|."""
        scale = None if self.scale is None else abs(self.scale)
        return ComparisonDesign(self.near.absolute, self.far.absolute, abs(self.sign), scale)


_BLOCK = 4096  # pairs whose rows are made at once
_DENSE = 0.25  # the share of entries that are not 0 from which products of dense rows are the faster ones

Matrix: TypeAlias = Floats | sparse.csr_array


def pair_rows(embedding: PairMap, items: Items, left: Integers, right: Integers) -> Matrix:
    """Return the rows of A for pairs of located items, shape (n_pairs, n): dense if few entries are 0, else CSR."""
    if not len(left):
        return np.zeros((0, embedding.n_columns))
    parts = [embedding.rows(items, left[b], items, right[b]) for b in blocks(len(left), _BLOCK)]
    dense = [part.values for part in parts if isinstance(part, DenseRows)]
    if len(dense) == len(parts):
        return np.concatenate(dense)
    packed = [part.csr(embedding.n_columns) for part in parts]
    if sum(part.nnz for part in packed) > _DENSE * len(left) * embedding.n_columns:
        return np.concatenate([part.toarray() for part in packed])
    return sparse.csr_array(sparse.vstack(packed, format="csr"))


@dataclass(frozen=True, eq=False)
class TripletDesign(Design):
    """The product Z A, for rows A of pairs that are held in memory: in a neighbourhood near and far pairs are shared.

    The sparse matrix Z has in every row +1 at the near pair and -1 at the far pair. An item with k near and l far pairs has
    k l comparisons but only k + l pairs, so products and second moments cost what the pairs cost:
    (Z A)ᵀ S (Z A) = Aᵀ (Zᵀ S Z) A.
    """

    pairs: Matrix  # (n_pairs, n): the matrix A, with entries >= 0
    combine: sparse.csr_array  # (m, n_pairs): the matrix Z
    n_jobs: int | None = None  # the number of threads that compute second moments

    @classmethod
    def of_triplets(cls, pairs: Matrix, near: Integers, far: Integers, n_jobs: int | None = None) -> "TripletDesign":
        """Return the design with the m rows A[near] - A[far], for numbers ``near`` and ``far`` of pairs, each of shape (m,)."""
        m = len(near)
        values = np.concatenate([np.ones(m), -np.ones(m)])
        positions = (np.tile(np.arange(m), 2), np.concatenate([near, far]))
        return cls(pairs, sparse.csr_array((values, positions), shape=(m, pairs.shape[0])), n_jobs)

    @property
    def shape(self) -> tuple[int, int]:
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
        pair_gram = sparse.csr_array(Z.T @ (Z * weights[counted, None]))  # Zᵀ S Z
        used: NDArray[Any] = np.flatnonzero(np.diff(pair_gram.indptr))
        pair_gram = sparse.csr_array(pair_gram[used][:, used])
        A = self.pairs[used]

        def product(chunk: slice) -> Floats:
            part = A[chunk].T @ (pair_gram[chunk] @ A)
            return np.asarray(part.toarray() if sparse.issparse(part) else part)

        size = max(-(-len(used) // thread_count(self.n_jobs)), 1)
        parts = map_blocks(product, len(used), size=size, n_jobs=self.n_jobs)
        gram = np.zeros((self.shape[1],) * 2) + np.sum(parts, axis=0)  # without any row, np.sum gives the number 0
        n_rows = len(weights)
        return Moments((gram + gram.T) / 2, self.rmatvec(weights * y), float(weights @ (y * y)), float(weights.sum()), n_rows)

    def csr(self) -> sparse.csr_array:
        return sparse.csr_array(self.combine @ sparse.csr_array(self.pairs))

    @property
    def nonnegative(self) -> bool:
        return bool((self.combine.data >= 0).all())

    @property
    def absolute(self) -> Design:
        return self if self.nonnegative else TripletDesign(self.pairs, abs(self.combine), self.n_jobs)

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (self.pairs, self.combine, self.n_jobs)


def _unpickled(pairs: Matrix, combine: sparse.csr_array, n_jobs: int | None) -> TripletDesign:
    """Restore a design in another process, with the rows of pairs at an aligned address.

    NumPy multiplies an array that is not aligned without BLAS, which would round the products differently.
    """
    aligned = pairs if sparse.issparse(pairs) else np.require(pairs, requirements="A")
    return TripletDesign(aligned, combine, n_jobs)
