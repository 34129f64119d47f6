"""What a program says of the columns of a structure: bounds, and what penalties measure with."""

import cases
import numpy as np
import pytest
from scipy import sparse

from semimetric import JointGroups
from semimetric._foundation.types import Pairs
from semimetric.distances.learning.measured import PairTargets
from semimetric.distances.learning.options import Recipe
from semimetric.distances.learning.prior import fit_l1_prior
from semimetric.distances.learning.program import make_terms
from semimetric.distances.learning.structure import build_structure
from semimetric.distances.programs.penalties import Quadratic, total

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


def terms_of(**parameters):
    recipe = Recipe(n_knots=4, **parameters)
    structure, task = task_of(recipe)
    return recipe, structure, make_terms(recipe, structure, fit_l1_prior(structure, task.l1_moments(structure, None)))


def test_columns_that_follow_are_not_penalised_and_not_negative():
    recipe, structure, terms = terms_of(penalty="ridge")
    more = terms.followed_by(2)
    n = structure.embedding.n_columns
    assert more.columns.n == len(more.lower) == n + 2
    assert more.lower.tolist() == [*terms.lower, 0.0, 0.0]
    penalty = total(recipe.penalties(structure.embedding), more.columns)
    assert (penalty.P.diagonal()[:n] > 0).all()
    assert not penalty.P.toarray()[n:].any()
    assert not penalty.q[n:].any()


def test_without_axioms_weights_are_free_and_directions_may_have_none():
    assert (terms_of(axioms=None)[2].lower == -np.inf).all()
    _, structure, terms = terms_of(directions=[[1.0, 1.0, 0.0]], delta=0.1)
    of_directions = structure.embedding.group_of_column == 3
    assert (terms.lower[of_directions] == 0).all()
    assert (terms.lower[~of_directions] == terms.delta).all()
    assert terms.delta > 0


def test_only_columns_that_neither_the_penalty_nor_an_example_touches_take_the_prior(rng):
    terms = terms_of()[2]
    n = len(terms.unseen)
    weights = rng.random(n + 1)
    ridged, tilted = np.arange(n + 1) % 3 == 0, np.arange(n + 1) % 3 == 1
    penalty = Quadratic(sparse.csr_array(np.diag(ridged * 1.0)), tilted * 1.0)
    norms = np.where(np.arange(n + 1) % 2 == 0, 1.0, 1e-14)
    found = terms.with_prior_where_undetermined(weights, penalty, lambda: norms)
    taken = (~ridged & ~tilted & (norms < 1))[:n]
    assert 0 < taken.sum() < n
    np.testing.assert_array_equal(found, np.append(np.where(taken, terms.unseen, weights[:n]), weights[n:]))


@pytest.mark.parametrize("share", [1.0, 0.1])
def test_joint_tables_have_their_share_of_the_penalty(share):
    _, structure, terms = terms_of(groups=JointGroups(((0, 2),), 3, share))
    _, same, whole = terms_of(groups=JointGroups(((0, 2),), 3, 1.0))
    joint = np.array([len(group) > 1 for group in structure.embedding.groups])[structure.embedding.group_of_column]
    assert same.embedding.groups == structure.embedding.groups
    np.testing.assert_allclose(terms.columns.share, np.where(joint, share, 1.0) * whole.columns.share)
