"""Ids are 64-bit integers or strings, distinct, one an item; masks and ids say what may be answered."""

import numpy as np
import pytest
from cases import assert_refused
from searches import search_problem

from semimetric import NeighborIndex
from semimetric.distances.search import index as index_module
from semimetric.distances.search.items import ItemColumns, ItemRows, check_ids, masks_of, new_ids


@pytest.mark.parametrize(
    ("given", "kind"),
    [([3, 1], "i"), (np.array([3, 1], np.uint8), "i"), (["b", "a"], "U"), (np.array(["b", "a"], object), "U"), ({5, 6}, "i")],
)
def test_integers_and_strings_are_ids(given, kind):
    ids = check_ids(given, 2)
    assert ids.dtype.kind == kind
    assert ids.dtype == np.int64 or kind == "U"


BAD = {
    "floats": ([0.5, 1.0], "float64", "64-bit integers or strings"),
    "too large": (np.array([2**63, 1], np.uint64), "uint64", "64-bit integers or strings"),
    "bools": ([True, False], "bool", "integers or strings"),
    "mixed": (np.array(["a", 1], object), "object", "integers or strings"),
    "twice": (["a", "a"], "id a", "distinct"),
    "too many": ([1, 2, 3], "3 ids for 2 rows", "one for each"),
}


@pytest.mark.parametrize("name", BAD)
def test_other_ids_are_refused(name):
    given, *words = BAD[name]
    assert_refused(lambda: check_ids(given, 2), *words)


def test_new_ids_go_on_from_the_largest():
    assert new_ids(None, 2, np.array([7, 3])).tolist() == [8, 9]
    assert new_ids(None, 2, np.empty(0, np.int64)).tolist() == [0, 1]
    assert_refused(lambda: new_ids(None, 1, np.array(["a"])), "strings as ids", "give ids=")


def test_masks_skip_removed_items_and_span_segments(monkeypatch):
    monkeypatch.setattr(index_module, "_TAIL", 0)
    d, items, _ = search_problem(60)
    index = NeighborIndex(d).fit(items[:45]).add(items[45:]).remove([2, 50])
    parts = [ItemRows(s.points.raw, s.ids, s.alive) for s in index.segments_]
    columns = ItemColumns(d.feature_names, d.schema, parts)
    wanted = np.zeros(58, bool)
    wanted[[0, 2, 57]] = True  # of ids_: 0, 3 and 59
    masks = masks_of(wanted, columns)
    assert [np.flatnonzero(m).tolist() for m in masks] == [[0, 3], [14]]
    masks = masks_of([0, 3, 59, 1000], columns)  # ids that are not there are ignored
    assert [np.flatnonzero(m).tolist() for m in masks] == [[0, 3], [14]]
    assert masks_of(None, columns) == [None, None]
