"""What a program says of the columns of a structure: bounds, and what penalties measure with."""

import cases
import numpy as np

from semimetric._foundation.types import Pairs
from semimetric.learning.prior import fit_l1_prior
from semimetric.learning.recipe import Recipe
from semimetric.learning.regression.pair_targets import PairTargets
from semimetric.learning.structure import build_structure
from semimetric.learning.terms import make_terms

ITEMS, INDEX, Y = cases.sample()
NAMES = ("u", "v", "w")


def task_of(recipe, items=ITEMS, y=Y):
    structure = build_structure(recipe, items, NAMES)
    return structure, PairTargets.of(recipe, structure, Pairs(items, INDEX), y, np.full(len(y), 1 / len(y)))


def test_the_least_weight_is_a_share_of_the_mean_of_the_prior():
    structure, task = task_of(Recipe(n_knots=5))
    prior = fit_l1_prior(structure, task.l1_moments(structure, None))
    terms = make_terms(Recipe(delta=0.5), structure, prior)
    np.testing.assert_allclose(terms.lower, 0.5 * terms.columns.prior.mean())
