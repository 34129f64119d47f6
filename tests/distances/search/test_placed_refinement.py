"""Answers do not depend on how places are held: to the bit, with ties, duplicates, missing values and points far outside."""

import pickle

import cases
import numpy as np
import pytest
import strategies as our
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from searches import rough_distance, search_problem

from semimetric import Grid, NeighborIndex, load
from semimetric.distances.search import refinement, segment
from semimetric.distances.search import refinement as placed_refinement


@pytest.fixture(autouse=True)
def scans_for_few(monkeypatch):
    monkeypatch.setattr(segment, "_FEW", 0)
    monkeypatch.setattr(segment, "_WORTH", 0)


def assert_same(one, two, queries, k):
    for algorithm in ("exact", "brute", "approximate"):
        found, want = (index.search(queries, k, algorithm=algorithm) for index in (one, two))
        assert_array_equal(found.ids, want.ids)
        assert_array_equal(found.distances, want.distances)
    radius = float(want.distances[0, k // 2])
    for found, want in zip(one.radius_neighbors(queries, radius), two.radius_neighbors(queries, radius), strict=True):
        for a, b in zip(found, want, strict=True):
            assert_array_equal(a, b)


@pytest.mark.parametrize("kind", cases.EMBEDDINGS)
@given(data=st.data(), seed=st.integers(0, 2**31), k=st.integers(1, 4))
@settings(max_examples=12)
def test_ties_duplicates_and_points_outside(kind, data, seed, k):
    grid = data.draw(our.grids(max_features=3, max_knots=4))
    rng, items = np.random.default_rng(seed), data.draw(our.points(grid, 24))
    items[:2] *= data.draw(st.sampled_from([1.0, 50.0, 1e6]))
    queries = np.vstack([data.draw(our.points(grid, 2)), items[:1]])
    items = items[rng.integers(0, 24, 60)]
    d = rough_distance(grid, kind=kind, seed=seed, link=data.draw(st.sampled_from(["identity", "sqrt"])))
    side, ids = data.draw(st.sampled_from(["query-first", "query-last"])), rng.permutation(60)
    one, two = (NeighborIndex(d, side=side, storage=s).fit(items, ids=ids) for s in ("uint16", "float64"))
    assert_same(one, two, queries, k)


@given(data=st.data(), seed=st.integers(0, 2**31), k=st.integers(1, 4))
@settings(max_examples=25)
def test_missing_periodic_and_categorical_features(data, seed, k):
    grid = data.draw(our.mixed_grids())
    items, queries = data.draw(our.points(grid, 24)), data.draw(our.points(grid, 3))
    items = items[np.random.default_rng(seed).integers(0, 24, 60)]
    d = rough_distance(grid, seed=seed)
    one, two = (NeighborIndex(d, storage=storage).fit(items) for storage in ("uint16", "float64"))
    assert_same(one, two, queries, k)


@pytest.mark.slow
@pytest.mark.compiled
@given(seed=st.integers(0, 2**31), n_features=st.integers(1, 40), single=st.booleans(), sampled=st.booleans())
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_many_features_and_rough_tables(seed, n_features, single, sampled, monkeypatch):
    monkeypatch.setattr(segment, "_LARGE", 0 if sampled else 65_536)
    monkeypatch.setattr(segment, "_PROBE", 50)
    rng = np.random.default_rng(seed)
    items, queries = rng.normal(size=(3000, n_features)), 1.5 * rng.normal(size=(5, n_features))
    items = items.astype(np.float32) if single else items
    d = rough_distance(Grid.fit(items[:200], n_knots=6), seed=seed)
    one, two = (NeighborIndex(d, storage=storage).fit(items) for storage in ("uint16", "float64"))
    assert_same(one, two, queries, 6)
    assert_array_equal(one.search(queries, 6).distances, one.search(queries, 6, algorithm="brute").distances)


@pytest.mark.parametrize("scale", [1e-150, 1e140])
def test_weights_of_any_size(scale):
    d, items, queries = search_problem(300)
    d = type(d)(d.embedding, d.weights * scale, d.epsilon * scale, d.feature_names)
    one, two = (NeighborIndex(d, storage=storage).fit(items) for storage in ("uint16", "float64"))
    assert_same(one, two, queries, 5)


@pytest.mark.parametrize("kind", ["singles", "pairs"])
def test_few_values_are_read(kind, monkeypatch):
    _, items, queries = search_problem(4000)
    index = NeighborIndex(rough_distance(Grid.fit(items, n_knots=4), kind=kind, low=0.05), storage="uint16").fit(items)
    index.search(queries, 10)  # how many survive is measured once
    located, read = type(index.segments_[0].points.positions).__getitem__, []

    def counted(self, rows):
        out = located(self, rows)
        read.append(len(out))
        return out

    monkeypatch.setattr(type(index.segments_[0].points.positions), "__getitem__", counted)
    found = index.search(queries, 10)
    assert 10 * len(queries) <= sum(read) < 40 * len(queries)
    assert found.refined.sum() > 2 * sum(read)


@pytest.mark.parametrize("kind", ["singles", "pairs"])
def test_answers_do_not_depend_on_the_steps(kind, monkeypatch):
    _, items, queries = search_problem(900)
    index = NeighborIndex(rough_distance(Grid.fit(items, n_knots=4), kind=kind, low=0.05), storage="uint16").fit(items)
    calls = [lambda a=a: index.search(queries, 9, algorithm=a) for a in ("exact", "brute", "approximate")]
    want = [call() for call in calls]
    monkeypatch.setattr(refinement, "_WORK", 1)  # steps of 64 items
    monkeypatch.setattr(placed_refinement, "_READ", 3)
    for call, whole in zip(calls, want, strict=True):
        assert_array_equal(call().ids, whole.ids)
        assert_array_equal(call().distances, whole.distances)


@pytest.mark.parametrize("kind", ["singles", "pairs"])
@pytest.mark.parametrize("mmap", [False, True])
def test_saved_added_to_and_copied(kind, mmap, tmp_path):
    _, items, queries = search_problem(500)
    d = rough_distance(Grid.fit(items, n_knots=4), kind=kind, low=0.05)
    one, two = (NeighborIndex(d, storage=s, n_lists=3).fit(items.astype(np.float32)) for s in ("uint16", "float64"))
    assert_same(one, two, queries, 5)
    one.save(tmp_path / "one")
    again = load(tmp_path / "one", mmap=mmap)
    assert again.storage == again.segments_[0].storage == "uint16"
    assert (again.memory_usage()["mapped"] > 0) == mmap
    assert_same(again, two, queries, 5)
    for index in (again, two):
        index.add((items[:40] * 3.0).astype(np.float32)).remove(index.ids_[[3, 501]])
    assert_same(again, two, queries, 5)
    assert_same(pickle.loads(pickle.dumps(again)), two, queries, 5)
    again.save(tmp_path / "one")
    assert_same(load(tmp_path / "one"), two, queries, 5)
    lists = 4 + 4 if kind == "singles" else 0  # bytes an item: its row and its bins
    assert sum(p.stat().st_size for p in (tmp_path / "one" / "arrays").iterdir()) < 540 * (4 * 4 + 8 + 1 + 1 + lists) + 2000
