"""Columns beside the items of an index: conditions on them, and what becomes of them."""

import shutil
from datetime import date, datetime, timedelta
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest
from cases import assert_refused
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from searches import search_problem

from semimetric import FilterRefineIndex, InputError, NeighborIndex, Semimetric, ShardedIndex, StorageError, load
from semimetric._foundation.files import State, read_state, write_state
from semimetric.data.payload import Payload
from semimetric.distances.search import index as index_module
from semimetric.distances.search.files import FILE

N = 10_000  # of which more are left than are scanned, without bounds or beside a graph
D, ITEMS, QUERIES = search_problem(N)
RNG = np.random.default_rng(7)
BRANDS = ["a", "b", "Zoë & söhne", "", "it's"]
FRAME = pd.DataFrame(
    {
        "brand": pd.Series(RNG.choice(np.array([*BRANDS, None], dtype=object), N)),
        "stock": RNG.integers(0, 5, N),
        "price": np.where(RNG.random(N) < 0.1, np.nan, RNG.uniform(0, 9, N).round(1)),
        "weight": RNG.uniform(0, 3, N).round(1).astype(np.float32),
        "on sale": RNG.random(N) < 0.5,
        "since": pd.Timestamp("2024-01-01") + pd.to_timedelta(RNG.integers(0, 400, N), unit="h"),
        "sold": (pd.Series(pd.Timestamp("2024-06-01 09:30") + pd.to_timedelta(RNG.integers(0, 90, N), unit="D"))
                 .where(RNG.random(N) < 0.8).dt.tz_localize("Europe/Berlin")),
        "grade": pd.array(RNG.choice(np.array([1, 2, None], dtype=object), N), dtype="Int64"),
        "kind": pd.Categorical(RNG.choice(["x", "y"], N)),
    }
)  # fmt: skip
PREDICATES = {
    "brand == 'a'": lambda t: t.brand == "a",
    "brand != 'b'": lambda t: t.brand != "b",
    "brand in ('Zoë & söhne', \"it's\")": lambda t: t.brand.isin(["Zoë & söhne", "it's"]),
    "brand == ''": lambda t: t.brand.isna() | (t.brand == ""),
    "stock > 0": lambda t: t.stock > 0,
    "stock not in (1, 2)": lambda t: ~t.stock.isin([1, 2]),
    "price <= 4.5": lambda t: t.price <= 4.5,
    "not price <= 4.5": lambda t: t.price > 4.5,
    "weight == 1.1": lambda t: t.weight == np.float32(1.1),
    "`on sale` == 1": lambda t: t["on sale"],
    "`on sale` & 0 < stock <= 3": lambda t: t["on sale"] & (t.stock > 0) & (t.stock <= 3),
    "~`on sale` | brand.isna()": lambda t: ~t["on sale"] | t.brand.isna(),
    "sold.notna() and not price.isna()": lambda t: t.sold.notna() & t.price.notna(),
    "since >= 2024-01-09 and since < 2024-01-12T06:00": lambda t: (t.since >= "2024-01-09") & (t.since < "2024-01-12 06:00"),
    "sold > 2024-06-20T07:30": lambda t: t.sold > pd.Timestamp("2024-06-20 07:30", tz="UTC"),
    "grade != 2": lambda t: (t.grade != 2).fillna(False),
    "kind == 'x'": lambda t: t.kind == "x",
    "x0 > 0.3": lambda t: ITEMS[t.index, 0] > 0.3,
}
MASKS = {text: np.asarray(holds(FRAME), dtype=bool) for text, holds in PREDICATES.items()}


@cache
def built(storage="float64"):
    """An index of three segments, of which items were removed, and the rows that are there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index_module, "_TAIL", 0)
        index = NeighborIndex(D, storage=storage, n_lists=4).fit(ITEMS[:6400], payload=FRAME[:6400])
        index.add(ITEMS[6400:9300], payload=FRAME[6400:9300]).add(ITEMS[9300:], payload=FRAME[9300:])
    assert len(index.segments_) == 3
    gone = np.arange(0, N, 9)
    return index.remove(gone), np.setdiff1d(np.arange(N), gone)


@cache
def with_graph():
    """An index of what is there, with a graph."""
    there = built()[1]
    return NeighborIndex(D).fit(ITEMS[there], ids=there, payload=FRAME.iloc[there]).build_graph()


@pytest.mark.slow
@given(
    texts=st.lists(st.sampled_from(sorted(MASKS)), min_size=1, max_size=3),
    word=st.sampled_from(["and", "or"]),
    storage=st.sampled_from(["float64", "uint16"]),
    algorithm=st.sampled_from(["exact", "approximate", "graph", "brute"]),
    k=st.integers(1, 9),
)
def test_a_condition_is_a_search_among_the_items_that_fulfil_it(texts, word, storage, algorithm, k):
    index, there = built(storage)
    if algorithm == "graph" and storage == "float64":
        index = with_graph()
    elif algorithm == "graph":
        algorithm = "exact"
    join = np.logical_and if word == "and" else np.logical_or
    rows = there[join.reduce([MASKS[text] for text in texts])[there]]
    where = f" {word} ".join(f"({text})" for text in texts)
    distances, ids = index.kneighbors(QUERIES, k, where=where, algorithm=algorithm, n_candidates=N)
    assert ids.shape == (len(QUERIES), min(k, len(rows)))
    if len(rows):
        want = NeighborIndex(D, algorithm="brute").fit(ITEMS[rows], ids=rows).kneighbors(QUERIES, min(k, len(rows)))
        if algorithm in ("exact", "brute"):
            assert_array_equal(ids, want[1])
            assert_array_equal(distances, want[0])
        else:
            assert np.isin(ids, rows).all()
            assert (distances <= want[0][:, -1:]).mean() > 0.9
    near = index.radius_neighbors(QUERIES[:1], 1.0, return_distance=False, where=where)[0]
    assert np.isin(near, rows).all()


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("storage", ["float64", "uint16"])
def test_what_is_saved_is_what_is_loaded(mmap, storage, tmp_path):
    index, there = built(storage)
    index.save(tmp_path / "index")
    read = load(tmp_path / "index", mmap=mmap)
    pd.testing.assert_frame_equal(read.get_payload(read.ids_), index.get_payload(index.ids_))
    for text in PREDICATES:
        for got, want in zip(read.kneighbors(QUERIES, 5, where=text), index.kneighbors(QUERIES, 5, where=text), strict=True):
            assert_array_equal(got, want)
    usage = read.memory_usage()
    assert (usage["payload"] == 0) == mmap
    read.remove(there[:3]).add(ITEMS[:1], ids=[9000], payload=FRAME[:1]).save(tmp_path / "index")
    again = load(tmp_path / "index")
    assert len(again.payload_) == len(again) == len(there) - 2
    assert again.get_payload(9000)["stock"].tolist() == FRAME["stock"][:1].tolist()
    other = again.with_semimetric(Semimetric(D.embedding, D.weights[::-1].copy(), D.epsilon, D.feature_names))
    assert other.kneighbors(QUERIES, 3, where="stock == 1")[1].shape == (7, 3)


def test_a_payload_comes_back_as_it_was_given():
    index, there = built()
    shown = index.get_payload(there[[5, 2]])
    assert shown.index.tolist() == there[[5, 2]].tolist()
    want = FRAME.loc[there[[5, 2]]]
    for name in FRAME:
        for got, given_cell in zip(shown[name], want[name], strict=True):
            assert (pd.isna(got) and pd.isna(given_cell)) or got == given_cell, name
    assert shown["stock"].dtype == "int64"
    assert shown["on sale"].dtype == bool
    assert str(shown["sold"].dtype) == "datetime64[us, Europe/Berlin]"
    assert shown["weight"].dtype == np.float32
    nearest = index.kneighbors(QUERIES[:1], 4)[1][0]
    assert index.get_payload(nearest)["price"].shape == (4,)


VALUES = {
    "list of whole numbers": ([3, 1, 2], [3, 1, 2], "v == 1"),
    "list with gaps": ([3, None, 1], [3, None, 1], "v == 1"),
    "array of truth values": (np.array([True, False, True]), [True, False, True], "v == 0"),
    "truth values with gaps": ([True, None, False], [True, None, False], "v == 0"),
    "text": (np.array(["p", "q", "a long one, é"]), ["p", "q", "a long one, é"], "v in ('q', 'r')"),
    "text with gaps": (["p", None, "q"], ["p", None, "q"], "v == 'q'"),
    "dates": ([date(2024, 1, 2), None, date(2024, 3, 1)], [datetime(2024, 1, 2), None, datetime(2024, 3, 1)], "v > 2024-02-01"),
    "datetime64": (
        np.array(["2024-01-02", "NaT", "2024-03-01T10:00:00.000001"], "M8[us]"),
        [datetime(2024, 1, 2), None, datetime(2024, 3, 1, 10, 0, 0, 1)],
        "v > 2024-03-01T10:00",
    ),
    "dates in text": (["2024-01-02", "", "2024-03-01"], ["2024-01-02", "", "2024-03-01"], "v > 2024-02-01"),
    "polars": (pl.Series([1.5, None, 0.5]), [1.5, None, 0.5], "v < 1"),
    "infinity": ([np.inf, 1.0, -np.inf], [np.inf, 1.0, -np.inf], "v < 0"),
    "empty and missing text": (["", None, "z"], ["", None, "z"], "v != ''"),
}


@pytest.mark.parametrize("name", VALUES)
def test_values_of_every_kind(name):
    values, shown, where = VALUES[name]
    index = NeighborIndex("l1").fit([[0.0], [1.0], [2.0]], payload={"v": values})
    found = index.get_payload([0, 1, 2])["v"]
    assert [None if pd.isna(v) else v for v in found] == shown
    assert index.kneighbors([[0.0]], 3, where=where)[1].tolist() in ([[1]], [[2]])
    frame = pd.DataFrame({"v": values}) if not isinstance(values, pl.Series) else pl.DataFrame({"v": values})
    again = NeighborIndex("l1").fit([[0.0], [1.0], [2.0]], payload=frame)
    assert again.kneighbors([[0.0]], 3, where=where)[1].tolist() == index.kneighbors([[0.0]], 3, where=where)[1].tolist()


@given(texts=st.lists(st.one_of(st.none(), st.text(max_size=6)), min_size=2, max_size=30), cut=st.integers(1, 29))
def test_any_text_comes_back(texts, cut):
    cut = min(cut, len(texts) - 1)
    X = np.arange(len(texts), dtype=float)[:, None]
    column = np.array(texts, dtype=object)
    if all(text is None for text in texts[:cut]):
        column[0] = texts[0] = "x"
    index = NeighborIndex("l1").fit(X[:cut], payload={"t": column[:cut]}).add(X[cut:], payload={"t": column[cut:]})
    assert [None if pd.isna(t) else t for t in index.get_payload(index.ids_)["t"]] == texts
    index.remove([0])
    assert [None if pd.isna(t) else t for t in index.get_payload(index.ids_)["t"]] == texts[1:]


@pytest.mark.parametrize("partition", ["rows", "kmeans"])
def test_shards_answer_conditions_on_a_payload(partition, tmp_path):
    few, frame = ITEMS[:900], FRAME[:900]
    shards = ShardedIndex.build(tmp_path / "shards", D, few[:800], n_shards=3, partition=partition, payload=frame[:800])
    shards.add(few[800:], ids=np.arange(800, 900), payload=frame[800:]).remove([3, 870])
    index = NeighborIndex(D).fit(few, payload=frame).remove([3, 870])
    for k in (None, 2):
        for text in PREDICATES:
            for got, want in zip(
                shards.kneighbors(QUERIES, 4, where=text), index.kneighbors(QUERIES, 4, where=text), strict=True
            ):
                assert_array_equal(got, want)
        pd.testing.assert_frame_equal(shards.get_payload(index.ids_), index.get_payload(index.ids_))
        shards = shards if k is not None else shards.rebalance(2)
    assert_refused(lambda: shards.add(few[:1], ids=[3]), "a payload (brand", "give payload=")


@pytest.mark.parametrize("learned", [None, "l1"])
def test_an_expensive_distance_is_asked_for_what_fulfils_a_condition(learned):
    few, frame = ITEMS[:60], FRAME[:60]
    index = FilterRefineIndex(learned, lambda x, y: float(np.abs(x - y).sum())).fit(few, payload=frame)
    for text in PREDICATES:
        if text != "x0 > 0.3":
            rows = np.flatnonzero(MASKS[text][:60])
            want = NeighborIndex("l1").fit(few).kneighbors(QUERIES, 3, where=rows)[1]
            assert_array_equal(index.kneighbors(QUERIES, 3, where=text)[1], want)
            assert {*np.concatenate(index.radius_neighbors(QUERIES, 2.0, return_distance=False, where=text))} <= {*rows}
    assert index.get_payload([4])["stock"].item() == FRAME["stock"][4]
    assert_refused(lambda: FilterRefineIndex(None, max).fit(few).get_payload([0]), "no payload", "give payload= to fit")


SMALL = ITEMS[:6]
PAYLOAD = {"brand": ["a", "b", "a", "b", "c", None], "stock": [1, 2, 3, 4, 5, 6]}


def small():
    return NeighborIndex(D).fit(SMALL, payload=PAYLOAD)


def plain(**options):
    return NeighborIndex(D).fit(SMALL, **options)


def added(payload):
    return small().add(SMALL, payload=payload)


def asked(where):
    return small().kneighbors(SMALL, 1, where=where)


REFUSED = {
    "a name of the distance": (lambda: plain(payload={"x1": range(6)}), "'x1', and so has the distance", "rename it"),
    "no such column": (lambda: asked("brnd == 'a'"), "columns are brand, stock, x0", "did you mean 'brand'"),
    "a column of one index and not of another": (
        lambda: plain().kneighbors(SMALL, 1, where="stock == 1"), "'stock', which is no column", "x0, x1",
    ),
    "rows": (lambda: plain(payload={"a": [1, 2]}), "2 rows for 6 items", "in their order"),
    "an array": (lambda: plain(payload=np.ones((6, 2))), "of type ndarray", "columns=[...]"),
    "no columns": (lambda: plain(payload={}), "no columns", "a dict of columns"),
    "a table in a column": (lambda: plain(payload={"a": np.ones((6, 2))}), "2 dimensions", "one value for each"),
    "text for a column": (lambda: plain(payload={"a": "abcdef"}), "'a' of payload is one text", "one value"),
    "a number as name": (lambda: plain(payload=pd.DataFrame({3: range(6)})), "called 3", "rename it"),
    "a name twice": (
        lambda: plain(payload=pd.DataFrame(np.ones((6, 2)), columns=["a", "a"])), "two columns", "rename one",
    ),
    "objects": (lambda: plain(payload={"a": [[1]] * 6}), "of type list", "astype(str)"),
    "a mixture": (lambda: plain(payload={"a": [1, "b", 2, 3, 4, 5]}), "'b' of type str", "of one kind"),
    "durations": (lambda: plain(payload={"a": [timedelta(1)] * 6}), "of type timedelta", "astype(str)"),
    "nothing": (lambda: plain(payload={"a": [None] * 6}), "nothing but missing values", "float64"),
    "large numbers": (lambda: plain(payload={"a": [2**53 + 1] * 6}), "2^53 or more", "as text"),
    "none added": (lambda: added(None), "a payload (brand, stock)", "give payload="),
    "one added": (lambda: plain().add(SMALL, payload=PAYLOAD), "fit had none", "leave it out"),
    "a column less": (lambda: added({"brand": ["a"] * 6}), "no 'stock'", "brand, stock"),
    "a column more": (lambda: added(PAYLOAD | {"a": range(6)}), "a column 'a'", "brand, stock"),
    "another kind": (lambda: added(PAYLOAD | {"stock": list("abcdef")}), "holds text, and whole", "give the same"),
    "halves": (lambda: added(PAYLOAD | {"stock": [0.5] * 6}), "holds numbers, and whole", "give the same"),
    "text and a number": (lambda: asked("brand == 1"), "a column of text, with a number", "quote it"),
    "a number and text": (lambda: asked("stock == 'a'"), "a column of numbers", "write the number bare"),
    "an unknown id": (lambda: small().get_payload([77]), "77", "drop it"),
    "no payload": (lambda: plain().get_payload([0]), "no payload", "give payload= to fit"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_payload_is_refused(name):
    assert_refused(*REFUSED[name])


def test_what_is_refused_changes_nothing():
    index = small()
    assert_refused(lambda: index.add(SMALL), "a payload", "give payload=")
    assert len(index) == 6
    index.add(SMALL[:2], payload={"stock": [None, 3], "brand": [None, None]}).add(
        SMALL[:1], payload={"stock": [2.0], "brand": ["a"]}
    )
    assert index.get_payload([5, 6, 8])["stock"].tolist()[0] == 6
    assert index.kneighbors(SMALL[:1], 3, where="stock == 3")[1].shape == (1, 2)
    assert isinstance(index.payload_, Payload)


def test_a_zone_is_asked_of_times_that_are_added():
    X, times = [[0.0], [1.0]], pd.Series(pd.to_datetime(["2024-01-01 12:00", "2024-01-02 00:00"]))
    index = NeighborIndex("l1").fit(X, payload={"t": times.dt.tz_localize("Europe/Berlin")})
    assert_refused(lambda: index.add(X, payload={"t": times}), "times with no zone", "dt.tz_localize")
    index.add(X, payload={"t": times.dt.tz_localize("UTC")})
    assert index.get_payload(2)["t"].tolist() == [pd.Timestamp("2024-01-01 13:00", tz="Europe/Berlin")]
    assert index.kneighbors(X[:1], 4, where="t == 2024-01-01T13:00+01:00")[1].tolist() == [[2]]


def saved(folder):
    small().save(folder)
    state = read_state(folder / FILE)
    return state, state.values["payload"], state.values["segments"][0]


DAMAGES = {
    "another kind": (lambda facts, names: facts[1].update(kind="truth"), "'stock'", "truth values"),
    "no kind": (lambda facts, names: facts[1].update(kind="list"), "kind", "list"),
    "a zone of numbers": (lambda facts, names: facts[1].update(zone="UTC"), "'stock'", "whole numbers"),
    "a clash": (lambda facts, names: facts[1].update(name="x0"), "'x0', and so has the distance", "rename"),
    "a name twice": (lambda facts, names: facts[1].update(name="brand"), "two columns called 'brand'", "rename"),
    "text as numbers": (lambda facts, names: facts[0].update(kind="number", dtype="float64"), "payload_0", ""),
    "a column less": (lambda facts, names: facts.pop(), "payload_1", ""),
    "a column more": (lambda facts, names: facts.append(facts[1]), "payload_2", ""),
    "cells of another column": (lambda facts, names: names.update(payload_1=names["payload_0"]), "payload_1", "float64"),
    "ends of another array": (lambda facts, names: names.update(payload_0_ends=names["ids"]), "'brand'", "text"),
    "letters of another array": (lambda facts, names: names.update(payload_0_letters=names["payload_0"]), "letters", "uint8"),
}  # fmt: skip


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("name", DAMAGES)
def test_a_payload_that_is_not_as_it_was_saved_is_refused(name, mmap, tmp_path):
    damage, *words = DAMAGES[name]
    state, facts, names = saved(tmp_path / "index")
    damage(facts, names)
    write_state(tmp_path / "index" / FILE, State(state.kind, state.values, state.arrays))
    assert_refused(lambda: load(tmp_path / "index", mmap=mmap), *words, error=StorageError)


def test_a_damaged_or_missing_file_of_a_payload_is_refused(tmp_path):
    _, _, names = saved(tmp_path / "index")
    for key in ("payload_0", "payload_0_letters", "payload_0_ends", "payload_1"):
        shutil.rmtree(tmp_path / "copy", ignore_errors=True)
        shutil.copytree(tmp_path / "index", tmp_path / "copy")
        path = tmp_path / "copy" / "arrays" / f"{names[key]}.npy"
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)
        assert_refused(lambda: load(tmp_path / "copy"), "truncated or altered", "restore it", error=StorageError)
        path.unlink()
        assert_refused(lambda: load(tmp_path / "copy"), "is missing", "restore it", error=StorageError)


def test_rows_in_another_order_are_refused():
    items = pd.DataFrame({"a": [1.0, 2.0, 3.0]}, index=["x", "y", "z"])
    beside = pd.DataFrame({"n": ["Z", "Y", "X"]}, index=["z", "y", "x"])
    with pytest.raises(InputError, match="payload has the row labels of X in another order: row 0 is z, and there x"):
        NeighborIndex("l1").fit(items, payload=beside)
    index = NeighborIndex("l1").fit(items, payload=beside.loc[items.index], ids=["x", "y", "z"])
    assert index.get_payload(["x"])["n"].tolist() == ["X"]
    with pytest.raises(InputError, match="payload has the row labels of X"):
        index.add(items.set_axis(["u", "v", "w"]), ["u", "v", "w"], payload=beside.set_axis(["w", "v", "u"]))
    with pytest.raises(InputError, match="where has the row labels of ids_ in another order"):
        index.kneighbors(items[:1], 1, where=pd.Series([True, False, False], index=["z", "y", "x"]))
    assert index.kneighbors(items[:1], 1, where=pd.Series([False, False, True], index=["x", "y", "z"]))[1].tolist() == [["z"]]
    for payload in (beside.reset_index(drop=True), {"n": beside["n"].to_numpy()}):
        assert NeighborIndex("l1").fit(items, payload=payload).get_payload([0])["n"].tolist() == ["Z"]


def test_only_labels_that_items_have_are_compared():
    items, beside = np.arange(3.0)[:, None], pd.DataFrame({"n": ["C", "B", "A"]}, index=[2, 1, 0])
    assert NeighborIndex("l1").fit(items, payload=beside).get_payload([0])["n"].tolist() == ["C"]  # arrays have none
    with pytest.raises(InputError, match="payload has the row labels of X in another order: row 0 is 2"):
        NeighborIndex("l1").fit(pd.DataFrame(items), payload=beside)
    with pytest.raises(InputError, match="payload has the row labels of ids in another order: row 0 is 2"):
        NeighborIndex("l1").fit(items, payload=beside, ids=[0, 1, 2])
    index = NeighborIndex("l1").fit(items, ids=[10, 20, 30])
    with pytest.raises(InputError, match="where has the row labels of ids_"):
        index.kneighbors(items[:1], 1, where=pd.Series([True, False, False], index=[30, 20, 10]))
