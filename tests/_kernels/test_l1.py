"""L1 distances, beside SciPy's."""

import numpy as np
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist

from semimetric._kernels.l1 import l1_to_columns
from semimetric.distances.pairs.monotone_scales import l1_pairwise


def test_distances_are_those_of_scipy(rng):
    for n, m, k in ((1, 1, 1), (7, 1_200, 5), (300, 40, 3), (3, 0, 2), (2, 4, 0)):
        left, right = rng.normal(size=(n, k)), rng.normal(size=(m, k))
        out = np.full((n, m), np.nan)
        l1_to_columns(left, np.ascontiguousarray(right.T), out)
        want = cdist(left, right, "cityblock") if m and k else np.zeros((n, m))
        assert_allclose(out, want, rtol=1e-13)
        for n_jobs in (1, 2):
            assert_allclose(l1_pairwise(left, right, n_jobs=n_jobs), want, rtol=1e-13)
