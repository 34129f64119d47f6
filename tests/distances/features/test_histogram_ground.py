"""Features of histograms under ground distances with circles, thresholds and costs, beside slow twins, and within a budget."""

import re

import numpy as np
import pytest
import reference
from cases import assert_refused
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from semimetric import DistanceRegressor, HistogramFeatures
from semimetric.distances.features.uniform_directions import half_sphere

SIFT = np.indices((2, 3, 8)).reshape(3, -1).T.astype(float)
GROUND = {"metric": "cityblock", "periodic": {2: 8.0}, "threshold": 2.0}


def directions_of(n, dimension, plain):
    if dimension == 1:
        return np.ones((1, 1))
    axes = 0 if plain else min(n, dimension)
    return np.vstack([np.eye(dimension)[:axes], half_sphere(dimension, n - axes, 0)])


def as_set(rows):
    """Rows up to sign and scale."""
    rows = np.array([row for row in rows if np.any(row)])
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    first = unit[np.arange(len(unit)), np.argmax(np.abs(unit) > 1e-6, axis=1)]
    return {tuple(row) for row in np.round(unit * np.sign(first)[:, None], 5) + 0.0}


@st.composite
def settings_of_features(draw):
    dimension = draw(st.integers(1, 3))
    places = draw(
        st.lists(st.tuples(*[st.integers(0, 4)] * dimension), min_size=2, max_size=8, unique=True).map(
            lambda p: np.array(p, float)
        )
    )
    periodic = {a: draw(st.sampled_from([5.0, 8.0])) for a in range(min(dimension, 2)) if draw(st.booleans())}
    return places / 2, {
        "metric": draw(st.sampled_from(["euclidean", "cityblock", "chebyshev"])),
        "periodic": {a: p / 2 for a, p in periodic.items()},
        "threshold": draw(st.sampled_from([None, 0.6, 1.3, 50.0])),
        "n_slices": draw(st.integers(1, 5)),
        "n_edges": draw(st.integers(1, 4)),
        "max_features": None,
    }


@given(settings_of_features(), st.integers(0, 100))
@settings(max_examples=25, deadline=None)
def test_features_are_those_of_the_explicit_matrix(setting, seed):
    places, options = setting
    X = np.random.default_rng(seed).random((40, len(places)))
    features = HistogramFeatures(places, **options).fit(X)
    M = features.components_
    np.testing.assert_allclose(features.transform(X), X @ M.T, atol=1e-12)

    periods = [options["periodic"].get(a, np.inf) for a in range(places.shape[1])]
    T = options["threshold"] or np.inf
    plain = not options["periodic"] and T == np.inf and (options["metric"] == "euclidean" or places.shape[1] == 1)
    ground = np.array([[reference.ground_distance(a, b, options["metric"], periods) for b in places] for a in places])
    spacing = np.median(np.where(ground > 0, ground, np.inf).min(axis=1))
    wanted = [
        *reference.slices_of_bins(places.tolist(), directions_of(options["n_slices"], places.shape[1], plain), periods, T)
    ]
    if not (plain and places.shape[1] == 1):
        radii = [r * spacing for r in features.ball_radii if r * spacing < T]
        sides = directions_of(options["n_edges"], places.shape[1], plain)
        wanted += reference.balls_of_bins(places.tolist(), radii, options["metric"], periods)
        wanted += reference.edges_of_bins(places.tolist(), sides, 3 * spacing, options["metric"], periods)
    assert as_set(M) == as_set([*wanted, np.ones(len(places))])


@pytest.mark.parametrize(
    "options", [GROUND, {"periodic": {2: 8.0}}, {"periodic": {2: 8.0}, "metric": "chebyshev", "threshold": 3.0}]
)
def test_turning_a_circle_permutes_the_features(options, rng):
    H = rng.dirichlet(np.ones(48), 6)
    turned = np.roll(H.reshape(6, 2, 3, 8), 3, axis=3).reshape(6, 48)
    features = HistogramFeatures(SIFT, max_features=None, **options).fit(H)
    rolled = np.roll(features.components_.reshape(-1, 2, 3, 8), -3, axis=3).reshape(-1, 48)
    centred = [M - M.mean(axis=1, keepdims=True) for M in (features.components_, rolled)]
    assert as_set(centred[0]) == as_set(centred[1])
    sizes = [np.sort(np.linalg.norm(M, axis=1)) for M in centred]
    assert not np.array_equal(features.transform(H), features.transform(turned))
    np.testing.assert_allclose(*sizes)


def test_slices_of_a_circle_are_all_its_arcs(rng):
    H = rng.dirichlet(np.ones(8), 5)
    arcs = HistogramFeatures(range(8), periodic={0: 8.0}, n_edges=0, ball_radii=()).fit(H).components_
    wanted = [[float((b - start) % 8 < length) for b in range(8)] for start in range(8) for length in range(1, 8)]
    assert as_set(arcs - arcs.mean(axis=1, keepdims=True)) == as_set([np.array(w) - np.mean(w) for w in wanted])
    assert len(arcs) == 28  # of an arc and the rest of the circle one


def test_a_threshold_above_all_distances_is_none(rng):
    H = rng.dirichlet(np.ones(48), 4)
    found = [
        HistogramFeatures(SIFT, metric="cityblock", periodic={2: 8.0}, threshold=t, max_features=None).fit(H).components_
        for t in (None, 100.0)
    ]
    assert as_set(found[0] - found[0].mean(axis=1, keepdims=True)) == as_set(found[1] - found[1].mean(axis=1, keepdims=True))


@given(st.integers(0, 1_000), st.floats(0.1, 12.0))
@settings(max_examples=40, deadline=None)
def test_strips_of_a_line_tell_distances_of_points_up_to_the_threshold(seed, threshold):
    rng = np.random.default_rng(seed)
    places = rng.permutation(np.cumsum(rng.uniform(0.2, 3.0, 6)))
    masses = rng.random((6, 6))  # of different masses nothing is left out
    Z = HistogramFeatures(places, threshold=threshold, n_edges=0, ball_radii=()).fit(masses).transform(np.eye(6))
    keep = [k for k in range(Z.shape[1]) if np.ptp(Z[:, k]) > 0]
    found = cdist(Z[:, keep], Z[:, keep], "cityblock")
    np.testing.assert_allclose(found, np.minimum(np.abs(places[:, None] - places), threshold), atol=1e-9)


@pytest.mark.parametrize("options", [{}, GROUND, {"bins": True}])
@pytest.mark.parametrize("most", [60, 200, 777])
def test_there_are_never_more_features_than_the_budget(options, most, rng):
    H = rng.random((5, 48))
    few, all_ = (HistogramFeatures(SIFT, max_features=n, **options).fit(H) for n in (most, None))
    assert most / 2 < len(few.components_) <= most < len(all_.components_)
    kinds = [{re.match("[a-z]+", name)[0] for name in f.get_feature_names_out()} - {"mass"} for f in (few, all_)]
    assert kinds[0] == kinds[1] or most == 60
    np.testing.assert_allclose(few.transform(H), H @ few.components_.T, atol=1e-12)


def test_fewer_slices_stand_for_the_whole_width(rng):
    places = np.sort(rng.uniform(0, 10, 50))
    few = HistogramFeatures(places, max_features=7).fit(rng.dirichlet(np.ones(50), 3))
    assert len(few.components_) == 7
    assert few.components_.max(axis=1).sum() == pytest.approx(np.ptp(places))
    H = rng.dirichlet(np.full(50, 0.5), 200)
    close = np.abs(np.diff(few.transform(H), axis=0)).sum(axis=1)
    exact = [reference.emd_1d(a, b, places) for a, b in zip(H[:-1], H[1:], strict=True)]
    assert np.corrcoef(close, exact)[0, 1] > 0.9


def test_a_cost_matrix_alone_gives_masses_within_distances(rng):
    places = rng.random((9, 2))
    cost = cdist(places, places)
    H = rng.dirichlet(np.ones(9), 4)
    features = HistogramFeatures(None, cost_matrix=cost, n_slices=3).fit(H)
    balls = [row for n, row in zip(features.get_feature_names_out(), features.components_, strict=True) if n[0] in "sb"]
    for row in balls:
        inside = row > 0
        assert any(cost[b, inside].max() < cost[b, ~inside].min() for b in range(9))
    wanted = HistogramFeatures(places, n_slices=0, n_edges=0).fit(H)
    found = HistogramFeatures(None, cost_matrix=cost, n_slices=0, n_edges=0).fit(H)
    np.testing.assert_allclose(found.components_, wanted.components_)
    assert any(n.startswith("edge") for n in features.get_feature_names_out())


def test_costs_count_in_place_of_the_distances_of_coordinates(rng):
    H, bent = rng.dirichlet(np.ones(48), 4), np.minimum(cdist(SIFT, SIFT), 1.5)
    found = HistogramFeatures(SIFT, n_slices=0, n_edges=0, ball_radii=(2.0,), cost_matrix=bent, bins=True).fit(H)
    assert len(found.components_) == 48  # a ball within 2 of bins that are at most 1.5 apart holds all of them


def test_different_masses_are_learned_as_emd_hat(rng):
    places = np.array([0.0, 1.0, 2.0, 4.0, 5.0])
    cost = np.abs(places[:, None] - places)
    X = rng.dirichlet(np.ones(5), 50) * rng.uniform(0.5, 2.0, (50, 1))
    pairs = rng.integers(0, 50, (300, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    y = np.array([reference.emd_hat(X[i], X[j], cost, 0.5) for i, j in pairs])
    seen = (pairs < 30).all(axis=1)
    unseen = (pairs >= 30).all(axis=1)
    features = HistogramFeatures(
        places, metric="cityblock", threshold=5.0
    )  # balls and edges too, as it is no sum of slices alone
    model = DistanceRegressor(directions=features, preprocessor=X, tables="warped", n_knots=2, alpha=1e-6).fit(
        pairs[seen], y[seen]
    )
    assert model.score(pairs[unseen], y[unseen]) > 0.95


BAD = {
    "metric": ({"metric": "cosine"}, "metric='cosine'", "use one of 'euclidean', 'cityblock', 'chebyshev'"),
    "threshold": ({"threshold": 0.0}, "threshold=0.0", "must be > 0"),
    "no axis": ({"periodic": {3: 8.0}}, "names axis 3 of coordinates with 3", "0 to 2"),
    "no dict": ({"periodic": [8.0]}, "periodic=[8.0]", "must be a dict of axes"),
    "no period": ({"periodic": {2: -1.0}}, "the period of axis 2=-1.0", "must be > 0"),
    "one place": ({"periodic": {2: 4.0}}, "two bins share a place with periodic={2: 4.0}", "merge such bins"),
    "few": ({"max_features": 47, "bins": True}, "max_features=47", "the bins that bins=True asks for (48)", "give more"),
    "none": ({"max_features": 0}, "max_features=0", "an integer >= 1 is required"),
    "costs": ({"cost_matrix": np.ones((48, 48))}, "cost_matrix[0, 0] is 1", "0 is required"),
    "bins": ({"cost_matrix": np.zeros((3, 3))}, "cost_matrix has shape (3, 3) for histograms of 48 bins", "one row a bin"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_ground_distances_and_budgets_are_refused(name, rng):
    options, *parts = BAD[name]
    assert_refused(lambda: HistogramFeatures(SIFT, **options).fit(rng.dirichlet(np.ones(48), 3)), *parts)


def test_metrics_and_circles_need_coordinates(rng):
    features = HistogramFeatures(None, cost_matrix=np.zeros((4, 4)), periodic={0: 4.0})
    assert_refused(lambda: features.fit(rng.dirichlet(np.ones(4), 3)), "bin_coordinates is None", "give coordinates")
