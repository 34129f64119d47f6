"""The distance of point clouds is that of a linear program, lies within its bounds, and is searched as by all calls."""

import pickle

import numpy as np
import pytest
import reference
from cases import assert_refused
from hypothesis import given
from hypothesis import strategies as st

from semimetric import FilterRefineIndex, PointCloudBounds, PointCloudDistance

pytest.importorskip("ot")
METRICS = ["euclidean", "cityblock", "sqeuclidean"]


@st.composite
def clouds(draw, n_clouds=4):
    rng, d = np.random.default_rng(draw(st.integers(0, 10_000))), draw(st.integers(1, 4))
    decimals, scale = draw(st.sampled_from([0, 1, 16])), draw(st.sampled_from([1.0, 1e-60, 1e60]))
    far = draw(st.sampled_from([0.0, 1e6]))
    found = []
    for n in draw(st.lists(st.integers(1, 7), min_size=n_clouds, max_size=n_clouds)):
        points = scale * (np.round(rng.normal(size=(n, d)) * 2, decimals) + far)
        masses = rng.integers(0, 3, n) + np.eye(n)[0]  # some 0
        found.append(points if draw(st.booleans()) else (points, masses))
    return found


@pytest.mark.slow
@given(clouds(), st.sampled_from(METRICS))
def test_the_distance_is_that_of_the_program_and_within_its_bounds(four, metric):
    emd, bounds = PointCloudDistance(metric), PointCloudBounds(metric, n_directions=6, n_quantiles=3).fit(four)
    low, high = bounds.pairwise(four)
    for i, x in enumerate(four):
        for j, y in enumerate(four):
            true, scale = reference.transport_of_clouds(x, y, metric)
            assert emd(x, y) == pytest.approx(true, rel=1e-9, abs=1e-9 * scale)
            assert low[i, j] <= true + 1e-9 * scale
            assert true - 1e-9 * scale <= high[i, j]
            assert low[i, j] <= emd(x, y) <= high[i, j]


@pytest.mark.parametrize("metric", METRICS)
def test_a_cloud_is_at_0_of_itself_to_the_bit(metric):
    rng, emd = np.random.default_rng(0), PointCloudDistance(metric)
    points = rng.normal(size=(10, 3))
    for _ in range(50):
        cloud = points[rng.integers(0, 10, 20)], rng.dirichlet(np.full(20, 2.0))  # points that occur twice
        value, dual = emd.with_dual(cloud, cloud)
        assert (value, dual.tolist()) == (0.0, [0.0] * 20)


@given(clouds(), st.sampled_from(METRICS))
def test_any_dual_bounds_and_that_of_a_pair_is_its_distance(four, metric):
    emd, bounds = PointCloudDistance(metric), PointCloudBounds(metric).fit(four)
    query = four[0]
    value, dual = emd.with_dual(query, four[1])
    at, true = bounds.at(query), np.array([emd(query, y) for y in four])
    rows = np.arange(4)
    proved = at.lower_from_dual(dual, rows)
    assert (proved <= true).all()
    assert proved[1] == pytest.approx(value, rel=1e-5, abs=1e-5 * np.abs(dual).max())
    mixed = np.random.default_rng(0).normal(size=len(dual)) * np.abs(dual).max()
    assert (at.lower_from_dual(mixed, rows) <= true).all()
    assert len(at.lower_from_dual(dual, rows[:0])) == 0


@pytest.mark.slow
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("own", [False, True])
def test_neighbours_are_those_of_all_calls_and_few_are_made(metric, own):
    rng = np.random.default_rng(0)
    places = rng.normal(size=(12, 3)) * 2
    items = [(places[rng.integers(0, 12, 3)].repeat(4, 0) + rng.normal(0, 0.3, (12, 3)), rng.random(12)) for _ in range(110)]
    items, queries = items[:100], None if own else items[100:]
    emd = PointCloudDistance(metric)
    found = FilterRefineIndex(None, emd, bounds=PointCloudBounds(metric)).fit(items).search(queries, 3)
    asked = items if own else queries
    true = np.array([[emd(x, y) for y in items] for x in asked])
    if own:
        np.fill_diagonal(true, np.inf)
    np.testing.assert_array_equal(found.distances, np.sort(true, axis=1)[:, :3])
    assert found.certified.all()
    assert found.n_calls.mean() < 25


def test_bounds_are_close_where_clouds_are_like_those_of_pictures():
    rng = np.random.default_rng(0)
    items = [rng.normal(size=7) + rng.normal(size=(20, 7)) * rng.uniform(0.2, 1.0, 7) for _ in range(40)]
    low, high = PointCloudBounds().fit(items).pairwise(items)
    emd = PointCloudDistance()
    true = np.array([[emd(x, y) for y in items] for x in items])
    off = ~np.eye(40, dtype=bool)
    assert np.median(low[off] / true[off]) > 0.85
    assert np.median(high[off] / true[off]) < 1.1


def test_what_is_far_from_zero_is_as_what_is_near_it():
    rng = np.random.default_rng(0)
    near = [rng.normal(size=(5, 2)) for _ in range(4)]
    low, high = PointCloudBounds().fit(near).pairwise(near)
    moved = [points + 2.0**20 for points in near]
    other = PointCloudBounds().fit(moved).pairwise(moved)
    np.testing.assert_allclose(other, (low, high), atol=1e-6)
    assert pickle.loads(pickle.dumps(PointCloudDistance("cityblock")))(*near[:2]) == PointCloudDistance("cityblock")(*near[:2])
    assert repr(PointCloudDistance("cityblock")) == "PointCloudDistance('cityblock')"


REFUSED = {
    "metric": (lambda: PointCloudDistance("cosine"), "metric='cosine'", "'euclidean'", "'sqeuclidean'"),
    "metric of bounds": (lambda: PointCloudBounds("cosine").fit([[[1.0]]]), "metric='cosine'", "use one of", ""),
    "directions": (lambda: PointCloudBounds(n_directions=0).fit([[[1.0]]]), "n_directions=0", "an integer >= 1", ""),
    "quantiles": (lambda: PointCloudBounds(n_quantiles=1.5).fit([[[1.0]]]), "n_quantiles=1.5", "an integer >= 1", ""),
    "tolerance": (lambda: PointCloudBounds(tolerance=-1.0).fit([[[1.0]]]), "tolerance=-1.0", "", ""),
    "iterations": (lambda: PointCloudDistance(max_iter=0), "max_iter=0", "an integer >= 1", ""),
    "dimension": (lambda: PointCloudDistance()([[1.0]], [[1.0, 2.0]]), "y has shape (1, 2)", "(n_points, 1)", ""),
    "empty": (lambda: PointCloudBounds().fit([np.empty((0, 2))]), "X[0] has shape (0, 2)", "a point or more", ""),
    "NaN": (lambda: PointCloudBounds().fit([[[1.0]], [[np.nan]]]), "X[1]", "not finite", ""),
    "large": (lambda: PointCloudBounds().fit([[[1e101]]]), "X[0] has a coordinate beyond 1e+100", "divide", ""),
    "masses": (lambda: PointCloudBounds().fit([([[1.0]], [-1.0])]), "the masses of X[0]", "numbers >= 0", ""),
    "query": (lambda: PointCloudBounds().fit([[[1.0]]]).lower([[1.0, 2.0]]), "query[0] has shape (1, 2)", "(n_points, 1)", ""),
    "dual": (
        lambda: PointCloudBounds().fit([[[1.0]]]).at([[1.0]]).lower_from_dual([1.0, 2.0], np.array([0])),
        "a dual of 2 values", "1 points", "one value for each",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_cloud_is_refused(case):
    assert_refused(*REFUSED[case])
