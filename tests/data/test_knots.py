import warnings

import numpy as np
import pytest
from cases import assert_refused

from semimetric import Grid, Schema, SemimetricWarning

STRATEGIES = ["quantile", "uniform", "kmeans"]


def turn(values, n_knots, strategy, period=24.0):
    schema = Schema.fit(np.asarray(values)[:, None], periodic={0: period})
    return Grid.fit(np.asarray(values)[:, None], n_knots=n_knots, strategy=strategy, random_state=0, schema=schema).knots[0]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_turn_is_closed_and_has_as_many_knots_as_asked(strategy, rng):
    for values in (rng.uniform(0, 24, 300), rng.uniform(22, 27, 300), rng.uniform(-100, 100, 50)):
        knots = turn(values, 6, strategy)
        assert len(knots) == 7
        assert knots[-1] - knots[0] == pytest.approx(24.0)
        assert 0 <= knots[0] < 24


def test_the_seam_is_in_the_widest_gap(rng):
    knots = turn(np.append(rng.uniform(22, 24, 50), rng.uniform(0, 3, 50)), 5, "uniform")
    assert knots[0] >= 22
    assert 24 < knots[-2] <= 27


def test_places_all_around_are_cut_evenly():
    np.testing.assert_allclose(np.diff(turn(np.arange(24.0), 8, "quantile")), 3.0)
    np.testing.assert_allclose(np.diff(turn(np.arange(24.0), 8, "uniform")), 3.0)


def test_categories_have_a_knot_each_and_one_more():
    X = np.array([["a", 1.0], ["b", 2.0], [None, 3.0]], dtype=object)
    schema = Schema.fit(X, categorical_features=[0], missing="level")
    grid = Grid.fit(X, n_knots=2, schema=schema)
    assert grid.knots[0].tolist() == [0, 1, 2]
    assert grid.sizes.tolist() == [4, 3]
    assert grid.vertices(0)[:3].tolist() == [0, 1, 2]
    assert np.isnan(grid.vertices(0)[3])
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": pandas.Categorical(["x", "y"]), "b": [0.0, 1.0]})
    assert Grid.fit(frame, n_knots=2).kinds == ("categorical", "numeric")


def test_constants_and_ties_are_said_by_kind():
    X = [["a", 5.0, 1.0, 0.0]] * 9 + [["a", 5.0, 7.0, 1.0], ["a", 5.0, 9.0, 0.5]]
    schema = Schema.fit(X, categorical_features=[0], periodic={1: 24, 2: 24})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Grid.fit(X, n_knots=4, strategy="quantile", schema=schema)
    messages = [str(w.message) for w in caught if issubclass(w.category, SemimetricWarning)]
    assert any("features 0, 1 are constant" in m for m in messages)
    assert any("fewer knots" in m and "0:" not in m for m in messages)


def test_items_of_the_fit_without_any_value_are_refused():
    schema = Schema.fit([[1.0, 2.0], [np.nan, 3.0]], missing="level")
    assert_refused(lambda: Grid.fit([[np.nan, 2.0], [np.nan, 3.0]], schema=schema), "'x0'", "nothing but missing", "drop it")
