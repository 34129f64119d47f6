"""Single queries in few compiled calls are answered as blocks of queries are, to the bit."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from cases import assert_refused
from numpy.testing import assert_array_equal
from searches import rough_distance, search_problem

from semimetric import Grid, NeighborIndex
from semimetric.distances.search import graph_building, neighbor_graph, segment
from semimetric.distances.search import index as index_module

N = 700


@pytest.fixture(autouse=True)
def scans_and_graphs_for_few(monkeypatch):
    monkeypatch.setattr(segment, "_FEW", 0)
    monkeypatch.setattr(segment, "_WORTH", 0)
    monkeypatch.setattr(neighbor_graph, "_TOP", 20)
    for module in (segment, index_module):
        monkeypatch.setattr(module, "GRAPH_FROM", 100)
    monkeypatch.setattr(graph_building, "_BLOCK", 64)


def is_prepared(nearest):
    return nearest._single is not None and nearest._single.walked is not None


def assert_answers(nearest, queries, want):
    for q, query in enumerate(queries):
        for one, many in zip(nearest(query), want, strict=True):
            assert_array_equal(one, many[q])


@pytest.mark.parametrize("side", ["query-first", "query-last"])
@pytest.mark.parametrize("link", ["identity", "sqrt"])
@pytest.mark.parametrize("options", [{}, {"where": np.arange(0, N, 2)}, {"where": np.arange(100, N)}], ids=str)
@pytest.mark.parametrize("algorithm", ["exact", "graph"])
def test_single_queries_are_answered_as_blocks_are(algorithm, options, link, side):
    _, items, queries = search_problem(N)
    queries[5:] *= 20  # far outside the range
    d = rough_distance(Grid.fit(items, n_knots=5), link=link, low=0.05)
    index = NeighborIndex(d, algorithm=algorithm, side=side).fit(
        np.round(items, 1), ids=np.random.default_rng(0).permutation(N)
    )
    nearest = index.searcher(6, n_candidates=30, **options)
    assert is_prepared(nearest) == (algorithm == "graph")
    assert_answers(nearest, queries, index.kneighbors(queries, 6, n_candidates=30, **options))
    assert_answers(nearest, np.round(queries, 1), index.kneighbors(np.round(queries, 1), 6, n_candidates=30, **options))


@pytest.mark.parametrize("n_features", [1, 3, 40])
def test_exact_queries_are_answered_as_by_brute_force(n_features):
    d, items, queries = search_problem(N, n_features)
    index = NeighborIndex(d).fit(items).remove(np.arange(9))
    assert_answers(index.searcher(4), queries, index.kneighbors(queries, 4, algorithm="brute"))


@pytest.mark.parametrize("algorithm", ["exact", "graph"])
def test_what_is_not_prepared_is_answered_too(algorithm):
    d, items, queries = search_problem(N)
    index = NeighborIndex(d, algorithm=algorithm, storage="uint16").fit(items)
    assert not is_prepared(index.searcher(4))
    assert_answers(index.searcher(4), queries, index.kneighbors(queries, 4))
    index = NeighborIndex(d, algorithm=algorithm).fit(items)
    few = index.searcher(4, where=np.arange(5))
    assert_answers(few, queries, index.kneighbors(queries, 4, where=np.arange(5)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index_module, "_TAIL", 10)
        index.add(queries, ids=np.arange(N, N + len(queries)))
    assert len(index.segments_) == 1 or index.searcher(4)._single is None
    assert_answers(index.searcher(4), queries, index.kneighbors(queries, 4))


def test_equal_items_and_constant_tables():
    """No scan names items where a table is constant or all bounds are the same."""
    d, items, _ = search_problem(N)
    equal = np.tile(items[:1], (N, 1))
    index = NeighborIndex(d).fit(equal)
    assert_answers(index.searcher(5), items[:3], index.kneighbors(items[:3], 5, algorithm="brute"))


@pytest.mark.parametrize("algorithm", ["exact", "graph"])
@pytest.mark.parametrize("wrong", [np.nan, np.inf, 1.7e308])
def test_values_that_no_distance_takes_are_refused(algorithm, wrong):
    d, items, queries = search_problem(N)
    nearest = NeighborIndex(d, algorithm=algorithm).fit(items).searcher(3)
    queries[0, 1] = wrong
    assert_refused(lambda: nearest(queries[0]), "x1" if wrong == 1.7e308 else "NaN", "correct it" if wrong == np.inf else "")
    assert len(nearest(queries[1])[0]) == 3


@pytest.mark.parametrize("algorithm", ["exact", "graph"])
def test_threads_share_what_is_prepared(algorithm):
    d, items, _ = search_problem(N)
    index = NeighborIndex(d, algorithm=algorithm).fit(items)
    queries = np.random.default_rng(1).normal(size=(300, 4))
    nearest, want = index.searcher(5), index.kneighbors(queries, 5)
    with ThreadPoolExecutor(8) as pool:
        for q, found in enumerate(pool.map(nearest, queries)):
            for one, many in zip(found, want, strict=True):
                assert_array_equal(one, many[q])
