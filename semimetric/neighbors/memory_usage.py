"""Where the bytes of an index lie: arrays of its items in memory, FAISS's copy of the codes, and what is mapped from files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from .._foundation.mapped import is_mapped
from .segment import Segment

__all__ = ["MeasuredIndex"]

_PLACES = ("items", "positions", "joint", "codes", "faiss", "ids", "alive", "lists", "graph", "mapped")


class MeasuredIndex:
    """The part of `NeighborIndex` that says how much memory it holds."""

    segments_: list[Segment]

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the index holds for its items: what `memory_usage` says, without what is mapped from files."""
        return sum(n for name, n in self.memory_usage().items() if name != "mapped")

    def memory_usage(self) -> dict[str, int]:
        """Bytes that the index holds for its items, by what they are for.

        What does not grow with the number of items, such as the tables of the distance, is not counted.

        Returns
        -------
        dict of str to int
            "items" are the encoded items, "positions" their places on the knots, "joint" the places of features in joint
            groups; "codes" are the cells of the items, until the first query that scans makes them into "faiss": codes in
            FAISS's layout, with row numbers; and the boxes of joint groups, once a query has made them. "ids" are the ids and
            their order, "alive" says which items are not removed, "lists" the list of every item, "graph" edges and
            levels. "mapped" are all arrays that lie in files mapped into memory: they are in no other number, and the system
            may drop their pages at any time.

        Examples
        --------
        >>> import numpy as np, semimetric as sm
        >>> X = np.random.default_rng(0).random((100, 2))
        >>> index = sm.NeighborIndex("l1").fit(X)
        >>> usage = index.memory_usage()
        >>> usage["items"], usage["ids"], usage["mapped"], sum(usage.values()) == index.nbytes
        (1600, 800, 0, True)
        """
        check_is_fitted(self)
        usage = dict.fromkeys(_PLACES, 0)
        for name, array in (found for segment in self.segments_ for found in _arrays(segment)):
            usage["mapped" if is_mapped(array) else name] += array.nbytes
        usage["faiss"] = sum(scan.nbytes for segment in self.segments_ for scan in segment.scans)
        return usage


def _arrays(segment: Segment) -> Iterator[tuple[str, NDArray[Any]]]:
    """The arrays of a segment that grow with the number of items, each with what it is for."""
    points = segment.points
    joint: Sequence[NDArray[Any]] = () if points.joint is None else (*points.joint.located, points.joint.order)
    yield "items", points.raw
    yield "positions", points.positions if points.places is None else points.places.of_items.codes
    yield from (("joint", array) for array in joint)
    if segment.codes.held is not None:
        yield "codes", segment.codes.held
    if "_joint_codes" in vars(segment):
        yield "codes", segment._joint_codes.codes
    yield "ids", segment.ids
    if "rank" in vars(segment):
        yield "ids", segment.rank
    yield "alive", segment.alive
    if segment.lists is not None:
        yield "lists", segment.lists.member
    if segment.graph is not None:
        yield from (("graph", array) for array in (segment.graph.codes, segment.graph.edges, segment.graph.below))
