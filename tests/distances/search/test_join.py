"""Nearest joins: the pairs that a database finds by computing every distance, in its order."""

from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from cases import assert_refused
from hypothesis import assume, given
from hypothesis import strategies as st
from searches import rough_distance
from sklearn.datasets import load_diabetes, load_wine

from semimetric import DistanceRegressor, Grid, NeighborIndex, Semimetric, SemimetricWarning, ShardedIndex, nearest_join
from semimetric.distances.search import join

CELLS = st.sampled_from([0.0, 1.0, 2.0, 3.5])
ROWS = st.lists(st.tuples(CELLS, CELLS, st.sampled_from(["a", "b", "", None])), min_size=1, max_size=12)
D = Semimetric.l1(pd.DataFrame({"u": [0.0, 4.0], "v": [0.0, 4.0]}))


def table(rows):
    shop = pd.Series([s for _, _, s in rows], dtype=object)
    return pd.DataFrame({"u": [u for u, _, _ in rows], "shop": shop, "v": [v for _, v, _ in rows]})


def joined(left, right, k, *, by, radius, itself):
    """(row, row, rank, distance) of every pair, by comparing all rows with all."""
    out = []
    for i, (u, shop, v) in enumerate(left.itertuples(index=False)):
        found = [
            (abs(u - x) + abs(v - y), j)
            for j, (x, other, y) in enumerate(right.itertuples(index=False))
            if not (itself and i == j) and (not by or (shop == other and shop not in (None, "")))
        ]
        near = [pair for pair in sorted(found) if radius is None or pair[0] <= radius]
        out += [(i, j, rank + 1, distance) for rank, (distance, j) in enumerate(near[:k])]
    return out


@given(
    left=ROWS, right=ROWS, k=st.sampled_from([None, 1, 2, 50]), radius=st.sampled_from([None, 0.0, 1.5]), by=st.booleans(),
    itself=st.booleans(), how=st.sampled_from(["inner", "left"]), size=st.sampled_from([1, 3, 100]),
)  # fmt: skip
def test_a_join_compares_all_rows_with_all(left, right, k, radius, by, itself, how, size):
    left, right = table(left), table(right)
    assume(not by or (left if itself else right)["shop"].notna().any())  # else nothing says of which kind they are
    if not by:
        left, right = left[["u", "v"]].assign(shop="a"), right[["u", "v"]].assign(shop="a")
        left, right = left[["u", "shop", "v"]], right[["u", "shop", "v"]]
    many = None if k is None and radius is not None else 1 if k is None else k
    want = joined(left, left if itself else right, many, by=by, radius=radius, itself=itself)
    given_left, given_right = (left, right) if by else (left.drop(columns="shop"), right.drop(columns="shop"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(join, "_ROWS", size)
        found = nearest_join(
            given_left, None if itself else given_right, D, k, by="shop" if by else None, radius=radius, how=how
        )
    assert list(found.columns) == ["left", "right", "rank", "distance"]
    matched = found.dropna()
    assert [(*map(int, row[:3]), row[3]) for row in matched.itertuples(index=False)] == want
    alone = sorted({*range(len(left))} - {row for row, *_ in want})
    assert found[found["right"].isna()]["left"].tolist() == (alone if how == "left" else [])
    assert found["left"].is_monotonic_increasing


TABLES = {"wine": load_wine, "diabetes": load_diabetes}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize(("k", "by", "radius"), [(1, None, None), (3, "part", None), (4, "part", 0.15), (None, None, 0.15)])
def test_a_database_finds_the_same_pairs(name, k, by, radius):
    duckdb = pytest.importorskip("duckdb")
    data = TABLES[name](as_frame=True).frame.rename(columns=lambda c: c.replace("/", "_"))
    data = data.assign(part=data["target"].round(-1).astype(int) % 3).drop(columns="target")
    features = [column for column in data.columns if column != "part"]
    scales = data[features].max() - data[features].min()
    data[features] /= scales * len(features)
    rows = np.random.default_rng(0).permutation(len(data))
    left, right = (data.iloc[half].reset_index(drop=True) for half in (rows[: len(rows) // 3], rows[len(rows) // 3 :]))
    if by is None:
        left, right = left[features], right[features]
    found = nearest_join(left, right, Semimetric.l1(data[features]), k, by=by, radius=radius)
    terms = " + ".join(f"abs(l.{c} - r.{c})" for c in features)
    conditions = [f"l.{by} = r.{by}"] if by else []
    conditions += [f"{terms} <= {radius}"] if radius else []
    sql = f"""
        SELECT l.id AS "left", n.id AS "right", n.distance FROM l, LATERAL (
            SELECT r.id, {terms} AS distance FROM r WHERE {" AND ".join(conditions) or "true"}
            ORDER BY distance, r.id {f"LIMIT {k}" if k else ""}
        ) n ORDER BY l.id, n.distance, n.id"""
    with duckdb.connect() as base:
        base.register("l", left.rename_axis("id").reset_index())
        base.register("r", right.rename_axis("id").reset_index())
        want = base.sql(sql).df()
    assert len(want) > 20
    assert found["left"].tolist() == want["left"].tolist()
    np.testing.assert_allclose(found["distance"], want["distance"], rtol=1e-9, atol=1e-12)
    same = found["right"].to_numpy() == want["right"].to_numpy()
    distances = want["distance"].to_numpy()
    near = [abs(a - b) < 1e-9 for a, b in pairwise(distances)]  # whose order rounding may turn
    tied = np.array([False, *near]) | np.array([*near, False])
    assert (same | tied).all()
    assert same.mean() > 0.95


ORDERS = pd.DataFrame({"shop": ["a", "b", "z"], "price": [3.0, 5.0, 1.0]}, index=["x", "y", "w"])
STOCK = pd.DataFrame({"shop": ["a", "b", "a"], "price": [9.0, 4.0, 1.0]})
PAIRS = [("x", 2, 1, 2.0), ("x", 0, 2, 6.0), ("y", 1, 1, 1.0)]


def rows_of(frame):
    return list(frame.itertuples(index=False, name=None))


@pytest.mark.parametrize("d", ["l1", "gower", Semimetric.l1(STOCK[["price"]])], ids=["l1", "gower", "a distance"])
def test_columns_that_are_compared_do_not_count_for_the_distance(d):
    found = nearest_join(ORDERS, STOCK, d, 2, by="shop")
    assert [row[:3] for row in rows_of(found)] == [row[:3] for row in PAIRS]
    if d != "gower":
        assert rows_of(found) == PAIRS


def test_columns_that_the_distance_reads_count():
    d = Semimetric.gower(pd.concat([STOCK, ORDERS]), categorical_features=["shop"])
    found = nearest_join(ORDERS, STOCK, d, 2, by="shop", explain="features")
    assert [row[:3] for row in rows_of(found)] == [row[:3] for row in PAIRS]
    assert (found["shop"] == 0).all()
    assert (found["price"] == found["distance"]).all()


@pytest.mark.parametrize("library", ["polars", "arrow"])
def test_frames_of_other_libraries_have_row_numbers(library):
    left, right = (pl.from_pandas(frame) for frame in (ORDERS, STOCK))
    if library == "arrow":
        left, right = left.to_arrow(), right.to_arrow()
    found = nearest_join(left, right, "l1", 2, by="shop")
    assert rows_of(found) == [("xyw".index(a), *rest) for a, *rest in PAIRS]


def test_labels_are_those_of_the_frame_whatever_they_are():
    times = pd.to_datetime(["2024-01-01", "2024-01-01", "2024-03-01"])  # not even distinct
    found = nearest_join(ORDERS, STOCK.set_axis(times), "l1", 2, by="shop", names=("order", "item"))
    assert list(found.columns) == ["order", "item", "rank", "distance"]
    assert found["item"].tolist() == [times[2], times[0], times[1]]
    assert found["order"].tolist() == ["x", "x", "y"]
    pairs = pd.MultiIndex.from_tuples([("p", 1), ("q", 2), ("r", 3)])
    assert nearest_join(STOCK.set_axis(pairs), None, "l1", by="shop")["left"].tolist() == [("p", 1), ("r", 3)]


def test_an_index_is_searched_as_it_is(tmp_path):
    index = NeighborIndex("l1").fit(STOCK[["price"]], ids=["p", "q", "r"], payload=STOCK[["shop"]])
    segments = index.segments_
    want = [(a, "pqr"[b], *rest) for a, b, *rest in PAIRS]
    assert rows_of(nearest_join(ORDERS, index, k=2, by="shop")) == want
    assert rows_of(nearest_join(ORDERS[["price"]], index, k=2, by={"shop": ORDERS["shop"]}, n_jobs=2)) == want
    assert (index.segments_, index.n_jobs) == (segments, None)
    some = nearest_join(ORDERS, index, k=2, by="shop", where="price > 3 and shop != 'b'")
    assert rows_of(some) == [("x", "p", 1, 6.0)]
    alone = nearest_join(ORDERS, index, k=2, by="shop", how="left")
    assert rows_of(alone)[:3] == want
    assert alone["left"].tolist() == ["x", "x", "y", "w"]
    assert alone.iloc[3, 1:].isna().all()
    of_items = nearest_join(index, by="shop")
    assert rows_of(of_items) == [("p", "r", 1, 8.0), ("r", "p", 1, 8.0)]
    X = STOCK[["price"]].to_numpy()
    shards = ShardedIndex.build(tmp_path / "s", Semimetric.l1(X), X, n_shards=2, payload=STOCK[["shop"]])
    found = nearest_join(ORDERS[["price"]].to_numpy(), shards, k=2, by={"shop": ORDERS["shop"]})
    assert rows_of(found) == [("xyw".index(a), *rest) for a, *rest in PAIRS]
    assert rows_of(nearest_join(shards, by="shop")) == [(0, 2, 1, 8.0), (2, 0, 1, 8.0)]
    shards.as_index().remove([0])
    assert 0 in shards


def test_reasons_add_up_to_the_sum():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(40, 3)), rng.normal(size=(70, 3))
    d = rough_distance(Grid.fit(Y, n_knots=4), kind="pairs")
    found = nearest_join(X, Y, d, 3, explain="terms")
    parts = found[list(found.columns[4:])].to_numpy()
    np.testing.assert_allclose(parts.sum(axis=1), found["distance"])
    want = [d(X[i], Y[j]) for i, j in zip(found["left"], found["right"], strict=True)]
    np.testing.assert_allclose(found["distance"], want)


def test_a_learner_gives_its_distance():
    rng = np.random.default_rng(0)
    X, pairs = rng.random((60, 2)), rng.integers(0, 60, (200, 2))
    learner = DistanceRegressor(n_knots=3, alpha=1e-3, preprocessor=X).fit(
        pairs, np.abs(X[pairs[:, 0]] - X[pairs[:, 1]]).sum(1)
    )
    found = nearest_join(X[:5], X[5:], learner, 2)
    distances, ids = NeighborIndex(learner).fit(X[5:]).kneighbors(X[:5], 2)
    assert found["right"].tolist() == ids.ravel().tolist()
    assert found["distance"].tolist() == distances.ravel().tolist()


def test_rows_are_equal_to_others_but_not_to_themselves():
    X = np.array([[1.0], [1.0], [2.0]])
    assert (
        rows_of(nearest_join(X, X, "l1"))
        == rows_of(nearest_join(X, d="l1"))
        == [(0, 1, 1, 0.0), (1, 0, 1, 0.0), (2, 0, 1, 1.0)]
    )
    assert rows_of(nearest_join(X, X.copy(), "l1")) == [(0, 0, 1, 0.0), (1, 0, 1, 0.0), (2, 2, 1, 0.0)]
    assert rows_of(nearest_join(X[:1], d="l1", k=4)) == []


INDEX = NeighborIndex("l1").fit(STOCK[["price"]])
REFUSED = {
    "no column of right": (lambda: nearest_join(ORDERS, STOCK, "l1", by="shp"), "'shp'", "no column of right"),
    "no column of left": (lambda: nearest_join(ORDERS[["price"]], STOCK, "l1", by="shop"), "'shop'", "no column of left"),
    "two distances": (lambda: nearest_join(ORDERS, INDEX, "l1"), "d= is given", "a distance of its own"),
    "no distance": (lambda: nearest_join(ORDERS, STOCK), "d=None", "a distance is required"),
    "no rows": (lambda: nearest_join(ORDERS, STOCK, "l1", 0), "k=0", "integer >= 1"),
    "radius": (lambda: nearest_join(ORDERS, STOCK, "l1", by="shop", radius=-1.0), "radius=-1.0", ">= 0"),
    "how": (lambda: nearest_join(ORDERS, STOCK, "l1", how="outer"), "outer", "left"),
    "explain": (lambda: nearest_join(ORDERS, STOCK, "l1", explain="all"), "all", "features"),
    "names": (lambda: nearest_join(ORDERS, STOCK, "l1", names=("a", "rank")), "names=('a', 'rank')", "two different names"),
    "two indexes": (lambda: nearest_join(INDEX, INDEX.fit(STOCK[["price"]]), k=1, by="x") or None, "'x'", "price"),
    "an index of left": (lambda: nearest_join(INDEX, STOCK[["price"]], "l1"), "left is an index", "as a table"),
    "algorithm": (lambda: nearest_join(ORDERS, STOCK, "l1", algorithm="fast"), "fast", "exact"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_join_is_refused(case):
    call, *words = REFUSED[case]
    assert_refused(call, *words)


def test_a_press_of_ctrl_c_ends_a_join_and_leaves_the_index(monkeypatch):
    index = NeighborIndex("l1").fit(STOCK[["price"]], payload=STOCK[["shop"]])
    monkeypatch.setattr(join, "_ROWS", 1)
    whole, asked = NeighborIndex.search_encoded, []

    def interrupted(self, *arguments, **options):
        asked.append(1)
        if len(asked) == 2:
            raise KeyboardInterrupt
        return whole(self, *arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(NeighborIndex, "search_encoded", interrupted)
        with pytest.raises(KeyboardInterrupt):
            nearest_join(ORDERS, index, by="shop")
    assert len(asked) == 2
    assert [row[0] for row in rows_of(nearest_join(ORDERS, index, by="shop"))] == ["x", "y"]


def test_a_bar_counts_the_rows(capsys):
    nearest_join(ORDERS, STOCK, "l1", by="shop", verbose=True)
    assert "rows: 100%" in capsys.readouterr().err
    nearest_join(ORDERS, STOCK, "l1", by="shop", verbose=False)
    assert capsys.readouterr().err == ""


def test_text_that_the_other_table_spells_in_another_way_is_warned_of():
    right = pd.DataFrame({"city": ["Paris", "Rome", "Oslo", "Bern"], "pop": [2.1, 2.8, 0.7, 0.1]})
    left = pd.DataFrame({"city": ["paris", "ROME", "Oslo"], "pop": [0.1, 0.7, 0.2]})
    with pytest.warns(SemimetricWarning, match="2 of 3 rows of left have a category of 'city' that right has not"):
        nearest_join(left, right, "gower", k=1)
    nearest_join(left[2:], right, "gower", k=1)
    both = pd.DataFrame({"kind": ["x", "y", "z"], "n": [1.0, 2.0, 3.0]})
    d = Semimetric.gower(pd.concat([both, both.assign(kind=["p", "q", "r"])]))
    nearest_join(both, both.copy(), d, k=1)
    with pytest.warns(SemimetricWarning, match="3 of 3 rows of left have a category of 'kind' that right has not. It has 'x'"):
        nearest_join(both.assign(kind=["p", "q", "r"]), both, d, k=1)
