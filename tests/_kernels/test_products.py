import numpy as np
import pytest

from semimetric._kernels import products


@pytest.fixture
def block(rng):
    """Rows of two groups in slot form, with "no column" among the columns, and the dense matrix that they stand for."""
    n, slot = 6, np.array([0, 3, 5])
    columns = np.column_stack([rng.integers(0, 3, (20, 3)), rng.integers(3, 6, (20, 2))]).astype(np.int32)
    columns[rng.random(columns.shape) < 0.3] = n
    values = rng.random(columns.shape)
    dense = np.zeros((20, n + 1))
    np.add.at(dense, (np.arange(20)[:, None], columns), values)
    return columns, values, slot, dense[:, :n]


def test_matvec_and_group_sums(block, rng):
    columns, values, slot, dense = block
    w, out, parts = rng.normal(size=6), np.empty(20), np.empty((20, 2))
    products.matvec(columns, values, np.append(w, 0.0), slot, out)
    products.group_sums(columns, values, np.append(w, 0.0), slot, parts)
    np.testing.assert_allclose(out, dense @ w)
    np.testing.assert_allclose(parts, np.column_stack([dense[:, :3] @ w[:3], dense[:, 3:] @ w[3:]]), atol=1e-15)
    assert (parts.sum(axis=1) == out).all()


def test_rmatvec_gram_and_scatter_accumulate(block, rng):
    columns, values, slot, dense = block
    r, weights = rng.normal(size=20), rng.random(20)
    back, gram, full = np.ones(7), np.ones((7, 7)), np.zeros((20, 7))
    products.add_rmatvec(columns, values, r, back)
    products.add_gram(columns.T.copy(), values.T.copy(), weights, slot, gram)
    products.scatter(columns, values, weights, full)
    np.testing.assert_allclose(back[:6], 1 + dense.T @ r)
    np.testing.assert_allclose(full[:, :6], dense * weights[:, None])
    want = 1 + dense.T @ (weights[:, None] * dense)
    np.testing.assert_allclose(np.tril(gram[:6, :6]), np.tril(want))
