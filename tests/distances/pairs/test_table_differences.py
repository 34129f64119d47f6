import numpy as np
import pytest
import strategies as own
from hypothesis import given, settings
from hypothesis import strategies as st

from semimetric.data.grid import Grid
from semimetric.distances.pairs.full_tables import PairEmbedding
from semimetric.distances.pairs.monotone_scales import WarpedEmbedding

GRID = Grid([[0.0, 1.0, 3.0, 4.0], [0.0, 2.0, 3.0]])


def columns_of(embedding, tables):
    """Weights of a pair embedding from whole tables."""
    return np.concatenate([t.ravel()[v.keys] for t, v in zip(tables, embedding.vertices, strict=True)])


@settings(max_examples=30)
@given(st.data(), own.grids(max_features=2))
def test_mixed_differences_vanish_on_warped_tables(data, grid):
    """Also on joint tables that are sums of them."""
    scales = WarpedEmbedding(grid)
    tables = [t.values for t in scales.tables(data.draw(own.weights(scales.n_columns)))]
    singles, joint = PairEmbedding(grid), PairEmbedding(grid, [tuple(range(grid.n_features))])
    sizes = [len(t) for t in tables]
    whole = tables[0] if len(tables) == 1 else np.add.outer(tables[0], tables[1]).transpose(0, 2, 1, 3)
    whole = whole.reshape(np.prod(sizes), -1)
    for embedding, parts in ((singles, tables), (joint, [whole])):
        np.testing.assert_allclose(embedding.differences("tables") @ columns_of(embedding, parts), 0.0, atol=1e-12)


def test_mixed_differences_vanish_on_nothing_else(rng):
    """For one feature the null space among non-negative tables has the dimension of the warped family."""
    embedding = PairEmbedding(Grid([np.arange(5.0)]))
    D = embedding.differences("tables").toarray()
    # c(c-1)/2 tables less the blocks off the diagonal leave the c - 1 rises of a scale
    assert embedding.n_columns - np.linalg.matrix_rank(D) == 4


@pytest.mark.parametrize("groups", ["singles", "pairs"])
def test_second_differences_vanish_on_weighted_l1(groups):
    embedding = PairEmbedding(GRID, groups)
    np.testing.assert_allclose(embedding.differences("curves") @ embedding.prior(np.array([2.0, 3.0])), 0.0, atol=1e-12)
    bent = embedding.prior(np.array([2.0, 3.0])) ** 2
    assert np.abs(embedding.differences("curves") @ bent).max() > 0.1


@pytest.mark.parametrize("groups", ["singles", "pairs"])
def test_shifts_vanish_on_what_depends_on_differences_of_indices(groups):
    grid = Grid([np.arange(4.0), np.arange(3.0)])
    embedding = PairEmbedding(grid, groups)
    saturating = np.minimum(embedding.prior(np.ones(2)), 1.5)
    np.testing.assert_allclose(embedding.differences("shifts") @ saturating, 0.0, atol=1e-12)
    assert np.abs(embedding.differences("shifts") @ np.arange(embedding.n_columns)).max() > 0


@pytest.mark.parametrize("kind", ["tables", "curves", "shifts"])
def test_a_tied_stencil_and_its_mirror_image_count_once(kind, rng):
    tied, free = PairEmbedding(GRID, "pairs"), PairEmbedding(GRID, "pairs", symmetry="none")
    table = rng.random((12, 12))
    table = table + table.T
    np.fill_diagonal(table, 0.0)
    sizes = [np.sum((e.differences(kind) @ columns_of(e, [table])) ** 2) for e in (tied, free)]
    assert sizes[1] == pytest.approx(2 * sizes[0])


def test_small_grids_have_no_stencils():
    for knots in ([1.0], [0.0, 1.0]):
        embedding = PairEmbedding(Grid([knots]))
        assert embedding.differences("curves").shape == (0, embedding.n_columns)
        assert embedding.differences("shifts").shape[0] == 0


MIXED = Grid(
    [[0.0, 1.0, 3.0, 4.0], [0.0, 6.0, 12.0, 18.0, 24.0], [0.0, 1.0, 2.0, 3.0]],
    ["numeric", "periodic", "categorical"],
    [True] * 3,
)


@pytest.mark.parametrize("kind", ["tables", "curves", "shifts"])
@pytest.mark.parametrize("groups", ["singles", "pairs"])
def test_differences_vanish_on_gowers_distance_of_any_kinds(kind, groups):
    embedding = PairEmbedding(MIXED, groups)
    w = embedding.prior(np.array([2.0, 3.0, 5.0]))
    w = w / w if kind == "shifts" else w  # of slopes
    np.testing.assert_allclose(embedding.differences(kind) @ w, 0.0, atol=1e-12)


def test_no_difference_crosses_to_missing_values_or_between_categories():
    embedding = PairEmbedding(MIXED)
    touched = {kind: np.flatnonzero(np.abs(embedding.differences(kind)).sum(axis=0)) for kind in ("tables", "curves", "shifts")}
    owner = embedding.group_of_column
    assert [set(owner[columns]) for columns in touched.values()] == [{0}, {0}, {0, 1}]
    numbers, circle, _ = embedding.vertices
    for kind, columns in touched.items():
        keys = numbers.keys[columns[owner[columns] == 0]]
        a, b = np.divmod(keys, 5)
        assert (a < 4).all()
        assert (b < 4).all() or kind == "curves"  # along the numbers there are curves beside a missing one
    around = circle.keys[touched["shifts"][owner[touched["shifts"]] == 1] - len(numbers.keys)]
    assert set(np.concatenate(np.divmod(around, 6)).tolist()) == {0, 1, 2, 3}


def test_shifts_wrap_around_a_circle():
    embedding = PairEmbedding(MIXED, [(1,)])
    D = embedding.differences("shifts").toarray()
    tables = np.zeros((6, 6))
    for a in range(4):
        for b in range(4):
            tables[a, b] = [0.0, 1.0, 5.0, 1.0][(a - b) % 4]
    w = columns_of(embedding, [tables])
    np.testing.assert_allclose(D @ w, 0.0, atol=1e-12)
    w[list(embedding.vertices[0].keys).index(3)] += 1.0  # (0, 3), which neighbours (0, 1) around the seam
    assert np.count_nonzero(np.abs(D @ w) > 0.1) >= 2
