"""Rows of items that are embedded block by block, always into the same buffer, so that the embedding is never stored."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from scipy import sparse

from ..._foundation.types import Floats, Integers
from ..._kernels.csr_rows import Chunk, Ladder
from ..._kernels.difference_penalties import suffix_sum_rows, suffix_sum_widths
from ...embeddings.vectors.base import FeatureMap, dense_rows

__all__ = ["EmbeddedRows"]

_MIN_BUFFER = 1 << 17  # bytes
_MAX_BUFFER = 1 << 25  # bytes
_ITEMS_PER_BUFFER = 8  # the buffer has the bytes of the items, divided by this
_MORE_ROOM = 1.2  # than a block of rows phi needs, for the next ones
_INT32 = np.iinfo(np.int32).max


class EmbeddedRows:
    """The rows of ``items`` under a fitted embedding; memory is one `Chunk`, whatever the number of rows.

    For embeddings with a ladder it is two: rows psi, and while a machine learns the rows phi of the same block.

    Parameters
    ----------
    embedding : FeatureMap
        Fitted.
    items : ndarray or csr_array of shape (n, n_features)
        As `FeatureMap.encode` returns them.
    size : int or None
        Number of rows that are embedded at a time, at least one. None takes as many rows as an eighth of the items' bytes
        holds, but at least 128 KiB and at most 32 MiB. Solvers take several steps on a row while it is embedded, which is worth
        more when there are more rows: with 300 instead of 64 rows, and five sweeps over them instead of one, training on 7,291
        digits took a third of the time.
    """

    def __init__(self, embedding: FeatureMap, items: Floats | sparse.csr_array, size: int | None = None) -> None:
        self.embedding = embedding
        self.items = items
        width = max(embedding.most_nonzeros, 1)
        index = np.dtype(np.int32 if embedding.n_columns_ <= _INT32 else np.int64)
        data = np.dtype(embedding.dtype)
        if size is None:
            size = _buffer_bytes(items) // (width * (index.itemsize + data.itemsize))
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
        """Embed the rows numbered ``rows``, or all rows for None, block by block.

        Yields
        ------
        place : slice
            Where the block is in ``rows``.
        numbers : ndarray of int
            ``rows[place]``: the row numbers in the block.
        chunk : Chunk
            The embedding of these rows, which the next block overwrites.
        """
        for place, numbers in self._numbered(rows):
            yield place, numbers, self._written(dense_rows(self.items, numbers))

    def phi_blocks(self, rows: Integers | None = None) -> Iterator[tuple[slice, Integers, Chunk]]:
        """`blocks` of rows phi: for an embedding with a ladder sums of the rows psi, in a buffer of their own."""
        ladder = self.embedding.ladder
        if ladder is None:
            yield from self.blocks(rows)
            return
        for place, numbers in self._numbered(rows):
            items = dense_rows(self.items, numbers)
            phi = self.embedding.write_phi(items, partial(self._room, len(numbers)))
            yield place, numbers, self._suffix_sums(self._written(items), ladder, len(numbers)) if phi is None else phi

    def _numbered(self, rows: Integers | None) -> Iterator[tuple[slice, Integers]]:
        """The place of every block among ``rows``, and the numbers of its rows."""
        n = len(self) if rows is None else len(rows)
        for start in range(0, n, self.size):
            place = slice(start, min(start + self.size, n))
            yield place, np.arange(place.start, place.stop, dtype=self.index_dtype) if rows is None else rows[place]

    def _written(self, items: Floats) -> Chunk:
        """What the embedding writes of a block of items."""
        chunk = self._chunk._replace(indptr=self._chunk.indptr[: len(items) + 1])
        self.embedding.write(items, chunk)
        return chunk

    def _room(self, n: int, n_entries: int) -> Chunk:
        """Buffers for n rows phi with so many entries; the next call gives the same."""
        if len(self._phi.data) < n_entries:
            room = int(n_entries * _MORE_ROOM)
            self._phi = self._phi._replace(
                indices=np.empty(room, self._phi.indices.dtype), data=np.empty(room, self._phi.data.dtype)
            )
        return self._phi._replace(indptr=np.zeros(n + 1, np.int64))

    def _suffix_sums(self, psi: Chunk, ladder: Ladder, n: int) -> Chunk:
        """phi of the n rows of psi; the next call writes over it."""
        widths = suffix_sum_widths(psi, (0, n), ladder.starts)
        out = self._room(n, int(widths.sum()))
        np.cumsum(widths, out=out.indptr[1:])
        suffix_sum_rows(psi, (0, n), ladder.starts, ladder.order, out)
        return out


def _buffer_bytes(items: Floats | sparse.csr_array) -> int:
    """Bytes of the buffer for these items."""
    n_bytes = items.nbytes if isinstance(items, np.ndarray) else items.data.nbytes + items.indices.nbytes
    return min(max(n_bytes // _ITEMS_PER_BUFFER, _MIN_BUFFER), _MAX_BUFFER)
