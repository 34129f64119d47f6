"""Searches among all items under distances of many features, of which few have more than a tiny weight."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from semimetric import Grid, NeighborIndex, PairEmbedding, Semimetric
from semimetric.distances.search.query_tables import QueryView


def with_few_heavy(seed, n_features=40, n_heavy=6, light=1e-7):
    """A distance with random tables, those of all but some features tiny, and items on and between its knots."""
    rng = np.random.default_rng(seed)
    embedding = PairEmbedding(Grid([np.sort(rng.normal(size=4)) for _ in range(n_features)]))
    heavy = np.sort(rng.permutation(n_features)[:n_heavy])
    weights = rng.random(embedding.n_columns) + 0.1
    weights *= np.where(np.isin(embedding.group_of_column, heavy), 1.0, light)
    slopes = np.where(np.isin(np.arange(n_features), heavy), 0.3, light)
    d = Semimetric(embedding, weights, slopes, tuple(f"x{f}" for f in range(n_features)))
    items = rng.normal(size=(120, n_features)) * rng.choice([1.0, 30.0], (120, 1))
    items[60:80] = items[40:60]
    items[80:90, heavy] = items[90:100, heavy]
    return d, heavy, items


@given(st.integers(0, 10**6), st.integers(1, 120), st.sampled_from([1e-7, 1e-4, 0.0]))
def test_the_nearest_are_those_of_all_features_to_the_bit(seed, k, light):
    d, _, items = with_few_heavy(seed, light=light)
    queries = np.vstack([items[::7], np.random.default_rng(seed).normal(size=(5, items.shape[1])) * 3])
    distances, rows = NeighborIndex(d).fit(items).kneighbors(queries, k)
    with patch.object(QueryView, "heavy", np.empty(0, dtype=np.int64)):
        of_all, rows_of_all = NeighborIndex(d).fit(items).kneighbors(queries, k)
    assert_array_equal(rows, rows_of_all)
    assert_array_equal(distances, of_all)
    assert_allclose(distances, np.sort(d.pairwise(queries, items), axis=1)[:, :k], rtol=1e-12, atol=1e-12)


def test_heavy_features_are_those_with_nearly_all_of_the_sum():
    d, heavy, _ = with_few_heavy(3)
    assert_array_equal(QueryView(d).features[QueryView(d).heavy], heavy)
    assert len(QueryView(with_few_heavy(3, n_heavy=30)[0]).heavy) == 0
    assert len(QueryView(with_few_heavy(3, light=1.0)[0]).heavy) == 0


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_terms_that_may_be_negative_need_all_features(sign):
    d, heavy, _ = with_few_heavy(3)
    weights = d.weights.copy()
    weights[0] *= sign
    changed = Semimetric(d.embedding, weights, d.epsilon, d.feature_names)
    assert len(QueryView(changed).heavy) == (len(heavy) if sign > 0 else 0)
