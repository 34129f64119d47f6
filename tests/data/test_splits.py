"""Splits: no item is on both sides, whatever it is given as, and shares of classes are held out."""

import numpy as np
import pytest
from cases import assert_refused
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import StratifiedKFold

from semimetric._foundation.errors import TooFewError
from semimetric._foundation.types import Pairs
from semimetric.data.splits import ItemClasses, hold_out, item_disjoint_splits, tuple_identities

COPIED = st.tuples(st.integers(6, 20), st.integers(1, 4), st.integers(0, 99))  # items, copies of each at most, seed


def copied(n_items, n_copies, seed):
    """Rows of a table in which items occur up to ``n_copies`` times, and the item of each row."""
    rng = np.random.default_rng(seed)
    item = rng.permutation(np.repeat(np.arange(n_items), rng.integers(1, n_copies + 1, n_items)))
    rows = rng.random((n_items, 2))[item]
    rows[item % 5 == 0, 1] = np.nan
    return rows, item


def as_points(pairs):
    """The same pairs given as points: every pair has items of its own, equal where the items were equal."""
    points = pairs.items[pairs.index].reshape(-1, pairs.items.shape[1])
    return Pairs(points, np.arange(len(points)).reshape(-1, 2))


@pytest.mark.parametrize("given_as", ["rows", "points"])
@pytest.mark.parametrize("shape", ["dense", "components"])
def test_no_item_is_on_both_sides(rng, given_as, shape):
    items = rng.random((120, 2))
    index = rng.integers(0, 120, (400, 2)) if shape == "dense" else np.arange(120).reshape(-1, 2)
    pairs = Pairs(items, index)
    pairs = as_points(pairs) if given_as == "points" else pairs
    splits = list(item_disjoint_splits(pairs, n_splits=3, random_state=0))
    assert len(splits) == 3
    for train, test in splits:
        left, right = ({tuple(x) for x in pairs.items[pairs.index[rows]].reshape(-1, 2)} for rows in (train, test))
        assert not left & right
        assert shape == "dense" or len(train) + len(test) == len(pairs)  # no pair is lost between components
        assert 0.02 < len(test) / len(pairs) < 0.5


def test_splits_are_seeded(rng):
    pairs = Pairs(rng.random((50, 2)), rng.integers(0, 50, (300, 2)))

    def splits(seed):
        return [np.concatenate(s).tolist() for s in item_disjoint_splits(pairs, n_splits=2, random_state=seed)]

    assert splits(3) == splits(3) != splits(4)


def test_too_few_pairs_to_hold_out_say_what_to_do():
    pairs = Pairs(np.arange(3.0)[:, None], np.array([[0, 1], [1, 2]]))
    assert_refused(
        lambda: list(item_disjoint_splits(pairs, n_splits=1, random_state=0)),
        "2 pairs over 3",
        "too few to hold some out (0 of 100 ways to hold out 30% of the items leave 2 pairs or more on both sides)",
        "give more pairs",
    )


@given(st.integers(4, 24), st.integers(4, 30), st.integers(0, 500))
def test_whether_pairs_can_be_held_out_does_not_depend_on_the_number_of_splits(n_pairs, n_items, seed):
    rng = np.random.default_rng(seed)
    pairs = Pairs(rng.random((n_items, 1)), rng.integers(0, n_items, (n_pairs, 2)))
    found = {}
    for n_splits in (2, 4, 8, None):
        try:
            found[n_splits] = list(item_disjoint_splits(pairs, n_splits=n_splits, random_state=seed))
        except TooFewError:
            found[n_splits] = []
    assert len({bool(splits) for splits in found.values()}) == 1
    most = found[None]
    for n_splits in (2, 4, 8):
        assert len(found[n_splits]) == min(n_splits, len(most))
        for split, first in zip(found[n_splits], most, strict=False):
            assert all(np.array_equal(a, b) for a, b in zip(split, first, strict=True))
    assert all(min(len(train), len(test)) >= 2 for train, test in most)


@given(COPIED)
def test_points_and_row_numbers_in_any_order_have_the_same_identities(drawn):
    rows, item = copied(*drawn)
    rng = np.random.default_rng(drawn[2])
    pairs = Pairs(rows, rng.integers(0, len(rows), (30, 2)))
    found = tuple_identities(pairs)
    assert (found == tuple_identities(as_points(pairs))).all()
    order = rng.permutation(30)
    assert (found[order] == tuple_identities(pairs.take(order))).all()
    named = item[pairs.index]
    assert ((found[:, None, :, None] == found[None, :, None, :]) == (named[:, None, :, None] == named[None, :, None, :])).all()


@given(COPIED, st.floats(0.0, 1.0))
def test_held_out_items_leave_with_all_their_copies(drawn, share):
    rows, item = copied(*drawn)
    learn, held = hold_out(rows, share, 0)
    assert sorted([*learn, *held]) == list(range(len(rows)))
    assert not set(item[learn]) & set(item[held])
    n_held, n_items = len(set(item[held])), len(set(item))
    asked = int(share * n_items)
    assert n_held == (asked if asked >= 2 and n_items - asked >= 2 else 0)


@given(COPIED)
@pytest.mark.filterwarnings("ignore:The least populated class")
def test_folds_and_shares_of_classes_keep_copies_together(drawn):
    rows, item = copied(*drawn)
    labels = np.random.default_rng(drawn[2]).integers(0, 2, len(rows))
    labels[:2] = 0, 1
    classes = ItemClasses(rows, labels)
    folds = classes.folds(2, 0) if max(map(len, classes.members)) > 1 else []
    for learn, held in [*folds, classes.split(0.4, 0)]:
        assert sorted([*learn, *held]) == list(range(len(rows)))
        assert not set(item[learn]) & set(item[held])
    if folds:
        assert sorted(np.concatenate([held for _, held in folds])) == list(range(len(rows)))


def test_the_class_of_an_item_is_that_of_most_of_its_rows():
    rows = np.array([[1.0], [2.0], [1.0], [1.0], [2.0]])
    classes = ItemClasses(rows, np.array(["b", "c", "a", "a", "b"]))
    assert classes.number.tolist() == [0, 1, 0, 0, 1]
    assert classes.labels.tolist() == ["a", "b"]
    assert [m.tolist() for m in classes.members] == [[0], [1]]


def test_folds_of_items_that_all_differ_are_those_of_scikit_learn(rng):
    rows, labels = rng.random((40, 2)), rng.integers(0, 3, 40)
    theirs = StratifiedKFold(4, shuffle=True, random_state=7).split(rows, labels)
    for ours, (train, test) in zip(ItemClasses(rows, labels).folds(4, 7), theirs, strict=True):
        assert (ours[0] == train).all()
        assert (ours[1] == test).all()
