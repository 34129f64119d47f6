"""Products of sparse rows with weights, and what makes a ridge penalise differences (paper 1, section 5).

Rows phi = D_d^{-T} psi are suffix sums of the sparse rows psi, taken d times within each block of columns. Weights W of phi and
W_d = D_d^{-1} W of psi give the same scores: W_d are prefix sums of W.
"""

import numpy as np

from .jit import kernel

_MANY = 16  # From so many outputs on, a loop over them runs on vectors.


@kernel
def gather(columns, values, weights, out):
    """out (K,) = the row times the weights (n_columns, K), given flat; columns are unsigned so that none is wrapped."""
    K = out.shape[0]
    if K >= _MANY:
        out[:] = 0.0
        for j in range(columns.shape[0]):
            v, first = values[j], np.uint64(columns[j]) * np.uint64(K)
            for c in range(K):
                out[c] += v * weights[first + np.uint64(c)]
        return
    c = 0
    if K >= 8:
        _gather_eight(columns, values, weights, out)
        c = 8
    while c + 2 <= K:
        out[c], out[c + 1] = _two_products(columns, values, weights, (K, c))
        c += 2
    if c < K:
        out[c] = product(columns, values, weights, (K, c))


@kernel
def product(columns, values, weights, at):
    """Return the row times the weights (n_columns, K), given flat, of one output alone; ``at`` = (K, its number)."""
    K, c, n = np.uint64(at[0]), np.uint64(at[1]), columns.shape[0]
    fours = n - n % 4
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    for j in range(0, fours, 4):  # One sum alone would wait for itself.
        s0 += values[j] * weights[np.uint64(columns[j]) * K + c]
        s1 += values[j + 1] * weights[np.uint64(columns[j + 1]) * K + c]
        s2 += values[j + 2] * weights[np.uint64(columns[j + 2]) * K + c]
        s3 += values[j + 3] * weights[np.uint64(columns[j + 3]) * K + c]
    for j in range(fours, n):
        s0 += values[j] * weights[np.uint64(columns[j]) * K + c]
    return (s0 + s1) + (s2 + s3)


@kernel
def _two_products(columns, values, weights, at):
    """Return `product` of this output and of the one after it."""
    K, c, n = np.uint64(at[0]), np.uint64(at[1]), columns.shape[0]
    a0, a1, b0, b1 = 0.0, 0.0, 0.0, 0.0
    for j in range(0, n - 1, 2):
        first, other = np.uint64(columns[j]) * K + c, np.uint64(columns[j + 1]) * K + c
        a0 += values[j] * weights[first]
        a1 += values[j] * weights[first + np.uint64(1)]
        b0 += values[j + 1] * weights[other]
        b1 += values[j + 1] * weights[other + np.uint64(1)]
    if n % 2:
        first = np.uint64(columns[n - 1]) * K + c
        a0 += values[n - 1] * weights[first]
        a1 += values[n - 1] * weights[first + np.uint64(1)]
    return a0 + b0, a1 + b1


@kernel
def _gather_eight(columns, values, weights, out):
    """Compute the first eight outputs of `gather`, whose sums stay in registers."""
    K = np.uint64(out.shape[0])
    s0, s1, s2, s3, s4, s5, s6, s7 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for j in range(columns.shape[0]):
        v, first = values[j], np.uint64(columns[j]) * K
        s0 += v * weights[first]
        s1 += v * weights[first + np.uint64(1)]
        s2 += v * weights[first + np.uint64(2)]
        s3 += v * weights[first + np.uint64(3)]
        s4 += v * weights[first + np.uint64(4)]
        s5 += v * weights[first + np.uint64(5)]
        s6 += v * weights[first + np.uint64(6)]
        s7 += v * weights[first + np.uint64(7)]
    out[0], out[1], out[2], out[3], out[4], out[5], out[6], out[7] = s0, s1, s2, s3, s4, s5, s6, s7


@kernel
def gather_block(phi, weights, out):
    """out (B, K) = the rows of phi, in CSR form, times the weights."""
    for r in range(out.shape[0]):
        entries = slice(phi.indptr[r], phi.indptr[r + 1])
        gather(phi.indices[entries], phi.data[entries], weights, out[r])


@kernel
def squared_norm(values):
    """Return |phi|² of a row."""
    n = values.shape[0]
    fours = n - n % 4
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    for j in range(0, fours, 4):  # One sum alone would wait for itself.
        s0 += values[j] * values[j]
        s1 += values[j + 1] * values[j + 1]
        s2 += values[j + 2] * values[j + 2]
        s3 += values[j + 3] * values[j + 3]
    for j in range(fours, n):
        s0 += values[j] * values[j]
    return (s0 + s1) + (s2 + s3)


@kernel
def add_moments(phi, factors, out):
    """out += sum_r factors[r] phi_r phi_rᵀ on and below the diagonal, whose columns are sorted in every row."""
    for r in range(factors.shape[0]):
        begin, factor = phi.indptr[r], factors[r]
        for i in range(begin, phi.indptr[r + 1]):
            v, row = factor * phi.data[i], out[phi.indices[i]]
            for j in range(begin, i + 1):
                row[phi.indices[j]] += v * phi.data[j]


@kernel
def add_row(columns, values, move, weights):
    """weights (n_columns, K), given flat, += phi moveᵀ."""
    K, n_moves = move.shape[0], 0
    for c in range(K):
        n_moves += move[c] != 0.0
    if n_moves * 4 > K + 3:  # Passes over single outputs take longer than one over all.
        for j in range(columns.shape[0]):
            v, first = values[j], np.uint64(columns[j]) * np.uint64(K)
            for c in range(K):
                weights[first + np.uint64(c)] += v * move[c]
        return
    for c in range(K):
        step = move[c]
        if step != 0.0:
            for j in range(columns.shape[0]):
                weights[np.uint64(columns[j]) * np.uint64(K) + np.uint64(c)] += values[j] * step


@kernel
def prefix_sums(weights, order, starts):
    """Turn W into W_d = D_d^{-1} W, both (n_columns, K), in place: d times the prefix sums within every block."""
    for b in range(starts.shape[0] - 1):
        for _ in range(order):
            for k in range(starts[b] + 1, starts[b + 1]):
                for c in range(weights.shape[1]):
                    weights[k, c] += weights[k - 1, c]


@kernel
def suffix_sum_widths(psi, rows, starts):
    """Count the entries of D^{-T} psi in the rows from rows[0] to rows[1] - 1: from each block's start to the last of psi."""
    counts = np.zeros(rows[1] - rows[0], np.int64)
    for i in range(rows[0], rows[1]):
        b, n, k, end = 0, 0, psi.indptr[i], psi.indptr[i + 1]
        while k < end:
            while starts[b + 1] <= psi.indices[k]:
                b += 1
            stop = starts[b + 1]
            while k + 1 < end and psi.indices[k + 1] < stop:
                k += 1
            n += psi.indices[k] - starts[b] + 1
            k += 1
        counts[i - rows[0]] = n
    return counts


@kernel
def suffix_sum_rows(psi, rows, starts, order, out):
    """Write D_order^{-T} psi of those rows, suffix sums within the blocks, to ``out``, whose ``indptr`` is known."""
    for i in range(rows[0], rows[1]):
        b, k, end, place = 0, psi.indptr[i], psi.indptr[i + 1], out.indptr[i]
        while k < end:
            while starts[b + 1] <= psi.indices[k]:
                b += 1
            first, stop, low = starts[b], starts[b + 1], k
            k += 1
            while k < end and psi.indices[k] < stop:
                k += 1
            last, above = psi.indices[k - 1], 0.0
            for entry in range(k - 1, low - 1, -1):  # The sum is the same from one entry of psi down to the next.
                above += psi.data[entry]
                below = psi.indices[entry - 1] + 1 if entry > low else first
                for c in range(below, psi.indices[entry] + 1):
                    at = np.uint64(place + c - first)
                    out.indices[at], out.data[at] = c, above
            for _ in range(1, order):
                for c in range(last - 1, first - 1, -1):
                    out.data[place + c - first] += out.data[place + c - first + 1]
            place += last - first + 1


@kernel
def mapped_rows(psi, maps, out):
    """Write the rows of psi, each block of columns times the matrix that ``maps`` has for it, into ``out``, without zeros."""
    k = 0
    out.indptr[0] = 0
    for i in range(out.indptr.shape[0] - 1):
        b, entry, end = 0, psi.indptr[i], psi.indptr[i + 1]
        while entry < end:
            while maps.sources[b + 1] <= psi.indices[entry]:
                b += 1
            target, width, begin = maps.targets[b], maps.targets[b + 1] - maps.targets[b], entry
            while entry < end and psi.indices[entry] < maps.sources[b + 1]:
                entry += 1
            for c in range(width):
                total = 0.0
                for e in range(begin, entry):
                    total += psi.data[e] * maps.tables[maps.first[b] + (psi.indices[e] - maps.sources[b]) * width + c]
                out.indices[k], out.data[k] = target + c, total
                k += out.data[k] != 0  # what float32 rounds to 0 is written over too
        out.indptr[i + 1] = k
