"""Pairs with measured distances as they are given."""

import cases
import numpy as np

from semimetric._foundation.types import Pairs
from semimetric.distances.learning.measured import MeasuredDistances
from semimetric.distances.learning.options import Recipe
from semimetric.distances.learning.structure import build_structure

ITEMS, INDEX, Y = cases.sample()


def test_knots_are_placed_among_the_items_that_are_in_some_pair():
    index = INDEX[(INDEX < 20).all(axis=1)]
    data = MeasuredDistances.of_arrays(Pairs(ITEMS, index), np.ones(len(index)), np.full(len(index), 1 / len(index)))
    assert (np.unique(data.items, axis=0) == np.unique(ITEMS[np.unique(index)], axis=0)).all()
    assert len(data.items) < len(ITEMS)
    points = Pairs(ITEMS[index].reshape(-1, 3), np.arange(2 * len(index)).reshape(-1, 2))
    assert (MeasuredDistances.of_arrays(points, data.y, data.weight).items == data.items).all()


def test_base_distances_are_called_once_for_every_pair():
    calls = []

    def counted(x, y):
        calls.append(len(x))
        return np.abs(x - y).sum(axis=-1)

    recipe = Recipe(n_knots=3, base_distances=(counted,))
    structure = build_structure(recipe, ITEMS, ("u", "v", "w"))
    before = sum(calls)  # what finding out its form takes
    targets = MeasuredDistances.of_arrays(Pairs(ITEMS, INDEX), Y, np.full(len(Y), 1 / len(Y))).targets(recipe, structure)
    assert sum(calls) - before == len(Y)
    targets.rows(recipe, structure).design.csr()
    targets.column_sums(recipe, structure)
    assert sum(calls) - before == len(Y)
    np.testing.assert_allclose(targets.target * targets.unit, Y)
