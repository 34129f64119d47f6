"""Knots of vectors: all values where they are few, k-means as paper 0, thresholds of trees, one set for all features."""

import numpy as np
import pytest
from cases import assert_refused
from sklearn.cluster import KMeans
from sklearn.tree import DecisionTreeClassifier

from semimetric import PL1Embedding
from semimetric.vectors.embeddings.knots import place_vectors
from semimetric.vectors.embeddings.reservoir import Reservoir


def placed(values, knots="kmeans", n_knots=6, y=None, shared=False):
    X = np.asarray(values, float)
    X = X if X.ndim == 2 else X[:, None]
    names = [f"x{k}" for k in range(X.shape[1])]
    return place_vectors(knots, n_knots, Reservoir(0).add(X), y, names=names, shared=shared)


def test_kmeans_has_the_least_inertia_of_all_knots_with_both_ends(rng):
    x = rng.gamma(2.0, size=400)
    knots = placed(x)[0]

    def inertia(knots):
        return (np.abs(x[:, None] - knots).min(axis=1) ** 2).sum()

    assert len(knots) == 6
    assert (knots[0], knots[-1]) == (x.min(), x.max())
    nearest = np.abs(x[:, None] - knots).argmin(axis=1)
    for k in range(1, 5):  # every inner knot is the mean of the values that are nearest to it
        assert knots[k] == pytest.approx(x[nearest == k].mean())
    for seed in range(20):
        inner = KMeans(4, n_init=1, random_state=seed).fit(x[:, None]).cluster_centers_[:, 0]
        assert inertia(knots) <= inertia(np.concatenate([[x.min()], inner, [x.max()]])) + 1e-9
    assert np.allclose(placed(3 * x - 7)[0], 3 * knots - 7)


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_kmeans_has_as_many_knots_as_there_are_clusters(scale, rng):
    mostly_zero = np.append(np.zeros(900), np.arange(1.0, 101.0))  # quantiles would be 0 but one
    assert len(placed(mostly_zero * scale)[0]) == 6
    x = rng.integers(0, 6, 50) * 2.0
    assert placed(x * scale)[0].tolist() == np.unique(x * scale).tolist()
    assert placed(x, n_knots=2)[0].tolist() == [0.0, 10.0]


def test_a_tree_places_its_thresholds(rng):
    x = np.round(rng.random(300), 3)
    labels = np.array(["a", "b"])[((x > 0.25) ^ (x > 0.7)).astype(int)]
    knots = placed(x, "tree", 4, labels)[0]
    tree = DecisionTreeClassifier(max_leaf_nodes=3, random_state=0).fit(x[:, None], labels)
    np.testing.assert_allclose(knots, [x.min(), *np.sort(tree.tree_.threshold[tree.tree_.feature == 0]), x.max()])
    np.testing.assert_allclose(knots[1:3], [0.25, 0.7], atol=0.01)
    steps = placed(x, "tree", 3, np.where(x > 0.4, 5.5, -1.25))[0]  # numbers: a regression tree
    assert steps[1] == pytest.approx(0.4, abs=0.01)
    assert placed(np.ones(5), "tree", 4, np.arange(5))[0].tolist() == [1.0]
    assert placed(x, "tree", 2, labels)[0].tolist() == [x.min(), x.max()]


def test_knots_of_a_tree_of_a_large_table_come_from_labelled_rows_of_the_sample(rng, monkeypatch):
    monkeypatch.setattr("semimetric.vectors.embeddings.reservoir._MOST_ROWS", 200)
    monkeypatch.setattr(Reservoir.__init__, "__defaults__", (0, 200))
    X = rng.random((3000, 2))
    knots = PL1Embedding(3, knots="tree").fit(X, X[:, 0] > 0.6).grid_.knots
    assert knots[0][1] == pytest.approx(0.6, abs=0.03)
    assert [k[0] for k in knots] == X.min(axis=0).tolist()


def test_one_set_of_knots_for_all(rng):
    X = rng.random((100, 3)) + [0, 1, 5]
    knots = placed(X, shared=True)
    assert all(k is knots[0] for k in knots)
    np.testing.assert_array_equal(knots[0], placed(X.T.ravel())[0])
    assert_refused(lambda: placed(X, n_knots=[2, 3, 4], shared=True), "n_knots=[2, 3, 4] differ", "give one number")
