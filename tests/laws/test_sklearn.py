"""scikit-learn's checks and habits: its own suite through a wrapper that makes pairs, cloning, search, pickling."""

import pickle
from dataclasses import dataclass

import cases
import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted, validate_data

from semimetric import (
    BoundaryPoints,
    BSplineEmbedding,
    ConicEmbedding,
    DistanceApproximator,
    DistanceRegressor,
    DPLMClassifier,
    EvenDirections,
    FourierEmbedding,
    HermiteEmbedding,
    HistogramFeatures,
    InputError,
    PairLearner,
    SupportPointClassifier,
    TripletLearner,
)


class PairsOf(RegressorMixin, BaseEstimator):
    """Learns from pairs of consecutive rows, with a distance made of X and y; predicts distances to the first row."""

    def __init__(self, learner=None):
        self.learner = learner

    def fit(self, X, y):
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2, y_numeric=True)
        index = np.column_stack([np.arange(len(X)), np.arange(1, len(X) + 1) % len(X)])
        learner = DistanceRegressor(n_knots=2, alpha=1e-2) if self.learner is None else self.learner
        if isinstance(learner, DistanceApproximator):
            self.learner_ = clone(learner).fit(X)
        else:
            target = cases.cityblock(X[index[:, 0]], X[index[:, 1]]) + 0.1 * np.abs(y[index[:, 0]] - y[index[:, 1]])
            self.learner_ = clone(learner).fit(X[index], target)
        self.first_ = X[0]
        return self

    def predict(self, X):
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        return self.learner_.pair_distance(np.stack([np.broadcast_to(self.first_, X.shape), X], axis=1))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # it predicts distances, not y
        return tags


class JudgedPairsOf(PairsOf):
    """The same, with a `PairLearner`: the nearer half of the pairs is similar."""

    def fit(self, X, y):
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=4, y_numeric=True)
        index = np.column_stack([np.arange(len(X)), np.arange(1, len(X) + 1) % len(X)])
        far = np.argsort(np.argsort(cases.cityblock(X[index[:, 0]], X[index[:, 1]]), kind="stable")) >= len(X) // 2
        self.learner_ = clone(self.learner).fit(X[index], np.where(far, -1, 1))
        self.first_ = X[0]
        return self


class TripletsOf(PairsOf):
    """The same, with a `TripletLearner`: triplets of consecutive rows, in the order of the city-block distance."""

    def fit(self, X, y):
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=4, y_numeric=True)
        index = (np.arange(len(X))[:, None] + np.arange(3)) % len(X)
        near, far = (cases.cityblock(X[index[:, 0]], X[index[:, k]]) for k in (1, 2))
        self.learner_ = clone(self.learner).fit(X[np.where((near <= far)[:, None], index, index[:, [0, 2, 1]])])
        self.first_ = X[0]
        return self


@dataclass(frozen=True)
class Cityblock:
    """A callable whose repr does not change from process to process."""

    def __call__(self, x, y):
        return cases.cityblock(x, y)


class HistogramsOfAnyLength(HistogramFeatures):
    """One bin for every column of the data, as the checks change their number."""

    def __init__(self, *, n_slices=4):
        super().__init__(None, n_slices=n_slices)

    def _coordinates(self, n_bins):
        return np.arange(float(n_bins))[:, None]


CHECKED = [
    PairsOf(DistanceRegressor(n_knots=2, alpha=1e-2)),
    PairsOf(DistanceRegressor(n_knots=3, alpha=1e-2, tables="warped", axioms="metric")),
    PairsOf(DistanceApproximator(Cityblock(), n_pairs=60, n_knots=2, alpha=1e-2)),
    JudgedPairsOf(PairLearner(n_knots=2, alpha=1e-2, directions=None)),
    TripletsOf(TripletLearner(n_knots=3, alpha=1e-2, directions="discriminant")),
    EvenDirections(n_directions=3),
    HistogramsOfAnyLength(),
    ConicEmbedding(),
    ConicEmbedding(2, "each", anchors="class", concatenate=False),
    ConicEmbedding(float("inf"), anchors="kmeans", n_anchors=2, missing="zeros", dtype=np.float32),
    BSplineEmbedding(),
    BSplineEmbedding(4, degree=3, penalty_order=0, knots="quantile", missing="indicator"),
    FourierEmbedding(degree=2),
    FourierEmbedding(degree=2, span="half", missing="zeros"),
    HermiteEmbedding(scale="standard"),
    BoundaryPoints(),
    SupportPointClassifier(),
    DPLMClassifier(n_sweeps=40),
    DPLMClassifier(n_components=1, local="plane"),
]


@pytest.mark.filterwarnings("ignore::semimetric.SemimetricWarning")
@parametrize_with_checks(CHECKED)  # all apply: none is expected to fail
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("model", cases.ESTIMATORS.values(), ids=cases.ESTIMATORS)
def test_parameters_survive_clone_and_set_params(model):
    copy = clone(model)
    assert str(copy.get_params()) == str(model.get_params())
    assert copy.set_params(n_knots=5, delta=0.1).get_params()["n_knots"] == 5
    assert not hasattr(copy, "semimetric_")


def test_grid_search_over_points_and_over_row_numbers():
    items, index, y = cases.sample()
    grid = {"alpha": [1e-4, 10.0], "n_knots": [2, 4]}
    for model, pairs in ((DistanceRegressor(), items[index]), (DistanceRegressor(preprocessor=items), index)):
        search = GridSearchCV(model, grid, cv=3).fit(pairs, y)
        assert search.best_score_ > 0.9
        assert search.best_params_ in [{"alpha": a, "n_knots": k} for a in grid["alpha"] for k in grid["n_knots"]]
        assert search.predict(pairs).shape == y.shape


@pytest.mark.parametrize("name", cases.RECIPES)
def test_learners_and_metrics_pickle(name):
    model, items, index, _ = cases.fitted(name)
    again, metric = (pickle.loads(pickle.dumps(o)) for o in (model, model.get_metric()))
    assert (again.predict(index) == model.predict(index)).all()
    assert metric(items[0], items[1]) == model.get_metric()(items[0], items[1])


def test_the_metric_serves_scikit_learns_neighbours():
    model, items, _, _ = cases.fitted("singles")
    labels = (items[:, 0] > 0.5).astype(int)
    by_call = KNeighborsClassifier(3, metric=model.get_metric(), algorithm="brute").fit(items, labels)
    table = model.semimetric_.pairwise(items)
    by_table = KNeighborsClassifier(3, metric="precomputed").fit(table, labels)
    assert (by_call.predict(items) == by_table.predict(table)).all()


def test_an_unfitted_learner_says_so():
    from sklearn.exceptions import NotFittedError

    model = DistanceRegressor(tables="warped")
    for call in (model.get_metric, lambda: model.predict([[[0.0], [1.0]]]), lambda: model.transform([[0.0]])):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            call()
    with pytest.raises(InputError, match="requires y"):
        model.fit([[[0.0], [1.0]]], None)
