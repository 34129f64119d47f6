import numpy as np

from semimetric._types import Pairs


def test_pairs_are_an_index_over_items_that_are_never_copied(rng):
    items, index = rng.random((5, 2)), np.array([[0, 1], [4, 2], [3, 3]])
    pairs = Pairs(items, index)
    assert len(pairs) == 3
    assert pairs.left.tolist() == [0, 4, 3]
    assert pairs.right.tolist() == [1, 2, 3]
    for rows in (np.array([0, 2]), np.array([True, False, True])):
        part = pairs.take(rows)
        assert part.items is items
        assert part.index.tolist() == [[0, 1], [3, 3]]
