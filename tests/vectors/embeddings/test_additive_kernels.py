import numpy as np
import pytest
from cases import assert_refused
from numpy.testing import assert_allclose
from sklearn.svm import SVC

from semimetric.vectors.embeddings.additive_kernels import min_kernel, spline_kernel


@pytest.mark.parametrize("m", [1, 3, 1500])
def test_min_kernel_sums_minima(rng, m):
    X, Y = rng.random((4, 5)), rng.random((m, 5))
    assert_allclose(min_kernel(X, Y), np.minimum(X[:, None], Y[None]).sum(axis=2))
    assert np.linalg.eigvalsh(min_kernel(X)).min() > 0


def test_spline_kernels_are_close_to_it(rng):
    """Within (degree + 1) / (4 n_bins) a feature; by how much for each degree is seen in Fig. 2."""
    X = rng.random((40, 3))
    for degree in (1, 2, 3):
        off = np.abs(spline_kernel(X, degree=degree, n_bins=20) - min_kernel(X))
        far = (np.abs(X[:, None] - X[None]) >= degree / 20).all(axis=2)
        assert off[far].max() < 1e-12
        assert off.max() <= 3 * (degree + 1) / 80
    assert_allclose(spline_kernel(X, X[:5]), spline_kernel(X)[:, :5])


def test_both_serve_a_kernel_machine(rng):
    X = rng.random((120, 2))
    y = ((X - 0.5) ** 2).sum(axis=1) < 0.1
    for kernel in (min_kernel, spline_kernel):
        assert SVC(kernel=kernel, C=100).fit(X, y).score(X, y) > 0.95


def test_bad_input_is_refused():
    assert_refused(lambda: min_kernel([[0.0, 1.0]], [[0.0]]), "Y has 1 features", "2 features are required")
    assert_refused(lambda: spline_kernel([[0.0]], n_bins=0), "n_bins=0", "an integer >= 1")
    assert_refused(lambda: spline_kernel([[0.0]], degree=5), "degree=5", "use one of 1, 2, 3")
