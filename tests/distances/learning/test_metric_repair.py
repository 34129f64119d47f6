"""A metric from what is none: below it, or nearest to it."""

from dataclasses import replace

import cases
import numpy as np
import pytest
from cases import assert_refused
from learners import made

from semimetric import DistanceRegressor, Grid, NotSupportedError, PairEmbedding, Semimetric, metric_repair

ITEMS, INDEX, _ = cases.sample()
SQUARES = ((ITEMS[INDEX[:, 0]] - ITEMS[INDEX[:, 1]]) ** 2).sum(axis=1) + 0.01


def fitted(**options):
    options = {"n_knots": 4, "alpha": 1e-4} | options
    return made(DistanceRegressor, preprocessor=ITEMS, **options).fit(INDEX, SQUARES).semimetric_


OPTIONS = [
    {}, {"groups": "pairs", "n_knots": 3}, {"axioms": "premetric"}, {"link": "sqrt", "groups": [(0, 1), (2,)]},
    {"missing": "level"},
]  # fmt: skip


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_both_give_a_metric(options):
    d = fitted(**options)
    closed, near = metric_repair(d), metric_repair(d, method="nearest")
    name = "quasimetric" if options.get("axioms") else "metric"
    assert not d.axioms.triangle
    assert closed.axioms.name == near.axioms.name == name
    assert (closed.weights <= d.weights).all()
    assert closed.weights.min() == d.weights.min() <= near.weights.min() * (1 + 1e-9)
    far = [np.sum((m.weights - d.weights) ** 2) for m in (closed, near)]
    assert 0 < far[1] < far[0]
    np.testing.assert_array_equal(metric_repair(closed).weights, closed.weights)
    np.testing.assert_array_equal(metric_repair(closed, method="nearest").weights, closed.weights)


def test_the_nearest_is_at_right_angles_to_the_cone():
    """For the projection p of w on a convex cone: p·(w - p) = 0, and q·(w - p) <= 0 for every q in it."""
    d = fitted()
    w, p = d.weights, metric_repair(d, method="nearest").weights
    q = metric_repair(d).weights
    size = float(w @ w)
    assert p @ (w - p) == pytest.approx(0.0, abs=1e-5 * size)
    assert q @ (w - p) <= 1e-5 * size


def test_tables_tied_by_difference_stay_tied():
    """The closure of one such table is not tied, and writing it back was no metric."""
    embedding = PairEmbedding(Grid([np.arange(6.0)])).tied_by_difference({0})
    w = np.array([0.27, 0.42, 1.3e-4, 0.0194, 0.0503])
    closed = metric_repair(Semimetric(embedding, w, np.ones(1), ("x",)))
    assert closed.axioms.name == "metric"
    np.testing.assert_array_equal(metric_repair(closed).weights, closed.weights)
    f = np.concatenate([w[::-1], [0.0], w])  # shortest words: ways from 0 to k by steps of any sign, each in range
    for _ in range(40):
        steps = np.array([[f[5 + k - j] if abs(k - j) <= 5 else np.inf for j in range(-5, 6)] for k in range(-5, 6)])
        f = np.minimum(f, (steps + f).min(axis=1))
    assert (closed.weights <= w).all()
    assert (closed.weights >= f[6:] - 1e-15).all()


def test_refuses_what_cannot_be_repaired():
    def repair(**options):
        return lambda: metric_repair(fitted(**options))

    with_base = fitted(base_distances=(cases.cityblock,))
    (base,) = with_base.base_distances
    assert base.weight == 0
    assert metric_repair(with_base).axioms.triangle
    counted = replace(with_base, base_distances=(replace(base, weight=1.0),))
    assert_refused(lambda: metric_repair(counted), "base distances", "cannot be claimed", "without", NotSupportedError)
    assert_refused(repair(axioms=None), "below 0", "", 'axioms="semimetric"', NotSupportedError)
    assert_refused(repair(groups="pairs", symmetry="swap", n_knots=3), "", "continuous", 'symmetry="tie"', NotSupportedError)
    model = DistanceRegressor(n_knots=4, alpha=1e-4, preprocessor=ITEMS).fit(INDEX, SQUARES)
    assert_refused(lambda: metric_repair(model), "a DistanceRegressor", "a Semimetric", "model.semimetric_", cases.InputError)
    assert_refused(lambda: metric_repair(fitted(), method="round"), "round", "use one of", error=cases.InputError)
