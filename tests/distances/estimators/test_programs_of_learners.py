"""The program that a learner has solved, as CVXPY takes it: the same optimum, terms of one's own, and distances of weights."""

import copy
import pickle

import cvxpy as cp
import numpy as np
import pytest
from cases import assert_refused

import semimetric
from semimetric import (
    AtLeast,
    DistanceApproximator,
    DistanceRegressor,
    KernelRidgeLearner,
    LargeMarginLearner,
    Monotone,
    PairLearner,
    Program,
    QuadrupletLearner,
    Tables,
    TripletLearner,
    Triplets,
    out_of_core,
)
from semimetric.distances.learning import program as programs

RNG = np.random.default_rng(0)
ITEMS = RNG.random((40, 2))
PAIRS, TRIPLETS, QUADRUPLETS = (RNG.random((60, size, 2)) for size in (2, 3, 4))
Y = np.abs(PAIRS[:, 0] - PAIRS[:, 1]).sum(axis=1) + 0.1 * RNG.random(60)
CLASSES = (ITEMS[:, 0] > 0.5).astype(int)
FAST = {"n_knots": 4, "alpha": 1e-2}
PLAIN = FAST | {"directions": None}


def city_block(x, y):
    return np.abs(x - y).sum()


def regressor(**settings):
    return DistanceRegressor(**FAST | settings).fit(PAIRS, Y)


LEARNED = {
    "regressor": regressor,
    "absolute": lambda: regressor(loss="absolute"),
    "huber": lambda: regressor(loss="huber"),
    "link": lambda: regressor(link="sqrt"),
    "concave link": lambda: regressor(link="concave"),
    "scales": lambda: regressor(tables="warped"),
    "free": lambda: regressor(axioms=None),
    "metric": lambda: regressor(axioms="metric"),
    "constraint": lambda: regressor(program=Program(constraints=[Monotone([0])])),
    "lasso": lambda: regressor(program=Program(penalty="lasso")),
    "base distance": lambda: regressor(tables=Tables(base_distances=[city_block])),
    "relative": lambda: regressor(program=Program(relative=True)),
    "approximator": lambda: DistanceApproximator(city_block, DistanceRegressor(**FAST), n_pairs=80).fit(ITEMS),
    "pairs": lambda: PairLearner(**PLAIN).fit(PAIRS, np.where(Y > np.median(Y), -1, 1)),
    "triplets": lambda: TripletLearner(**PLAIN).fit(TRIPLETS),
    "quadruplets": lambda: QuadrupletLearner(**PLAIN).fit(QUADRUPLETS),
    "labels": lambda: LargeMarginLearner(**PLAIN).fit(ITEMS, CLASSES),
    "pull": lambda: LargeMarginLearner(**PLAIN, loss="hinge", triplets=Triplets(mu=0.5)).fit(ITEMS, CLASSES),
}  # fmt: skip


def solved(problem):
    return problem.solve(solver="CLARABEL")


@pytest.mark.parametrize("name", LEARNED)
def test_it_has_the_optimum_of_the_learner_and_its_weights_make_the_distance(name):
    model = LEARNED[name]()
    program, built = model.program_, model.program_.to_cvxpy()
    assert solved(built.problem) == pytest.approx(model.solution_.objective, rel=1e-5, abs=1e-7)
    w = built.weights.value
    np.testing.assert_allclose(built.residuals.value, program.design.matvec(w) - program.y, atol=1e-6)
    d, points = model.semimetric_from_weights(model.solution_.weights), ITEMS[:12]
    np.testing.assert_array_equal(d.pairwise(points), model.semimetric_.pairwise(points))
    near = model.semimetric_from_weights(w)
    assert near.axioms == d.axioms
    np.testing.assert_allclose(near.pairwise(points), d.pairwise(points), atol=2e-3 * d.pairwise(points).max())


@pytest.mark.parametrize("name", ["regressor", "metric", "constraint", "pairs", "triplets", "labels"])
def test_a_term_that_is_added_changes_it(name):
    model = LEARNED[name]()
    built = model.program_.to_cvxpy()
    least = solved(built.problem)
    term = cp.sum_squares(built.weights)
    size = term.value
    mine = cp.Problem(cp.Minimize(built.problem.objective.expr + 10 * term), built.problem.constraints)
    assert solved(mine) > least
    assert term.value < size
    d = model.semimetric_from_weights(built.weights.value)
    assert d.pairwise(ITEMS).mean() < model.semimetric_.pairwise(ITEMS).mean()
    assert d.axioms.positive
    assert d.axioms.triangle or name != "metric"


def test_the_dual_variables_of_the_rows_certify_the_optimum():
    """By strong duality of least squares over w >= lower: at the optimum A'theta plus the slope of the penalty is >= 0."""
    model = regressor()
    program, built = model.program_, model.program_.to_cvxpy()
    solved(built.problem)
    theta = built.residual_rows.dual_value
    slopes = program.sample_weight * built.residuals.value
    assert min(np.abs(theta - slopes).max(), np.abs(theta + slopes).max()) < 1e-6
    rest = program.design.rmatvec(slopes) + program.penalty.gradient(built.weights.value)
    np.testing.assert_allclose(rest, built.lower_bounds.dual_value, atol=1e-6)


@pytest.mark.parametrize(("name", "parts"), [("free", ()), ("regressor", ("lower_bounds",)),
                                             ("metric", ("lower_bounds", "triangle_rows")),
                                             ("constraint", ("lower_bounds", "inequality_rows"))])  # fmt: skip
def test_the_constraints_are_there_by_name(name, parts):
    program = LEARNED[name]().program_
    built = program.to_cvxpy()
    found = [part for part in built._fields[4:] if getattr(built, part) is not None]
    assert found == list(parts)
    assert len(built.problem.constraints) == 1 + len(parts)
    if "triangle_rows" in parts:
        assert built.triangle_rows.shape == (program.triangles.n_rows,)
    if "inequality_rows" in parts:
        assert built.inequality_rows.shape == (len(program.inequalities),)


def test_weights_that_break_the_program_are_refused():
    model = regressor(program=Program(constraints=[AtLeast([[[0.2, 0.2], [0.8, 0.8]]], [1.0])]))
    w = model.solution_.weights
    assert_refused(lambda: model.semimetric_from_weights(w[:-1]), f"({len(w) - 1},)", f"{len(w)} columns is required")
    assert_refused(lambda: model.semimetric_from_weights(np.r_[w[:-1], -1.0]), "is -1;", "keep the lower bounds")
    assert_refused(lambda: model.semimetric_from_weights(np.r_[w[:-1], np.nan]), "missing value", "finite")
    assert_refused(lambda: model.semimetric_from_weights(w / 100), "violate the inequalities", "keep these")
    assert_refused(lambda: model.semimetric_from_weights(["a"] * len(w)), "weights holds text", "numbers are required")


def test_a_model_holds_its_program_in_this_process_alone(tmp_path):
    model = LEARNED["regressor"]()
    size = len(pickle.dumps(model))
    model.save(tmp_path / "model.smm")
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), semimetric.load(tmp_path / "model.smm")):
        assert_absent_program(other, "pickles, copies and files do not hold it; fit again")
    model.__dict__.pop("_built")
    assert len(pickle.dumps(model)) == size


def assert_absent_program(model, why):
    assert not hasattr(model, "program_")
    with pytest.raises(AttributeError) as caught:
        _ = model.program_
    assert why in str(caught.value)
    with pytest.raises(AttributeError):
        model.semimetric_from_weights([1.0])


@pytest.mark.slow
def test_what_has_no_program_says_why(tmp_path):
    np.save(tmp_path / "pairs.npy", PAIRS)
    for model, why in (
        (DistanceRegressor(**FAST).partial_fit(PAIRS, Y), "sums of second moments"),
        (out_of_core.fit(DistanceRegressor(**FAST), tmp_path / "pairs.npy", Y), "sums of second moments"),
        (out_of_core.fit(DistanceRegressor(**FAST, loss="huber"), tmp_path / "pairs.npy", Y), "learned from parts"),
        (DistanceApproximator(city_block, DistanceRegressor(n_knots=3), method="vertices").fit(ITEMS), "at the vertices"),
        (KernelRidgeLearner().fit(ITEMS, CLASSES), "steps of gradients"),
        (LargeMarginLearner().fit(ITEMS, CLASSES), "sum of scales, components and a forest"),
    ):
        assert_absent_program(model, why)


def test_a_large_program_is_not_held(monkeypatch):
    monkeypatch.setattr(programs, "MOST_HELD", 1000)
    assert_absent_program(LEARNED["regressor"](), "fit to fewer rows")


def test_a_held_program_is_no_larger_than_the_pairs_and_their_targets():
    pairs = RNG.random((20_000, 2, 2))
    model = DistanceRegressor(**FAST).fit(pairs, np.abs(pairs[:, 0] - pairs[:, 1]).sum(axis=1))
    arrays = pairs.nbytes + len(pairs) * 8 * (2 + 1 + 1)  # the points, row numbers, targets and weights
    assert programs._bytes_of(model.program_, set()) < 1.3 * arrays
