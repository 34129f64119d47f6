"""The part of a residual that tables of two binned features explain, by which pairs are ranked."""

import numpy as np

from .jit import kernel


@kernel
def table_gains(codes, residual, pairs, n_bins, out):
    """Sum of S²/N over the cells of every pair's table, and how many cells are occupied: ``out`` (n_pairs, 2).

    ``codes`` (F, n) are the bins of the features, < n_bins; S and N are the sum of ``residual`` (n, K) and the number of rows
    in a cell.
    """
    n_outputs = residual.shape[1]
    for p in range(pairs.shape[0]):
        count, total = np.zeros(n_bins * n_bins), np.zeros((n_bins * n_bins, n_outputs))
        first, second = codes[pairs[p, 0]], codes[pairs[p, 1]]
        for r in range(residual.shape[0]):
            cell = np.int64(first[r]) * n_bins + second[r]
            count[cell] += 1.0
            for k in range(n_outputs):
                total[cell, k] += residual[r, k]
        out[p, 0], out[p, 1] = 0.0, 0.0
        for cell in range(n_bins * n_bins):
            if count[cell] > 0:
                out[p, 1] += 1.0
                for k in range(n_outputs):
                    out[p, 0] += total[cell, k] ** 2 / count[cell]
