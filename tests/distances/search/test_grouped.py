"""Searches within groups: the nearest of equal key, whatever the size of the groups and the way in which they are searched."""

from contextlib import contextmanager
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest
from cases import assert_refused, cityblock
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from searches import rough_distance, search_problem

from semimetric import ConcaveLink, Grid, NeighborIndex, Semimetric, ShardedIndex, load
from semimetric.distances.search import grouped, segment
from semimetric.distances.search import index as index_module
from semimetric.distances.search.items import as_graph

N = 3_000
D, ITEMS, _ = search_problem(N)
RNG = np.random.default_rng(3)
QUERIES = RNG.normal(size=(60, 4))
SHOPS = np.array(["big", "half", "small", "tiny", "none here", "", None], dtype=object)
FRAME = pd.DataFrame(
    {
        "shop": RNG.choice(SHOPS, N, p=[0.5, 0.3, 0.15, 0.02, 0.0, 0.02, 0.01]),
        "day": np.where(RNG.random(N) < 0.1, np.nan, RNG.integers(0, 4, N)),
        "open": RNG.random(N) < 0.9,
    }
)
ASKED = pd.DataFrame({"shop": RNG.choice(SHOPS, 60), "day": RNG.integers(0, 5, 60).astype(float), "open": True})
WAYS = {  # settings under which groups are searched in one way
    "refined": {"_FEW": N, "_FEW_ASKED_OFTEN": N},
    "refined in parts": {"_FEW": 3, "_MANY": N, "_MASKED": 2.0, "_ROWS": 2 * N},
    "behind masks": {"_FEW": 3, "_LARGE": 0.0, "_MASKED": 0.0},
    "copied": {"_FEW": 3, "_LARGE": 2.0, "_MANY": 1},
    "copied into lists": {"_FEW": 3, "_LARGE": 2.0, "_MANY": 1, "_LISTED": 1},
    "copied where many ask": {"_FEW": N, "_FEW_ASKED_OFTEN": 3, "_OFTEN": 4, "_LARGE": 2.0, "_MANY": 4},
    "as they are": {},
}


@contextmanager
def searched(way):
    """Groups are searched in this way, and segments of more than 64 items are scanned."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segment, "_FEW", 64)
        patch.setattr(segment, "_FEW_OF_PART", 32)
        for name, value in WAYS[way].items():
            patch.setattr(grouped, name, value)
        yield


@pytest.fixture(params=WAYS)
def _every_way(request):
    with searched(request.param):
        yield


in_every_way = pytest.mark.usefixtures("_every_way")


@cache
def built(storage="float64", kind="singles"):
    """An index of three segments, of which items were removed, and the rows that are there."""
    d = D if kind == "singles" else rough_distance(Grid.fit(ITEMS, n_knots=4), kind=kind, low=0.05)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index_module, "_TAIL", 0)
        index = NeighborIndex(d, storage=storage, n_lists=4).fit(ITEMS[:1900], payload=FRAME[:1900])
        index.add(ITEMS[1900:2800], payload=FRAME[1900:2800]).add(ITEMS[2800:], payload=FRAME[2800:])
    gone = np.arange(0, N, 9)
    return index.remove(gone), np.setdiff1d(np.arange(N), gone)


def same(names, asked, items):
    """The mask of the items (n_queries, n_items) that equal a query in all columns, row by row, as SQL compares."""
    out = np.ones((len(asked), len(items)), dtype=bool)
    for name in names:
        own, other = asked[name].to_numpy(dtype=object)[:, None], items[name].to_numpy(dtype=object)[None]
        missing = pd.isna(own) | pd.isna(other) | (own == "") | (other == "")
        out &= (own == other) & ~missing
    return out


@cache
def in_order(storage="float64", kind="singles"):
    """Distances and ids of all items for each query, by brute force."""
    index, there = built(storage, kind)
    return index.kneighbors(QUERIES, len(there), algorithm="brute")


def expected(order, there, equal, k, own=None):
    """The k nearest of the items that are equal, selected one by one from the order of all items."""
    distances, ids = order
    want_distances, want_ids = np.full((len(ids), k), np.inf), np.full((len(ids), k), -1)
    for q in range(len(ids)):
        allowed = set(there[equal[q]].tolist()) - ({own[q]} if own is not None else set())
        at = [column for column, item in enumerate(ids[q].tolist()) if item in allowed][:k]
        want_distances[q, : len(at)], want_ids[q, : len(at)] = distances[q, at], ids[q, at]
    return want_distances, want_ids


@pytest.mark.parametrize("way", WAYS)
@given(
    names=st.sampled_from([("shop",), ("day",), ("shop", "day"), ("day", "open", "shop")]),
    storage=st.sampled_from(["float64", "uint16"]),
    algorithm=st.sampled_from(["exact", "approximate", "brute"]),
    k=st.sampled_from([1, 3, 40]),
    condition=st.sampled_from([None, "open", "x0 > 0.3", "x0 > 99"]),
    rows=st.slices(60).filter(lambda s: len(range(60)[s]) > 0),
)
def test_answers_are_the_nearest_of_equal_key(way, names, storage, algorithm, k, condition, rows):
    index, there = built(storage)
    kept = {None: np.ones(N, dtype=bool), "open": FRAME["open"], "x0 > 0.3": ITEMS[:, 0] > 0.3, "x0 > 99": np.zeros(N, bool)}
    chosen = np.asarray(kept[condition])[there]
    equal = same(names, ASKED[rows], FRAME.iloc[there]) & chosen
    by = {name: ASKED[name][rows] for name in names}
    with searched(way):
        found = index.search(QUERIES[rows], k, by=by, where=condition, algorithm=algorithm)
    order = [array[rows] for array in in_order(storage)]
    want_distances, want_ids = expected(order, there, equal, min(k, int(chosen.sum())))
    if algorithm != "approximate":
        assert_array_equal(found.ids, want_ids)
        assert_array_equal(found.distances, want_distances)
    else:
        assert_array_equal(np.isfinite(found.distances), np.isfinite(want_distances))  # as many
        for q, ids in enumerate(found.ids):
            assert set(ids[ids >= 0].tolist()) <= set(there[equal[q]].tolist())
    assert (found.refined <= equal.sum(axis=1)).all() or way != "refined"


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@given(names=st.sampled_from([("shop",), ("shop", "day")]), radius=st.sampled_from([0.3, 1.0]), rows=st.integers(1, 20))
def test_all_of_equal_key_within_a_radius(way, names, radius, rows):
    index, there = built()
    X, asked = QUERIES[:rows], ASKED[:rows]
    with searched(way):
        distances, ids = index.radius_neighbors(X, radius, by={name: asked[name] for name in names}, where="x0 > -1")
    equal = same(names, asked, FRAME.iloc[there]) & (ITEMS[there, 0] > -1)
    for q, (d_all, i_all) in enumerate(zip(*index.radius_neighbors(X, radius), strict=True)):
        near = np.isin(i_all, there[equal[q]])
        assert_array_equal(ids[q], i_all[near])
        assert_array_equal(distances[q], d_all[near])


@in_every_way
@pytest.mark.parametrize("algorithm", ["exact", "merge"])
def test_joint_groups_are_searched_within_groups_too(algorithm):
    index, there = built(kind="pairs")
    X, asked = QUERIES[:12], ASKED[:12]
    found = index.kneighbors(X, 4, by={"shop": asked["shop"]}, algorithm=algorithm)
    order = [array[:12] for array in in_order(kind="pairs")]
    want = expected(order, there, same(("shop",), asked, FRAME.iloc[there]), 4)
    assert_array_equal(found[1], want[1])
    np.testing.assert_allclose(found[0], want[0], rtol=1e-12)


@in_every_way
def test_items_are_not_their_own_neighbours():
    rows = np.arange(0, N, 6)
    index = NeighborIndex(D).fit(ITEMS[rows], ids=rows, payload=FRAME.iloc[rows])
    equal = same(("shop", "day"), FRAME.iloc[rows], FRAME.iloc[rows])
    want = expected(index.kneighbors(ITEMS[rows], len(rows), algorithm="brute"), rows, equal, 3, own=rows)
    found = index.kneighbors(None, 3, by=["shop", "day"])
    assert_array_equal(found[1], want[1])
    assert_array_equal(found[0], want[0])
    near = index.radius_neighbors(None, 0.5, by=["shop", "day"], return_distance=False)
    for own, ids in zip(rows.tolist(), near, strict=True):
        assert own not in ids
    graph = index.kneighbors_graph(None, 3, mode="distance", by=["shop", "day"])
    there = np.isfinite(want[0])
    assert graph.nnz == there.sum()
    assert_array_equal(np.diff(graph.indptr), there.sum(axis=1))
    assert_array_equal(graph.indices, np.searchsorted(rows, want[1][there]))
    assert_array_equal(graph.data, want[0][there])
    assert len(index.explain_graph(graph)) == graph.nnz


@in_every_way
def test_a_graph_answers_items_of_the_group_alone(monkeypatch):
    monkeypatch.setattr(segment, "GRAPH_FROM", 500)
    monkeypatch.setattr(index_module, "GRAPH_FROM", 500)
    _, there = built()
    index = NeighborIndex(D).fit(ITEMS[there], ids=there, payload=FRAME.iloc[there]).build_graph()
    equal = same(("shop",), ASKED, FRAME.iloc[there])
    distances, ids = index.kneighbors(QUERIES, 5, by={"shop": ASKED["shop"]}, algorithm="graph")
    want, _ = expected(in_order(), there, equal, 5)
    for q in range(len(QUERIES)):
        assert set(ids[q][ids[q] >= 0].tolist()) <= set(there[equal[q]].tolist())
    assert (distances <= want[:, -1:]).mean() > 0.9


@in_every_way
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_shards_answer_as_one_index(n_jobs, tmp_path):
    whole = NeighborIndex(D).fit(ITEMS, payload=FRAME)
    shards = ShardedIndex.build(tmp_path / "shards", D, ITEMS, n_shards=3, payload=FRAME, n_jobs=n_jobs)
    by = {"shop": ASKED["shop"], "day": ASKED["day"]}
    for got, want in zip(shards.kneighbors(QUERIES, 6, by=by), whole.kneighbors(QUERIES, 6, by=by), strict=True):
        assert_array_equal(got, want)
    got, want = shards.radius_neighbors(QUERIES, 0.7, by=by)[1], whole.radius_neighbors(QUERIES, 0.7, by=by)[1]
    assert [ids.tolist() for ids in got] == [ids.tolist() for ids in want]
    assert (shards.kneighbors_graph(QUERIES, 6, by=by) != whole.kneighbors_graph(QUERIES, 6, by=by)).nnz == 0


@pytest.mark.parametrize("mmap", [False, True])
def test_a_loaded_index_answers_the_same(mmap, tmp_path):
    index = built()[0]
    index.save(tmp_path / "index")
    by = {"shop": ASKED["shop"]}
    want = index.kneighbors(QUERIES, 5, by=by)
    for got, expect in zip(load(tmp_path / "index", mmap=mmap).kneighbors(QUERIES, 5, by=by), want, strict=True):
        assert_array_equal(got, expect)


SMALL = pd.DataFrame({"u": [0.0, 1.0, 2.0, 5.0], "v": [0.0, 0.0, 1.0, 1.0]})
BESIDE = pd.DataFrame({"shop": ["a", "b", "a", None], "day": pd.to_datetime(["2024-01-01"] * 3 + ["2024-01-02"])})


def small(**options):
    return NeighborIndex("l1", **options).fit(SMALL, payload=BESIDE)


TABLES = {
    "pandas": lambda: pd.DataFrame({"shop": ["a", "b", "c"], "u": [3.0, 3.0, 3.0], "v": [0.0] * 3}),
    "polars": lambda: pl.DataFrame({"u": [3.0, 3.0, 3.0], "shop": ["a", "b", "c"], "v": [0.0] * 3}),
    "arrow": lambda: pl.DataFrame({"u": [3.0, 3.0, 3.0], "v": [0.0] * 3, "shop": ["a", "b", "c"]}).to_arrow(),
    "dicts": lambda: [{"u": 3.0, "v": 0.0, "shop": shop} for shop in "abc"],
}


@pytest.mark.parametrize("kind", TABLES)
def test_keys_stand_beside_the_features(kind):
    X = TABLES[kind]()
    distances, ids = small().kneighbors(X, 3, by="shop")
    assert ids.tolist() == [[2, 0, -1], [1, -1, -1], [-1, -1, -1]]
    assert distances.tolist() == [[2.0, 3.0, np.inf], [2.0, np.inf, np.inf], [np.inf] * 3]


def test_a_row_by_name_has_its_key():
    row = {"u": 3.0, "v": 0.0, "shop": "b"}
    assert small().kneighbors(row, 2, by="shop")[1].tolist() == [[1, -1]]
    assert small().kneighbors(pd.Series(row), 2, by="shop")[1].tolist() == [[1, -1]]


def test_values_of_a_dict_take_the_place_of_a_column():
    X = TABLES["pandas"]()
    assert small().kneighbors(X, 1, by={"shop": ["b", None, ""]})[1].tolist() == [[1], [-1], [-1]]
    when = pd.to_datetime(["2024-01-02", None, "2024-01-01"])
    assert small().kneighbors(X[["u", "v"]], 1, by={"day": when})[1].tolist() == [[3], [-1], [1]]


def test_features_are_keys_by_name():
    X = SMALL.assign(v=[1.0, 2.0, 0.0, 1.0])
    assert small().kneighbors(X, 3, by="v")[1].tolist() == [[2, 3, -1], [-1, -1, -1], [1, 0, -1], [3, 2, -1]]
    array = NeighborIndex("l1").fit(SMALL.to_numpy())
    assert array.kneighbors(X.to_numpy(), 1, by="x1")[1].ravel().tolist() == [2, -1, 1, 3]
    assert array.kneighbors(X.to_numpy(), 1, by={"x1": [0.0, np.nan, 1.0, 1.0]})[1].ravel().tolist() == [0, -1, 2, 3]


def test_categories_that_the_distance_does_not_know_equal_nothing():
    table = pd.DataFrame({"plan": ["gold", "basic"] * 10, "rent": np.arange(20.0)})
    index = NeighborIndex(Semimetric.gower(table)).fit(table.assign(plan=["gold", "other", "basic", "other"] * 5))
    asked = pd.DataFrame({"plan": ["gold", "other", "else"], "rent": [1.0, 1.0, 1.0]})
    found = index.kneighbors(asked, 5, by="plan")[1]
    assert sorted(found[0].tolist()) == [0, 4, 8, 12, 16]
    assert (found[1:] == -1).all()
    assert index.kneighbors(asked, 1, by={"plan": ["basic"] * 3})[1].ravel().tolist() == [2, 2, 2]


def test_ids_of_text_are_filled_up_by_empty_ones():
    index = NeighborIndex("l1").fit(SMALL, ids=["p", "q", "r", "s"], payload=BESIDE)
    assert index.kneighbors(TABLES["pandas"](), 3, by="shop")[1].tolist() == [["r", "p", ""], ["q", "", ""], ["", "", ""]]


def test_an_item_whose_id_fills_up_is_found_and_left_out():
    index = NeighborIndex("l1").fit(SMALL, ids=[-1, 0, 1, 2], payload={"shop": ["a", "a", "a", "b"]})
    distances, ids = index.kneighbors(None, 3, by="shop")
    assert ids.tolist() == [[0, 1, -1], [-1, 1, -1], [0, -1, -1], [-1, -1, -1]]
    assert np.isfinite(distances).sum(axis=1).tolist() == [2, 2, 2, 0]


def test_an_expensive_distance_is_asked_of_the_group_alone():
    calls = []

    def counted(x, y):
        calls.append(1)
        return float(3.0 * np.abs(np.asarray(x) - np.asarray(y)).sum())

    index = small(rerank=counted)
    distances, ids = index.kneighbors(TABLES["pandas"](), 2, by="shop")
    assert ids.tolist() == [[2, 0], [1, -1], [-1, -1]]
    assert distances.tolist() == [[6.0, 9.0], [6.0, np.inf], [np.inf, np.inf]]
    assert len(calls) < 3 * 4
    assert (small(rerank=cityblock).kneighbors(TABLES["pandas"](), 2, by={"shop": ["z"] * 3})[1] == -1).all()


def test_infinite_distances_stay_so_under_a_link():
    d = rough_distance(Grid.fit(ITEMS, n_knots=4), link=ConcaveLink((0.5,), (1.0, 0.5)))  # which refuses what overflows
    index = NeighborIndex(d).fit(ITEMS[:50], payload=FRAME[:50])
    distances, ids = index.kneighbors(QUERIES, 50, by={"shop": ASKED["shop"]})
    assert_array_equal(np.isinf(distances), ids == -1)
    near = ids[0] >= 0
    assert_array_equal(distances[0, near], index.kneighbors(QUERIES[:1], 50, where=ids[0, near])[0][0])


def test_the_order_of_items_is_held_for_the_last_choices_of_columns():
    index = NeighborIndex(D).fit(ITEMS[:300], payload=FRAME[:300])
    assert index.memory_usage()["groups"] == 0
    index.kneighbors(QUERIES, 2, by={"shop": ASKED["shop"]})
    once = index.memory_usage()["groups"]
    assert once >= 8 * (FRAME["shop"][:300].fillna("") != "").sum()
    index.kneighbors(QUERIES, 2, by={"shop": ASKED["shop"]})
    assert index.memory_usage()["groups"] == once
    for name in ("day", "open", "x0", "x1", "x2"):
        index.kneighbors(QUERIES, 2, by={name: np.ones(len(QUERIES), dtype=bool if name == "open" else float)})
    assert len(index.segments_[0].groups) == 4
    assert index.remove([0]).segments_[0].groups == {}
    assert 0 not in index.kneighbors(QUERIES, 100, by={"shop": ["big"] * len(QUERIES)})[1]


REFUSED = {
    "no column of the items": (lambda: small().kneighbors(SMALL, by="shp"), "'shp'", "did you mean 'shop'"),
    "no column of X": (lambda: small().kneighbors(SMALL, by="shop"), "no column of X", "by={'shop': values}"),
    "one column of two": (lambda: small().kneighbors(SMALL.assign(shop="a"), by=["shop", "day"]), "no column of X", "'day'"),
    "one value": (lambda: small().kneighbors(SMALL, by={"shop": "a"}), "'a'", "4 queries", "a value for each query"),
    "few values": (lambda: small().kneighbors(SMALL, by={"shop": ["a"]}), "1 values", "4 queries"),
    "another kind": (lambda: small().kneighbors(SMALL, by={"shop": [1, 2, 3, 4]}), "of by=", "whole numbers", "text"),
    "values of items": (lambda: small().kneighbors(None, 1, by={"shop": list("abcd")}), "X=None", "by=['shop']"),
    "no name": (lambda: small().kneighbors(SMALL, by=3), "by=3", 'by="shop"'),
    "no names": (lambda: small().kneighbors(SMALL, by=[]), "by=[]", 'by="shop"'),
    "twice": (lambda: small().radius_neighbors(None, by=["shop", "shop"]), "twice", "once"),
    "too many": (lambda: small().kneighbors(SMALL, 9, by={"shop": list("abcd")}), "n_neighbors=9", "4 items"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_key_is_refused(case):
    call, *words = REFUSED[case]
    assert_refused(call, *words)


def test_a_graph_of_all_neighbours_needs_no_mask():
    ids = np.array([[3, 1], [1, 2]])
    assert as_graph(np.ones((2, 2)), ids, np.arange(4)).toarray().tolist() == [[0, 1, 0, 1], [0, 1, 1, 0]]


@pytest.mark.parametrize(("n_queries", "n_lists"), [(grouped._LISTED - 1, 0), (grouped._LISTED, 1)])
def test_a_copy_is_divided_into_lists_where_many_queries_ask(monkeypatch, n_queries, n_lists):
    made = []
    monkeypatch.setattr(segment.ItemLists, "of", lambda *parts, of=segment.ItemLists.of: made.append(parts) or of(*parts))
    group = np.arange(len(ITEMS)) % 5  # of 600 items
    index = NeighborIndex(D).fit(ITEMS, payload={"group": group})
    queries = np.resize(QUERIES, (n_queries, QUERIES.shape[1]))
    found = index.kneighbors(queries, 3, by={"group": np.zeros(n_queries, dtype=int)})
    assert len(made) == n_lists
    alone = NeighborIndex(D, algorithm="brute").fit(ITEMS[group == 0], ids=np.flatnonzero(group == 0))
    for one, other in zip(found, alone.kneighbors(queries, 3), strict=True):
        assert_array_equal(one, other)
