"""The weighted L1 distance that the examples ask for."""

import cases
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semimetric import SemimetricWarning
from semimetric._foundation.types import Pairs
from semimetric.distances.learning.measured import PairTargets
from semimetric.distances.learning.options import Recipe
from semimetric.distances.learning.prior import _LEAST_SPREAD, L1Prior, fit_l1_prior, spread_from_moments, spread_of_pairs
from semimetric.distances.learning.structure import build_structure, l1_embedding
from semimetric.distances.programs.design_matrix import Moments

ITEMS, INDEX, Y = cases.sample()
NAMES = ("u", "v", "w")


def task_of(recipe, items=ITEMS, y=Y):
    structure = build_structure(recipe, items, NAMES)
    return structure, PairTargets.of(recipe, structure, Pairs(items, INDEX), y, np.full(len(y), 1 / len(y)))


def test_the_baseline_is_the_fitted_weighted_l1():
    slopes = np.array([1.0, 0.0, 4.0])
    y = np.abs(ITEMS[INDEX[:, 0]] - ITEMS[INDEX[:, 1]]) @ slopes
    structure, task = task_of(Recipe(n_knots=5), y=y)
    base = fit_l1_prior(structure, task.design(structure, l1_embedding(structure), None).moments(task.targets, task.weight))
    np.testing.assert_allclose(base.slopes * task.unit, slopes, atol=0.05 * slopes.max())
    gaps = ITEMS[INDEX[:, 0]] - ITEMS[INDEX[:, 1]]
    np.testing.assert_allclose(base.spread, np.sqrt((gaps**2).mean(axis=0)))


@given(st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0, 4.0]), min_size=1, max_size=4).filter(any), st.integers(0, 5))
def test_a_weighted_l1_distance_is_recovered_in_any_unit(slopes, seed):
    rng, n = np.random.default_rng(seed), len(slopes)
    unit = 10.0 ** rng.integers(-3, 4, n)
    items, index = rng.random((60, n)) * unit, rng.integers(0, 60, (300, 2))
    y = np.abs(items[index[:, 0]] - items[index[:, 1]]) @ (slopes / unit)
    recipe = Recipe(n_knots=3, knots="uniform")
    structure = build_structure(recipe, items, [f"x{k}" for k in range(n)])
    task = PairTargets.of(recipe, structure, Pairs(items, index), y, np.full(300, 1 / 300))
    prior = fit_l1_prior(structure, task.l1_moments(structure, None))
    np.testing.assert_allclose(prior.slopes * task.unit * unit, slopes, atol=0.05 * max(slopes))


def floored_slow(rms, least):
    """Each spread, but at least a share of the median of those above 0; the median itself where no pair differs."""
    positive = sorted(r for r in rms if r > 0)
    if not positive:
        return [1.0] * len(rms)
    middle = len(positive) // 2
    typical = positive[middle] if len(positive) % 2 else (positive[middle - 1] + positive[middle]) / 2
    return [typical if r == 0 else max(r, least * typical) for r in rms]


@given(
    st.lists(st.sampled_from([0.0, 0.01, 0.1, 0.2, 0.5, 1.0]), min_size=3, max_size=3), st.sampled_from([_LEAST_SPREAD, 1e-3])
)
def test_no_spread_is_much_below_the_typical_one(rms, least):
    width = np.array([1.0, 2.0, 10.0])
    structure = build_structure(Recipe(knots=[[0.0, 1.0], [0.0, 2.0], [5.0, 10.0, 15.0]]), ITEMS, NAMES)
    found = spread_from_moments(structure, Moments(np.diag(np.square(rms)), np.zeros(3), 0.0, 1.0), least)
    np.testing.assert_allclose(found / width, floored_slow(rms, least))


def test_spreads_of_pairs_are_root_mean_squares_and_constant_features_have_the_spread_1(rng):
    items = np.column_stack([ITEMS, np.full(len(ITEMS), 7.0)])
    with pytest.warns(SemimetricWarning, match="x3 is constant"):
        structure = build_structure(Recipe(n_knots=4), items, ("x0", "x1", "x2", "x3"))
    weight = rng.random(len(INDEX))
    weight /= weight.sum()
    found = spread_of_pairs(structure, l1_embedding(structure), Pairs(items, INDEX), weight, None)
    gaps = items[INDEX[:, 0]] - items[INDEX[:, 1]]
    np.testing.assert_allclose(found, [*np.sqrt(weight @ gaps[:, :3] ** 2), 1.0])


@given(st.lists(st.floats(0, 8), min_size=2, max_size=2), st.integers(1, 5))
def test_slopes_of_unseen_vertices_are_those_of_the_prior_and_never_0(slopes, n_groups):
    found = L1Prior(np.array(slopes), np.array([0.5, 2.0])).unseen_slopes(n_groups)
    assert (found > 0).all()
    assert (found >= slopes).all()
    large = np.array(slopes) > 0.01
    assert (found[large] == np.array(slopes)[large]).all()
