"""Absolute differences of many features, beside NumPy's."""

import numpy as np
from numpy.testing import assert_allclose

from semimetric._kernels.pair_gaps import add_slopes, fill_gaps


def test_slopes_and_columns_are_those_of_the_matrix(rng):
    features, pairs, factor = rng.normal(size=(30, 7)), rng.integers(0, 30, (150, 2)), rng.normal(size=150)
    left, right = np.ascontiguousarray(pairs.T)
    gaps = np.abs(features[left] - features[right])
    out = np.ones(7)
    add_slopes(features, left, right, factor, out)
    assert_allclose(out, 1 + factor @ gaps)
    values = np.empty((150, 7))
    fill_gaps(features, left, right, factor, values)
    assert_allclose(values, factor[:, None] * gaps)


def test_slopes_of_single_precision_are_summed_in_double(rng):
    features, pairs = rng.random((40, 3)), rng.integers(0, 40, (20_000, 2))
    left, right = np.ascontiguousarray(pairs.T)
    out = np.zeros(3)
    add_slopes(features.astype(np.float32), left, right, np.ones(20_000, np.float32), out)
    assert_allclose(out, np.abs(features[left] - features[right]).sum(axis=0), rtol=1e-6)
