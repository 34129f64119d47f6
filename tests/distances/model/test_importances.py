"""Importances are mean shares."""

import numpy as np
import pytest
from mixed_distances import distance, items
from numpy.testing import assert_allclose

from semimetric.distances.model.item_statistics import MOST_PAIRS, importances


@pytest.mark.parametrize("bends", [False, True])
def test_importances_are_mean_shares_of_pairs_that_are_apart(bends, rng):
    d = distance(4, "pairs", bends=bends, gaps=True)
    X = items(rng, 30, gaps=True)
    pairs = np.vstack([rng.integers(0, 30, (200, 2)), [[0, 0]]])
    parts = d.contributions_of_encoded(X[pairs[:, 0]], X[pairs[:, 1]], by="features")
    parts = parts[parts.sum(axis=1) > 0]
    want = (parts / parts.sum(axis=1, keepdims=True)).mean(axis=0)
    found = importances(d, X, pairs)
    assert_allclose(found, want)
    assert found.sum() == pytest.approx(1.0)


def test_of_many_pairs_some_are_looked_at_and_without_any_apart_there_is_nothing(rng):
    d = distance(4)
    X = items(rng, 30)
    pairs = rng.integers(0, 30, (2 * MOST_PAIRS, 2))
    assert_allclose(importances(d, X, pairs), importances(d, X, pairs[::2]))
    assert importances(d, X, np.array([[1, 1], [2, 2]])).tolist() == [0.0] * 4
