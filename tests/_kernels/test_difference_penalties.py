"""Steps along phi = D_d^{-T} psi that touch only psi's blocks, against the matrices that paper 1 prints."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semimetric._kernels.difference_penalties import climb, gather, row_norm, scatter, unclimb

STARTS = np.array([0, 4, 5, 11])


def differences(order):
    """D_d of all blocks on one diagonal."""
    D = np.zeros((11, 11))
    for a, b in zip(STARTS[:-1], STARTS[1:], strict=True):
        D[a:b, a:b] = np.linalg.matrix_power(np.eye(b - a) - np.eye(b - a, k=-1), order)
    return D


@given(order=st.integers(0, 3), K=st.integers(1, 6), seed=st.integers(0, 99))
def test_a_step_is_that_of_the_dense_row(order, K, seed):
    rng = np.random.default_rng(seed)
    columns = np.flatnonzero(rng.random(11) < 0.4).astype(np.int32)
    values, move, W = rng.normal(size=len(columns)), rng.normal(size=K), rng.normal(size=(11, K))
    D, psi = differences(order), np.zeros(11)
    psi[columns] = values
    phi = np.linalg.solve(D.T, psi)
    weights, climbed, score = np.linalg.solve(D, W).ravel(), np.empty(11), np.empty(K)
    gather(columns, values, weights, score)
    np.testing.assert_allclose(score, phi @ W, atol=1e-10)
    climb(columns, values, order, STARTS, climbed)
    assert row_norm(columns, values, order, climbed) == pytest.approx(phi @ phi, abs=1e-10)
    scatter(columns, values, order, STARTS, climbed, move, weights)
    out = np.empty((11, K))
    unclimb(weights.reshape(11, K), order, STARTS, out)
    np.testing.assert_allclose(out, W + np.outer(phi, move), atol=1e-9)
