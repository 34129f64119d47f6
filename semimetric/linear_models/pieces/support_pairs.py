"""Support points of classes: for every item the nearest one of another class, and the one of its own that holds it off.

The pair of an item x: s- = argmin |x - x_j| over the other classes (paper 3, equation 3), and s+ the item of its own class
whose bisector with s- cuts the segment from s- to x first (equation 7). With two classes this is the paper's strategy; with
more, every class is set against all others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._foundation.errors import InputError, warn
from ..._foundation.threads import map_blocks
from ..._foundation.types import Floats, Integers
from ..._kernels.support import nearest_points, tightest_bisectors
from ...distances.semimetric import Semimetric
from ...neighbors.index import NeighborIndex

__all__ = ["DistinctPlaces", "SupportPairs", "common_unit", "find_support_pairs", "settle"]

_BLOCK = 256


@dataclass(frozen=True)
class DistinctPlaces:
    """Items of several classes, those at one place taken together.

    Parameters
    ----------
    points : ndarray of shape (n_places, n_features)
        In lexicographic order, so that nothing that is made of them depends on the order of the items.
    codes : ndarray of shape (n_places,)
        The class of each place: of contradictory items that of the most, of as many the first.
    rows : ndarray of shape (n_places,)
        The first item of that class there.
    counts : ndarray of shape (n_places,)
        Items of that class there.
    place : ndarray of shape (n_items,)
        Where each item is.
    n_contradicted : int
        Items at places with items of several classes.
    """

    points: Floats
    codes: Integers
    rows: Integers
    counts: Integers
    place: Integers
    n_contradicted: int

    @property
    def n_items(self) -> int:
        """Items at all places."""
        return len(self.place)


def settle(X: Floats, codes: Integers, n_classes: int) -> DistinctPlaces:
    """The places of items X (n_items, n_features) of classes 0, ..., n_classes - 1, with a warning where classes contradict."""
    points, place = np.unique(X + 0.0, axis=0, return_inverse=True)  # -0.0 is 0.0
    place = place.reshape(-1)
    votes = np.zeros((len(points), n_classes), np.int64)
    np.add.at(votes, (place, codes), 1)
    chosen = votes.argmax(axis=1)
    rows = np.full(len(points), -1)
    kept = np.flatnonzero(codes == chosen[place])[::-1]
    rows[place[kept]] = kept  # the first comes last
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
    return DistinctPlaces(points, chosen, rows, votes.max(axis=1), place, int(votes[mixed].sum()))


def common_unit(X: Floats) -> float:
    """A power of 2 that brings all values of X into [-1, 1], so that no square overflows and no digit is lost."""
    return float(np.ldexp(1.0, min(int(np.frexp(np.abs(X).max())[1]), 1023)))


@dataclass(frozen=True)
class SupportPairs:
    """The support points of every place, as places, and where the surface of nearest neighbours cuts the way between.

    Parameters
    ----------
    own, other : ndarray of shape (n_places,)
        s+ and s-, seen from the place.
    cut : ndarray of shape (n_places,)
        The edge point is s- + cut (x - s-), equation 8; 0 < cut <= 1/2.
    """

    own: Integers
    other: Integers
    cut: Floats


def find_support_pairs(
    places: DistinctPlaces, *, semimetric: Semimetric | None = None, n_jobs: int | None = None
) -> SupportPairs:
    """Support points of all places: O(n^2) work, O(n) memory; ``semimetric`` takes the place of Euclid in equation 3 only."""
    n, unit = len(places.points), common_unit(places.points)
    pairs = SupportPairs(np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n))
    scaled = places.points / unit
    for code in np.unique(places.codes):
        own, others = (np.flatnonzero(mask) for mask in (places.codes == code, places.codes != code))
        near = _nearest(places.points, scaled, own, others, semimetric, n_jobs)
        pairs.other[own] = others[near]
        which, pairs.cut[own] = _tightest(scaled, own, pairs.other[own], n_jobs)
        pairs.own[own] = own[which]
    return pairs


def _nearest(
    points: Floats, scaled: Floats, own: Integers, others: Integers, semimetric: Semimetric | None, n_jobs: int | None
) -> Integers:
    """For each of ``own`` its nearest among ``others``, by its place there."""
    if semimetric is not None:
        return NeighborIndex(semimetric, n_jobs=n_jobs).fit(points[others]).kneighbors(points[own], 1)[1][:, 0]
    found, columns, queries = np.empty(len(own), np.int64), np.ascontiguousarray(scaled[others].T), scaled[own]
    map_blocks(lambda b: nearest_points(columns, queries[b], found[b]), len(own), size=_BLOCK, n_jobs=n_jobs)
    return found


def _tightest(scaled: Floats, own: Integers, other: Integers, n_jobs: int | None) -> tuple[Integers, Floats]:
    which, cut = np.arange(len(own)), np.full(len(own), 0.5)  # the bisector of x itself
    columns, queries, opposite = np.ascontiguousarray(scaled[own].T), scaled[own], scaled[other]
    map_blocks(
        lambda b: tightest_bisectors(columns, queries[b], opposite[b], which[b], cut[b]),
        len(own), size=_BLOCK, n_jobs=n_jobs,
    )  # fmt: skip
    return which, cut
