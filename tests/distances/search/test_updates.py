"""Segments: gathered while small, built anew when many items have gone, never more than needed."""

import numpy as np
from searches import search_problem

from semimetric import NeighborIndex
from semimetric.distances.search import index as index_module


def test_small_additions_share_a_segment(monkeypatch):
    monkeypatch.setattr(index_module, "_TAIL", 50)
    d, items, _ = search_problem(400)
    index = NeighborIndex(d).fit(items[:100])
    sizes = []
    for start in range(100, 240, 20):
        index.add(items[start : start + 20])
        sizes.append([len(s) for s in index.segments_])
    assert sizes[:3] == [[100, 20], [100, 40], [160]]  # 60 are more than half of 100
    assert [sum(part) for part in sizes] == list(range(120, 241, 20))
    assert max(map(len, sizes)) <= 3
    index.add(items[240:300])
    assert index.n_samples_fit_ == 300


def test_a_segment_that_lost_a_quarter_is_built_anew():
    d, items, _ = search_problem(400)
    index = NeighborIndex(d).fit(items)
    index.remove(np.arange(80))
    assert len(index.segments_[0]) == 400  # marked only
    index.remove(np.arange(80, 120))
    assert len(index.segments_[0]) == 280
    assert index.ids_.tolist() == list(range(120, 400))


def test_untouched_segments_keep_their_scan(monkeypatch):
    monkeypatch.setattr(index_module, "_TAIL", 50)
    d, items, queries = search_problem(400)
    index = NeighborIndex(d).fit(items[:300])
    index.segments_[0].codes.scan  # noqa: B018 - built
    index.add(items[300:])
    first = index.segments_[0]
    index.remove([350])
    assert index.segments_[0] is first
    index.remove([5])
    assert index.segments_[0].codes.scan is first.codes.scan
    assert 5 not in index.kneighbors(queries, 100)[1]


def test_segments_without_items_go(monkeypatch):
    monkeypatch.setattr(index_module, "_TAIL", 0)
    d, items, _ = search_problem(60)
    index = NeighborIndex(d).fit(items[:45]).add(items[45:]).remove(np.arange(45))
    assert [len(s) for s in index.segments_] == [15]
    index.remove(np.arange(45, 60))
    assert [s.n_alive for s in index.segments_] == [0]
