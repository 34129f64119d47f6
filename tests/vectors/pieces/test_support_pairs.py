"""Equations 3 and 7 against their slow twin; items on a coarse grid, so that ties occur."""

import numpy as np
import pytest
import reference
from hypothesis import given
from sklearn.base import clone
from sklearn.neighbors import NearestNeighbors
from strategies import labelled_items

from semimetric import NeighborIndex
from semimetric.vectors.pieces.support_pairs import find_distinct_places, find_support_pairs, nearest_rows


@given(labelled_items())
def test_support_pairs_equal_the_slow_ones(made):
    X, y = made
    places = find_distinct_places(X, y, 3)
    assert len(places.points) == len(X)  # all apart
    X, y = places.points, places.codes
    pairs = find_support_pairs(places)
    for i in range(len(X)):
        own, other, cut = reference.support_pair(X.tolist(), y.tolist(), i)
        assert (pairs.own[i], pairs.other[i], pairs.cut[i]) == (own, other, cut)


@pytest.mark.parametrize("index", [NearestNeighbors(), NearestNeighbors(algorithm="brute"), NeighborIndex("l1")])
def test_ties_go_to_the_smallest_row(index):
    around = np.array([[9.0, 9.0], *6 * [[0.0, 1.0], [1.0, 0.0], [0.0, -1.0], [-1.0, 0.0]], [5.0, 5.0]])
    index = clone(index).fit(around)
    assert nearest_rows(index, np.array([[0.0, 0.0], [8.0, 8.0], [-0.5, 0.0]]), len(around)).tolist() == [1, 0, 4]
    assert nearest_rows(clone(index).fit(around[:1]), np.zeros((2, 2)), 1).tolist() == [0, 0]
