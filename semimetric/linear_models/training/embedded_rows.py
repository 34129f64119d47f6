"""Rows of items, embedded block by block into buffers that are used again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from ..._foundation.types import Floats, Integers
from ...embeddings.vectors.base import Chunk, FeatureMap, dense_rows

__all__ = ["EmbeddedRows", "take"]

_FEWEST, _MOST = 1 << 17, 1 << 25  # bytes of buffers
_SHARE = 8  # buffers are this part of the items
_INT32 = np.iinfo(np.int32).max


class EmbeddedRows:
    """The rows of ``items`` under a fitted embedding; memory is one `Chunk`, whatever their number.

    Parameters
    ----------
    embedding : FeatureMap
    items : ndarray or csr_array of shape (n, n_features)
        As `FeatureMap.encode` returns them.
    size : int or None
        Rows that are embedded at a time, one at least; None is as many as an eighth of the items' bytes holds, 128 KiB at least
        and 32 MiB at most. Machines take several steps on a row while it is embedded, which is worth more over more rows: with
        300 rows for 64, and five sweeps over them for one, a machine on 7,291 digits took a third of the time.
    """

    def __init__(self, embedding: FeatureMap, items: Floats | sparse.csr_array, size: int | None = None) -> None:
        self.embedding, self.items = embedding, items
        width = max(embedding.most_nonzeros, 1)
        index = np.dtype(np.int32 if embedding.n_columns_ <= _INT32 else np.int64)
        data = np.dtype(embedding.dtype)
        room = min(max(_bytes(items) // _SHARE, _FEWEST), _MOST)
        most = room // (width * (index.itemsize + data.itemsize)) if size is None else size
        self.size = max(1, min(most, len(self)))
        self._chunk = Chunk(
            np.zeros(self.size + 1, np.int64), np.empty(self.size * width, index), np.empty(self.size * width, data)
        )

    def __len__(self) -> int:
        return self.items.shape[0]

    @property
    def numbers(self) -> type[np.signedinteger]:
        """The type that the rows are numbered in."""
        return np.int32 if len(self) <= _INT32 else np.int64

    def blocks(self, rows: Integers | None = None) -> Iterator[tuple[slice, Integers, Chunk]]:
        """Places in ``rows``, the rows there, and their embedding, which the next block overwrites; None is all rows."""
        n = len(self) if rows is None else len(rows)
        for start in range(0, n, self.size):
            stop = min(start + self.size, n)
            part = np.arange(start, stop, dtype=self.numbers) if rows is None else rows[start:stop]
            chunk = self._chunk._replace(indptr=self._chunk.indptr[: len(part) + 1])
            self.embedding.write(dense_rows(self.items, part), chunk)
            yield slice(start, start + len(part)), part, chunk


def _bytes(items: Floats | sparse.csr_array) -> int:
    return items.nbytes if isinstance(items, np.ndarray) else items.data.nbytes + items.indices.nbytes


def take(X: Any, rows: np.ndarray) -> Any:
    """Rows of an array, a frame, a sparse matrix or a list of rows."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if sparse.issparse(X):
        return X.tocsr()[rows]
    return X[rows] if hasattr(X, "shape") else np.asarray(X)[rows]
