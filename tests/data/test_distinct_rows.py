"""Repeated rows are one row with the sum of their weights, in an order that does not depend on theirs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from semimetric.data import identical_items
from semimetric.data.rows import distinct_rows

RNG = np.random.default_rng(0)


def table(items, targets, found):
    """Every distinct row with its target, and its weight."""
    return {(*items[r].tolist(), targets[r]): w for r, w in zip(found.rows, found.weight, strict=True)}


@given(
    st.lists(st.tuples(st.integers(-1, 1), st.integers(0, 1), st.integers(0, 1), st.integers(0, 3)), min_size=1, max_size=20)
)
def test_weights_are_summed_as_by_a_dictionary(rows):
    numbers = np.array(rows, dtype=np.float64)
    items, targets, weight = numbers[:, :2] / 3, numbers[:, 2], numbers[:, 3]
    if not weight.any():
        weight = weight + 1
    want, times = {}, {}
    for x, y, w in zip(items.tolist(), targets, weight, strict=True):
        if w:
            want[*x, y] = want.get((*x, y), 0) + w
            times[*x, y] = times.get((*x, y), 0) + 1
    found = distinct_rows(items, targets, weight)
    held = distinct_rows(sparse.csr_array(items), targets, weight)
    if found is None:
        assert held is None
        assert len(want) == len(rows)
        assert set(want.values()) == {weight[0]}
    else:
        assert table(items, targets, found) == want
        np.testing.assert_array_equal(found.rows, held.rows)
        assert table(items, targets, found._replace(weight=found.times)) == times


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_repeated_rows_in_any_order_are_weighted_ones(form):
    items, targets, weight = RNG.normal(size=(40, 3)), RNG.integers(0, 2, 40), RNG.integers(0, 4, 40).astype(float)
    items[RNG.random((40, 3)) < 0.3] = np.nan
    copies = RNG.permutation(np.repeat(np.arange(40), weight.astype(int)))
    one = distinct_rows(form(items), targets, weight)
    many = distinct_rows(form(items[copies]), targets[copies], np.ones(len(copies)))
    np.testing.assert_array_equal(copies[many.rows], one.rows)
    np.testing.assert_array_equal(many.weight, one.weight)


def test_items_of_one_hash_are_not_taken_for_one_row(monkeypatch):
    items, hashes = np.array([[0.0], [1.0], [1.0]]), identical_items._hashes
    monkeypatch.setattr(identical_items, "_hashes", lambda rows, seed=0: hashes(rows, seed) * np.uint64(seed > 0))
    found = distinct_rows(items, np.zeros(3), np.ones(3))
    assert table(items, np.zeros(3), found) == {(0.0, 0.0): 1.0, (1.0, 0.0): 2.0}


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_the_order_that_is_asked_for_is_that_of_any_weights(form):
    items, targets = form(RNG.normal(size=(40, 3))), RNG.integers(0, 2, 40)
    assert distinct_rows(items, targets, np.ones(40)) is None
    alike = distinct_rows(items, targets, np.ones(40), always=True)
    np.testing.assert_array_equal(alike.rows, distinct_rows(items, targets, 1 + RNG.random(40)).rows)
    np.testing.assert_array_equal(alike.weight, np.ones(40))


def test_zeros_of_both_signs_are_one_and_differing_rows_are_left_alone():
    found = distinct_rows(np.array([[0.0], [-0.0]]), np.zeros(2), np.ones(2))
    assert found.weight.tolist() == [2.0]
    assert distinct_rows(np.ones((2, 3)), np.array([0.0, 1.0]), np.ones(2)) is None
