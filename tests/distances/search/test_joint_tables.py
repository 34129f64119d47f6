"""The rows that a query reads of joint tables give the distance, to the bit where the tables are held."""

import cases
import numpy as np
import pytest
import strategies as our
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from searches import rough_distance

from semimetric import Grid, Semimetric
from semimetric.distances.pairs.full_tables import PairEmbedding
from semimetric.distances.search import query_tables as joint_tables
from semimetric.distances.search.query_tables import JointQueries, JointTables

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


def test_a_distance_with_joint_groups_is_searched_without_a_merge():
    d = rough_distance(Grid([np.arange(3.0)] * 3), kind="pairs")
    assert isinstance(d, Semimetric)
    assert len(JointTables(d.embedding, d.weights, True).merged) == 0
