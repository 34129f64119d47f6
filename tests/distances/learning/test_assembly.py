"""From learned weights to the distance: what is left out, and how it goes on outside its knots."""

import re
import warnings
from dataclasses import replace

import cases
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from learners import made

from semimetric import DistanceRegressor, Program, SemimetricWarning, Tables
from semimetric._foundation.types import Pairs
from semimetric.distances.learning import assembly
from semimetric.distances.learning.assembly import assemble, count_out_of_range, warn_out_of_range
from semimetric.distances.learning.options import Recipe
from semimetric.distances.learning.structure import build_structure

ITEMS, INDEX, Y = cases.sample()


def test_directions_without_weight_are_left_out():
    y = np.abs(ITEMS[INDEX[:, 0]] - ITEMS[INDEX[:, 1]]) @ [1.0, 2.0, 3.0]
    useless = [[1.0, 1.0, 0.0], [0.0, 1.0, -1.0]]
    model = DistanceRegressor(
        n_knots=2, program=Program(penalty="lasso"), alpha=1e-2, directions=useless, tables="warped", preprocessor=ITEMS
    ).fit(INDEX, y)
    d = model.semimetric_
    kept = 0 if d.directions is None else len(d.directions.names)
    assert kept < 2
    assert d.columns[:3] == ("x0", "x1", "x2")
    assert np.corrcoef(model.predict(INDEX), y)[0, 1] > 0.99


@pytest.mark.parametrize("tables", ["full", "warped"])
def test_features_learned_clipped_stay_clipped_and_say_so(tables):
    """Items beyond given knots: the table already holds what lies outside, so its mean slope must not be added again."""
    items = np.random.default_rng(0).random((100, 2))
    index = cases.sample_pairs(items, 400, random_state=0)
    y = np.abs(items[index[:, 0]] - items[index[:, 1]]) @ [1.0, 3.0]
    options = {"knots": [[0.25, 0.5, 0.75], [0.0, 0.5, 1.0]], "alpha": 1e-6, "tables": tables, "preprocessor": items}
    n = int(((items[index, 0] < 0.25) | (items[index, 0] > 0.75)).sum())
    with pytest.warns(SemimetricWarning, match=rf"of 800 items, .*, some lie beyond the knots \(x0: {n}\)"):
        d = made(DistanceRegressor, **options).fit(index, y).semimetric_
    assert d([0, 0], [1, 0]) == pytest.approx(d([0.25, 0], [0.75, 0]), rel=1e-3)
    assert d([0.4, 0], [0.4, 2]) == pytest.approx(6.0, rel=0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", SemimetricWarning)
        clipped = made(DistanceRegressor, **options, outside="clip").fit(index, y).semimetric_
    assert clipped.epsilon[0].tolist() == d.epsilon[0].tolist()


def test_directions_and_tables_of_one_feature_are_learned_under_the_swap():
    y = np.abs(ITEMS[INDEX[:, 0]] - ITEMS[INDEX[:, 1]]) @ [1.0, 2.0, 3.0]
    model = DistanceRegressor(
        n_knots=3,
        program=Program(penalty="lasso"),
        alpha=1e-2,
        directions=[[1.0, 1.0, 0.0], [0.0, 1.0, -1.0]],
        tables=Tables(groups=[(0,), (1,), (2,), (3, 4)], symmetry="swap"),
        preprocessor=ITEMS,
    ).fit(INDEX, y)
    assert model.score(INDEX, y) > 0.8


def structure_of(knots, **options):
    return build_structure(Recipe(knots=knots, **options), ITEMS, ("u", "v", "w"))


@given(st.lists(st.tuples(*[st.sampled_from([-0.5, 0.0, 0.3, 1.0, 1.2])] * 3), min_size=1, max_size=20), st.integers(1, 7))
def test_items_outside_the_knots_are_counted_by_feature(rows, block):
    knots, items = [[0.0, 1.0], [0.3, 1.0], [-0.5, 0.0, 1.2]], np.array(rows)
    slow = [sum(not k[0] <= row[f] <= k[-1] for row in rows) for f, k in enumerate(knots)]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(assembly, "_BLOCK", block)
        assert count_out_of_range(structure_of(knots), items).tolist() == slow


def test_a_warning_names_five_features_and_counts_the_others():
    matrix = np.eye(3)[[0, 0, 0, 0]] * [[1.0], [2.0], [3.0], [4.0]]
    recipe = Recipe(knots=[[0.0, 0.5]] * 7, directions=matrix)
    structure, counts = build_structure(recipe, ITEMS, ("u", "v", "w")), np.array([1, 2, 0, 3, 4, 5, 6])
    names = structure.directions.names
    shown = re.escape(f"(u: 1, v: 2, {names[0]}: 3, {names[1]}: 4, {names[2]}: 5 and 1 features more)")
    with pytest.warns(SemimetricWarning, match=f"of 40 items, .*, some lie beyond the knots {shown}"):
        warn_out_of_range(recipe, structure, counts, 40)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_out_of_range(recipe, structure, np.zeros(7, np.int64), 40)
        warn_out_of_range(replace(recipe, outside="clip"), structure, counts, 40)


@pytest.mark.parametrize("tables", ["full", "warped"])
@pytest.mark.parametrize("link", ["identity", "sqrt"])
def test_the_unit_multiplies_the_distance_inside_and_outside_of_the_knots(tables, link, rng):
    recipe = Recipe(n_knots=4, tables=tables, link=link)
    structure = build_structure(recipe, ITEMS, ("u", "v", "w"))
    weights, examples = rng.random(structure.embedding.n_columns), Pairs(ITEMS, INDEX)
    one, other = (assemble(recipe, structure, weights, 1e-3, examples=examples, unit=u) for u in (1.0, 16.0))
    points = rng.uniform(-1.0, 2.0, (30, 3))
    factor = 4.0 if link == "sqrt" else 16.0
    np.testing.assert_allclose(other.pairwise(points), factor * one.pairwise(points), rtol=1e-12, atol=1e-12)


def test_features_with_items_beyond_their_knots_get_the_least_slope_outside(rng):
    knots = [[0.25, 0.75], [0.0, 1.0], [0.0, 0.5]]
    recipe, structure = Recipe(knots=knots), structure_of(knots)
    weights = rng.random(structure.embedding.n_columns)
    options = {"examples": Pairs(ITEMS, INDEX), "out_of_range": count_out_of_range(structure, ITEMS)}
    epsilon = assemble(recipe, structure, weights, 1e-3, **options).epsilon
    free = assemble(recipe, structure, weights, 1e-3, examples=options["examples"]).epsilon
    np.testing.assert_allclose(epsilon, [[1e-3 / 0.5] * 2, free[1], [1e-3 / 0.5] * 2])
    np.testing.assert_allclose(free, np.column_stack([weights, weights]) / [[0.5], [1.0], [0.5]])  # the only slope there is


@pytest.mark.parametrize("tables", ["full", "warped"])
def test_the_slopes_outside_are_those_at_the_two_ends(tables):
    """A curve that rises by 1, 4 and 2 between four knots goes on at 1 below and at 2 above."""
    knots = [[0.0, 1.0, 2.0, 3.0], [0.0, 1.0], [0.0, 1.0]]
    recipe, structure = Recipe(knots=knots, tables=tables), structure_of(knots, tables=tables)
    heights = np.array([0.0, 1.0, 5.0, 7.0])
    of_first = np.diff(heights) if tables == "warped" else (heights[None] - heights[:, None])[np.triu_indices(4, 1)]
    d = assemble(recipe, structure, np.concatenate([of_first, [3.0, 0.0]]), 1e-3, examples=Pairs(ITEMS, INDEX))
    np.testing.assert_allclose(d.epsilon, [[1.0, 2.0], [3.0, 3.0], [1e-3, 1e-3]])
    assert d([-2.0, 0.5, 0.0], [7.0, 0.5, 0.0]) == pytest.approx(2.0 * 1.0 + 7.0 + 4.0 * 2.0)


@pytest.mark.parametrize(
    ("shape", "slope"),
    [(lambda gap: np.minimum(gap, 2.0), 0.0), (lambda gap: np.maximum(gap - 2.0, 0.0), 0.0), (lambda gap: 3.0 * gap, 3.0)],
    ids=["saturated", "late", "linear"],
)
@pytest.mark.parametrize("groups", ["singles", [(0, 1), (2,)]], ids=["alone", "joint"])
def test_the_smaller_of_what_the_middle_and_the_other_end_see_counts(shape, slope, groups):
    """Tables of how far apart two values are: one that stops to rise, one that begins to rise late, and one that is linear."""
    knots = [np.arange(5.0), [0.0, 1.0], [0.0, 1.0]]
    recipe, structure = Recipe(knots=knots, groups=groups), structure_of(knots, groups=groups)
    at = np.repeat(knots[0], 2) if groups != "singles" else knots[0]  # the value of the first feature at each grid point
    tables = [shape(np.abs(at[:, None] - at)) if 0 in v.group else np.zeros((2, 2)) for v in structure.embedding.vertices]
    keys = [v.keys for v in structure.embedding.vertices]
    weights = np.concatenate([table.ravel()[k] for table, k in zip(tables, keys, strict=True)])
    d = assemble(recipe, structure, weights, 0.0, examples=Pairs(ITEMS, INDEX))
    np.testing.assert_allclose(d.epsilon, [[slope, slope], [0.0, 0.0], [0.0, 0.0]], atol=1e-12)


@pytest.mark.parametrize("tables", ["full", "warped"])
def test_a_curve_that_was_learned_goes_on_at_both_of_its_ends(tables):
    """Items five times as far out as those learned from: on the low side the truth rises by 1, on the high side by 4."""
    rng = np.random.default_rng(0)
    curve = lambda x: np.where(x < 0, x, 4.0 * x)  # noqa: E731
    pairs, far = rng.uniform(-1, 1, (800, 2, 2)), rng.uniform(-5, 5, (200, 2, 2))
    y, true = (np.abs(curve(p[:, 0]) - curve(p[:, 1])) @ [1.0, 3.0] for p in (pairs, far))
    model = DistanceRegressor(tables=Tables(tables, knots=[[-1.0, -0.5, 0.0, 0.5, 1.0]] * 2), alpha=1e-6).fit(pairs, y)
    np.testing.assert_allclose(model.semimetric_.epsilon, [[1.0, 4.0], [3.0, 12.0]], rtol=0.02)
    assert np.abs(model.semimetric_.paired(far[:, 0], far[:, 1]) - true).max() < 0.05 * true.mean()
    assert model.semimetric_.axioms.positive
