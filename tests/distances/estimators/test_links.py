"""Links: parts of items that are together, and labels of least cost that keep them, against every assignment."""

from itertools import product

import numpy as np
import pytest
from cases import assert_refused
from hypothesis import given, settings
from hypothesis import strategies as st

from semimetric import InputError
from semimetric.distances.estimators.clusterer import Links

N, K = 6, 3
PAIRS = st.lists(st.tuples(st.integers(0, N - 1), st.integers(0, N - 1)).filter(lambda pair: pair[0] != pair[1]), max_size=6)


def kept(labels, must, cannot):
    return all(labels[i] == labels[j] for i, j in must) and all(labels[i] != labels[j] for i, j in cannot)


@settings(max_examples=60, deadline=None)
@given(PAIRS, PAIRS, st.integers(0, 1000))
def test_labels_are_the_cheapest_that_keep_all_links(must, cannot, seed):
    costs = np.random.default_rng(seed).random((N, K))
    allowed = [labels for labels in product(range(K), repeat=N) if kept(labels, must, cannot)]
    if not allowed:
        with pytest.raises(InputError, match=r"which must_link puts into one cluster|more clusters or fewer links"):
            Links.of(must, cannot, N).assigned(costs)
        return
    labels = Links.of(must, cannot, N).assigned(costs)
    assert kept(labels, must, cannot)
    best = min(costs[np.arange(N), list(labels)].sum() for labels in allowed)
    assert costs[np.arange(N), labels].sum() == pytest.approx(best)


def test_without_links_every_item_has_its_cheapest_cluster():
    costs = np.random.default_rng(0).random((50, 4))
    links = Links.of(None, [], 50)
    assert not links
    np.testing.assert_array_equal(links.assigned(costs), costs.argmin(axis=1))


def test_a_ring_of_links_that_touches_no_other_is_assigned_by_itself():
    costs = np.zeros((40, 2))
    costs[:, 1] = 1.0
    ring = [(k, (k + 1) % 6) for k in range(6)]
    labels = Links.of(None, ring, 40).assigned(costs)
    assert labels[:6].sum() == 3
    assert not labels[6:].any()
    odd = [(k, (k + 1) % 5) for k in range(5)]
    assert_refused(lambda: Links.of(None, odd, 40).assigned(costs), "no assignment to 2 clusters", "more clusters")


@pytest.mark.parametrize(
    ("must", "cannot", "message"),
    [
        ([(0, 1), (1, 2)], [(2, 0)], "cannot_link has the items 2 and 0"),
        (None, [(3, 3)], "cannot_link has a pair of the item 3 and itself"),
        ([(0, 50)], None, "must_link= has the row number 50, but there are 50 items; give 0 to 49"),
        (None, [(-1, 0)], "the row number -1"),
        ([0, 1], None, "must_link= is int64 of shape (2,); pairs of row numbers"),
        ([(0.5, 1)], None, "must_link= is float64"),
    ],
)
def test_links_that_cannot_be_kept_are_refused(must, cannot, message):
    assert_refused(lambda: Links.of(must, cannot, 50), message, message)


@pytest.mark.parametrize("seed", range(8))
def test_an_item_far_from_all_medoids_leaves_the_others_their_best_clusters(seed):
    rng = np.random.default_rng(seed)
    costs = rng.random((7, 3))
    costs[0] += 1e8
    pairs = np.array([(i, i + 1) for i in range(6)])
    labels = Links.of(None, pairs, 7).assigned(costs)
    near = costs - costs.min(axis=1, keepdims=True)
    least = min(near[np.arange(7), list(c)].sum() for c in product(range(3), repeat=7) if kept(c, [], pairs))
    assert near[np.arange(7), labels].sum() == pytest.approx(least, abs=1e-6)
