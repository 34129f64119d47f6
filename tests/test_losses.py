import cases
import cvxpy as cp
import numpy as np
import pytest
from cases import assert_refused
from hypothesis import given
from hypothesis import strategies as st

from semimetric.programs.losses import Absolute, Huber, Squared, resolve_loss

every_loss = pytest.mark.parametrize("loss", cases.LOSSES.values(), ids=cases.LOSSES)
WEIGHT = np.array([0.2, 0.3, 0.5])
residuals = st.lists(st.floats(-3, 3, allow_subnormal=False), min_size=3, max_size=3).map(np.array)
FORMULAS = {
    "squared": lambda r: r**2 / 2,
    "absolute": abs,
    "huber": lambda r: r**2 / 2 if abs(r) <= 0.2 else 0.2 * abs(r) - 0.02,
}


@pytest.mark.parametrize("name", cases.LOSSES)
@given(r=residuals)
def test_value_is_the_formula_and_the_cvxpy_expression(name, r):
    loss = cases.LOSSES[name]
    want = sum(s * FORMULAS[name](x) for s, x in zip(WEIGHT, r, strict=True))
    assert loss.value(r, WEIGHT) == pytest.approx(want, abs=1e-12)
    assert float(loss.expression(cp, cp.Constant(r), WEIGHT).value) == pytest.approx(want, abs=1e-9)


@every_loss
@given(r=residuals, t=st.lists(st.floats(-3, 3), min_size=3, max_size=3).map(np.array))
def test_value_and_conjugate_obey_fenchel_and_young(loss, r, t):
    low, high = loss.bounds(WEIGHT)
    theta = np.clip(t * WEIGHT, low, high)
    assert loss.value(r, WEIGHT) >= theta @ r - loss.conjugate(theta, WEIGHT) - 1e-12
    slope = np.clip(r / loss.curvature, *loss.interval) if loss.curvature else np.sign(r)  # equality at a subgradient
    best = WEIGHT * slope
    assert loss.value(r, WEIGHT) == pytest.approx(best @ r - loss.conjugate(best, WEIGHT), abs=1e-12)


@every_loss
@given(r=residuals)
def test_growth_bounds_the_residuals_of_any_value(loss, r):
    assert WEIGHT @ np.abs(r) <= loss.growth(loss.value(r, WEIGHT)) + 1e-12
    assert loss.value(0 * r, WEIGHT) == 0 <= loss.value(r, WEIGHT)


def test_losses_by_name():
    assert [resolve_loss(n) for n in ("squared", "absolute", "huber")] == [Squared(), Absolute(), Huber()]
    assert resolve_loss(Huber(2.0)).threshold == 2.0
    assert [resolve_loss(n).quadratic for n in ("squared", "absolute", "huber")] == [True, False, False]
    assert_refused(lambda: resolve_loss("cubic"), "loss='cubic'", "not known", "use one of 'squared'")
    assert_refused(lambda: Huber(0.0), "threshold=0.0", "must be > 0")
