import numpy as np
import reference
import strategies as own
from hypothesis import given
from hypothesis import strategies as st

from semimetric.data.grid import Grid
from semimetric.distances.pairs.full_tables import PairEmbedding


@given(st.data(), own.grids(), st.sampled_from(["tie", "none"]), st.booleans())
def test_tabulated_queries_look_up_every_table(data, grid, symmetry, zero_diagonal):
    embedding = PairEmbedding(grid, symmetry=symmetry, zero_diagonal=zero_diagonal)
    X, Y, w = data.draw(own.points(grid, 2)), data.draw(own.points(grid, 3)), data.draw(own.weights(embedding.n_columns))
    tables = {t.features: t.values for t in embedding.tables(w)}
    want = [[reference.distance(x, y, grid.knots, tables) for y in Y] for x in X]
    np.testing.assert_allclose(embedding.pairwise(embedding.locate(X), embedding.locate(Y), w), want, atol=1e-12)


def test_more_knots_than_a_byte_counts(rng):
    knots = np.cumsum(rng.uniform(0.1, 1.0, 300))
    embedding = PairEmbedding(Grid([knots]))
    X, w = rng.uniform(knots[0], knots[-1], (40, 1)), rng.random(embedding.n_columns)
    items, r = embedding.locate(X), np.arange(40)
    np.testing.assert_allclose(embedding.pairwise(items, items, w)[r, r[::-1]], embedding.paired(items, r, items, r[::-1], w))
