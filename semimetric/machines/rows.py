"""Rows of items, embedded block by block into buffers that are used again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from .._types import Floats, Integers
from ..embeddings.maps import Chunk, FeatureMap, dense_rows

__all__ = ["EmbeddedRows", "take"]

_BYTES = 1 << 20  # of buffers: what a cache holds
_FEWEST = 1 << 17  # of buffers: blocks of a few rows cost more calls than work
_INT32 = np.iinfo(np.int32).max


class EmbeddedRows:
    """The rows of ``items`` under a fitted embedding; memory is one `Chunk`, whatever their number.

    Parameters
    ----------
    embedding : FeatureMap
    items : ndarray or csr_array of shape (n, n_features)
        As `FeatureMap.encode` returns them.
    room : int
        Bytes of the machine: buffers have a quarter of it, at least 128 KiB and at most 1 MiB; one row is always held.
    """

    def __init__(self, embedding: FeatureMap, items: Floats | sparse.csr_array, room: int = 4 * _BYTES) -> None:
        self.embedding, self.items = embedding, items
        width = max(embedding.most_nonzeros, 1)
        index = np.dtype(np.int32 if embedding.n_columns_ <= _INT32 else np.int64)
        data = np.dtype(embedding.dtype)
        bytes_a_row = width * (index.itemsize + data.itemsize)
        self.size = max(1, min(min(max(room // 4, _FEWEST), _BYTES) // bytes_a_row, len(self)))
        self._chunk = Chunk(
            np.zeros(self.size + 1, np.int64), np.empty(self.size * width, index), np.empty(self.size * width, data)
        )

    def __len__(self) -> int:
        return self.items.shape[0]

    def blocks(self, rows: Integers) -> Iterator[tuple[slice, Integers, Chunk]]:
        """Places in ``rows``, the rows there, and their embedding, which the next block overwrites."""
        for start in range(0, len(rows), self.size):
            part = rows[start : start + self.size]
            chunk = self._chunk._replace(indptr=self._chunk.indptr[: len(part) + 1])
            self.embedding.write(dense_rows(self.items, part), chunk)
            yield slice(start, start + len(part)), part, chunk


def take(X: Any, rows: np.ndarray) -> Any:
    """Rows of an array, a frame, a sparse matrix or a list of rows."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if sparse.issparse(X):
        return X.tocsr()[rows]
    return X[rows] if hasattr(X, "shape") else np.asarray(X)[rows]
