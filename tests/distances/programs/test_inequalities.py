"""Rows between weights: as a design, and as what weights are moved to keep."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from semimetric import Grid, PairEmbedding
from semimetric.distances.pairs.triangle_inequality import Triangles
from semimetric.distances.programs.design_matrix import MatrixDesign
from semimetric.distances.programs.inequalities import Inequalities, StackedDesign

seeds = st.integers(0, 10_000)


def random_rows(seed, k=6, n=5):
    rng = np.random.default_rng(seed)
    G = sparse.csr_array(np.where(rng.random((k, n)) < 0.6, rng.normal(size=(k, n)), 0.0))
    return Inequalities(G, rng.normal(size=k) - 1.0), rng


@given(seeds)
def test_mixed_weights_keep_every_row_and_move_no_further_than_needed(seed):
    rows, rng = random_rows(seed)
    inside = rng.normal(size=5)
    rows = Inequalities(rows.matrix, rows.matrix @ inside - 0.1)  # inside has room of 0.1 in every row
    w = rng.normal(size=5) * 3
    kept = rows.mixed(w, inside)
    assert rows.excess(kept) <= 1e-12
    np.testing.assert_array_equal(rows.mixed(kept, inside), kept)
    if rows.excess(w) > 1e-9:
        assert rows.excess(w + 0.99 * (kept - w)) > 0
    else:
        np.testing.assert_allclose(kept, w)


def test_tables_are_repaired_by_shortest_paths_first():
    e = PairEmbedding(Grid([[0.0, 1.0, 2.0]]))
    triangles = Triangles.of(e)
    w, inside = np.array([1.0, 5.0, 1.0]), np.full(3, 4.0)
    rows = Inequalities.homogeneous(triangles.rows())
    assert Inequalities(rows.matrix, rows.bound, triangles).mixed(w, inside).tolist() == [1.0, 2.0, 1.0]
    assert rows.mixed(w, inside)[0] > 1.0  # without tables every weight moves


def test_rows_add_up_and_can_be_taken():
    rows, _ = random_rows(0)
    both = rows + rows.take(np.arange(2))
    assert len(both) == 8
    np.testing.assert_array_equal(both.slack(np.ones(5))[6:], rows.slack(np.ones(5))[:2])


def test_a_stacked_design_is_the_stacked_matrix(rng):
    A, G = (sparse.csr_array(rng.normal(size=(k, 4))) for k in (7, 3))
    design, both = StackedDesign(MatrixDesign(A), G), sparse.vstack([A, G]).toarray()
    w, r, y = rng.random(4), rng.random(10), rng.random(10)
    np.testing.assert_allclose(design.matvec(w), both @ w)
    np.testing.assert_allclose(design.rmatvec(r), both.T @ r)
    np.testing.assert_allclose(design.moments(y, r).gram, both.T @ (r[:, None] * both))
    np.testing.assert_allclose(design.moments(y, r).cross, both.T @ (r * y))
    np.testing.assert_array_equal(design.csr().toarray(), both)
    np.testing.assert_allclose(design.absolute.matvec(w), abs(both) @ w)
    assert design.shape == (10, 4)
    assert design.held().shape == (10, 4)
    assert not design.nonnegative
