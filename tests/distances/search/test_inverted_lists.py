"""Inverted lists divide the items; what is exact does not depend on how."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from searches import rough_distance, search_problem

from semimetric import Grid, NeighborIndex
from semimetric.distances.search import segment as inverted_lists
from semimetric.distances.search.cells import CellLayout
from semimetric.distances.search.query_tables import QueryView
from semimetric.distances.search.segment import Lists, list_count


def test_lists_are_made_where_they_pay():
    d, items, _ = search_problem(50)
    assert list_count(10_000, QueryView(d)) == 1
    assert list_count(250_000, QueryView(d)) == 500
    joint = rough_distance(Grid.fit(items, n_knots=3), kind="joint")
    assert list_count(250_000, QueryView(joint)) == 1  # no part stands on a single feature


@pytest.mark.parametrize("n_lists", [2, 9])
def test_every_item_is_in_a_list_and_every_list_has_items(n_lists):
    d, items, _ = search_problem(400)
    view = QueryView(d)
    points, layout = view.points(items), CellLayout.fit(view, items, 0)
    lists = Lists.fit(view, layout, points, n_lists, n_jobs=1, seed=0)
    n = len(lists.codes)
    assert 1 <= n <= n_lists
    assert_array_equal(np.unique(lists.member), np.arange(n))
    assert lists.member.shape == (400,)
    assert lists.codes.shape == (n, -(-layout.n_columns // 2))
    again = Lists.fit(view, layout, points, n_lists, n_jobs=1, seed=0)
    assert_array_equal(again.member, lists.member)


def test_an_index_of_many_items_has_lists_by_itself(monkeypatch):
    monkeypatch.setattr(inverted_lists, "_FROM", 300)
    d, items, queries = search_problem(400)
    index = NeighborIndex(d).fit(items)
    assert len(index.segments_[0].lists.codes) > 10
    for a, b in zip(index.kneighbors(queries, 5), NeighborIndex(d, n_lists=1).fit(items).kneighbors(queries, 5), strict=True):
        assert_array_equal(a, b)
