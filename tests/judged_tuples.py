"""Pairs judged alike or not, triplets and quadruplets over the same items, as learning from comparisons takes them."""

import numpy as np
import pytest

from semimetric._foundation.types import Pairs, Quadruplets, TripletTuples
from semimetric.distances.learning.comparisons import LabeledPairs, OrderedTuples
from semimetric.distances.learning.options import Recipe

ITEMS = np.random.default_rng(0).random((60, 3))
INDEX = np.random.default_rng(1).integers(0, 60, (300, 4))
SLOPES = np.array([1.0, 4.0, 0.0])
RECIPE = Recipe(n_knots=3, alpha=1e-3, tables="warped", loss="squared_hinge")


def l1(a, b, items=ITEMS):
    return np.abs(items[a] - items[b]) @ SLOPES


def evidence(kind, items=ITEMS):
    weight = np.full(300, 1 / 300)
    if kind == "pairs":
        d = l1(*INDEX[:, :2].T)
        return LabeledPairs(Pairs(items, INDEX[:, :2]), weight, np.where(d < np.median(d), 1.0, -1.0))
    index = INDEX if kind == "quadruplets" else INDEX[:, [0, 1, 0, 2]]
    swap = l1(*index[:, :2].T) > l1(*index[:, 2:].T)
    index = np.where(swap[:, None], index[:, [2, 3, 0, 1]], index)
    tuples = Quadruplets(items, index) if kind == "quadruplets" else TripletTuples(items, index[:, [0, 1, 3]])
    return OrderedTuples(tuples, weight)


every_kind = pytest.mark.parametrize("kind", ["pairs", "triplets", "quadruplets"])
