"""Medoids against every set of medoids, and samples of many items."""

from itertools import combinations

import numpy as np
import pytest

from semimetric import Semimetric
from semimetric.distances.estimators.clusterer import Links, best_medoids

pytest.importorskip("kmedoids")


def clusters(X, k, *, links=None, n_init=3, sample=2000, seed=0):
    d = Semimetric.l1(X)
    links = Links.of(None, None, len(X)) if links is None else links
    return d, best_medoids(d, X, len(X), k, links, n_init, sample, seed, None)


@pytest.mark.parametrize("seed", range(5))
def test_no_set_of_medoids_is_better_on_small_sets(seed):
    X = np.random.default_rng(seed).normal(size=(14, 2))
    d, found = clusters(X, 3, n_init=20)
    D = d.pairwise(X)
    best = min(D[:, list(medoids)].min(axis=1).sum() for medoids in combinations(range(14), 3))
    assert found.inertia == pytest.approx(best, rel=1e-12)
    np.testing.assert_array_equal(found.labels, D[:, found.medoids].argmin(axis=1))
    assert found.n_iter == 0


def test_a_sample_finds_medoids_that_are_nearly_as_good():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(m, 0.3, size=(300, 2)) for m in ((0, 0), (4, 0), (0, 4))])
    _, whole = clusters(X, 3)
    d, sampled = clusters(X, 3, sample=60)
    assert sampled.n_iter > 0
    assert sampled.inertia < 1.02 * whole.inertia
    assert sampled.inertia == pytest.approx(d.pairwise(X, X[sampled.medoids]).min(axis=1).sum())


def test_medoids_are_the_centers_of_clusters_that_links_shape():
    X = np.arange(12.0)[:, None]
    links = Links.of([(0, 11)], [(4, 5), (5, 6)], 12)
    d, found = clusters(X, 2, links=links, n_init=8)
    D = d.pairwise(X)
    assert found.labels[0] == found.labels[11]
    assert found.labels[4] == found.labels[6] != found.labels[5]
    assert found.inertia == pytest.approx(D[np.arange(12), found.medoids[found.labels]].sum())
    for k, medoid in enumerate(found.medoids):
        members = np.flatnonzero(found.labels == k)
        assert D[members, medoid].sum() <= D[np.ix_(members, members)].sum(axis=0).min() * (1 + 1e-9)
