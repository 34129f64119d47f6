"""Rows that are embedded block by block equal the embedding that is stored, whatever the blocks."""

import numpy as np
import pytest
from cases import MAPS
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from semimetric.vectors.embeddings.base import IdentityEmbedding
from semimetric.vectors.embeddings.piecewise import PL1Embedding
from semimetric.vectors.embeddings.splines import BSplineEmbedding
from semimetric.vectors.machines.rows import EmbeddedRows

ITEMS = np.random.default_rng(0).random((23, 3))


def stored(chunk, n_columns):
    """The rows of a block as an array."""
    return sparse.csr_array((chunk.data, chunk.indices, chunk.indptr), shape=(len(chunk.indptr) - 1, n_columns)).toarray()


@pytest.mark.parametrize("name", MAPS)
@given(st.integers(1, 40), st.lists(st.integers(0, 22), max_size=40) | st.none())
def test_blocks_are_rows_of_the_stored_embedding(name, size, numbers):
    embedding = MAPS[name].fit(ITEMS, ITEMS[:, 0] > 0.5)
    rows = EmbeddedRows(embedding, embedding.encode(ITEMS), size)
    numbers = None if numbers is None else np.array(numbers, dtype=np.int64)
    wanted = np.arange(23) if numbers is None else numbers
    expected, found = embedding.transform(ITEMS)[wanted], np.empty((len(wanted), embedding.n_columns_))
    for place, part, chunk in rows.blocks(numbers):
        assert 0 < len(part) <= size
        assert np.array_equal(part, wanted[place])
        found[place] = stored(chunk, embedding.n_columns_)
    np.testing.assert_array_equal(found, expected if isinstance(expected, np.ndarray) else expected.toarray())


@pytest.mark.parametrize("penalty_order", [1, 2])
@given(st.integers(1, 40), st.lists(st.integers(0, 22), min_size=1, max_size=40))
def test_blocks_of_phi_are_rows_of_the_transform(penalty_order, size, numbers):
    embedding = BSplineEmbedding(4, degree=2, penalty_order=penalty_order).fit(ITEMS)
    rows = EmbeddedRows(embedding, embedding.encode(ITEMS), size)
    expected = embedding.transform(ITEMS[numbers])
    for place, _, chunk in rows.phi_blocks(np.array(numbers)):
        n = chunk.indptr[-1]
        found = stored(chunk._replace(indices=chunk.indices[:n], data=chunk.data[:n]), embedding.n_columns_)
        np.testing.assert_allclose(found, expected[place].toarray(), atol=1e-12)


def test_a_buffer_has_an_eighth_of_the_bytes_of_the_items_within_limits():
    few, many = np.zeros((10, 4)), np.zeros((2**17, 4))  # 4 MiB
    embedding = IdentityEmbedding().fit(few)
    assert EmbeddedRows(embedding, few).size == 10
    assert EmbeddedRows(embedding, many).size == (4 << 20) // 8 // (4 * 12)
    wide = np.zeros((1000, 400))  # of 3 MiB an eighth holds less than all rows
    assert EmbeddedRows(IdentityEmbedding().fit(wide), wide[:300]).size == (1 << 17) // (400 * 12)
    assert EmbeddedRows(embedding, sparse.csr_array(many)).size == (1 << 17) // (4 * 12)
    assert EmbeddedRows(embedding, few, 10**9).size == 10
    assert EmbeddedRows(embedding, few).index_dtype is np.int32


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_buffer_has_the_precision_of_the_embedding(dtype):
    embedding = PL1Embedding(4, dtype=dtype).fit(ITEMS)
    _, _, chunk = next(EmbeddedRows(embedding, embedding.encode(ITEMS)).blocks())
    assert chunk.data.dtype == dtype
