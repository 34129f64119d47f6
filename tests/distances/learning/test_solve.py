"""One program, one call of a solver: the last step of learning."""

import cases
import numpy as np
import pytest
from learners import made

from semimetric import DistanceRegressor, Gram, out_of_core
from semimetric._foundation.types import Pairs
from semimetric.distances import Status
from semimetric.distances.learning.measured import PairTargets
from semimetric.distances.learning.options import Recipe
from semimetric.distances.learning.prior import fit_l1_prior
from semimetric.distances.learning.program import make_terms, solve, solve_second_moments
from semimetric.distances.learning.structure import build_structure
from semimetric.distances.programs.losses import Squared
from semimetric.distances.programs.program import ConvexProgram

ITEMS, INDEX, Y = cases.sample()


@pytest.mark.parametrize("options", [{}, {"solver": "interior_point"}, {"tables": "warped", "knots": "uniform"}, {"stream": 1}])
def test_without_a_penalty_what_no_pair_touches_takes_the_prior(options):
    """Two clusters and no pair between them: the distance across is that of the weighted L1 distance, not 0."""
    rng = np.random.default_rng(0)
    items = np.concatenate([rng.random((30, 1)), 5 + rng.random((30, 1))])
    index = np.concatenate([rng.integers(0, 30, (300, 2)), rng.integers(30, 60, (300, 2))])
    y = cases.cityblock(items[index[:, 0]], items[index[:, 1]])
    learn = DistanceRegressor.partial_fit if "stream" in options else DistanceRegressor.fit
    options = {name: value for name, value in options.items() if name != "stream"}
    model = learn(made(DistanceRegressor, n_knots=8, alpha=1e-3, penalty=None, preprocessor=items, **options), index, y)
    assert model.semimetric_([0.2], [5.8]) == pytest.approx(5.6, rel=0.05)
    np.testing.assert_allclose(model.predict(index), y, atol=1e-3)


def problem(recipe, n_pairs=150):
    """Structure, terms and program of some pairs."""
    items, index, y = cases.sample(n_pairs=n_pairs)
    structure = build_structure(recipe, items, ("u", "v", "w"))
    task = PairTargets.of(recipe, structure, Pairs(items, index), y, np.full(len(y), 1 / len(y)))
    terms = make_terms(recipe, structure, fit_l1_prior(structure, task.l1_moments(structure, None)))
    design, target, weight = task.rows(recipe, structure)
    penalties = recipe.penalties(structure.embedding)
    return structure, terms, ConvexProgram(design, target, weight, Squared(), penalties, terms.columns, terms.lower)


def norms_of(program):
    return lambda: program.design.rmatvec(program.sample_weight)


@pytest.mark.parametrize("tables", ["full", "warped"])
@pytest.mark.parametrize("penalty", ["auto", "ridge", "roughness", "lasso", None])
def test_second_moments_hold_all_that_least_squares_needs(tables, penalty):
    recipe = Recipe(n_knots=6, tables=tables, penalty=penalty, solver=Gram(), alpha=1e-2)
    structure, terms, program = problem(recipe)
    by_rows, _ = solve(recipe, structure, terms, program, norms=norms_of(program))
    moments = program.design.moments(program.y, program.sample_weight)
    by_sums = solve_second_moments(recipe, structure, terms, moments)
    assert by_sums.objective == pytest.approx(by_rows.objective, rel=1e-9)
    np.testing.assert_allclose(by_sums.weights, by_rows.weights, rtol=1e-5, atol=1e-7)
    assert f"sums of second moments, {len(by_sums.weights)} weights" in by_sums.solver


@pytest.mark.parametrize("how", ["rows", "sums"])
def test_weights_that_nothing_determines_are_those_of_the_prior(how):
    recipe = Recipe(n_knots=8, penalty=None)
    structure, terms, program = problem(recipe, n_pairs=20)
    untouched = program.design.csr().toarray().any(axis=0) == 0
    assert 0 < untouched.sum() < len(untouched)
    if how == "rows":
        found, _ = solve(recipe, structure, terms, program, norms=norms_of(program))
    else:
        found = solve_second_moments(recipe, structure, terms, program.design.moments(program.y, program.sample_weight))
    assert (found.weights[untouched] == terms.unseen[untouched]).all()
    assert (found.weights[untouched] > 0).all()


def test_norms_are_asked_for_only_where_the_penalty_leaves_columns_alone():
    def norms():
        raise AssertionError("a ridge determines every column")

    recipe = Recipe(n_knots=8, penalty="ridge")
    structure, terms, program = problem(recipe, n_pairs=20)
    assert solve(recipe, structure, terms, program, norms=norms)[0].status is Status.SOLVED
    recipe = Recipe(n_knots=8, penalty=None)
    structure, terms, program = problem(recipe, n_pairs=20)
    with pytest.raises(AssertionError, match="every column"):
        solve(recipe, structure, terms, program, norms=norms)


@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_scales_that_no_pair_determines_are_the_priors_whatever_the_axioms(loss):
    items = np.random.default_rng(0).random((40, 2))
    items[:, 0] = np.where(items[:, 0] < 0.5, items[:, 0] / 2, 0.75 + items[:, 0] / 4)
    index = np.random.default_rng(1).integers(0, 40, (300, 2))
    same_side = (items[index[:, 0], 0] < 0.5) == (items[index[:, 1], 0] < 0.5)  # no pair crosses the cell in between
    pairs = items[index[same_side]]
    y = np.abs(pairs[:, 0] - pairs[:, 1]).sum(axis=1)
    knots = [[0.0, 0.25, 0.3, 0.7, 0.75, 1.0], [0.0, 1.0]]
    options = {"tables": "warped", "penalty": None, "loss": loss, "alpha": 0.0, "knots": knots}
    weights = [
        learn(made(DistanceRegressor, axioms=axioms, **options), pairs, y).semimetric_.weights
        for axioms in ("semimetric", "metric")
        for learn in (DistanceRegressor.fit, out_of_core.fit)
    ]
    for other in weights[1:]:
        np.testing.assert_allclose(other, weights[0], rtol=1e-5, atol=1e-9)
    assert weights[0][2] > 0.1 * 0.4  # the slope of the weighted L1 distance is about 1, and the cell is 0.4 wide
