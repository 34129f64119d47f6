"""Gower's distance as an embedding, against the slow twin."""

import numpy as np
import pytest
import reference

from semimetric.data.grid import Grid
from semimetric.distances.pairs.full_tables import PairEmbedding
from semimetric.distances.pairs.gower import GapEmbedding

KINDS = ("numeric", "categorical", "periodic", "numeric")
GRID = Grid([[0.0, 1.0, 4.0], [0.0, 1.0, 2.0], [0.0, 2.0, 6.0], [3.0]], KINDS, [True, False, True, False])


@pytest.fixture
def items(rng):
    X = np.column_stack([rng.uniform(0, 4, 12), rng.integers(0, 3, 12), rng.uniform(0, 6, 12), np.full(12, 3.0)])
    X[1, 0] = X[4, 2] = X[5, 0] = X[5, 2] = np.nan
    return X


def test_it_is_gowers_distance(items, rng):
    embedding = GapEmbedding(GRID)
    assert embedding.groups == ((0,), (1,), (2,))  # the last feature does not vary
    w = rng.random(3)
    widths, weights = [4.0, 1.0, 3.0, 1.0], np.append(w, 0.0)
    rows = [[None if np.isnan(v) else v for v in x] for x in items]
    want = [[reference.gower(x, y, KINDS, widths, weights) for y in rows] for x in rows]
    located = embedding.locate(items)
    found = embedding.pairwise(located, located, w)
    np.testing.assert_allclose(found, want, atol=1e-12)
    np.testing.assert_array_equal(embedding.pairwise(located, located, w, n_jobs=2), found)


def test_contributions_tables_and_products_agree(items, rng):
    embedding = GapEmbedding(GRID)
    w, i, j = rng.random(3), rng.integers(0, 12, 30), rng.integers(0, 12, 30)
    located = embedding.locate(items)
    parts = embedding.contributions(located, i, located, j, w)
    np.testing.assert_allclose(parts.sum(axis=1), embedding.paired(located, i, located, j, w))
    np.testing.assert_allclose(embedding.csr(located, i, located, j) @ w, parts.sum(axis=1))
    for (f,), table in zip(embedding.groups, embedding.tables(w), strict=True):
        vertices = np.full((len(table.values), 4), 3.0)
        vertices[:, :3] = 0.0
        vertices[:, f] = GRID.vertices(f)
        at = embedding.locate(vertices)
        np.testing.assert_allclose(embedding.pairwise(at, at, w), table.values, atol=1e-12)


def test_its_prior_is_that_of_full_tables_at_the_knots():
    slopes = np.array([2.0, 0.5, 1.5, 7.0])
    gower, tables = GapEmbedding(GRID), PairEmbedding(GRID.select(np.arange(3)))
    values = gower.tables(gower.prior(slopes))
    for mine, theirs in zip(values, tables.tables(tables.prior(slopes[:3])), strict=True):
        np.testing.assert_allclose(mine.values, theirs.values)


def test_some_of_the_groups_keep_their_weights(items, rng):
    embedding, w = GapEmbedding(GRID), rng.random(3)
    part = embedding.select(np.array([0, 2]), np.array([0, 2]))
    i, j = np.arange(12), np.arange(12)[::-1]
    whole, some = embedding.locate(items), part.locate(items[:, [0, 2]])
    want = embedding.contributions(whole, i, whole, j, w)[:, [0, 2]]
    np.testing.assert_allclose(part.contributions(some, i, some, j, w[[0, 2]]), want)


def test_it_has_no_differences_and_one_cell_a_feature():
    embedding = GapEmbedding(GRID)
    assert embedding.cells.tolist() == [1.0, 1.0, 1.0]
    for kind in ("tables", "curves", "shifts"):
        assert embedding.differences(kind).shape == (0, 3)
