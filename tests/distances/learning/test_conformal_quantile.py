"""The quantile of scores of pairs that share items, against a slow twin, and what it covers."""

import numpy as np
import pytest
import reference
from cases import assert_refused
from hypothesis import given, settings
from hypothesis import strategies as st

from semimetric.distances.learning.intervals import ConformalQuantile


def item_effects(rng, n_items, effect):
    """Scores of all pairs, which share what their items add: a matrix (n_items, n_items)."""
    a = effect * rng.standard_normal(n_items)
    e = np.triu(rng.standard_normal((n_items, n_items)), 1)
    return np.abs(a[:, None] + a + e + e.T)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(3, 9), st.sampled_from([0.3, 0.5, 0.8, 0.9]), st.booleans())
def test_it_is_the_rank_of_the_slow_twin(seed, n_items, level, tied):
    """For any pairs, repeated ones and equal scores among them."""
    rng = np.random.default_rng(seed)
    items = rng.integers(0, n_items, (rng.integers(2, 25), 2))
    items = items[items[:, 0] != items[:, 1]]
    if not len(items):
        return
    scores = rng.integers(0, 4, len(items)).astype(float) if tied else rng.random(len(items))
    assert ConformalQuantile.of(scores, items).rank(level) == reference.pairs_conformal_rank(scores, items.tolist(), level)


def test_of_pairs_that_share_nothing_it_is_split_conformal_prediction():
    for n in (9, 10, 57, 200):
        scores = np.random.default_rng(n).random(n)
        quantile = ConformalQuantile.of(scores, np.arange(2 * n).reshape(-1, 2))
        for level in (0.1, 0.5, 0.8, 0.9):
            assert quantile.rank(level) == int(np.ceil(level * (n + 1) - 1e-9))
            assert quantile(level) == np.sort(scores)[quantile.rank(level) - 1]


@pytest.mark.slow
@pytest.mark.parametrize("effect", [0.0, 1.0])
def test_it_covers_pairs_of_new_items(effect):
    """In 3,000 draws of 16 items and two new ones, each a Bernoulli trial; within four standard errors of the binomial."""
    rng, n, level, n_draws = np.random.default_rng(0), 16, 0.8, 3_000
    i, j = np.triu_indices(n, 1)
    covered = []
    for _ in range(n_draws):
        scores = item_effects(rng, n + 2, effect)
        covered.append(scores[n, n + 1] <= ConformalQuantile.of(scores[i, j], np.column_stack([i, j]))(level))
    error = np.sqrt(level * (1 - level) / n_draws)
    assert level - 4 * error < np.mean(covered) < level + 4 * error + 0.02  # of 14 items the coverage is told, of 16 it is used


def test_it_is_proved_to_cover_a_little_less_than_asked_for():
    """The bound holds for scores of any kind; here every item is as strange as it can be."""
    rng, n, level = np.random.default_rng(1), 12, 0.7
    i, j = np.triu_indices(n, 1)
    covered, bounds = [], []
    for _ in range(2_000):
        a = rng.random(n + 2)
        quantile = ConformalQuantile.of(np.maximum(a[i], a[j]), np.column_stack([i, j]))
        covered.append(max(a[n], a[n + 1]) <= quantile(level))
        bounds.append(quantile.rank(level) / ((n + 1) * (n + 2) / 2))
    assert np.mean(covered) > np.mean(bounds) - 4 * 0.5 / np.sqrt(2_000)
    assert np.mean(bounds) >= level * (1 - 4 / (n + 2))


def test_a_larger_share_is_covered_by_a_larger_score_until_there_is_none():
    rng = np.random.default_rng(2)
    i, j = np.triu_indices(12, 1)
    quantile = ConformalQuantile.of(item_effects(rng, 12, 1.0)[i, j], np.column_stack([i, j]))
    found = [quantile(level) for level in (0.1, 0.4, 0.6, 0.8)]
    assert found == sorted(found)
    assert_refused(lambda: quantile(0.999), "interval=0.999", "66 pairs of 12 items set aside", "validation_fraction=")


@pytest.mark.parametrize(
    ("scores", "ranks"),
    [([1.0, 0.5], [1, 2]), ([0.5, np.nan], [1, 2]), ([-1.0, 0.5], [1, 2]), ([0.5, 1.0], [2, 1]), ([0.5, 1.0], [0, 1]),
     ([0.5], [1, 2]), ([], [])],
)  # fmt: skip
def test_what_cannot_be_quantiles_is_refused(scores, ranks):
    with pytest.raises(ValueError, match="restore the file"):
        ConformalQuantile(np.array(scores), np.array(ranks, np.int64), 4)
