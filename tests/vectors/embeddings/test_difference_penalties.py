import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference import differences
from scipy import sparse

from semimetric._kernels.csr_rows import DifferenceOperator
from semimetric.vectors.embeddings.splines import climbed

STARTS = np.array([0, 3, 4, 9])


def twin(psi, order):
    parts = [psi[:, a:b] @ np.linalg.inv(differences(b - a, order)) for a, b in zip(STARTS[:-1], STARTS[1:], strict=True)]
    return np.hstack(parts)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_suffix_sums_within_blocks(rng, order, dtype):
    psi = np.where(rng.random((2500, 9)) < 0.4, rng.integers(-3, 4, (2500, 9)), 0).astype(dtype)
    phi = climbed(sparse.csr_array(psi), DifferenceOperator(order, STARTS), n_jobs=2)
    assert phi.dtype == dtype
    assert phi.data.all()  # integers: sums cancel exactly
    assert phi.has_canonical_format
    assert_allclose(phi.toarray(), twin(psi, order), atol=1e-12)


def test_no_rows_and_empty_rows():
    assert climbed(sparse.csr_array((0, 9)), DifferenceOperator(1, STARTS)).shape == (0, 9)
    assert climbed(sparse.csr_array((3, 9)), DifferenceOperator(2, STARTS)).nnz == 0
