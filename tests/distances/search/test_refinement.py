"""Sums in short steps are those of one step, and end where a bound exceeds what is found."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from searches import rough_distance, search_problem

from semimetric import Grid, NeighborIndex
from semimetric.distances.search import refinement, segment


@pytest.mark.parametrize("kind", ["singles", "pairs"])
def test_answers_and_counts_do_not_depend_on_the_steps(kind, monkeypatch):
    monkeypatch.setattr(segment, "_FEW", 0)
    monkeypatch.setattr(segment, "_WORTH", 0)
    _, items, queries = search_problem(900)
    index = NeighborIndex(rough_distance(Grid.fit(items, n_knots=4), kind=kind, low=0.05)).fit(items)
    calls = [lambda a=a: index.search(queries, 9, algorithm=a) for a in ("exact", "brute", "approximate")]
    radius = float(np.median(index.kneighbors(queries, 9)[0]))
    want, within = [call() for call in calls], index.radius_neighbors(queries, radius)
    monkeypatch.setattr(refinement, "_WORK", 1)  # steps of 64 items
    for call, whole in zip(calls, want, strict=True):
        for one, two in zip(call(), whole, strict=True):
            assert_array_equal(one, two)
    for one, two in zip(index.radius_neighbors(queries, radius), within, strict=True):
        assert all(map(np.array_equal, one, two))
