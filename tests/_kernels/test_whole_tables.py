"""Whole numbers of tables against NumPy, with empty cells, constant tables and steps that overflow."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from semimetric._kernels.whole_tables import magnitudes, rises, round_down


@pytest.mark.filterwarnings("ignore:.* encountered in scalar:RuntimeWarning")  # without the compiler
@given(seed=st.integers(0, 1000), scale=st.sampled_from([0.0, 1e-300, 1.0, 1e300]), step=st.sampled_from([0.0, 100.0, np.inf]))
def test_rises_and_whole_numbers(seed, scale, step):
    rng = np.random.default_rng(seed)
    tables = scale * np.round(rng.normal(size=(3, 4, 16)), 1)
    tables[rng.random(tables.shape) < 0.1] = np.inf
    tables[:, :, 0] = 0.0
    above = tables - tables.min(axis=2, keepdims=True)
    finite = np.where(np.isinf(above), 0.0, above).max(axis=2)
    base, span = np.empty(3), np.empty(3)
    rises(tables, base, span)
    assert_allclose(base, tables.min(axis=2).sum(axis=1), rtol=1e-12)
    assert_array_equal(span, finite.max(axis=1))
    size = np.empty(3)
    magnitudes(tables, size)
    assert_allclose(size, np.where(np.isinf(tables), 0.0, np.abs(tables)).max(axis=2).sum(axis=1), rtol=1e-12)
    out = np.empty(tables.shape, np.float32)
    round_down(tables, np.full(3, step), 1e-6, out)
    with np.errstate(invalid="ignore", over="ignore"):
        want = np.floor(above * step - 1e-6)
    assert_array_equal(out, np.clip(np.nan_to_num(want, nan=0.0, posinf=255.0), 0.0, 255.0))
