"""Second moments add up over parts of the rows, and change with the unit of the targets as sums over the pairs do."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from semimetric.distances.programs.design_matrix import MatrixDesign, Moments


def moments_of(A, y, s):
    """The definition, with dense matrices."""
    return Moments(A.T @ (s[:, None] * A), A.T @ (s * y), float(s @ y**2), float(s.sum()))


@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(1, 5), st.integers(0, 2))
def test_they_add_up_and_change_their_unit(seed, m, n, n_base):
    rng = np.random.default_rng(seed)
    A, y, s, n_base = rng.normal(size=(m, n)), rng.normal(size=m), rng.random(m), min(n_base, n)
    whole, cut = moments_of(A, y, s), m // 2
    total = moments_of(A[:cut], y[:cut], s[:cut]) + moments_of(A[cut:], y[cut:], s[cut:])
    base = np.append(np.ones(n - n_base), np.full(n_base, 2.0))
    for found, expected in (
        (total, whole),
        (whole.in_unit(2.0, n_base), moments_of(A / base, y / 2, s)),
        (whole.mean, moments_of(A, y, s / s.sum())),
        (MatrixDesign(sparse.csr_array(A)).moments(y, s), whole),
    ):
        for field in ("gram", "cross", "square", "total"):
            np.testing.assert_allclose(getattr(found, field), getattr(expected, field), atol=1e-12)
    np.testing.assert_allclose(whole.norms(), np.sqrt((s[:, None] * A**2).sum(axis=0)))


def test_they_are_scattered_among_more_columns(rng):
    A, y, s = rng.normal(size=(9, 3)), rng.normal(size=9), rng.random(9)
    wide = np.zeros((9, 6))
    wide[:, [4, 0, 2]] = A
    found, expected = moments_of(A, y, s).scattered(np.array([4, 0, 2]), 6), moments_of(wide, y, s)
    np.testing.assert_allclose(found.gram, expected.gram)
    np.testing.assert_allclose(found.cross, expected.cross)
    assert (found.square, found.total) == pytest.approx((expected.square, expected.total))
