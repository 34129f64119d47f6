"""Support points: for every item x an item s- of another class and an item s+ of its own, between which the boundary runs.

s- is argmin |x - x_j| over the items of the other classes (paper 3, equation 3). s+ is the item of the class of x whose
bisector with s- cuts the segment from s- to x first (equation 7). With two classes this is the strategy of the paper; with
more, every class is set against all others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.neighbors import NearestNeighbors

from ..._foundation.errors import InputError, warn
from ..._foundation.stored import storable
from ..._foundation.threads import map_blocks
from ..._foundation.types import Floats, Integers
from ..._kernels.support import nearest_points, tightest_bisectors

storable(NearestNeighbors)  # models that find support points by it can be saved

_ROWS_PER_TASK = 256  # queries that one thread answers at a time


@dataclass(frozen=True)
class DistinctPlaces:
    """The distinct rows among items of several classes."""

    # (n_places, n_features); in lexicographic order, so that nothing that is made of them depends on the order of the items
    points: Floats
    codes: Integers  # (n_places,); the class of each place: that of most of its items, the first of several such classes
    rows: Integers  # (n_places,); the first item of that class at the place
    place_of_item: Integers  # (n_items,); the place of each item
    n_contradicted: int  # number of items at places with items of several classes

    @property
    def n_items(self) -> int:
        """Number of items at all places."""
        return len(self.place_of_item)


def find_distinct_places(X: Floats, codes: Integers, n_classes: int) -> DistinctPlaces:
    """Return the distinct rows of X (n_items, n_features) with classes; warn of rows with items of several classes."""
    points, place = np.unique(X + 0.0, axis=0, return_inverse=True)  # adding 0.0 makes -0.0 equal to 0.0
    place = place.reshape(-1)
    votes = np.zeros((len(points), n_classes), np.int64)
    np.add.at(votes, (place, codes), 1)
    chosen = votes.argmax(axis=1)
    rows = np.full(len(points), -1)
    last_to_first = np.flatnonzero(codes == chosen[place])[::-1]
    rows[place[last_to_first]] = last_to_first  # the first item of a place is written last, and stays
    mixed = np.count_nonzero(votes, axis=1) > 1
    if mixed.any():
        warn(
            f"{int(votes[mixed].sum())} items at {int(mixed.sum())} places belong to several classes there; each place was "
            "given the class of most of its items, of as many the first; remove the items that are wrong"
        )
    if len(np.unique(chosen)) < 2:
        raise InputError(
            "y has one class only, or only one class is left where items at one place contradict; items of two classes are "
            "required: add some"
        )
    return DistinctPlaces(points, chosen, rows, place, int(votes[mixed].sum()))


def common_unit(X: Floats) -> float:
    """Return a power of 2 that brings all values of X into [-1, 1], so that no square overflows and no digit is lost."""
    return float(np.ldexp(1.0, min(int(np.frexp(np.abs(X).max())[1]), 1023)))


@dataclass(frozen=True)
class SupportPairs:
    """The support points of every place, and where the surface between them cuts the segment to the place."""

    own: Integers  # (n_places,); the number of the place s+
    other: Integers  # (n_places,); the number of the place s-
    cut: Floats  # (n_places,); the edge point of the place x is s- + cut (x - s-), equation 8; 0 < cut <= 1/2


def find_support_pairs(
    places: DistinctPlaces, *, neighbors: BaseEstimator | None = None, n_jobs: int | None = None
) -> SupportPairs:
    """Find all support points in O(n) memory; ``neighbors`` replaces Euclid in equation 3 only."""
    n = len(places.points)
    pairs = SupportPairs(np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n))
    scaled = places.points / common_unit(places.points)
    for code in np.unique(places.codes):
        own = np.flatnonzero(places.codes == code)
        others = np.flatnonzero(places.codes != code)
        if neighbors is None:
            nearest = _nearest(scaled[own], scaled[others], n_jobs)
        else:
            nearest = nearest_rows(clone(neighbors).fit(places.points[others]), places.points[own], len(others))
        pairs.other[own] = others[nearest]
        tightest, pairs.cut[own] = _tightest_bisectors(scaled[own], scaled[pairs.other[own]], n_jobs)
        pairs.own[own] = own[tightest]
    return pairs


def check_neighbors(neighbors: Any) -> None:
    """Refuse what is neither None nor an estimator with ``fit`` and ``kneighbors``."""
    is_estimator = isinstance(neighbors, BaseEstimator) and hasattr(neighbors, "fit") and hasattr(neighbors, "kneighbors")
    if neighbors is None or is_estimator:
        return
    raise InputError(
        f"neighbors={neighbors!r} finds no neighbors; give an unfitted estimator with fit and kneighbors, such as "
        "NeighborIndex(model.semimetric_) or NearestNeighbors(metric=...), or None for Euclid"
    )


def nearest_rows(index: Any, queries: Floats, n_points: int) -> Integers:
    """Return the row (n_queries,) of the point nearest to each query; ties go to the smallest row."""
    nearest = np.empty(len(queries), np.int64)
    asked = np.arange(len(queries))
    n_neighbors = min(2, n_points)
    while len(asked):
        distances, rows = index.kneighbors(queries[asked], n_neighbors)
        tied = distances == distances[:, :1]
        nearest[asked] = np.where(tied, rows, n_points).min(axis=1)
        # where all that were found are equally near, others may be as near and have a smaller row
        asked = asked[tied.all(axis=1)] if n_neighbors < n_points else asked[:0]
        n_neighbors = min(2 * n_neighbors, n_points)
    return nearest


def _nearest(queries: Floats, points: Floats, n_jobs: int | None) -> Integers:
    nearest = np.empty(len(queries), np.int64)
    columns = np.ascontiguousarray(points.T)
    map_blocks(
        lambda block: nearest_points(columns, queries[block], nearest[block]), len(queries), size=_ROWS_PER_TASK, n_jobs=n_jobs
    )
    return nearest


def _tightest_bisectors(points: Floats, opposite: Floats, n_jobs: int | None) -> tuple[Integers, Floats]:
    """Return for each point the row of s+ in ``points`` (s- is in ``opposite``), and the cut (equation 7)."""
    tightest = np.arange(len(points))  # to begin with, the bisector of x itself, which cuts in the middle
    cut = np.full(len(points), 0.5)
    columns = np.ascontiguousarray(points.T)
    map_blocks(
        lambda block: tightest_bisectors(columns, points[block], opposite[block], tightest[block], cut[block]),
        len(points), size=_ROWS_PER_TASK, n_jobs=n_jobs,
    )  # fmt: skip
    return tightest, cut
