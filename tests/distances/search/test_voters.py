"""All items that vote are found, and every query once."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from semimetric import NeighborIndex, Semimetric
from semimetric.distances.search.votes import VoteRule, find_voters


@pytest.mark.parametrize("weighted", [False, True])
def test_voters_are_all_that_are_as_near_as_the_last(rng, weighted):
    items = np.round(rng.random((80, 2)), 1)  # many ties
    items[20:60] = items[0]
    queries = np.round(rng.random((30, 2)), 1)
    queries[::7] = items[0]
    d = Semimetric.l1(items)
    weight = rng.integers(0, 3, 80) / 2 if weighted else None
    index, rule, seen = NeighborIndex(d).fit(items), VoteRule(5), []
    for found in find_voters(index, index.encode(queries), 5, weight):
        for row, query in enumerate(found.queries):
            seen.append(query)
            votes = np.zeros(80)
            counts = None if weight is None else found.weight[row][None]
            votes[found.indices[row]] = rule.votes(found.distances[row][None], counts)[0]
            order = np.argsort(d.pairwise(queries[[query]], items)[0], kind="stable")
            all_distances = d.pairwise(queries[[query]], items)[:, order]
            want = np.zeros(80)
            want[order] = rule.votes(all_distances, None if weight is None else weight[order][None])[0]
            assert_allclose(votes, want)
    assert_array_equal(np.sort(seen), np.arange(30))
