"""The transformer stands where scikit-learn's does, and index and transformer keep scikit-learn's contract."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from searches import search_problem
from sklearn import config_context
from sklearn.base import clone
from sklearn.cluster import DBSCAN, HDBSCAN
from sklearn.exceptions import NotFittedError
from sklearn.manifold import TSNE
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import validate_data

from semimetric import Grid, NeighborIndex, Semimetric, SemimetricNeighborsTransformer
from semimetric.distances.pairs.full_tables import PairEmbedding


def even(X):
    """An even L1 distance for as many features as the checks choose to have."""
    embedding = PairEmbedding(Grid.fit(X, n_knots=3))
    slopes = np.ones(X.shape[1])
    return Semimetric(embedding, embedding.prior(slopes), slopes, tuple(f"x{f}" for f in range(X.shape[1])))


class IndexOfAnything(NeighborIndex):
    """Takes an even distance when it is fitted, as scikit-learn's checks bring no distance."""

    def __init__(self, *, algorithm="exact", n_jobs=None):
        super().__init__(None, algorithm=algorithm, n_jobs=n_jobs)

    def get_params(self, deep=True):
        return {"algorithm": self.algorithm, "n_jobs": self.n_jobs}

    def fit(self, X, y=None):
        self.semimetric = None
        X = validate_data(self, X, dtype=np.float64, accept_sparse="csr")
        self.semimetric = even(X)
        return super().fit(X)


class GraphOfAnything(SemimetricNeighborsTransformer):
    """The same for the transformer."""

    def __init__(self, *, n_neighbors=2, mode="distance"):
        super().__init__(None, n_neighbors=n_neighbors, mode=mode)

    def get_params(self, deep=True):
        return {"n_neighbors": self.n_neighbors, "mode": self.mode}

    def fit(self, X, y=None):
        X = validate_data(self, X, dtype=np.float64, accept_sparse="csr")
        self.semimetric = even(X)
        return super().fit(X)


NOT_APPLICABLE = {"check_dont_overwrite_parameters": "the wrapper sets semimetric, which a real index is given"}


FURTHER = [  # as threads and algorithms find the same neighbors, these are checked among the slow tests
    IndexOfAnything(algorithm=algorithm, n_jobs=n)
    for algorithm in ("exact", "approximate", "brute")
    for n in (None, 2)
    if (algorithm, n) != ("exact", None)
]


@parametrize_with_checks([IndexOfAnything(), GraphOfAnything()], expected_failed_checks=lambda estimator: NOT_APPLICABLE)
@pytest.mark.filterwarnings("ignore:features .* are constant", "ignore:ties in the data")
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(FURTHER, expected_failed_checks=lambda estimator: NOT_APPLICABLE)
@pytest.mark.filterwarnings("ignore:features .* are constant", "ignore:ties in the data")
def test_scikit_learns_own_checks_of_further_settings(estimator, check):
    check(estimator)


def test_an_index_is_cloned_and_pickled():
    d, items, queries = search_problem(100)
    index = NeighborIndex(d, n_candidates=7).fit(items)
    assert clone(index).get_params()["n_candidates"] == 7
    index.kneighbors(queries)
    again = pickle.loads(pickle.dumps(index))
    for x, y in zip(index.kneighbors(queries), again.kneighbors(queries), strict=True):
        assert_array_equal(x, y)


def test_a_classifier_on_the_graph_is_one_on_all_distances():
    d, items, queries = search_problem(200)
    y = (items[:, 0] > 0).astype(int)
    pipeline = make_pipeline(
        SemimetricNeighborsTransformer(d, n_neighbors=7), KNeighborsClassifier(7, metric="precomputed", weights="distance")
    )
    slow = KNeighborsClassifier(7, metric="precomputed", weights="distance").fit(d.pairwise(items), y)
    assert_allclose(pipeline.fit(items, y).predict_proba(queries), slow.predict_proba(d.pairwise(queries, items)))
    search = GridSearchCV(pipeline, {"semimetricneighborstransformer__n_neighbors": [7, 9]}, cv=3).fit(items, y)
    assert search.best_score_ > 0.5


def test_the_graph_of_the_items_has_sorted_rows_that_begin_with_the_item():
    d, items, _ = search_problem(100)
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
    d, items, _ = search_problem(60)
    items[:30] += 5
    graph = SemimetricNeighborsTransformer(d, n_neighbors=20).fit_transform(items)
    labels = DBSCAN(eps=float(np.median(graph.data)), min_samples=3, metric="precomputed").fit_predict(graph)
    assert len(labels) == 60
    every = SemimetricNeighborsTransformer(d, n_neighbors=59).fit_transform(items)  # HDBSCAN wants a connected graph
    both = HDBSCAN(min_cluster_size=10, metric="precomputed", copy=True).fit_predict(every.maximum(every.T))
    assert set(both[:30]).isdisjoint(set(both[30:]) - {-1})
    flat = TSNE(init="random", metric="precomputed", perplexity=5, max_iter=250, random_state=0).fit_transform(graph)
    assert np.isfinite(flat).all()


def test_the_graph_stays_sparse_where_tables_are_asked_for():
    d, items, queries = search_problem(40)
    y = (items[:, 0] > 0).astype(int)
    steps = SemimetricNeighborsTransformer(d, n_neighbors=3), KNeighborsClassifier(3, metric="precomputed")
    want = make_pipeline(*steps).fit(items, y).predict_proba(queries)
    with config_context(transform_output="pandas"):
        assert_array_equal(make_pipeline(*map(clone, steps)).fit(items, y).predict_proba(queries), want)
    pipeline = make_pipeline(*map(clone, steps)).set_output(transform="polars")
    assert_array_equal(pipeline.fit(items, y).predict_proba(queries), want)


@pytest.mark.parametrize("mode", ["distance", "connectivity"])
def test_there_is_a_name_for_every_column_of_the_graph(mode):
    d, items, queries = search_problem(40)
    transformer = SemimetricNeighborsTransformer(d, n_neighbors=3, mode=mode)
    with pytest.raises(NotFittedError):
        transformer.get_feature_names_out()
    names = transformer.fit(items).get_feature_names_out()
    assert names.tolist() == [f"semimetricneighborstransformer{k}" for k in range(40)]
    assert transformer.transform(queries).shape == (len(queries), transformer.n_samples_fit_) == (7, 40)
