"""Shapley values of sums of products, one factor a player."""

import numpy as np

from .jit import kernel


@kernel
def shapley_of_products(own, other, coefficients, nodes, shares, out):
    """Add the Shapley values of v(S) = sum_i c_i prod_{j in S} own_ij prod_{j not in S} other_ij to out[j, k].

    They are sum_i c_ik (own_ij - other_ij) int_0^1 prod_{l != j} (t own_il + (1 - t) other_il) dt (Owen 1972). The integral is
    the sum over ``nodes`` in [0, 1] with ``shares``. Factors have shapes (n, p), coefficients (n, n_outputs).
    """
    n, p = own.shape
    before, value = np.empty(p), np.empty(p)
    for i in range(n):
        value[:] = 0.0
        for q in range(len(nodes)):
            t = nodes[q]
            product = shares[q]
            for j in range(p):
                before[j] = product
                product *= t * own[i, j] + (1.0 - t) * other[i, j]
            after = 1.0
            for j in range(p - 1, -1, -1):
                value[j] += before[j] * after
                after *= t * own[i, j] + (1.0 - t) * other[i, j]
        for j in range(p):
            step = value[j] * (own[i, j] - other[i, j])
            for k in range(coefficients.shape[1]):
                out[j, k] += coefficients[i, k] * step
