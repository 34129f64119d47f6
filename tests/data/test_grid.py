import re
import warnings

import numpy as np
import pytest
from cases import assert_refused

from semimetric import SemimetricWarning
from semimetric.data.grid import Grid, schema_of
from semimetric.data.schema import Feature, Schema

STRATEGIES = ["quantile", "uniform", "kmeans"]


@pytest.mark.filterwarnings("ignore:ties in the data")
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("n_knots", [2, 5, [2, 7, 3]])
def test_knots_increase_from_the_minimum_to_the_maximum(strategy, n_knots, rng):
    X = rng.normal(size=(80, 3)) * [1, 1e-6, 1e6]
    grid = Grid.fit(X, n_knots=n_knots, strategy=strategy, random_state=0)
    assert (grid.sizes <= n_knots).all()
    assert (grid.sizes == n_knots).all() or strategy == "kmeans"  # a lone extreme is a centre of its own
    assert all((np.diff(k) > 0).all() for k in grid.knots)
    np.testing.assert_allclose([grid.low, grid.high], [X.min(axis=0), X.max(axis=0)])


def test_strategies_place_knots_as_they_say():
    x = np.array([0.0, 1, 2, 3, 4, 10, 20, 30, 100])[:, None]
    assert Grid.fit(x, n_knots=5, strategy="quantile").knots[0].tolist() == [0, 2, 4, 20, 100]
    assert Grid.fit(x, n_knots=5, strategy="uniform").knots[0].tolist() == [0, 25, 50, 75, 100]
    clusters = np.array([0.0, 9, 10, 11, 49, 50, 51, 90])[:, None]
    assert Grid.fit(clusters, n_knots=4, strategy="kmeans", random_state=0).knots[0][[0, -1]].tolist() == [0, 90]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_ties_and_constants_leave_fewer_knots_and_say_so(strategy):
    X = np.column_stack([np.ones(30), np.maximum(np.arange(30.0) - 24, 0), np.arange(30.0), np.arange(30) % 2])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        grid = Grid.fit(X, n_knots=5, strategy=strategy, random_state=0)
    messages = [str(w.message) for w in caught if issubclass(w.category, SemimetricWarning)]
    assert any("feature 0 is constant: nothing is learned there" in m for m in messages)
    fewer = any(re.search(r"ties in the data leave fewer knots \(1: [234] of 5\)", m) for m in messages)
    assert fewer == (strategy == "quantile")
    assert not any("3: 2 of 5" in m for m in messages)  # two values need no more knots
    assert grid.sizes[0] == 1
    assert grid.sizes[2] == 5


BAD = {
    "none": (lambda: Grid([]), "no features", "at least one"),
    "empty": (lambda: Grid([[0, 1], []]), "feature 1 has 0 knots", "1 to 65535 are required"),
    "equal": (lambda: Grid([[0, 1, 1]]), "knots 1 and 2 of feature 0 are 1 and 1", "strictly increasing", "drop duplicates"),
    "decreasing": (lambda: Grid([[0, 2, 1]]), "knots 1 and 2 of feature 0 are 2 and 1", "strictly increasing", "sort them"),
    "nan": (lambda: Grid([[0, np.nan]]), "feature 0", "must be finite", "correct or rescale"),
    "too wide": (lambda: Grid([[-1e308, 1e308]]), "feature 0", "a finite range", "rescale"),
    "one asked for": (lambda: Grid.fit([[0.0], [1.0]], n_knots=1), "n_knots=1", "integers between 2 and 65535"),
    "a fraction": (lambda: Grid.fit([[0.0], [1.0]], n_knots=2.5), "n_knots=2.5", "integers between 2 and 65535"),
    "too few counts": (
        lambda: Grid.fit([[0.0] * 3], n_knots=[3, 4]),
        "2 numbers for 3 features",
        "or one a feature, is required",
    ),
    "a table of counts": (lambda: Grid.fit([[0.0]], n_knots=[[3]]), "n_knots=[[3]]", "or one a feature, is required"),
    "strategy": (lambda: Grid.fit([[0.0]], strategy="even"), "knots='even'", "not known", "use one of 'quantile'"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_knots_are_refused(name):
    assert assert_refused(*BAD[name])


BAD_VALUES = {
    "columns": ([[1.0]], "shape (1, 1)", "(n_items, 2) is required", "one column a feature"),
    "one dimension": ([1.0, 2.0], "shape (2,)", "(n_items, 2) is required", "one column a feature"),
    "three dimensions": (np.ones((2, 2, 2)), "shape (2, 2, 2)", "(n_items, 2) is required", "one column a feature"),
    "nan": ([[np.nan, 1.0]], "NaN or infinity", "finite values are required", "drop those rows"),
    "infinite": ([[1.0, -np.inf]], "NaN or infinity", "finite values are required", "drop those rows"),
}


@pytest.mark.parametrize("name", BAD_VALUES)
def test_values_that_do_not_fit_the_grid_are_refused_before_the_kernel(name):
    X, *parts = BAD_VALUES[name]
    grid = Grid([[0.0, 1.0, 2.0], [0.0, 4.0]])
    assert assert_refused(lambda: grid.locate(X), *parts)
    if "n_items" in parts[1]:
        assert assert_refused(lambda: grid.excess(X), *parts)


def test_a_grid_is_a_value():
    given = np.array([0.0, 1.0, 2.0])
    grid = Grid([given])
    given[0] = -5
    assert grid.low == [0.0]
    with pytest.raises(ValueError, match="read-only"):
        grid.knots[0][0] = 1.0


def test_ends_and_excess():
    grid = Grid([[0.0, 1.0, 4.0], [3.0]])
    assert [k.tolist() for k in grid.ends.knots] == [[0.0, 4.0], [3.0]]
    assert grid.excess(np.array([[-1.0, 5.0], [2.0, 3.0], [6.0, 0.0]])).tolist() == [[-1, 2], [0, 0], [2, -3]]


def test_large_data_keep_their_minimum_and_maximum(monkeypatch, rng):
    monkeypatch.setattr("semimetric.data.knots._MOST_ROWS", 50)
    X = rng.normal(size=(1000, 2))
    grid = Grid.fit(X, n_knots=4, random_state=0)
    np.testing.assert_array_equal([grid.low, grid.high], [X.min(axis=0), X.max(axis=0)])


MIXED = Grid([[0.0, 1.0, 4.0], [6.0, 12.0, 30.0], [0.0, 1.0, 2.0]], ["numeric", "periodic", "categorical"], [True, True, False])


def test_every_kind_has_its_vertices():
    located = MIXED.locate([[2.5, 30.0, 2.0], [np.nan, 11.0, 0.0], [9.0, np.nan, 1.0], [0.0, -3.0, 1.0]])
    assert (located.lower + located.fraction).tolist() == [
        [1.5, 0, 2], [3, pytest.approx(5 / 6), 0], [2, 3, 1], [0, pytest.approx(1 + 9 / 18), 1],
    ]  # fmt: skip
    assert (located.upper - located.lower == 1).all()
    assert MIXED.excess([[9.0, 99.0, 2.0], [np.nan, np.nan, 0.0]]).tolist() == [[5, 0, 0], [0, 0, 0]]
    assert (MIXED.sizes.tolist(), MIXED.counts.tolist(), MIXED.seams.tolist()) == ([4, 4, 3], [3, 3, 3], [0, 2, 0])
    assert MIXED.widths.tolist() == [4.0, 12.0, 1.0]
    assert (MIXED.extends.tolist(), MIXED.varies.tolist(), MIXED.plain) == ([True, False, False], [True] * 3, False)


def test_gaps_are_those_of_gower():
    one = np.arange(4.0)
    assert MIXED.gap(0, one, np.zeros(4)).tolist() == [0, 1, 4, 2]
    assert MIXED.gap(1, one, np.zeros(4)).tolist() == [0, 6, 0, 6]
    assert MIXED.gap(1, np.array([1.5, 3.0]), np.array([0.5, 3.0])).tolist() == [12, 0]
    assert MIXED.gap(2, one[:3], np.zeros(3)).tolist() == [0, 1, 1]
    constant = Grid([[5.0]], ["numeric"], [True])
    assert constant.gap(0, np.array([0.0, 1.0]), np.array([1.0, 1.0])).tolist() == [0.5, 0]


def test_places_are_linear_between_knots_and_leave_what_is_no_number():
    X = [[2.5, 7.0, 1.0], [np.nan, 30.0, 0.0], [9.0, np.nan, 2.0]]
    placed = MIXED.positions(X)
    np.testing.assert_array_equal(placed, [[1.5, 7.0, 1.0], [np.nan, 30.0, 0.0], [2.0, np.nan, 2.0]])
    assert [k.tolist() for k in MIXED.position_grid.knots] == [[0.0, 1.0, 2.0], *(k.tolist() for k in MIXED.knots[1:])]
    a, b = MIXED.locate(X), MIXED.position_grid.locate(placed)
    for left, right in zip(a, b, strict=True):
        np.testing.assert_array_equal(left, right)


def test_some_features_keep_their_kinds():
    part = MIXED.select(np.array([1, 2]))
    assert (part.kinds, part.missing) == (("periodic", "categorical"), (True, False))
    assert [k.tolist() for k in part.knots] == [k.tolist() for k in MIXED.knots[1:]]


BAD_KINDS = {
    "codes": (lambda: Grid([[0.0, 2.0]], ["categorical"]), "feature 0 is categorical", "0, 1, ..., K are required", "one more"),
    "a point": (lambda: Grid([[0.0]], ["periodic"]), "feature 0 is periodic and has 1 knot", "at least 2"),
    "kind": (lambda: Grid([[0.0]], ["ordinal"]), "kind='ordinal'", "'categorical'"),
    "number": (lambda: Grid([[0.0]], ["numeric"] * 2), "1 features, 2 kinds", "one each"),
    "between": (lambda: MIXED.locate([[0.0, 0.0, 0.5]]), "feature 2 is categorical", "codes from 0 to 2", "encode"),
    "missing": (lambda: MIXED.locate([[0.0, 0.0, np.nan]]), "NaN or infinity", "finite values are required", "fill them in"),
    "schema": (lambda: schema_of(MIXED, ["a"], Schema((Feature("a"),))), "kinds ('numeric',)", "the same are required", "give"),
}


@pytest.mark.parametrize("name", BAD_KINDS)
def test_what_does_not_fit_its_kind_is_refused(name):
    assert assert_refused(*BAD_KINDS[name])


def test_a_grid_has_a_schema_of_codes():
    schema = schema_of(MIXED, ["a", "b", "c"])
    assert schema.kinds == MIXED.kinds
    assert (schema.features[1].period, schema.features[2].categories) == (24.0, (0, 1))
    assert schema_of(MIXED, ["u", "v", "w"], schema).names == ("u", "v", "w")


def test_differences_of_values_at_both_ends_of_the_floats_give_no_warning():
    grid = Grid([[-1.7e308, -1.6e308], [-1.7e308, -1.6e308]], ["numeric", "periodic"])
    assert grid.excess([[1.7e308, 0.0]])[0].tolist() == [np.inf, 0.0]
    assert grid.locate([[1.7e308, 1.7e308]]).lower.tolist() == [[0, 0]]
