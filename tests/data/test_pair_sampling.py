import numpy as np
import pytest
from cases import assert_refused

from semimetric._foundation.types import Pairs
from semimetric.data.pair_sampling import item_disjoint_splits, sample_pairs


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
        "too few",
        "n_knots= and alpha=",
    )


@pytest.mark.parametrize("near", [0.0, 0.25, 1.0])
def test_drawn_pairs_are_distinct_and_of_different_rows(rng, near):
    index = sample_pairs(rng.random((60, 3)), 300, near=near, random_state=0)
    assert (index[:, 0] != index[:, 1]).all()
    assert len({frozenset(p) for p in index.tolist()}) == len(index)
    assert len(index) == 300
    assert (index == sample_pairs(np.random.default_rng(0).random((60, 3)), 300, near=near, random_state=0)).all()


@pytest.mark.parametrize("near", [0.0, 0.25, 1.0])
def test_all_pairs_are_drawn_where_all_are_asked_for(rng, near):
    items = rng.random((40, 2))
    every = {frozenset((i, j)) for i in range(40) for j in range(i)}
    for n_pairs in (len(every), 10_000):
        index = sample_pairs(items, n_pairs, near=near, n_neighbors=3, random_state=0)
        assert len(index) == len(every)
        assert {frozenset(p) for p in index.tolist()} == every
    assert len(sample_pairs(items, len(every) - 1, near=near, random_state=0)) == len(every) - 1


def test_near_pairs_are_near(rng):
    items = rng.random((300, 2))

    def mean(near):
        i, j = sample_pairs(items, 200, near=near, n_neighbors=5, random_state=0).T
        return np.linalg.norm(items[i] - items[j], axis=1).mean()

    assert mean(1.0) < mean(0.0) / 3


def test_few_or_equal_items():
    assert sample_pairs(np.zeros((2, 1)), 10, random_state=0).shape == (1, 2)
    assert_refused(lambda: sample_pairs(np.zeros((1, 1)), 10), "two items", "are required")


@pytest.mark.parametrize("near", [0.0, 0.5, 1.0])
def test_items_that_are_all_alike_have_no_near_pairs_but_pairs(near):
    index = sample_pairs(np.ones((30, 2)), 50, near=near, random_state=0)
    assert index.shape == (50, 2)
    assert len({frozenset(p) for p in index.tolist()}) == 50
    assert (index[:, 0] != index[:, 1]).all()
