"""The exact distance is that of a linear program, and its dual is worth what the distance is."""

import pickle

import numpy as np
import pytest
from cases import assert_refused
from hypothesis import given
from hypothesis import strategies as st
from reference import emd
from transport_problems import KINDS, costs, histograms, random_metric

from semimetric import EarthMoversDistance

pytest.importorskip("ot")


@given(seed=st.integers(0, 10_000), n_bins=st.integers(1, 6), kind=st.sampled_from(KINDS), mass=st.sampled_from([1.0, 20.0]))
def test_it_is_the_linear_program(seed, n_bins, kind, mass):
    cost, (x, y) = costs(seed, n_bins, kind), histograms(seed, 2, n_bins, mass)
    exact = EarthMoversDistance(cost)
    assert exact(x, y) == pytest.approx(emd(x, y, cost), abs=1e-8 * mass)
    value, dual = exact.with_dual(x, y)
    assert value == exact(x, y)
    assert dual.shape == (n_bins,)
    assert_best_dual(cost, x, y, value, dual)


def assert_best_dual(cost, x, y, value, dual):
    """The highest values of the bins of y that no cost is below make, with the dual of x, the distance itself."""
    assert not dual[x == 0].any()
    of_y = (cost[x > 0][:, y > 0] - dual[x > 0, None]).min(axis=0)
    assert dual @ x + of_y @ y[y > 0] == pytest.approx(value, abs=1e-8 * x.sum())


@given(seed=st.integers(0, 10_000), n_bins=st.integers(1, 8), one_way=st.booleans())
def test_mass_that_both_have_stays_where_costs_obey_the_triangle_inequality(seed, n_bins, one_way):
    cost = random_metric(seed, n_bins, one_way=one_way)
    x, y = histograms(seed, 2, n_bins, 20.0)
    exact = EarthMoversDistance(cost)
    value, dual = exact.with_dual(x, y)
    assert value == exact(x, y) == pytest.approx(emd(x, y, cost), abs=1e-7)
    assert_best_dual(cost, x, y, value, dual)
    assert exact(x + 3.0, y + 3.0) == pytest.approx(value, rel=1e-12, abs=1e-12)  # which is a norm of x - y
    changed = histograms(seed, 1, n_bins)[0] * 1e-9
    assert exact(x + changed, x) <= 2e-9 * cost.max() + 1e-12


@pytest.mark.parametrize("costly", ["a detour", "staying"])
def test_mass_moves_where_that_is_cheaper(costly):
    cost = np.array([[0.0, 1.0, 3.0], [1.0, 0.0, 1.0], [3.0, 1.0, 0.0]])
    if costly == "staying":
        cost = cost + [[0.0, 0, 0], [0, 5.0, 0], [0, 0, 0]]
    x, y = np.array([0.5, 0.5, 0.0]), np.array([0.0, 0.5, 0.5])
    value, dual = EarthMoversDistance(cost).with_dual(x, y)
    assert value == pytest.approx(emd(x, y, cost)) == pytest.approx(1.0)  # 1.5 and more if the half in the middle stayed
    assert_best_dual(cost, x, y, value, dual)


@pytest.mark.parametrize(("of_mass", "of_cost"), [(-1000, 0), (1000, 0), (0, -1000), (0, 1000), (-1000, 1000), (-60, -900)])
def test_masses_and_costs_of_any_size_give_the_same_digits(of_mass, of_cost):
    cost, (x, y) = costs(3, 5), histograms(3, 2, 5)
    value, dual = EarthMoversDistance(cost).with_dual(x, y)
    scaled = EarthMoversDistance(np.ldexp(cost, of_cost))  # the solver crashes on masses of 1e-300
    found, of_bins = scaled.with_dual(np.ldexp(x, of_mass), np.ldexp(y, of_mass))
    assert found == np.ldexp(value, of_mass + of_cost)
    np.testing.assert_array_equal(of_bins, np.ldexp(dual, of_cost))


def test_a_histogram_is_at_0_of_itself_to_the_bit_unless_a_mass_that_stays_costs():
    rng, cost = np.random.default_rng(0), costs(0, 12)
    exact, costly = EarthMoversDistance(cost), EarthMoversDistance(cost + 1.0)
    for x in rng.dirichlet(np.ones(12), 50):
        value, dual = exact.with_dual(x, x)
        assert (value, dual.tolist()) == (0.0, [0.0] * 12)
        assert costly(x, x) == pytest.approx(1.0)


def test_it_is_pickled():
    exact, (x, y) = EarthMoversDistance(costs(0, 4)), histograms(0, 2, 4)
    before = exact(x, y)
    assert pickle.loads(pickle.dumps(exact))(x, y) == before
    assert repr(exact) == "EarthMoversDistance(<cost_matrix of shape (4, 4)>)"


def test_what_is_no_pair_of_histograms_is_refused():
    exact, (x, y) = EarthMoversDistance(costs(0, 4)), histograms(0, 2, 4)
    assert_refused(lambda: exact(x[:3], y), "3 and 4 bins", "4 bins are required")
    assert_refused(lambda: exact(x, 2 * y), "masses 1 and 2", "equal masses", "divide each by its sum")
    assert_refused(lambda: exact(x - 1, y), "the least entry", "entries >= 0")
    assert_refused(lambda: exact(0 * x, 0 * y), "masses 0 and 0", "masses > 0")
    assert_refused(lambda: EarthMoversDistance(np.zeros((2, 3))), "shape (2, 3)", "square")


@given(seed=st.integers(0, 10_000), n_bins=st.integers(2, 40))
def test_histograms_that_were_normalised_in_float32_have_equal_masses(seed, n_bins):
    cost, X = costs(seed, n_bins), histograms(seed, 2, n_bins).astype(np.float32)
    x, y = X / X.sum(axis=1, keepdims=True)
    exact, (mass, other) = EarthMoversDistance(cost), (x.astype(float).sum(), y.astype(float).sum())
    found, of_ones = exact(x, y), exact(x.astype(float) / mass, y.astype(float) / other)
    assert found == pytest.approx(exact(y, x), rel=1e-12, abs=1e-12 * cost.max())
    assert min(mass, other) * of_ones - 1e-12 <= found <= max(mass, other) * of_ones + 1e-12
    assert_refused(lambda: exact(x, y * (1 + 1e-5)), "and 1.0000", "equal masses > 0, to 1e-06 of them")


@pytest.mark.filterwarnings("ignore:numItermax reached")
def test_a_distance_that_was_not_found_is_no_distance():
    X = histograms(0, 2, 40)
    assert_refused(lambda: EarthMoversDistance(costs(0, 40), max_iter=1)(*X), "no exact distance", "max_iter=")
