"""Answers of several segments, merged, filtered and written as a graph."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from searches import search_problem

from semimetric.distances.search.cells import CellLayout
from semimetric.distances.search.items import Neighbors, Recall, SegmentedItems, as_graph, merged, no_neighbors, without_own
from semimetric.distances.search.query_tables import QueryView
from semimetric.distances.search.segment import SearchRequest, Segment


def neighbors_of(distances, ids):
    order = np.lexsort((ids, distances), axis=-1)
    sort = lambda a: np.take_along_axis(a, order, axis=1)  # noqa: E731
    return Neighbors(sort(distances), sort(ids), np.full(len(ids), 2), np.arange(len(ids)) > 0)


@given(seed=st.integers(0, 1000), k=st.integers(1, 6), sizes=st.lists(st.integers(0, 5), min_size=1, max_size=4))
def test_merged_answers_are_the_smallest_of_all_with_ties_by_id(seed, k, sizes):
    rng = np.random.default_rng(seed)
    distances = rng.integers(0, 3, (4, sum(sizes))).astype(float)
    ids = np.tile(rng.permutation(sum(sizes)), (4, 1))
    cuts = np.cumsum(sizes)[:-1]
    parts = [neighbors_of(d, i) for d, i in zip(np.split(distances, cuts, 1), np.split(ids, cuts, 1), strict=True)]
    found = merged(parts, k)
    for q in range(4):
        want = sorted(zip(distances[q], ids[q], strict=True))[:k]
        assert list(zip(found.distances[q], found.ids[q], strict=True)) == want
    assert (found.refined == 2 * len(sizes)).all()
    assert found.at_once.tolist() == [False, True, True, True]


def test_an_item_is_not_its_own_neighbour_wherever_it_stands():
    found = neighbors_of(np.array([[0.0, 1.0, 2.0]] * 3), np.array([[7, 8, 9]] * 3))
    alone = without_own(found, np.array([7, 9, 5]))
    assert alone.ids.tolist() == [[8, 9], [7, 8], [7, 8]]  # 5 was crowded out by others at its place
    assert alone.distances.tolist() == [[1.0, 2.0], [0.0, 1.0], [0.0, 1.0]]


def test_a_graph_has_the_values_in_the_columns_of_their_ids():
    ids, every = np.array([["b", "a"], ["c", "b"]]), np.array(["c", "a", "b"])
    graph = as_graph(np.array([[1.0, 2.0], [3.0, 4.0]]), ids, every)
    assert graph.toarray().tolist() == [[0.0, 2.0, 1.0], [3.0, 0.0, 4.0]]
    assert graph.data.tolist() == [1.0, 2.0, 3.0, 4.0]  # rows keep their order


def test_recall_counts_ties_and_knows_its_numbers():
    recall = Recall.of(np.array([[1.0, 2.0], [1.0, 1.0]]), np.array([[1.0, 2.0], [1.0, 3.0]]))
    assert (recall.mean, recall.n_queries, recall.n_neighbors) == (0.75, 2, 2)
    assert str(recall).startswith("recall@2 0.7500")
    assert no_neighbors(3, np.dtype("U2")).ids.shape == (3, 0)


@pytest.mark.parametrize("verbose", [False, True])
def test_segments_answer_as_one_and_give_back_their_vectors(verbose):
    d, items, queries = search_problem(90)
    view, ids = QueryView(d), np.random.default_rng(0).permutation(90)
    layout = CellLayout.fit(view, items, 0)
    options = {"n_lists": 1, "n_jobs": 1, "seed": 0}
    whole = SegmentedItems(view, [Segment.build(view, layout, ids, items, **options)], [None])
    split = [Segment.build(view, layout, ids[s], items[s], **options) for s in (slice(40), slice(40, 41), slice(41, 90))]
    several = SegmentedItems(view, split, [None] * 3)
    assert whole.n_eligible == several.n_eligible == 90
    one, more = (c.nearest(queries, SearchRequest(5), n_jobs=2, verbose=verbose) for c in (whole, several))
    assert_array_equal(one.ids, more.ids)
    assert_array_equal(one.distances, more.distances)
    near, nearer = (c.within(queries, float(one.distances[0, 3]), n_jobs=1, verbose=verbose) for c in (whole, several))
    assert all((a == b).all() for x, y in zip(near, nearer, strict=True) for a, b in zip(x, y, strict=True))
    assert_array_equal(several.vectors(one.ids), items[np.argsort(ids)[one.ids]])
    assert several.vectors(one.ids).dtype == several.segments[0].points.raw.dtype
