"""Outliers, against scikit-learn's local outlier factor and a loop."""

import numpy as np
import pandas as pd
import pytest
from sklearn.neighbors import LocalOutlierFactor

from semimetric import InputError, Semimetric, SemimetricOutlierDetector

RNG = np.random.default_rng(0)
X = np.vstack([RNG.normal(size=(60, 3)), [[8.0, 0.0, 0.0], [0.0, -9.0, 3.0]]])


@pytest.mark.parametrize("n_neighbors", [1, 5, 20, 100])
def test_scores_are_those_of_scikit_learn(n_neighbors):
    model = SemimetricOutlierDetector("l1", n_neighbors=n_neighbors).fit(X)
    k = min(n_neighbors, len(X) - 1)
    peer = LocalOutlierFactor(n_neighbors=k, metric="cityblock", novelty=True).fit(X)
    np.testing.assert_allclose(model.negative_scores_, peer.negative_outlier_factor_, rtol=1e-7)
    new = RNG.normal(scale=3, size=(20, 3))
    np.testing.assert_allclose(model.score_samples(new), peer.score_samples(new), rtol=1e-7)
    assert model.offset_ == peer.offset_ == -1.5


@pytest.mark.parametrize("method", ["lof", "distance"])
def test_fitted_items_are_scored_as_by_the_fit(method):
    model = SemimetricOutlierDetector("l1", method=method, n_neighbors=7, contamination=0.1).fit(X)
    np.testing.assert_array_equal(model.score_samples(X), model.negative_scores_)
    np.testing.assert_array_equal(model.score_samples(X[5:9]), model.negative_scores_[5:9])
    np.testing.assert_array_equal(model.predict(X), SemimetricOutlierDetector("l1", method=method, n_neighbors=7,
                                                                             contamination=0.1).fit_predict(X))  # fmt: skip
    assert (model.predict(X) == -1).sum() == 7  # a tenth of 62
    assert set(np.flatnonzero(model.predict(X) == -1)) >= {60, 61}


def test_the_kth_distance_by_hand():
    model = SemimetricOutlierDetector("l1", method="distance", n_neighbors=3).fit(X)
    distances = np.sort(np.abs(X[:, None] - X).sum(axis=2), axis=1)
    np.testing.assert_allclose(-model.negative_scores_, distances[:, 3])
    low, high = np.percentile(distances[:, 3], [25, 75])
    assert model.offset_ == pytest.approx(-(high + 1.5 * (high - low)))


@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e9])
def test_the_unit_of_the_distance_does_not_matter(unit):
    scores = SemimetricOutlierDetector("l1", n_neighbors=4).fit(X * unit).negative_scores_
    np.testing.assert_allclose(scores, SemimetricOutlierDetector("l1", n_neighbors=4).fit(X).negative_scores_, rtol=1e-6)


def test_items_of_which_many_coincide():
    many = np.vstack([np.zeros((30, 2)), np.ones((30, 2)), [[5.0, 5.0]]])
    model = SemimetricOutlierDetector("l1", n_neighbors=10).fit(many)
    assert np.isfinite(model.negative_scores_).all()
    assert np.flatnonzero(model.predict(many) == -1).tolist() == [60]
    np.testing.assert_array_equal(model.score_samples(many), model.negative_scores_)
    same = SemimetricOutlierDetector("l1", n_neighbors=3).fit(np.zeros((6, 2)))
    assert (same.predict(np.zeros((2, 2))) == 1).all()


def test_mixed_rows_with_missing_values_and_why():
    frame = pd.DataFrame({"size": [*RNG.normal(size=40), np.nan, 0.1], "kind": ["a", "b"] * 20 + ["a", "z"]})
    model = SemimetricOutlierDetector(n_neighbors=5).fit(frame)
    assert int(model.negative_scores_.argmin()) == 41  # the only one of its kind
    assert np.isfinite(model.negative_scores_).all()
    told = model.explain(frame.iloc[41], n_neighbors=2)
    assert told.contributions.shape[0] == 2
    assert np.argmax(told.contributions.mean(axis=0)) == 1  # its kind parts it from the others


def test_one_item_is_refused_and_what_is_no_share():
    with pytest.raises(InputError, match="n_samples = 1"):
        SemimetricOutlierDetector("l1").fit([[1.0, 2.0]])
    for share in (0, 0.6, "some", None):
        with pytest.raises(InputError, match="contamination="):
            SemimetricOutlierDetector("l1", contamination=share).fit(X)
    with pytest.raises(InputError, match="method="):
        SemimetricOutlierDetector("l1", method="knn").fit(X)


def test_a_distance_that_is_not_symmetric_reads_the_query_first():
    d = Semimetric.l1(X)
    assert SemimetricOutlierDetector(d, n_neighbors=2).fit(X).semimetric_ is d
