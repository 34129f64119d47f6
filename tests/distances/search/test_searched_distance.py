import numpy as np
import pandas as pd
import pytest
from cases import assert_refused
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from semimetric import LargeMarginLearner, NeighborIndex, Semimetric, SemimetricNeighborsTransformer, ShardedIndex, load
from semimetric.distances.search.index import searched_distance


@pytest.fixture(scope="module")
def items():
    return np.random.default_rng(0).normal(size=(200, 3))


@pytest.fixture(scope="module")
def model(items):
    return LargeMarginLearner(n_knots=3, alpha=1e-3, directions=None).fit(items, items[:, 0] > 0)


@pytest.mark.parametrize("name", ["gower", "l1"])
def test_a_name_makes_the_distance_of_the_items(name, items, tmp_path):
    index = NeighborIndex(name).fit(items)
    d = getattr(Semimetric, name)(items)
    np.testing.assert_array_equal(index.semimetric_.pairwise(items), d.pairwise(items))
    distances, _ = index.kneighbors(items[:9], 4)
    np.testing.assert_allclose(distances, np.sort(d.pairwise(items[:9], items))[:, :4], rtol=1e-9, atol=1e-12)
    assert index.semimetric == clone(index).semimetric == name
    index.save(tmp_path / "index")
    np.testing.assert_array_equal(load(tmp_path / "index").kneighbors(items[:9], 4)[0], distances)


def test_another_fit_makes_another_distance(items):
    index = NeighborIndex("gower").fit(items)
    assert index.fit(10 * items).semimetric_(10 * items[0], 10 * items[1]) == pytest.approx(
        NeighborIndex("gower").fit(items).semimetric_(items[0], items[1])
    )


def test_a_frame_with_categories_needs_no_more(items):
    frame = pd.DataFrame({"size": items[:, 0], "colour": pd.Categorical(np.where(items[:, 1] > 0, "red", "blue"))})
    distances, ids = NeighborIndex("gower").fit(frame).kneighbors(frame[:5], 1)
    assert ids.ravel().tolist() == [0, 1, 2, 3, 4]


def test_a_fitted_model_gives_what_it_has_learned(items, model, tmp_path):
    want = NeighborIndex(model.semimetric_).fit(items).kneighbors(items[:5], 3)
    for got in (
        NeighborIndex(model).fit(items).kneighbors(items[:5], 3),
        ShardedIndex.build(tmp_path / "shards", model, items).kneighbors(items[:5], 3),
        NeighborIndex(model).fit(items).with_semimetric(model).kneighbors(items[:5], 3),
    ):
        for a, b in zip(got, want, strict=True):
            np.testing.assert_array_equal(a, b)
    graph = SemimetricNeighborsTransformer("l1", n_neighbors=3).fit(items).transform(items[:2])
    assert graph.shape == (2, 200)


def recall(pipeline, X, y=None):
    """How much of the exact answer the approximate search of the index finds."""
    return pipeline[-1].estimate_recall(pipeline[:-1].transform(X), 5).mean


def test_a_clone_searches_under_what_was_learned(items, model):
    want = NeighborIndex(model).fit(items).kneighbors(items[:5], 3)
    for given in (model, FrozenEstimator(model)):
        again = clone(clone(NeighborIndex(given, n_probe=3).fit(items)))
        assert not hasattr(again, "segments_")
        assert again.n_probe == 3
        for a, b in zip(again.fit(items).kneighbors(items[:5], 3), want, strict=True):
            np.testing.assert_array_equal(a, b)
    graph = clone(SemimetricNeighborsTransformer(model, n_neighbors=3)).fit(items).transform(items[:2])
    assert graph.shape == (2, 200)


def test_parameters_of_the_learner_of_a_clone_are_its_own(items, model):
    again = clone(NeighborIndex(model))
    again.set_params(semimetric__alpha=7.0)
    assert (again.semimetric.alpha, model.alpha) == (7.0, 1e-3)
    assert again.semimetric.semimetric_ is model.semimetric_
    assert not hasattr(clone(NeighborIndex(clone(model))).semimetric, "semimetric_")
    assert not hasattr(clone(SemimetricNeighborsTransformer(learner=model)).learner, "semimetric_")  # which it fits itself


def test_a_search_over_an_index_in_a_pipeline_keeps_the_learned_distance(items, model):
    pipeline = make_pipeline(FunctionTransformer(), NeighborIndex(model))
    grid = {"neighborindex__n_candidates": [5, 100], "neighborindex__n_probe": [4]}
    search = GridSearchCV(pipeline, grid, scoring=recall, cv=3, error_score="raise").fit(items)
    assert (search.cv_results_["mean_test_score"] > 0.5).all()
    assert search.best_estimator_[-1].semimetric_ is model.semimetric_


REFUSED = {
    "a model that is not fitted": (LargeMarginLearner(), "LargeMarginLearner", "fit it first"),
    "data": (np.zeros((50, 2)), "a ndarray", "fitted learner"),
    "Euclid": ("l2", "only its square", "faiss.IndexFlatL2"),
    "another word for it": ("manhattan", "'manhattan'", "called 'l1' here"),
    "an unknown name": ("hamming", "'hamming'", "'gower' or 'l1'"),
    "a name without items": ("gower", "'gower'", "Semimetric.gower(X)"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_distance_is_refused_without_its_data(name):
    given, *words = REFUSED[name]
    assert "[" not in str(assert_refused(lambda: searched_distance(given), *words))


def test_items_that_make_no_distance_say_which_and_what_to_do():
    X = [[1.0, 2.0], [np.inf, 3.0]]
    assert_refused(lambda: NeighborIndex("gower").fit(X), "row 1 of X", "an infinite value", "Semimetric.gower(X)")
