"""Absolute differences of the features of two items, for many pairs and more features than a matrix of them would fit."""

import numpy as np

from .jit import kernel


@kernel
def add_slopes(features, left, right, factor, out):
    """out[f] += sum_p factor[p] |features[left[p], f] - features[right[p], f]|, for features (n, F) and pairs (m,).

    Pairs are summed in runs of 64 by numbers of the type of ``features``, and the runs in that of ``out``.
    """
    n = features.shape[1]
    part = np.empty(n, features.dtype)
    for start in range(0, left.shape[0], 64):
        part[:] = 0
        for p in range(start, min(start + 64, left.shape[0])):
            x, y, c = features[left[p]], features[right[p]], factor[p]
            for f in range(n):
                part[f] += c * abs(x[f] - y[f])
        for f in range(n):
            out[f] += part[f]


@kernel
def fill_gaps(features, left, right, scale, out):
    """out[p, f] = scale[p] |features[left[p], f] - features[right[p], f]|, shape (m, F)."""
    for p in range(left.shape[0]):
        x, y, c = features[left[p]], features[right[p]], scale[p]
        for f in range(features.shape[1]):
            out[p, f] = c * abs(x[f] - y[f])
