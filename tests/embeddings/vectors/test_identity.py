import numpy as np
import pytest
from scipy import sparse

from semimetric.embeddings.vectors.base import Term
from semimetric.embeddings.vectors.identity import IdentityEmbedding


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_it_returns_the_features_without_their_zeros(dtype, n_jobs, rng):
    X = rng.normal(size=(50, 4)) * (rng.random((50, 4)) < 0.5)
    for items in (X, sparse.csr_array(X)):
        phi = IdentityEmbedding(dtype=dtype, n_jobs=n_jobs).fit_transform(items)
        assert phi.dtype == dtype
        assert phi.nnz == np.count_nonzero(X)
        np.testing.assert_array_equal(phi.toarray(), X.astype(dtype))


def test_every_feature_is_a_term_and_keeps_its_name():
    embedding = IdentityEmbedding().fit([[1.0, 0.0], [0.0, 2.0]])
    assert embedding.terms_ == (Term((0,), 0, 1), Term((1,), 1, 2))
    assert embedding.get_feature_names_out().tolist() == ["x0", "x1"]
    assert embedding.n_columns_ == embedding.most_nonzeros == 2
