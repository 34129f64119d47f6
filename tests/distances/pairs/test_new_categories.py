from itertools import product

import numpy as np

from semimetric.data.grid import Grid
from semimetric.distances.pairs.full_tables import PairEmbedding, fill_unseen


def slow(table, known, missing):
    """A table of one categorical feature, filled to the letter."""
    out = table.copy()
    for a in range(known):
        out[a, known] = np.mean([table[a, b] for b in range(known) if b != a])
        out[known, a] = np.mean([table[b, a] for b in range(known) if b != a])
    out[known, known] = np.mean([table[a, a] for a in range(known)])
    if missing:
        out[known, -1] = np.mean([table[a, -1] for a in range(known)])
        out[-1, known] = np.mean([table[-1, a] for a in range(known)])
    return out


def test_one_feature_is_filled_with_the_means_of_the_others(rng):
    for known, missing in product((2, 3, 5), (False, True)):
        table = rng.random((known + 1 + missing,) * 2)
        np.testing.assert_allclose(fill_unseen(table, ["categorical"], [known + 1]), slow(table, known, missing))


def test_beside_numbers_every_row_is_filled_alone(rng):
    table = rng.random((4, 3, 4, 3))
    got = fill_unseen(table, ["categorical", "numeric"], [4, 3])
    for h, k in product(range(3), repeat=2):
        np.testing.assert_allclose(got[:, h, :, k], slow(table[:, h, :, k], 3, False))


def test_a_single_category_and_numbers_stay_as_they_are(rng):
    for shape, kinds, counts in (((2, 2), ["categorical"], [2]), ((3, 3), ["numeric"], [3])):
        table = rng.random(shape)
        assert (fill_unseen(table, kinds, counts) == table).all()


def test_symmetry_and_the_diagonal_are_kept(rng):
    grid = Grid([[0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 2.0]], ["categorical", "categorical"], [True, False])
    embedding = PairEmbedding(grid, "pairs")
    w = embedding.with_unseen(rng.random(embedding.n_columns))
    table = embedding.tables(w)[0].values
    assert (table == table.T).all()
    assert (np.diag(table) == 0).all()
    assert (embedding.with_unseen(w) == w).all()
