"""Predicting a feature from others: what is left out, and the comparison by hand."""

from importlib import import_module

import numpy as np
import pytest


@pytest.fixture
def regression():
    return import_module("knn_regression")


def test_the_target_and_what_tells_it_are_no_features(regression, tmp_path):
    X = np.arange(24.0) + 100 * np.arange(5)[:, None]
    np.savez(tmp_path / "ucr_italypowerdemand.npz", X=X, y=np.zeros(5, int))
    items, target = regression.load("power", tmp_path)
    np.testing.assert_array_equal(items, X[:, :12])
    np.testing.assert_array_equal(target, X[:, 18])
    assert regression.load("glass", tmp_path) is None


def test_the_number_of_rows_is_bounded_and_all_are_of_the_table(regression, tmp_path):
    X = np.arange(3_000.0)[:, None] + np.arange(5)
    np.savez(
        tmp_path / "wilt.npz", X_train=X[:2_000], y_train=np.zeros(2_000, int), X_test=X[2_000:], y_test=np.ones(1_000, int)
    )
    items, target = regression.load("wilt", tmp_path)
    assert items.shape == (regression.ROWS, 4)
    np.testing.assert_array_equal(items[:, 0] + 3, target)


def test_there_are_twelve_sets_each_with_its_question(regression):
    assert len(regression.REASONS) == 12
    assert all(regression.REASONS.values())


def test_comparisons_count_what_is_higher_and_what_is_near(regression):
    table = {
        "a": {"semimetric": 0.50, "euclid": 0.40, "boosting": 0.52},
        "b": {"semimetric": 0.50, "euclid": 0.60, "boosting": 0.60},
        "c": {"semimetric": 0.50, "euclid": 0.45},
    }
    rows = {row["against"]: row for row in regression.against(table, ["semimetric", "euclid", "boosting"])}
    assert (rows["euclid"]["sets"], rows["euclid"]["higher on"], rows["euclid"]["within 0.03 or higher on"]) == (3, 2, 2)
    assert (rows["boosting"]["sets"], rows["boosting"]["higher on"], rows["boosting"]["within 0.03 or higher on"]) == (2, 0, 1)
    assert rows["euclid"]["its"] == pytest.approx(1.45)


def test_one_split_of_the_diabetes_set(regression):
    X, y = regression.load("diabetes", None)
    row = regression.one("euclid", X, y, np.arange(300), np.arange(300, 442))
    assert 0.2 < row["r2"] < 0.6
    assert row["seconds"] > 0
