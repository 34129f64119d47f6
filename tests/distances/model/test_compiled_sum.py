"""The compiled distance of two vectors against `paired`, which checks and encodes tables."""

import pickle

import cases
import numpy as np
import pytest
import strategies as our
from cases import assert_refused
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import DBSCAN
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import KNeighborsClassifier

from semimetric import ConcaveLink, Grid, NotSupportedError, Semimetric
from semimetric.distances.features.linear_directions import Directions
from semimetric.distances.model import compiled_sum
from semimetric.distances.model.compiled_sum import distance_of_arrays, feature_sum
from semimetric.distances.pairs.full_tables import PairEmbedding

KNOTS = [np.array([0.0, 1.0, 3.0]), np.array([0.0, 2.0]), np.array([1.0])]
BENDS = (np.array([0.0, 1.0, 2.0]), np.array([0.5]), np.array([-1.0, 1.0]))
EMBEDDINGS = {name: cases.EMBEDDINGS[name] for name in ("singles", "with diagonal", "warped")} | {
    "asymmetric": lambda grid: PairEmbedding(grid, symmetry="none"),
    "some features": lambda grid: PairEmbedding(grid, [(2,), (0,)]),
    "joint": lambda grid: PairEmbedding(grid, [(1, 0), (0, 2), *((f,) for f in range(3, grid.n_features))]),
}
DIRECTIONS = {
    "none": None,
    "linear": Directions(np.array([[1.0, -2.0, 0.5], [0.0, 1.0, 1.0]]), ("u", "v")),
    "bent": Directions(np.array([[1.0, -2.0, 0.5], [0.0, 1.0, 1.0]]), ("u", "v"), BENDS),
}


def distance(kind, directions, link="identity", seed=0):
    rng = np.random.default_rng(seed)
    grid = Grid(KNOTS + [np.array([-1.0, 0.0, 2.0])] * (2 if DIRECTIONS[directions] else 0))
    embedding = EMBEDDINGS[kind](grid)
    weights, epsilon = rng.random(embedding.n_columns), rng.random((grid.n_features, 2))
    return Semimetric(embedding, weights, epsilon, ("a", "b", "c"), DIRECTIONS[directions], link=link)


@pytest.mark.parametrize("link", ["identity", "sqrt", 0.7, 1.5, ConcaveLink((0.3, 1.0), (2.0, 1.0, 0.1))])
@pytest.mark.parametrize("directions", DIRECTIONS)
@pytest.mark.parametrize("kind", EMBEDDINGS)
def test_it_is_the_distance_in_and_out_of_range_and_at_knots(kind, directions, link, rng):
    d = distance(kind, directions, link)
    points = np.vstack([rng.uniform(-1, 4, (20, 3)), [[0.0, 0.0, 1.0], [3.0, 2.0, 1.0], [1.0, 0.0, 0.0]]])
    i, j = (side.ravel() for side in np.indices((len(points),) * 2))
    found = np.array([distance_of_arrays(d)(points[a], points[b]) for a, b in zip(i, j, strict=True)])
    np.testing.assert_allclose(found, d.paired(points[i], points[j]), rtol=1e-13, atol=1e-15)
    if d.embedding.symmetric:
        assert (found.reshape(len(points), -1) == found.reshape(len(points), -1).T).all()
        assert not found[i == j].any()


@given(data=st.data(), seed=st.integers(0, 1000))
@settings(max_examples=30)
def test_it_is_the_distance_on_any_grid(data, seed):
    grid = data.draw(our.grids())
    X, Y = data.draw(our.points(grid, 6)), data.draw(our.points(grid, 6))
    embedding = PairEmbedding(grid)
    rng = np.random.default_rng(seed)
    names = tuple(f"x{f}" for f in range(grid.n_features))
    d = Semimetric(embedding, rng.random(embedding.n_columns), rng.random((grid.n_features, 2)), names)
    found = [distance_of_arrays(d)(x, y) for x, y in zip(X, Y, strict=True)]
    np.testing.assert_allclose(found, d.paired(X, Y), rtol=1e-12, atol=1e-12)


def test_every_form_of_two_vectors_has_the_same_distance(rng):
    d, (x, y) = distance("singles", "linear"), rng.integers(0, 4, (2, 3)).astype(np.float64)
    locked, wide = x.copy(), np.array([x, x, x])
    locked.setflags(write=False)
    forms = [x, locked, wide[1], np.asfortranarray(wide)[1], x.tolist(), tuple(x), *map(x.astype, (np.float32, ">f8", int))]
    np.testing.assert_allclose([d(form, y) for form in forms], d.paired(x[None], y[None])[0], rtol=1e-15)
    single = np.array([x, y], dtype=np.float32) + np.float32(0.1)
    assert distance_of_arrays(d)(*single) == distance_of_arrays(d)(*single.astype(np.float64))
    assert d(x, y, squared=True) == d(x, y) ** 2 == d(locked.tolist(), y, True)


REFUSED = {
    "missing": ([np.nan, 0, 0], "a missing value"),
    "infinite": ([0, np.inf, 0], "an infinite value"),
    "out of reach": ([0, 1.7e308, 0], "distances overflow"),
    "short": ([0.0, 0.0], "has 2 features"),
    "long": ([0.0] * 4, "has 4 features"),
    "a table": ([[0.0] * 3], "has shape (1, 3)"),
    "a number": (1.0, "has shape ()"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_is_told_as_ever(case):
    bad, words = REFUSED[case]
    d, good = distance("singles", "none"), np.zeros(3)
    for pair in ((np.asarray(bad), good), (good, np.asarray(bad))):
        assert np.isnan(distance_of_arrays(d)(*pair))
        assert_refused(lambda pair=pair: d(*pair), words, "")


def test_a_distance_that_cannot_be_compiled_is_that_of_the_tables(monkeypatch, rng):
    joint = PairEmbedding(Grid([[0.0, 1.0]] * 2), [(0, 1)], symmetry="swap")
    d = Semimetric(joint, np.ones(joint.n_columns), np.ones(2), ("a", "b"))
    x, y = rng.random((2, 2))
    assert np.isnan(distance_of_arrays(d)(x, y))
    assert d(x, y) == d.paired(x[None], y[None])[0]
    monkeypatch.setattr(compiled_sum, "_MOST_ENTRIES", 13)
    assert_refused(
        lambda: feature_sum(distance("singles", "none")), "14 entries", "at most 13", "fewer knots", NotSupportedError
    )


def test_a_copy_has_the_distance_too(rng):
    d, (x, y) = distance("singles", "bent"), rng.random((2, 3))
    before = d(x, y)
    assert pickle.loads(pickle.dumps(d))(x, y) == before


def test_packages_that_call_it_for_every_pair_get_the_table_of_distances(rng):
    d, X = distance("warped", "linear"), rng.uniform(-1, 4, (40, 3))
    labels, table = np.arange(40) % 3, d.pairwise(X)
    np.testing.assert_allclose(pairwise_distances(X, metric=d), table, rtol=1e-13, atol=1e-14)
    by_call, by_table = (KNeighborsClassifier(3, metric=m, algorithm="brute") for m in (d, "precomputed"))
    assert (by_call.fit(X, labels).predict(X) == by_table.fit(table, labels).predict(table)).all()
    eps = float(np.median(table[table > 0]) / 3)
    found = [DBSCAN(eps=eps, min_samples=3, metric=m).fit(a).labels_ for m, a in ((d, X), ("precomputed", table))]
    assert (found[0] == found[1]).all()
    assert len(set(found[0])) > 1
