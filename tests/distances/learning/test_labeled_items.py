"""Labelled items, the sums over their targets, and the pairs that are drawn of them."""

from functools import reduce

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semimetric.distances.learning.items import (
    N_DRAWN,
    LabeledDataset,
    LargeMargin,
    LargeMarginProblem,
    TargetSums,
    assemble_for_margin,
    assemble_for_search,
    drawn_rows,
)
from semimetric.distances.learning.options import Recipe
from semimetric.distances.learning.prior import L1Prior
from semimetric.distances.learning.structure import build_structure

ITEMS = np.random.default_rng(0).random((30, 2))


def test_some_of_the_items_weigh_1_together(rng):
    dataset = LabeledDataset(ITEMS, np.arange(30) % 3, rng.random(30))
    rows = np.array([4, 1, 7])
    part = dataset.take(rows)
    assert (part.items == ITEMS[rows]).all()
    assert part.labels.tolist() == [1, 1, 1]
    np.testing.assert_allclose(part.weight, dataset.weight[rows] / dataset.weight[rows].sum())


NUMBERS = st.integers(0, 9).map(float)
SUMS = st.builds(lambda a, b, w, d, n: TargetSums(np.array([a, b]), w, d, n), *[NUMBERS] * 4, st.integers(0, 5))


@given(st.lists(SUMS, min_size=1, max_size=5))
def test_sums_over_parts_add_up_in_any_order(parts):
    whole, turned = (reduce(TargetSums.plus, order) for order in (parts, parts[::-1]))
    for k, field in enumerate(TargetSums._fields):
        want = sum(part[k] for part in parts)
        assert np.array_equal(getattr(whole, field), want)
        assert np.array_equal(getattr(turned, field), want)


def test_the_mean_distance_to_a_target_counts_targets_that_differ():
    sums = TargetSums(np.array([1.0, 3.0]), 2.0, 6.0, 4)
    assert sums.mean_target == 1.5
    assert sums.mean_pull.tolist() == [0.5, 1.5]
    assert TargetSums(np.zeros(2), 2.0, 0.0, 0).mean_target == 1.0  # identical items say nothing


@given(st.integers(1, 50), st.integers(0, 9))
def test_drawn_rows_are_seeded_and_are_rows_of_the_items(n_items, seed):
    rows = drawn_rows(n_items, seed)
    assert rows.shape == (N_DRAWN, 2)
    assert rows.min() >= 0
    assert rows.max() < n_items
    assert (rows == drawn_rows(n_items, seed)).all()


def problem_of(knots):
    recipe = Recipe(knots=knots)
    structure = build_structure(recipe, ITEMS, ("u", "v"))
    return LargeMarginProblem(recipe, LargeMargin(), structure, structure, L1Prior(np.array([1.0, 2.0]), np.ones(2)))


def test_the_prior_as_weights_is_the_weighted_l1_distance_that_search_clips():
    problem = problem_of([[0.2, 0.8], [0.0, 0.5, 1.0]])
    weights = problem.embedding.prior(problem.prior.slopes)
    clipped = np.clip(ITEMS, [0.2, 0.0], [0.8, 1.0])
    gaps = np.abs(clipped[:, None] - clipped)
    found = assemble_for_search(problem, weights, ITEMS)
    assert found.epsilon.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    np.testing.assert_allclose(found.pairwise(ITEMS), gaps @ [1.0, 2.0], atol=1e-9)
    learned = assemble_for_margin(problem, weights, ITEMS)
    np.testing.assert_allclose(learned.epsilon, [[1.0, 1.0], [2.0, 2.0]])
    inside = (ITEMS == clipped).all(axis=1)
    assert 0 < inside.sum() < len(ITEMS)
    np.testing.assert_allclose(learned.pairwise(ITEMS[inside]), found.pairwise(ITEMS[inside]), atol=1e-9)


@pytest.mark.parametrize("compact", [True, False])
def test_search_between_passes_may_keep_directions_without_weight(compact):
    recipe = Recipe(n_knots=3, directions=[[1.0, 1.0]], tables="warped")
    structure = build_structure(recipe, ITEMS, ("u", "v"))
    problem = LargeMarginProblem(recipe, LargeMargin(), structure, structure, L1Prior(np.ones(3), np.ones(3)))
    weights = np.where(structure.embedding.group_of_column < 2, 1.0, 0.0)
    found = assemble_for_search(problem, weights, ITEMS, compact=compact)
    assert (found.directions is None) == compact
