"""The transformer stands where scikit-learn's does."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import DBSCAN
from sklearn.manifold import TSNE
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from test_neighbors import some

from semimetric import SemimetricNeighborsTransformer


def test_a_classifier_on_the_graph_is_one_on_all_distances():
    d, items, queries = some(200)
    y = (items[:, 0] > 0).astype(int)
    pipeline = make_pipeline(
        SemimetricNeighborsTransformer(d, n_neighbors=7), KNeighborsClassifier(7, metric="precomputed", weights="distance")
    )
    slow = KNeighborsClassifier(7, metric="precomputed", weights="distance").fit(d.pairwise(items), y)
    assert_allclose(pipeline.fit(items, y).predict_proba(queries), slow.predict_proba(d.pairwise(queries, items)))
    search = GridSearchCV(pipeline, {"semimetricneighborstransformer__n_neighbors": [7, 9]}, cv=3).fit(items, y)
    assert search.best_score_ > 0.5


def test_the_graph_of_the_items_has_sorted_rows_that_begin_with_the_item():
    d, items, _ = some(100)
    graph = SemimetricNeighborsTransformer(d, n_neighbors=4).fit_transform(items)
    assert graph.shape == (100, 100)
    assert (np.diff(graph.indptr) == 5).all()
    data = graph.data.reshape(100, 5)
    assert (np.diff(data, axis=1) >= 0).all()
    assert_array_equal(graph.indices.reshape(100, 5)[:, 0], np.arange(100))
    assert_array_equal(data[:, 0], 0)
    ones = SemimetricNeighborsTransformer(d, n_neighbors=4, mode="connectivity").fit_transform(items)
    assert (ones.data == 1).all()
    assert (np.diff(ones.indptr) == 4).all()


def test_clusterings_and_maps_take_the_graph():
    d, items, _ = some(60)
    items[:30] += 5
    graph = SemimetricNeighborsTransformer(d, n_neighbors=20).fit_transform(items)
    labels = DBSCAN(eps=float(np.median(graph.data)), min_samples=3, metric="precomputed").fit_predict(graph)
    assert len(labels) == 60
    flat = TSNE(init="random", metric="precomputed", perplexity=5, max_iter=250, random_state=0).fit_transform(graph)
    assert np.isfinite(flat).all()
