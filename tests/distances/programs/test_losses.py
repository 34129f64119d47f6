import cases
import cvxpy as cp
import numpy as np
import pytest
from cases import assert_refused
from hypothesis import given
from hypothesis import strategies as st

from semimetric.distances.programs.losses import Absolute, Hinge, Huber, Squared, SquaredHinge, resolve_loss

LOSSES = cases.LOSSES | cases.MARGIN_LOSSES
every_loss = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
WEIGHT = np.array([0.2, 0.3, 0.5])
residuals = st.lists(st.floats(-3, 3, allow_subnormal=False), min_size=3, max_size=3).map(np.array)
FORMULAS = {
    "squared": lambda r: r**2 / 2,
    "absolute": abs,
    "huber": lambda r: r**2 / 2 if abs(r) <= 0.2 else 0.2 * abs(r) - 0.02,
    "hinge": lambda r: max(0, r),
    "squared hinge": lambda r: max(0, r) ** 2 / 2,
}


@pytest.mark.parametrize("name", LOSSES)
@given(r=residuals)
def test_value_is_the_formula_and_the_cvxpy_expression(name, r):
    loss = LOSSES[name]
    want = sum(s * FORMULAS[name](x) for s, x in zip(WEIGHT, r, strict=True))
    assert loss.value(r, WEIGHT) == pytest.approx(want, abs=1e-12)
    assert float(loss.expression(cp, cp.Constant(r), WEIGHT).value) == pytest.approx(want, abs=1e-9)


@every_loss
@given(r=residuals, t=st.lists(st.floats(-3, 3), min_size=3, max_size=3).map(np.array))
def test_value_and_conjugate_obey_fenchel_and_young(loss, r, t):
    low, high = loss.bounds(WEIGHT)
    theta = np.clip(t * WEIGHT, low, high)
    assert loss.value(r, WEIGHT) >= theta @ r - loss.conjugate(theta, WEIGHT) - 1e-12
    best = WEIGHT * loss.slope(r)  # equality at a subgradient
    assert loss.value(r, WEIGHT) == pytest.approx(best @ r - loss.conjugate(best, WEIGHT), abs=1e-12)


@every_loss
@given(r=residuals)
def test_slopes_and_curvature_are_those_of_the_value(loss, r):
    one, h = np.ones(1), 1e-6
    for x in (x for x in r if min(abs(abs(x) - kink) for kink in (0.0, 0.2)) > 2 * h):
        ahead, here, back = (loss.value(np.array([x + d]), one) for d in (h, 0.0, -h))
        assert loss.slope(np.array([x]))[0] == pytest.approx((ahead - back) / (2 * h), abs=1e-5)
        if loss.curvature:
            assert loss.curved(np.array([x]))[0] == (abs(ahead - 2 * here + back) > h * h / 2)


@every_loss
@given(r=residuals)
def test_growth_bounds_the_residuals_of_any_value(loss, r):
    assert WEIGHT @ np.abs(r) <= loss.growth(loss.value(r, WEIGHT)) + 1e-12
    assert loss.value(0 * r, WEIGHT) == 0 <= loss.value(r, WEIGHT)


def test_losses_by_name():
    assert [resolve_loss(n) for n in ("squared", "absolute", "huber")] == [Squared(), Absolute(), Huber()]
    assert resolve_loss(Huber(2.0)).threshold == 2.0
    assert [resolve_loss(n).quadratic for n in ("squared", "absolute", "huber")] == [True, False, False]
    assert [resolve_loss(n, margins=True) for n in ("squared_hinge", "hinge")] == [SquaredHinge(), Hinge()]
    assert_refused(lambda: resolve_loss("hinge"), "loss='hinge'", "not known", "use one of 'squared'")
    assert_refused(lambda: resolve_loss("squared", margins=True), "loss='squared'", "not known", "'squared_hinge', 'hinge'")
    assert_refused(lambda: resolve_loss("cubic"), "loss='cubic'", "not known", "use one of 'squared'")
    assert_refused(lambda: Huber(0.0), "threshold=0.0", "must be > 0")
