"""Dynamic time warping is that of its recursion, lies within its bounds, and is searched as by all calls."""

import pickle

import numpy as np
import pytest
import reference
from cases import assert_refused
from hypothesis import given
from hypothesis import strategies as st
from strategies import WINDOWS, series

from semimetric import DynamicTimeWarping, ElasticBounds, FilterRefineIndex


@given(series(), st.sampled_from(WINDOWS))
def test_the_distance_is_that_of_the_recursion_and_within_its_bounds(three, window):
    dtw = DynamicTimeWarping(window)
    bounds = ElasticBounds(dtw).fit(three)
    low, high = bounds.pairwise(three)
    quick = [bounds.at(x).quick(np.arange(len(three))) for x in three]
    for i, x in enumerate(three):
        for j, y in enumerate(three):
            true = dtw(x, y)
            assert true == reference.windowed_warping(x, y, window)
            assert quick[i][j] <= low[i, j] <= true <= high[i, j]
            assert true == dtw(y, x)


def test_one_channel_may_be_given_flat():
    x, y = np.array([0.0, 2.0, 1.0]), np.array([1.0, 1.0])
    assert (
        DynamicTimeWarping()(x, y)
        == DynamicTimeWarping()(x[:, None], y[:, None])
        == DynamicTimeWarping()(x.tolist(), y.astype(int))
    )
    np.testing.assert_array_equal(
        ElasticBounds(DynamicTimeWarping()).fit([x, y]).lower(x),
        ElasticBounds(DynamicTimeWarping()).fit([x[:, None], y[:, None]]).lower(x[:, None]),
    )
    assert pickle.loads(pickle.dumps(DynamicTimeWarping(3)))(x, y) == DynamicTimeWarping(3)(x, y)
    assert repr(DynamicTimeWarping(0.1)) == "DynamicTimeWarping(window=0.1)"


@pytest.mark.parametrize("own", [False, True])
def test_neighbours_are_those_of_all_calls_and_few_are_made(own):
    rng = np.random.default_rng(0)
    shapes = rng.normal(size=(8, 40, 2)).cumsum(axis=1)
    items = [shapes[k % 8][: rng.integers(30, 41)] + 0.3 * rng.normal(size=2) for k in range(160)]
    items, queries = items[:150], None if own else items[150:]
    dtw = DynamicTimeWarping(window=0.1)
    found = FilterRefineIndex(None, dtw, bounds=ElasticBounds(dtw)).fit(items).search(queries, 3)
    asked = items if own else queries
    true = np.array([[dtw(x, y) for y in items] for x in asked])
    if own:
        np.fill_diagonal(true, np.inf)
    np.testing.assert_array_equal(found.distances, np.sort(true, axis=1)[:, :3])
    np.testing.assert_array_equal(found.ids, np.argsort(true, axis=1, kind="stable")[:, :3])
    assert found.certified.all()
    assert found.n_calls.mean() < 40


BOUNDS = ElasticBounds(DynamicTimeWarping())
REFUSED = {
    "window": (lambda: DynamicTimeWarping(window=-1), "window=-1", "an integer >= 0", "share"),
    "share": (lambda: DynamicTimeWarping(window=1.5), "window=1.5", "at most 1.0", ""),
    "infinite": (lambda: DynamicTimeWarping(window=np.inf), "window=inf", "an integer >= 0", ""),
    "text": (lambda: DynamicTimeWarping(window="wide"), "window='wide'", "None", ""),
    "empty": (lambda: DynamicTimeWarping()([], [1.0]), "x has shape (0,)", "with a step", ""),
    "NaN": (lambda: DynamicTimeWarping()([1.0], [np.nan]), "y", "NaN", ""),
    "item": (lambda: BOUNDS.fit([[1.0], [np.inf]]), "object 1 of X", "infinite", ""),
    "shape": (lambda: BOUNDS.fit([np.zeros((2, 2, 2))]), "shape (2, 2, 2)", "(n_steps, n_channels)", ""),
    "channels": (lambda: DynamicTimeWarping()(np.zeros((3, 2)), np.zeros(3)), "2 channels and y 1", "same channels", ""),
    "others": (lambda: BOUNDS.fit([np.zeros((3, 2)), np.zeros(3)]), "object 1 of X has 1 channels", "have 2", ""),
    "query": (lambda: BOUNDS.fit([[0.0, 1.0]]).lower(np.zeros((3, 2))), "query has 2 channels", "same channels", ""),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_series_is_refused(name):
    assert_refused(*REFUSED[name])
