"""The design matrix A as an operator that makes its rows block by block, so that a million pairs never exist as a matrix.

A row of A holds the columns of the embedding of one pair, followed by the values of the base distances. Each row may be
multiplied by a scale of its own.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from scipy import sparse

from ..._foundation.threads import map_blocks, thread_count
from ..._foundation.types import Floats, Integers, Pairs
from ..features.linear_directions import Directions, with_directions
from ..pairs.base import Items, PairMap
from ..pairs.rows import PairRows


@dataclass(frozen=True, eq=False)
class Moments:
    """The second moments that least squares needs of the data; the moments of disjoint sets of rows add up."""

    gram: Floats  # (n, n): AᵀSA, where S is diagonal with the weights of the rows
    cross: Floats  # (n,): AᵀSy
    square: float  # yᵀSy
    total: float  # the sum of the weights
    n_rows: int = 1  # the number of rows that were added up, which bounds the rounding

    def __add__(self, other: "Moments") -> "Moments":
        gram, cross = self.gram + other.gram, self.cross + other.cross
        n_rows = self.n_rows + other.n_rows
        return Moments(gram, cross, self.square + other.square, self.total + other.total, n_rows)

    def in_unit(self, unit: float, n_base: int = 0) -> "Moments":
        """Return the moments for targets y / unit; the last ``n_base`` columns are distances, so they are divided by it too."""
        scale = np.append(np.ones(len(self.cross) - n_base), np.full(n_base, 1.0 / unit))
        return replace(
            self, gram=self.gram * np.outer(scale, scale), cross=self.cross * scale / unit, square=self.square / unit**2
        )

    def scattered(self, positions: Integers, n: int) -> "Moments":
        """Return the moments of a matrix with ``n`` columns that has these columns at ``positions`` and zeros elsewhere."""
        gram = np.zeros((n, n))
        gram[np.ix_(positions, positions)] = self.gram
        cross = np.zeros(n)
        cross[positions] = self.cross
        return replace(self, gram=gram, cross=cross)

    def norms(self) -> Floats:
        """Return the weighted norm sqrt(sum_i s_i A_ij²) of every column, shape (n,)."""
        return np.sqrt(np.maximum(np.diag(self.gram), 0.0))

    @property
    def mean(self) -> "Moments":
        """The moments for weights divided by their sum, so that they sum to 1."""
        return Moments(self.gram / self.total, self.cross / self.total, self.square / self.total, 1.0, self.n_rows)


_BLOCK = 1024  # rows made at once
_HELD_ITEMS = 1 << 25  # up to so many values of items are located at once and kept; each takes 12 bytes
_HELD_ENTRIES = 1 << 26  # iterative solvers keep A as a matrix of up to so many entries, 24 bytes each with the transpose


class Design(ABC):
    """A design matrix A of shape (m, n), known through its products with vectors."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """(m, n): the numbers of rows and columns."""

    @abstractmethod
    def matvec(self, w: Floats) -> Floats:
        """Return the product A w for weights ``w`` of shape (n,): shape (m,)."""

    @abstractmethod
    def rmatvec(self, r: Floats) -> Floats:
        """Return the product Aᵀ r for one number ``r`` for each row: shape (n,)."""

    @abstractmethod
    def moments(self, y: Floats, weights: Floats) -> Moments:
        """Return the second moments for targets ``y`` and ``weights``, both of shape (m,); rows of weight 0 are skipped."""

    @abstractmethod
    def csr(self) -> sparse.csr_array:
        """Return the whole matrix A in CSR format, shape (m, n)."""

    @property
    @abstractmethod
    def nonnegative(self) -> bool:
        """True if every entry of A is known to be >= 0; False where that is not known."""

    @property
    @abstractmethod
    def absolute(self) -> "Design":
        """A design of |A|, or of a larger matrix, so that its row and column sums are upper bounds of those of |A|."""

    def held(self) -> "Design":
        """Return the same A, kept as a matrix if that is small enough: solvers that form many products with it need this."""
        return self


@dataclass(frozen=True, eq=False)
class MatrixDesign(Design):
    """A design matrix that is held in memory as a sparse matrix."""

    matrix: sparse.csr_array

    @property
    def shape(self) -> tuple[int, int]:
        return self.matrix.shape

    @cached_property
    def _transpose(self) -> sparse.csr_array:
        return sparse.csr_array(self.matrix.T.tocsr())

    def matvec(self, w: Floats) -> Floats:
        return self.matrix @ w

    def rmatvec(self, r: Floats) -> Floats:
        return self._transpose @ r

    def moments(self, y: Floats, weights: Floats) -> Moments:
        rows = np.flatnonzero(weights)
        A = self.matrix if len(rows) == len(weights) else self.matrix[rows]
        gram = (A.T @ (A * weights[rows, None])).toarray()
        return Moments(gram, self.rmatvec(weights * y), float(weights @ (y * y)), float(weights.sum()), len(weights))

    def csr(self) -> sparse.csr_array:
        return self.matrix

    @cached_property
    def nonnegative(self) -> bool:
        return bool((self.matrix.data >= 0).all())

    @cached_property
    def absolute(self) -> "Design":
        if self.nonnegative:
            return self
        new = MatrixDesign(_absolute(self.matrix))
        new.__dict__["_transpose"] = _absolute(self._transpose)
        return new


def _absolute(matrix: sparse.csr_array) -> sparse.csr_array:
    """Return the absolute values of all entries; the positions are those of ``matrix`` itself, not a copy."""
    return sparse.csr_array((np.abs(matrix.data), matrix.indices, matrix.indptr), shape=matrix.shape)


class RowsDesign(Design):
    """Rows made block by block as they are needed: columns of an embedding, then those of ``base``."""

    embedding: PairMap
    base: Floats | None  # (m, n_base) or None: columns beside those of the embedding: base distances
    scale: Floats | None  # (m,) or None: row multipliers
    n_jobs: int | None  # threads: None is one, -1 all

    @abstractmethod
    def __len__(self) -> int:
        """Return the number m of rows."""

    @abstractmethod
    def rows(self, block: slice | Integers) -> PairRows:
        """Return the columns of the embedding for the rows ``block``, not multiplied by `scale` yet."""

    @property
    def shape(self) -> tuple[int, int]:
        return len(self), self.embedding.n_columns + self._n_base

    @property
    def _n_base(self) -> int:
        return 0 if self.base is None else self.base.shape[1]

    def _map_blocks(self, function: Callable[[slice], object], size: int = _BLOCK) -> list:
        return map_blocks(function, len(self), size=size, n_jobs=self.n_jobs)

    def _scaled(self, block: slice | Integers, values: Floats) -> Floats:
        return values if self.scale is None else values * self.scale[block]

    def matvec(self, w: Floats) -> Floats:
        n = self.embedding.n_columns

        def product(block: slice) -> Floats:
            z = self.rows(block).matvec(w[:n])
            if self.base is not None:
                z = z + self.base[block] @ w[n:]
            return self._scaled(block, z)

        return np.concatenate(self._map_blocks(product))

    def rmatvec(self, r: Floats) -> Floats:
        n = self.embedding.n_columns

        def product(chunk: slice) -> Floats:
            out = np.zeros(n + 1)
            for start in range(chunk.start, chunk.stop, _BLOCK):
                block = slice(start, min(start + _BLOCK, chunk.stop))
                self.rows(block).add_rmatvec(self._scaled(block, r[block]), out)
            return out[:n]

        parts = [np.sum(self._map_blocks(product, size=16 * _BLOCK), axis=0)]
        if self.base is not None:
            parts.append(self.base.T @ (r if self.scale is None else r * self.scale))
        return np.concatenate(parts)

    def moments(self, y: Floats, weights: Floats) -> Moments:
        counted = np.flatnonzero(weights)
        chunk = max(-(-len(counted) // (thread_count(self.n_jobs) * _BLOCK)), 1) * _BLOCK  # one chunk for each thread
        moments_of = partial(self._chunk_moments, counted, y, weights)
        parts = map_blocks(moments_of, max(len(counted), 1), size=chunk, n_jobs=self.n_jobs)
        gram, cross = (np.sum(part, axis=0) for part in zip(*parts, strict=True))
        return Moments(gram, cross, float(weights @ (y * y)), float(weights.sum()), len(weights))

    def _chunk_moments(self, counted: Integers, y: Floats, weights: Floats, chunk: slice) -> tuple[Floats, Floats]:
        """Return AᵀSA and AᵀSy of the rows ``counted[chunk]``.

        The columns of the embedding (of E) and those of the base distances (of B) are summed apart, as the blocks EᵀSE, BᵀSE
        and BᵀSB of AᵀSA. The kernels need one further, unused entry for vertices that have no column.
        """
        n = self.embedding.n_columns
        n_base = self._n_base
        embedding_gram = np.zeros((n + 1, n + 1))
        mixed_gram = np.zeros((n_base, n + 1))
        base_gram = np.zeros((n_base, n_base))
        embedding_cross = np.zeros(n + 1)
        base_cross = np.zeros(n_base)
        for start in range(chunk.start, min(chunk.stop, len(counted)), _BLOCK):
            block = counted[start : min(start + _BLOCK, chunk.stop)]
            rows = self.rows(block)
            weight = self._scaled(block, self._scaled(block, weights[block]))
            target = self._scaled(block, weights[block] * y[block])
            rows.add_gram(weight, embedding_gram)
            rows.add_rmatvec(target, embedding_cross)
            if self.base is None:
                continue
            base = self.base[block]
            for b in range(n_base):
                rows.add_rmatvec(weight * base[:, b], mixed_gram[b])
            base_gram += base.T @ (weight[:, None] * base)
            base_cross += base.T @ target
        lower = embedding_gram[:n, :n]
        mixed = mixed_gram[:, :n]
        gram = np.block([[np.tril(lower) + np.tril(lower, -1).T, mixed.T], [mixed, base_gram]])
        return gram, np.concatenate([embedding_cross[:n], base_cross])

    def csr(self) -> sparse.csr_array:
        n = self.embedding.n_columns
        matrix = sparse.vstack(self._map_blocks(lambda block: self.rows(block).csr(n)), format="csr")
        if self.base is not None:
            matrix = sparse.hstack([matrix, sparse.csr_array(self.base)], format="csr")
        if self.scale is not None:
            matrix = sparse.diags_array(self.scale) @ matrix
        return sparse.csr_array(matrix)

    def held(self) -> Design:
        first = self.rows(slice(0, min(64, len(self)))).csr(self.embedding.n_columns)
        n_entries = first.nnz / first.shape[0] * len(self)
        if n_entries > _HELD_ENTRIES:
            return self
        matrix = self.csr()
        matrix.sum_duplicates()  # sorts the entries now: SciPy would in some later product, and the next would round anew
        return MatrixDesign(matrix)


@dataclass(frozen=True, eq=False)
class PairDesign(RowsDesign):
    """The design matrix of pairs: one row for each pair, made when it is needed."""

    embedding: PairMap  # the embedding that makes the first columns
    pairs: Pairs  # the m pairs, over raw items
    # linear features that are appended to the raw features before the items are located on the grid
    directions: Directions | None = None
    base: Floats | None = None  # (m, n_base) or None: the last columns: the values of the base distances
    scale: Floats | None = None  # (m,) or None: the number that each row is multiplied by, for relative losses; None is 1
    n_jobs: int | None = None  # the number of threads

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def nonnegative(self) -> bool:
        return all(part is None or bool((part >= 0).all()) for part in (self.base, self.scale))

    @property
    def absolute(self) -> "PairDesign":
        if self.nonnegative:
            return self
        base = None if self.base is None else np.abs(self.base)
        scale = None if self.scale is None else np.abs(self.scale)
        return self.like(self.pairs, base, scale)

    def like(self, pairs: Pairs, base: Floats | None = None, scale: Floats | None = None) -> "PairDesign":
        """Return the design matrix of other ``pairs`` of the same items, which are not located again."""
        new = PairDesign(self.embedding, pairs, self.directions, base, scale, self.n_jobs)
        if self._located is not None:
            new.__dict__["_located"] = self._located
        return new

    def take(self, rows: Integers) -> "PairDesign":
        """Return the design matrix of some of the pairs."""
        base = None if self.base is None else self.base[rows]
        scale = None if self.scale is None else self.scale[rows]
        return self.like(self.pairs.take(rows), base, scale)

    def _locate(self, items: Floats) -> Items:
        return self.embedding.locate(with_directions(self.directions, items))

    @cached_property
    def _located(self) -> Items | None:
        """All items on the grid, if they are few enough and pairs share them; None if each block is to locate its own."""
        n_items = len(self.pairs.items)
        shared = n_items < 2 * len(self.pairs)
        fits = n_items * self.embedding.grid.n_features <= _HELD_ITEMS
        return self._locate(self.pairs.items) if shared and fits else None

    def rows(self, block: slice | Integers) -> PairRows:
        left, right = self.pairs.left[block], self.pairs.right[block]
        if self._located is not None:
            return self.embedding.rows(self._located, left, self._located, right)
        both = self._locate(self.pairs.items[np.concatenate([left, right])])
        k = len(left)
        return self.embedding.rows(both, np.arange(k), both, np.arange(k, 2 * k))
