"""Errors of many columns, few items and groups are those of models that were learned without the item or its group."""

import numpy as np
import pytest
from cases import assert_refused
from sklearn import config_context
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, GroupKFold

import semimetric
from semimetric import NotSupportedError, SemimetricClassifier, SemimetricRegressor


def subjects(n, n_rows, rng):
    """Items of subjects, whose values differ by what no column says."""
    X = np.repeat(rng.normal(size=(n, 4)), n_rows, axis=0) + 0.05 * rng.normal(size=(n * n_rows, 4))
    own = np.repeat(rng.normal(size=n), n_rows)
    return X, X[:, 0] + own + 0.2 * rng.normal(size=len(X)), np.repeat(np.arange(n), n_rows)


def held(model, X, y, interval=0.9):
    _, low, high = model.predict(X, interval=interval)
    return np.mean((low <= y) & (y <= high))


@pytest.mark.parametrize("n_rows", [2, 10])
def test_intervals_are_those_of_new_groups(n_rows, tmp_path):
    rng = np.random.default_rng(0)
    X, y, group = subjects(200 // n_rows + 60, n_rows, rng)
    X_new, y_new = X[200:], y[200:]
    own = SemimetricRegressor().fit(X[:200], y[:200])
    model = SemimetricRegressor().fit(X[:200], y[:200], groups=[f"subject {g}" for g in group[:200]])
    assert held(own, X_new, y_new) < 0.6
    assert 0.8 < held(model, X_new, y_new) < 0.99
    np.testing.assert_array_equal(own.predict(X_new), model.predict(X_new))
    assert "Each group is predicted by" in model.left_out_predictions().how
    model.save(tmp_path / "model.smm")
    again = semimetric.load(tmp_path / "model.smm")
    np.testing.assert_array_equal(again.predict(X_new, interval=0.9), model.predict(X_new, interval=0.9))
    np.testing.assert_array_equal(again.left_out_predictions().predicted, model.left_out_predictions().predicted)
    assert not hasattr(model.fit(X[:200], y[:200]), "groups_")


def test_probabilities_are_those_of_new_groups():
    rng = np.random.default_rng(1)
    X, values, group = subjects(60, 10, rng)
    y = (values > 0).astype(int)
    own, model = SemimetricClassifier(), SemimetricClassifier()
    own.fit(X[:200], y[:200])
    model.fit(X[:200], y[:200], groups=group[:200])
    assert log_loss(y[200:], model.predict_proba(X[200:])) < log_loss(y[200:], own.predict_proba(X[200:])) - 0.1
    assert not hasattr(model, "choices_")


def test_no_item_of_a_group_has_learned_what_predicts_another_of_it():
    rng = np.random.default_rng(2)
    X, y, group = subjects(12, 5, rng)
    model = SemimetricRegressor(random_state=0).fit(X, y, groups=group)
    shifted = np.where(group == 3, y + 1_000.0, y)
    other = SemimetricRegressor(random_state=0).fit(X, shifted, groups=group)
    own = group == 3
    assert np.abs(other.held_out_outputs_[own] - model.held_out_outputs_[own]).max() < 1e-9


@pytest.mark.parametrize("n_columns", [80, 300])
def test_noise_in_many_columns_gives_no_sure_probabilities(n_columns):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, n_columns)), rng.integers(0, 2, 400)
    model = SemimetricClassifier(random_state=0).fit(X[:80], y[:80])
    assert log_loss(y[80:], model.predict_proba(X[80:])) < 0.75
    assert np.isfinite(model.held_out_outputs_).all()


def test_intervals_of_many_columns_hold():
    rng = np.random.default_rng(0)
    X = rng.binomial(2, 0.3, (600, 400)).astype(float)
    y = X[:, :5].sum(axis=1) + rng.normal(size=600)
    assert 0.82 < held(SemimetricRegressor().fit(X[:150], y[:150]), X[150:], y[150:]) < 0.97
    few = SemimetricRegressor().fit(X[:150, :20], y[:150])
    assert not hasattr(few, "held_out_outputs_")


def test_a_weight_of_0_is_in_no_fold():
    rng = np.random.default_rng(0)
    X, y, group = subjects(10, 4, rng)
    weight = np.where(group == 0, 0.0, 1.0)
    model = SemimetricRegressor().fit(X, y, sample_weight=weight, groups=group)
    np.testing.assert_array_equal(np.isnan(model.held_out_outputs_[:, 0]), group == 0)


def test_a_group_counts_as_one_where_its_rows_are_those_of_others():
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(60), 10)
    X = rng.integers(0, 3, (600, 2)).astype(float)
    y = np.round(X[:, 0] + 1.5 * rng.normal(size=60)[group] + 0.3 * rng.normal(size=600))
    first = group < 40
    model = SemimetricRegressor().fit(X[first], y[first], groups=group[first])
    assert model.intervals_.n_items == 40
    assert 0.8 < held(model, X[~first], y[~first]) <= 1.0
    assert len(model.left_out_predictions().rows) == 400
    classes = SemimetricClassifier().fit(X[first], y[first] > 0, groups=group[first])
    assert len(classes.left_out_predictions().rows) == 400


def test_groups_split_a_search_without_a_request():
    X, y, group = subjects(8, 4, np.random.default_rng(0))
    with config_context(enable_metadata_routing=True):
        search = GridSearchCV(SemimetricRegressor(), {"n_neighbors": ["auto"]}, cv=GroupKFold(2)).fit(X, y, groups=group)
    assert not hasattr(search.best_estimator_, "groups_")


def test_groups_that_cannot_be_left_out_are_refused():
    X, y, group = subjects(6, 3, np.random.default_rng(0))
    assert_refused(
        lambda: SemimetricRegressor().fit(X, y, groups=group[:-1]), "groups= has shape (17,)", "each of the 18 items"
    )
    assert_refused(lambda: SemimetricRegressor().fit(X, y, groups=np.ones(18)), "groups= are all the same", "two groups")
    gaps = np.where(group == 2, np.nan, group)
    assert_refused(lambda: SemimetricRegressor().fit(X, y, groups=gaps), "groups= has missing values", "give each item a group")
    weight = np.where(group == 1, 1.0, 0.0)
    assert_refused(lambda: SemimetricRegressor().fit(X, y, sample_weight=weight, groups=group), "all the same", "two groups")
    two = np.repeat([0, 1], 9)
    assert_refused(lambda: SemimetricClassifier().fit(X, two, groups=two), "leave nothing to learn from", "give more groups")
    assert_refused(
        lambda: SemimetricRegressor(predictor="neighbors").fit(X, y, groups=group), "kernel machine on scales", "groups= out",
        error=NotSupportedError,
    )  # fmt: skip
