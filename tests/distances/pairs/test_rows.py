import numpy as np
import pytest

from semimetric.distances.pairs import rows as module
from semimetric.distances.pairs.rows import DenseRows, SparseRows


def blocks(rng):
    """The same rows in slot form and dense, and their matrix."""
    slot = np.array([0, 3, 6])
    columns = np.column_stack([rng.integers(0, 10, (300, 3)), rng.integers(10, 40, (300, 3))]).astype(np.int32)
    values = rng.random(columns.shape)
    columns[rng.random(columns.shape) < 0.2] = 40
    matrix = np.zeros((300, 41))
    np.add.at(matrix, (np.arange(300)[:, None], columns), values)
    matrix = matrix[:, :40]
    return {"sparse": SparseRows(columns, values, slot), "dense": DenseRows(matrix)}, matrix


@pytest.mark.parametrize("kind", ["sparse", "dense"])
def test_products_are_those_of_the_matrix(kind, rng):
    forms, matrix = blocks(rng)
    rows, w, r, s = forms[kind], rng.normal(size=40), rng.normal(size=300), rng.random(300)
    back = np.zeros(41)
    rows.add_rmatvec(r, back)
    np.testing.assert_allclose(rows.matvec(w), matrix @ w)
    np.testing.assert_allclose(back[:40], matrix.T @ r)
    np.testing.assert_allclose(rows.csr(40).toarray(), matrix)
    assert not rows.offset.any()
    want = matrix.T @ (s[:, None] * matrix)
    for dense_below in (0, 1000):  # scattered additions, and dense blocks
        gram = np.zeros((41, 41))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "_DENSE", dense_below)
            rows.add_gram(s, gram)
        np.testing.assert_allclose(np.tril(gram[:40, :40]), np.tril(want))


def test_unseen_vertices_add_their_value(rng):
    sparse = blocks(rng)[0]["sparse"]
    unseen = rng.random((300, 2))
    rows = SparseRows(sparse.columns, sparse.values, sparse.slot, unseen)
    w = rng.normal(size=40)
    np.testing.assert_allclose(rows.matvec(w), sparse.matvec(w) + unseen.sum(axis=1))
    np.testing.assert_allclose(rows.group_sums(w), sparse.group_sums(w) + unseen)
    np.testing.assert_allclose(rows.offset, unseen.sum(axis=1))
