"""Tables of distances between the points of a grid: the shortest detours, and what is left when all are taken."""

from typing import NamedTuple

import numpy as np

from .jit import kernel


class Rows(NamedTuple):
    """A sparse matrix by rows: row r has value[k] in column[k] for start[r] <= k < start[r + 1]."""

    start: np.ndarray
    column: np.ndarray
    value: np.ndarray


@kernel
def detours(table, length, via):
    """For every a != c the b with the least w_ab + w_bc (length, via); infinite and -1 where there is no third point."""
    n = table.shape[0]
    for a in range(n):
        for c in range(n):
            length[a, c], via[a, c] = np.inf, -1
        for b in range(n):
            if b == a:
                continue
            first = table[a, b]
            for c in range(n):
                if c != a and c != b and first + table[b, c] < length[a, c]:
                    length[a, c], via[a, c] = first + table[b, c], b


@kernel
def close_table(table, most):
    """Replace a table by its shortest paths (Floyd-Warshall), repeated until no sum of two floats is smaller.

    One pass closes the table but for rounding, and another finds that nothing is left; at most ``most`` are made.
    """
    n = table.shape[0]
    for _ in range(most):
        changed = False
        for b in range(n):
            for a in range(n):
                first = table[a, b]
                for c in range(n):
                    if first + table[b, c] < table[a, c]:
                        table[a, c] = first + table[b, c]
                        changed = True
        if not changed:
            return


@kernel
def project_rows(w, rows, bound, lower, inverse, multipliers, sweeps):
    """Make Hildreth's sweeps towards the nearest w with G w >= bound and w >= lower, in place; ``rows`` is G as `Rows`.

    Nearest is meant in the norm sum_p w_p² / inverse_p. ``multipliers`` are of the rows, then of the bounds, all >= 0.
    w = start + inverse * (Gᵀ, I) multipliers holds throughout, however many sweeps are made.
    """
    n_rows = bound.shape[0]
    for _ in range(sweeps):
        for r in range(n_rows):
            missing, size = bound[r], 0.0
            for k in range(rows.start[r], rows.start[r + 1]):
                missing -= rows.value[k] * w[rows.column[k]]
            if missing <= 0.0 and multipliers[r] == 0.0:
                continue
            for k in range(rows.start[r], rows.start[r + 1]):
                size += rows.value[k] * rows.value[k] * inverse[rows.column[k]]
            step = max(missing / size, -multipliers[r])
            multipliers[r] += step
            for k in range(rows.start[r], rows.start[r + 1]):
                w[rows.column[k]] += step * rows.value[k] * inverse[rows.column[k]]
        for p in range(w.shape[0]):
            step = max((lower[p] - w[p]) / inverse[p], -multipliers[n_rows + p])
            multipliers[n_rows + p] += step
            w[p] += step * inverse[p]
