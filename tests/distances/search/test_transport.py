"""Bounds of the Earth Mover's Distance hold for every pair, are tight where they can be, and refuse what they cannot bound."""

import numpy as np
import pytest
from cases import assert_refused
from hypothesis import given
from hypothesis import strategies as st
from reference import best_potential, emd, exact_steepest
from sklearn.base import clone
from transport_problems import KINDS, costs, histograms

from semimetric import EarthMoversDistance, TransportBounds
from semimetric.datasets import load_digit_histograms

pytest.importorskip("ot")

kinds = st.sampled_from(KINDS)
masses = st.sampled_from([1.0, 1e-6, 255.0])


@given(seed=st.integers(0, 10_000), n_bins=st.integers(1, 7), kind=kinds, mass=masses, n_learned=st.sampled_from([0, 4]))
def test_no_bound_is_violated(seed, n_bins, kind, mass, n_learned):
    cost, X = costs(seed, n_bins, kind), histograms(seed, 6, n_bins, mass)
    fitted = TransportBounds(cost, n_learned=n_learned, n_plans=3).fit(X[:4])
    low, high = fitted.pairwise(X[3:], X[:4])
    true = np.array([[emd(x, y, cost) for y in X[:4]] for x in X[3:]])
    slack = 1e-7 * mass * cost.max()  # of the linear program
    assert (low <= true + slack).all()
    assert (high >= true - slack).all()
    assert (low >= 0).all()
    assert (low <= high).all()


@given(seed=st.integers(0, 10_000), n_bins=st.integers(2, 6), kind=kinds)
def test_the_dual_of_a_pair_bounds_that_pair_by_its_distance_and_no_other_above_its_own(seed, n_bins, kind):
    cost, X = costs(seed, n_bins, kind), histograms(seed, 5, n_bins)
    fitted = TransportBounds(cost, n_learned=0).fit(X)
    value, dual = EarthMoversDistance(cost).with_dual(X[0], X[1])
    low = fitted.at(X[0]).lower_from_dual(dual, np.arange(5))
    true = [emd(X[0], y, cost) for y in X]
    assert (low <= np.array(true) + 1e-7 * cost.max()).all()
    if kind != "squared":  # where paths are shorter than costs, potentials of the paths may miss some of the distance
        np.testing.assert_allclose(low[1], value, atol=1e-8 * (1 + cost.max()))


@given(seed=st.integers(0, 10_000), n_bins=st.integers(2, 5), kind=kinds)
def test_potentials_are_feasible_in_fractions_and_no_better_than_the_dual_of_the_linear_program(seed, n_bins, kind):
    cost, X = costs(seed, n_bins, kind), histograms(seed, 5, n_bins)
    fitted = TransportBounds(cost, n_learned=3, bin_coordinates=np.arange(n_bins)).fit(X)
    assert all(exact_steepest(f, cost) <= 0 for f in fitted.potentials_)
    gap = X[0] - X[1]
    assert fitted.lower(X[0], X[1:2])[0] <= best_potential(gap, cost) + 1e-7


@given(seed=st.integers(0, 10_000), scale=st.floats(1e-3, 1e3))
def test_a_wrong_dual_gives_a_weaker_bound_and_never_a_wrong_one(seed, scale):
    cost, X = costs(seed, 5), histograms(seed, 4, 5)
    fitted = TransportBounds(cost, n_learned=0).fit(X)
    wild = np.random.default_rng(seed).standard_normal(5) * scale
    low = fitted.at(X[0]).lower_from_dual(wild, np.arange(4))
    assert (low <= np.array([emd(X[0], y, cost) for y in X]) + 1e-7).all()


def test_in_one_dimension_both_bounds_are_the_distance():
    places = np.array([0.0, 1.0, 3.0, 4.5])
    cost = np.abs(places[:, None] - places)
    X = np.array([[1.0, 0, 0, 0], [0.5, 0.5, 0, 0], [0, 0, 0.25, 0.75], [0, 0, 0, 1.0]])  # each is to the right of the last
    low, high = TransportBounds(cost, bin_coordinates=places, n_learned=0).fit(X).pairwise(X)
    true = np.abs((X @ places)[:, None] - X @ places)
    np.testing.assert_allclose(low, true, atol=1e-8)
    np.testing.assert_allclose(high, true, atol=1e-8)


def test_potentials_that_were_learned_make_lower_bounds_of_other_items_closer():
    digits = load_digit_histograms()
    X, ground = digits.histograms, np.linalg.norm(digits.bin_coordinates[:, None] - digits.bin_coordinates, axis=2)
    true = np.array([[EarthMoversDistance(ground)(x, y) for y in X[400:420]] for x in X[300:306]])
    shares = []
    for n_learned in (0, 64):
        fitted = TransportBounds(ground, bin_coordinates=digits.bin_coordinates, n_learned=n_learned).fit(X[:200])
        low, high = fitted.pairwise(X[300:306], X[400:420])
        shares.append(np.median(low / true))
    assert (low <= true).all()
    assert (high >= true).all()
    assert np.median(low / true) > 0.8
    assert np.median(high / true) < 1.3
    assert shares[1] > shares[0] + 0.01


def test_all_ways_to_ask_give_the_same_bounds():
    cost, X = costs(0, 5), histograms(0, 8, 5)
    fitted = TransportBounds(cost, n_learned=4).fit(X)
    low, high = fitted.pairwise(X[:3], X)
    np.testing.assert_allclose(fitted.lower(X[1]), low[1], atol=1e-15)
    np.testing.assert_allclose(fitted.upper(X[1]), high[1], atol=1e-15)
    np.testing.assert_allclose(fitted.lower(X[1], X[4:6]), low[1, 4:6], atol=1e-15)
    np.testing.assert_allclose(fitted.at(X[1]).lower(np.array([7, 2])), low[1, [7, 2]], atol=1e-15)
    np.testing.assert_allclose(fitted.at_item(1).upper(), high[1], atol=1e-15)
    np.testing.assert_allclose(fitted.paired(X[:3], X[2:5])[0], [low[0, 2], low[1, 3], low[2, 4]], atol=1e-15)
    assert fitted.bounds(X[0], X[4]) == pytest.approx((low[0, 4], high[0, 4]), abs=1e-15)


def test_histograms_are_divided_by_their_mass_where_that_is_asked_for():
    cost, X = costs(0, 5), histograms(0, 6, 5)
    factors = np.arange(1.0, 7.0)[:, None]
    with_one_mass = TransportBounds(cost, n_learned=0).fit(X).pairwise(X)
    normalized = TransportBounds(cost, n_learned=0, normalize=True).fit(factors * X).pairwise(factors * X)
    np.testing.assert_allclose(normalized, with_one_mass, atol=1e-12)
    assert_refused(lambda: TransportBounds(cost).fit(factors * X), "has mass", "equal masses", "normalize=True")
    fitted = TransportBounds(cost, n_learned=0).fit(X)
    assert_refused(lambda: fitted.lower(2 * X[0]), "has mass 2", "equal masses", "normalize=True")


def test_bounds_grow_with_the_mass():
    cost, X = costs(0, 5), histograms(0, 6, 5)
    one = TransportBounds(cost, n_learned=4).fit(X).pairwise(X)
    many = TransportBounds(cost, n_learned=4).fit(100 * X).pairwise(100 * X)
    np.testing.assert_allclose(many, 100 * np.array(one), rtol=1e-6, atol=1e-5)


REFUSED = {
    "bins": (lambda X: X[:, :4], "shapes (4,)", "histograms of 5 bins"),
    "negative": (lambda X: X - 0.5, "in bin 0", "entries >= 0"),
    "empty": (lambda X: np.vstack([X, np.zeros(5)]), "histogram 6 of X has no mass", "mass > 0"),
    "NaN": (lambda X: X * np.nan, "NaN", "finite"),
    "text": (lambda X: "histograms", "X is one text", "list of objects"),
    "none": (lambda X: X[:0], "X has 0 objects", "at least 1"),
    "ragged": (lambda X: [X[0], X[1][:3]], "shapes (3,), (5,)", "histograms of 5 bins"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_are_no_histograms_is_refused(name):
    made, said, required = REFUSED[name]
    assert_refused(lambda: TransportBounds(costs(0, 5)).fit(made(histograms(0, 6, 5))), said, required)


@pytest.mark.parametrize(
    "wrong", [{"n_directions": 0}, {"n_learned": -1}, {"n_plans": 0}, {"tolerance": -1.0}, {"bin_coordinates": [[0.0]]}]
)
def test_parameters_are_checked_before_any_work(wrong):
    bounds = TransportBounds(costs(0, 5), **wrong)
    assert_refused(
        lambda: bounds.fit(histograms(0, 6, 5)), next(iter(wrong)), "required" if "tolerance" not in wrong else "must be"
    )


def test_a_dual_of_another_length_is_refused():
    X = histograms(0, 6, 5)
    at = TransportBounds(costs(0, 5), n_learned=0).fit(X).at(X[0])
    assert_refused(lambda: at.lower_from_dual(np.zeros(4), np.arange(6)), "a dual of 4 values for 5 bins", "one value for each")


def test_it_is_cloned_and_printed_like_an_estimator():
    bounds = TransportBounds(costs(0, 9), n_learned=3)
    again = clone(bounds)
    assert again.get_params()["n_learned"] == 3
    assert "array of shape (9, 9)" in repr(bounds)
    one = bounds.fit(histograms(0, 1, 9))
    assert one.lower(histograms(0, 1, 9)[0]).tolist() == [0.0]
