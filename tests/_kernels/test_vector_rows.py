"""The kernels of rows of vectors: counting cells and searching them agree, and nothing is written beyond a row's room."""

import numpy as np
import pytest
from reference import locate

from semimetric import PL1Embedding, PL2Embedding
from semimetric._kernels.csr_rows import Chunk
from semimetric._kernels.vector_rows import write_pairs, write_singles


@pytest.mark.parametrize("n_knots", [1, 2, 3, 17, 127, 128, 129, 400])
def test_cells_are_those_of_the_paper(n_knots, rng):
    knots = np.cumsum(rng.random(n_knots) + 0.01)
    x = np.concatenate([knots, knots + 1e-9, rng.uniform(knots[0] - 1, knots[-1] + 1, 150)])[:, None]
    rows = PL1Embedding(knots=[knots]).fit([[0.0], [1.0]]).transform(x).toarray()
    for row, value in zip(rows, x[:, 0], strict=True):
        lower, upper, fraction = locate(value, knots)
        twin = np.zeros(n_knots)
        twin[lower] += 1.0 - fraction
        twin[upper] += fraction
        np.testing.assert_allclose(row, twin, atol=1e-12)


@pytest.mark.parametrize("pairs", ["all", [(0, 1), (0, 3), (2, 3)]])
def test_nothing_is_written_beyond_the_room(pairs, rng):
    X = rng.normal(size=(200, 4)) * (rng.random((200, 4)) < 0.5)
    X[rng.random(X.shape) < 0.1] = np.nan
    embedding = PL2Embedding(4, pairs=pairs, zero_preserving=True, missing="zeros").fit(X)
    room = int(embedding.nonzeros_at_most(X).sum())
    out = Chunk(np.zeros(201, np.int64), np.full(room + 3, -5, np.int32), np.full(room + 3, -5.0))
    write_pairs(X, embedding._located, False, embedding._partners, out)
    assert (out.indices[room:] == -5).all()
    assert (out.data[room:] == -5).all()
    assert out.indptr[-1] <= room
    alone = Chunk(np.zeros(201, np.int64), np.empty(2 * 800, np.int32), np.empty(2 * 800))
    write_singles(X, embedding._located, False, alone)
    n = embedding._located.width.sum()
    assert alone.data[: alone.indptr[-1]].tolist() == out.data[: out.indptr[-1]][out.indices[: out.indptr[-1]] < n].tolist()
