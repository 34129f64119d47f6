"""Targets and impostors are the nearest items of the own class and of others, by brute force."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from semimetric import NeighborIndex, Semimetric
from semimetric.data.grid import Grid
from semimetric.distances.learning import targets_and_impostors
from semimetric.distances.learning.targets_and_impostors import ClassMembers, find_neighbors, find_neighbors_by_index
from semimetric.distances.pairs.full_tables import PairEmbedding
from semimetric.distances.pairs.monotone_scales import WarpedEmbedding

RNG = np.random.default_rng(0)
ITEMS = RNG.random((40, 3))
LABELS = np.r_[np.zeros(20, int), np.ones(17, int), np.full(2, 2), [3]]


def nearest(d, rows, k):
    found = sorted(rows, key=lambda j: (d[j], j))[:k]
    return found + [-1] * (k - len(found))


@pytest.mark.parametrize("kind", [WarpedEmbedding, PairEmbedding])
@pytest.mark.parametrize("entries", [1 << 22, 50])
def test_they_are_the_nearest(kind, entries, monkeypatch):
    monkeypatch.setattr(targets_and_impostors, "_ENTRIES", entries)
    embedding = kind(Grid.fit(ITEMS, n_knots=4))
    w = RNG.random(embedding.n_columns)
    located = embedding.locate(ITEMS)
    d = embedding.pairwise(located, located, w)
    found = find_neighbors(ClassMembers(embedding, located, LABELS), w, 3, 5)
    for i in range(40):
        own = [j for j in range(40) if j != i and LABELS[j] == LABELS[i]]
        assert found.near[i].tolist() == nearest(d[i], own, 3)
        assert found.far[i].tolist() == nearest(d[i], np.flatnonzero(LABELS != LABELS[i]).tolist(), 5)


def test_triplets_and_pairs_are_numbered_alike():
    embedding = WarpedEmbedding(Grid.fit(ITEMS, n_knots=3))
    found = find_neighbors(ClassMembers(embedding, embedding.locate(ITEMS), LABELS), np.ones(embedding.n_columns), 3, 2)
    left, right = found.pairs
    near, far = found.rows()
    triplets = found.triplets()
    assert_array_equal(left[near], triplets[:, 0])
    assert_array_equal(left[far], triplets[:, 0])
    assert_array_equal(right[near], triplets[:, 1])
    assert_array_equal(right[far], triplets[:, 2])
    assert (LABELS[triplets[:, 0]] == LABELS[triplets[:, 1]]).all()
    assert (LABELS[triplets[:, 0]] != LABELS[triplets[:, 2]]).all()
    assert len(triplets) == (20 + 17) * 3 * 2 + 2 * 1 * 2  # the item that is alone is in none


def test_the_index_finds_the_same():
    embedding = WarpedEmbedding(Grid.fit(ITEMS, n_knots=4))
    w = RNG.random(embedding.n_columns)
    d = Semimetric(embedding, w, np.ones(3), ("a", "b", "c"))
    items = np.vstack([ITEMS, ITEMS[:4]])  # some twice
    labels = np.r_[LABELS, LABELS[:4]]
    brute = find_neighbors(ClassMembers(embedding, embedding.locate(items), labels), w, 3, 5)
    index = NeighborIndex(d).fit(items)
    found = find_neighbors_by_index(index, items, np.arange(len(items)), labels, 3, 5)
    assert_allclose(found.near_distances, brute.near_distances)
    every = d.pairwise(items)
    for side, other in ((found.near, brute.near), (found.far, brute.far)):
        assert_array_equal(side >= 0, other >= 0)
        rows = np.arange(len(items))[:, None]
        assert_allclose(np.where(side >= 0, every[rows, side], 0), np.where(other >= 0, every[rows, other], 0))
    assert (found.near != np.arange(len(items))[:, None]).all()
