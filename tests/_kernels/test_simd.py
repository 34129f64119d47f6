"""The sums of 64 items in vector registers are those of a loop, cut off at 255."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semimetric._kernels.jit import kernel
from semimetric._kernels.simd import LANES, _scanned, scan_64


@kernel
def masks(tables, codes, n_columns, limit, out):
    for block in range(out.shape[0]):
        out[block] = scan_64(tables, codes, block, n_columns, limit)


@pytest.mark.compiled
@given(
    seed=st.integers(0, 2**31), n_columns=st.integers(1, 70), most=st.sampled_from([1, 20, 256]),
    limit=st.sampled_from([0, 30, 127, 128, 200, 254, 255]),
)  # fmt: skip
def test_masks_are_those_of_numpy(seed, n_columns, most, limit):
    rng = np.random.default_rng(seed)
    tables = rng.integers(0, most, 16 * n_columns).astype(np.uint8)
    codes = rng.integers(0, 64, 3 * n_columns * LANES).astype(np.uint8)
    out = np.empty(3, np.uint64)
    masks(tables, codes, n_columns, np.uint8(limit), out)
    assert out.tolist() == [int(_scanned(tables, codes, block, n_columns, limit)) for block in range(3)]


def test_numpy_sums_what_the_codes_choose():
    tables, codes = np.zeros(32, np.uint8), np.zeros(2 * LANES, np.uint8)
    tables[3], tables[16 + 9], codes[5], codes[LANES + 5] = 7, 2, 4 * 3 + 1, 4 * 9 + 3
    assert [int(_scanned(tables, codes, 0, 2, limit)) >> 5 & 1 for limit in (8, 9)] == [0, 1]
    tables[3] = tables[16 + 9] = 200
    assert [int(_scanned(tables, codes, 0, 2, limit)) >> 5 & 1 for limit in (254, 255)] == [0, 1]
