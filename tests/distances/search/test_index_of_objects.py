"""An index of objects that a model encodes: an expensive distance is called on the objects, never on their features."""

from functools import cache

import numpy as np
import pytest
from cases import assert_refused
from hypothesis import given
from hypothesis import strategies as st

from semimetric import (
    BoundedDistance,
    DistanceApproximator,
    DistanceRegressor,
    FilterRefineIndex,
    LandmarkBounds,
    LandmarkFeatures,
    NeighborIndex,
    SemimetricNeighborsTransformer,
    StringFeatures,
    load,
)

LENGTH = 32  # of a series
pytestmark = pytest.mark.filterwarnings("ignore:on .* pairs of items that were set aside")  # the objects are random


def root(x, y):
    """Refuse what is no series, as features are."""
    assert x.shape == y.shape == (LENGTH,)
    return float(np.sqrt(np.abs(x - y).sum()))


def letters(x, y):
    """Refuse what is no word, and tell the two sides apart."""
    return abs(len(x) - len(y)) + 2 * len(set(y) - set(x))


def learned(distance, features, objects):
    recipe = DistanceRegressor(n_knots=3, alpha=1e-3, axioms="premetric", tables="full")
    return DistanceApproximator(distance, recipe, features=features, n_pairs=400).fit(objects)


@cache
def problem(kind):
    """Objects, a distance of them that takes nothing else, and a model of it that encodes them."""
    rng = np.random.default_rng(0)
    if kind == "series":
        series = list(np.cumsum(rng.normal(size=(70, LENGTH)), axis=1))
        return series, root, learned(root, LandmarkFeatures(n_landmarks=7), series)
    words = ["".join(rng.choice(list("abcdefgh"), n)) for n in rng.integers(1, 9, 70)]
    return words, letters, learned(letters, StringFeatures(), words)


@pytest.mark.slow
@given(
    kind=st.sampled_from(["series", "words"]),
    side=st.sampled_from(["query-first", "query-last"]),
    algorithm=st.sampled_from(["exact", "approximate", "brute"]),
    k=st.integers(1, 6),
    gone=st.sets(st.integers(0, 49), max_size=40),
)
def test_an_expensive_distance_is_that_of_the_objects(kind, side, algorithm, k, gone):
    objects, distance, model = problem(kind)
    index = NeighborIndex(model, side=side, algorithm=algorithm, rerank=distance, n_candidates=70).fit(objects[:50])
    index.remove(sorted(gone)).add(objects[50:64], ids=np.arange(50, 64))
    there = [id for id in range(64) if id not in gone]
    distances, ids = index.kneighbors(objects[64:], k)
    for q, query in enumerate(objects[64:]):
        pairs = ((query, objects[id]) if side == "query-first" else (objects[id], query) for id in there)
        want = sorted(zip([distance(*pair) for pair in pairs], there, strict=True))[:k]
        assert list(zip(distances[q].tolist(), ids[q].tolist(), strict=True)) == want
    own = index.kneighbors(n_neighbors=1)[1]
    assert not (own.ravel() == index.ids_).any()


@pytest.mark.parametrize("kind", ["series", "words"])
def test_objects_are_found_as_their_features_are(kind, tmp_path):
    objects, _, model = problem(kind)
    index, encoded = NeighborIndex(model).fit(objects), model.encode(objects)
    beside = NeighborIndex(model.semimetric_).fit(encoded)
    index.save(tmp_path / "index")
    read = load(tmp_path / "index")
    for other in (beside, read, index.with_semimetric(model)):
        asked = objects[:5] if other is not beside and other is not read else encoded[:5]
        for got, want in zip(other.kneighbors(asked, 4), index.kneighbors(objects[:5], 4), strict=True):
            np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(index.searcher(4)(objects[:5])[1], index.kneighbors(objects[:5], 4)[1])
    np.testing.assert_array_equal(
        index.radius_neighbors(objects[:1], 1.0)[1][0], beside.radius_neighbors(encoded[:1], 1.0)[1][0]
    )
    assert index.get_items(3) is objects[3]
    assert all(a is b for a, b in zip(index.get_items([5, 0]), (objects[5], objects[0]), strict=True))
    np.testing.assert_array_equal(read.get_items([5, 0]), encoded[[5, 0]])
    explained = index.explain(objects[3], n_neighbors=2)
    np.testing.assert_allclose(explained.distances, beside.explain(encoded[3], n_neighbors=2).distances)
    edges = index.explain_graph(index.kneighbors_graph(objects[:3], 2), objects[:3])
    assert len(edges) == 6
    assert index.estimate_recall(objects[:20], 3).mean == beside.estimate_recall(encoded[:20], 3).mean
    graph = SemimetricNeighborsTransformer(model, n_neighbors=2).fit(encoded).transform(encoded[:3])  # of rows of features
    np.testing.assert_array_equal(np.unique(graph.indices), np.unique(beside.kneighbors(encoded[:3], 3)[1]))


def test_bounds_and_a_learned_distance_read_the_same_objects():
    series, distance, model = problem("series")
    both = BoundedDistance(model, LandmarkBounds(distance, n_landmarks=5).fit(series[:40]))
    low, high = both.bounds_.pairwise(series[40:44], series[44:])
    want = np.clip(model.pairwise(series[40:44], series[44:]), low, high)
    np.testing.assert_array_equal(both.pairwise(series[40:44], series[44:]), want)
    np.testing.assert_allclose(both.paired(series[40:44], series[44:48]), np.diag(want))
    assert both(series[40], series[44]) == pytest.approx(want[0, 0])


THE_MODEL = ("12 features that a model made", "the fitted model in place of its semimetric_")
REFUSED = {
    "fit on features": (lambda m, o, f: NeighborIndex(m.semimetric_, rerank=f).fit(m.encode(o)), *THE_MODEL),
    "fit on objects without their model": (lambda m, o, f: NeighborIndex(m.semimetric_, rerank=f).fit(o), *THE_MODEL),
    "given later": (
        lambda m, o, f: NeighborIndex(m.semimetric_).fit(m.encode(o)).set_params(rerank=f).kneighbors(m.encode(o[:2]), 1),
        *THE_MODEL,
    ),
    "encoded queries": (lambda m, o, f: NeighborIndex(m, rerank=f).fit(o).search_encoded(m.encode(o[:2]), 1), *THE_MODEL),
    "features as objects": (
        lambda m, o, f: NeighborIndex(m, rerank=f).fit(m.encode(o)), "12 columns, as many as the features", "list(X)",
    ),
    "features as queries": (lambda m, o, f: NeighborIndex(m).fit(o).kneighbors(m.encode(o), 1), "12 columns", "list(X)"),
    "filter and refine": (lambda m, o, f: FilterRefineIndex(m.semimetric_, f).fit(m.encode(o)), *THE_MODEL),
    "filter and refine of features": (lambda m, o, f: FilterRefineIndex(m, f).fit(m.encode(o)), "12 columns", "list(X)"),
    "objects for features": (lambda m, o, f: NeighborIndex(m.semimetric_).fit(o), "32 features", "takes the objects"),
    "bounds": (lambda m, o, f: BoundedDistance(m.semimetric_, LandmarkBounds(f).fit(o)), *THE_MODEL),
    "one word": (lambda m, o, f: NeighborIndex(m).fit(o).kneighbors("abc", 1), "one text of 3 characters", "give a list"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_function_of_objects_is_never_called_on_features(name):
    act, *words = REFUSED[name]
    series = list(np.cumsum(np.random.default_rng(1).normal(size=(60, LENGTH)), axis=1))
    model = learned(root, LandmarkFeatures(n_landmarks=12), series)
    assert_refused(lambda: act(model, series, root), *words)


def test_a_saved_distance_remembers_that_its_features_were_made(tmp_path):
    words, distance, model = problem("words")
    model.semimetric_.save(tmp_path / "distance.smm")
    NeighborIndex(model).fit(words).save(tmp_path / "index")
    for d in (load(tmp_path / "distance.smm"), load(tmp_path / "index").semimetric_):
        assert d.schema.encoded
        assert_refused(
            lambda d=d: NeighborIndex(d, rerank=distance).fit(model.encode(words)), "rerank= takes the objects", "fit it again"
        )
    index = load(tmp_path / "index").set_params(rerank=distance)
    assert_refused(
        lambda: index.kneighbors(model.encode(words[:2]), 1), "A loaded index holds features alone", "without rerank="
    )


def test_rows_of_an_array_are_objects_where_they_cannot_be_features():
    series, distance, model = problem("series")
    index = NeighborIndex(model, rerank=distance, n_candidates=70).fit(np.array(series))
    assert index.kneighbors(np.array(series[:3]), 1)[1].ravel().tolist() == [0, 1, 2]
