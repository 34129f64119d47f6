import numpy as np
import pytest
from cases import assert_refused, cityblock

from semimetric import DistanceCallError, DistanceRegressor, MissingExtraError, Tables
from semimetric._foundation.types import Pairs
from semimetric.data.calls import UserDistance
from semimetric.distances.model.base_distances import base_functions

ITEMS = np.arange(40.0).reshape(20, 2)
INDEX = np.column_stack([np.arange(20), np.arange(20)[::-1]])
TRUE = cityblock(ITEMS, ITEMS[::-1])


def two_vectors(x, y):
    assert x.ndim == y.ndim == 1
    return float(np.abs(x - y).sum())


def two_batches(X, Y):
    assert X.ndim == Y.ndim == 2
    return np.abs(X - Y).sum(axis=1)


@pytest.mark.parametrize(("function", "batch"), [(two_vectors, False), (two_batches, True), (cityblock, True)])
@pytest.mark.parametrize("n_features", [1, 2, 3, 4])
def test_finds_out_whether_a_function_takes_batches(function, batch, n_features, rng):
    assert UserDistance.of_vectors(function, rng.random((5, n_features))).form == ("batches" if batch else "vectors")


def test_a_function_that_mixes_up_rows_is_called_on_vectors():
    assert UserDistance.of_vectors(lambda x, y: np.abs(np.ravel(x) - np.ravel(y)).sum(), ITEMS).form == "vectors"
    assert UserDistance.of_vectors(lambda x, y: np.abs(x - y).sum(axis=0).sum(), ITEMS).form == "vectors"


@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.parametrize("function", [two_vectors, two_batches])
def test_evaluates_every_pair_in_order(function, n_jobs):
    many = np.tile(INDEX, (120, 1))
    values = UserDistance.of_vectors(function, ITEMS).evaluate(Pairs(ITEMS, many), n_jobs=n_jobs)
    np.testing.assert_array_equal(values, np.tile(TRUE, 120))


BAD = {"nan": np.nan, "infinite": np.inf, "negative": -1.0}


@pytest.mark.parametrize("batch", [True, False])
@pytest.mark.parametrize("kind", [*BAD, "raises"])
def test_a_failure_names_the_pair_and_keeps_the_rest(kind, batch):
    def fails(X, Y):
        out = np.abs(X - Y).sum(axis=-1)
        hit = (np.asarray(X)[..., 0] == ITEMS[13, 0]) & (np.asarray(Y)[..., 0] == ITEMS[6, 0])
        if kind == "raises" and np.any(hit):
            raise ZeroDivisionError("inside")
        return np.where(hit, BAD.get(kind), out) if kind != "raises" else out

    with pytest.raises(DistanceCallError) as caught:
        UserDistance(fails, "batches" if batch else "vectors", kinds=("item", "item")).evaluate(Pairs(ITEMS, INDEX))
    error = caught.value
    assert error.pair == (13, 6)
    np.testing.assert_array_equal(error.pairs, INDEX[:13])
    np.testing.assert_array_equal(error.distances, TRUE[:13])
    for part in ("items 13 and 6 (pair 13 of 20)", "A finite number >= 0 is required", "13 distances evaluated so far"):
        assert part in str(error)
    assert isinstance(error.__cause__, ZeroDivisionError if kind == "raises" else ValueError)


def test_what_cannot_be_a_distance_is_refused():
    assert_refused(lambda: UserDistance.of_vectors(None, ITEMS), "distance=None", "must be callable", "two batches")
    assert_refused(lambda: UserDistance.of_vectors(lambda x: 0, ITEMS), "neither on two vectors (TypeError", "must return")
    assert_refused(lambda: UserDistance.of_vectors(lambda x, y: "far", ITEMS), "neither on two vectors", "one number")


def test_a_batch_of_the_wrong_shape_is_an_error():
    function = UserDistance(lambda X, Y: np.zeros((len(X), 2)), "batches")
    with pytest.raises(DistanceCallError, match=r"it returned shape \(1, 2\) for 1 pairs"):
        function.evaluate(Pairs(ITEMS, INDEX))


def test_negative_values_pass_where_they_are_allowed():
    signed = UserDistance(lambda X, Y: (X - Y).sum(axis=-1), "batches")
    assert (signed.evaluate(Pairs(ITEMS, INDEX), nonnegative=False) < 0).any()


def refuses(condition, function):
    """``function``, which raises where ``condition`` holds for a pair."""

    def called(X, Y):
        if any(condition(x, y) for x, y in zip(np.atleast_2d(X), np.atleast_2d(Y), strict=True)):
            raise ZeroDivisionError("inside")
        return function(X, Y)

    return called


@pytest.mark.parametrize(("function", "batch"), [(two_vectors, False), (two_batches, True), (cityblock, True)])
def test_a_pair_on_which_it_fails_says_nothing_of_its_form(function, batch):
    same = refuses(np.array_equal, function)
    assert UserDistance.of_vectors(same, np.repeat(ITEMS, 3, axis=0)).form == ("batches" if batch else "vectors")
    first = UserDistance.of_vectors(refuses(lambda x, y: x[0] == 0, function), ITEMS)
    assert first.form == ("batches" if batch else "vectors")
    with pytest.raises(
        DistanceCallError, match=r"distance failed on items 0 and 19 \(pair 0 of 20\): ZeroDivisionError: inside"
    ):
        first.evaluate(Pairs(ITEMS, INDEX))


def test_a_package_that_the_function_misses_is_what_is_said():
    def needs(x, y):
        raise MissingExtraError("install it")

    with pytest.raises(MissingExtraError, match="^install it$"):
        UserDistance.of_vectors(needs, ITEMS)


def test_messages_name_the_parameter_that_was_given():
    items = np.eye(3)
    assert_refused(lambda: base_functions([cityblock, None], items), "base_distances[1]=None", "must be callable")
    assert_refused(lambda: base_functions([lambda x: 0], items), "base_distances[0] works neither", "it must return")
    assert_refused(lambda: base_functions(cityblock, items), "base_distances=<function", "a sequence", "such as [cityblock]")
    nan = base_functions((lambda x, y: np.nan,), items)[0]
    with pytest.raises(DistanceCallError, match=r"base_distances\[0\] failed on items 0 and 1 .* it returned nan"):
        nan.evaluate(Pairs(items, np.array([[0, 1]])))
    model = DistanceRegressor(n_knots=2, alpha=1.0, tables=Tables(base_distances=cityblock))
    assert_refused(
        lambda: model.fit(np.random.default_rng(0).random((5, 2, 2)), np.arange(5.0)), "base_distances=", "a sequence"
    )


def test_finds_pairs_on_which_directions_differ():
    signed = UserDistance(lambda X, Y: np.maximum(X - Y, 0.0).sum(axis=-1), "batches")
    found = signed.first_answers(ITEMS)
    assert (found.there[0], found.back[0], found.own[0], found.again[0]) == (0.0, 4.0, 0.0, 0.0)
    found = UserDistance(cityblock, "batches").first_answers(ITEMS)
    np.testing.assert_array_equal(found.there, found.back)
