"""Single queries of several threads take turns, and answer what one thread is answered."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from searches import search_problem

from semimetric import NeighborIndex
from semimetric.distances.search import searcher


@pytest.mark.parametrize("algorithm", ["exact", "approximate", "graph", "brute"])
def test_many_threads_are_answered_as_one(algorithm):
    d, items, queries = search_problem(600)
    nearest = NeighborIndex(d, algorithm=algorithm).fit(items).searcher(3)
    want = nearest(queries)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(nearest, np.repeat(queries, 5, axis=0)))
    for k, part in enumerate(want):
        assert_array_equal([one[k] for one in found], np.repeat(part, 5, axis=0))


def test_a_turn_comes_back_after_an_error():
    d, items, queries = search_problem(50)
    nearest = NeighborIndex(d, algorithm="approximate").fit(items).searcher(3)
    with pytest.raises(ZeroDivisionError), searcher.query_lock("approximate"):
        raise ZeroDivisionError
    with ThreadPoolExecutor(1) as pool:
        assert len(pool.submit(nearest, queries[0]).result(timeout=60)[1]) == 3


def test_a_forked_process_has_turns_of_its_own():
    """A thread that has a turn when a process is forked is not there in the child, and could never give it back."""
    held, go = Event(), Event()

    def hold():
        with searcher.query_lock("graph"):
            held.set()
            go.wait(60)

    with ThreadPoolExecutor(2) as pool:
        holding = pool.submit(hold)
        held.wait(60)
        before = searcher.query_lock("graph")
        searcher._renew()
        with searcher.query_lock("graph"):
            assert searcher.query_lock("graph") is not before
        go.set()
        holding.result(timeout=60)
