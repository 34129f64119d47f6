"""Learning from measured distances: from sums, where the data have them, else from rows."""

import cases
import numpy as np
import pytest

from semimetric import DistanceRegressor
from semimetric._foundation.types import Pairs
from semimetric.distances.learning.measured import PairTargets, ScaledDistances
from semimetric.distances.learning.measured_fit import fit_distances
from semimetric.distances.learning.options import Recipe
from semimetric.distances.learning.structure import build_structure

ITEMS, INDEX, Y = cases.sample()
RECIPE = Recipe(n_knots=4, alpha=1e-3)


def learned(recipe=RECIPE, y=Y, rows=slice(None)):
    structure = build_structure(recipe, ITEMS, ("u", "v", "w"))
    index = INDEX[rows]
    targets = PairTargets.of(recipe, structure, Pairs(ITEMS, index), y[rows], np.full(len(index), 1 / len(index)))
    return fit_distances(recipe, structure, ScaledDistances.of(targets))


def test_it_is_what_the_regressor_learns():
    d, solution, _ = learned()
    model = DistanceRegressor(n_knots=4, alpha=1e-3, preprocessor=ITEMS).fit(INDEX, Y)
    assert solution.objective == pytest.approx(model.solution_.objective, rel=1e-9)
    np.testing.assert_allclose(d.pairwise(ITEMS), model.semimetric_.pairwise(ITEMS), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("unit", [1e-6, 1e5])
@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_the_unit_of_the_distance_does_not_matter(unit, loss):
    recipe = Recipe(n_knots=4, alpha=1e-3, loss=loss)
    (d, solution, _), (other, moved, _) = learned(recipe), learned(recipe, Y * unit)
    assert moved.objective == pytest.approx(solution.objective, rel=1e-6)
    np.testing.assert_allclose(other.pairwise(ITEMS), unit * d.pairwise(ITEMS), rtol=1e-5, atol=1e-7 * unit)


def test_the_order_of_the_pairs_does_not_matter(rng):
    d, other = learned()[0], learned(rows=rng.permutation(len(Y)))[0]
    np.testing.assert_allclose(other.pairwise(ITEMS), d.pairwise(ITEMS), rtol=1e-7, atol=1e-9)


class Summed(ScaledDistances):
    """Distances of which there are sums: neither column sums nor rows are there to be asked for."""

    def __init__(self):
        pass

    def sums(self, recipe, structure):
        return self

    def solve(self, recipe):
        return "distance", recipe

    def columns(self, recipe, structure):
        raise NotImplementedError

    def rows(self, recipe, structure):
        raise NotImplementedError


def test_where_there_are_sums_nothing_else_is_asked_for():
    structure = build_structure(RECIPE, ITEMS, ("u", "v", "w"))
    assert fit_distances(RECIPE, structure, Summed()) == ("distance", RECIPE)
