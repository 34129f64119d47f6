"""How unseen items are divided, how novel they are, and which neighbourhoods are whole."""

import cases
import numpy as np
import pytest

from semimetric.distances.learning.errors import choose_landmarks, divided, neighbour_recall, novelty_of, whole_rows

RNG = np.random.default_rng(0)


def test_no_item_both_teaches_and_calibrates():
    items = RNG.integers(0, 40, (500, 2))
    teaches, calibrates = divided(items, np.arange(40), 0)
    assert not set(items[teaches].ravel()) & set(items[calibrates].ravel())
    assert teaches.sum() > 10
    assert calibrates.sum() > 100
    assert not (teaches | calibrates)[items[:, 0] == items[:, 1]].any()


def test_units_are_divided_with_all_their_items():
    items = np.arange(120).reshape(-1, 2)
    teaches, calibrates = divided(items, np.arange(120) // 2, 0)
    assert (teaches.sum(), calibrates.sum()) == (20, 40)


def test_novelty_is_the_distance_to_the_nearest_landmarks():
    d = cases.fitted(next(iter(cases.RECIPES)))[0].semimetric_
    items, landmarks = RNG.random((9, 3)), RNG.random((5, 3))
    index = np.array([[0, 1], [8, 3], [2, 2]])
    want = [sum(min(d(items[i], mark) for mark in landmarks) for i in pair) for pair in index]
    np.testing.assert_allclose(novelty_of(d, items, index, landmarks), want)
    np.testing.assert_array_equal(novelty_of(d, items, index, items), 0.0)


def test_recall_counts_ties_as_found():
    true = np.arange(30.0)
    assert neighbour_recall(true, true) == 1.0
    assert neighbour_recall(true, -true) == 0.0
    assert neighbour_recall(np.minimum(true, 5), -true) == 1.0
    swapped = true.copy()
    swapped[[9, 10]] = swapped[[10, 9]]
    assert neighbour_recall(true, swapped) == pytest.approx(0.9)


def test_rows_are_whole_where_an_item_met_all_others():
    items = np.column_stack(np.triu_indices(25, 1))
    true = RNG.random(len(items))
    assert len(whole_rows(items, true, true)) == 25
    some = ~((items == 3).any(axis=1) & (items == 7).any(axis=1))
    twice = np.concatenate([items[some], items[some][::-1, ::-1]])
    values = np.concatenate([true[some], true[some][::-1]])
    assert whole_rows(twice, values, values) == (1.0,) * 23
    few = (items < 20).all(axis=1)
    assert whole_rows(items[few], true[few], true[few]) == ()


def test_landmarks_are_the_same_each_time_without_a_seed_too():
    items = np.random.default_rng(0).random((500, 3))
    np.testing.assert_array_equal(choose_landmarks(items, None), choose_landmarks(items, None))
    assert (choose_landmarks(items, 1) != choose_landmarks(items, 2)).any()
