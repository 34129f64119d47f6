import numpy as np
import pytest

from semimetric._foundation.types import Pairs, Quadruplets, TripletTuples

KINDS = {Pairs: 2, TripletTuples: 3, Quadruplets: 4}


@pytest.mark.parametrize("kind", KINDS)
def test_tuples_are_an_index_over_items_that_are_never_copied(kind, rng):
    items, index = rng.random((7, 2)), np.array([[0, 1, 2, 3], [4, 2, 0, 1], [3, 3, 1, 0]])[:, : KINDS[kind]]
    tuples = kind(items, index)
    assert len(tuples) == 3
    assert tuples.used.shape == (len(np.unique(index)), 2)
    for rows in (np.array([0, 2]), np.array([True, False, True])):
        part = tuples.take(rows)
        assert type(part) is kind
        assert part.items is items
        assert part.index.tolist() == index[[0, 2]].tolist()


def test_pairs_have_a_left_and_a_right(rng):
    pairs = Pairs(rng.random((5, 2)), np.array([[0, 1], [4, 2], [3, 3]]))
    assert pairs.left.tolist() == [0, 4, 3]
    assert pairs.right.tolist() == [1, 2, 3]


def test_comparisons_have_a_near_and_a_far_pair(rng):
    items = rng.random((5, 2))
    triplets, quadruplets = TripletTuples(items, np.array([[0, 1, 2]])), Quadruplets(items, np.array([[0, 1, 2, 3]]))
    for tuples, far in ((triplets, [[0, 2]]), (quadruplets, [[2, 3]])):
        assert tuples.near.index.tolist() == [[0, 1]]
        assert tuples.far.index.tolist() == far
        assert tuples.near.items is tuples.far.items is items
