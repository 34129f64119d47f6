"""Neighbours on chains and grids of features, and pairs by name."""

import numpy as np
import pytest
from cases import assert_refused

from semimetric import PL2Embedding
from semimetric.vectors.embeddings.piecewise import listed_pairs, neighbours


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


@pytest.mark.parametrize(
    ("shape", "reach", "periodic"),
    [(((3, 4), 5), 1, (2,)), ((4, (3, 3)), 2, (0,)), (((2, 2), 2), 1, (0, 1, 2)), ((5, 4), 1, (1,)), (((6, 8), 8), 1, (2,))],
)
def test_neighbours_differ_along_the_axes_of_one_plane_some_of_them_circles(shape, reach, periodic):
    flat = [side for plane in shape for side in (plane if isinstance(plane, tuple) else (plane,))]
    planes = [[0, 1]] if shape == (5, 4) else [[0], [1, 2]] if shape == (4, (3, 3)) else [[0, 1], [2]]
    places = list(np.ndindex(*flat))

    def steps(p, q):
        apart = [abs(i - j) for i, j in zip(p, q, strict=True)]
        return [min(n, flat[k] - n) if k in periodic else n for k, n in enumerate(apart)]

    twin = [
        [a, b]
        for a, p in enumerate(places)
        for b, q in enumerate(places[a + 1 :], a + 1)
        if max(step := steps(p, q)) <= reach
        and any(all(step[k] == 0 for k in range(len(flat)) if k not in own) for own in planes)
    ]
    assert neighbours(shape, reach, periodic).tolist() == twin


def test_bins_of_descriptors_within_the_threshold_of_their_ground_distance_are_neighbours(rng):
    row, column, orientation = np.unravel_index(np.arange(384), (6, 8, 8))
    turn = np.abs(orientation[:, None] - orientation)
    ground = np.hypot(row[:, None] - row, column[:, None] - column) + np.minimum(turn, 8 - turn)
    embedding = PL2Embedding(2, pairs="grid", shape=((6, 8), 8), periodic=(2,)).fit(rng.random((5, 384)))
    assert embedding.pairs_.tolist() == np.argwhere(np.triu(ground < 2, 1)).tolist()
    assert len(embedding.pairs_) == 1_600


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
