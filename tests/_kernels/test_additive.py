"""The min kernel tile by tile against its definition."""

import numpy as np
import pytest

from semimetric._kernels.additive import min_gram


@pytest.mark.parametrize("m", [1, 1023, 1024, 1025, 2100])
@pytest.mark.parametrize("n_features", [0, 1, 4])
def test_sums_the_minima_of_all_features_in_every_tile(m, n_features, rng):
    x, y = rng.normal(size=(3, n_features)), rng.normal(size=(m, n_features))
    out = np.full((3, m), np.nan)  # it does not count what was there
    min_gram(x, np.ascontiguousarray(y.T), out)
    np.testing.assert_allclose(out, np.minimum(x[:, None], y[None]).sum(axis=2), rtol=1e-14, atol=1e-14)


def test_an_item_with_itself_is_its_own_sum(rng):
    x = rng.integers(0, 9, (20, 3)).astype(float)
    out = np.empty((20, 20))
    min_gram(x, np.ascontiguousarray(x.T), out)
    assert (np.diag(out) == x.sum(axis=1)).all()
    assert (out == out.T).all()
