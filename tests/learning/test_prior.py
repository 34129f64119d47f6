"""The weighted L1 distance that the examples ask for."""

import cases
import numpy as np

from semimetric._foundation.types import Pairs
from semimetric.learning.prior import fit_l1_prior
from semimetric.learning.recipe import Recipe
from semimetric.learning.regression.pair_targets import PairTargets
from semimetric.learning.structure import build_structure, l1_embedding

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
