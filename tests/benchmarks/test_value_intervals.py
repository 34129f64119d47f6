"""Intervals of peers: the quantiles that split-conformal prediction and a forest take, and one split of a set."""

from importlib import import_module

import numpy as np
import pytest


@pytest.fixture
def intervals():
    return import_module("value_intervals")


def test_the_conformal_quantile_covers_one_item_more(intervals):
    scores = np.array([3.0, 1.0, 2.0, 4.0])
    assert [intervals.conformal(scores, level) for level in (0.2, 0.21, 0.8, 0.81)] == [1.0, 2.0, 4.0, np.inf]


def test_a_forest_of_one_leaf_has_the_quantiles_of_all_values(intervals):
    X, y = np.zeros((100, 1)), np.arange(100.0)
    low, high = intervals.forest(X, y, X[:1])[0.9]
    assert (low[0], high[0]) == (4.0, 94.0)


def test_one_split_of_the_diabetes_set(intervals):
    X, y = intervals.load("diabetes", None)
    row = intervals.one("given votes", X, y, np.arange(300), np.arange(300, 442))
    assert row["n"] == 142
    assert 0.8 < row["held 0.9"] < 1
    assert row["width 0.5"] < row["width 0.8"] < row["width 0.9"] < row["width 0.95"]
