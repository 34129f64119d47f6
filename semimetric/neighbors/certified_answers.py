"""Answers under an expensive distance, and what of them is proved."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._foundation.types import Floats, Integers
from .multi_step_search import Found

__all__ = ["CertifiedNeighbors", "CertifiedWithin", "proved"]


class CertifiedNeighbors(NamedTuple):
    """The nearest items of every query under an expensive distance, and what of the answer is proved.

    Parameters
    ----------
    distances : ndarray of shape (n_queries, k)
        Exact and increasing.
    ids : ndarray of shape (n_queries, k)
    certified : ndarray of shape (n_queries, k)
        Whether an item is proved to be the neighbour of this rank: all True without ``max_calls``.
    n_calls : ndarray of shape (n_queries,)
        Calls of the expensive distance, those to landmarks too.
    """

    distances: Floats
    ids: NDArray[Any]
    certified: NDArray[np.bool_]
    n_calls: Integers

    def __str__(self) -> str:
        """How many answers there are, how many of them are proved, and what they took; `repr` shows the arrays."""
        n, k = self.ids.shape
        proved = (
            "all proved" if self.certified.all() else f"{int(self.certified.sum())} of {self.certified.size} neighbours proved"
        )
        few, most = (int(end) for end in (self.n_calls.min(initial=0), self.n_calls.max(initial=0)))
        calls = f"{few} calls" if few == most else f"{few} to {most} calls"
        return f"{n} queries, {k} neighbours each, {proved}; {calls} of the expensive distance a query"


class CertifiedWithin(NamedTuple):
    """The items within a radius of every query under an expensive distance, and of which items it is not known.

    Parameters
    ----------
    distances : ndarray of objects of shape (n_queries,)
        One array a query: exact and increasing.
    ids : ndarray of objects of shape (n_queries,)
    undecided : ndarray of objects of shape (n_queries,)
        Ids of the items that may lie within the radius and were not called; empty without ``max_calls``.
    n_calls : ndarray of shape (n_queries,)
    """

    distances: NDArray[Any]
    ids: NDArray[Any]
    undecided: NDArray[Any]
    n_calls: Integers


def proved(found: Found, k: int, ranks: Integers) -> list[bool]:
    """Whether each of the k nearest items that were called is proved to be the neighbour of its rank.

    That is where no item that was not called can be nearer, or as near with an earlier id.
    """
    if not len(found.open_rows):
        return [True] * k
    order = np.lexsort((ranks[found.open_rows], found.open_lower))
    first = (float(found.open_lower[order[0]]), int(ranks[found.open_rows[order[0]]]))
    return [(value, rank) < first for value, rank, _ in found.called[:k]]
