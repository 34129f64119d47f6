"""A searcher answers what `kneighbors` answers, of the items that were there when it was made."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from cases import assert_refused
from numpy.testing import assert_array_equal
from searches import rough_distance, search_problem

from semimetric import Grid, NeighborIndex, NotSupportedError, gower
from semimetric.distances.search import segment


@pytest.fixture(autouse=True)
def scans_for_few(monkeypatch):
    monkeypatch.setattr(segment, "_FEW", 0)
    monkeypatch.setattr(segment, "_WORTH", 0)


def assert_same(found, want):
    for one, two in zip(found, want, strict=True):
        assert_array_equal(one, two)


@pytest.mark.parametrize("kind", ["singles", "pairs"])
@pytest.mark.parametrize("algorithm", ["exact", "approximate", "brute"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_query_and_many(kind, algorithm, dtype):
    _, items, queries = search_problem(600)
    d, queries = rough_distance(Grid.fit(items, n_knots=4), kind=kind, link="sqrt", low=0.05), queries.astype(dtype)
    index = NeighborIndex(d, algorithm=algorithm).fit(items)
    nearest, want = index.searcher(4), index.kneighbors(queries, 4)
    assert nearest.k == 4
    assert_same(nearest(queries), want)
    assert_same(nearest(queries.tolist()), want)
    for q, query in enumerate(queries):
        assert_same(nearest(query), [array[q] for array in want])
        assert_same(nearest(query.tolist()), [array[q] for array in want])
        assert_same(nearest(query[None]), [array[q : q + 1] for array in want])


def test_conditions_are_looked_up_once_and_later_items_are_not_there():
    d, items, queries = search_problem(300)
    index, few = NeighborIndex(d).fit(items), np.arange(0, 300, 7)
    nearest, every = index.searcher(50, where=few), index.searcher(3, algorithm="brute")
    want, before = index.kneighbors(queries, 50, where=few), index.kneighbors(queries, 3)
    assert nearest.k == len(few)
    index.add(queries).remove(few)
    assert_same(nearest(queries), want)
    assert_same(every(queries), before)
    assert repr(nearest) == "Searcher of the 43 nearest of 43 items, exact"


def test_threads_share_a_searcher():
    d, items, _ = search_problem(2000)
    nearest, queries = NeighborIndex(d).fit(items).searcher(5), np.random.default_rng(1).normal(size=(200, 4))
    want = nearest(queries)
    with ThreadPoolExecutor(4) as pool:
        for q, found in enumerate(pool.map(nearest, queries)):
            assert_same(found, [array[q] for array in want])


def test_rows_of_tables():
    frame = pd.DataFrame({"age": np.arange(30.0), "colour": ["blue", "red", "red"] * 10})
    index = NeighborIndex(gower(frame)).fit(frame)
    assert_same(index.searcher(3)(frame[:4]), index.kneighbors(frame[:4], 3))
    assert_same(index.searcher(3)(frame.iloc[2]), [array[0] for array in index.kneighbors(frame[2:3], 3)])


@pytest.mark.parametrize("where", [None, np.arange(0, 300, 3)])
def test_answers_equal_their_query_in_columns(where):
    d, items, queries = search_problem(300)
    rng, names = np.random.default_rng(1), list(d.feature_names)
    index = NeighborIndex(d).fit(pd.DataFrame(items, columns=names), payload={"shop": rng.choice(["a", "b"], 300)})
    frame = pd.DataFrame(queries, columns=names).assign(shop=rng.choice(["a", "b", "c"], len(queries)))
    nearest, want = index.searcher(60, by="shop", where=where), index.kneighbors(frame, 60, by="shop", where=where)
    assert np.isinf(want[0]).any()
    assert_same(nearest(frame), want)
    for q, row in enumerate(frame.to_dict("records")):
        assert_same(nearest(row), [array[q : q + 1] for array in want])
        assert_same(nearest(queries[q], by={"shop": [row["shop"]]}), [array[q] for array in want])
    assert_refused(lambda: nearest(queries[0]), "'shop'", "no column of X")
    assert_refused(lambda: nearest(queries[0], by={"size": [3]}), "other columns", "['shop']")
    assert_refused(lambda: index.searcher(3)(queries[0], by={"shop": ["a"]}), "without groups", "searcher(by=['shop'])")
    assert_refused(lambda: index.searcher(3, by="shops"), "no column of the items", "shop")


def test_what_cannot_be_answered_is_refused():
    d, items, _ = search_problem(60)
    index = NeighborIndex(d).fit(items)
    assert_refused(lambda: index.searcher(61), "n_neighbors=61", "60 items")
    assert_refused(lambda: index.searcher(3, algorithm="fast"), "algorithm='fast'", "'exact'")
    assert_refused(lambda: index.searcher(3, where=np.zeros(60, bool)), "leaves no item", "some items fulfil")
    assert_refused(lambda: index.searcher(3)(items[:, :2]), "2 features", "4")
    assert_refused(lambda: index.searcher(3)(np.full(4, np.nan)), "NaN", "")
    costly = NeighborIndex(d, rerank=lambda x, y: 0.0).fit(items)
    assert_refused(lambda: costly.searcher(3), "rerank", "use kneighbors", error=NotSupportedError)
