"""Rows phi = D_d^{-T} psi and weights W_d = D_d^{-1} W, against the matrices that paper 1 prints."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semimetric._kernels.coordinate_descent import Machine
from semimetric._kernels.csr_rows import Chunk
from semimetric._kernels.difference_penalties import (
    add_moments,
    add_row,
    gather,
    prefix_sums,
    product,
    squared_norm,
    suffix_sum_rows,
    suffix_sum_widths,
)
from semimetric.vectors.machines.rows import of_phi, set_weights_of_phi

STARTS = np.array([0, 4, 5, 11])


def differences(order):
    """D_d of all blocks on one diagonal."""
    D = np.zeros((11, 11))
    for a, b in zip(STARTS[:-1], STARTS[1:], strict=True):
        D[a:b, a:b] = np.linalg.matrix_power(np.eye(b - a) - np.eye(b - a, k=-1), order)
    return D


@given(order=st.integers(1, 4), seed=st.integers(0, 999), n=st.integers(1, 4))
def test_suffix_sums_are_the_rows_of_the_matrix(order, seed, n):
    rng = np.random.default_rng(seed)
    psi = np.where(rng.random((n, 11)) < 0.4, rng.normal(size=(n, 11)), 0.0)
    rows, columns = np.nonzero(psi)
    source = Chunk(np.searchsorted(rows, np.arange(n + 1)), columns.astype(np.int32), psi[rows, columns])
    widths = suffix_sum_widths(source, (0, n), STARTS)
    indptr = np.concatenate([[0], np.cumsum(widths)])
    out = Chunk(indptr, np.full(indptr[-1], -1, np.int32), np.full(indptr[-1], np.nan))
    suffix_sum_rows(source, (0, n), STARTS, order, out)
    found = np.zeros((n, 11))
    for r in range(n):
        entries = slice(indptr[r], indptr[r + 1])
        assert (np.diff(out.indices[entries]) > 0).all()
        found[r, out.indices[entries]] = out.data[entries]
    np.testing.assert_allclose(found, np.linalg.solve(differences(order).T, psi.T).T, atol=1e-10)


@given(order=st.integers(0, 4), K=st.integers(1, 18), seed=st.integers(0, 99))
def test_both_weights_give_the_same_scores_and_steps_along_phi_are_those_of_the_dense_row(order, K, seed):
    rng = np.random.default_rng(seed)
    columns = np.flatnonzero(rng.random(11) < 0.4).astype(np.int32)
    values, W = rng.normal(size=len(columns)), rng.normal(size=(11, K))
    move = np.where(rng.random(K) < rng.random(), rng.normal(size=K), 0.0)  # few or most of them move
    D, psi = differences(order), np.zeros(11)
    psi[columns] = values
    phi = np.linalg.solve(D.T, psi)
    machine = Machine(np.linalg.solve(D, W).ravel(), np.zeros(K), 1.0, order, STARTS)
    score = np.empty(K)
    gather(columns, values, machine.weights, score)
    np.testing.assert_allclose(score, phi @ W, atol=1e-9)
    alone = [product(columns, values, machine.weights, (K, c)) for c in range(K)]
    np.testing.assert_allclose(alone, phi @ W, atol=1e-9)
    learned = of_phi(machine)
    np.testing.assert_allclose(learned.weights.reshape(11, K), W, atol=1e-9)
    touched = np.flatnonzero(phi).astype(np.int32)
    add_row(touched, phi[touched], move, learned.weights)
    assert squared_norm(phi[touched]) == pytest.approx(phi @ phi)
    set_weights_of_phi(machine, learned)
    np.testing.assert_allclose(machine.weights.reshape(11, K), np.linalg.solve(D, W + np.outer(phi, move)), atol=1e-8)


@given(order=st.integers(0, 4), K=st.integers(1, 3), seed=st.integers(0, 99))
def test_prefix_sums_solve_with_the_differences(order, K, seed):
    W = np.random.default_rng(seed).normal(size=(11, K))
    found = W.copy()
    prefix_sums(found, order, STARTS)
    np.testing.assert_allclose(found, np.linalg.solve(differences(order), W), atol=1e-9)


@given(st.integers(0, 1000), st.integers(0, 5))
def test_second_moments_are_those_of_the_dense_rows(seed, n):
    rng = np.random.default_rng(seed)
    rows = np.where(rng.random((n, 11)) < 0.5, rng.normal(size=(n, 11)), 0.0)
    entries, factors = [np.flatnonzero(row) for row in rows], rng.normal(size=n)
    indptr = np.cumsum([0, *map(len, entries)])
    phi = Chunk(indptr, np.concatenate([np.zeros(0, np.int64), *entries]), rows[rows != 0])
    out = np.tril(np.ones((12, 12)))  # a last row and column belong to the intercept
    add_moments(phi, factors, out)
    want = np.tril(np.ones((12, 12)))
    want[:11, :11] += np.tril((rows.T * factors) @ rows)
    np.testing.assert_allclose(out, want, atol=1e-12)
