"""Products of sparse rows with weights, also where the rows phi = D_d^{-T} psi are written as psi (paper 1, section 5).

A step along phi moves W_d = D_d^{-1} W along L_d psi, L_d = D_d^{-1} D_d^{-T}: within a block of n columns d sums from the
right (step A) and d from the left (step B), 2 d n additions.
"""

import numpy as np

from .jit import kernel

__all__ = ["climb", "climb_rows", "climb_widths", "gather", "gather_block", "row_norm", "scatter", "unclimb"]


@kernel
def gather(columns, values, weights, out):
    """out (K,) = the row times the weights (n_columns, K), given flat; columns are unsigned so that none is wrapped."""
    K, n = out.shape[0], columns.shape[0]
    if K == 1:
        fours = n - n % 4
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        for j in range(0, fours, 4):  # One sum alone would wait for itself.
            a += values[j] * weights[np.uint64(columns[j])]
            b += values[j + 1] * weights[np.uint64(columns[j + 1])]
            c += values[j + 2] * weights[np.uint64(columns[j + 2])]
            d += values[j + 3] * weights[np.uint64(columns[j + 3])]
        for j in range(fours, n):
            a += values[j] * weights[np.uint64(columns[j])]
        out[0] = (a + b) + (c + d)
        return
    out[:] = 0.0
    for j in range(n):
        v, first = values[j], np.uint64(columns[j]) * np.uint64(K)
        for c in range(K):
            out[c] += v * weights[first + np.uint64(c)]


@kernel
def gather_block(phi, weights, out):
    """out (B, K) = the rows of phi, in CSR form, times the weights."""
    for r in range(out.shape[0]):
        entries = slice(phi.indptr[r], phi.indptr[r + 1])
        gather(phi.indices[entries], phi.data[entries], weights, out[r])


@kernel
def climb(columns, values, order, starts, out):
    """out = L_d psi in the blocks that a row touches; nothing where there is no ladder (order 0)."""
    if order == 0:
        return
    j, b = 0, 0
    while j < columns.shape[0]:
        while starts[b + 1] <= columns[j]:
            b += 1
        first, stop = starts[b], starts[b + 1]
        out[first:stop] = 0.0
        while j < columns.shape[0] and columns[j] < stop:
            out[columns[j]] = values[j]
            j += 1
        for _ in range(order):  # step A
            for k in range(stop - 2, first - 1, -1):
                out[k] += out[k + 1]
        for _ in range(order):  # step B
            for k in range(first + 1, stop):
                out[k] += out[k - 1]


@kernel
def row_norm(columns, values, order, climbed):
    """|phi|² of a row, given what `climb` made of it."""
    norm = 0.0
    for j in range(values.shape[0]):
        norm += values[j] * (values[j] if order == 0 else climbed[columns[j]])
    return norm


@kernel
def scatter(columns, values, order, starts, climbed, move, weights):
    """weights += phi moveᵀ: along the row itself, or along what `climb` made of it."""
    K = move.shape[0]
    if order == 0:
        for j in range(columns.shape[0]):
            v, first = values[j], np.uint64(columns[j]) * np.uint64(K)
            for c in range(K):
                weights[first + np.uint64(c)] += v * move[c]
        return
    j, b = 0, 0
    while j < columns.shape[0]:
        while starts[b + 1] <= columns[j]:
            b += 1
        for k in range(starts[b], starts[b + 1]):
            for c in range(K):
                weights[k * K + c] += climbed[k] * move[c]
        while j < columns.shape[0] and columns[j] < starts[b + 1]:
            j += 1


@kernel
def unclimb(weights, order, starts, out):
    """out = W = D_d W_d, both (n_columns, K): d times the differences within every block, the first kept."""
    out[:] = weights
    for b in range(starts.shape[0] - 1):
        for _ in range(order):
            for k in range(starts[b + 1] - 1, starts[b], -1):
                for c in range(out.shape[1]):
                    out[k, c] -= out[k - 1, c]


@kernel
def climb_widths(psi, rows, starts):
    """Entries of D^{-T} psi for the rows ``rows`` = (first, last + 1): in each block from its start to the last of psi."""
    counts = np.zeros(rows[1] - rows[0], np.int64)
    for i in range(rows[0], rows[1]):
        b = 0
        for k in range(psi.indptr[i], psi.indptr[i + 1]):
            column = psi.indices[k]
            while starts[b + 1] <= column:
                b += 1
            if k + 1 == psi.indptr[i + 1] or psi.indices[k + 1] >= starts[b + 1]:
                counts[i - rows[0]] += column - starts[b] + 1
    return counts


@kernel
def climb_rows(psi, rows, starts, order, out):
    """Write D_order^{-T} psi of those rows, suffix sums within the blocks, into ``out``, whose ``indptr`` is known."""
    for i in range(rows[0], rows[1]):
        low, k, stop = psi.indptr[i], psi.indptr[i + 1] - 1, out.indptr[i + 1]
        for b in range(starts.shape[0] - 2, -1, -1):
            start = starts[b]
            if k < low or psi.indices[k] < start:
                continue
            first, second = 0.0, 0.0
            last = psi.indices[k]
            stop -= last - start + 1
            for c in range(last, start - 1, -1):
                if k >= low and psi.indices[k] == c:
                    first += psi.data[k]
                    k -= 1
                second += first
                out.indices[stop + c - start] = c
                out.data[stop + c - start] = first if order == 1 else second
