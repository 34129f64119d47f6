"""Scales and weights learned from classes or values, and the machines that predict under them."""

import pickle

import numpy as np
import pandas as pd
import pytest
from cases import assert_refused
from learners import made
from numpy.testing import assert_allclose
from sklearn.datasets import load_diabetes, load_iris, make_classification
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import semimetric as sm
from semimetric import Columns, InputError, KernelRidgeLearner, NotSupportedError, SemimetricClassifier, SemimetricRegressor

RNG = np.random.default_rng(0)
ITEMS = RNG.random((120, 3))
VALUES = ITEMS[:, 0] ** 2 + 0.1 * RNG.normal(size=120)
CLASSES = np.where(ITEMS[:, 1] > 0.5, "high", "low")


def test_the_diabetes_set_is_learned_better_than_by_standardised_neighbours():
    X, y = load_diabetes(return_X_y=True)
    ours = cross_val_score(SemimetricRegressor(), X, y, cv=3).mean()
    plain = cross_val_score(make_pipeline(StandardScaler(), KNeighborsRegressor(5)), X, y, cv=3).mean()
    assert ours > plain + 0.05


def test_the_distance_is_a_metric_of_one_scale_a_feature():
    model = KernelRidgeLearner().fit(ITEMS, VALUES)
    assert model.weights_.argmax() == 0
    assert_allclose(model.feature_importances_.sum(), 1.0)
    assert model.semimetric_.axioms.name == "metric"
    assert model.transform(ITEMS).shape == (120, 3)
    assert_allclose(np.abs(np.subtract(*model.transform(ITEMS[:2]))).sum(), model.pair_distance(ITEMS[None, :2])[0])
    parts = model.semimetric_.contributions(ITEMS[:40], ITEMS[80:], by="features").mean(axis=0)
    assert_allclose(parts / parts.sum(), model.feature_importances_, atol=0.1)


def test_the_round_with_the_least_loss_is_taken():
    for effort, n_rounds in (("fast", 1), ("default", 2), ("thorough", 4)):
        model = KernelRidgeLearner("classes", effort=effort).fit(ITEMS, CLASSES)
        assert len(model.losses_) == n_rounds + 1
        assert model.round_ == model.losses_.argmin()
    assert model.classes_.tolist() == ["high", "low"]


def test_categories_and_missing_values_are_learned_from():
    colour = RNG.choice(["red", "green", "blue"], 150)
    frame = pd.DataFrame({"age": RNG.random(150), "colour": pd.Categorical(colour), "hour": 24 * RNG.random(150)})
    frame.loc[::6, "age"] = np.nan
    y = np.where(colour == "red", 3.0, 0.0) + np.cos(2 * np.pi * frame["hour"] / 24)
    learner = KernelRidgeLearner(columns=Columns(periodic={"hour": 24}, missing="level"))
    model = SemimetricRegressor(learner).fit(frame.iloc[:100], y[:100])
    assert model.score(frame.iloc[100:], y[100:]) > 0.9
    classifier = SemimetricClassifier(learner.set_params(target="classes")).fit(frame.iloc[:100], y[:100] > 1.5)
    assert classifier.score(frame.iloc[100:], y[100:] > 1.5) > 0.9


def test_a_few_items_are_enough():
    for n in (2, 3, 5):
        model = SemimetricRegressor().fit(ITEMS[:n], np.arange(n))
        assert np.isfinite(model.predict(ITEMS)).all()
        model = SemimetricClassifier().fit(ITEMS[: n + 1], np.arange(n + 1) % 2)
        assert np.isfinite(model.predict_proba(ITEMS)).all()


def test_medians_do_not_follow_wild_values():
    y = np.where(RNG.random(120) < 0.1, 1e4, VALUES)
    model = SemimetricRegressor(average="median").fit(ITEMS, y)
    assert np.median(np.abs(model.predict(ITEMS) - VALUES)) < 0.3
    assert model.vote_rule_.average == "median"


def machine_outputs(model, X):
    """The sum over the centers, by the distance between tables."""
    machine, d = model.machine_, model.semimetric_
    kernel = np.exp(-d.pairwise(X, ITEMS[machine.rows]) / machine.width) + 1
    return kernel @ machine.coefficients + machine.offset


def test_predictions_are_the_sum_over_the_items():
    model = SemimetricRegressor().fit(ITEMS, VALUES)
    queries = RNG.random((30, 3))
    assert_allclose(model.predict(queries), machine_outputs(model, queries)[:, 0])
    assert not hasattr(model, "vote_rule_")
    classifier = SemimetricClassifier(predictor="kernel_ridge", class_weight={"low": 2.0}).fit(ITEMS, CLASSES)
    z = classifier.machine_.slope * machine_outputs(classifier, queries) + classifier.machine_.shifts
    shares = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    assert_allclose(classifier.predict_proba(queries), shares)
    assert (classifier.predict(queries) == classifier.classes_[shares.argmax(axis=1)]).all()
    assert classifier.machine_.gap < 1e-12
    assert_allclose(pickle.loads(pickle.dumps(classifier)).predict_proba(queries), shares)


def test_a_loaded_machine_predicts_the_same(tmp_path):
    queries = RNG.random((30, 3))
    for model, y in ((SemimetricRegressor(), VALUES), (SemimetricClassifier(predictor="kernel_ridge"), CLASSES)):
        model.fit(ITEMS, y).save(tmp_path / "model")
        again = sm.load(tmp_path / "model")
        np.testing.assert_array_equal(again.predict(queries), model.predict(queries))
        assert str(again.machine_) == str(model.machine_)


def test_no_neighbours_vote_where_a_machine_predicts():
    model = SemimetricRegressor().fit(ITEMS, VALUES)
    assert not hasattr(model, "n_neighbors_")
    np.testing.assert_array_equal(model.feature_importances_, model.learner_.feature_importances_)
    with pytest.raises(AttributeError, match="no neighbors vote"):
        _ = model.weights_
    assert model.kneighbors(ITEMS[:2])[0].shape == (2, 5)
    explained = model.explain_neighbors(ITEMS[0])
    assert explained.votes is None
    assert "value" in str(explained)


def test_the_machine_follows_a_learner_of_scales_and_refuses_distances_without_coordinates():
    scales = made(sm.LargeMarginLearner, n_knots=4, alpha=1e-2, tables="warped", directions=None)
    model = SemimetricClassifier(scales, predictor="kernel_ridge").fit(ITEMS, CLASSES)
    assert model.score(ITEMS, CLASSES) > 0.95
    assert isinstance(SemimetricClassifier(scales).fit(ITEMS, CLASSES).vote_rule_.n_neighbors, int)
    one_way = made(sm.LargeMarginLearner, n_knots=3, alpha=1e-2, tables="full", directions=None, axioms="quasimetric")
    assert_refused(
        lambda: SemimetricClassifier(one_way, predictor="kernel_ridge").fit(ITEMS, CLASSES),
        "not symmetric", 'predictor="neighbors"', error=NotSupportedError,
    )  # fmt: skip


@pytest.mark.slow
def test_scales_are_left_where_components_are_far_better():
    X, y = make_classification(600, 20, n_informative=10, n_redundant=0, n_classes=3, random_state=0)
    model = SemimetricClassifier().fit(X[:400], y[:400])
    assert [c.settings["directions"] for c in model.choices_][:3] == ["scales", "components", "forest"]
    chosen = model.choices_.chosen.settings["directions"]
    assert hasattr(model, "machine_") == (chosen == "scales")
    assert "wrong votes plus log loss" in str(model.choices_)
    iris, species = load_iris(return_X_y=True)
    readable = SemimetricClassifier().fit(iris, species)
    assert readable.choices_.chosen.settings["directions"] == "scales"
    assert isinstance(readable.learner_, KernelRidgeLearner)


@pytest.mark.parametrize(
    ("arguments", "y", "message"),
    [
        ({"target": "both"}, VALUES, "target"),
        ({"n_knots": 1}, VALUES, "n_knots"),
        ({"effort": "quick"}, VALUES, "effort"),
        ({}, np.ones(120), "the same"),
        ({}, VALUES[:5], "5 values for 120"),
        ({"target": "classes"}, np.ones(120), "one class only"),
    ],
)
def test_what_cannot_be_is_refused(arguments, y, message):
    with pytest.raises(InputError, match=message):
        KernelRidgeLearner(**arguments).fit(ITEMS, y)


def test_settings_that_do_not_go_together_are_refused():
    with pytest.raises(InputError, match="average"):
        SemimetricRegressor(average="mode").fit(ITEMS, VALUES)
    with pytest.raises(InputError, match="predictor"):
        SemimetricRegressor(predictor="machine").fit(ITEMS, VALUES)
    for model, y in (
        (SemimetricRegressor(predictor="kernel_ridge", average="median"), VALUES),
        (SemimetricRegressor(predictor="kernel_ridge", n_neighbors=3), VALUES),
        (SemimetricClassifier(predictor="kernel_ridge", weights="uniform"), CLASSES),
    ):
        assert_refused(lambda m=model, t=y: m.fit(ITEMS, t), "for votes", 'predictor="neighbors"', error=NotSupportedError)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_equal_weights_of_classes_change_no_prediction(scale):
    rng = np.random.default_rng(0)
    X = rng.random((80, 3))
    y = (X[:, 0] + 0.3 * rng.normal(size=80) > 0.5).astype(int)
    plain = SemimetricClassifier(predictor="kernel_ridge").fit(X, y)
    weighted = SemimetricClassifier(predictor="kernel_ridge", class_weight={0: scale, 1: scale}).fit(X, y)
    np.testing.assert_allclose(weighted.predict_proba(X), plain.predict_proba(X), atol=1e-6)
