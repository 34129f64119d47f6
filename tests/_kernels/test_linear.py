import numpy as np
import pytest

from semimetric._kernels.linear import inner_product, linear_map, quadratic_form, trace_of


@pytest.mark.parametrize("n_features", [1, 3, 4, 5, 11])
@pytest.mark.parametrize("n_out", [1, 2, 17])
def test_is_the_product_and_gives_a_row_the_same_bits_in_any_batch(n_features, n_out, rng):
    X, matrix = rng.normal(size=(9, n_features)), rng.normal(size=(n_features, n_out))

    def product(rows):
        out = np.empty((len(rows), n_out))
        linear_map(rows, matrix, out)
        return out

    whole = product(X)
    np.testing.assert_allclose(whole, X @ matrix, rtol=1e-12, atol=1e-14)
    assert all((product(X[k : k + 1])[0] == whole[k]).all() for k in range(9))
    assert (product(X[3:]) == whole[3:]).all()


@pytest.mark.parametrize("n", [0, 1, 5])
def test_forms_are_those_of_matrices(n, rng):
    a, b, M = rng.normal(size=n), rng.normal(size=n), rng.normal(size=(n, n))
    assert inner_product(a, b) == pytest.approx(a @ b, abs=1e-12)
    assert quadratic_form(a, M) == pytest.approx(a @ M @ a, abs=1e-12)
    assert trace_of(M) == pytest.approx(np.trace(M), abs=1e-12)
