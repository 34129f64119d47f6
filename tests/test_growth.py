"""Segments: gathered while small, built anew when many items have gone, never more than needed."""

import numpy as np
from test_neighbors import some

from semimetric import NeighborIndex
from semimetric.neighbors import growth


def test_small_additions_share_a_segment(monkeypatch):
    monkeypatch.setattr(growth, "_TAIL", 50)
    d, items, _ = some(400)
    index = NeighborIndex(d).fit(items[:100])
    sizes = []
    for start in range(100, 200, 20):
        index.add(items[start : start + 20])
        sizes.append([len(s) for s in index.segments_])
    assert sizes == [[100, 20], [100, 40], [100, 40, 20], [100, 40, 40], [100, 40, 40, 20]]
    assert index.n_samples_fit_ == 200


def test_a_segment_that_lost_a_quarter_is_built_anew():
    d, items, _ = some(400)
    index = NeighborIndex(d).fit(items)
    index.remove(np.arange(80))
    assert len(index.segments_[0]) == 400  # marked only
    index.remove(np.arange(80, 120))
    assert len(index.segments_[0]) == 280
    assert index.ids_.tolist() == list(range(120, 400))


def test_untouched_segments_keep_their_scan():
    d, items, queries = some(400)
    index = NeighborIndex(d).fit(items[:300])
    index.segments_[0].scan  # noqa: B018 - built
    index.add(items[300:])
    first = index.segments_[0]
    index.remove([350])
    assert index.segments_[0] is first
    index.remove([5])
    assert index.segments_[0].scan is first.scan
    assert 5 not in index.kneighbors(queries, 100)[1]


def test_segments_without_items_go():
    d, items, _ = some(60)
    index = NeighborIndex(d).fit(items[:30]).add(items[30:]).remove(np.arange(30))
    assert [len(s) for s in index.segments_] == [30]
    index.remove(np.arange(30, 60))
    assert [s.n_alive for s in index.segments_] == [0]
