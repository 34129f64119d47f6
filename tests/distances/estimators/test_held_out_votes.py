"""Folds by which votes are chosen: identical items on one side, whatever the order and repetition of rows."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from semimetric import LargeMarginLearner
from semimetric.distances.estimators.votes import HeldOutSearch, as_chosen, strata_of_values, usable_folds


def sides(folds, number):
    """The identities on both sides of each fold."""
    return [(set(number[part]), set(number[held])) for part, held in folds]


@pytest.mark.parametrize("n", [30, 4_000])
def test_identical_items_are_on_one_side_in_any_order(rng, n):
    number = rng.integers(0, n // 2, n)
    rows, labels = np.column_stack([number, number % 7]).astype(float), number % 3
    folds = usable_folds(rows, labels, 0, n_strata=2)
    for part, held in sides(folds, number):
        assert not part & held
        assert part | held == set(number)
    order = rng.permutation(n)
    assert sides(usable_folds(rows[order], labels[order], 0, n_strata=2), number[order]) == sides(folds, number)


def test_parts_without_enough_strata_are_left_out():
    rows = np.arange(4.0)[:, None]
    assert usable_folds(rows, np.array([0, 1, 2, 3]), 0, n_strata=2) == []
    assert usable_folds(rows, np.array([0, 0, 1, 1]), 0, n_strata=2) == []
    assert len(usable_folds(np.arange(6.0)[:, None], np.array([0, 0, 0, 1, 1, 1]), 0, n_strata=2)) == 3


def test_strata_are_tenths_of_distinct_values(rng):
    values = rng.normal(size=600)
    strata = strata_of_values(values)
    assert_array_equal(np.bincount(strata), 60)
    assert_array_equal(strata_of_values(np.repeat(values, 3)), np.repeat(strata, 3))
    assert_array_equal(strata_of_values(np.arange(5.0)), 0)


def test_a_learner_is_set_to_what_it_has_chosen(rng):
    X, y = rng.random((60, 2)), np.arange(60) % 2
    learner = LargeMarginLearner(alpha=1e-2, directions=None, effort="fast")
    again = as_chosen(learner, learner.fit(X, y))
    assert again.n_knots == learner.recipe_.n_knots
    assert again.tables.kind in ("warped", "full")
    assert learner.n_knots == "auto"


def test_neighbours_are_searched_in_the_part_alone(rng):
    X, y = rng.random((40, 2)), rng.integers(0, 3, 40)
    from semimetric import Semimetric

    search = HeldOutSearch(X, y, np.arange(40.0), lambda rows: Semimetric.l1(X[rows]), None)
    part, held = np.arange(25), np.arange(25, 40)
    found = search.neighbors(part, held)
    distances = np.abs(X[held][:, None] - X[part]).sum(axis=2)
    assert_array_equal(found.neighbor_targets, y[part][np.argsort(distances, axis=1)])
    assert_array_equal(found.neighbor_weight, np.argsort(distances, axis=1))
    assert_array_equal(found.weight, held)


def test_what_is_learned_again_has_no_time_budget():
    X, y = np.random.default_rng(0).random((30, 2)), np.arange(30) % 2
    learner = LargeMarginLearner(n_knots=3, alpha=1e-2, directions=None, tables="warped")
    again = as_chosen(LargeMarginLearner(time_budget=5), learner.fit(X, y))
    assert (again.time_budget, again.directions) == (None, None)
