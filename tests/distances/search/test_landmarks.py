"""Bounds by landmarks hold for every metric, and a distance that is none is refused with its three objects."""

import numpy as np
import pytest
from cases import assert_refused
from hypothesis import given
from hypothesis import strategies as st
from transport_problems import Counted, Opaque, random_metric

from semimetric import DistanceCallError, LandmarkBounds, SemimetricWarning
from semimetric.distances.search.pivots import discard_rate, incremental_selection


@given(seed=st.integers(0, 10_000), n=st.integers(1, 14), n_landmarks=st.integers(1, 6), integers=st.booleans())
def test_no_bound_is_violated(seed, n, n_landmarks, integers):
    table = random_metric(seed, n + 3, integers)
    objects = [Opaque(k) for k in range(n + 3)]
    fitted = LandmarkBounds(Counted(table), n_landmarks=n_landmarks, random_state=seed).fit(objects[:n])
    low, high = fitted.pairwise(objects)
    slack = 0.0 if integers else 1e-12
    assert (low <= table + slack).all()
    assert (high >= table - slack).all()
    assert fitted.tolerance_ == (0.0 if integers or n == 1 else 1e-9)
    landmarks = fitted.landmarks_
    np.testing.assert_allclose(low[:, landmarks], table[:, landmarks], rtol=1e-8)  # to a landmark nothing is lost
    np.testing.assert_allclose(high[:, landmarks], table[:, landmarks], rtol=1e-8)


@given(seed=st.integers(0, 1000))
def test_calls_are_those_that_are_said(seed):
    distance = Counted(random_metric(seed, 20))
    objects = [Opaque(k) for k in range(20)]
    fitted = LandmarkBounds(distance, n_landmarks=4, n_checked=10).fit(objects[:15])
    assert fitted.n_calls_ == len(distance.calls)
    n_landmarks = len(fitted.landmarks_)
    assert n_landmarks * 15 <= fitted.n_calls_ <= n_landmarks * 15 + 10 + 2 * max(15, 4**2)
    distance.calls.clear()
    at = fitted.at(objects[17])
    assert (at.n_calls, fitted.n_query_calls, len(distance.calls)) == (n_landmarks,) * 3
    assert at.known == {k: distance.table[17, k] for k in fitted.landmarks_.tolist()}
    assert fitted.at_item(3).n_calls == 0
    assert len(distance.calls) == n_landmarks


@given(seed=st.integers(0, 10_000), n=st.integers(1, 12), integers=st.booleans())
def test_each_distance_to_an_item_bounds_those_to_others_where_all_are_landmarks(seed, n, integers):
    table = random_metric(seed, n + 3, integers)
    objects = [Opaque(k) for k in range(n + 3)]
    fitted = LandmarkBounds(Counted(table), n_landmarks="all", n_checked=20).fit(objects[:n])
    np.testing.assert_array_equal(fitted.distances_, table[:n, :n])
    low, high = fitted.pairwise(objects)
    assert (low <= table + 1e-12).all()
    assert (high >= table - 1e-12).all()
    rows, at = np.arange(n), fitted.at(objects[n])
    assert (at.n_calls, at.known, fitted.n_query_calls) == (0, {}, 0)
    assert not at.lower(rows).any()
    assert np.isinf(at.upper()).all()
    for k in range(n):
        lower = at.proof(k, table[n, k], None)(rows)
        assert (lower <= table[n, :n]).all()
        np.testing.assert_allclose(lower, np.abs(table[n, k] - table[k, :n]), atol=0 if integers else 1e-8)


@pytest.mark.parametrize(("geometry", "n_landmarks"), [("metric", 6), ("metric", "all"), ("hilbert", 6)])
def test_no_pair_is_called_twice(geometry, n_landmarks):
    objects, seen = list(np.random.default_rng(0).random((50, 3))), []

    def euclid(x, y):
        seen.append((x.tobytes(), y.tobytes()))
        return float(np.linalg.norm(x - y))

    LandmarkBounds(euclid, n_landmarks=n_landmarks, geometry=geometry, n_checked=0).fit(objects)
    assert len(set(seen)) == len(seen)


@given(seed=st.integers(0, 10_000), n=st.integers(1, 12), count=st.integers(1, 6))
def test_each_landmark_raises_the_mean_bound_most(seed, n, count):
    table = random_metric(seed, n)
    chosen = incremental_selection(table, count, np.random.default_rng(0)).tolist()
    assert 1 <= len(chosen) <= min(count, n)
    assert len(set(chosen)) == len(chosen)

    def total(landmarks):
        return sum(max(abs(table[x, k] - table[y, k]) for k in landmarks) for x in range(n) for y in range(x))

    for k in range(len(chosen)):
        best = max(total([*chosen[:k], other]) for other in range(n))
        assert total(chosen[: k + 1]) == pytest.approx(best)
    if len(chosen) < min(count, n):
        assert total(chosen) == pytest.approx(max(total([*chosen, other]) for other in range(n)))


@given(seed=st.integers(0, 10_000), n=st.integers(4, 12))
def test_the_discard_rate_is_that_of_pairs_one_by_one(seed, n):
    table, landmarks = random_metric(seed, n), np.array([0, 2])
    others = [k for k in range(n) if k not in landmarks]
    found = []
    for x in others:
        nearest = min((table[x, y] for y in others if y != x), default=np.inf)
        found += [max(abs(table[x, k] - table[y, k]) for k in landmarks) > nearest for y in others if y != x]
    assert discard_rate(table, landmarks) == pytest.approx(np.mean(found))


@pytest.fixture
def all_alike():
    """A distance that is 1 between all items, and its calls."""
    calls = []

    def distance(x, y):
        calls.append((x, y))
        return float(x != y)

    return distance, calls


def test_landmarks_that_discard_nothing_are_told_before_the_most_calls(all_alike):
    all_alike, calls = all_alike
    with pytest.warns(SemimetricWarning, match="at landmarks discards 0.00% of the pairs of 40 sampled items"):
        LandmarkBounds(all_alike).fit(range(400))
    assert len(calls) > 16 * 400
    calls.clear()

    def stopped(x, y):
        return all_alike(x, y) / (len(calls) <= 40 * 39 // 2)

    with pytest.warns(SemimetricWarning, match="discards 0.00%"):
        assert_refused(lambda: LandmarkBounds(stopped).fit(range(400)), "ZeroDivisionError", "", error=DistanceCallError)


def test_one_landmark_is_kept_where_none_discards_a_pair_of_the_first_items(all_alike):
    distance, calls = all_alike
    with pytest.warns(SemimetricWarning, match="0.00% of the pairs of 75 sampled items.*one landmark is kept"):
        fitted = LandmarkBounds(distance).fit(range(3000))
    assert len(fitted.landmarks_) == 1
    assert len(calls) < 75 * 74 // 2 + 3000 + 500
    assert fitted.bounds(5, 6) == (0.0, 2.0)


@pytest.mark.parametrize("geometry", ["metric", "hilbert"])
def test_items_that_coincide_are_one_landmark(geometry):
    fitted = LandmarkBounds(lambda x, y: abs(x - y), n_landmarks=5, geometry=geometry).fit([1.0, 1.0, 1.0])
    assert len(fitted.landmarks_) == 1
    assert fitted.bounds(1.0, 4.0) == (pytest.approx(3.0), pytest.approx(3.0))


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_threads_change_nothing(n_jobs):
    objects = [Opaque(k) for k in range(40)]
    fitted = LandmarkBounds(Counted(random_metric(5, 40)), n_landmarks=5, n_jobs=n_jobs).fit(objects)
    assert (
        fitted.landmarks_.tolist()
        == LandmarkBounds(Counted(random_metric(5, 40)), n_landmarks=5).fit(objects).landmarks_.tolist()
    )


def test_a_broken_triangle_is_refused_with_the_three_objects():
    def squared(x, y):
        return (x - y) ** 2

    error = assert_refused(
        lambda: LandmarkBounds(squared, n_landmarks=3).fit([0.0, 1.0, 2.0, 5.0]),
        "breaks the triangle inequality",
        "a metric is required",
    )
    words = str(error)
    rows = [int(part) for part in words.split("items ")[1].split(" have")[0].replace(" and", ",").split(", ")]
    x, z, y = (np.array([0.0, 1.0, 2.0, 5.0])[k] for k in rows)
    assert squared(x, y) > squared(x, z) + squared(z, y)


@pytest.mark.parametrize("seed", range(5))
def test_a_triangle_of_items_that_are_no_landmarks_is_found_by_sampling(seed):
    table = random_metric(seed, 30)
    first = LandmarkBounds(Counted(table), n_landmarks=2, n_checked=400, random_state=seed).fit([Opaque(k) for k in range(30)])
    i, j = [k for k in range(30) if k not in first.landmarks_][:2]
    table[i, j] = table[j, i] = 50.0
    broken = LandmarkBounds(Counted(table), n_landmarks=2, n_checked=4000, random_state=seed)
    assert_refused(lambda: broken.fit([Opaque(k) for k in range(30)]), f"Opaque({i})", "a metric is required", "triangle")


def test_an_asymmetric_distance_and_one_that_is_not_0_at_an_object_itself_are_refused():
    assert_refused(
        lambda: LandmarkBounds(lambda x, y: max(y - x, 0.5 * (x - y))).fit([0.0, 1.0, 3.0]), "not symmetric", "a metric"
    )
    assert_refused(
        lambda: LandmarkBounds(lambda x, y: abs(x - y) + 1.0).fit([0.0, 1.0, 3.0]), "to itself is 1 and not 0", "a metric"
    )


def test_a_tolerance_of_the_distances_themselves_allows_anything():
    bounds = LandmarkBounds(lambda x, y: (x - y) ** 2, n_landmarks="all", tolerance=1.0).fit([0.0, 1.0, 3.0])
    assert not bounds.at(2.0).proof(0, 4.0, None)(np.arange(3)).any()


def test_of_all_landmarks_sampled_pairs_are_checked():
    def fit(distance):
        return LandmarkBounds(distance, n_landmarks="all").fit([0.0, 1.0, 3.0, 4.5])

    assert_refused(lambda: fit(lambda x, y: max(y - x, 0.5 * (x - y))), "not symmetric", "a metric")
    assert_refused(lambda: fit(lambda x, y: (x - y) ** 2), "breaks the triangle inequality", "a metric is required")
    assert_refused(lambda: fit(lambda x, y: abs(x - y) + 0.5), "to itself is 0.5 and not 0", "a metric is required")
    table = np.ones((60, 60)) - np.eye(60)
    table[3, 40] = table[40, 3] = 5.0
    hidden = LandmarkBounds(Counted(table), n_landmarks="all", n_checked=0)
    assert_refused(lambda: hidden.fit([Opaque(k) for k in range(60)]), "have d(3, 0) = 1, d(0, 40) = 1", "d(3, 40) = 5")


@pytest.mark.parametrize("given", [{"n_landmarks": "most"}, {"n_landmarks": "all", "geometry": "hilbert"}])
def test_all_is_the_one_word_for_landmarks_of_a_metric(given):
    assert_refused(
        lambda: LandmarkBounds(abs, **given).fit([1.0, 2.0]),
        f"n_landmarks='{given['n_landmarks']}'",
        '"all" with geometry="metric"',
    )


def test_an_object_may_be_at_a_distance_of_itself_that_is_rounding():
    def rounded(x, y):
        return abs(x - y) + 1e-17

    bounds = LandmarkBounds(rounded, n_landmarks=2).fit([0.0, 0.5, 3.25])
    assert bounds.distances_.min() == 1e-17


BROKEN = {
    "NaN": (lambda: np.nan, "returned nan"),
    "infinite": (lambda: np.inf, "returned inf"),
    "negative": (lambda: -1.0, "returned -1.0"),
    "rounding": (lambda: -2.2e-16, "return max(value, 0.0) if that is rounding"),
    "an array": (lambda: np.ones(2), "array of shape (2,)"),
    "one in an array": (lambda: np.ones((1, 1)), "array of shape (1, 1)"),
    "text": (lambda: "near", "str 'near'"),
    "nothing": (lambda: None, "NoneType"),
    "an error": (lambda: 1 / 0, "ZeroDivisionError"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_no_distance_is_told_and_the_calls_before_are_kept(name):
    answer, said = BROKEN[name]
    calls = []

    def distance(x, y):
        calls.append((x, y))
        return abs(x - y) if len(calls) != 8 else answer()

    fitting = LandmarkBounds(distance, n_landmarks=3)
    error = assert_refused(lambda: fitting.fit([0.0, 1.0, 3.0, 4.0, 7.0]), said, "evaluated so far", error=DistanceCallError)
    assert len(error.distances) == len(error.pairs) == 7
    places = np.array([0.0, 1.0, 3.0, 4.0, 7.0])
    np.testing.assert_array_equal(error.distances, np.abs(places[error.pairs[:, 0]] - places[error.pairs[:, 1]]))
    assert calls[7] == tuple(places[list(error.pair)])
    assert not hasattr(fitting, "landmarks_")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"n_landmarks": 0}, "n_landmarks=0"),
        ({"geometry": "ptolemaic"}, "geometry='ptolemaic'"),
        ({"n_checked": -1}, "n_checked=-1"),
        ({"tolerance": "much"}, "tolerance="),
    ],
)
def test_parameters_are_checked_before_any_call(wrong, said):
    distance = Counted(random_metric(0, 5))
    assert_refused(lambda: LandmarkBounds(distance, **wrong).fit([Opaque(k) for k in range(5)]), said, "")
    assert distance.calls == []


@pytest.mark.parametrize("objects", ["words", {"a": 1}, {1, 2}, 3.0, np.array(1.0)])
def test_what_is_no_list_of_objects_is_refused(objects):
    assert_refused(lambda: LandmarkBounds(lambda x, y: 0.0).fit(objects), "X is", "give a list of objects")


def test_what_cannot_be_called_is_refused():
    assert_refused(
        lambda: LandmarkBounds("levenshtein").fit([1.0]), "distance='levenshtein'", "must be callable", "function of two"
    )


def test_a_query_whose_distances_are_no_integers_is_bounded_with_room_for_rounding():
    items = np.arange(60.0)
    fitted = LandmarkBounds(lambda x, y: abs(x - y), n_landmarks=4).fit(list(items))
    assert fitted.tolerance_ == 0.0
    queries = np.random.default_rng(0).random(50) * 60
    exact = np.abs(queries[:, None] - items)
    for query, distances in zip(queries, exact, strict=True):
        assert (fitted.lower(query) <= distances).all()
        assert (fitted.upper(query) >= distances).all()
    given = LandmarkBounds(lambda x, y: abs(x - y), n_landmarks=4, tolerance=0.0).fit(list(items))
    assert any((given.lower(query) > distances).any() for query, distances in zip(queries, exact, strict=True))


@pytest.mark.parametrize("scale", [1e17, 1e300])
def test_floats_so_large_that_all_are_integers_are_rounded_too(scale):
    places = np.random.default_rng(0).random(40) * scale
    fitted = LandmarkBounds(lambda x, y: abs(x - y), n_landmarks=4).fit(list(places))
    low, high = fitted.pairwise(list(places))
    exact = np.abs(places[:, None] - places)
    assert fitted.tolerance_ > 0.0
    assert (low <= exact).all()
    assert (high >= exact).all()


def test_a_distance_that_is_0_but_for_rounding_is_told_what_to_give():
    X = np.random.default_rng(1).normal(size=(60, 5))

    def angle(x, y):
        return float(np.arccos(np.clip(x @ y / np.linalg.norm(x) / np.linalg.norm(y), -1, 1))) + 1e-8

    assert_refused(lambda: LandmarkBounds(angle).fit(X), "to itself is", "If that is rounding", "give tolerance=1e-06")
    LandmarkBounds(angle, tolerance=1e-6).fit(X)
