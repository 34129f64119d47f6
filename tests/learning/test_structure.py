"""What is decided before any weight is learned."""

import cases
from cases import assert_refused

from semimetric.learning.recipe import Recipe
from semimetric.learning.structure import build_structure

ITEMS, INDEX, Y = cases.sample()
NAMES = ("u", "v", "w")


def test_explicit_knots_and_groups_make_the_structure():
    knots = [[0.0, 0.5, 1.0]] * 3 + [[-1.0, 1.0]]
    structure = build_structure(Recipe(knots=knots, directions=[[1.0, -1.0, 0.0]], groups=[(0, 1), (3,)]), ITEMS, NAMES)
    assert structure.embedding.groups == ((0, 1), (3,))
    assert structure.n_raw == 3
    assert_refused(lambda: build_structure(Recipe(knots=knots), ITEMS, NAMES), "knots are given for 4 features", "there are 3")
