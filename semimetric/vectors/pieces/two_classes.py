"""Problems of two classes, which pieces separate, and how several of them decide among several classes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._foundation.errors import InputError
from ..._foundation.types import Floats, Integers
from .support_pairs import DistinctPlaces, find_distinct_places

_FARTHEST = 1e140  # units to a plane; sums of so many are finite


@dataclass(frozen=True)
class TwoClasses:
    """Items of a positive class and of a negative one."""

    items: Floats  # (n_items, n_features)
    positive: NDArray[np.bool_]  # (n_items,)
    places: DistinctPlaces  # those of the items, with the codes 0 and 1
    rows: Integers  # (n_items,); the numbers of these items among all that were given

    def of_places(self, kept: Integers) -> TwoClasses:
        """Return the problem at the places with the numbers ``kept``, which are sorted."""
        places, rows = _some_places(self.places, kept)
        return TwoClasses(self.items[rows], self.positive[rows], places, self.rows[rows])


def _some_places(places: DistinctPlaces, kept: Integers, is_item: Any = True) -> tuple[DistinctPlaces, Integers]:
    """Return the positions ``kept``, sorted, and the renumbered rows of their items where ``is_item`` (n_items,) is true."""
    new_number = np.full(len(places.points), -1)
    new_number[kept] = np.arange(len(kept))
    place = new_number[places.place_of_item]
    rows = np.flatnonzero((place >= 0) & is_item)
    new_row = np.full(len(place), -1)
    new_row[rows] = np.arange(len(rows))
    return replace(
        places, points=places.points[kept], codes=places.codes[kept], rows=new_row[places.rows[kept]], place_of_item=place[rows]
    ), rows


def class_pairs(n_classes: int) -> list[tuple[int, int]]:
    """Return the numbers of the negative and the positive class of every pair of classes, in lexicographic order."""
    return list(combinations(range(n_classes), 2))


def split_classes(items: Floats, codes: Integers, classes: Any, multi_class: str) -> list[TwoClasses]:
    """Return one problem for two classes; for more, one for each pair ("ovo"), or each against the rest ("ovr").

    Positions with items of several classes have the class of most; items of a third class are left out of a pair.
    """
    places = find_distinct_places(items, codes, len(classes))
    everything = np.arange(len(items))
    if len(classes) == 2:
        return [TwoClasses(items, codes == 1, places, everything)]
    if len(lost := np.setdiff1d(np.arange(len(classes)), places.codes)):
        raise InputError(
            f"every item of the class {classes.tolist()[lost[0]]!r} lies where items of another class are more, or come first; "
            "a class needs a place of its own: remove the items that are wrong"
        )
    if multi_class == "ovr":
        return [
            TwoClasses(items, codes == k, replace(places, codes=(places.codes == k).astype(np.int64)), everything)
            for k in range(len(classes))
        ]
    return [_pair(items, codes, places, pair) for pair in class_pairs(len(classes))]


def _pair(items: Floats, codes: Integers, places: DistinctPlaces, pair: tuple[int, int]) -> TwoClasses:
    """Return the items of two classes, of which the second is positive."""
    some, rows = _some_places(places, np.flatnonzero(np.isin(places.codes, pair)), np.isin(codes, pair))
    some = replace(some, codes=(some.codes == pair[1]).astype(np.int64))
    return TwoClasses(items[rows], codes[rows] == pair[1], some, rows)


def votes_of_pairs(decisions: Floats, units: Floats, n_classes: int) -> Floats:
    """Return the votes (n_items, n_classes) from signed distances (n_items, n_pairs) between all pairs of `class_pairs`.

    To the votes is added s / (3 (|s| + 1)), which decides ties as in `sklearn.svm.SVC`. Here s is the sum of the signed
    distances in ``units`` (n_pairs,), cut off at 1e140 to stay finite.
    """
    votes, sums = np.zeros((2, len(decisions), n_classes))
    for (negative, positive), decision, unit in zip(class_pairs(n_classes), decisions.T, units, strict=True):
        is_positive = decision > 0
        votes[:, positive] += is_positive
        votes[:, negative] += ~is_positive
        with np.errstate(over="ignore"):
            clipped = np.clip(decision / unit, -_FARTHEST, _FARTHEST)
        sums[:, positive] += clipped
        sums[:, negative] -= clipped
    return votes + sums / (3 * (np.abs(sums) + 1))
