import numpy as np
import reference
import strategies as own
from hypothesis import given

from semimetric.distances.pairs.full_tables import PairEmbedding


def fold(row, n_points):
    """{(a, b): weight} with (b, a) folded onto (a, b), and the diagonal left out."""
    out = {}
    for (a, b), weight in row.items():
        key = min(a, b) * n_points + max(a, b)
        if a != b and weight > 0:
            out[key] = out.get(key, 0.0) + weight
    return out


@given(own.pair_settings(max_size=3))
def test_pair_rows_are_id_of_the_concatenation(setting):
    grid, groups, X, Y = setting
    embedding, r = PairEmbedding(grid, groups), np.arange(len(X))
    x, y = embedding.locate(X), embedding.locate(Y)
    vertices, values = embedding._vertices(x, r, y, r)
    assert (values >= 0).all()
    for p in r:
        for g, v in enumerate(embedding.vertices):
            part = slice(embedding._slot[g], embedding._slot[g + 1])
            got = {}
            for vertex, value in zip(vertices[p, part].tolist(), values[p, part], strict=True):
                got[vertex] = got.get(vertex, 0.0) + value
            want = reference.pair_row(X[p], Y[p], grid.knots, v.group)
            flat = {a * v.n_points + b: c for (a, b), c in want.items() if c > 0}
            np.testing.assert_allclose([got.get(k, 0.0) for k in flat], list(flat.values()), atol=1e-15)
            assert sum(got.values()) == np.float64(1.0) or abs(sum(got.values()) - 1) < 1e-15


@given(own.pair_settings(max_size=1))
def test_rows_of_single_features_equal_the_general_walk(setting):
    grid, groups, X, Y = setting
    embedding, r = PairEmbedding(grid, groups), np.arange(len(X))
    x, y = embedding.locate(X), embedding.locate(Y)
    fast = embedding.rows(x, r, y, r).csr(embedding.n_columns).toarray()
    general = embedding._sparse_rows(*embedding._vertices(x, r, y, r)).csr(embedding.n_columns).toarray()
    np.testing.assert_allclose(fast, general, atol=1e-15)


@given(own.pair_settings(max_size=2))
def test_tied_rows_fold_the_mirror_image(setting):
    grid, groups, X, Y = setting
    embedding, r = PairEmbedding(grid, groups), np.arange(len(X))
    rows = embedding.csr(embedding.locate(X), r, embedding.locate(Y), r).toarray()
    for p in r:
        for g, v in enumerate(embedding.vertices):
            want = fold(reference.pair_row(X[p], Y[p], grid.knots, v.group), v.n_points)
            got = dict(zip(v.keys.tolist(), rows[p, embedding._first_column[g] : embedding._first_column[g + 1]], strict=True))
            for key, value in got.items():
                np.testing.assert_allclose(value, want.get(key, 0.0), atol=1e-15)
