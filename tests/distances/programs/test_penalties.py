import cases
import cvxpy as cp
import numpy as np
import pytest
from cases import assert_refused

from semimetric import NotSupportedError
from semimetric.distances.programs.penalties import Lasso, Linear, Ridge, Roughness, Shift, total

SETTINGS = {"singles": {}, "pairs": {"groups": "pairs"}, "base": {"base_distances": (cases.cityblock,)}}


@pytest.fixture(params=SETTINGS)
def columns(request):
    return cases.program(**SETTINGS[request.param]).columns


@pytest.mark.parametrize("name", cases.PENALTIES)
def test_the_quadratic_is_the_expression_and_its_gradient_the_derivative(name, columns, rng):
    terms, w = cases.PENALTIES[name], rng.random(columns.n)
    quadratic = total(terms, columns)
    expression = sum(float(p.expression(cp, cp.Constant(w), columns).value) for p in terms)
    assert quadratic.value(w) == pytest.approx(expression, abs=1e-12)
    assert quadratic.value(w) >= 0
    step = rng.normal(size=columns.n)
    slope = (quadratic.value(w + 1e-5 * step) - quadratic.value(w - 1e-5 * step)) / 2e-5
    assert quadratic.gradient(w) @ step == pytest.approx(slope, rel=1e-5, abs=1e-8)


@pytest.mark.parametrize("name", cases.PENALTIES)
def test_base_distances_are_not_penalised(name):
    columns = cases.program(base_distances=(cases.cityblock,)).columns
    w = np.append(columns.prior, 0.0)
    quadratic = total(cases.PENALTIES[name], columns)
    assert quadratic.value(w + np.eye(columns.n)[-1]) == pytest.approx(quadratic.value(w))


@pytest.mark.parametrize("penalty", [Ridge(0.3), Roughness(0.3, order=1), Roughness(0.3, order=2)])
def test_the_prior_costs_nothing(penalty):
    columns = cases.program().columns
    assert penalty.quadratic(columns).value(columns.prior) == pytest.approx(0.0, abs=1e-12)
    assert penalty.quadratic(columns).value(columns.prior**2) > 1e-4


def test_shifts_cost_nothing_on_the_prior_of_even_knots():
    columns = cases.program(knots="uniform", n_knots=4).columns
    w = np.minimum(columns.prior, 0.5 * columns.prior.max()) / columns.prior * columns.unit
    assert Shift(1.0).quadratic(columns).value(columns.unit) == pytest.approx(0.0, abs=1e-12)
    assert Shift(1.0).quadratic(columns).value(w * np.arange(len(w))) > 1e-3


@pytest.mark.parametrize("penalty", [Ridge(0.1), Ridge(0.1, towards="zero"), Lasso(0.1)])
def test_reach_bounds_every_weight(penalty, columns, rng):
    for scale in (0.1, 1.0, 10.0):
        w = scale * rng.random(columns.n)
        assert (w <= penalty.reach(penalty.quadratic(columns).value(w), columns) + 1e-9).all()
    assert np.isinf(type(penalty)(0.0).reach(1.0, columns)).all()
    assert np.isinf(Shift(0.1).reach(1.0, columns)).all()


def test_penalties_do_not_depend_on_units():
    """Items in other units and a distance in another unit leave the penalty of the same distance as it was."""
    items, index, y = cases.sample()
    values = []
    for stretch, unit in ((1.0, 1.0), (np.array([10.0, 1e-3, 5.0]), 7.0)):
        model = cases.DistanceRegressor(**cases.FAST, preprocessor=items * stretch).fit(index, y * unit)
        values.append((model.solution_.objective, model.predict(index) / unit))
    assert values[0][0] == pytest.approx(values[1][0], rel=1e-6)
    np.testing.assert_allclose(values[0][1], values[1][1], rtol=1e-6)


def test_bad_penalties_are_refused():
    assert_refused(lambda: Ridge(-1.0), "alpha=-1.0", "must be >= 0")
    assert_refused(lambda: Ridge(1.0, towards="one"), "towards='one'", "not known", "use one of 'prior'")
    assert_refused(lambda: Roughness(1.0, order=3), "order=3", "not known", "use one of 1, 2")
    free = cases.program(axioms=None).columns
    assert_refused(lambda: Lasso(1.0).quadratic(free), "Lasso needs weights >= 0", "axioms=None", "Ridge", NotSupportedError)


def test_a_linear_term_costs_every_column_and_bounds_those_that_cost_something(columns, rng):
    cost, w = rng.random(columns.n) * (np.arange(columns.n) > 1), rng.random(columns.n)
    term = Linear(cost)
    assert term.quadratic(columns).value(w) == pytest.approx(cost @ w)
    assert float(term.expression(cp, cp.Constant(w), columns).value) == pytest.approx(cost @ w)
    reach = term.reach(float(cost @ w), columns)
    assert (w <= reach + 1e-12).all()
    assert np.isinf(reach).tolist() == (cost == 0).tolist()


def test_linear_terms_that_cannot_be(columns):
    assert_refused(lambda: Linear(np.array([1.0, -2.0])), "cost has -2", ">= 0 are required", "one a column")
    assert_refused(
        lambda: Linear(np.ones(columns.n + 1)).quadratic(columns), f"{columns.n + 1} costs", f"{columns.n} are required",
        error=NotSupportedError,
    )  # fmt: skip
