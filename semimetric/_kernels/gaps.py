"""Sums over pairs of how far apart two items are in every coordinate, each pair with a factor."""

import numpy as np

from .jit import kernel


@kernel
def add_gaps(left, right, factor, out):
    """out[k] += sum_ij factor[i, j] |left[i, k] - right[j, k]|, of shapes (n, p), (m, p), (n, m) and (p,)."""
    for i in range(left.shape[0]):
        for j in range(right.shape[0]):
            f = factor[i, j]
            if f != 0.0:
                for k in range(left.shape[1]):
                    out[k] += f * np.abs(left[i, k] - right[j, k])
