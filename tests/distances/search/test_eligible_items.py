"""Masks of the items that a search may answer: made once for all blocks of queries, and anew when items change."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from searches import search_problem

from semimetric import NeighborIndex
from semimetric.distances.search import items as items_module
from semimetric.distances.search import segment

CONDITION = "x0 < 0.3 and price > 2"


@pytest.fixture
def index(monkeypatch):
    monkeypatch.setattr(segment, "_FEW", 0)
    d, items, _ = search_problem(400)
    return NeighborIndex(d, verbose=False).fit(items, payload=pd.DataFrame({"price": np.arange(400) % 7}))


def answers(index, queries, where):
    return index.kneighbors(queries, 4, where=where)[1]


def expected(index, queries):
    """The answers to the condition by a list of ids, which is never kept."""
    x0 = index.get_items(index.ids_)[:, 0].astype(float)
    price = index.get_payload(index.ids_)["price"].to_numpy()
    return answers(index, queries, index.ids_[(x0 < 0.3) & (price > 2)].tolist())


def test_a_condition_is_read_once_until_items_change(index, monkeypatch):
    queries, read = np.random.default_rng(1).normal(size=(5, 4)), []
    holds = items_module.read_condition
    monkeypatch.setattr(items_module, "read_condition", lambda text: read.append(text) or holds(text))
    for _ in range(3):
        assert_array_equal(answers(index, queries, CONDITION), expected(index, queries))
    assert read == [CONDITION]
    answers(index, queries, "x0 < 5")
    assert_array_equal(answers(index, queries, CONDITION), expected(index, queries))
    assert len(read) == 3
    index.remove(answers(index, queries, CONDITION)[:, 0])
    assert_array_equal(answers(index, queries, CONDITION), expected(index, queries))
    index.add(queries * 0.1, payload=pd.DataFrame({"price": [5] * 5}))
    assert_array_equal(answers(index, queries, CONDITION), expected(index, queries))
    assert len(read) == 5


def test_a_mask_that_is_changed_later_is_looked_at_again(index):
    queries, mask = np.random.default_rng(1).normal(size=(5, 4)), np.zeros(400, dtype=bool)
    mask[:50] = True
    nearest = index.searcher(4, where=mask)
    before = answers(index, queries, mask)
    mask[:] = ~mask
    assert_array_equal(nearest(queries)[1], before)
    assert (answers(index, queries, mask) >= 50).all()


def test_blocks_of_queries_share_rows_and_count(index):
    (part,), keep = index.segments_, np.arange(400) % 3 == 0
    first = part.eligible(keep)
    assert part.eligible(keep) is first
    assert part.eligible(keep.copy()) is not first
    assert first.n == 134
    assert_array_equal(first.rows, np.arange(0, 400, 3))
    index.remove([0, 1, 3])
    (part,) = index.segments_
    assert part.eligible(keep).n == 132
    assert part.eligible(None).n == 397
    assert_array_equal(part.eligible(None).rows, np.setdiff1d(np.arange(400), [0, 1, 3]))
