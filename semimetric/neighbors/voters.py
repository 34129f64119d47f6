"""The neighbours that vote for a query: as many as the rule asks for, and all that are tied with the last of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from .._foundation.threads import blocks
from .._foundation.types import Floats, Integers
from .index import NeighborIndex
from .voting import is_enough

__all__ = ["Voters", "find_voters"]

_BLOCK = 10_000  # queries whose neighbours are held at a time


class Voters(NamedTuple):
    """The nearest items of some queries, among which are all that vote.

    Attributes
    ----------
    queries : ndarray of shape (n,)
        The numbers of the queries.
    distances : ndarray of shape (n, K)
        Increasing in each row.
    indices : ndarray of shape (n, K)
        The row numbers of the items.
    weight : ndarray of shape (n, K) or None
        How many neighbours each item is; None is one each.
    """

    queries: Integers
    distances: Floats
    indices: Integers
    weight: Floats | None


def find_voters(index: NeighborIndex, queries: Floats, n_neighbors: int, weight: Floats | None) -> Iterator[Voters]:
    """Find the voters of every query, in groups of queries that have equally many neighbours at hand.

    Parameters
    ----------
    index : NeighborIndex
        Its ids are row numbers.
    queries : ndarray of shape (n_queries, n_features)
        Encoded.
    n_neighbors : int
    weight : ndarray of shape (n_items,) or None
        How many neighbours each item is.
    """
    n_items = index.n_samples_fit_
    for block in blocks(len(queries), _BLOCK):
        waiting, k = np.arange(len(queries))[block], min(n_neighbors + 1, n_items)
        while len(waiting):
            distances, ids, *_ = index._answer(queries[waiting], None, k)
            counts = None if weight is None else weight[ids]
            done = is_enough(distances, n_neighbors, counts) | (k == n_items)
            yield Voters(waiting[done], distances[done], ids[done], None if counts is None else counts[done])
            waiting, k = waiting[~done], min(2 * k, n_items)
