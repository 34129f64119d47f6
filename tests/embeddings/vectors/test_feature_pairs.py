"""Neighbours on chains and grids of features, and pairs by name."""

import numpy as np
import pytest
from cases import assert_refused

from semimetric import PL2Embedding
from semimetric.embeddings.vectors.feature_pairs import listed_pairs, neighbours


@pytest.mark.parametrize(("shape", "reach"), [((5,), 1), ((7,), 3), ((3, 4), 1), ((4, 3), 2), ((2, 3, 2), 1), ((1,), 1)])
def test_neighbours_are_within_reach_on_every_axis(shape, reach):
    places = list(np.ndindex(*shape))
    twin = [
        [a, b]
        for a, p in enumerate(places)
        for b, q in enumerate(places)
        if a < b and all(abs(i - j) <= reach for i, j in zip(p, q, strict=True))
    ]
    assert neighbours(shape, reach).tolist() == twin


def test_pl2_of_neighbours(rng):
    X = rng.random((20, 12))
    grid = PL2Embedding(3, pairs="grid", shape=(3, 4), reach=2).fit(X)
    assert grid.pairs_.tolist() == neighbours((3, 4), 2).tolist()
    assert PL2Embedding(3, pairs="chain", reach=2).fit(X).pairs_.tolist() == neighbours((12,), 2).tolist()
    assert PL2Embedding(3, pairs="chain").fit(X[:, :1]).n_columns_ == 3


def test_pairs_by_name():
    assert listed_pairs([("c", "a"), (0, 1)], 3, ["a", "b", "c"]).tolist() == [[0, 1], [0, 2]]
    assert_refused(lambda: listed_pairs([("c", "d")], 3, ["a", "b", "c"]), "'d'", "one of the columns a, b, c")
    assert_refused(lambda: listed_pairs([(0, 1), (2,)], 3, []), "(2,), of 1 features", "two each are required", "IDEmbedding")
