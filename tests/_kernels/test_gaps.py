"""Sums of gaps over pairs, beside NumPy's."""

import numpy as np
from numpy.testing import assert_allclose

from semimetric._kernels.gaps import add_gaps


def test_gaps_are_added_with_their_factors(rng):
    left, right, factor = rng.normal(size=(5, 3)), rng.normal(size=(4, 3)), rng.normal(size=(5, 4))
    factor[1, 2] = 0.0
    out = np.ones(3)
    add_gaps(left, right, factor, out)
    assert_allclose(out, 1 + np.einsum("ij,ijk->k", factor, np.abs(left[:, None] - right)))
