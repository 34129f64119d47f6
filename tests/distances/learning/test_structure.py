"""What is decided before any weight is learned."""

import cases
import numpy as np
import pytest
from cases import assert_refused
from hypothesis import given
from hypothesis import strategies as st

from semimetric import JointGroups, NotSupportedError, TranslationInvariant
from semimetric.distances.learning.options import Recipe
from semimetric.distances.learning.structure import build_structure, check_varied, l1_embedding

ITEMS, INDEX, Y = cases.sample()
NAMES = ("u", "v", "w")


def test_explicit_knots_and_groups_make_the_structure():
    knots = [[0.0, 0.5, 1.0]] * 3 + [[-1.0, 1.0]]
    structure = build_structure(Recipe(knots=knots, directions=[[1.0, -1.0, 0.0]], groups=[(0, 1), (3,)]), ITEMS, NAMES)
    assert structure.embedding.groups == ((0, 1), (3,))
    assert structure.n_raw == 3
    assert_refused(lambda: build_structure(Recipe(knots=knots), ITEMS, NAMES), "knots are given for 4 features", "there are 3")


def varied_slow(items):
    """Whether some feature has two different values; a missing one is a value of its own."""
    columns = zip(*items.tolist(), strict=True)
    return any(len({"missing" if np.isnan(v) else v for v in column}) > 1 for column in columns)


VALUES = st.sampled_from([0.0, 1.0, np.nan])


@given(st.integers(1, 3).flatmap(lambda n: st.lists(st.tuples(*[VALUES] * n), min_size=1, max_size=4)))
def test_a_missing_value_differs_from_all_that_are_there(rows):
    items = np.array(rows)
    if varied_slow(items):
        check_varied(items)
    else:
        n = items.shape[1]
        assert_refused(lambda: check_varied(items), f"all {n} features are constant", "at least one", "give other items")


def test_directions_follow_the_features_that_they_combine():
    plain = build_structure(Recipe(n_knots=3), ITEMS, NAMES)
    assert plain.features_of(ITEMS) is ITEMS
    matrix = np.array([[1.0, -1.0, 0.0], [0.5, 0.5, 2.0]])
    joined = build_structure(Recipe(n_knots=3, directions=matrix, groups=[(0,), (1, 3), (4,)]), ITEMS, NAMES)
    np.testing.assert_allclose(joined.features_of(ITEMS), np.column_stack([ITEMS, ITEMS @ matrix.T]))
    assert joined.is_raw.tolist() == [True, True, False]
    assert joined.embedding.grid.n_features == 5


def test_another_grid_keeps_the_groups():
    recipe = Recipe(n_knots=3, groups=[(0, 1), (2,)])
    structure = build_structure(recipe, ITEMS, NAMES)
    moved = structure.with_grid(recipe, structure.embedding.grid.position_grid)
    assert moved.embedding.groups == structure.embedding.groups
    assert all(k.tolist() == [0.0, 1.0, 2.0] for k in moved.embedding.grid.knots)
    assert (moved.names, moved.schema) == (structure.names, structure.schema)


@pytest.mark.filterwarnings("ignore:feature")
def test_the_weighted_l1_distance_has_a_column_for_every_feature_that_varies(rng):
    items = np.column_stack([ITEMS, np.full(len(ITEMS), 7.0)])
    embedding = l1_embedding(build_structure(Recipe(n_knots=5), items, ("x0", "x1", "x2", "x3")))
    weights = rng.random(3)
    located, (left, right) = embedding.locate(items), INDEX.T
    gaps = np.abs(ITEMS[left] - ITEMS[right]) / np.ptp(ITEMS, axis=0)
    np.testing.assert_allclose(embedding.paired(located, left, located, right, weights), gaps @ weights, atol=1e-12)


def test_features_of_joint_groups_may_have_knots_of_their_own():
    groups = JointGroups(((0, 2),), 3, 1.0)
    structure = build_structure(Recipe(n_knots=5, groups=groups), ITEMS, NAMES)
    assert structure.embedding.grid.sizes.tolist() == [3, 5, 3]


def test_scales_cannot_be_tied_as_tables_are():
    recipe = Recipe(knots="uniform", tables="warped", constraints=[TranslationInvariant()])
    assert_refused(lambda: build_structure(recipe, ITEMS, NAMES), "ties tables", 'tables="full"', error=NotSupportedError)
    tied = build_structure(Recipe(n_knots=4, knots="uniform", constraints=[TranslationInvariant()]), ITEMS, NAMES)
    assert all(v.by_difference for v in tied.embedding.vertices)
