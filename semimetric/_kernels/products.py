"""Products with blocks of sparse rows in slot form: ``columns`` (B, K) and ``values`` (B, K).

Row r of A has ``values[r, k]`` in column ``columns[r, k]``; column n stands for "no column", so w has n + 1 entries
(the last 0) and accumulators have a last row that nobody reads. Slots of group g are ``slot[g]:slot[g + 1]``.
"""

from .jit import kernel


@kernel
def group_sums(columns, values, w, slot, out):
    """out[r, g] = contribution of group g to row r of A w."""
    for r in range(columns.shape[0]):
        for g in range(slot.shape[0] - 1):
            total = 0.0
            for k in range(slot[g], slot[g + 1]):
                total += values[r, k] * w[columns[r, k]]
            out[r, g] = total


@kernel
def matvec(columns, values, w, slot, out):
    """out = A w, added group by group in the order of `group_sums`."""
    for r in range(columns.shape[0]):
        row = 0.0
        for g in range(slot.shape[0] - 1):
            total = 0.0
            for k in range(slot[g], slot[g + 1]):
                total += values[r, k] * w[columns[r, k]]
            row += total
        out[r] = row


@kernel
def add_rmatvec(columns, values, r, out):
    """out += Aᵀ r, for r of shape (B,) and out of shape (n + 1,)."""
    for p in range(columns.shape[0]):
        for k in range(columns.shape[1]):
            out[columns[p, k]] += values[p, k] * r[p]


@kernel
def add_gram(columns, values, weights, slot, out):
    """Lower triangle of out += Aᵀ diag(weights) A, from transposed slots (K, B).

    Pair of groups by pair of groups and slot by slot, so that the block of ``out`` in use and the rows read stay in the
    cache: twice as fast as row by row. Groups number their columns in order, so group g >= h lands on or below the
    diagonal.
    """
    for g in range(slot.shape[0] - 1):
        for h in range(g + 1):
            for k in range(slot[g], slot[g + 1]):
                for m in range(slot[h], slot[h + 1]):
                    a, b, u, v = columns[k], columns[m], values[k], values[m]
                    for r in range(weights.shape[0]):
                        out[a[r], b[r]] += weights[r] * u[r] * v[r]


@kernel
def scatter(columns, values, weights, out):
    """out[r, columns[r, k]] += weights[r] values[r, k]: the rows as a dense block; ``out`` begins as zeros."""
    for r in range(columns.shape[0]):
        for k in range(columns.shape[1]):
            out[r, columns[r, k]] += weights[r] * values[r, k]
