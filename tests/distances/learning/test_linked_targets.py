"""What a link makes of targets: the convex loss agrees with the direct one to first order, and by how much it differs."""

import cases
import numpy as np
import pytest
from cases import assert_refused
from scipy.optimize import minimize

from semimetric import Absolute, ConcaveLink, DistanceRegressor, PowerLink, Program, Squared, Tables
from semimetric.distances.learning.measured import LinkedTargets, sum_unit
from semimetric.distances.learning.options import Recipe
from semimetric.distances.model.links import link_function

ITEMS, INDEX, Y = cases.sample()
WEIGHT = np.full(len(Y), 1 / len(Y))
LINKS = [0.7, 0.5, 2.0, ConcaveLink((0.3, 0.8), (1.5, 1.0, 0.6))]


def targets_of(link, y=Y, **parameters):
    return LinkedTargets.of(Recipe(link=link, **parameters).checked(), y, np.full(len(y), 1 / len(y)), None)


@pytest.mark.parametrize("link", LINKS)
def test_targets_are_the_sums_of_distances_in_the_unit_of_the_mean_distance(link):
    found = targets_of(link)
    np.testing.assert_allclose(found.link.apply(found.target * found.unit), Y, rtol=1e-12)
    assert found.link.apply(np.array(found.unit)) == pytest.approx(Y.mean())
    assert sum_unit(found.link, Y.mean(), np.nan) == pytest.approx(found.unit)


@pytest.mark.parametrize("link", [0.9, 0.7, 0.5, 2.0])
@pytest.mark.parametrize("loss", [Squared(), Absolute()])
def test_the_loss_is_the_direct_one_to_first_order(link, loss):
    """A sum (1 + e) times that of the target: the residual is the direct one but for (1 - p) e / 2 of it."""
    y = np.linspace(0.2, 3.0, 50)
    found, weight = targets_of(link, y), np.full(50, 1 / 50)
    for e in (1e-3, 1e-2):
        sums = (1 + e) * found.target
        convex = (sums - found.target) * found.scale
        direct = (found.link.apply(sums * found.unit) - y) / y.mean()
        share = (1 - link) * e / 2
        np.testing.assert_allclose(convex, direct * (1 + share), rtol=2 * e**2)
        power = 2 if isinstance(loss, Squared) else 1
        assert loss.value(convex, weight) / loss.value(direct, weight) == pytest.approx((1 + share) ** power, rel=4 * e**2)


def test_relative_residuals_are_those_of_distances():
    found = targets_of(0.7, relative=0.5)
    sums = 1.0001 * found.target
    direct = (found.link.apply(sums * found.unit) - Y) / Y.mean() / np.maximum(Y / Y.mean(), 0.5)
    np.testing.assert_allclose((sums - found.target) * found.scale, direct, rtol=1e-4)


def test_distances_near_0_count_as_a_tenth_of_the_mean():
    y = np.array([0.0, 0.01, 0.2, 1.0, 3.0])
    found = targets_of(0.5, y)
    assert np.isfinite(found.scale).all()
    assert found.scale[0] == found.scale[1] > found.scale[2] > found.scale[3]


@pytest.mark.parametrize("p", [0.85, 0.6])
def test_the_fit_is_near_that_of_the_direct_loss(p):
    """Least squares of the distances themselves, by a nonlinear solver from the convex solution on: a small case.

    With noise of 5 % of the distances, the convex fit has at most 1 % more of the direct loss, and distances within 1 % of the
    direct fit's.
    """
    rng = np.random.default_rng(0)
    pairs = rng.random((400, 2, 2))
    y = (np.abs(pairs[:, 0] - pairs[:, 1]) @ [1.0, 3.0]) ** p * (1 + 0.05 * rng.normal(size=400))
    model = DistanceRegressor(
        n_knots=2, program=Program(penalty=None), tables=Tables(knots=[[0.0, 1.0]] * 2, delta=0.0), link=p
    ).fit(pairs, y)
    gaps = np.abs(pairs[:, 0] - pairs[:, 1])

    def direct(w):
        return float(np.mean(((gaps @ w) ** p - y) ** 2))

    convex = direct(w := model.semimetric_.weights)
    best = minimize(direct, w, method="L-BFGS-B", bounds=[(1e-6, None)] * 2, options={"ftol": 1e-14})
    assert best.fun <= convex <= 1.01 * best.fun
    np.testing.assert_allclose(model.predict(pairs), (gaps @ best.x) ** p, rtol=0.01)
    np.testing.assert_allclose(model.predict(pairs), (gaps @ w) ** p, rtol=1e-9)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("loss", ["squared", "absolute", "huber"])
def test_a_distance_of_the_family_is_found_whatever_its_unit(link, loss):
    rng = np.random.default_rng(1)
    items, pairs = rng.random((60, 2)), rng.integers(0, 60, (300, 2))
    sums = np.abs(items[pairs[:, 0]] - items[pairs[:, 1]]) @ [1.0, 3.0]
    g = link_function(link if isinstance(link, ConcaveLink) else PowerLink(link))
    for unit in (1.0, 1e4) if isinstance(link, float) else (1.0,):
        y = unit * g.apply(sums)
        model = DistanceRegressor(n_knots=2, alpha=1e-8, link=link, loss=loss, preprocessor=items).fit(pairs, y)
        np.testing.assert_allclose(model.predict(pairs), y, rtol=1e-3, atol=1e-4 * unit)


@pytest.mark.parametrize("link", ["identity", "sqrt", PowerLink(0.7)])
def test_of_distances_that_are_all_0_where_the_others_were_set_aside_it_is_told(link):
    zeros = np.zeros(7)
    call = lambda: LinkedTargets.of(Recipe(link=link).checked(), zeros, np.full(7, 1 / 7), None)  # noqa: E731
    assert_refused(call, "all 7 distances to learn from are 0", "teaches nothing", "give pairs that differ")
    assert not LinkedTargets.of(Recipe(link=link).checked(), zeros, np.full(7, 1 / 7), 2.0).target.any()  # a fold of others


def test_sums_that_overflow_are_refused():
    model = DistanceRegressor(**cases.FAST, link=0.1, preprocessor=ITEMS)
    much = lambda: model.fit(INDEX, Y * 1e40)  # noqa: E731
    assert_refused(much, "their sums under the link power 0.1", "is required", "rescale the distances")
    assert_refused(lambda: model.fit(INDEX, np.where(Y == Y.max(), 1e300 * Y, Y * 1e268)), "the distances reach", "required")
