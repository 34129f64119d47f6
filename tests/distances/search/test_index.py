"""Search finds what looking at every item finds, to the bit, whatever the algorithm, the distance and the order of events."""

from concurrent.futures import ThreadPoolExecutor

import cases
import numpy as np
import pytest
import strategies as our
from cases import assert_refused
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from searches import rough_distance, search_problem

from semimetric import ConcaveLink, DistanceRegressor, Grid, NeighborIndex, Semimetric, Tables
from semimetric.distances.pairs.full_tables import PairEmbedding
from semimetric.distances.search import segment


@pytest.fixture(autouse=True)
def scans_for_few(monkeypatch):
    """Small sets are scanned too."""
    monkeypatch.setattr(segment, "_FEW", 0)
    monkeypatch.setattr(segment, "_WORTH", 0)


LINKS = ["identity", "sqrt", 0.6, 1.4, ConcaveLink((0.5, 2.0), (2.0, 1.0, 0.05))]


def answers(d, queries, items, k, side="query-first"):
    """The k nearest by all distances, ties to the first: the slow twin."""
    every = d.pairwise(queries, items) if side == "query-first" else d.pairwise(items, queries).T
    sums = d.link_function.invert(every)  # which are exact to rounding; a power of a tiny sum is tinier than that
    order = np.argsort(np.round(sums, 12), axis=1, kind="stable")[:, :k]
    return np.take_along_axis(every, order, axis=1), order


def same_answers(d, index, queries, items, k, side="query-first", **options):
    distances, ids = index.kneighbors(queries, k, **options)
    want, _ = answers(d, queries, items, k, side)
    sums_of = d.link_function.invert  # the sum before the link is what is exact to rounding
    assert_allclose(sums_of(distances), sums_of(want), rtol=1e-9, atol=1e-12)
    own = [d.paired(*((q, items[i]) if side == "query-first" else (items[i], q))) for q, i in zip(
        np.repeat(queries[:, None], k, axis=1), ids, strict=True)]  # fmt: skip
    assert_allclose(sums_of(distances), sums_of(np.array(own)), rtol=1e-9, atol=1e-12)
    assert (np.diff(distances, axis=1) >= 0).all()
    tied = (np.diff(distances, axis=1) == 0) & d.link_function.straight  # ties are of the sum
    assert (np.diff(ids, axis=1)[tied] > 0).all()


@pytest.mark.parametrize("kind", cases.EMBEDDINGS)
@given(data=st.data(), seed=st.integers(0, 2**31), k=st.integers(1, 4))
@settings(max_examples=25)
def test_exact_is_brute_is_the_slow_twin(kind, data, seed, k):
    grid = data.draw(our.grids(max_features=3, max_knots=4))
    items, queries = data.draw(our.points(grid, 24)), data.draw(our.points(grid, 3))
    items = items[np.random.default_rng(seed).integers(0, 24, 60)]  # duplicates
    link, side = data.draw(st.sampled_from(LINKS)), data.draw(st.sampled_from(["query-first", "query-last"]))
    d = rough_distance(grid, kind=kind, seed=seed, link=link)
    index = NeighborIndex(d, side=side).fit(items)
    same_answers(d, index, queries, items, k, side)
    exact, brute = index.search(queries, k), index.search(queries, k, algorithm="brute")
    assert_array_equal(exact.ids, brute.ids)
    assert_array_equal(exact.distances, brute.distances)


@pytest.mark.slow
@pytest.mark.compiled
@given(seed=st.integers(0, 2**31), n_features=st.integers(1, 40))
@settings(max_examples=20)
def test_exact_is_brute_on_many_features_and_rough_tables(seed, n_features):
    rng = np.random.default_rng(seed)
    items, queries = rng.normal(size=(3000, n_features)), 1.5 * rng.normal(size=(4, n_features))
    d = rough_distance(Grid.fit(items[:200], n_knots=6), seed=seed)
    index = NeighborIndex(d).fit(items)
    exact, brute = index.search(queries, 5), index.search(queries, 5, algorithm="brute")
    assert_array_equal(exact.ids, brute.ids)
    assert_array_equal(exact.distances, brute.distances)
    radius = float(exact.distances[0, 2])
    distances, ids = index.radius_neighbors(queries, radius)
    every = d.pairwise(queries, items)
    for q in range(len(queries)):
        assert_array_equal(np.sort(ids[q]), np.sort(np.flatnonzero(every[q] <= radius * (1 + 1e-12))))
        assert (np.diff(distances[q]) >= 0).all()


@pytest.mark.parametrize("probe", [10, 100, 10_000])
def test_an_item_that_may_not_be_answered_never_is(probe, monkeypatch):
    """The first row, at the query itself but removed or left out by a filter, on the sampled path."""
    monkeypatch.setattr(segment, "_LARGE", 0)
    monkeypatch.setattr(segment, "_PROBE", probe)
    for seed in range(4):
        d, items, _ = search_problem(3000, seed=seed)
        items[0] *= 4
        index = NeighborIndex(d).fit(items)
        for k in (1, 2, 5):
            for where in (np.arange(3000) > 0, None):
                one = index.search(items[:1], k, where=where)
                brute = index.search(items[:1], k, where=where, algorithm="brute")
                assert_array_equal(one.ids, brute.ids)
                assert_array_equal(one.distances, brute.distances)
        gone = NeighborIndex(d).fit(items).remove([0])
        assert_array_equal(gone.kneighbors(items[:1], 3)[1], index.kneighbors(items[:1], 3, where=np.arange(1, 3000))[1])


def test_a_frame_must_have_the_columns_of_the_distance():
    pandas = pytest.importorskip("pandas")
    d, items, _ = search_problem(60)
    named = Semimetric(d.embedding, d.weights, d.epsilon, tuple("abcd"))
    frame = pandas.DataFrame(items, columns=list("abcd"))
    NeighborIndex(named).fit(frame).estimate_recall(frame, 3)
    assert_refused(lambda: NeighborIndex(named).fit(frame[list("dcba")]), "the columns d, c, b, a", "their order differs")


def test_a_table_that_is_held_and_one_that_is_not_do_not_share_cells():
    rng = np.random.default_rng(0)
    items = rng.random((100, 2))
    whole = PairEmbedding(Grid.fit(items, n_knots=4), [(0, 1)])
    part = cases.EMBEDDINGS["touched"](whole.grid)
    one, two = (Semimetric(e, rng.random(e.n_columns), np.ones(2), ("a", "b")) for e in (whole, part))
    assert_refused(lambda: NeighborIndex(one).fit(items).with_semimetric(two), "another grid", "fit a new NeighborIndex")
    assert_refused(lambda: NeighborIndex(two).fit(items).with_semimetric(one), "another grid", "fit a new NeighborIndex")
    distances, ids = NeighborIndex(two).fit(items).radius_neighbors([[9.0, 9.0]], 0.0)
    assert len(ids[0]) == len(distances[0]) == 0


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e140])
def test_positions_and_weights_of_any_size(scale):
    rng = np.random.default_rng(0)
    items = rng.normal(size=(400, 3))
    items[:, 2] = 1e6 + 1e-9 * items[:, 2]
    grid = Grid([np.linspace(-1, 1, 4)] * 3)
    plain = rough_distance(grid, low=0.05)
    d = Semimetric(PairEmbedding(grid), scale * plain.weights, scale * plain.epsilon, plain.feature_names)
    index = NeighborIndex(d, n_lists=5).fit(items)
    exact, brute = index.search(items[:5] + 0.1, 4), index.search(items[:5] + 0.1, 4, algorithm="brute")
    assert_array_equal(exact.ids, brute.ids)
    _, near = index.radius_neighbors(np.array([[1e40, 0.0, 0.0]]), scale)
    assert len(near[0]) == 0


def test_many_threads_may_ask_a_fresh_index():
    d, items, queries = search_problem(3000)
    want = NeighborIndex(d).fit(items).kneighbors(queries, 5)
    index = NeighborIndex(d).fit(items)
    with ThreadPoolExecutor(8) as pool:
        answers = [pool.submit(index.kneighbors, queries, 5) for _ in range(24)]
        for answer in answers:
            assert_array_equal(answer.result()[1], want[1])


@pytest.mark.parametrize("probe", [10, 100, 10_000])
def test_a_range_guessed_from_a_sample_changes_nothing(probe, monkeypatch):
    """Guesses that are too small, about right, and too large."""
    monkeypatch.setattr(segment, "_LARGE", 0)
    monkeypatch.setattr(segment, "_PROBE", probe)
    for seed in range(3):
        d, items, queries = search_problem(3000, seed=seed)
        index, mask = NeighborIndex(d).fit(items), np.random.default_rng(seed).random(3000) < 0.3
        for where in (None, mask):
            for q in queries:
                one = index.search(q[None], 5, where=where)
                brute = index.search(q[None], 5, where=where, algorithm="brute")
                assert_array_equal(one.ids, brute.ids)
                assert_array_equal(one.distances, brute.distances)
                assert one.refined < 3000


def test_batch_is_single_and_threads_are_one():
    d, items, queries = search_problem()
    index = NeighborIndex(d).fit(items)
    batch = index.kneighbors(np.tile(queries, (12, 1)), 6)
    one = [index.kneighbors(q[None], 6) for q in queries]
    assert_array_equal(batch[0][:7], np.vstack([distances for distances, _ in one]))
    assert_array_equal(batch[1][:7], np.vstack([ids for _, ids in one]))
    threads = NeighborIndex(d, n_jobs=2).fit(items).kneighbors(np.tile(queries, (12, 1)), 6)
    assert_array_equal(batch[0], threads[0])
    assert_array_equal(batch[1], threads[1])


@pytest.mark.parametrize("kind", ["int", "str"])
@given(seed=st.integers(0, 2**31))
@settings(max_examples=15)
def test_adding_and_removing_is_a_fresh_index(kind, seed):
    rng = np.random.default_rng(seed)
    d, items, queries = search_problem(seed=seed % 7)
    name = (lambda i: i) if kind == "int" else (lambda i: np.char.add("item ", i.astype(str)))
    ids = rng.permutation(len(items))
    index = NeighborIndex(d).fit(items[:200], ids=name(ids[:200]))
    there = set(range(200))
    for start in range(200, 500, 60):
        rows = np.arange(start, min(start + 60, 500))
        index.add(items[rows], ids=name(ids[rows]))
        there |= set(rows.tolist())
        gone = rng.choice(sorted(there), 45, replace=False)
        index.remove(name(ids[gone]))
        there -= set(gone.tolist())
    rows = np.array(sorted(there))
    fresh = NeighborIndex(d).fit(items[rows], ids=name(ids[rows]))
    assert index.n_samples_fit_ == len(rows)
    assert set(index.ids_) == set(fresh.ids_)
    for algorithm in ("exact", "brute"):
        got, want = index.kneighbors(queries, 9, algorithm=algorithm), fresh.kneighbors(queries, 9, algorithm=algorithm)
        assert_array_equal(got[0], want[0])
        assert_array_equal(got[1], want[1])


def test_an_id_can_come_back():
    d, items, queries = search_problem()
    index = NeighborIndex(d, rerank=cases.cityblock).fit(items[:100]).remove([3]).add(queries[:1], ids=[3])
    assert index.kneighbors(queries[:1], 1)[1].item() == 3
    assert index.kneighbors(queries[:1], 1)[0].item() == 0


def test_where_is_an_index_of_those_items():
    d, items, queries = search_problem()
    index, mask = NeighborIndex(d).fit(items), np.arange(500) % 3 == 0
    want = NeighborIndex(d).fit(items[mask], ids=np.flatnonzero(mask)).kneighbors(queries, 5)
    for where in (mask, np.flatnonzero(mask), set(np.flatnonzero(mask).tolist())):
        for algorithm in ("exact", "brute"):
            got = index.kneighbors(queries, 5, where=where, algorithm=algorithm)
            assert_array_equal(got[0], want[0])
            assert_array_equal(got[1], want[1])
    distances, ids = index.radius_neighbors(queries, 0.6, where=mask)
    assert sum(map(len, ids)) > 0
    assert all(mask[i].all() for i in ids)
    assert index.kneighbors(queries, 5, where=[7, 9])[1].shape == (7, 2)
    assert index.kneighbors(queries, 5, where=[])[0].shape == (7, 0)
    assert index.remove([0]).kneighbors(queries, 5, where=[0, 9])[1].tolist() == [[9]] * 7


def test_without_queries_no_item_is_its_own_neighbour():
    d, items, _ = search_problem(100)
    items[7] = items[3]
    index = NeighborIndex(d).fit(items)
    distances, ids = index.kneighbors(n_neighbors=3)
    assert not (ids == np.arange(100)[:, None]).any()
    assert ids[7, 0] == 3
    assert ids[3, 0] == 7
    graph = index.kneighbors_graph(n_neighbors=3, mode="distance")
    assert_array_equal(graph.toarray()[np.arange(100)[:, None], ids], distances)
    radius, near = index.radius_neighbors(radius=0.5)
    assert not any(i in part for i, part in enumerate(near))
    assert len(radius) == 100


def test_the_approximate_search_finds_nearly_all_and_says_so():
    d, items, queries = search_problem(4000, 6)
    index = NeighborIndex(d).fit(items)
    recall = index.estimate_recall(items[:100] + 0.01, 10)
    assert recall.mean > 0.97
    assert recall.p5 <= recall.mean
    assert "recall@10" in str(recall)
    few, every = index.estimate_recall(queries, n_candidates=10), index.estimate_recall(queries, n_candidates=4000)
    assert few.mean < every.mean == 1.0
    got = index.search(queries, 10, algorithm="approximate")
    assert (got.refined == 100).all()
    assert_allclose(got.distances, [d.paired(np.tile(q, (10, 1)), items[i]) for q, i in zip(queries, got.ids, strict=True)])


def test_lists_are_for_the_approximate_search_only():
    rng = np.random.default_rng(0)
    centres = 3 * rng.normal(size=(20, 6))
    items = centres[rng.integers(0, 20, 4000)] + rng.normal(size=(4000, 6))
    queries, mask = items[:50] + 0.05, rng.random(4000) < 0.02
    d = rough_distance(Grid.fit(items, n_knots=5), low=0.05)
    index, flat = NeighborIndex(d, n_lists=40, n_probe=6).fit(items), NeighborIndex(d).fit(items)
    assert 10 < len(index.segments_[0].lists.codes) <= 40
    for where in (None, mask):
        for x, y in zip(index.kneighbors(queries, 8, where=where), flat.kneighbors(queries, 8, where=where), strict=True):
            assert_array_equal(x, y)
    recalls = [index.set_params(n_probe=n).estimate_recall(queries).mean for n in (1, 6, 40)]
    assert recalls[0] < recalls[1] <= recalls[2] == flat.estimate_recall(queries).mean
    assert recalls[1] > 0.9
    distances, _ = index.set_params(n_probe=1).kneighbors(queries, 8, where=mask, algorithm="approximate")
    assert np.isfinite(distances).all()  # where the nearest lists hold too few, all are visited


def test_rerank_answers_with_the_true_distance():
    d, items, queries = search_problem()
    index = NeighborIndex(d, rerank=cases.cityblock, n_candidates=500).fit(items)
    true = np.abs(queries[:, None] - items).sum(axis=2)
    distances, ids = index.kneighbors(queries, 4)
    assert_array_equal(ids, np.argsort(true, axis=1)[:, :4])
    assert_allclose(distances, np.sort(true, axis=1)[:, :4])


def test_another_distance_on_the_same_grid_keeps_the_codes():
    d, items, queries = search_problem()
    index = NeighborIndex(d).fit(items)
    other = Semimetric(d.embedding, d.weights[::-1].copy(), d.epsilon, d.feature_names)
    shared = index.with_semimetric(other)
    assert shared.segments_[0].codes is index.segments_[0].codes
    want = NeighborIndex(other).fit(items).kneighbors(queries, 5)
    assert_array_equal(shared.kneighbors(queries, 5)[1], want[1])
    another = rough_distance(Grid.fit(items, n_knots=4))
    assert_refused(lambda: index.with_semimetric(another), "another grid", "fit a new NeighborIndex")


@pytest.mark.slow
@pytest.mark.compiled
def test_more_groups_than_columns_are_packed():
    rng = np.random.default_rng(0)
    for n_features in (300, 600, 1100):
        items = rng.normal(size=(400, n_features))
        d = rough_distance(Grid.fit(items, n_knots=3), seed=n_features)
        index = NeighborIndex(d).fit(items)
        assert index.layout_.n_columns <= 256
        exact, brute = index.search(items[:5] + 0.1, 3), index.search(items[:5] + 0.1, 3, algorithm="brute")
        assert_array_equal(exact.ids, brute.ids)


def test_base_distances_and_directions_are_searched_too():
    rng = np.random.default_rng(0)
    items, pairs = rng.normal(size=(400, 3)), rng.integers(0, 400, (900, 2))
    y = cases.warped_sum(items[pairs[:, 0]], items[pairs[:, 1]])
    model = DistanceRegressor(
        n_knots=4,
        alpha=1e-3,
        preprocessor=items,
        directions="pca",
        tables=Tables(groups=[(0, 1), (2,), (3,)], base_distances=[cases.cityblock]),
    ).fit(pairs, y)
    d = model.semimetric_
    index = NeighborIndex(d).fit(items)
    queries = rng.normal(size=(5, 3))
    same_answers(d, index, queries, items, 4)
    exact, brute = index.search(queries, 4), index.search(queries, 4, algorithm="brute")
    assert_array_equal(exact.ids, brute.ids)
    assert (exact.refined <= brute.refined).all()


BAD = {
    "k of 0": (lambda i, q: i.kneighbors(q, 0), "n_neighbors=0", "integer >= 1"),
    "k too large": (lambda i, q: i.kneighbors(q, 501), "n_neighbors=501", "there are 500", "ask for fewer"),
    "NaN": (lambda i, q: i.kneighbors(q * np.nan), "row 0 of X", "a missing value"),
    "features": (lambda i, q: i.kneighbors(q[:, :2]), "2 features", "4 features"),
    "algorithm": (lambda i, q: i.kneighbors(q, algorithm="tree"), "algorithm='tree'", "'exact'"),
    "mask": (lambda i, q: i.kneighbors(q, where=np.ones(3, bool)), "mask of shape (3,)", "500 items"),
    "ids that are no ids": (lambda i, q: i.kneighbors(q, where=[0.5]), "float64", "integers or strings"),
    "strings": (lambda i, q: i.kneighbors(q, where=["a"]), "those of the index integers", "give the same"),
    "there already": (lambda i, q: i.add(q, ids=np.arange(7)), "id 0", "is in the index already"),
    "twice": (lambda i, q: i.add(q, ids=[600] * 7), "id 600", "twice", "distinct"),
    "too few ids": (lambda i, q: i.add(q, ids=[600]), "1 ids for 7 rows", "one for each"),
    "not there": (lambda i, q: i.remove([3, 900]), "id 900", "not in the index", "nothing was removed"),
    "radius": (lambda i, q: i.radius_neighbors(q, np.inf), "radius=inf", "finite"),
    "no distance": (lambda i, q: NeighborIndex("euclidean").fit(q), "no sum over features", "faiss.IndexFlatL2"),
    "side": (lambda i, q: NeighborIndex(i.semimetric, side="left").fit(q), "side='left'", "'query-first'"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused(name):
    d, items, queries = search_problem()
    call, *words = BAD[name]
    assert_refused(lambda: call(NeighborIndex(d).fit(items), queries), *words, error=ValueError)


def test_an_index_can_be_emptied_and_filled_again():
    d, items, queries = search_problem(50)
    index = NeighborIndex(d).fit(items).remove(np.arange(50))
    assert_refused(lambda: index.kneighbors(queries, 1), "n_neighbors=1", "there are 0 items")
    assert all(len(part) == 0 for part in index.radius_neighbors(queries, 1.0, return_distance=False))
    index.add(items[:5])
    assert index.kneighbors(items[:5], 1)[1].ravel().tolist() == [0, 1, 2, 3, 4]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["singles", "pairs", "warped"])
def test_a_soak_of_many_queries_has_no_mismatch(kind):
    """1e5 queries in all, over rough models of many shapes, with duplicates and points far outside."""
    rng = np.random.default_rng(0)
    for seed in range(35):
        n_features = int(rng.integers(1, 12 if kind != "pairs" else 5))
        items = np.round(rng.normal(size=(4000, n_features)), int(rng.integers(1, 6)))
        items[:50] *= 10
        queries = np.vstack([items[rng.integers(0, 4000, 500)], 1.5 * rng.normal(size=(500, n_features))])
        grid = Grid.fit(items[1000:1500], n_knots=int(rng.integers(2, 9)))
        index = NeighborIndex(rough_distance(grid, kind=kind, seed=seed), n_jobs=2).fit(items)
        exact, brute = index.search(queries, 10), index.search(queries, 10, algorithm="brute")
        assert_array_equal(exact.ids, brute.ids)
        assert_array_equal(exact.distances, brute.distances)


def test_the_names_of_a_frame_stay_under_another_distance():
    pandas = pytest.importorskip("pandas")
    d, items, queries = search_problem()
    items, queries = (pandas.DataFrame(rows, columns=list(d.feature_names)) for rows in (items, queries))
    index = NeighborIndex(d).fit(items)
    other = Semimetric(d.embedding, d.weights[::-1].copy(), d.epsilon, d.feature_names)
    shared = index.with_semimetric(other)
    assert shared.feature_names_in_.tolist() == index.feature_names_in_.tolist() == list(d.feature_names)
    want = NeighborIndex(other).fit(items)
    for one, two in zip(shared.kneighbors(queries, 5), want.kneighbors(queries, 5), strict=True):
        assert_array_equal(one, two)
    for asked in (index, shared):
        call = lambda i=asked: i.kneighbors(queries[queries.columns[::-1]], 5)  # noqa: E731
        assert_refused(call, "feature names should match", "order", error=ValueError)


def test_the_recall_on_many_rows_is_that_on_a_seeded_sample_of_them():
    d, items, _ = search_problem(600)
    index = NeighborIndex(d, random_state=7).fit(items)
    asked = items[:90] + 0.02
    rows = np.sort(np.random.default_rng(7).choice(90, 25, replace=False))
    got = index.estimate_recall(asked, 8, max_queries=25, n_candidates=8)
    limits, _ = answers(d, asked[rows], items, 8)
    distances, _ = index.kneighbors(asked[rows], 8, algorithm="approximate", n_candidates=8)
    shares = (distances <= limits[:, -1:] * (1 + 1e-12)).mean(axis=1)
    assert 0.2 < got.mean < 1
    assert got.mean == pytest.approx(shares.mean())
    every, enough = (index.estimate_recall(asked, 8, max_queries=n, n_candidates=8) for n in (90, 1000))
    assert every == enough
    assert_refused(lambda: index.estimate_recall(asked, max_queries=0), "max_queries=0", "integer >= 1")


@pytest.mark.parametrize("large", [0, 10**9], ids=["by range", "by number"])
@pytest.mark.parametrize("algorithm", ["exact", "approximate", "brute"])
def test_where_every_item_is_as_near_the_smallest_ids_are_answered(algorithm, large, monkeypatch):
    """Tables that are constant order no item, so all items are refined."""
    monkeypatch.setattr(segment, "_LARGE", large)
    d, items, queries = search_problem(900)
    flat = Semimetric(d.embedding, np.zeros(len(d.weights)), np.zeros(4), d.feature_names)
    index = NeighborIndex(flat, n_candidates=20).fit(items, ids=np.arange(900)[::-1])
    where = np.arange(900) % 3 == 0
    for asked, mask in ((queries, None), (queries[:1], None), (queries, where)):
        distances, ids = index.kneighbors(asked, 4, algorithm=algorithm, where=mask)
        allowed = index.ids_ if mask is None else index.ids_[mask]
        assert_array_equal(ids, np.tile(np.sort(allowed)[:4], (len(asked), 1)))
        assert not distances.any()


@pytest.mark.parametrize("n_lists", ["auto", 12])
def test_the_approximate_search_answers_with_all_that_may_be_where_these_are_few(n_lists):
    d, items, queries = search_problem(900)
    index = NeighborIndex(d, n_lists=n_lists, n_probe=1, n_candidates=4).fit(items)
    for allowed in ([3], [3, 500], [1, 2, 3, 700]):
        got = index.kneighbors(queries, 4, algorithm="approximate", where=allowed)
        want = index.kneighbors(queries, 4, algorithm="brute", where=allowed)
        assert got[1].shape == (len(queries), len(allowed))
        for one, two in zip(got, want, strict=True):
            assert_array_equal(one, two)


def test_the_recall_of_no_answers_is_refused():
    d, items, queries = search_problem(50)
    index = NeighborIndex(d).fit(items)
    assert_refused(lambda: index.estimate_recall(queries, 3, where=[]), "7 queries and no neighbours", "where=")


def test_a_fit_that_is_interrupted_leaves_the_index_as_it_was(monkeypatch):
    d, items, queries = search_problem(50)
    other, fewer, _ = search_problem(30, n_features=2)
    index = NeighborIndex(d).fit(items)
    want = index.kneighbors(queries, 5)

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(segment.Segment, "build", interrupted)
    for call in (lambda: index.set_params(semimetric=other).fit(fewer), lambda: index.add(items)):
        with pytest.raises(KeyboardInterrupt):
            call()
        for one, two in zip(index.kneighbors(queries, 5), want, strict=True):
            assert_array_equal(one, two)


@pytest.mark.parametrize("storage", ["float64", "uint16"])
@pytest.mark.parametrize("side", ["query-first", "query-last"])
def test_queries_and_items_far_outside_on_either_side(storage, side):
    """Slopes that differ by up to fifty times between the sides, and on one side none."""
    items = 5.0 * np.random.default_rng(1).normal(size=(600, 4))
    slopes = np.array([[0.1, 5.0], [3.0, 0.0], [0.0, 0.0], [1.0, 0.5]])
    rough = rough_distance(Grid([np.linspace(-2, 2, 5)] * 4), low=0.05)
    d = Semimetric(rough.embedding, rough.weights, slopes, rough.feature_names)
    index = NeighborIndex(d, side=side, storage=storage).fit(items)
    queries = 8.0 * np.random.default_rng(2).normal(size=(12, 4))
    want, _ = answers(d, queries, items, 7, side)
    for algorithm in ("exact", "brute"):
        assert_allclose(index.kneighbors(queries, 7, algorithm=algorithm)[0], want, rtol=1e-9)
    distances, _ = index.radius_neighbors(queries, want[:, -1].max())
    every = d.pairwise(queries, items)
    assert sorted(np.concatenate(distances)) == pytest.approx(np.sort(every[every <= want[:, -1].max()]))
