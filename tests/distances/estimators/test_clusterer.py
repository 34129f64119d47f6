"""The clusterer: its labels, what links teach the distance, and what is refused."""

import numpy as np
import pytest
from cases import assert_refused
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

import semimetric as sm
from semimetric import DistanceRegressor, InputError, NotSupportedError, PairLearner, SemimetricClusterer

pd = pytest.importorskip("pandas")
pytest.importorskip("kmedoids")


def blobs(n=40, seed=0):
    """Three groups in two of five features, the other three of which are noise on a larger scale."""
    rng = np.random.default_rng(seed)
    y = np.arange(n * 3) % 3
    centers = np.array([[0, 0], [1, 0], [0, 1]])[y]
    return np.column_stack([centers + rng.normal(0, 0.12, (n * 3, 2)), rng.random((n * 3, 3))]), y


def links(y, n, seed=0):
    pairs = np.random.default_rng(seed).integers(0, len(y), (n, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    return {"must_link": pairs[same], "cannot_link": pairs[~same]}


def test_what_was_fitted_is_predicted_again():
    X, y = blobs()
    model = SemimetricClusterer(n_clusters=3).fit(X[:, :2])
    assert adjusted_rand_score(y, model.labels_) > 0.95
    np.testing.assert_array_equal(model.predict(X[:, :2]), model.labels_)
    np.testing.assert_array_equal(model.cluster_centers_, X[model.medoid_indices_, :2])
    away = model.transform(X[:, :2])
    np.testing.assert_allclose(away, model.semimetric_.pairwise(X[:, :2], model.cluster_centers_), rtol=1e-12)
    assert model.inertia_ == pytest.approx(away.min(axis=1).sum())
    again = clone(model).fit(X[:, :2])
    np.testing.assert_array_equal(again.labels_, model.labels_)
    assert model.get_feature_names_out().tolist() == [f"semimetricclusterer{k}" for k in range(3)]


def test_links_teach_the_distance_which_features_count():
    X, y = blobs()
    given = links(y, 60)
    plain = SemimetricClusterer(n_clusters=3).fit(X)
    held = SemimetricClusterer(n_clusters=3).fit(X, **given)
    taught = SemimetricClusterer(n_clusters=3, learner=PairLearner(n_knots=3, alpha=0.1, directions=None)).fit(X, **given)
    for model in (held, taught):
        assert all(model.labels_[i] == model.labels_[j] for i, j in given["must_link"])
        assert all(model.labels_[i] != model.labels_[j] for i, j in given["cannot_link"])
    free = np.setdiff1d(np.arange(len(y)), np.concatenate([*given.values()]))
    scores = [adjusted_rand_score(y[free], model.labels_[free]) for model in (plain, held, taught)]
    assert scores[2] > 0.9 > max(scores[:2])
    means = np.asarray(taught.semimetric_.contributions(X[1:], X[:-1])).mean(axis=0)
    assert set(np.argsort(means)[-2:]) == {0, 1}
    assert taught.learner_.program.prior is not None


def test_medoids_of_a_mixed_table_are_explained_by_its_columns():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "rooms": rng.integers(1, 5, 60),
            "heating": rng.choice(["gas", "oil", None], 60),
            "since": pd.date_range("2020", periods=60),
        }
    )
    d = sm.gower(frame)
    model = SemimetricClusterer(d, n_clusters=4).fit(frame)
    assert model.cluster_centers_.shape == (4, 3)
    why = model.explain(frame.iloc[0])
    assert why.indices[0] == model.labels_[0]
    assert all(name in str(why) for name in frame)
    np.testing.assert_allclose(why.distances, np.sort(model.transform(frame.iloc[:1])[0])[:2])


def test_what_cannot_be_clustered_is_refused():
    X, y = blobs(5)
    assert_refused(
        lambda: SemimetricClusterer(n_clusters=3).fit(np.ones((9, 2)) * [[1, 2]]), "1 of them different", "3 clusters"
    )
    assert_refused(lambda: SemimetricClusterer(n_clusters=30, sample=20).fit(X), "sample=20", "30 medoids")
    assert_refused(lambda: SemimetricClusterer(learner=sm.LargeMarginLearner()).fit(X), "LargeMarginLearner", "PairLearner")
    assert_refused(lambda: SemimetricClusterer(n_clusters=2, learner=PairLearner()).fit(X), "links of both kinds", "must_link=")
    assert_refused(lambda: SemimetricClusterer(n_clusters=0).fit(X), "n_clusters=0", "required")
    rng = np.random.default_rng(0)
    pairs = rng.random((80, 2, 2))
    one_way = DistanceRegressor(n_knots=3, alpha=0.1, axioms="premetric").fit(
        pairs, np.maximum(pairs[:, 0] - pairs[:, 1], 0).sum(axis=1) + 0.1
    )
    with pytest.raises(NotSupportedError, match="two distances; give a symmetric one"):
        SemimetricClusterer(one_way, n_clusters=2).fit(rng.random((20, 2)))
    with pytest.raises(InputError, match="n_clusters"):
        SemimetricClusterer().fit(X[:4])


def test_items_with_the_same_gaps_are_the_same():
    X = np.array([[1.0, np.nan], [2.0, 5.0], [np.nan, 7.0]] * 4)
    assert len(set(SemimetricClusterer(n_clusters=3).fit(X).labels_)) == 3
    assert_refused(lambda: SemimetricClusterer(n_clusters=4).fit(X), "12 items, 3 of them different", "a smaller n_clusters=")


def test_a_distance_that_is_given_as_its_learner_is_saved(tmp_path):
    X = np.random.default_rng(0).random((40, 2))
    pairs = X.reshape(20, 2, 2)
    learner = DistanceRegressor(n_knots=3, alpha=1e-3).fit(pairs, np.abs(pairs[:, 0] - pairs[:, 1]).sum(axis=1))
    model = SemimetricClusterer(learner, n_clusters=3).fit(X)
    model.save(tmp_path / "m")
    again = sm.load(tmp_path / "m")
    np.testing.assert_array_equal(again.transform(X), model.transform(X))
    np.testing.assert_array_equal(again.fit(X).labels_, model.labels_)
