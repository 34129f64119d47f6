"""The features themselves as an embedding: the linear machine that every other embedding is compared with."""

from typing import Any

import numpy as np
from scipy import sparse

from ..._foundation.types import ArrayLike, Floats
from .base import Chunk, FeatureMap, Term

__all__ = ["IdentityEmbedding"]


class IdentityEmbedding(FeatureMap):
    """phi(x) = x, without its zeros; takes sparse rows.

    Parameters
    ----------
    dtype : float64 or float32
    n_jobs : int or None, default None
        Threads.
    """

    zero_preserving = True

    def __init__(self, *, dtype: Any = np.float64, n_jobs: int | None = None) -> None:
        self.dtype = dtype
        self.n_jobs = n_jobs

    def _fit(self, items: Floats | sparse.csr_array, y: ArrayLike | None) -> None:
        self.n_columns_ = items.shape[1]
        self.terms_ = tuple(Term((k,), k, k + 1) for k in range(self.n_columns_))

    @property
    def most_nonzeros(self) -> int:
        return self.n_columns_

    @property
    def names(self) -> list[str]:
        return self.feature_names

    def write(self, items: Floats, out: Chunk) -> None:
        rows, columns = np.nonzero(items)
        out.indptr[0] = 0
        np.cumsum(np.bincount(rows, minlength=len(items)), out=out.indptr[1:])
        out.indices[: len(columns)] = columns
        out.data[: len(columns)] = items[rows, columns]
