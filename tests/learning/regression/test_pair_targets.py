"""Measured distances in units of their mean: targets, outlines and rows."""

import cases
import numpy as np
import pytest
from cases import assert_refused

from semimetric import DistanceRegressor
from semimetric._foundation.types import Pairs
from semimetric.learning.recipe import Recipe
from semimetric.learning.regression.pair_targets import PairTargets
from semimetric.learning.structure import build_structure

ITEMS, INDEX, Y = cases.sample()
NAMES = ("u", "v", "w")


def task_of(recipe, items=ITEMS, y=Y):
    structure = build_structure(recipe, items, NAMES)
    return structure, PairTargets.of(recipe, structure, Pairs(items, INDEX), y, np.full(len(y), 1 / len(y)))


def test_targets_are_in_units_of_their_mean():
    _, task = task_of(Recipe(n_knots=3))
    assert task.target.mean() == pytest.approx(1.0)
    assert task.unit == pytest.approx(Y.mean())
    _, squared = task_of(Recipe(n_knots=3, link="sqrt", relative=0.5))
    np.testing.assert_allclose(squared.target * squared.unit, Y**2)
    np.testing.assert_allclose(squared.scale, 1 / np.maximum(squared.target, 0.5))
    part = squared.take(np.arange(10))
    assert part.weight.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(part.targets, squared.targets[:10])


@pytest.mark.parametrize(("link", "factor"), [("sqrt", 1e160), ("sqrt", 1e-160), ("identity", 1e300), ("identity", 1e-300)])
def test_targets_that_floating_point_cannot_hold_are_refused(link, factor):
    model = DistanceRegressor(**cases.FAST, link=link, preprocessor=ITEMS)
    assert_refused(lambda: model.fit(INDEX, Y * factor), "the distances reach", "is required", "rescale the distances")
    near = factor**0.85
    np.testing.assert_allclose(model.fit(INDEX, Y * near).predict(INDEX) / near, model.fit(INDEX, Y).predict(INDEX), rtol=1e-6)
