"""Ground distances: what is refused, shortest paths, and potentials that are proved feasible without rounding."""

import numpy as np
import pytest
from cases import assert_refused
from hypothesis import given
from hypothesis import strategies as st
from reference import emd, exact_steepest
from transport_problems import KINDS, costs

from semimetric._kernels.transport_plans import no_steeper
from semimetric.distances.search.transport import GroundDistance


def is_feasible(f, cost):
    """Return True if differences of f are proved to be at most the costs, as `GroundDistance.feasible` proves it."""
    return no_steeper(f, np.where(cost > 0.0, np.nextafter(cost, 0.0), 0.0))


@given(seed=st.integers(0, 10_000), n=st.integers(2, 7), kind=st.sampled_from(KINDS), scale=st.sampled_from([1e-9, 1.0, 1e12]))
def test_feasible_potentials_are_feasible_in_fractions(seed, n, kind, scale):
    ground = GroundDistance.of(costs(seed, n, kind) * scale)
    wild = np.random.default_rng(seed).standard_normal((4, n)) * 10 * scale
    for f in ground.feasible(np.vstack([wild, ground.paths])):
        assert exact_steepest(f, ground.cost) <= 0
        assert is_feasible(f, ground.cost)


@given(seed=st.integers(0, 10_000), n=st.integers(2, 6), kind=st.sampled_from(KINDS))
def test_a_potential_of_any_dual_is_feasible_up_to_its_rounding(seed, n, kind):
    ground = GroundDistance.of(costs(seed, n, kind))
    rng = np.random.default_rng(seed)
    dual, bins = rng.standard_normal(n) * 10.0 ** rng.integers(-3, 4), rng.permutation(n)[: rng.integers(1, n + 1)]
    assert exact_steepest(ground.from_dual(dual, bins), ground.cost) <= ground.rounding_of_dual(dual)


def test_a_potential_that_is_too_steep_is_not_called_feasible():
    ground = GroundDistance.of(costs(0, 4))
    f = ground.paths[0]
    assert not is_feasible(f * 1.001, ground.cost)
    assert is_feasible(f * 0.999, ground.cost)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_potential_that_is_not_finite_is_not_called_feasible(value):
    ground = GroundDistance.of(costs(0, 4))
    one = ground.paths[0] * 0.5
    one[2] = value
    assert not is_feasible(one, ground.cost)
    assert not is_feasible(np.full(4, value), ground.cost)


def test_feasible_potentials_are_as_steep_as_can_be():
    ground = GroundDistance.of(costs(1, 5))
    (f,) = ground.feasible(ground.paths[:1])
    np.testing.assert_allclose(f - f[0], ground.paths[0], rtol=1e-12)
    (wild,) = ground.feasible(100 * ground.paths[:1])
    assert exact_steepest(wild, ground.cost) > -1e-12


@given(seed=st.integers(0, 1000), n=st.integers(2, 6))
def test_paths_obey_the_triangle_inequality_and_are_below_costs(seed, n):
    ground = GroundDistance.of(costs(seed, n, "squared"))
    assert (ground.paths <= ground.cost).all()
    around = ground.paths[:, None, :] + ground.paths.T[None, :, :]
    assert (ground.paths <= around.min(axis=2) + ground.defect).all()


def test_mass_takes_the_shortest_path_in_a_bound_but_not_in_a_plan():
    cost = costs(3, 4, "squared")
    ground = GroundDistance.of(cost)
    x, y = np.eye(4)[0], np.eye(4)[1]
    assert ground.paths[0, 1] <= emd(x, y, cost) + 1e-9


REFUSED = {
    "not square": (np.zeros((2, 3)), "shape (2, 3)", "square"),
    "negative": ([[0.0, -1.0], [-1.0, 0.0]], "cost_matrix[0, 1] is -1", "costs >= 0"),
    "asymmetric": ([[0.0, 1.0], [2.0, 0.0]], "cost_matrix[0, 1] is", "symmetric"),
    "staying costs": ([[1.0, 1.0], [1.0, 0.0]], "cost_matrix[0, 0] is 1", "0 is required"),
    "NaN": ([[0.0, np.nan], [np.nan, 0.0]], "NaN", "finite"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_ground_distance_is_refused(name):
    given_matrix, said, required = REFUSED[name]
    assert_refused(lambda: GroundDistance.of(given_matrix), said, required)
