"""Equations 3 and 7 against their slow twin; items on a coarse grid, so that ties occur."""

import reference
from hypothesis import given
from strategies import labelled_items

from semimetric.vectors.pieces.support_pairs import find_distinct_places, find_support_pairs


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
