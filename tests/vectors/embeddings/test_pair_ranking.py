"""Pairs ranked by what they explain beyond single features: the score by hand, planted pairs found, noise near 0."""

import numpy as np

from semimetric import PL2Embedding
from semimetric.vectors.embeddings.piecewise import pair_scores


def test_the_score_is_the_error_that_a_table_takes_away(rng):
    x, y = rng.integers(0, 3, (400, 2)).astype(float), rng.normal(size=400)
    cells = x[:, 0] * 3 + x[:, 1]
    y += np.array([1.0, 0, -1, 0, 0, 0, -1, 0, 1])[cells.astype(int)]
    pairs, scores = pair_scores(x, y)
    singles = np.column_stack([x[:, [f]] == np.arange(3) for f in (0, 1)]).astype(float)
    rest = y - y.mean() - singles @ np.linalg.lstsq(singles, y - y.mean(), rcond=None)[0]
    gain = sum(rest[cells == c].sum() ** 2 / (cells == c).sum() for c in range(9))
    assert pairs.tolist() == [[0, 1]]
    np.testing.assert_allclose(scores, gain - (9 - 3 - 3 + 1) * rest.var(), rtol=1e-2)


def test_planted_pairs_come_first(rng):
    X = rng.random((2000, 8))
    y = 2 * np.abs(X[:, 1] - X[:, 6]) + X[:, 3] * X[:, 4] + 3 * X[:, 0] ** 2 + 0.2 * rng.normal(size=2000)
    assert PL2Embedding(4, pairs="best", n_pairs=2).fit(X, y).pairs_.tolist() == [[1, 6], [3, 4]]
    labels = np.digitize(np.abs(X[:, 1] - X[:, 6]), [0.2, 0.4])
    assert PL2Embedding(4, pairs="best", n_pairs=1).fit(X, labels).pairs_.tolist() == [[1, 6]]
    assert PL2Embedding(4, pairs="best", n_pairs=1).fit(X, labels > 0).pairs_.tolist() == [[1, 6]]


def test_of_many_rows_a_seeded_sample_is_ranked(rng, monkeypatch):
    monkeypatch.setattr("semimetric.vectors.embeddings.piecewise.MOST_ROWS", 500)
    X = rng.random((3000, 5))
    for seed in (0, np.random.RandomState(0)):
        embedding = PL2Embedding(4, pairs="best", n_pairs=1, random_state=seed)
        assert embedding.fit(X, X[:, 2] * X[:, 4] > 0.3).pairs_.tolist() == [[2, 4]]


def test_noise_scores_about_nothing(rng):
    X, y = rng.normal(size=(3000, 12)), rng.normal(size=3000)
    X[rng.random(X.shape) < 0.1] = np.nan
    scores = pair_scores(X, y)[1]
    assert abs(scores.mean()) < 3 * scores.std() / np.sqrt(len(scores)) + 2
    np.testing.assert_array_equal(pair_scores(X, y, n_jobs=2)[1], scores)
