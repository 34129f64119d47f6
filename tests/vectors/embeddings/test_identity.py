"""The features themselves: phi(x) = x, of dense and of sparse rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from semimetric.vectors.embeddings.base import IdentityEmbedding

TABLES = hnp.arrays(
    np.float64, st.tuples(st.integers(1, 7), st.integers(1, 5)), elements=st.sampled_from([0.0, -0.0, 1.5, -2.0])
)


@given(TABLES, st.sampled_from([np.float64, np.float32]), st.sampled_from([None, 2]))
def test_rows_are_the_items_without_their_zeros(X, dtype, n_jobs):
    embedding = IdentityEmbedding(dtype=dtype, n_jobs=n_jobs).fit(X)
    for given_rows in (X, sparse.csr_array(X), sparse.csc_array(X)):
        rows = embedding.transform(given_rows)
        assert rows.dtype == dtype
        assert rows.has_canonical_format
        assert rows.nnz == np.count_nonzero(X)
        np.testing.assert_array_equal(rows.toarray(), X)


def test_every_column_is_a_term_with_the_name_of_its_feature():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"age": [1.0, 0.0], "pay": [0.5, 2.0]})
    embedding = IdentityEmbedding().fit(frame)
    assert embedding.get_feature_names_out().tolist() == ["age", "pay"]
    assert [(term.features, term.start, term.stop) for term in embedding.terms_] == [((0,), 0, 1), ((1,), 1, 2)]
    assert IdentityEmbedding().fit(frame.to_numpy()).get_feature_names_out().tolist() == ["x0", "x1"]
