"""The nearest under an expensive distance are those of brute force, with fewer calls; what is not proved is not claimed."""

import _thread
import threading
import warnings

import numpy as np
import pandas as pd
import pytest
from cases import assert_refused
from hypothesis import given
from hypothesis import strategies as st
from reference import nearest_by_brute_force
from sklearn.base import clone
from transport_problems import Counted, Opaque, costs, histograms, random_metric

from semimetric import (
    DistanceApproximator,
    DistanceCallError,
    DistanceRegressor,
    EarthMoversDistance,
    FilterRefineIndex,
    LandmarkBounds,
    LandmarkFeatures,
    NotSupportedError,
    Semimetric,
    SemimetricWarning,
    TransportBounds,
)
from semimetric.datasets import load_digit_histograms
from semimetric.distances.search import filter_refine


def metric_index(seed, n=20, integers=False, n_landmarks=3, learned=True, payload=None, **options):
    """An index of opaque objects under a random metric, with features that tell a little of it; its distance; queries."""
    distance = Counted(random_metric(seed, n + 4, integers))
    objects = [Opaque(k) for k in range(n + 4)]
    features = distance.table[:, :2] + 0.1 * np.random.default_rng(seed).random((n + 4, 2))
    beside = {"features": features[:n]} if learned else {}
    bounds = LandmarkBounds(distance, n_landmarks=n_landmarks, n_checked=5) if n_landmarks else None
    options = {"order": "learned" if learned else "auto"} | options
    index = FilterRefineIndex(Semimetric.l1(features) if learned else None, distance, bounds=bounds, **options)
    rng = np.random.default_rng(seed)
    ids = rng.permutation(n) * 3 if seed % 2 else np.array([f"item {k}" for k in rng.permutation(n)])
    index.fit(objects[:n], ids=ids, payload=payload, **beside)
    distance.calls.clear()
    return index, distance, objects, ({"features": features[n:]} if learned else {})


searches = {
    "seed": st.integers(0, 10_000),
    "integers": st.booleans(),
    "n_landmarks": st.sampled_from([0, 1, 4, "all"]),
    "learned": st.booleans(),
    "k": st.integers(1, 20),
}


def n_called_first(n_landmarks):
    """The calls of a query before its search."""
    return 0 if n_landmarks == "all" else n_landmarks


@given(**searches)
def test_neighbours_are_those_of_brute_force_with_ties_by_id(seed, integers, n_landmarks, learned, k):
    index, distance, objects, beside = metric_index(seed, 20, integers, n_landmarks, learned)
    found = index.search(objects[20:], k, **beside)
    made = len(distance.calls)
    assert found.n_calls.sum() == made
    assert str(found).startswith(f"{len(found.ids)} queries, ")
    few, most = found.n_calls.min(), found.n_calls.max()
    assert f"all proved; {f'{few} to {most}' if few < most else few} calls" in str(found)
    assert (found.n_calls <= 20 + 4).all()
    assert found.certified.all()
    for q in range(4):
        want = nearest_by_brute_force(distance, objects[20 + q], objects[:20], index.ids_, k)
        assert list(zip(found.distances[q].tolist(), found.ids[q], strict=True)) == want
    distances, ids = index.kneighbors(objects[20:], k, **beside)
    np.testing.assert_array_equal(distances, found.distances)
    np.testing.assert_array_equal(index.kneighbors(objects[20:], k, False, **beside), ids)


KEYS = np.array(["a", "b", "", "c"])  # "" is missing, and equals nothing.
shops = {"share": st.sampled_from([0.5, 1.0]), "size": st.sampled_from([2, 4])} | searches


def grouped_index(seed, integers, n_landmarks, learned, share, size):
    """An index whose items are in shops and on floors, a mask of some of them, and keys of the queries, some unknown."""
    rng = np.random.default_rng(seed)
    stands = {"shop": KEYS[rng.integers(0, size, 24)], "floor": rng.integers(0, 2, 24)}
    stands["shop"][23] = "unknown"
    items, asked = ({name: column[rows] for name, column in stands.items()} for rows in (slice(20), slice(20, None)))
    made = metric_index(seed, 20, integers, n_landmarks, learned, payload=items)
    return *made, rng.random(20) < share, items, asked


@pytest.mark.parametrize("by", [["shop"], ["floor", "shop"]])
@given(**shops)
def test_only_items_of_the_group_of_a_query_are_answered(by, seed, integers, n_landmarks, learned, k, share, size):
    index, distance, objects, beside, mask, items, asked = grouped_index(seed, integers, n_landmarks, learned, share, size)
    groups = {"where": mask, "by": {name: asked[name] for name in by}}
    found = index.search(objects[20:], k, **groups, **beside)
    assert found.n_calls.sum() == len(distance.calls)
    within = index.search_radius(objects[20:], 1.0, **groups, **beside)
    graph = index.kneighbors_graph(objects[20:], k, mode="distance", **groups, **beside)
    n_columns = min(k, int(mask.sum()))
    assert found.certified.all()
    assert found.ids.shape == found.distances.shape == (4, n_columns)
    for q in range(4):
        same = [r for r in range(20) if all(items[name][r] == asked[name][q] for name in by) and asked["shop"][q]]
        every = nearest_by_brute_force(distance, objects[20 + q], [objects[r] for r in same if mask[r]],
                                       index.ids_[[r for r in same if mask[r]]], 20)  # fmt: skip
        want = every[:n_columns]
        assert list(zip(found.distances[q, : len(want)].tolist(), found.ids[q, : len(want)], strict=True)) == want
        assert np.isinf(found.distances[q, len(want) :]).all()
        assert np.isin(found.ids[q, len(want) :], [-1] if index.ids_.dtype.kind == "i" else [""]).all()
        assert within.ids[q].tolist() == [i for value, i in every if value <= 1.0]
        assert graph[[q]].nnz == len(want)
        np.testing.assert_allclose(np.sort(graph[[q]].data), [value for value, _ in want])


@given(**shops)
def test_items_are_answered_by_others_of_their_group(seed, integers, n_landmarks, learned, k, share, size):
    index, distance, objects, _, mask, items, _ = grouped_index(seed, integers, n_landmarks, learned, share, size)
    k = min(k, 19)
    found, within = index.search(None, k, by="shop", where=mask), index.search_radius(None, 0.8, by="shop", where=mask)
    assert found.ids.shape == (20, min(k, max(int(mask.sum()) - 1, 0)))
    for q in range(0, 20, 3):
        others = [r for r in np.flatnonzero(mask) if r != q and items["shop"][q] and items["shop"][r] == items["shop"][q]]
        every = nearest_by_brute_force(distance, objects[q], [objects[r] for r in others], index.ids_[others], 20)
        there = np.isfinite(found.distances[q])
        assert list(zip(found.distances[q, there].tolist(), found.ids[q, there], strict=True)) == every[: found.ids.shape[1]]
        assert within.ids[q].tolist() == [i for value, i in every if value <= 0.8]


@given(extra=st.integers(0, 6), **shops)
def test_what_is_certified_of_a_group_within_a_budget_is_true(seed, integers, n_landmarks, learned, k, share, size, extra):
    index, distance, objects, beside, mask, items, asked = grouped_index(seed, integers, n_landmarks, learned, share, size)
    by, budget = {"shop": asked["shop"]}, k + n_called_first(n_landmarks) + extra
    found = index.search(objects[20:], k, by=by, where=mask, max_calls=budget, **beside)
    assert (found.n_calls <= budget).all()
    true = index.search(objects[20:], k, by=by, where=mask, **beside)
    np.testing.assert_array_equal(np.isinf(found.distances), np.isinf(true.distances))
    np.testing.assert_array_equal(found.ids[found.certified], true.ids[found.certified])
    assert found.certified[np.isinf(found.distances)].all()


def test_keys_stand_beside_the_features_or_are_features():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.random(60), "floor": rng.integers(0, 3, 60).astype(float)})
    shop = KEYS[rng.integers(0, 4, 60)]

    def expensive(a, b):
        return float(np.abs(np.subtract(a, b)).sum())

    index = FilterRefineIndex(Semimetric.l1(frame), expensive).fit(frame[:50], payload={"shop": shop[:50]})
    queries = frame[50:].assign(shop=shop[50:])
    found = index.search(queries, 4, by=["floor", "shop"])
    same = index.search(frame[50:], 4, by={"floor": frame["floor"][50:], "shop": shop[50:]})
    np.testing.assert_array_equal(found.ids, same.ids)
    assert (found.ids >= 0).any()
    for q, ids in enumerate(found.ids):
        assert (frame["floor"].to_numpy()[ids[ids >= 0]] == frame["floor"].to_numpy()[50 + q]).all()
        assert (shop[ids[ids >= 0]] == shop[50 + q]).all()
    beside = FilterRefineIndex(Semimetric.l1(frame), expensive).fit(
        frame[:50].to_numpy(), features=frame[:50], payload={"shop": shop[:50]}
    )
    again = beside.search(frame[50:].to_numpy(), 4, features=queries, by=["floor", "shop"])
    np.testing.assert_array_equal(again.ids, found.ids)


def test_few_items_of_a_group_are_called_without_landmarks():
    shops = {"shop": np.repeat(["a", "b"], [3, 17])}
    index, distance, objects, beside = metric_index(3, n_landmarks=5, payload=shops)
    found = index.search(objects[20:], 4, by={"shop": ["a", "c", None, "a"]}, **beside)
    assert found.n_calls.tolist() == [3, 0, 0, 3]
    assert len(distance.calls) == 6


@given(**searches)
def test_items_are_not_their_own_neighbours(seed, integers, n_landmarks, learned, k):
    index, distance, objects, _ = metric_index(seed, 20, integers, n_landmarks, learned)
    k = min(k, 19)
    found = index.search(None, k)
    for q in range(0, 20, 7):
        others = [r for r in range(20) if r != q]
        want = nearest_by_brute_force(distance, objects[q], [objects[r] for r in others], index.ids_[others], k)
        assert list(zip(found.distances[q].tolist(), found.ids[q], strict=True)) == want


@given(radius=st.floats(0, 1.5), **{name: searches[name] for name in ("seed", "integers", "n_landmarks", "learned")})
def test_items_within_a_radius_are_those_of_brute_force(seed, integers, n_landmarks, learned, radius):
    radius = round(4 * radius) if integers else radius
    index, distance, objects, beside = metric_index(seed, 20, integers, n_landmarks, learned)
    found = index.search_radius(objects[20:], radius, **beside)
    assert found.n_calls.sum() == len(distance.calls)
    for q in range(4):
        every = nearest_by_brute_force(distance, objects[20 + q], objects[:20], index.ids_, 20)
        want = [pair for pair in every if pair[0] <= radius]
        assert list(zip(found.distances[q].tolist(), found.ids[q].tolist(), strict=True)) == want
        assert found.undecided[q].size == 0
    np.testing.assert_array_equal(index.radius_neighbors(objects[20:], radius, False, **beside)[0], found.ids[0])
    own = index.radius_neighbors(None, radius)[1]
    assert not any(id in ids for id, ids in zip(index.ids_, own, strict=True))


@given(share=st.floats(0, 1), as_mask=st.booleans(), **searches)
def test_only_items_that_are_allowed_are_answered(seed, integers, n_landmarks, learned, k, share, as_mask):
    index, distance, objects, beside = metric_index(seed, 20, integers, n_landmarks, learned)
    mask = np.random.default_rng(seed).random(20) < share
    rows = np.flatnonzero(mask)
    found = index.search(objects[20:], k, where=mask if as_mask else index.ids_[mask].tolist(), **beside)
    assert found.ids.shape == (4, min(k, len(rows)))
    for q in range(4):
        want = nearest_by_brute_force(distance, objects[20 + q], [objects[r] for r in rows], index.ids_[rows], k)
        assert list(zip(found.distances[q].tolist(), found.ids[q], strict=True)) == want


@given(extra=st.integers(0, 12), **searches)
def test_what_is_certified_within_a_budget_is_true_and_the_budget_is_kept(seed, integers, n_landmarks, learned, k, extra):
    index, distance, objects, beside = metric_index(seed, 20, integers, n_landmarks, learned)
    budget = k + n_called_first(n_landmarks) + extra
    found = index.search(objects[20:], k, max_calls=budget, **beside)
    assert (found.n_calls <= budget).all()
    for q in range(4):
        want = nearest_by_brute_force(distance, objects[20 + q], objects[:20], index.ids_, k)
        got = list(zip(found.distances[q].tolist(), found.ids[q], strict=True))
        assert got == sorted(got)
        for rank in np.flatnonzero(found.certified[q]):
            assert got[rank] == want[rank]
        certified = found.certified[q]
        assert not (certified[1:] & ~certified[:-1]).any()  # what is proved are the first ranks


@given(extra=st.integers(1, 8), **{name: searches[name] for name in ("seed", "integers", "n_landmarks", "learned")})
def test_a_radius_within_a_budget_names_what_is_not_decided(seed, integers, n_landmarks, learned, extra):
    index, distance, objects, beside = metric_index(seed, 20, integers, n_landmarks, learned)
    found = index.search_radius(objects[20:], 0.6, max_calls=n_called_first(n_landmarks) + extra, **beside)
    for q in range(4):
        every = nearest_by_brute_force(distance, objects[20 + q], objects[:20], index.ids_, 20)
        within = {id for value, id in every if value <= 0.6}
        assert {*found.ids[q].tolist()} <= within
        assert within <= {*found.ids[q].tolist()} | {*found.undecided[q].tolist()}


@pytest.mark.slow
@given(
    seed=st.integers(0, 1000),
    k=st.integers(1, 8),
    learned=st.booleans(),
    kind=st.sampled_from(["metric", "thresholded", "squared"]),
)
def test_histograms_under_the_earth_movers_distance(seed, k, learned, kind):
    pytest.importorskip("ot")
    cost, X = costs(seed, 6, kind), histograms(seed, 24, 6)
    exact = EarthMoversDistance(cost)
    index = FilterRefineIndex("l1" if learned else None, exact, bounds=TransportBounds(cost, n_learned=3)).fit(X[:20])
    found = index.search(X[20:], k)
    assert found.certified.all()
    for q in range(4):
        want = nearest_by_brute_force(exact, X[20 + q], X[:20], range(20), k)
        assert list(zip(found.distances[q].tolist(), found.ids[q].tolist(), strict=True)) == want


@pytest.mark.slow
def test_few_calls_find_the_nearest_digits():
    pytest.importorskip("ot")
    digits = load_digit_histograms()
    X, ground = digits.histograms, np.linalg.norm(digits.bin_coordinates[:, None] - digits.bin_coordinates, axis=2)
    exact = EarthMoversDistance(ground)
    bounds = TransportBounds(ground, bin_coordinates=digits.bin_coordinates, n_learned=0)
    n_calls = {}
    for duals, rerank in ((True, exact), (False, lambda x, y: exact(x, y))):
        index = FilterRefineIndex(None, rerank, bounds=bounds).fit(X[:400])
        found = index.search(X[400:404], 5)
        n_calls[duals] = found.n_calls.mean()
        for q in range(2):
            want = nearest_by_brute_force(exact, X[400 + q], X[:400], range(400), 5)
            assert list(zip(found.distances[q].tolist(), found.ids[q].tolist(), strict=True)) == want
    assert n_calls[True] < 40
    assert n_calls[True] < 0.7 * n_calls[False]


def test_a_good_estimate_and_bounds_save_most_calls():
    rng = np.random.default_rng(0)
    X = rng.random((600, 3))
    calls = []

    def euclid(x, y):
        calls.append(1)
        return float(np.linalg.norm(x - y))

    index = FilterRefineIndex(Semimetric.l1(X), euclid, bounds=LandmarkBounds(euclid, n_landmarks=8)).fit(X[:500])
    calls.clear()
    found = index.search(X[500:520], 3)
    assert len(calls) == found.n_calls.sum()
    assert found.n_calls.mean() < 100
    true = np.sort(np.linalg.norm(X[500:520, None] - X[:500], axis=2), axis=1)
    np.testing.assert_allclose(found.distances, true[:, :3])


def test_several_bounds_are_read_together():
    index, distance, objects, beside = metric_index(3, n_landmarks=2)
    both = FilterRefineIndex(
        index.semimetric,
        distance,
        bounds=[LandmarkBounds(distance, n_landmarks=2), LandmarkBounds(distance, n_landmarks=5, random_state=1)],
    ).fit(objects[:20], features=index.items_.features)
    found = both.search(objects[20:], 3, **beside)
    for q in range(4):
        want = nearest_by_brute_force(distance, objects[20 + q], objects[:20], range(20), 3)
        assert found.distances[q].tolist() == [value for value, _ in want]


def test_a_condition_on_features_is_read_where_there_are_features():
    X = np.random.default_rng(0).random((50, 2))
    euclid = lambda x, y: float(np.linalg.norm(x - y))  # noqa: E731
    index = FilterRefineIndex(Semimetric.l1(X), euclid).fit(X)
    name = index.semimetric_.feature_names[0]
    found = index.search(X[:3], 4, where=f"{name} > 0.5")
    assert (X[found.ids, 0] > 0.5).all()
    without = FilterRefineIndex(None, euclid).fit(X)
    assert_refused(
        lambda: without.search(X[:3], where="x0 > 0.5"), "'x0 > 0.5'", "condition on features", "mask", error=NotSupportedError
    )


@pytest.mark.parametrize("n_jobs", [1, 4])
def test_threads_change_nothing(n_jobs):
    index, _, objects, beside = metric_index(8, n_jobs=n_jobs)
    alone, _, _, _ = metric_index(8)
    for got, want in zip(index.search(objects[20:], 4, **beside), alone.search(objects[20:], 4, **beside), strict=True):
        np.testing.assert_array_equal(got, want)


def test_the_graph_has_the_neighbours():
    index, _, objects, beside = metric_index(7)
    found = index.search(objects[20:], 3, **beside)
    graph = index.kneighbors_graph(objects[20:], 3, mode="distance", **beside)
    assert graph.shape == (4, 20)
    for q in range(4):
        np.testing.assert_allclose(np.sort(graph[[q]].data), found.distances[q])


ANSWERS = {
    "NaN": (lambda: np.nan, "returned nan"),
    "negative": (lambda: -0.5, "returned -0.5"),
    "an array": (lambda: np.ones(3), "shape (3,)"),
    "an error": (lambda: [][0], "IndexError"),
}


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("name", ANSWERS)
def test_what_is_no_distance_is_told_and_no_call_is_lost(name, n_jobs):
    answer, said = ANSWERS[name]
    index, distance, objects, beside = metric_index(5, n_jobs=n_jobs, n_landmarks=2)
    fails, made = 12, []

    def once(x, y):
        made.append((x, y))
        return answer() if len(made) == fails else distance(x, y)

    index.rerank = once
    error = assert_refused(
        lambda: index.search(objects[20:], 4, **beside), said, "evaluated so far are in", error=DistanceCallError
    )
    assert len(index.distances_) >= fails - 1
    for pairs, distances in ((index.pairs_, index.distances_), (error.pairs, error.distances)):
        np.testing.assert_array_equal(distances, distance.table[20 + pairs[:, 0], pairs[:, 1]])


def test_a_failure_at_a_landmark_keeps_the_calls_before():
    index, distance, objects, beside = metric_index(5, n_landmarks=4)
    table = distance.table.copy()
    distance.table[22, index.bounds_[0].landmarks_[2]] = np.nan
    error = assert_refused(
        lambda: index.search(objects[20:], 3, **beside), "query 2", "its bounds could not", error=DistanceCallError
    )
    assert error.pair == (2, int(index.bounds_[0].landmarks_[2]))
    assert (error.pairs[:, 0] == 2).sum() == 2
    np.testing.assert_array_equal(error.distances, table[20 + error.pairs[:, 0], error.pairs[:, 1]])


def test_ctrl_c_keeps_the_calls_that_were_made():
    index, distance, objects, beside = metric_index(5, n_landmarks=2)

    def interrupted(x, y):
        if len(distance.calls) == 12:
            _thread.interrupt_main()
            threading.Event().wait(0.05)
        return distance(x, y)

    index.rerank = interrupted
    with pytest.raises(KeyboardInterrupt):
        index.search(objects[20:], 4, **beside)
    assert len(index.distances_) >= 10


def test_bounds_of_another_distance_are_found_out():
    index, distance, objects, beside = metric_index(4)
    index.rerank = lambda x, y: 0.25 * distance(x, y)
    assert_refused(
        lambda: index.search(objects[20:], 4, **beside), "its bounds are", "not of this distance", error=DistanceCallError
    )
    index.rerank = lambda x, y: 4.0 * distance(x, y)
    assert_refused(
        lambda: index.search(objects[20:], 4, **beside), "its bounds are", "not of this distance", error=DistanceCallError
    )


REFUSED = {
    "no distance": (lambda i, o, b: i.set_params(rerank=None).fit(o), "rerank=None", "must be callable"),
    "no bounds": (lambda i, o, b: i.set_params(bounds=3.0).fit(o), "bounds=3.0", "LandmarkBounds, TransportBounds"),
    "not bounds": (lambda i, o, b: i.set_params(bounds=["triangle"]).fit(o), "bounds='triangle'", "a list of such"),
    "features lacking": (lambda i, o, b: i.search(o[20:]), "features beside them", "give features= of X too"),
    "features of others": (lambda i, o, b: i.search(o[20:22], **b), "2 objects", "4 rows"),
    "features of none": (
        lambda i, o, b: i.set_params(semimetric=None, order="auto").fit(o, **b),
        "no semimetric=",
        "drop them",
    ),
    "features in fit": (lambda i, o, b: i.fit(o, features=b["features"]), "24 objects", "one row for each"),
    "too many neighbours": (lambda i, o, b: i.search(o[20:], 21, **b), "n_neighbors=21", "20 items"),
    "too few calls": (lambda i, o, b: i.search(o[20:], 5, max_calls=7, **b), "max_calls=7", "at least 8: 5 for the neighbours"),
    "unknown order": (lambda i, o, b: i.set_params(order="best").fit(o), "order='best'", "'auto', 'learned', 'bounds'"),
    "order of none": (lambda i, o, b: i.set_params(semimetric=None).fit(o), "order='learned'", "give one, or order='bounds'"),
    "order of no bounds": (
        lambda i, o, b: i.set_params(order="bounds", bounds=None).fit(o),
        "order='bounds'",
        "give some, or order='learned'",
    ),
    "price of an unknown order": (lambda i, o, b: i.expected_calls(order="auto"), "order='auto'", "'learned', 'bounds'"),
    "no calls": (lambda i, o, b: i.set_params(max_calls=0).fit(o), "max_calls=0", "an integer >= 1"),
    "no such column": (lambda i, o, b: i.search(o[20:], by="shop", **b), "by= names 'shop'", "payload= of fit adds"),
    "keys of fewer queries": (
        lambda i, o, b: i.search(o[20:], by={i.semimetric_.feature_names[0]: [1.0]}, **b),
        "1 values",
        "a value for each query",
    ),
    "keys of the items": (
        lambda i, o, b: i.search(by={i.semimetric_.feature_names[0]: [1.0]}),
        "X=None asks for the items",
        "which have theirs",
    ),
    "no names of keys": (lambda i, o, b: i.search_radius(o[20:], by=3, **b), "by=3", "is required"),
    "no radius": (lambda i, o, b: i.search_radius(o[20:], -1.0, **b), "radius=-1.0", "finite number"),
    "ids that repeat": (
        lambda i, o, b: i.fit(o[:2], ids=[1, 1], features=b["features"][:2]),
        "id 1 is given twice",
        "distinct",
    ),
    "unknown form": (lambda i, o, b: i.kneighbors_graph(o[20:], mode="far", **b), "mode='far'", "connectivity"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_searched_is_refused_before_any_call(name):
    call, said, required = REFUSED[name]
    index, distance, objects, beside = metric_index(5)
    assert_refused(lambda: call(index, objects, beside), said, required)
    assert distance.calls == []


def test_an_index_that_fails_to_fit_stays_what_it_was():
    index, _, objects, beside = metric_index(6)
    before = index.search(objects[20:], 3, **beside)
    assert_refused(
        lambda: index.fit([1.0, 2.0], features=beside["features"][:2]), "AttributeError", "", error=DistanceCallError
    )
    np.testing.assert_array_equal(index.search(objects[20:], 3, **beside).ids, before.ids)


def test_it_is_cloned_with_what_the_learned_distance_has_learned():
    index, *_ = metric_index(6)
    again = clone(index)
    assert not hasattr(again, "items_")
    assert again.semimetric.feature_names == index.semimetric.feature_names
    assert "FilterRefineIndex" in repr(again)


@given(seed=st.integers(0, 10_000), integers=st.booleans(), k=st.integers(1, 10))
def test_where_all_items_are_landmarks_each_call_bounds_the_others(seed, integers, k):
    index, distance, objects, _ = metric_index(seed, 20, integers, "all", learned=False)
    table = distance.table
    for q in range(20, 24):
        called = []
        while True:  # the nearest by its lower bound, ties by id, until none can be as near as the k-th
            lower = [
                max(
                    (abs(table[q, c] - table[c, r]) - 1e-9 * (not integers) * (table[q, c] + table[c, r]) for c in called),
                    default=0.0,
                )
                for r in range(20)
            ]
            following = (
                min((max(lower[r], 0.0), index._ranks[r], r) for r in range(20) if r not in called)
                if len(called) < 20
                else None
            )
            known = sorted((table[q, c], index._ranks[c]) for c in called)
            if following is None or (len(called) >= k and known[k - 1] < following[:2]):
                break
            called.append(following[2])
        distance.calls.clear()
        index.search([objects[q]], k)
        assert [item for _, item in distance.calls] == called


def test_items_as_queries_take_no_call_where_all_are_landmarks():
    index, distance, objects, _ = metric_index(3, 20, n_landmarks="all", learned=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not index.search(None, 4).n_calls.any()
    assert not distance.calls
    assert index.n_calls_ == 20 * 21 // 2 + 5 - np.sum(np.diff(np.random.default_rng(0).integers(0, 20, (5, 2))) == 0)
    other = FilterRefineIndex(None, Counted(distance.table), bounds=LandmarkBounds(distance, n_landmarks="all"))
    assert other.fit(objects[:20]).search(None, 4).n_calls.all()  # of which it is not known that they are the same distance


def test_landmarks_of_another_distance_are_no_answers():
    table = random_metric(0, 20)
    objects = [Opaque(k) for k in range(20)]
    half = FilterRefineIndex(None, Counted(table), bounds=LandmarkBounds(Counted(table / 2), n_landmarks=15)).fit(objects[:16])
    with pytest.raises(DistanceCallError, match="the bounds are not of this distance"):
        half.search(objects[16:], 3)
    wrapped = FilterRefineIndex(None, Counted(table), bounds=LandmarkBounds(Counted(table), n_landmarks=15)).fit(objects[:16])
    found = wrapped.search(objects[16:], 3)
    np.testing.assert_array_equal(found.distances, np.sort(table[16:, :16], axis=1)[:, :3])
    n_landmarks = len(wrapped.bounds_[0].landmarks_)
    assert len(wrapped.pairs_) == found.n_calls.sum() - 4 * n_landmarks  # those to landmarks were calls of another callable


def test_what_was_called_is_what_the_search_has_called():
    index, distance, _, _ = metric_index(0, learned=False)
    found = index.search(None, 2)
    assert len(index.pairs_) == len(distance.calls) == found.n_calls.sum()


def words(n, seed=0):
    return ["".join(word) for word in np.random.default_rng(seed).choice(list("abcd"), (n, 8))]


def hamming(x, y):
    return sum(a != b for a, b in zip(x, y, strict=True))


@pytest.mark.filterwarnings("ignore:on 30 pairs of items that were set aside")  # the words are random
@pytest.mark.parametrize("cache", [None, {}])
def test_a_model_of_objects_makes_their_features_and_every_call_is_counted(cache):
    items, queries, calls = words(90), words(5, 1), []

    def counted(x, y):
        calls.append((x, y))
        return hamming(x, y)

    features = LandmarkFeatures(n_landmarks=6, cache=cache)
    model = DistanceApproximator(counted, DistanceRegressor(n_knots=3, alpha=1e-3), features=features, n_pairs=300).fit(items)
    calls.clear()
    index = FilterRefineIndex(model, counted, bounds=LandmarkBounds(counted, n_landmarks=4, n_checked=20)).fit(items)
    assert index.n_calls_ == len(calls)
    assert index.bounds_[0].n_calls_ < index.n_calls_ or cache is not None
    calls.clear()
    found = index.search(queries, 3)
    assert found.n_calls.sum() == len(calls)
    beside = FilterRefineIndex(model, hamming).fit(items, features=model.encode(items))
    assert beside.n_calls_ == 0
    given = beside.search(queries, 3, features=model.encode(queries))
    for other in (given, FilterRefineIndex(None, hamming).fit(items).search(queries, 3)):
        np.testing.assert_array_equal(found.distances, other.distances)
        np.testing.assert_array_equal(found.ids, other.ids)
    assert index.search(None, 2).certified.all()
    if cache is None:
        assert_refused(lambda: index.search(queries, 3, max_calls=12), "at least 13: 3 for", "10 to landmarks", "allow more")
    assert_refused(
        lambda: index.search(queries, 3, features=np.zeros((5, 6))), "features= are given, and fit had none", "drop them"
    )


def alike_index(n):
    """An index of n items that are all as far from one another, of which bounds discard none; what it has called."""
    calls = []

    def all_alike(x, y):
        calls.append(x)
        return float(x != y)

    index = FilterRefineIndex(None, all_alike, bounds=LandmarkBounds(all_alike, n_landmarks=3)).fit(range(n))
    calls.clear()
    return index, calls


def test_bounds_that_discard_nothing_are_told_once():
    n = 60
    index, _ = alike_index(n)
    with pytest.warns(SemimetricWarning, match="discarded 0 of 120 items for 2 queries, .* took 6 calls .* leave bounds= out"):
        index.search([100, 101], 2)
    for again in (lambda: index.search([100], 2), lambda: index.search_radius([100], 0.5)):
        again()  # a warning is an error in tests
    index.fit(range(n))
    with pytest.warns(SemimetricWarning, match="discarded 0 of"):
        index.search_radius([100], 0.5)
    tight = FilterRefineIndex(None, hamming, bounds=LandmarkBounds(hamming, n_landmarks=6)).fit(words(200))
    tight.search(words(3, 1), 2)
    index.fit(range(n))
    index.search([100], 50)  # where nearly all are asked for nothing can be discarded
    index.search([100], 2, max_calls=10)  # nor is it known where a search was stopped


def test_bounds_that_discard_nothing_are_told_of_before_all_queries_are_answered(monkeypatch):
    monkeypatch.setattr(filter_refine, "_EARLY", 150)
    index, calls = alike_index(60)
    with pytest.raises(SemimetricWarning, match="discarded 0 of 180 items for 3 queries"):
        index.search(range(100, 120), 2)
    assert len(calls) == 3 * 60


@pytest.mark.parametrize("k", [2, 15])
def test_bounds_that_discard_nothing_are_told_of_before_one_query_is_answered(monkeypatch, k):
    monkeypatch.setattr(filter_refine, "_EARLY", 20)
    index, calls = alike_index(60)
    with pytest.raises(SemimetricWarning, match="discarded 0 of 60 items for 1 quer"):
        index.search([100], k)
    assert len(calls) == 3 + max(20, 2 * k) - 1
    index.fit(range(60))
    index.search([100], 40)  # of which no item can be discarded before they are known


@pytest.mark.parametrize("n_landmarks", [4, "all"])
@pytest.mark.parametrize("learned", [False, True])
def test_the_calls_of_new_queries_are_as_expected(learned, n_landmarks):
    rng = np.random.default_rng(0)
    X, queries = rng.random((400, 2)), rng.random((100, 2))

    def euclid(x, y):
        return float(np.hypot(*(np.asarray(x) - np.asarray(y))))

    bounds = LandmarkBounds(euclid, n_landmarks=n_landmarks)
    index = FilterRefineIndex("l1" if learned else None, euclid, bounds=bounds).fit(X)
    expected, found = index.expected_calls(3, max_calls=4_000), index.search(queries, 3)
    assert expected.n_queries > 30
    assert expected.n_stopped <= 1
    both = np.hypot(expected.standard_error, found.n_calls.std() / 10)
    assert abs(expected.calls - found.n_calls.mean()) < 4 * both
    assert expected == index.expected_calls(3, max_calls=4_000)._replace(
        seconds_per_call=expected.seconds_per_call, seconds_per_query=expected.seconds_per_query
    )
    assert f"{expected.calls:.4g} ± " in str(expected)
    assert 0 < expected.seconds_per_call < expected.seconds_by_brute_force


@pytest.mark.slow
@given(radius=st.floats(0, 1.5), **{name: searches[name] for name in ("seed", "integers", "n_landmarks", "k")})
def test_no_order_takes_fewer_calls_than_that_of_bounds(seed, integers, n_landmarks, k, radius):
    n_landmarks = max(n_called_first(n_landmarks), 1)
    learned, _, objects, beside = metric_index(seed, 20, integers, n_landmarks)
    index, *_ = metric_index(seed, 20, integers, n_landmarks, order="auto")
    assert (learned.order_, index.order_) == ("learned", "bounds")
    found, other = (each.search(objects[20:], k, **beside) for each in (index, learned))
    np.testing.assert_array_equal(found.ids, other.ids)
    assert (found.n_calls <= other.n_calls).all()
    within = [each.search_radius(objects[20:], radius, **beside).n_calls for each in (index, learned)]
    np.testing.assert_array_equal(*within)
    assert index.expected_calls(k % 19 + 1).calls <= index.expected_calls(k % 19 + 1, order="learned").calls + 1e-9


def test_a_limit_of_calls_takes_the_learned_order():
    table, objects = random_metric(3, 44), [Opaque(k) for k in range(44)]
    distance = Counted(table)

    def found(order, **limit):
        index = FilterRefineIndex(Semimetric.l1(table), distance, bounds=LandmarkBounds(distance, n_landmarks=2), order=order)
        return index.fit(objects[:40], features=table[:40]).search(objects[40:], 4, features=table[40:], **limit)

    for limit in ({}, {"max_calls": 9}):
        by_auto, by_other = found("auto", **limit), found("learned" if limit else "bounds", **limit)
        for got, want in zip(by_auto, by_other, strict=True):
            np.testing.assert_array_equal(got, want)
    few, by_bounds = found("auto", max_calls=9), found("bounds", max_calls=9)
    assert few.distances.sum() < by_bounds.distances.sum()


def test_without_bounds_or_a_learned_distance_there_is_one_order():
    X = np.random.default_rng(0).random((30, 2))
    euclid = lambda x, y: float(np.hypot(*(x - y)))  # noqa: E731
    assert FilterRefineIndex("l1", euclid).fit(X).order_ == "learned"
    assert FilterRefineIndex(None, euclid).fit(X).order_ == "bounds"


def test_in_the_order_of_bounds_queries_need_no_features():
    calls = []

    def counted(x, y):
        calls.append((x, y))
        return hamming(x, y)

    items = words(60)
    features = LandmarkFeatures(counted, n_landmarks=6).fit(items)
    model = DistanceApproximator(hamming, DistanceRegressor(n_knots=3, alpha=1e-3), features=features, n_pairs=300)
    index = FilterRefineIndex(model.fit(items), hamming, bounds=LandmarkBounds(hamming, n_landmarks=3)).fit(items)
    calls.clear()
    found = index.search(words(5, 1), 3)
    assert calls == []
    limited = index.search(words(5, 1), 3, max_calls=60)
    assert len(calls) == 5 * 6
    np.testing.assert_array_equal(found.ids, limited.ids)


def test_queries_that_the_limit_stops_count_as_calls_for_all_items():
    index, distance, _, _ = metric_index(0, n=50, n_landmarks=0)
    finished = index.expected_calls(2, max_calls=120)
    assert len(distance.calls) == 3 * 49  # the last query is not cut off
    assert (finished.n_queries, finished.n_stopped, finished.calls) == (3, 0, 49)
    expected = index.expected_calls(2, max_calls=40)
    assert len(distance.calls) == 3 * 49 + 40
    assert (expected.n_queries, expected.n_stopped, expected.calls) == (1, 1, 50)
    assert "stopped, and counted as calls for all items: 1" in str(expected)
    assert "bounds discard little here" in str(expected)
    assert_refused(lambda: index.expected_calls(50), "n_neighbors=50", "49")
    assert_refused(lambda: index.expected_calls(max_calls=0), "max_calls=0", ">= 1")


@pytest.mark.parametrize("with_dual", [False, True])
def test_a_call_costs_what_the_distance_takes_and_not_its_checks(monkeypatch, with_dual):
    clock = [0.0]

    def takes(seconds, answer):
        clock[0] += seconds
        return answer

    class Distance:
        def __call__(self, x, y):
            return takes(0.25, float(abs(x - y)))

    if with_dual:
        Distance.with_dual = lambda self, x, y: (self(x, y), None)
    monkeypatch.setattr(filter_refine, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(filter_refine.UserDistance, "one_with_dual", checked_for(lambda: takes(8.0, None)))
    index = FilterRefineIndex(None, Distance()).fit(range(8))
    expected = index.expected_calls(2)
    assert (expected.calls, expected.seconds_per_call) == (7, 0.25)
    assert expected.seconds_per_query == pytest.approx(7 * 8.25)
    assert expected.seconds_by_brute_force == 2.0
    assert str(expected).endswith("the distance is cheap. Call it for all items")


def checked_for(check):
    """The call of a distance with checks that take some time."""
    call = filter_refine.UserDistance.one_with_dual

    def checked(*arguments):
        check()
        return call(*arguments)

    return checked


def test_what_a_cheap_distance_costs_is_said(capsys):
    cheap = filter_refine.ExpectedCalls(1_000, 5, 10, 20.0, 1.0, 0, 5e-7, 1e-3)
    assert "A call takes 0.5 µs, a query 1 ms, and calls for all items 500 µs: the distance is cheap." in str(cheap)
    assert str(cheap._replace(seconds_per_call=1e-3, seconds_per_query=0.03)).endswith("and calls for all items 1 s")
    calls = []
    index = FilterRefineIndex(None, lambda x, y: calls.append(x) or hamming(x, y), verbose=True).fit(words(20))
    assert "calls a query of 20 items" in capsys.readouterr().err
    assert index.n_calls_ == len(calls) > 0


def test_functions_see_the_same_rows_of_a_frame_everywhere():
    rng = np.random.default_rng(0)
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 90, 60), "D")
    job = pd.Series(rng.choice(["cook", "smith"], 60), dtype=object).where(rng.random(60) < 0.8)
    frame = pd.DataFrame({"x": rng.random(60), "job": job, "day": days, "new": rng.random(60) < 0.5})
    seen = []

    def distance(a, b):
        seen.extend((a, b))
        return abs(a[0] - b[0]) + (a[1] != b[1]) + abs((a[2] - b[2]).days) / 10 + abs(int(a[3]) - int(b[3]))

    model = DistanceApproximator(distance, n_pairs=300, effort="fast").fit(frame)
    query = frame[job.isna()].iloc[:1]
    found = [FilterRefineIndex(d, distance, bounds=[]).fit(frame).search(query, 3) for d in (model, None)]
    assert found[0].distances[0, 0] == 0
    np.testing.assert_array_equal(found[0].distances, found[1].distances)
    np.testing.assert_array_equal(found[0].ids, found[1].ids)
    assert {type(a[1]) for a in seen if a.ndim == 1} == {str, type(None)}  # others are batches, which were tried
    other = query.assign(job="baker")
    for d in (model, None):
        seen.clear()
        FilterRefineIndex(d, distance, bounds=[]).fit(frame).search(other, 3)
        assert "baker" in {a[1] for a in seen}


def test_rows_of_a_frame_of_numbers_are_numbers():
    frame = pd.DataFrame({"a": [1, 2, 3], "b": pd.array([True, None, False], dtype="boolean")})
    rows = []
    FilterRefineIndex(None, lambda x, y: rows.append(x) or float(x[0] != y[0])).fit(frame).search(frame[:1], 1)
    assert rows[0].dtype == np.float64
    np.testing.assert_array_equal(rows[0], [1.0, 1.0])


def test_the_first_call_which_may_compile_is_not_timed(monkeypatch):
    clock, n_calls = [0.0], [0]

    def distance(x, y):
        n_calls[0] += 1
        clock[0] += 100.0 if n_calls[0] == 1 else 0.5
        return float(abs(x - y))

    monkeypatch.setattr(filter_refine, "perf_counter", lambda: clock[0])
    expected = FilterRefineIndex(None, distance).fit(range(12)).expected_calls(2)
    assert expected.seconds_per_call == 0.5
    assert expected.seconds_per_query == pytest.approx(11 * 0.5)


def test_cells_may_be_arrays_and_gaps_of_numbers_are_nan_everywhere():
    series = [np.arange(3.0), np.arange(3.0) + 1, np.arange(3.0) + 5]
    frame = pd.DataFrame({"id": range(3), "series": series})
    index = FilterRefineIndex(None, lambda x, y: float(np.abs(x[1] - y[1]).sum())).fit(frame)
    assert index.search(frame[:1], 2).ids.tolist() == [[0, 1]]
    numbers = pd.DataFrame({"a": [0.0, np.nan, 2.0, 3.0] * 10, "b": np.arange(40.0), "c": [True, False] * 20})
    seen = []

    def distance(x, y):
        seen.append(x)
        return float(np.nan_to_num(np.abs(x - y), nan=1.0).sum())

    model = DistanceApproximator(distance, n_pairs=100, effort="fast").fit(numbers)
    for d in (model, None):
        FilterRefineIndex(d, distance, bounds=[]).fit(numbers).search(numbers[:1], 2)
    assert {x.dtype for x in seen} == {np.dtype(float)}
