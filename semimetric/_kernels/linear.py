"""Linear algebra that adds in a fixed order: the result for a row does not depend on the rows beside it."""

from .jit import kernel


@kernel
def linear_map(x, matrix, out):
    """out = x @ matrix for x (n, F) and matrix (F, K), every entry summed over F in order, from the first to the last.

    BLAS orders the sum by the shape of the batch, so that the same item alone and among others would be two points. Four
    terms at a time keep ``out`` in registers; that does not change the order.
    """
    n_features, n_out = matrix.shape
    fours = n_features - n_features % 4
    for i in range(x.shape[0]):
        row = out[i]
        for k in range(n_out):
            row[k] = 0.0
        for f in range(0, fours, 4):
            a, b, c, d = x[i, f], x[i, f + 1], x[i, f + 2], x[i, f + 3]
            m, p, q, r = matrix[f], matrix[f + 1], matrix[f + 2], matrix[f + 3]
            for k in range(n_out):
                row[k] = row[k] + a * m[k] + b * p[k] + c * q[k] + d * r[k]
        for f in range(fours, n_features):
            a, m = x[i, f], matrix[f]
            for k in range(n_out):
                row[k] += a * m[k]


@kernel
def inner_product(a, b):
    """Return the inner product <a, b> of two vectors (d,)."""
    total = 0.0
    for f in range(a.shape[0]):
        total += a[f] * b[f]
    return total


@kernel
def quadratic_form(a, M):
    """Return a' M a of a vector (d,) and a matrix (d, d)."""
    total = 0.0
    for f in range(a.shape[0]):
        total += a[f] * inner_product(M[f], a)
    return total


@kernel
def trace_of(M):
    """Sum the diagonal of a matrix (d, d)."""
    total = 0.0
    for f in range(M.shape[0]):
        total += M[f, f]
    return total
