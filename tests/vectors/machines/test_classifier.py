"""Support vector machines that embed on the fly have the optimum of scikit-learn's on the stored embedding."""

import warnings

import numpy as np
import pytest
from cases import assert_absent, assert_refused
from linear_machines import LOSSES, PL1, TWO, WEIGHT, Ladders, X, Y
from numpy.testing import assert_allclose
from reference import linear_objective
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.svm import LinearSVC

from semimetric import BSplineEmbedding, ConvergenceWarning, EmbeddedLinearClassifier, InputError, NotSupportedError
from semimetric.distances import Status
from semimetric.vectors.embeddings.piecewise import PL1Embedding
from semimetric.vectors.machines import classifier as classifier_module
from semimetric.vectors.machines.dual_descent import DualDescent

C = EmbeddedLinearClassifier


@pytest.mark.filterwarnings("ignore:Liblinear failed")
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["", "weighted"])
@pytest.mark.parametrize(
    ("y", "loss", "multi_class"),
    [(y, loss, "ovr") for y in (TWO, Y) for loss in ("hinge", "squared_hinge")] + [(Y, "hinge", "crammer_singer")],
)
def test_the_optimum_of_the_stored_route(y, loss, multi_class, weight):
    model = EmbeddedLinearClassifier(PL1, loss=loss, multi_class=multi_class, C=0.3, tol=1e-7).fit(X, y, weight)
    F = model.embedding_.transform(X)
    stored = LinearSVC(loss=loss, multi_class=multi_class, C=0.3, dual=True, tol=1e-8, max_iter=100_000).fit(F, y, weight)
    best, found = linear_objective(stored, F, y, weight), linear_objective(model, F, y, weight)
    assert found == pytest.approx(best, rel=1e-6)
    assert model.duality_gap_ <= 1e-7
    np.testing.assert_allclose(model.decision_function(X), F @ model.coef_.T + model.intercept_ if y is Y else (
        F @ model.coef_[0] + model.intercept_), atol=1e-12)  # fmt: skip
    assert (model.predict(X) == stored.predict(F)).mean() > 0.99


@pytest.mark.filterwarnings("ignore:Liblinear failed")
@pytest.mark.parametrize("multi_class", ["ovr", "crammer_singer"])
@pytest.mark.parametrize("class_weight", [{0: 3.0, 1: 0.5}, "balanced"])
def test_class_weights_are_those_of_linear_svc(class_weight, multi_class):
    setting = {"class_weight": class_weight, "multi_class": multi_class, "loss": "hinge", "C": 0.1, "max_iter": 100_000}
    model = EmbeddedLinearClassifier(PL1, **setting, tol=1e-9).fit(X, Y)
    stored = LinearSVC(**setting, dual=True, tol=1e-8).fit(model.embedding_.transform(X), Y)
    np.testing.assert_allclose(model.coef_, stored.coef_, atol=2e-4)
    np.testing.assert_allclose(model.intercept_, stored.intercept_, atol=2e-4)


def test_balanced_classes_count_rows_by_their_weights(rng):
    times = rng.integers(0, 4, len(Y)) + (Y == 0)
    setting = {"class_weight": "balanced", "loss": "hinge", "C": 0.1, "max_iter": 100_000}
    model = EmbeddedLinearClassifier(PL1, **setting, tol=1e-9).fit(X, Y, times)
    F = model.embedding_.transform(X)
    stored = LinearSVC(**setting, dual=True, tol=1e-8).fit(np.repeat(F.toarray(), times, axis=0), np.repeat(Y, times))
    np.testing.assert_allclose(model.coef_, stored.coef_, atol=2e-4)


@pytest.mark.filterwarnings("ignore:Liblinear failed")
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("setting", LOSSES, ids=str)
def test_ladders_give_the_optimum_of_the_dense_rows(order, setting):
    model = EmbeddedLinearClassifier(Ladders(order), C=1e-2, tol=1e-6, max_iter=20_000, **setting).fit(X, Y)
    F = model.embedding_.stored(X)
    np.testing.assert_allclose(model.decision_function(X), F @ model.coef_.T + model.intercept_, atol=1e-8)
    stored = LinearSVC(C=1e-2, dual=True, tol=1e-6, max_iter=100_000, **({"loss": "squared_hinge"} | setting)).fit(F, Y)
    assert linear_objective(model, F, Y) == pytest.approx(linear_objective(stored, F, Y), rel=1e-4)


@pytest.mark.parametrize(("order", "degree"), [(0, 1), (1, 1), (1, 3), (2, 2), (3, 2), (4, 3)])
def test_splines_score_as_a_machine_on_their_stored_rows(rng, order, degree):
    X = rng.uniform(-1, 1, (80, 2))
    y = (X**2).sum(axis=1) < 0.6
    embedding = BSplineEmbedding(4, degree=degree, penalty_order=order)
    local = EmbeddedLinearClassifier(embedding, C=1.0, tol=1e-6, max_iter=5000).fit(X, y)
    stored = LinearSVC(C=1.0, tol=1e-8, max_iter=200_000, random_state=0).fit(embedding.fit_transform(X), y)
    assert_allclose(local.decision_function(X), stored.decision_function(embedding.transform(X)), atol=2e-3)


@pytest.mark.parametrize("setting", LOSSES, ids=str)
def test_pegasos_comes_near_the_optimum_and_squared_losses_close_its_gap(setting):
    best = EmbeddedLinearClassifier(PL1, C=0.1, tol=1e-7, **setting).fit(X, Y)
    F = best.embedding_.transform(X)
    model = EmbeddedLinearClassifier(PL1, C=0.1, solver="pegasos", max_iter=200, **setting).fit(X, Y)
    assert model.n_iter_ == 200
    assert linear_objective(model, F, Y) < 1.02 * linear_objective(best, F, Y)
    assert setting or model.duality_gap_ < 0.02


def test_a_stream_of_blocks_learns():
    order = np.random.default_rng(1).permutation(len(Y))
    for solver in ("dual", "pegasos"):
        model = EmbeddedLinearClassifier(PL1Embedding(5).fit(X), solver=solver)
        for _ in range(5):
            for rows in np.array_split(order, 6):
                model.partial_fit(X[rows], Y[rows], classes=[0, 1, 2])
        assert model.score(X, Y) > 0.95
        assert np.isnan(model.duality_gap_)
    before = model.fit(X, Y).coef_.copy()
    after = model.partial_fit(X[:20], Y[:20]).coef_
    assert 0 < np.abs(after - before).max() < np.abs(before).max()


def test_warm_starts_need_fewer_passes():
    model = EmbeddedLinearClassifier(PL1, loss="hinge", tol=1e-6, warm_start=True).fit(X, Y)
    cold, weights = model.n_iter_, model.coef_.copy()
    assert model.fit(X, Y).n_iter_ < cold / 3
    np.testing.assert_allclose(model.coef_, weights, atol=1e-2)
    F = model.embedding_.transform(X)
    again = clone(model).set_params(C=2.0).fit(X, Y)
    assert linear_objective(model.set_params(C=2.0).fit(X, Y), F, Y) == pytest.approx(linear_objective(again, F, Y), rel=2e-6)
    with pytest.warns(UserWarning, match="starting afresh"):
        model.fit(X[:100], Y[:100])


@pytest.mark.filterwarnings("error")
def test_a_warm_start_goes_on_when_weights_are_given():
    model = EmbeddedLinearClassifier(PL1, tol=1e-6, warm_start=True).fit(X, Y)
    weight = 1 + np.random.default_rng(0).random(len(Y)) / 10
    cold = clone(model).fit(X, Y, weight)
    assert model.fit(X, Y, weight).n_iter_ < cold.n_iter_


def test_a_warm_start_from_one_against_the_rest_reaches_the_joint_optimum():
    joint = {"loss": "hinge", "multi_class": "crammer_singer", "C": 0.01}
    x = np.random.default_rng(0).normal(size=(120, 4))
    y = (x[:, 0] ** 2 + x[:, 1] > 1) * 1 + (x[:, 2] > 0.7)
    model = EmbeddedLinearClassifier(C=10.0, tol=1e-6, warm_start=True).fit(x, y).set_params(**joint).fit(x, y)
    cold = EmbeddedLinearClassifier(tol=1e-6, **joint).fit(x, y)
    assert model.duality_gap_ <= 1e-6
    np.testing.assert_allclose(model.decision_function(x), cold.decision_function(x), atol=1e-3)


@pytest.mark.parametrize("setting", LOSSES, ids=str)
def test_weights_of_rows_are_repetitions(setting):
    scaled = X / X.max(axis=0)
    rows = np.repeat(np.arange(len(Y)), WEIGHT.astype(int))
    weighted = EmbeddedLinearClassifier("linear", tol=1e-9, max_iter=20_000, **setting).fit(scaled, Y, WEIGHT)
    repeated = clone(weighted).fit(scaled[rows], Y[rows])
    np.testing.assert_allclose(weighted.decision_function(scaled), repeated.decision_function(scaled), atol=2e-3)


def test_calibration_with_weights_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = EmbeddedLinearClassifier(PL1, calibration="logistic", tol=1e-2).fit(X, Y, sample_weight=1 + WEIGHT)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


@pytest.mark.parametrize("calibration", ["logistic", "isotonic"])
@pytest.mark.parametrize("y", [Y, TWO], ids=["three", "two"])
def test_calibrated_probabilities(calibration, y):
    model = EmbeddedLinearClassifier(PL1, calibration=calibration, tol=1e-3).fit(X, y, sample_weight=1 + WEIGHT)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert (model.classes_[p.argmax(axis=1)] == y).mean() > 0.95
    assert -np.log(np.maximum(p[np.arange(len(y)), y], 1e-3)).mean() < 0.3
    assert_absent(EmbeddedLinearClassifier(), "predict_proba", 'give calibration="logistic" or "isotonic" before the fit')


@pytest.mark.parametrize("fits", [0, 3], ids=["the fit itself", "a fold"])
def test_ctrl_c_ends_calibration_too(fits, monkeypatch):
    original, calls = DualDescent.train, []

    def train(*arguments):
        calls.append(arguments)
        report = original(*arguments)
        return report._replace(status=Status.INTERRUPTED) if len(calls) > fits else report

    monkeypatch.setattr(DualDescent, "train", train)
    model = EmbeddedLinearClassifier(PL1, calibration="logistic", tol=1e-3)
    warns = pytest.warns(ConvergenceWarning, match="interrupted")
    with pytest.raises(KeyboardInterrupt), warns, pytest.warns(UserWarning, match="scores but no probabilities"):
        model.fit(X, Y)
    assert len(calls) == fits + 1
    assert model.status_ == (Status.SOLVED if fits else Status.INTERRUPTED)
    assert model.score(X, Y) > 0.9
    with pytest.raises(NotFittedError, match="scores but no probabilities"):
        model.predict_proba(X)


def test_score_curves_need_a_calibrated_fit():
    model = EmbeddedLinearClassifier(PL1)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        model.score_curves_  # noqa: B018  # a property
    model.partial_fit(X, Y, classes=np.unique(Y))
    with pytest.raises(NotFittedError, match='fitted without calibration; give calibration="logistic"'):
        model.score_curves_  # noqa: B018


def test_ctrl_c_between_the_passes_of_calibration_keeps_the_scores(monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(classifier_module, "calibrate", stop)
    model = EmbeddedLinearClassifier(PL1, calibration="logistic")
    with pytest.raises(KeyboardInterrupt), pytest.warns(UserWarning, match="scores but no probabilities"):
        model.fit(X, Y)
    assert (model.status_, model.score(X, Y) > 0.9) == (Status.SOLVED, True)


BAD = {
    "loss": (lambda: C(loss="logistic").fit(X, Y), "loss='logistic'", "use one of 'squared_hinge'"),
    "C": (lambda: C(C=0).fit(X, Y), "C=0", "must be > 0"),
    "embedding": (lambda: C("rbf").fit(X, Y), "embedding='rbf'", "is required"),
    "one class": (lambda: C().fit(X, np.ones(len(X))), "one class only", "requires two", "another class"),
    "unseen class": (lambda: C().partial_fit(X, Y, classes=[0, 1]), "the class 2", "[0, 1]", "name all"),
    "no classes": (lambda: C().partial_fit(X, Y), "classes=None", "required", "give classes="),
    "weights": (lambda: C().fit(X, Y, -np.ones(len(X))), "non-negative", "correct or drop it"),
    "threads": (lambda: C(n_jobs=0).fit(X, Y), "n_jobs=0", "is required", "-1 for all cores"),
    "sparse": (lambda: C().fit(sparse.csr_array(X), Y), "X is sparse", "toarray()"),
    "one weight": (lambda: C().fit(X, Y, 2.0), "sample_weight=2.0", "required", "give an array"),
    "class weight": (lambda: C(class_weight={0: -1.0}).fit(X, Y), "class_weight={0: -1.0}", ">= 0 are required", "drop them"),
    "no number": (lambda: C(class_weight={1: np.nan}).fit(X, Y), "class_weight={1: nan}", "finite factors"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_in_three_parts(name):
    assert isinstance(assert_refused(*BAD[name]), InputError)


def test_what_does_not_go_together():
    with pytest.raises(NotSupportedError, match='but loss=.squared_hinge.; give loss="hinge"'):
        C(multi_class="crammer_singer").fit(X, Y)
    with pytest.raises(NotSupportedError, match=r"'balanced' needs all rows; give class_weight as a dict"):
        C(class_weight="balanced").partial_fit(X, Y, [0, 1, 2])


def test_the_classes_of_a_stream_are_those_of_its_first_block():
    model = C(PL1Embedding(3).fit(X)).partial_fit(X, Y, classes=[0, 1, 2])
    assert_refused(lambda: model.partial_fit(X, Y, classes=[0, 1]), "[0, 1] differ from", "[0, 1, 2]", "give the same or none")
    assert_refused(lambda: C().partial_fit(X, Y, classes=[0]), "classes=[0]", "at least two are required", "name those")
    assert_refused(lambda: C().fit(X, None), "y is None", "requires y", "give a class")
