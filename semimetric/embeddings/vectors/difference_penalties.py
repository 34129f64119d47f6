"""Embeddings of which a ridge penalises differences: phi = D^{-T} psi from the sparse rows psi (paper 1, eq. 6 and 7).

D_1 = bidiagonal (1 on the diagonal, -1 below it),  D_d = D_1^d
(D_1^{-T})_ij = 1,  (D_2^{-T})_ij = j - i + 1      for j >= i, else 0
"""

import numpy as np
from scipy import sparse

from ..._foundation.threads import map_blocks
from ..._kernels.csr_rows import Chunk, Ladder
from ..._kernels.difference_penalties import suffix_sum_rows, suffix_sum_widths

__all__ = ["climbed"]

_ROWS = 1024  # that a thread takes at a time
_INT32 = np.iinfo(np.int32).max


def climbed(psi: sparse.csr_array, ladder: Ladder, *, n_jobs: int | None = None) -> sparse.csr_array:
    """phi of the rows psi, of the same shape and dtype, without explicit zeros; indices are int32 if they fit, else int64.

    Within each block of columns of the ladder, phi is the suffix sum of psi, taken as many times as the order says.
    """
    n, width = psi.shape
    source = Chunk(psi.indptr, psi.indices, psi.data)
    starts, order = ladder.starts, ladder.order
    counts = map_blocks(lambda rows: suffix_sum_widths(source, (rows.start, rows.stop), starts), n, size=_ROWS, n_jobs=n_jobs)
    indptr = np.concatenate([np.zeros(1, np.int64), *counts]).cumsum()
    index = np.int32 if max(width, indptr[-1]) <= _INT32 else np.int64
    out = Chunk(indptr, np.empty(indptr[-1], index), np.empty(indptr[-1], psi.dtype))
    map_blocks(lambda rows: suffix_sum_rows(source, (rows.start, rows.stop), starts, order, out), n, size=_ROWS, n_jobs=n_jobs)
    phi = sparse.csr_array((out.data, out.indices, out.indptr.astype(index)), shape=psi.shape)
    if not out.data.all():  # psi of a value outside the knots has entries of both signs, whose sums can cancel
        phi.eliminate_zeros()
    return phi
