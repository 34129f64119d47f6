"""The features themselves as an embedding, for a linear model with which all other embeddings are compared."""

from typing import Any

import numpy as np
from scipy import sparse

from ..._foundation.stored import storable
from ..._foundation.types import ArrayLike, Floats
from ..._kernels.csr_rows import Chunk
from .base import FeatureMap, Term


@storable
class IdentityEmbedding(FeatureMap):
    """phi(x) = x, as sparse rows; X may be sparse too.

    Parameters
    ----------
    dtype : float64 or float32
        The dtype of phi.
    n_jobs : int or None, default None
        The number of threads.
    """

    zero_preserving = True
    missing_choices = ("error",)

    def __init__(self, *, dtype: Any = np.float64, n_jobs: int | None = None) -> None:
        self.dtype = dtype
        self.n_jobs = n_jobs

    def _fit(self, items: Floats | sparse.csr_array, y: ArrayLike | None) -> None:
        self.n_columns_ = items.shape[1]

    def check_restored(self) -> None:
        super().check_restored()
        self.n_columns_ = self.n_features_in_

    @property
    def terms_(self) -> tuple[Term, ...]:  # type: ignore[override]  # the base declares an attribute; this one is read only
        """One summand for each feature, made anew each time the attribute is read."""
        return tuple(Term((k,), k, k + 1) for k in range(self.n_columns_))

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
