"""L1 distances of all rows to all columns, in blocks of columns that stay in the cache."""

import numpy as np

from .jit import kernel

_BLOCK = 512  # distances that are added up at a time


@kernel
def l1_to_columns(left, columns, out):
    """out[i, j] = sum_f |left[i, f] - columns[f, j]|, of shapes (n, n_features), (n_features, m) and (n, m)."""
    n, m = out.shape
    for start in range(0, m, _BLOCK):
        for i in range(n):
            total = out[i, start : start + _BLOCK]
            total[:] = 0.0
            for f in range(left.shape[1]):
                x, column = left[i, f], columns[f, start : start + _BLOCK]
                for j in range(len(total)):  # over one axis alone, so that the compiler takes several at a time
                    total[j] += np.abs(x - column[j])


@kernel
def l1_of_changed(left, columns, base, shared, out):
    """`l1_to_columns` of rows that mostly equal ``base`` (n_features,), whose distances to the columns are ``shared`` (m,).

    Each feature that differs adds |left[i, f] - columns[f, j]| - |base[f] - columns[f, j]|. Rounding leaves no sum below 0.
    """
    n, m = out.shape
    for start in range(0, m, _BLOCK):
        for i in range(n):
            total = out[i, start : start + _BLOCK]
            total[:] = shared[start : start + _BLOCK]
            for f in range(left.shape[1]):
                x, z, column = left[i, f], base[f], columns[f, start : start + _BLOCK]
                if x != z:
                    for j in range(len(total)):
                        total[j] += np.abs(x - column[j]) - np.abs(z - column[j])
            for j in range(len(total)):
                total[j] = max(total[j], 0.0)
