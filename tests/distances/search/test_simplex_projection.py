"""Bounds of a Hilbert space hold, are no looser than any of a metric, and a distance of no such space is refused."""

import math

import numpy as np
import pytest
from cases import assert_refused
from hypothesis import given
from hypothesis import strategies as st
from reference import nearest_by_brute_force
from scipy.spatial.distance import jensenshannon

from semimetric import FilterRefineIndex, LandmarkBounds


def euclid(x, y):
    return float(np.sqrt(((x - y) ** 2).sum()))


def root_of_l1(x, y):
    return float(np.sqrt(np.abs(x - y).sum()))


def root_of_js(x, y):
    return float(jensenshannon(x, y)) if (x != y).any() else 0.0


def hellinger(x, y):
    return euclid(np.sqrt(x), np.sqrt(y))


DISTANCES = {distance.__name__: distance for distance in (euclid, root_of_l1, root_of_js, hellinger)}


def drawn(seed, n, n_features, kind):
    """Vectors >= 0: general ones, some equal ones, on a line, or on a coarse grid."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, n_features)) + 0.01
    if kind == "equal":
        X = X[rng.integers(0, max(n // 3, 1), n)]
    elif kind == "line":
        X = 1.0 + rng.random((n, 1)) * X[0]
    elif kind == "grid":
        X = np.round(2 * X) + 0.5
    return X


def pairwise(distance, X, Y):
    return np.array([[distance(x, y) for y in Y] for x in X])


drawings = {
    "seed": st.integers(0, 10_000),
    "n": st.integers(1, 25),
    "n_features": st.integers(1, 6),
    "kind": st.sampled_from(["general", "equal", "line", "grid"]),
    "name": st.sampled_from(sorted(DISTANCES)),
    "n_landmarks": st.integers(1, 10),
}


@given(scale=st.sampled_from([1.0, 1e-250, 1e250, 3e-7]), **drawings)
def test_no_bound_is_violated(seed, n, n_features, kind, name, n_landmarks, scale):
    def distance(x, y):
        return scale * DISTANCES[name](x, y)

    X = drawn(seed, n + 6, n_features, kind)
    fitted = LandmarkBounds(distance, n_landmarks=n_landmarks, geometry="hilbert", random_state=seed).fit(list(X[:n]))
    table = pairwise(distance, X, X)
    low, high = fitted.pairwise(list(X))
    assert (low <= table).all()
    assert (high >= table).all()
    among_items = [fitted.at_item(row) for row in range(n)]
    assert all(
        (at.lower() <= table[row, :n]).all() and (at.upper() >= table[row, :n]).all() for row, at in enumerate(among_items)
    )
    assert fitted.n_calls_ <= n_landmarks * n + fitted.n_checked


@given(**drawings)
def test_they_are_no_looser_than_those_of_the_triangle_inequality(seed, n, n_features, kind, name, n_landmarks):
    X = drawn(seed, n + 6, n_features, kind)
    distance = DISTANCES[name]
    fitted = LandmarkBounds(distance, n_landmarks=n_landmarks, geometry="hilbert", random_state=seed).fit(list(X[:n]))
    to_landmarks = pairwise(distance, X, X[fitted.landmarks_])
    gaps = np.abs(to_landmarks[:, None] - to_landmarks).max(axis=2)
    ways = (to_landmarks[:, None] + to_landmarks).min(axis=2)
    low, high = fitted.pairwise(list(X))
    margin = 0.03 * to_landmarks.max()  # a height of 0 is known to the root of the largest error only, 1e-4
    assert (low >= gaps - margin).all()
    assert (high <= ways + margin).all()


def test_in_few_dimensions_the_bounds_are_the_distance():
    X = np.random.default_rng(0).normal(size=(200, 4))
    fitted = LandmarkBounds(euclid, geometry="hilbert").fit(list(X))
    assert len(fitted.landmarks_) == 5
    low, high = fitted.pairwise(list(X))
    table = pairwise(euclid, X, X)
    np.testing.assert_allclose(low, table, atol=1e-3 * table.max())
    np.testing.assert_allclose(high, table, atol=5e-3 * table.max())


@pytest.mark.parametrize("flat", [1e-4, 1e-8, 1e-12])
def test_landmarks_that_lie_almost_in_a_plane_do_not_break_the_bounds(flat):
    X = np.random.default_rng(0).normal(size=(150, 8)) * flat ** (np.arange(8) / 7)
    table = pairwise(euclid, X, X)
    for tolerance in ("auto", 0.0, 1e-4):
        fitted = LandmarkBounds(euclid, geometry="hilbert", n_landmarks=12, tolerance=tolerance).fit(list(X[:100]))
        low, high = fitted.pairwise(list(X))
        assert (low <= table).all()
        assert (high >= table).all()


@pytest.mark.parametrize("far", [1e5, 1e140, 1e160, 1e250])
def test_a_query_far_away_is_bounded(far):
    X = np.random.default_rng(0).random((30, 3))
    fitted = LandmarkBounds(math.dist, geometry="hilbert").fit(list(X))
    low, high = fitted.lower(np.full(3, far)), fitted.upper(np.full(3, far))
    assert (low <= np.sqrt(3) * far).all()
    assert (high >= np.sqrt(3) * far).all()


def test_distances_that_are_off_by_the_tolerance_are_bounded():
    X = np.random.default_rng(0).random((150, 6))

    def rounded(x, y):
        return float(f"{euclid(x, y):.4g}")  # off by up to 5e-4

    table = pairwise(rounded, X, X)
    fitted = LandmarkBounds(rounded, geometry="hilbert", tolerance=1e-3).fit(list(X[:100]))
    low, high = fitted.pairwise(list(X))
    assert (low <= table).all()
    assert (high >= table).all()


NO_HILBERT = {
    "L1": lambda x, y: float(np.abs(x - y).sum()),
    "largest": lambda x, y: float(np.abs(x - y).max()),
    "great circle": lambda x, y: float(np.arccos(np.clip(x @ y / np.linalg.norm(x) / np.linalg.norm(y), -1, 1))),
}


@pytest.mark.parametrize("name", NO_HILBERT)
def test_a_metric_that_is_none_of_a_hilbert_space_is_refused(name):
    X = list(np.random.default_rng(0).normal(size=(200, 5)))
    metric = NO_HILBERT[name] if name != "great circle" else lambda x, y: 0.0 if x is y else NO_HILBERT[name](x, y)
    LandmarkBounds(metric).fit(X)
    fitting = LandmarkBounds(metric, geometry="hilbert")
    assert_refused(lambda: fitting.fit(X), "none of a Hilbert space", 'use geometry="metric"')
    assert not hasattr(fitting, "landmarks_")


def test_a_pair_beyond_its_bounds_is_refused():
    X = np.random.default_rng(0).normal(size=(40, 3))
    first = LandmarkBounds(euclid, geometry="hilbert", n_checked=0).fit(list(X))
    i, j = np.setdiff1d(range(40), first.landmarks_)[:2]

    def bent(x, y):
        return euclid(x, y) * (1.01 if {x.tobytes(), y.tobytes()} == {X[i].tobytes(), X[j].tobytes()} else 1.0)

    bending = LandmarkBounds(bent, geometry="hilbert", n_checked=20_000)
    assert_refused(lambda: bending.fit(list(X)), "which the landmarks place at", 'use geometry="metric"')


@given(k=st.integers(1, 8), **drawings)
def test_neighbours_are_those_of_brute_force(seed, n, n_features, kind, name, n_landmarks, k):
    X = list(drawn(seed, n + 3, n_features, kind))
    distance, k = DISTANCES[name], min(k, n)
    bounds = LandmarkBounds(distance, n_landmarks=n_landmarks, geometry="hilbert")
    found = FilterRefineIndex(None, distance, bounds=bounds).fit(X[:n]).search(X[n:], k)
    assert found.certified.all()
    for q, query in enumerate(X[n:]):
        want = nearest_by_brute_force(distance, query, X[:n], range(n), k)
        assert list(zip(found.distances[q].tolist(), found.ids[q].tolist(), strict=True)) == want
