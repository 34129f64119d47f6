"""All pairs under tables of single features: tabulate the query once, then two table look-ups a value.

The theory is in docs/mathematics.md, section 4.

For a fixed x and one feature, y -> w·ID([x, y]) is linear in the fraction t of y on both sides of the fraction s of x:
    t <= s:  [s w(xu, yl) + (1 - s) w(xl, yl)] + t [w(xu, yu) - w(xu, yl)]
    t >  s:  [s w(xu, yu) - s w(xl, yu) + w(xl, yl)] + t [w(xl, yu) - w(xl, yl)]
"""

import numpy as np

from .jit import kernel


@kernel
def _tabulate(table, low, high, s, intercept, slope):
    """Two linear pieces for each cell of y; entry 2k is the piece t <= s of the cell (k, k + 1)."""
    lower, upper = table[low], table[high]
    for k in range(table.shape[0] - 1):
        intercept[2 * k] = s * upper[k] + (1.0 - s) * lower[k]
        slope[2 * k] = upper[k + 1] - upper[k]
        intercept[2 * k + 1] = s * (upper[k + 1] - lower[k + 1]) + lower[k]
        slope[2 * k + 1] = lower[k + 1] - lower[k]


@kernel
def add_single_tables(x, rows, code, fraction, singles, tables, out):
    """out[r, j] += sum over the one-feature groups of w·ID([x[rows[r]], y_j]).

    ``code`` and ``fraction`` (F, n) are the cells and fractions of y, one feature a row; ``tables`` holds every
    group's table from ``singles.start[g]`` on.
    """
    widest = 2 * singles.size.max() if singles.size.shape[0] else 0
    intercept, slope = np.empty(widest), np.empty(widest)
    for r in range(rows.shape[0]):
        i, row = rows[r], out[r]
        for g in range(singles.feature.shape[0]):
            f, c, start = singles.feature[g], singles.size[g], singles.start[g]
            if c == 1:  # A constant feature has the vertex (a, a) alone, with a weight where the diagonal has columns.
                row += tables[start]
                continue
            s, table = x.fraction[i, f], tables[start : start + c * c].reshape(c, c)
            _tabulate(table, x.lower[i, f], x.upper[i, f], s, intercept, slope)
            cell, t = code[f], fraction[f]
            for j in range(row.shape[0]):
                piece = 2 * np.int64(cell[j]) + (t[j] > s)
                row[j] += intercept[piece] + slope[piece] * t[j]


@kernel
def add_vertex_tables(vertex, rows, code, singles, tables, out):
    """out[r, j] += sum over the one-feature groups of w(x, y_j), where all items lie at vertices.

    ``vertex`` (m, F) are those of x, of which ``rows`` are taken, and ``code`` (F, n) those of y, one feature a row.
    Groups are added in their order; four at a time keep the sum in a register.
    """
    n_groups = singles.feature.shape[0]
    fours = n_groups - n_groups % 4
    for r in range(rows.shape[0]):
        i, row = rows[r], out[r]
        for g in range(0, fours, 4):
            p, q, s, t = singles.feature[g], singles.feature[g + 1], singles.feature[g + 2], singles.feature[g + 3]
            a = tables[singles.start[g] + np.int64(vertex[i, p]) * singles.size[g] :]
            b = tables[singles.start[g + 1] + np.int64(vertex[i, q]) * singles.size[g + 1] :]
            c = tables[singles.start[g + 2] + np.int64(vertex[i, s]) * singles.size[g + 2] :]
            d = tables[singles.start[g + 3] + np.int64(vertex[i, t]) * singles.size[g + 3] :]
            u, v, w, z = code[p], code[q], code[s], code[t]
            for j in range(row.shape[0]):
                row[j] = row[j] + a[u[j]] + b[v[j]] + c[w[j]] + d[z[j]]
        for g in range(fours, n_groups):
            p = singles.feature[g]
            a, u = tables[singles.start[g] + np.int64(vertex[i, p]) * singles.size[g] :], code[p]
            for j in range(row.shape[0]):
                row[j] += a[u[j]]
