"""Measured distances in parts: what one fit learns, from sums over parts."""

import cases
import numpy as np
import pytest

from semimetric import (
    DistanceRegressor,
    FirstOrder,
    SemimetricWarning,
    out_of_core,
)
from semimetric.data import knots
from semimetric.data.parts import readers

ITEMS, INDEX, Y = cases.sample()
POINTS = ITEMS[INDEX]


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Parts of about 40 pairs, whatever the limit."""
    monkeypatch.setattr(readers, "tuple_size", lambda *_: 40)


def in_blocks(options, pairs=POINTS, y=Y, weight=None, **more):
    return out_of_core.fit(DistanceRegressor(**options), pairs, y, weight, **more)


OTHERS = {"no axioms", "lasso", "categories", "periodic", "missing", "mixed warped"}
WAYS = [name for name in cases.RECIPES if name not in OTHERS]


@pytest.mark.parametrize("name", WAYS)
def test_blocks_learn_what_one_fit_learns(name):
    parts = in_blocks(cases.RECIPES[name])
    whole = DistanceRegressor(**cases.RECIPES[name]).fit(POINTS, Y)
    assert parts.solution_.objective == pytest.approx(whole.solution_.objective, rel=1e-9)
    np.testing.assert_allclose(parts.predict(POINTS), whole.predict(POINTS), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("loss", ["squared", "huber"])
@pytest.mark.filterwarnings("ignore::semimetric.ConvergenceWarning")
def test_the_first_order_method_goes_the_same_way(loss):
    options = cases.FAST | {"loss": loss, "solver": FirstOrder(max_iter=50)}
    parts, whole = in_blocks(options), DistanceRegressor(**options).fit(POINTS, Y)
    assert parts.solution_.n_iter == 50
    assert parts.solution_.objective == pytest.approx(whole.solution_.objective, rel=1e-9)
    assert parts.solution_.gap == pytest.approx(whole.solution_.gap, rel=1e-6)


def test_knots_of_a_sample_are_those_of_one_fit(monkeypatch):
    monkeypatch.setattr(knots, "_MOST_ROWS", 50)
    for options, pairs in (({}, POINTS), ({"preprocessor": ITEMS}, INDEX), ({"knots": "kmeans"}, POINTS)):
        options = cases.FAST | options
        parts, whole = in_blocks(options, pairs), DistanceRegressor(**options).fit(pairs, Y)
        for a, b in zip(parts.semimetric_.embedding.grid.knots, whole.semimetric_.embedding.grid.knots, strict=True):
            assert (a == b).all()


@pytest.mark.parametrize("least", [0, 60])  # the first part has none of weight > 0
def test_weights_and_pairs_of_weight_zero(least):
    weight = np.where(np.arange(150) < least, 0.0, np.arange(150.0) % 3)
    parts = out_of_core.fit(DistanceRegressor(**cases.FAST), POINTS, Y, weight)
    whole = DistanceRegressor(**cases.FAST).fit(POINTS, Y, weight)
    np.testing.assert_allclose(parts.predict(POINTS), whole.predict(POINTS), rtol=1e-9)


def test_items_beyond_given_knots_are_told_once():
    with pytest.warns(SemimetricWarning, match=r"beyond the knots \(x0: \d+") as told:
        parts = in_blocks(cases.FAST | {"knots": [[0.2, 0.8]] * 3})
    assert len([w for w in told if "beyond" in str(w.message)]) == 1
    with pytest.warns(SemimetricWarning):
        whole = DistanceRegressor(**cases.FAST | {"knots": [[0.2, 0.8]] * 3}).fit(POINTS, Y)
    assert parts.semimetric_.epsilon == pytest.approx(whole.semimetric_.epsilon)


def test_scales_are_metrics_from_parts_too():
    assert in_blocks(cases.FAST | {"axioms": "metric", "tables": "warped"}).semimetric_.axioms.triangle
