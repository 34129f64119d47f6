"""Search along a graph: what it finds, what it refuses, and that it survives what an index survives."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from searches import rough_distance, search_problem

from semimetric import Grid, InputError, NeighborIndex, NotSupportedError, Semimetric, StorageError, load
from semimetric._kernels.graph_search import add_edges, count_edges_back, edges_back
from semimetric.distances.search import graph_building, neighbor_graph, segment, tuning
from semimetric.distances.search import index as index_module
from semimetric.distances.search.neighbor_graph import DEGREE, layer_starts

N, K = 700, 5


@pytest.fixture(autouse=True)
def graphs_for_few(monkeypatch):
    """Small layers, and graphs and scans for few items, so that all that happens to many happens here."""
    monkeypatch.setattr(segment, "_FEW", 0)
    monkeypatch.setattr(neighbor_graph, "_TOP", 20)
    for module in (segment, index_module):
        monkeypatch.setattr(module, "GRAPH_FROM", 100)
    monkeypatch.setattr(graph_building, "_BLOCK", 64)


@pytest.fixture
def problem():
    return search_problem(N)


def found_share(index, queries, **options):
    true = index.kneighbors(queries, K, algorithm="brute", **{k: v for k, v in options.items() if k == "where"})[0]
    got = index.kneighbors(queries, K, algorithm="graph", **options)[0]
    return (got <= true[:, -1:]).mean()


@pytest.mark.parametrize("side", ["query-first", "query-last"])
@pytest.mark.parametrize("storage", ["float64", "uint16"])
def test_neighbours_are_found_with_their_exact_distances(problem, side, storage):
    d, items, queries = problem
    index = NeighborIndex(d, algorithm="graph", side=side, storage=storage).fit(items)
    assert found_share(index, queries, n_candidates=40) > 0.9
    assert found_share(index, queries, n_candidates=N) >= found_share(index, queries, n_candidates=K)
    distances, ids = index.kneighbors(queries, K)
    for x, row, near in zip(queries, distances, ids, strict=True):
        want = [d(x, items[i]) if side == "query-first" else d(items[i], x) for i in near]
        np.testing.assert_allclose(row, want, rtol=1e-9, atol=1e-12)
    assert (np.diff(distances) >= 0).all()
    assert index.estimate_recall(queries, K).mean == pytest.approx(found_share(index, queries))


def test_every_item_is_found_by_a_walk_to_itself(problem):
    d, items, _ = problem
    index = NeighborIndex("l1", algorithm="graph").fit(items)
    assert (index.kneighbors(items, 1, n_candidates=60)[1].ravel() == np.arange(N)).mean() > 0.99


def test_a_walk_ends_at_its_target_and_is_else_the_same(problem):
    d, items, queries = problem
    index = NeighborIndex(d, algorithm="graph").fit(items)
    (of_items,) = index.segments_
    block, rng = of_items.view.block(of_items.view.points(queries)), np.random.default_rng(0)
    whole = of_items._walk.nearest(block, 8)
    targets = np.where(rng.random(len(queries)) < 0.5, whole[:, 3], rng.integers(0, N, len(queries)))
    ended = of_items._walk.nearest(block, 8, targets=targets)
    assert (ended == targets[:, None]).any(axis=1)[(whole == targets[:, None]).any(axis=1)].all()
    missed = ~(ended == targets[:, None]).any(axis=1)
    assert missed.any()
    assert_array_equal(ended[missed], whole[missed])
    assert (ended != whole).any()


def test_groups_that_are_nearest_to_one_another_alone_are_in_reach():
    rng = np.random.default_rng(0)
    centres = rng.random((12, 3)) * 100
    items = np.concatenate([c + rng.normal(size=(60, 3)) * 0.01 for c in centres])
    index = NeighborIndex("l1", algorithm="graph").fit(items)
    assert found_share(index, items + 0.001, n_candidates=60) > 0.95


def test_the_graph_does_not_depend_on_threads(problem):
    d, items, _ = problem
    one, two = (NeighborIndex(d, algorithm="graph", n_jobs=n).fit(items).segments_[0].graph for n in (1, 2))
    assert_array_equal(one.edges, two.edges)
    assert_array_equal(one.codes, two.codes)


def test_edges_stay_in_their_layer_and_name_nobody_twice(problem):
    d, items, _ = problem
    graph = NeighborIndex(d, algorithm="graph").fit(items).segments_[0].graph
    first = layer_starts(N)
    assert len(graph.edges) == first[-1]
    assert graph.edges.shape[1] == DEGREE
    for node, row in enumerate(graph.edges):
        own = row[row >= 0]
        assert (row[len(own) :] == -1).all()
        assert len(set(own)) == len(own)
        assert node not in own
        layer = np.searchsorted(first, node, side="right")
        assert (np.searchsorted(first, own, side="right") == layer).all()
    graph.check(N, len(graph.levels))


@pytest.mark.parametrize("n", [1, 100, 513, 8192, 10**6])
def test_layers_end_in_a_small_one(n, monkeypatch):
    monkeypatch.setattr(neighbor_graph, "_TOP", 512)
    sizes = np.diff(layer_starts(n))
    assert sizes[0] == n
    assert len(sizes) >= 2
    assert 1 <= sizes[-1] <= 512


def test_filters_and_removed_items_are_kept_out(problem):
    d, items, queries = problem
    index = NeighborIndex(d, algorithm="graph").fit(items)
    most, few = np.arange(N) % 5 > 0, np.arange(N) % 5 == 0
    for where in (most, few):
        assert where[index.kneighbors(queries, K, where=where)[1]].all()
    assert found_share(index, queries, where=most, n_candidates=60) > 0.9
    gone = np.arange(0, 60)
    graph = index.segments_[0].graph
    index.remove(gone)
    assert not np.isin(index.kneighbors(queries, K)[1], gone).any()
    assert index.segments_[0].graph is graph
    index.remove(np.arange(60, 400))  # so many that the rest is built anew
    assert len(index.segments_[0]) == index.segments_[0].graph.n == N - 400
    assert found_share(index, queries, n_candidates=60) > 0.9


def test_items_that_are_added_are_found(problem):
    d, items, queries = problem
    index = NeighborIndex(d, algorithm="graph").fit(items[:400]).add(items[400:450])
    assert found_share(index, queries, n_candidates=80) > 0.9
    index.add(items[450:])
    assert all(s.graph is not None for s in index.segments_ if len(s) > 100)
    assert found_share(index, queries, n_candidates=80) > 0.9


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("storage", ["float64", "uint16"])
def test_a_saved_graph_answers_as_before(problem, tmp_path, mmap, storage):
    d, items, queries = problem
    index = NeighborIndex(d, algorithm="graph", storage=storage).fit(items)
    index.save(tmp_path / "index")
    again = load(tmp_path / "index", mmap=mmap)
    assert again.algorithm == "graph"
    for a, b in zip(index.kneighbors(queries, K), again.kneighbors(queries, K), strict=True):
        assert_array_equal(a, b)
    assert again.memory_usage()["mapped" if mmap else "graph"] >= index.memory_usage()["graph"] > 128 * N


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("edges", lambda a: a + 1), ("edges", lambda a: np.where(a >= 0, 10**9, a)), ("edges", lambda a: a[:-1]),
        ("below", lambda a: a - 10**6), ("codes", lambda a: a | 128), ("levels", lambda a: -a),
        ("levels", lambda a: a * np.nan),
    ],
)  # fmt: skip
def test_a_graph_that_leads_nowhere_is_refused(problem, name, change):
    d, items, _ = problem
    graph = NeighborIndex(d, algorithm="graph").fit(items).segments_[0].graph
    arrays = {field: getattr(graph, field) for field in ("levels", "codes", "edges", "below")}
    changed = neighbor_graph.NeighborGraph(**(arrays | {name: change(arrays[name])}))
    with pytest.raises(InputError, match="graph"):
        changed.check(N, len(graph.levels))


def test_a_changed_file_is_refused(problem, tmp_path):
    d, items, _ = problem
    index = NeighborIndex(d, algorithm="graph").fit(items)
    graph = index.segments_[0].graph
    index.segments_[0].graph = neighbor_graph.NeighborGraph(graph.levels, graph.codes, graph.edges + 1, graph.below)
    index.save(tmp_path / "index")
    with pytest.raises(StorageError, match="leads nowhere"):
        load(tmp_path / "index")


def test_without_a_graph_the_search_is_refused(problem):
    d, items, queries = problem
    index = NeighborIndex(d).fit(items)
    with pytest.raises(InputError, match="build_graph"):
        index.kneighbors(queries, K, algorithm="graph")
    assert index.build_graph() is index
    index.kneighbors(queries, K, algorithm="graph")


@pytest.mark.parametrize("kind", ["joint", "pairs"])
def test_distances_that_are_no_sums_of_single_features_are_refused(problem, kind):
    _, items, _ = problem
    d = rough_distance(Grid.fit(items, n_knots=3), kind=kind)
    with pytest.raises(NotSupportedError, match="single features"):
        NeighborIndex(d, algorithm="graph").fit(items)
    with pytest.raises(NotSupportedError, match="single features"):
        NeighborIndex(d).fit(items).build_graph()


def test_another_distance_keeps_the_edges(problem):
    d, items, queries = problem
    index = NeighborIndex(d, algorithm="graph").fit(items)
    again = index.with_semimetric(d)
    assert again.segments_[0].graph is index.segments_[0].graph
    assert_array_equal(again.kneighbors(queries, K)[1], index.kneighbors(queries, K)[1])


def test_an_interrupted_call_leaves_the_index_as_it_was(problem, monkeypatch):
    d, items, queries = problem
    index = NeighborIndex(d).fit(items)
    before, segments = index.kneighbors(queries, K), list(index.segments_)

    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(graph_building, "_reach_all", interrupted)
    with pytest.raises(KeyboardInterrupt):
        index.build_graph()
    assert [a is b for a, b in zip(index.segments_, segments, strict=True)] == [True]
    assert_array_equal(index.kneighbors(queries, K)[1], before[1])


def test_duplicates_and_missing_values_and_categories_are_walked_to():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 3, 600), rng.integers(0, 4, 600), rng.random(600).round(2)]).astype(float)
    d = Semimetric.gower(X, categorical_features=[0, 1])
    index = NeighborIndex(d, algorithm="graph").fit(X)
    assert found_share(index, X[:100], n_candidates=60) > 0.9


def test_tuning_considers_the_graph(problem, monkeypatch):
    d, items, queries = problem
    index = NeighborIndex(d).fit(items).build_graph()
    costs = {"exact": 3.0, "approximate": 2.0, "graph": 1.0}
    monkeypatch.setattr(tuning, "_microseconds", lambda self, q, k, s: costs[s.algorithm])
    found = index.tune(items[:200] + 0.01, recall=0.8, n_neighbors=K)
    assert found.chosen.algorithm == index.algorithm == "graph"
    assert index.n_candidates == found.chosen.n_candidates
    assert {search.algorithm for search in found.tried} == {"exact", "approximate", "graph"}


def test_edges_back_are_those_of_all_others():
    edges = np.array([[1, 2, -1], [2, -1, -1], [0, 1, -1]], np.int32)
    starts = np.empty(len(edges) + 1, np.int64)
    count_edges_back(edges, starts)
    rows = np.empty(starts[-1], np.int32)
    edges_back(edges, starts, rows)
    assert [sorted(rows[a:b]) for a, b in zip(starts[:-1], starts[1:], strict=True)] == [[2], [0, 2], [0, 1]]


def test_edges_are_added_once_and_take_the_place_of_others():
    edges = np.array([[1, -1, -1], [5, 6, 7]], np.int32)
    add_edges(edges, np.array([0, 0, 1]), np.array([2, 2, 9]))
    assert_array_equal(edges, [[1, 2, -1], [9, 6, 7]])
