"""Labelled items in memory: their neighbours, and the rows of their triplets."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_wine

from semimetric import LargeMarginLearner
from semimetric.learning.large_margin import in_memory_items

X, Y = load_wine(return_X_y=True)
FAST = {"n_knots": 5, "alpha": 1e-2, "directions": None, "tables": "warped"}


def learned(**changes):
    return LargeMarginLearner(**FAST | changes)


def test_rows_too_many_to_hold_are_made_as_they_are_needed(monkeypatch):
    held = learned().fit(X, Y)
    monkeypatch.setattr(in_memory_items, "_HELD", 0)
    assert_allclose(learned().fit(X, Y).semimetric_.weights, held.semimetric_.weights, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("options", [{}, {"knots": [np.quantile(column, [0.2, 0.5, 0.8]) for column in X.T]}])
def test_many_items_are_searched_by_the_index(monkeypatch, options):
    brute = learned(**options).fit(X, Y)
    monkeypatch.setattr(in_memory_items, "_MANY", 0)
    assert_allclose(learned(**options).fit(X, Y).semimetric_.weights, brute.semimetric_.weights, rtol=1e-5, atol=1e-9)
