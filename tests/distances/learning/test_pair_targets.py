"""Measured distances in units of their mean: targets, outlines and rows."""

from dataclasses import replace

import cases
import numpy as np
import pytest
from cases import assert_refused

from semimetric import DistanceRegressor, SemimetricWarning
from semimetric._foundation.types import Pairs
from semimetric.distances.learning import prior as kept_columns
from semimetric.distances.learning.measured import PairTargets, ScaledDistances
from semimetric.distances.learning.options import Recipe
from semimetric.distances.learning.prior import vertices_of_pairs
from semimetric.distances.learning.structure import build_structure

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


def euclidean(x, y):
    return np.sqrt(((x - y) ** 2).sum(axis=-1))


def test_taking_pairs_keeps_their_targets_and_divides_the_weights_anew(rng):
    structure, whole = task_of(Recipe(n_knots=3, relative=0.2, base_distances=(euclidean,)))
    whole = replace(whole, weight=rng.random(len(Y)))
    rows = rng.permutation(len(Y))[:40]
    part = whole.take(rows)
    np.testing.assert_allclose(part.weight, whole.weight[rows] / whole.weight[rows].sum())
    assert (part.tuples.index == INDEX[rows]).all()
    assert part.unit == whole.unit
    one, other = (t.design(structure, structure.embedding, None).csr().toarray() for t in (part, whole))
    np.testing.assert_allclose(one, other[rows], atol=1e-12)
    np.testing.assert_allclose(part.targets, whole.targets[rows])


def test_other_features_of_the_items_have_no_base_distances():
    _, whole = task_of(Recipe(n_knots=3, base_distances=(euclidean,)))
    other = ITEMS[:, :2] ** 2
    moved = whole.over(other)
    assert moved.base is None
    assert moved.tuples.items is other
    assert (moved.tuples.index == INDEX).all()
    assert (moved.targets == whole.targets).all()


def test_base_distances_are_columns_in_the_unit_of_the_targets():
    structure, task = task_of(Recipe(n_knots=3, base_distances=(euclidean,)))
    column = task.design(structure, structure.embedding, None).csr().toarray()[:, structure.embedding.n_columns :]
    np.testing.assert_allclose(column[:, 0] * task.unit, euclidean(ITEMS[INDEX[:, 0]], ITEMS[INDEX[:, 1]]))


def test_parts_of_the_pairs_can_have_the_unit_of_all():
    recipe = Recipe(n_knots=3)
    structure, whole = task_of(recipe)
    pairs = Pairs(ITEMS, INDEX[:30])
    part = PairTargets.of(recipe, structure, pairs, Y[:30], np.ones(30), unit=whole.unit)
    assert (part.targets == whole.targets[:30]).all()
    assert part.unit == whole.unit


def test_examples_are_the_first_pairs_over_items_of_their_own():
    _, task = task_of(Recipe(n_knots=3))
    examples = task.examples
    assert (examples.items[examples.index] == ITEMS[INDEX[:8]]).all()
    assert len(examples.items) == len(np.unique(INDEX[:8]))


def test_column_sums_name_vertices_and_items_outside_only_where_they_matter(monkeypatch):
    recipe = Recipe(n_knots=4)
    structure, task = task_of(recipe)
    found = task.column_sums(recipe, structure)
    assert (found.vertices, found.out_of_range) == (None, None)
    gaps = np.abs(ITEMS[INDEX[:, 0]] - ITEMS[INDEX[:, 1]]) / np.ptp(ITEMS, axis=0)
    np.testing.assert_allclose(found.l1_moments.gram, gaps.T @ gaps / len(Y))
    np.testing.assert_allclose(found.l1_moments.cross, gaps.T @ task.target / len(Y))
    monkeypatch.setattr(kept_columns, "_MANY_COLUMNS", 1)
    slow = vertices_of_pairs(structure, task.tuples)
    assert [v.tolist() for v in task.column_sums(recipe, structure).vertices] == [v.tolist() for v in slow]
    given = Recipe(knots=[[0.0, 1.0], [0.2, 0.9], [0.0, 1.0]], outside="clip")
    structure, task = task_of(given)
    outside = int(((ITEMS[INDEX, 1] < 0.2) | (ITEMS[INDEX, 1] > 0.9)).sum())
    assert task.column_sums(given, structure).out_of_range.tolist() == [0, outside, 0]
    with pytest.warns(SemimetricWarning, match=rf"of {INDEX.size} items, .*, some lie beyond the knots \(v: {outside}\)"):
        ScaledDistances.of(task).columns(replace(given, outside="extend"), structure)


def test_pairs_in_memory_leave_sums_to_the_solver():
    recipe = Recipe(n_knots=3)
    structure, task = task_of(recipe)
    assert ScaledDistances.of(task).sums(recipe, structure) is None
    rows = task.rows(recipe, structure)
    assert rows.design.shape == (len(Y), structure.embedding.n_columns)
    assert (rows.target == task.targets).all()
    assert rows.weight is task.weight
