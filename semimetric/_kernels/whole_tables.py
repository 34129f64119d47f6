"""Tables of bounds as whole numbers from 0 to 255 that round down, as FAISS adds them up."""

import numpy as np

from .jit import kernel


@kernel
def rises(tables, base, span):
    """Return the tables (B, M, 16) minus the least entries of their columns; infinite entries do not count.

    ``base`` (B,) becomes the sum of the least entries, and ``span`` (B,) the largest rise of a column.
    """
    for b in range(tables.shape[0]):
        base[b], span[b] = 0.0, 0.0
        for m in range(tables.shape[1]):
            least, most = np.inf, -np.inf
            for c in range(tables.shape[2]):
                value = tables[b, m, c]
                least = min(least, value)
                if value < np.inf:
                    most = max(most, value)
            base[b] += least
            span[b] = max(span[b], most - least)


@kernel
def magnitudes(tables, out):
    """out[b] = sum over the columns of tables (B, M, 16) of their largest finite entry in absolute value."""
    for b in range(tables.shape[0]):
        out[b] = 0.0
        for m in range(tables.shape[1]):
            most = 0.0
            for c in range(tables.shape[2]):
                size = abs(tables[b, m, c])
                most = max(most, size if size < np.inf else 0.0)
            out[b] += most


@kernel
def round_down(tables, step, rounding, out):
    """out = floor((entry - least of its column) step - rounding), at least 0 and at most 255.

    ``step`` (B,) may be infinite, then entries above the least come to 255. ``out`` is float32 of the shape of the tables.
    """
    for b in range(tables.shape[0]):
        for m in range(tables.shape[1]):
            least = np.inf
            for c in range(tables.shape[2]):
                least = min(least, tables[b, m, c])
            for c in range(tables.shape[2]):
                rise = tables[b, m, c] - least
                scaled = rise * step[b] - rounding
                out[b, m, c] = np.floor(min(scaled, 255.0)) if scaled > 0.0 else 0.0
