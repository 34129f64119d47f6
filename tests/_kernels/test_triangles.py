"""Shortest paths and projections against slow twins, and against what makes an optimum."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import closure_slow

from semimetric._kernels.triangles import Rows, close_table, detours, project_rows

seeds = st.integers(0, 10_000)


def random_table(seed, n, *, symmetric):
    rng = np.random.default_rng(seed)
    table = rng.random((n, n)) ** 3
    table = (table + table.T) / 2 if symmetric else table
    np.fill_diagonal(table, 0.0)
    return table


@given(seeds, st.integers(1, 7))
def test_detours_are_the_least_sums_over_a_third_point(seed, n):
    table = random_table(seed, n, symmetric=False)
    length, via = np.empty((n, n)), np.empty((n, n), np.int64)
    detours(table, length, via)
    for a in range(n):
        for c in range(n):
            sums = {b: table[a, b] + table[b, c] for b in range(n) if b not in (a, c)}
            if a == c or not sums:
                assert (length[a, c], via[a, c]) == (np.inf, -1)
            else:
                assert length[a, c] == min(sums.values()) == sums[via[a, c]]


@settings(max_examples=25)
@given(seeds, st.integers(1, 7), st.booleans())
def test_the_closure_is_the_largest_metric_below_and_is_stable(seed, n, symmetric):
    table = random_table(seed, n, symmetric=symmetric)
    closed = table.copy()
    close_table(closed, 64)
    np.testing.assert_allclose(closed, closure_slow(table), rtol=1e-14)
    assert (closed <= table).all()
    assert all(closed[a, c] <= closed[a, b] + closed[b, c] for a in range(n) for b in range(n) for c in range(n))
    again = closed.copy()
    close_table(again, 1)
    np.testing.assert_array_equal(again, closed)
    assert not symmetric or (closed == closed.T).all()


@given(seeds)
def test_sweeps_end_at_the_projection_and_keep_their_multipliers(seed):
    """What they end with satisfies the conditions of Karush, Kuhn and Tucker, so it is the optimum of a convex program."""
    rng = np.random.default_rng(seed)
    G = np.where(rng.random((6, 5)) < 0.6, rng.normal(size=(6, 5)), 0.0)
    G = G[(G != 0).any(axis=1)]
    inside = rng.normal(size=5) + 3
    bound, lower, inverse = G @ inside - 0.1, inside - 4.0, rng.uniform(0.5, 2.0, 5)
    start = rng.normal(size=5) * 4
    w, multipliers = start.copy(), np.zeros(len(G) + 5)
    project_rows(w, as_rows(G), bound, lower, inverse, multipliers, 20_000)
    assert (multipliers >= 0).all()
    np.testing.assert_allclose(w, start + inverse * (G.T @ multipliers[: len(G)] + multipliers[len(G) :]), atol=1e-9)
    assert (G @ w >= bound - 1e-6).all()
    assert (w >= lower - 1e-9).all()
    slack = np.append(G @ w - bound, w - lower)
    assert float(multipliers @ slack) == pytest.approx(0.0, abs=1e-5)


def as_rows(G):
    row, column = np.nonzero(G)
    return Rows(np.searchsorted(row, np.arange(len(G) + 1)), column, G[row, column])


def test_without_rows_the_projection_is_a_bound():
    w, empty = np.array([-1.0, 2.0]), Rows(np.zeros(1, np.int32), np.zeros(0, np.int32), np.zeros(0))
    project_rows(w, empty, np.zeros(0), np.zeros(2), np.ones(2), np.zeros(2), 1)
    assert w.tolist() == [0.0, 2.0]
