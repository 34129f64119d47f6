"""A segment answers for the items that are alive and kept, whatever way it takes to them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from searches import rough_distance, search_problem

from semimetric import Grid
from semimetric.distances.search import segment as module
from semimetric.distances.search.cells import CellLayout
from semimetric.distances.search.query_tables import QueryView
from semimetric.distances.search.segment import SearchRequest, Segment


def segment_of(d, items, ids=None, n_lists=1):
    view = QueryView(d)
    ids = np.arange(len(items)) if ids is None else ids
    return Segment.build(view, CellLayout.fit(view, items, 0), ids, items, n_lists=n_lists, n_jobs=1, seed=0)


@pytest.mark.parametrize("kind", ["singles", "overlapping"])
@given(seed=st.integers(0, 1000), k=st.integers(1, 5))
@settings(max_examples=10)
def test_the_certified_answer_is_that_of_all_items(kind, seed, k):
    rng = np.random.default_rng(seed)
    items = np.round(rng.normal(size=(300, 3)), 1)  # so that distances tie
    segment = segment_of(rough_distance(Grid.fit(items, n_knots=4), kind=kind, seed=seed), items, rng.permutation(300))
    segment = segment.with_alive(rng.random(300) < 0.9)
    queries, keep = segment.view.block(segment.view.points(rng.normal(size=(3, 3)))), rng.random(300) < 0.8
    eligible = segment.alive & keep
    want = segment.nearest(queries, SearchRequest(k, "brute"), keep)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_FEW", 0)
        for large in (0, 10_000):  # by a range, and by the smallest sums
            patch.setattr(module, "_LARGE", large)
            found = segment._certified(queries, SearchRequest(k), eligible, 20)
            assert_array_equal(found.sums, want.sums)
            assert_array_equal(found.rows, want.rows)
    assert eligible[want.rows].all()
    assert (want.refined == eligible.sum()).all()


def test_within_names_every_item_up_to_the_limit(monkeypatch):
    monkeypatch.setattr(module, "_FEW", 0)
    d, items, queries = search_problem(300)
    segment = segment_of(d, items)
    block, every = segment.view.block(segment.view.points(queries)), d.pairwise(queries, items)
    limit = float(np.quantile(every, 0.1))
    for q, (sums, rows) in enumerate(segment.within(block, limit * (1 + 1e-12), None)):
        assert set(np.flatnonzero(every[q] <= limit)) <= set(rows)
        assert_array_equal(np.sort(rows[sums <= limit * (1 + 1e-12)]), np.flatnonzero(every[q] <= limit))


def test_what_depends_on_codes_alone_is_shared():
    d, items, _ = search_problem(100)
    segment = segment_of(d, items, np.arange(100)[::-1])
    assert_array_equal(segment.rank, np.arange(100)[::-1])
    scan, fewer = segment.codes.scan, segment.with_alive(np.arange(100) > 10)
    assert fewer.codes.scan is scan
    assert (fewer.n_alive, segment.n_alive) == (89, 100)
    other = segment.under(QueryView(rough_distance(d.embedding.grid, seed=9)))
    assert other.codes.scan is scan
    assert other.codes is segment.codes
    assert other.filter is not segment.filter
