import numpy as np
import reference
import strategies as own
from cases import assert_refused
from hypothesis import given
from hypothesis import strategies as st

from semimetric import NotSupportedError
from semimetric.data.grid import Grid
from semimetric.distances.pairs.full_tables import PairEmbedding
from semimetric.distances.pairs.monotone_scales import WarpedEmbedding, l1_of_alike


@given(st.data(), own.grids())
def test_is_l1_between_monotone_scales(data, grid):
    embedding = WarpedEmbedding(grid)
    w, X, Y = data.draw(own.weights(embedding.n_columns)), data.draw(own.points(grid, 3)), data.draw(own.points(grid, 3))
    rises = np.split(w, np.cumsum(grid.sizes - 1)[:-1])
    want = [reference.warped(x, y, grid.knots, rises) for x, y in zip(X, Y, strict=True)]
    x, y, r = embedding.locate(X), embedding.locate(Y), np.arange(3)
    np.testing.assert_allclose(embedding.paired(x, r, y, r, w), want, atol=1e-12)
    np.testing.assert_allclose(embedding.rows(x, r, y, r).matvec(w), want, atol=1e-12)
    full = PairEmbedding(grid)  # and its tables are one-feature tables of the full family
    tables = np.concatenate([t.values.ravel()[v.keys] for t, v in zip(embedding.tables(w), full.vertices, strict=True)])
    np.testing.assert_allclose(full.paired(full.locate(X), r, full.locate(Y), r, tables), want, atol=1e-12)


def test_prior_is_weighted_l1_and_second_differences_vanish_on_it():
    embedding = WarpedEmbedding(Grid([[0.0, 1.0, 4.0], [5.0, 6.0]]))
    w = embedding.prior(np.array([2.0, 3.0]))
    assert w.tolist() == [2.0, 6.0, 3.0]
    np.testing.assert_allclose(embedding.differences("curves") @ w, 0.0, atol=1e-15)
    assert embedding.differences("tables").shape == (0, 3)
    assert embedding.differences("shifts") @ w == [4.0]


def test_select_keeps_the_weights_of_the_groups_that_stay():
    embedding = WarpedEmbedding(Grid([[0.0, 1.0], [0.0, 1.0, 2.0], [0.0, 3.0]]))
    part = embedding.select(np.array([2]), np.array([0, 2]))
    assert part.groups == ((1,),)
    assert part.n_columns == 1


def test_groups_of_several_features_are_refused():
    grid = Grid([[0.0, 1.0]] * 2)
    assert_refused(
        lambda: WarpedEmbedding(grid, [(0, 1)]), "one scale a feature", 'groups="singles"', 'tables="full"', NotSupportedError
    )


@given(st.integers(0, 10_000), st.integers(1, 20), st.integers(1, 5), st.integers(0, 6))
def test_rows_that_are_alike_have_the_same_distances(seed, n, p, n_changed):
    rng = np.random.default_rng(seed)
    left, right = np.tile(rng.integers(0, 3, p), (n, 1)).astype(float), rng.integers(0, 3, (600, p)) + rng.random((600, p)) / 9
    left[rng.integers(0, n, n_changed), rng.integers(0, p, n_changed)] += rng.random(n_changed)
    right[:n] = left
    found = l1_of_alike(left, np.ascontiguousarray(right.T))
    np.testing.assert_allclose(found, np.abs(left[:, None] - right).sum(axis=2), atol=1e-12)
    assert found.min() >= 0
