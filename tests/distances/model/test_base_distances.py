import numpy as np
import pytest
from cases import assert_refused, cityblock
from learners import made

from semimetric import DistanceRegressor, StorageError
from semimetric.data.calls import UserDistance
from semimetric.data.schema import Schema
from semimetric.distances.model import base_distances
from semimetric.distances.model.base_distances import BaseDistance


def one_pair(x, y):
    return float(np.abs(x - y).sum())


@pytest.fixture(params=[(True, 1), (False, 1), (True, 2)], ids=["batch", "vectors", "squared"])
def base(request, rng):
    batch, power = request.param
    probe = rng.random((4, 2, 3))
    function = UserDistance(cityblock if batch else one_pair, "batches" if batch else "vectors")
    return BaseDistance(function, 2.5, "blocks", probe, cityblock(probe[:, 0], probe[:, 1]), power)


@pytest.mark.parametrize("calls", [1, 5, 1 << 16])
def test_terms_are_weighted_powers_whatever_the_blocks(base, calls, monkeypatch, rng):
    monkeypatch.setattr(base_distances, "_PAIRS", calls)
    X, Y, out = rng.random((4, 3)), rng.random((3, 3)), np.ones((4, 3))
    want = 2.5 * np.abs(X[:, None] - Y[None]).sum(axis=2) ** base.power
    base.add_pairwise(X, Y, out)
    np.testing.assert_allclose(out, 1 + want)
    np.testing.assert_allclose(base.paired(X[:3], Y), np.diag(want[:3]))


def test_no_points_add_nothing(base):
    out = np.ones((2, 0))
    base.add_pairwise(np.zeros((2, 3)), np.zeros((0, 3)), out)
    assert out.shape == (2, 0)


def test_is_read_with_its_callable_and_checked_against_stored_values(base, rng):
    schema = Schema.numeric(["a", "b", "c"])
    again = base.stored.with_function(base.function.function, schema)
    X, Y = rng.random((5, 3)), rng.random((5, 3))
    assert (again.paired(X, Y) == base.paired(X, Y)).all()

    def read(function):
        return lambda: base.stored.with_function(function, schema)

    assert_refused(read("blocks"), "'blocks' must be callable", "not 'blocks'", "give the function itself", error=StorageError)
    doubled = read(lambda x, y: 2 * np.abs(x - y).sum(axis=-1))
    assert_refused(
        doubled, "'blocks' does not give the values", "when the model was saved", "same function", error=StorageError
    )


def excess(X, Y):
    """Zero on the diagonal, and not symmetric."""
    return np.maximum(np.asarray(X) - np.asarray(Y), 0.0).sum(axis=-1)


def refuses_itself(X, Y):
    if np.array_equal(X, Y):
        raise ZeroDivisionError("identical")
    return cityblock(X, Y)


def with_base(function, **changes):
    items = np.random.default_rng(0).random((30, 2))
    index = np.random.default_rng(1).integers(0, 30, (120, 2))
    index = index[index[:, 0] != index[:, 1]]
    y = cityblock(*items[index.T]) + function(*items[index.T])
    model = made(DistanceRegressor, n_knots=3, alpha=1e-2, base_distances=[function], preprocessor=items, **changes)
    return model.fit(index, y).semimetric_, items


def test_an_asymmetric_distance_is_neither_mirrored_nor_claimed_symmetric():
    d, X = with_base(excess)
    assert d.base_distances[0].weight > 0
    assert not d.axioms.symmetric
    assert d.axioms.zero_on_diagonal
    i, j = np.indices((30, 30)).reshape(2, -1)
    np.testing.assert_allclose(d.pairwise(X).ravel(), d.paired(X[i], X[j]), rtol=1e-12, atol=1e-15)


def test_a_distance_that_is_not_0_on_the_diagonal_or_fails_there_is_not_claimed_to_be():
    for function in (lambda X, Y: 1.0 + cityblock(X, Y), refuses_itself):
        axioms = with_base(function)[0].axioms
        assert axioms.symmetric
        assert not axioms.zero_on_diagonal
        assert axioms.name == "none"


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -1.0])
@pytest.mark.parametrize("link", ["identity", "sqrt"])
def test_answers_that_are_no_distances_are_refused_at_prediction(wrong, link):
    d, X = with_base(lambda X, Y: np.where((np.asarray(Y) > 5).any(axis=-1), wrong, cityblock(X, Y)), link=link)
    far = np.array([[0.5, 6.0]])
    for call in (lambda: d.pairwise(X, far), lambda: d.paired(X[:1], far), lambda: d.contributions(X[0], far[0])):
        assert_refused(call, f"returned {wrong} for [", "a finite number >= 0 is required", "correct the function")


def test_answers_of_another_shape_are_refused_at_prediction(base):
    flat = BaseDistance(UserDistance(lambda X, Y: 1.0, "batches"), 1.0, "flat", base.probe, base.values)
    assert_refused(lambda: flat.paired(np.ones((2, 3)), np.ones((2, 3))), "shape () for 2 pairs", "one number a pair")


def test_a_base_distance_without_weight_breaks_no_axiom_and_is_not_asked(rng):
    """The weight 0 makes the term 0 for all pairs, whatever the function does."""
    probe = rng.random((4, 2, 3))
    values = excess(probe[:, 0], probe[:, 1])
    for weight, holds in ((0.0, True), (1.0, False)):
        one_sided = BaseDistance(UserDistance(excess, "batches"), weight, "excess", probe, values)
        assert one_sided.symmetric is holds
        assert one_sided.zero_on_diagonal
        np.testing.assert_allclose(one_sided.paired(probe[:, 1], probe[:, 0]), weight * excess(probe[:, 1], probe[:, 0]))
    refusing = BaseDistance(UserDistance(refuses_itself, "batches"), 0.0, "refuses", probe, values)
    assert refusing.zero_on_diagonal


def test_a_term_that_overflows_is_refused(rng):
    probe = rng.random((1, 2, 3))
    base = BaseDistance(UserDistance(lambda X, Y: np.full(len(X), 1e200), "batches"), 1.0, "far", probe, np.ones(1), 2)
    assert_refused(lambda: base.paired(probe[:, 0], probe[:, 1]), "returned 1e+200 for [", "whose term is below", "correct")
