"""The rows that a query reads of joint tables give the distance, to the bit where the tables are held."""

import cases
import numpy as np
import pytest
import strategies as our
from cases import assert_refused
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from searches import rough_distance

from semimetric import Grid, NeighborIndex, NotSupportedError, Semimetric, ShardedIndex
from semimetric.distances.pairs.full_tables import PairEmbedding
from semimetric.distances.search import query_tables as joint_tables
from semimetric.distances.search.query_tables import JointQueries, JointTables, QueryView

KINDS = ["pairs", "joint", "overlapping", "swapped", "asymmetric", "touched"]
WAYS = {"held": {}, "gathered": {"_MOST_EXPANDED": -1}, "merged": {"_MOST_EXPANDED": -1, "_MOST_GATHERED": -1}}


def parts(embedding, weights, query_first, queries, items):
    """The values of all groups between all queries and all items, and by the distance's own walk: both (n, m)."""
    x, y = embedding.locate(queries), embedding.locate(items)
    of_queries, rows = JointQueries(JointTables(embedding, weights, query_first), x), np.arange(len(items))[::-1].copy()
    got, want = np.zeros((len(queries), len(items))), np.empty((len(queries), len(items)))
    for b in range(len(queries)):
        of_queries.add(b, y, rows, got[b])
        query = np.full(len(rows), b)
        want[b] = embedding.paired(*((x, query, y, rows) if query_first else (y, rows, x, query)), weights)
    return got, want


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data(), seed=st.integers(0, 2**31), query_first=st.booleans())
@settings(max_examples=25)
def test_rows_of_held_tables_give_the_distance_to_the_bit(kind, data, seed, query_first):
    grid = data.draw(our.grids(max_features=4, max_knots=4) if kind in ("pairs", "swapped") else our.grids(max_features=3))
    embedding = cases.EMBEDDINGS[kind](grid)
    weights = np.random.default_rng(seed).normal(size=embedding.n_columns)
    queries, items = data.draw(our.points(grid, 4)), data.draw(our.points(grid, 20))
    items[:2] = queries[:2]  # ties of all fractions
    got, want = parts(embedding, weights, query_first, queries, items)
    if kind == "touched":
        assert_allclose(got, want, rtol=1e-12, atol=1e-12)
    else:
        assert_array_equal(got, want)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("symmetry", ["tie", "swap", "none"])
@pytest.mark.parametrize("query_first", [True, False])
def test_groups_that_are_too_large_to_be_held_are_gathered_or_merged(way, symmetry, query_first, monkeypatch):
    rng = np.random.default_rng(0)
    grid = Grid([np.sort(rng.random(k)) for k in (4, 3, 5)])
    whole = PairEmbedding(grid, [(0, 2), (2, 1, 0), (1,)], symmetry=symmetry)
    touched = [v.keys[::3] for v in whole.vertices]
    embedding = PairEmbedding(grid, whole.groups, symmetry=symmetry, touched=touched, unseen_slopes=rng.random(3))
    for name, value in WAYS[way].items():
        monkeypatch.setattr(joint_tables, name, value)
    tables = JointTables(embedding, rng.random(embedding.n_columns), query_first)
    assert [len(getattr(tables, name)) for name in ("held", "gathered", "merged")] == [3 * (w == way) for w in WAYS]
    got, want = parts(embedding, tables.weights, query_first, rng.uniform(-0.2, 1.2, (5, 3)), rng.uniform(-0.2, 1.2, (40, 3)))
    assert_allclose(got, want, rtol=1e-13, atol=1e-13)


def test_rows_are_gathered_anew_for_another_query(monkeypatch):
    monkeypatch.setattr(joint_tables, "_MOST_EXPANDED", -1)
    rng = np.random.default_rng(0)
    grid = Grid([np.arange(4.0)] * 2)
    embedding = cases.EMBEDDINGS["touched"](grid)
    tables = JointTables(embedding, rng.random(embedding.n_columns), True)
    queries = JointQueries(tables, embedding.locate(3 * rng.random((2, 2))))
    first = queries.gathered(0)
    assert queries.gathered(0) is first
    assert not np.array_equal(queries.gathered(1).tables, first.tables)


@pytest.mark.parametrize("kind", ["categorical", "periodic"])
def test_features_of_every_kind_and_missing_values(kind):
    rng = np.random.default_rng(0)
    grid = Grid([np.arange(4.0), np.linspace(0, 1, 3), np.zeros(1)], (kind, "numeric", "numeric"), (True, True, True))
    embedding = PairEmbedding(grid, [(0, 1), (1, 2), (2, 0)])
    X = np.column_stack([rng.integers(0, 4, 60).astype(float), rng.random(60), rng.random(60)])
    X[rng.random((60, 3)) < 0.2] = np.nan
    got, want = parts(embedding, rng.random(embedding.n_columns), True, X[:10], X)
    assert_array_equal(got, want)
    assert (np.diag(got[:, ::-1]) == 0).all()  # an item is at distance 0 from itself


@pytest.mark.parametrize("kind", [*KINDS, "singles and pairs"])
@given(data=st.data(), seed=st.integers(0, 2**31), side=st.sampled_from(["query-first", "query-last"]))
@settings(max_examples=25)
def test_search_by_merged_orders_is_brute_force(kind, data, seed, side):
    grid = data.draw((our.grids if kind in ("touched", "swapped") else our.mixed_grids)(max_features=3, max_knots=4))
    items, queries = data.draw(our.points(grid, 30)), data.draw(our.points(grid, 3))
    d = rough_distance(grid, kind=kind, seed=seed)
    index = NeighborIndex(d, side=side).fit(items)
    if QueryView(d).joint is None:  # one feature alone
        assert_refused(
            lambda: index.kneighbors(queries, 4, algorithm="merge"),
            "algorithm='merge'",
            "joint groups",
            error=NotSupportedError,
        )
        return
    merged, brute = (index.search(queries, 4, algorithm=a) for a in ("merge", "brute"))
    every = d.pairwise(queries, items) if side == "query-first" else d.pairwise(items, queries).T
    assert_allclose(merged.distances, np.sort(every, axis=1)[:, :4], rtol=1e-12, atol=1e-12)
    assert_allclose(np.take_along_axis(every, merged.ids, axis=1), merged.distances, rtol=1e-12, atol=1e-12)
    assert (merged.refined == len(items)).all()
    if kind != "touched":  # rows of tables that are gathered are added up in another order
        assert_array_equal(merged.distances, brute.distances)
        assert_array_equal(merged.ids, brute.ids)


@pytest.mark.slow
@pytest.mark.parametrize("storage", ["float64", "uint16"])
def test_merged_orders_are_searched_in_every_way_that_an_index_is(storage, monkeypatch, tmp_path):
    """With removed and added items, a condition, a searcher and shards, in segments that are scanned otherwise."""
    rng = np.random.default_rng(0)
    items, queries = rng.uniform(-0.2, 1.2, (5000, 3)), rng.uniform(-0.2, 1.2, (6, 3))
    d = rough_distance(Grid([np.linspace(0, 1, 4)] * 3), kind="pairs")
    calls = []
    walk = PairEmbedding.paired
    monkeypatch.setattr(PairEmbedding, "paired", lambda self, x, i, *rest: calls.append(len(i)) or walk(self, x, i, *rest))
    index = NeighborIndex(d, algorithm="merge", storage=storage).fit(items).remove(np.arange(0, 900, 3)).add(items[:9] + 0.01)
    want = index.kneighbors(queries, 7, algorithm="brute")
    assert not calls  # tables are held, so brute force reads their rows
    for got in (index.kneighbors(queries, 7), index.searcher(7)(queries), index.kneighbors(queries, 7, algorithm="exact")):
        for a, b in zip(got, want, strict=True):
            assert_array_equal(a, b)
    assert sum(calls) == 2 * len(queries) * len(index)
    few, whole = (
        np.arange(1000, 1100),
        (index.kneighbors(queries, 3, where="x0 > 0.5", algorithm=a) for a in ("merge", "brute")),
    )
    assert_array_equal(*(index.kneighbors(queries, 3, where=few, algorithm=a)[1] for a in ("merge", "brute")))
    assert_array_equal(*(ids for _, ids in whole))
    shards = ShardedIndex.build(tmp_path / "shards", d, items[:400], n_shards=2)
    assert_array_equal(*(shards.kneighbors(queries, 5, algorithm=a)[1] for a in ("merge", "brute")))


def test_a_distance_without_joint_groups_has_nothing_to_merge():
    d = rough_distance(Grid([np.arange(3.0)] * 3))
    items = np.random.default_rng(0).random((9, 3))
    for search in (
        lambda: NeighborIndex(d, algorithm="merge").fit(items),
        lambda: NeighborIndex(d).fit(items).kneighbors(items, 2, algorithm="merge"),
        lambda: NeighborIndex(d).fit(items).searcher(2, algorithm="merge")(items[0]),
    ):
        assert_refused(search, "algorithm='merge'", "joint groups", "use algorithm='brute'", error=NotSupportedError)


def test_a_distance_with_joint_groups_is_searched_without_a_merge():
    d = rough_distance(Grid([np.arange(3.0)] * 3), kind="pairs")
    assert isinstance(d, Semimetric)
    assert len(JointTables(d.embedding, d.weights, True).merged) == 0
