"""Elastic distances are those of their recursions, lie within their bounds, and are searched as by all calls."""

import copy
import pickle

import numpy as np
import pytest
import reference
from cases import assert_refused
from hypothesis import given
from hypothesis import strategies as st
from strategies import WINDOWS, series

from semimetric import (
    DistanceApproximator,
    DistanceRegressor,
    ElasticBounds,
    ElasticDistance,
    FilterRefineIndex,
    SeriesFeatures,
)

SETTINGS = st.sampled_from(
    [
        ("erp", {}),
        ("erp", {"g": -1.5}),
        ("lcss", {}),
        ("lcss", {"epsilon": 0.3}),
        ("edr", {"epsilon": 0.5}),
        ("edr", {"epsilon": 0}),
    ]
    + [("msm", {}), ("msm", {"c": 0.1}), ("twed", {}), ("twed", {"nu": 0.2, "lmbda": 0.1}), ("twed", {"lmbda": 0.0})]
)
METRICS = [("erp", {"g": 0.5}), ("msm", {"c": 0.2}), ("twed", {"nu": 0.05, "lmbda": 0.1}), ("twed", {"lmbda": 0.0})]


@given(series(), SETTINGS, st.sampled_from(WINDOWS))
def test_the_distance_is_that_of_the_recursion_and_within_its_bounds(three, setting, window):
    kind, parameters = setting
    distance = ElasticDistance(kind, window=window, **parameters)
    bounds = ElasticBounds(distance).fit(three)
    low, high = bounds.pairwise(three)
    quick = [bounds.at(x).quick(np.arange(len(three))) for x in three]
    for i, x in enumerate(three):
        for j, y in enumerate(three):
            true = distance(x, y)
            assert true == pytest.approx(reference.elastic_distance(kind, x, y, window, **parameters), rel=1e-12, abs=1e-15)
            assert max(quick[i][j], low[i, j]) <= true <= high[i, j]
            assert true == distance(y, x)
            assert i != j or true == 0.0


@given(series(), st.sampled_from(METRICS))
def test_metrics_keep_the_triangle_inequality_without_a_window(three, setting):
    kind, parameters = setting
    distance = ElasticDistance(kind, **parameters)
    x, y, z = three
    assert distance(x, z) <= (distance(x, y) + distance(y, z)) * (1 + 1e-12)


def test_edr_and_lcss_and_windows_break_the_triangle_inequality():
    for distance, x, y, z in [
        (ElasticDistance("edr"), [0.0], [1.0], [2.0]),
        (ElasticDistance("lcss"), [0.0], [1.0], [2.0]),
        (ElasticDistance("erp", g=-1.5, window=1), [-3.0, -5.0, -1.0, 1.0], [0.0], [0.0, 0.0, -1.0]),
        (ElasticDistance("msm", c=0.1, window=0), [0.0, -1.0, -1.0], [-1.0, -1.0], [1.0, 1.0, 1.0]),
        (ElasticDistance("twed", lmbda=0.0, window=0), [3.0, 4.0, 6.0], [1.0, 2.0], [0.0, 0.0, 0.0]),
    ]:
        assert distance(x, z) > distance(x, y) + distance(y, z)


def test_values_are_those_of_aeon_in_one_channel():
    """aeon 1.x prints these in its docstrings, of 1 to 10 and other series."""
    x, shifted = np.arange(1.0, 11.0), np.arange(11.0, 21.0)
    assert ElasticDistance("erp")(x, [2, 2, 2, 2, 5, 6, 7, 8, 9, 10]) == 4.0
    assert ElasticDistance("twed")(x, shifted) == pytest.approx(46.018)
    assert ElasticDistance("twed")([1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0]) == pytest.approx(13.005)
    assert ElasticDistance("lcss")([1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0]) == pytest.approx(2 / 3)
    assert ElasticDistance("msm")(x[:1], x) == 18.0


@pytest.mark.parametrize("kind", ["erp", "lcss", "edr", "msm", "twed"])
def test_neighbours_are_those_of_all_calls_and_fewer_are_made(kind):
    rng = np.random.default_rng(0)
    shapes = 3 * rng.normal(size=(8, 40, 2)).cumsum(axis=1)
    items = [shapes[k % 8][: rng.integers(35, 41)] + 0.2 * rng.normal(size=2) for k in range(130)]
    items, queries = items[:120], items[120:]
    distance = ElasticDistance(kind, window=0.1)
    found = FilterRefineIndex(None, distance, bounds=ElasticBounds(distance)).fit(items).search(queries, 3)
    true = np.array([[distance(x, y) for y in items] for x in queries])
    np.testing.assert_array_equal(found.distances, np.sort(true, axis=1)[:, :3])
    np.testing.assert_array_equal(found.ids, np.argsort(true, axis=1, kind="stable")[:, :3])
    assert found.certified.all()
    assert found.n_calls.mean() < 60


def test_a_distance_is_learned_in_its_place():
    rng = np.random.default_rng(0)
    items = [rng.normal(size=rng.integers(8, 13)).cumsum() for _ in range(40)]
    distance = ElasticDistance("msm", c=0.5)
    learner = DistanceRegressor(n_knots=3, alpha=1e-2, link="identity")
    model = DistanceApproximator(distance, learner, features=SeriesFeatures(n_path=4, n_quantiles=2, n_windows=2), n_pairs=200)
    model.fit(items)
    found = FilterRefineIndex(model, distance, bounds=ElasticBounds(distance)).fit(items).search(items[:3], 2)
    true = np.array([[distance(x, y) for y in items] for x in items[:3]])
    np.testing.assert_array_equal(found.distances, np.sort(true, axis=1)[:, :2])


def test_values_and_bounds_are_copied_and_shown():
    x, y = [0.0, 2.0, 1.0], [1.0, 1.0]
    distance = ElasticDistance("twed", nu=0.5, window=0.5)
    assert repr(distance) == "ElasticDistance('twed', window=0.5, nu=0.5, lmbda=1.0)"
    assert pickle.loads(pickle.dumps(distance))(x, y) == copy.deepcopy(distance)(x, y) == distance(x, y)
    bounds = ElasticBounds(distance).fit([x, y])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(bounds)).lower(x), bounds.lower(x))


REFUSED = {
    "kind": (lambda: ElasticDistance("dtw"), "kind='dtw'", "'erp', 'lcss'", "one of"),
    "other": (lambda: ElasticDistance("msm", epsilon=1.0), "epsilon= was given", "'msm' takes c", "leave it out"),
    "negative": (lambda: ElasticDistance("edr", epsilon=-1), "epsilon=-1", "finite number >= 0", ""),
    "infinite": (lambda: ElasticDistance("erp", g=np.inf), "g=inf", "finite number", ""),
    "text": (lambda: ElasticDistance("twed", nu="small"), "nu='small'", "finite number >= 0", ""),
    "truth": (lambda: ElasticDistance("msm", c=True), "c=True", "finite number >= 0", ""),
    "window": (lambda: ElasticDistance("erp", window=-1), "window=-1", "an integer >= 0", "share"),
    "empty": (lambda: ElasticDistance("erp")([], [1.0]), "x has shape (0,)", "with a step", ""),
    "NaN": (lambda: ElasticDistance("lcss")([1.0], [np.nan]), "y", "NaN", ""),
    "channels": (lambda: ElasticDistance("edr")(np.zeros((3, 2)), [0.0]), "2 channels and y 1", "same channels", ""),
    "function": (lambda: ElasticBounds(max).fit([[1.0]]), "built-in function max", "DynamicTimeWarping(...)", "give"),
    "item": (lambda: ElasticBounds(ElasticDistance("erp")).fit([[1.0], [np.inf]]), "object 1 of X", "infinite", ""),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_compared_is_refused(name):
    assert_refused(*REFUSED[name])
