"""Distances, items and queries that the tests of nearest neighbours share."""

import cases
import numpy as np

from semimetric import Grid, Semimetric


def rough_distance(grid, *, kind="singles", seed=0, link="identity", low=0.0):
    """A distance with random tables: no smoothness, no triangle inequality."""
    rng = np.random.default_rng(seed)
    embedding = cases.EMBEDDINGS[kind](grid)
    weights = low + rng.random(embedding.n_columns) ** 3
    names = tuple(f"x{f}" for f in range(grid.n_features))
    return Semimetric(embedding, weights, rng.random((grid.n_features, 2)), names, link=link)


def search_problem(n=500, n_features=4, seed=0):
    """A rough distance, items of shape (n, n_features), and seven queries."""
    rng = np.random.default_rng(seed)
    items = rng.normal(size=(n, n_features))
    return rough_distance(Grid.fit(items, n_knots=5), seed=seed, low=0.05), items, rng.normal(size=(7, n_features))
