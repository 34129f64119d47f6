"""Learning from labels: the program and its passes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from learners import made
from numpy.testing import assert_allclose
from sklearn.datasets import load_wine

import semimetric as sm
from semimetric import InteriorPoint, LargeMarginLearner, Newton, Reference
from semimetric._foundation.types import Pairs
from semimetric.data.schema import Schema
from semimetric.distances import Status
from semimetric.distances.learning import items as in_memory_items
from semimetric.distances.learning import large_margin as lm
from semimetric.distances.learning.items import LabeledDataset, LabeledItems, LargeMargin
from semimetric.distances.learning.options import Recipe
from semimetric.distances.learning.prior import spread_of_pairs
from semimetric.distances.programs.losses import Hinge, SquaredHinge

RNG = np.random.default_rng(0)
X, Y = load_wine(return_X_y=True)
FAST = {"n_knots": 5, "alpha": 1e-2, "directions": None, "tables": "warped"}


def learned(**changes):
    return made(LargeMarginLearner, **FAST | changes)


def setting(tables="warped", mu=1.0, penalty="ridge", loss="squared_hinge", rows=60):
    keep = np.arange(0, len(X), len(X) // rows)
    classes = LabeledDataset(X[keep, :4], Y[keep], np.full(len(keep), 1.0 / len(keep)))
    recipe = Recipe(
        n_knots=3, tables=tables, penalty=penalty, alpha=1e-2, loss=sm.Hinge() if loss == "hinge" else SquaredHinge()
    )
    items, rule = LabeledItems.of_arrays(classes), LargeMargin(mu=mu)
    structure = items.structure(recipe, Schema.numeric([f"x{k}" for k in range(4)]))
    with items.searchable(recipe, rule, structure) as located:
        problem, _ = lm.make_problem(recipe, rule, structure, located)
        terms = lm.make_terms(recipe, structure, problem.prior)
        return located.neighbors(problem, terms.columns.prior), terms


@pytest.mark.filterwarnings("ignore:Solution.Reference")
@pytest.mark.parametrize("tables", ["warped", "full"])
@pytest.mark.parametrize("mu", [1.0, 0.5])
@pytest.mark.parametrize(("loss", "penalty"), [("squared_hinge", "ridge"), ("hinge", "ridge"), ("hinge", None)])
def test_the_program_agrees_with_cvxpy(tables, mu, loss, penalty):
    near, terms = setting(tables, mu, penalty, loss)
    program = lm.program_of_pass(near.blocks.in_memory.problem, near, terms)
    assert isinstance(program.loss, Hinge if loss == "hinge" else SquaredHinge)
    solver = InteriorPoint(tol=1e-8) if loss == "hinge" else Newton(tol=1e-10)
    ours, reference = solver.solve(program), Reference().solve(program)
    assert ours.objective == pytest.approx(reference.objective, rel=1e-5, abs=1e-9)
    if loss == "squared_hinge" and penalty:
        assert ours.objective <= reference.objective * (1 + 1e-6)


def test_the_objective_is_that_of_the_docstring():
    near, terms = setting(mu=0.25, penalty=None)
    block = near.blocks.in_memory
    program, found, embedding = lm.program_of_pass(block.problem, near, terms), block.found, block.problem.embedding
    w = RNG.random(embedding.n_columns)
    d = embedding.pairwise(block.located, block.located, w)
    i, j, l = found.triplets().T  # noqa: E741 - as in the formula
    push = (np.maximum(1 + d[i, j] - d[i, l], 0) ** 2 / 2).mean()
    pull = np.mean([d[a, b] for a, row in enumerate(found.near) for b in row if b >= 0])
    assert program.objective(w) == pytest.approx(push + 3 * pull)


def test_the_objective_does_not_rise_within_a_pass_and_ends_certified():
    model = learned(n_passes=4).fit(X, Y)
    assert len(model.passes_) == 4
    for p in model.passes_:
        assert p.after <= p.before * (1 + 1e-9)
        assert 0 <= p.n_violated <= p.n_triplets
        assert p.solution.relative_gap < 1e-6
    assert model.solution_ is model.passes_[-1].solution


@pytest.mark.parametrize("directions", [None, "nca", "lda", "discriminant"])
def test_units_do_not_matter(directions):
    scale, shift = 10.0 ** RNG.integers(-4, 5, X.shape[1]), RNG.normal(size=X.shape[1])
    a = learned(directions=directions).fit(X, Y).semimetric_
    b = learned(directions=directions).fit(X * scale + shift, Y).semimetric_
    assert_allclose(a.pairwise(X[:20], X), b.pairwise(X[:20] * scale + shift, X * scale + shift), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("tables", ["warped", "full"])
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_increasing_maps_leave_the_distance_where_the_knots_follow(tables, seed):
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(X))[:80]
    items, labels = X[rows, :3], Y[rows]
    knots = [np.unique(np.quantile(column, np.linspace(0, 1, 4))) for column in items.T]
    moved = [np.cumsum(rng.exponential(size=len(k)) ** 2 + 1e-3) for k in knots]
    other = np.column_stack([np.interp(c, k, m) for c, k, m in zip(items.T, knots, moved, strict=True)])
    found = [
        learned(knots=k, tables=tables, base="positions", n_passes=1, solver=Newton(tol=1e-10)).fit(v, labels)
        for k, v in ((knots, items), (moved, other))
    ]
    a, b = (m.semimetric_.pairwise(v) for m, v in zip(found, (items, other), strict=True))
    assert_allclose(a, b, rtol=1e-6, atol=1e-7 * a.max())


@pytest.mark.filterwarnings("ignore:ties in the data leave fewer knots")
def test_a_feature_that_no_drawn_pair_varies_is_not_steep():
    rare = np.column_stack([X, np.arange(len(X)) == 77])
    items, schema = LabeledItems.of_arrays(LabeledDataset(rare, Y, Y)), Schema.numeric([f"x{k}" for k in range(14)])
    structure = items.structure(Recipe(n_knots=3, tables="warped"), schema)
    alike = Pairs(rare, np.array([[0, 1], [2, 90]]))
    spread = spread_of_pairs(structure, lm.l1_embedding(structure), alike, np.full(2, 0.5), None, least=1e-3)
    others = spread[:13] / np.ptp(X, axis=0)
    assert others.min() <= spread[13] <= others.max()


def test_an_interruption_between_passes_keeps_what_was_reached(monkeypatch):
    calls = []

    def stop(*args, real=in_memory_items.find_neighbors, **keywords):
        calls.append(1)
        if len(calls) == 2:  # for the first pass, and then
            raise KeyboardInterrupt
        return real(*args, **keywords)

    monkeypatch.setattr(in_memory_items, "find_neighbors", stop)
    model = learned(n_passes=5)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    assert len(model.passes_) == 1
    assert model.solution_.status is Status.INTERRUPTED
    assert np.isfinite(model.semimetric_.pairwise(X)).all()
