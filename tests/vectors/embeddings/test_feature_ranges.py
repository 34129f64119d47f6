"""Ranges of features, and values that linear extrapolation cannot reach."""

import numpy as np
import pytest
from cases import assert_refused
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from semimetric import BSplineEmbedding, PL1Embedding
from semimetric.vectors.embeddings.knots import check_reach, feature_ranges

VALUES = st.one_of(st.floats(-1e6, 1e6), st.just(np.nan))


@given(arrays(np.float64, (5, 2), elements=VALUES))
def test_ranges_are_those_of_the_known_values(items):
    low, high = feature_ranges(items, ("u", "v"))
    for f in range(2):
        known = items[~np.isnan(items[:, f]), f]
        want = (known.min(), known.max()) if len(known) else (np.nan, np.nan)
        np.testing.assert_array_equal((low[f], high[f]), want)


def test_a_range_that_overflows_is_refused():
    items = np.array([[0.0, -1e308], [1.0, 1e308]])
    assert_refused(lambda: feature_ranges(items, ("u", "v")), "feature 'v' runs from -1e+308 to 1e+308", "larger units")


KNOTS = [np.array([0.0, 1.0, 3.0]), np.array([0.0]), np.array([-1.0, 1.0])]


@pytest.mark.parametrize("sparse_rows", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_only_values_whose_extrapolation_overflows_are_refused(dtype, sparse_rows):
    largest = float(np.finfo(dtype).max)
    shape = sparse.csr_array if sparse_rows else np.array
    fine = [[0.5, 1e300, -1.0], [largest / 32, -1e300, -largest / 32], [np.nan, np.nan, np.nan]]
    assert check_reach(shape(fine), KNOTS, "abc", dtype) is None
    assert check_reach(shape(np.empty((0, 3))), KNOTS, "abc", dtype) is None
    for feature, value in ((0, -largest / 8), (0, largest / 4), (2, largest / 4)):
        far = np.zeros((2, 3))
        far[1, feature] = value
        message = f"feature {'abc'[feature]!r} has the value {value:g}, too far from its knots"
        assert_refused(lambda far=far: check_reach(shape(far), KNOTS, "abc", dtype), message, "use 'clip'")


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("embedding", [PL1Embedding(3), BSplineEmbedding(2, degree=3, penalty_order=0)], ids=repr)
def test_what_is_accepted_is_finite(embedding):
    """The farthest value that is accepted has finite entries, in the smaller of the two types."""
    model = embedding.set_params(extrapolation="linear", dtype=np.float32).fit(np.linspace(0, 1, 20)[:, None])
    largest = float(np.finfo(np.float32).max) / 16 / 2
    for value in (0.9 * largest / 2, -0.9 * largest / 2):
        assert np.isfinite(model.transform([[value]]).data).all()
