"""The design matrix A as an operator over blocks of rows: a million pairs never exist as a matrix.

Rows are those of the pair map followed by the base distances, each multiplied by its row's scale.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from scipy import sparse

from .._foundation.threads import map_blocks
from .._foundation.types import Floats, Integers, Pairs
from ..embeddings.directions.linear_directions import Directions
from ..embeddings.pairs.base import Items, PairMap
from ..embeddings.pairs.rows import PairRows

__all__ = ["Design", "MatrixDesign", "Moments", "PairDesign", "RowsDesign"]

_BLOCK = 1024
_HELD_ITEMS = 1 << 25  # values located at once and kept, 12 bytes each
_HELD_ENTRIES = 1 << 26  # entries of A kept as a matrix by iterative solvers, 24 bytes each with its transpose


@dataclass(frozen=True, eq=False)
class Moments:
    """What least squares needs of the data: AᵀSA, AᵀSy, yᵀSy and the total weight. Moments of parts add up."""

    gram: Floats
    cross: Floats
    square: float
    total: float

    def __add__(self, other: "Moments") -> "Moments":
        return Moments(
            self.gram + other.gram, self.cross + other.cross, self.square + other.square, self.total + other.total
        )  # fmt: skip

    def in_unit(self, unit: float, n_base: int = 0) -> "Moments":
        """The moments of y / unit, where the last ``n_base`` columns are distances and are divided by it too."""
        scale = np.append(np.ones(len(self.cross) - n_base), np.full(n_base, 1.0 / unit))
        return Moments(self.gram * np.outer(scale, scale), self.cross * scale / unit, self.square / unit**2, self.total)

    def scattered(self, positions: Integers, n: int) -> "Moments":
        """The same moments among ``n`` columns, those at other positions than ``positions`` being 0."""
        gram, cross = np.zeros((n, n)), np.zeros(n)
        gram[np.ix_(positions, positions)], cross[positions] = self.gram, self.cross
        return Moments(gram, cross, self.square, self.total)

    def norms(self) -> Floats:
        """sqrt(sum_i s_i A_ij²), shape (n,)."""
        return np.sqrt(np.maximum(np.diag(self.gram), 0.0))

    @property
    def mean(self) -> "Moments":
        """The moments for weights that sum to 1."""
        return Moments(self.gram / self.total, self.cross / self.total, self.square / self.total, 1.0)


class Design(ABC):
    """A of shape (m, n) through its products.

    Attributes
    ----------
    shape : tuple of int
        (m, n).
    """

    shape: tuple[int, int]

    @abstractmethod
    def matvec(self, w: Floats) -> Floats:
        """A w, shape (m,)."""

    @abstractmethod
    def rmatvec(self, r: Floats) -> Floats:
        """Aᵀ r, shape (n,)."""

    @abstractmethod
    def moments(self, y: Floats, weights: Floats) -> Moments:
        """Second moments in one pass over the rows; rows of weight 0 are skipped."""

    @abstractmethod
    def csr(self) -> sparse.csr_array:
        """A as a matrix."""

    @property
    @abstractmethod
    def nonnegative(self) -> bool:
        """Whether no entry of A is below 0; False where nobody knows."""

    @property
    @abstractmethod
    def absolute(self) -> "Design":
        """A design of |A|, or of something larger: its row and column sums bound those of |A|."""

    @abstractmethod
    def held(self) -> "Design":
        """The same A, kept as a matrix if that is small enough: for solvers that pass over it many times."""


@dataclass(frozen=True, eq=False)
class MatrixDesign(Design):
    """A sparse matrix that exists."""

    matrix: sparse.csr_array

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
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
        return Moments(gram, self.rmatvec(weights * y), float(weights @ (y * y)), float(weights.sum()))

    def csr(self) -> sparse.csr_array:
        return self.matrix

    @property
    def nonnegative(self) -> bool:
        return bool((self.matrix.data >= 0).all())

    @property
    def absolute(self) -> "Design":
        return self if self.nonnegative else MatrixDesign(abs(self.matrix))

    def held(self) -> "Design":
        return self


class RowsDesign(Design):
    """Rows made block by block as they are needed: columns of an embedding, then those of ``base``.

    Attributes
    ----------
    embedding : PairMap
    base : ndarray of shape (m, n_base) or None
        Columns beside those of the embedding: base distances.
    scale : ndarray of shape (m,) or None
        Row multipliers.
    n_jobs : int or None
        Threads: None is one, -1 all.
    """

    embedding: PairMap
    base: Floats | None
    scale: Floats | None
    n_jobs: int | None

    @abstractmethod
    def __len__(self) -> int:
        """Number of rows."""

    @abstractmethod
    def rows(self, block: slice | Integers) -> PairRows:
        """Some rows of the columns of the embedding, not yet scaled."""

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        return len(self), self.embedding.n_columns + self._n_base

    @property
    def _n_base(self) -> int:
        return 0 if self.base is None else self.base.shape[1]

    def _each(self, function: Callable[[slice], object], size: int = _BLOCK) -> list:
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

        return np.concatenate(self._each(product))

    def rmatvec(self, r: Floats) -> Floats:
        n = self.embedding.n_columns

        def product(chunk: slice) -> Floats:
            out = np.zeros(n + 1)
            for start in range(chunk.start, chunk.stop, _BLOCK):
                block = slice(start, min(start + _BLOCK, chunk.stop))
                self.rows(block).add_rmatvec(self._scaled(block, r[block]), out)
            return out[:n]

        parts = [np.sum(self._each(product, size=16 * _BLOCK), axis=0)]
        if self.base is not None:
            parts.append(self.base.T @ (r if self.scale is None else r * self.scale))
        return np.concatenate(parts)

    def moments(self, y: Floats, weights: Floats) -> Moments:
        from joblib import effective_n_jobs  # noqa: PLC0415

        jobs = effective_n_jobs(self.n_jobs)
        counted = np.flatnonzero(weights)
        chunk = max(-(-len(counted) // (jobs * _BLOCK)), 1) * _BLOCK  # one accumulator a thread
        call = partial(self._chunk_moments, counted, y, weights)
        parts = map_blocks(call, max(len(counted), 1), size=chunk, n_jobs=self.n_jobs)
        gram, cross = (np.sum(part, axis=0) for part in zip(*parts, strict=True))
        return Moments(gram, cross, float(weights @ (y * y)), float(weights.sum()))

    def _chunk_moments(self, counted: Integers, y: Floats, weights: Floats, chunk: slice) -> tuple[Floats, Floats]:
        n, width = self.embedding.n_columns, self.shape[1]
        gram, cross = np.zeros((n + 1, n + 1)), np.zeros(n + 1)
        border, corner, tail = np.zeros((width - n, n + 1)), np.zeros((width - n,) * 2), np.zeros(width - n)
        for start in range(chunk.start, min(chunk.stop, len(counted)), _BLOCK):
            block = counted[start : min(start + _BLOCK, chunk.stop)]
            rows, s = self.rows(block), self._scaled(block, self._scaled(block, weights[block]))
            target = self._scaled(block, weights[block] * y[block])
            rows.add_gram(s, gram)
            rows.add_rmatvec(target, cross)
            if self.base is None:
                continue
            extra = self.base[block]
            for b in range(width - n):
                rows.add_rmatvec(s * extra[:, b], border[b])
            corner += extra.T @ (s[:, None] * extra)
            tail += extra.T @ target
        full = np.zeros((width, width))
        full[:n, :n] = np.tril(gram[:n, :n]) + np.tril(gram[:n, :n], -1).T
        full[n:, :n], full[:n, n:], full[n:, n:] = border[:, :n], border[:, :n].T, corner
        return full, np.concatenate([cross[:n], tail])

    def csr(self) -> sparse.csr_array:
        n = self.embedding.n_columns
        matrix = sparse.vstack(self._each(lambda block: self.rows(block).csr(n)), format="csr")
        if self.base is not None:
            matrix = sparse.hstack([matrix, sparse.csr_array(self.base)], format="csr")
        if self.scale is not None:
            matrix = sparse.diags_array(self.scale) @ matrix
        return sparse.csr_array(matrix)

    def held(self) -> Design:
        probe = self.rows(slice(0, min(64, len(self)))).csr(self.embedding.n_columns)
        entries = probe.nnz / probe.shape[0] * len(self)
        if entries > _HELD_ENTRIES:
            return self
        matrix = self.csr()
        matrix.sum_duplicates()  # now: SciPy would sort it in the first product that needs it, and the next would round anew
        return MatrixDesign(matrix)


@dataclass(frozen=True, eq=False)
class PairDesign(RowsDesign):
    """Rows of a pair map, made block by block as they are needed.

    Parameters
    ----------
    embedding : PairMap
    pairs : Pairs
        Over raw items.
    directions : Directions or None
    base : ndarray of shape (m, n_base) or None
        Values of the base distances, the last columns.
    scale : ndarray of shape (m,) or None
        Row multipliers (relative losses).
    n_jobs : int or None
        Threads.
    """

    embedding: PairMap
    pairs: Pairs
    directions: Directions | None = None
    base: Floats | None = None
    scale: Floats | None = None
    n_jobs: int | None = None

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def nonnegative(self) -> bool:
        return all(part is None or bool((part >= 0).all()) for part in (self.base, self.scale))

    @property
    def absolute(self) -> Design:
        if self.nonnegative:
            return self
        base, scale = (None if part is None else np.abs(part) for part in (self.base, self.scale))
        return self.like(self.pairs, base, scale)

    def like(self, pairs: Pairs, base: Floats | None = None, scale: Floats | None = None) -> "PairDesign":
        """The same embedding of other pairs of the same items, which are not located again."""
        new = PairDesign(self.embedding, pairs, self.directions, base, scale, self.n_jobs)
        if self._located is not None:
            new.__dict__["_located"] = self._located
        return new

    def take(self, rows: Integers) -> "PairDesign":
        """The design of some of the pairs."""
        base = None if self.base is None else self.base[rows]
        scale = None if self.scale is None else self.scale[rows]
        return self.like(self.pairs.take(rows), base, scale)

    def _locate(self, items: Floats) -> Items:
        return self.embedding.locate(self.directions.append(items) if self.directions else items)

    @cached_property
    def _located(self) -> Items | None:
        """All items at once where that is small and they are shared, else None: then each block locates its own."""
        n_items = len(self.pairs.items)
        shared = n_items < 2 * len(self.pairs)
        return self._locate(self.pairs.items) if shared and n_items * self.embedding.grid.n_features <= _HELD_ITEMS else None

    def rows(self, block: slice | Integers) -> PairRows:
        left, right = self.pairs.left[block], self.pairs.right[block]
        if self._located is not None:
            return self.embedding.rows(self._located, left, self._located, right)
        both = self._locate(self.pairs.items[np.concatenate([left, right])])
        k = len(left)
        return self.embedding.rows(both, np.arange(k), both, np.arange(k, 2 * k))
