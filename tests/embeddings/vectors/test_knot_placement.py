"""Knots of vectors: all values where they are few, k-means as paper 0, thresholds of trees, one set for all features."""

import numpy as np
import pytest
from cases import assert_refused
from sklearn.cluster import KMeans
from sklearn.tree import DecisionTreeClassifier

from semimetric import PL1Embedding
from semimetric.embeddings.vectors.knot_placement import place_vectors
from semimetric.embeddings.vectors.reservoir import Reservoir


def placed(values, knots="kmeans", n_knots=6, y=None, shared=False):
    X = np.asarray(values, float)
    X = X if X.ndim == 2 else X[:, None]
    names = [f"x{k}" for k in range(X.shape[1])]
    return place_vectors(knots, n_knots, Reservoir(0).add(X), y, names=names, shared=shared)


def test_kmeans_is_lloyds_algorithm_from_the_quantiles(rng):
    x = rng.gamma(2.0, size=400)
    start = np.quantile(x, (np.arange(4) + 0.5) / 4)[:, None]
    twin = KMeans(4, init=start, n_init=1, tol=0, max_iter=300).fit(x[:, None]).cluster_centers_[:, 0]
    np.testing.assert_allclose(placed(x)[0], [x.min(), *np.sort(twin), x.max()], rtol=1e-12)


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
    monkeypatch.setattr("semimetric.embeddings.vectors.reservoir._ROOM", 200)
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
