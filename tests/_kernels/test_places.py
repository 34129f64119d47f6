"""Positions in 16 bits: whole ones without an error, others within half a step, and those far outside are marked."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from semimetric._kernels.places import FAR, PlaceCodes, place_codes


@given(seed=st.integers(0, 2**31), bits=st.integers(0, 14))
def test_codes_are_the_nearest_and_errors_are_measured(seed, bits):
    rng, scale = np.random.default_rng(seed), 2.0**-bits
    last = (FAR - 1) * scale - 1.0
    inside = np.concatenate([rng.uniform(-1.0, last, 40), [-1.0, 0.0, last]])
    positions = np.concatenate([inside, [-1.0 - scale, last + scale, 1e300, -1e300]])[:, None]
    places = PlaceCodes(np.empty(positions.shape, np.uint16), np.array([scale]), np.zeros(1))
    place_codes(positions, places)
    assert_array_equal(places.codes[-4:, 0], FAR)
    errors = np.abs(places.codes[:-4, 0] * scale - 1.0 - inside)
    assert places.error[0] == errors.max() <= scale / 2


@given(size=st.integers(1, 100), seed=st.integers(0, 1000))
def test_whole_positions_have_no_error(size, seed):
    positions = np.random.default_rng(seed).integers(-1, size + 1, (30, 1)).astype(np.float64)
    scale = 2.0 ** np.ceil(np.log2((size + 1.0) / (FAR - 1)))
    places = PlaceCodes(np.empty((30, 1), np.uint16), np.array([scale]), np.zeros(1))
    place_codes(positions, places)
    assert places.error[0] == 0.0
    assert_array_equal(places.codes * scale - 1.0, positions)
