"""The loop that compares candidates on data held out, and what is taken where nothing can be held out."""

import warnings
from dataclasses import replace

import cases
import numpy as np
import pytest

from semimetric import SemimetricWarning
from semimetric._foundation.errors import TooFewError, warn
from semimetric._foundation.types import Pairs
from semimetric.distances.learning.measured import PairTargets
from semimetric.distances.learning.options import Recipe
from semimetric.distances.learning.search import FittedModel, HeldOutData, Trial, compare, with_defaults
from semimetric.distances.learning.structure import build_structure


class FakeData(HeldOutData[int]):
    """Three folds, whose parts are numbers; recipes of more than eight knots have too many weights in the last fold."""

    def __init__(self):
        self.asked = []

    @property
    def items(self):
        return np.zeros((1, 1))

    def folds(self, recipe):
        self.asked.append(recipe)
        return [(0, 10), (1, 11), (2, 12)]

    def all_data(self, recipe):
        return 0

    def losses(self, trial, part, held):
        warn("ties in the data leave fewer knots")
        if trial.recipe.n_knots > 8 and part == 2:
            return None
        return [trial.recipe.n_knots + alpha + held * part for alpha in trial.alphas]

    def fitted(self, recipe, part, held=None):
        raise NotImplementedError


def test_trials_are_compared_in_their_order_without_those_of_too_many_weights():
    data, recipes = FakeData(), [Recipe(n_knots=n, directions=d) for n, d in ((4, None), (9, "pca"), (2, np.eye(2)))]
    with warnings.catch_warnings():
        warnings.simplefilter("error", SemimetricWarning)
        found = compare(data, [Trial(recipe, (0.5, 0.25)) for recipe in recipes], verbose=False)
    assert data.asked == [recipes[0]]
    settings = [(c.settings["n_knots"], c.settings["alpha"], c.settings["directions"]) for c in found]
    assert settings == [(4, 0.5, None), (4, 0.25, None), (2, 0.5, "given"), (2, 0.25, "given")]
    assert found[1].losses == (4.25, 15.25, 28.25)
    assert all(c.settings["tables"] == "full" for c in found)


def test_residuals_are_distances_less_targets(rng):
    items, index, y = cases.sample(n_pairs=60)
    recipe = Recipe(n_knots=3)
    structure = build_structure(recipe, items, ("u", "v", "w"))
    part = PairTargets.of(recipe, structure, Pairs(items, index), y, np.full(60, 1 / 60))
    weights = rng.random(structure.embedding.n_columns)
    located = structure.embedding.locate(items)
    distances = structure.embedding.paired(located, index[:, 0], located, index[:, 1], weights)
    found = FittedModel(part, structure, weights, np.nan).residuals
    np.testing.assert_allclose(found, distances - part.target, atol=1e-12)
    scaled = replace(part, scale=np.full(60, 2.0))
    np.testing.assert_allclose(FittedModel(scaled, structure, weights, np.nan).residuals, 2 * found, atol=1e-12)


def test_what_is_taken_where_nothing_is_held_out_is_said_with_the_reason():
    error = TooFewError("3 pairs are too few to hold some out; give more pairs")
    said = r"3 pairs are too few to hold some out, so nothing was compared, and n_knots=2, alpha=0.1 are taken instead"
    with pytest.warns(SemimetricWarning, match=said):
        assert with_defaults(Recipe(), error, {"n_knots": 2, "alpha": 0.1}) == Recipe(n_knots=2, alpha=0.1)
    with pytest.warns(SemimetricWarning, match="and directions=None is taken"):
        with_defaults(Recipe(), error, {"directions": None})


def test_work_grows_with_knots_directions_and_strengths():
    recipe = Recipe(n_knots=4)
    for more in (
        Trial(replace(recipe, n_knots=8), (0.1,)), Trial(replace(recipe, directions="pca"), (0.1,)), Trial(recipe, (0.1, 0.2)),
        Trial(replace(recipe, n_knots=[4, 8]), (0.1,)),
    ):  # fmt: skip
        assert more.work > Trial(recipe, (0.1,)).work > Trial(replace(recipe, tables="warped"), (0.1,)).work > 0
