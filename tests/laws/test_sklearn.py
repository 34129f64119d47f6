"""scikit-learn's checks and habits: its own suite through a wrapper that makes pairs, cloning, search, pickling."""

import copy
import io
import pickle
from collections import Counter
from dataclasses import dataclass

import cases
import joblib
import numpy as np
import pandas
import pytest
import sklearn
from learners import made
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.fixes import parse_version
from sklearn.utils.validation import check_is_fitted, validate_data

import semimetric
from semimetric import (
    AdditiveChi2Embedding,
    BoundaryPoints,
    BSplineEmbedding,
    Columns,
    ConicEmbedding,
    DistanceApproximator,
    DistanceRegressor,
    DPLMClassifier,
    EmbeddedLinearClassifier,
    EmbeddedLinearRegressor,
    FourierEmbedding,
    GibbsChains,
    HermiteEmbedding,
    HistogramFeatures,
    HyperplaneMixture,
    IDEmbedding,
    InputError,
    KernelRidgeLearner,
    LargeMarginLearner,
    PairLearner,
    PartitionFeatures,
    PL1Embedding,
    PL2Embedding,
    QuadrupletLearner,
    SemimetricClassifier,
    SemimetricClusterer,
    SemimetricImputer,
    SemimetricNeighborsTransformer,
    SemimetricOutlierDetector,
    SemimetricRegressor,
    SupportPointClassifier,
    TripletLearner,
    UniformDirections,
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


class GraphOf(SemimetricNeighborsTransformer):
    """A graph under a distance learned from classes, which are made of the first feature: a graph does not require any."""

    def fit(self, X, y=None, sample_weight=None):
        X = validate_data(self, X, dtype=np.float64, ensure_min_samples=4, accept_sparse="csr")
        return super().fit(X, np.arange(X.shape[0]) % 2, sample_weight)


class HistogramsOfAnyLength(HistogramFeatures):
    """One bin for every column of the data, as the checks change their number."""

    def __init__(self, *, n_slices=4):
        super().__init__(None, n_slices=n_slices)

    def _coordinates(self, n_bins):
        return np.arange(float(n_bins))[:, None]


class QuadrupletsOf(PairsOf):
    """The same, with a `QuadrupletLearner`: quadruplets of consecutive rows, in the order of the city-block distance."""

    def fit(self, X, y):
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=4, y_numeric=True)
        index = (np.arange(len(X))[:, None] + np.arange(4)) % len(X)
        near, far = (cases.cityblock(X[index[:, k]], X[index[:, k + 1]]) for k in (0, 2))
        self.learner_ = clone(self.learner).fit(X[np.where((near <= far)[:, None], index, index[:, [2, 3, 0, 1]])])
        self.first_ = X[0]
        return self


QUICK = {"n_knots": 3, "alpha": 1e-2}
PLAIN = QUICK | {"directions": None}
MARGIN = made(LargeMarginLearner, **PLAIN, tables="warped", n_passes=1)
VALUES = DistanceRegressor(**QUICK)

# every public estimator, with its defaults and at least three other settings; the first of each is quick
CHECKED = [
    PairsOf(DistanceRegressor(**QUICK)),
    PairsOf(DistanceRegressor(**QUICK, tables="warped", axioms="metric")),
    PairsOf(made(DistanceRegressor, **QUICK, axioms=None, penalty="roughness", loss="huber")),
    PairsOf(DistanceRegressor(**QUICK, link="sqrt", directions="pca")),
    PairsOf(made(DistanceApproximator, Cityblock(), n_pairs=60, **QUICK)),
    PairsOf(made(DistanceApproximator, Cityblock(), n_pairs=60, **QUICK, tables="warped")),
    PairsOf(DistanceApproximator(Cityblock(), DistanceRegressor(n_knots=3), method="vertices")),
    PairsOf(made(DistanceApproximator, Cityblock(), n_pairs=60, **QUICK, relative=True, n_jobs=2)),
    JudgedPairsOf(PairLearner(**PLAIN)),
    JudgedPairsOf(PairLearner(**PLAIN, tables="full")),
    JudgedPairsOf(PairLearner(**PLAIN, loss="hinge")),
    JudgedPairsOf(made(PairLearner, **PLAIN, penalty="lasso", outside="clip")),
    TripletsOf(TripletLearner(**PLAIN)),
    TripletsOf(TripletLearner(**QUICK, directions="discriminant")),
    TripletsOf(TripletLearner(**PLAIN, tables="full")),
    TripletsOf(made(TripletLearner, **PLAIN, missing="level")),
    QuadrupletsOf(QuadrupletLearner(**PLAIN)),
    QuadrupletsOf(QuadrupletLearner(**QUICK, directions="pca")),
    QuadrupletsOf(QuadrupletLearner(**PLAIN, tables="full")),
    QuadrupletsOf(QuadrupletLearner(**PLAIN, axioms="metric", n_jobs=2)),
    MARGIN,
    made(LargeMarginLearner, **PLAIN, tables="full", n_passes=1, mu=0.5),
    made(LargeMarginLearner, **PLAIN, axioms="quasimetric", n_passes=1),
    made(
        LargeMarginLearner, **QUICK, tables="warped", directions="lda", base="positions", n_passes=1, n_targets=1, n_impostors=2
    ),
    made(LargeMarginLearner, **PLAIN, loss="hinge", penalty="lasso", tables="warped", missing="level", n_passes=1),
    SemimetricClassifier(MARGIN, n_neighbors=5, weights="uniform", algorithm="approximate"),
    SemimetricClassifier(MARGIN),  # what is left to choose takes fits on folds, so two of the settings leave nothing
    SemimetricClassifier(MARGIN, n_neighbors=8, weights="distance", random_state=0),
    SemimetricClassifier(made(LargeMarginLearner, **PLAIN, tables="full", n_passes=1), n_neighbors=1, algorithm="brute"),
    SemimetricClassifier(MARGIN, class_weight="balanced", weights="kernel"),
    SemimetricRegressor(VALUES, n_pairs=100, weights="uniform", n_neighbors=3),
    SemimetricRegressor(),
    SemimetricRegressor(average="median", effort="fast", random_state=2),
    SemimetricClassifier(),
    SemimetricClassifier(predictor="kernel_ridge", class_weight="balanced", effort="fast", random_state=1),
    KernelRidgeLearner(),
    KernelRidgeLearner("classes", effort="thorough", n_knots=4),
    KernelRidgeLearner("classes", random_state=None, effort="fast"),
    KernelRidgeLearner(columns=Columns(missing="level"), effort="fast", n_jobs=2),
    SemimetricRegressor(VALUES, n_pairs=100, weights="distance", n_neighbors=5),
    SemimetricRegressor(VALUES, n_pairs=100, weights="distance", n_neighbors=5, algorithm="brute", random_state=1),
    SemimetricRegressor(
        DistanceRegressor(**QUICK, tables="warped"),
        n_pairs=100,
        weights="distance",
        n_neighbors=5,
        algorithm="approximate",
    ),
    GraphOf(learner=MARGIN),
    GraphOf(learner=MARGIN, mode="connectivity"),
    GraphOf(learner=MARGIN, n_neighbors=1, algorithm="brute"),
    GraphOf(learner=MARGIN, algorithm="approximate", n_candidates=5),
    SemimetricClusterer(n_clusters=3),
    SemimetricClusterer("l1", n_clusters=2, n_init=1, random_state=1),
    SemimetricClusterer(n_clusters=3, sample=20),
    SemimetricClusterer("l1", n_clusters=3, n_init=5, sample=30),
    SemimetricImputer(),
    SemimetricImputer(n_neighbors=1, weights="uniform"),
    SemimetricImputer(n_neighbors=40),
    SemimetricImputer(n_neighbors=2, n_jobs=2),
    SemimetricOutlierDetector(),
    SemimetricOutlierDetector("l1", method="distance", n_neighbors=3),
    SemimetricOutlierDetector("l1", contamination=0.1),
    SemimetricOutlierDetector(method="distance", n_neighbors=1, contamination=0.2),
    PartitionFeatures(n_trees=3),
    PartitionFeatures("random-forest", n_trees=2, max_leaf_nodes=3, random_state=1),
    PartitionFeatures("random", n_trees=5, max_leaf_nodes=4, random_state=0),
    PartitionFeatures("boosting", n_trees=3, leaf_tables="full", random_state=0),
    UniformDirections(),
    UniformDirections(n_directions=3),
    UniformDirections(n_directions=2),
    UniformDirections(n_directions=5),
    *(HistogramsOfAnyLength(n_slices=n) for n in (1, 2, 4, 8)),
    ConicEmbedding(),
    ConicEmbedding(2, "each"),
    ConicEmbedding(2, "each", anchors="class", concatenate=False),
    ConicEmbedding(float("inf"), anchors="kmeans", n_anchors=2, missing="zeros", dtype=np.float32),
    BSplineEmbedding(),
    BSplineEmbedding(4, degree=3, penalty_order=0, knots="quantile", missing="indicator"),
    BSplineEmbedding(3, degree=1, extrapolation="linear", sparse_output=False),
    BSplineEmbedding(3, degree=2, penalty_order=2, null_space_ridge=0.01),
    BSplineEmbedding(2, degree=1, knots="uniform", missing="zeros", dtype=np.float32),
    AdditiveChi2Embedding(),
    AdditiveChi2Embedding(1, missing="zeros"),
    AdditiveChi2Embedding(3, gamma=0.5, dtype=np.float32),
    AdditiveChi2Embedding(4, sample_interval=0.3, n_jobs=2),
    FourierEmbedding(),
    FourierEmbedding(degree=2),
    FourierEmbedding(degree=2, span="half", missing="zeros"),
    FourierEmbedding(degree=1, dtype=np.float32, n_jobs=2),
    HermiteEmbedding(),
    HermiteEmbedding(scale="standard"),
    HermiteEmbedding(degree=2, missing="zeros"),
    HermiteEmbedding(degree=1, dtype=np.float32, n_jobs=2),
    *cases.MAPS.values(),
    PL1Embedding(),
    PL2Embedding(),
    IDEmbedding(),
    IDEmbedding(2, groups="all"),
    EmbeddedLinearClassifier(),
    EmbeddedLinearClassifier("linear", loss="hinge", multi_class="crammer_singer", tol=1e-2),
    EmbeddedLinearClassifier("linear", solver="pegasos"),
    EmbeddedLinearClassifier(PL1Embedding(3), calibration="logistic", tol=1e-3),
    EmbeddedLinearClassifier(ConicEmbedding(2, "each"), solver="newton"),
    EmbeddedLinearRegressor(),
    EmbeddedLinearRegressor("linear", loss="epsilon_insensitive", epsilon=0.1, tol=1e-3),
    EmbeddedLinearRegressor(ConicEmbedding(anchors="kmeans", n_anchors=3), tol=1e-1),
    EmbeddedLinearRegressor(PL1Embedding(3), solver="newton", epsilon=0.1),
    EmbeddedLinearRegressor(BSplineEmbedding(4), solver="pegasos", fit_intercept=False),
    BoundaryPoints(),
    *(BoundaryPoints(n_jobs=n) for n in (1, 2, -1)),
    SupportPointClassifier(),
    *(SupportPointClassifier(n_jobs=n) for n in (1, 2, -1)),
    HyperplaneMixture(n_sweeps=10),
    HyperplaneMixture(1),
    HyperplaneMixture(2, n_sweeps=5),
    HyperplaneMixture(n_sweeps=5, alpha=1.0),
    DPLMClassifier(n_components=1, local="plane"),
    DPLMClassifier(
        chains=GibbsChains(n_sweeps=20, n_chains=1), w_prior=30.0, counted=True, prior_points="items", C=10.0, overlap=1.0
    ),
    DPLMClassifier(chains=GibbsChains(n_sweeps=10), w_prior=1000.0),
    DPLMClassifier(chains=GibbsChains(n_sweeps=20, refine=False, n_auxiliary=1), w_prior="precision", C=10.0, overlap=1.5),
]


def learned_by(estimator):
    """The class that a setting is one of: that of the learner, where items are numbers of pairs of others."""
    return type(getattr(estimator, "learner", None) if isinstance(estimator, PairsOf) else estimator)


SIBLINGS = {
    # of `DistanceRegressor` and `TripletLearner`
    *(DistanceApproximator, PairLearner, QuadrupletLearner),
    # of `SemimetricClassifier` and `SemimetricImputer`, which learn a distance and ask an index
    *(SemimetricRegressor, GraphOf, SemimetricOutlierDetector),
    # of `EmbeddedLinearClassifier`, and of `PL1Embedding` and `FourierEmbedding`
    *(EmbeddedLinearRegressor, PL2Embedding, IDEmbedding, BSplineEmbedding),
    # of `DPLMClassifier`, which finds planes by the same chains
    HyperplaneMixture,
}
"""Classes that only the slow tests check: they share base classes with one that the quick ones check, and take seconds."""

FIRST = list(
    {learned_by(estimator): estimator for estimator in reversed(CHECKED) if learned_by(estimator) not in SIBLINGS}.values()
)
FURTHER = [estimator for estimator in CHECKED if not any(estimator is first for first in FIRST)]  # among the slow tests


def expected_failures(estimator):
    """All others apply."""
    if isinstance(estimator, GraphOf):
        why = "a graph has a column for every item, whatever its weight"
        return {f"check_sample_weight_equivalence_on_{kind}_data": why for kind in ("dense", "sparse")}
    release = parse_version(sklearn.__version__)
    failures = {}
    if isinstance(estimator, (LargeMarginLearner, KernelRidgeLearner)):
        if release < parse_version("1.8"):
            failures["check_positive_only_tag_during_fit"] = "it subtracts a fraction from integers, the codes of categories"
    if isinstance(estimator, (EmbeddedLinearClassifier, EmbeddedLinearRegressor)):
        if release < parse_version("1.7") and not get_tags(estimator).input_tags.sparse:
            failures["check_sample_weight_equivalence_on_sparse_data"] = (
                "it is for those whose tags say that they take sparse data"
            )
        if getattr(estimator, "calibration", None) is not None:
            failures["check_classifiers_train"] = "the largest score predicts, not the largest probability"
            failures["check_sample_weight_equivalence_on_dense_data"] = (
                "a class has one distinct row, and calibration holds rows out"
            )
    return failures


# those that choose settings by fits on held-out data, in minutes
SLOW = [
    PairsOf(DistanceRegressor()),
    PairsOf(DistanceApproximator(Cityblock())),
    JudgedPairsOf(PairLearner()),
    TripletsOf(TripletLearner()),
    QuadrupletsOf(QuadrupletLearner()),
    LargeMarginLearner(),
    SemimetricClassifier(predictor="neighbors"),
    DPLMClassifier(),
]


quiet = pytest.mark.filterwarnings(
    "ignore::semimetric.SemimetricWarning",
    "ignore::sklearn.exceptions.DataConversionWarning",
    "ignore:The least populated class",
)


def every_check(estimators):
    """Parametrize as scikit-learn does, with every estimator printed once: it prints each again for each of its 45 checks."""
    mark = parametrize_with_checks(estimators, expected_failed_checks=expected_failures).mark
    print_of = mark.kwargs["ids"]
    printed = {id(estimator): print_of(estimator) for estimator in estimators}
    return pytest.mark.parametrize(*mark.args, ids=lambda given: printed.get(id(given)) or print_of(given))


@quiet
@every_check(FIRST)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@quiet
@every_check(FURTHER)
def test_scikit_learns_checks_of_further_settings(estimator, check):
    check(estimator)


@pytest.mark.slow
@quiet
@every_check(SLOW)
def test_scikit_learns_checks_of_defaults_that_choose(estimator, check):
    check(estimator)


def test_every_public_estimator_is_checked_with_four_settings():
    elsewhere = {"NeighborIndex", "ShardedIndex"}  # in their rooms
    elsewhere |= {
        "Columns",
        "GibbsChains",
        "LandmarkFeatures",
        "PointCloudFeatures",
        "Program",
        "Tables",
        "Triplets",
        "SeriesFeatures",
        "StringFeatures",
    }  # of objects, of which scikit-learn's checks have none
    elsewhere |= {"EditBounds", "FilterRefineIndex", "LandmarkBounds", "TransportBounds"}  # of any objects, or given bins
    elsewhere |= {"PointCloudBounds", "ElasticBounds"}  # of clouds and series of any sizes
    settings = Counter()
    for estimator in CHECKED:
        learner = getattr(estimator, "learner", None) if isinstance(estimator, PairsOf) else None
        settings.update(kind.__name__ for kind in (type(estimator) if learner is None else type(learner)).__mro__)
    public = {n for n, c in vars(semimetric).items() if isinstance(c, type) and issubclass(c, BaseEstimator)}
    assert {name for name in public if settings[name] < 4} <= elsewhere


CLASSIFIERS = [
    EmbeddedLinearClassifier(),
    EmbeddedLinearClassifier("linear", loss="hinge", multi_class="crammer_singer", tol=1e-2),
    EmbeddedLinearClassifier(solver="pegasos"),
    EmbeddedLinearClassifier(solver="newton"),
    EmbeddedLinearClassifier("linear", positive=True),
    DPLMClassifier(n_components=1),
    DPLMClassifier(n_components=1, local="plane"),
]


@pytest.mark.parametrize("model", CLASSIFIERS)
def test_the_second_class_is_where_the_decision_function_is_positive(model):
    X = np.random.default_rng(0).random((60, 2))
    model = clone(model).fit(X, np.where(X.sum(axis=1) > 1, "right", "left"))
    score = model.decision_function(X)
    np.testing.assert_array_equal(model.classes_[(score > 0).astype(int)], model.predict(X))
    assert (model.predict(X) == "right").any()


@pytest.mark.parametrize(
    "model", [*CLASSIFIERS[:1], *CLASSIFIERS[3:4], MARGIN, SemimetricClassifier(MARGIN), PL1Embedding(), BoundaryPoints()]
)
def test_fitted_estimators_are_copied_dumped_and_shown(model):
    frame = pandas.DataFrame(np.random.default_rng(0).random((60, 2)), columns=["height", "width"])
    model = clone(model).fit(frame, (frame["height"] > frame["width"]).astype(int))
    buffer = io.BytesIO()
    joblib.dump(model, buffer)
    buffer.seek(0)
    for again in (copy.deepcopy(model), pickle.loads(pickle.dumps(model)), joblib.load(buffer)):
        assert again.feature_names_in_.tolist() == ["height", "width"]
        assert again.n_features_in_ == 2
        assert str(again.get_params()) == str(model.get_params())
        for method in ("transform", "predict", "decision_function"):
            if hasattr(model, method):
                want, got = getattr(model, method)(frame), getattr(again, method)(frame)
                assert (got != want).sum() == 0
    assert type(model).__name__ in model._repr_html_()
    assert get_tags(model).estimator_type in ("classifier", "transformer", None)


@pytest.mark.parametrize("model", cases.ESTIMATORS.values(), ids=cases.ESTIMATORS)
def test_parameters_survive_clone_and_set_params(model):
    again = clone(model)
    assert str(again.get_params()) == str(model.get_params())
    prefix = "learner__" if isinstance(model, DistanceApproximator) else ""
    assert again.set_params(**{f"{prefix}n_knots": 5, f"{prefix}tables__delta": 0.1}).get_params()[f"{prefix}n_knots"] == 5
    assert not hasattr(again, "semimetric_")


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
