"""Gram matrices of the min kernel."""

from .jit import kernel

_TILE = 1024  # So many columns of a row of ``out`` stay in the first-level cache.


@kernel
def min_gram(x, y, out):
    """out[i, j] = sum over f of min(x[i, f], y[f, j]), for x (n, F) and y transposed (F, m), tile by tile of columns."""
    for start in range(0, y.shape[1], _TILE):
        stop = min(start + _TILE, y.shape[1])
        for i in range(x.shape[0]):
            row = out[i, start:stop]
            row[:] = 0.0
            for f in range(x.shape[1]):
                value, other = x[i, f], y[f, start:stop]
                for j in range(stop - start):
                    row[j] += value if value < other[j] else other[j]
