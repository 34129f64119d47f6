"""Bounds of any metric: by the distances of both objects to a few landmarks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._foundation.errors import InputError
from ..._foundation.farthest_first import farthest_first
from ..._foundation.progress import progress_bar
from ..._foundation.threads import map_blocks
from ..._foundation.types import Floats, Integers
from ..._foundation.validation import check_alpha, check_count, check_n_jobs
from ...data.calls import UserDistance
from ...data.object_lists import listed_objects
from .bounds import Bounds, Coordinates, QueryBounds, chebyshev

_BLOCK = 16  # calls in a task of a thread
_ROUNDED = 1e-9  # share of their sizes by which values that are no integers may be off
_LONGEST = 60  # characters of an object in a message
_EXACT = 2.0**52  # integers up to here add up without rounding


class LandmarkBounds(Bounds):
    """Bounds of a metric by the triangle inequality at landmarks (Micó, Oncina and Vidal 1994).

    They are ``max_k |d(x, l_k) - d(y, l_k)| <= d(x, y) <= min_k d(x, l_k) + d(l_k, y)``. Landmarks are items of the fit,
    each as far as possible from those before it. The distances of all items to them are computed once, ``n_landmarks``
    calls for each item; a query takes ``n_landmarks`` calls. Objects are handed to the distance as they are: vectors,
    strings, series, graphs, sets.

    The bounds hold for a metric only. In `fit`, symmetry and every triangle of an item and two landmarks is checked. So are
    the triangles of ``n_checked`` sampled pairs of items with every landmark. A distance that breaks one is refused.

    Parameters
    ----------
    distance : callable
        Two objects to a number >= 0.
    n_landmarks : int, default 16
    n_checked : int, default 200
        Pairs of items whose distances are called to check the triangle inequality.
    tolerance : float or "auto", default "auto"
        By how much values of the distance may be off, as a share of their sizes; bounds make room for it. "auto" is 0 if all
        values are integers, as those of an edit distance are, and else 1e-9, for a query too that is the first to have others.
    n_jobs : int or None, default None
        Threads that call the distance in `fit`; None is one, -1 all.
    random_state : int or None, default 0
        Of the first landmark and the sampled pairs.
    verbose : bool or None, default None
        True shows progress; None shows it in a terminal or notebook, if it takes long.

    Attributes
    ----------
    landmarks_ : ndarray of shape (n_landmarks,)
        Rows of the items that are landmarks: fewer than asked for where no further item is away from all of them.
    distances_ : ndarray of shape (n_items, n_landmarks)
    n_calls_ : int
        Calls that `fit` made.
    tolerance_ : float

    Examples
    --------
    >>> from semimetric import LandmarkBounds
    >>> def hamming(x, y):
    ...     return sum(a != b for a, b in zip(x, y))
    >>> bounds = LandmarkBounds(hamming, n_landmarks=2).fit(["aaaa", "aaab", "bbbb", "abab"])
    >>> bounds.bounds("aaaa", "bbbb")
    (4.0, 4.0)
    """

    def __init__(
        self,
        distance: Callable[[Any, Any], Any],
        *,
        n_landmarks: int = 16,
        n_checked: int = 200,
        tolerance: float | str = "auto",
        n_jobs: int | None = None,
        random_state: int | None = 0,
        verbose: bool | None = None,
    ) -> None:
        self.distance = distance
        self.n_landmarks = n_landmarks
        self.n_checked = n_checked
        self.tolerance = tolerance
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> LandmarkBounds:
        """Choose landmarks among the objects X, and call the distances of all to them; y is ignored.

        An InputError names three objects where the distance breaks an axiom of a metric; a DistanceCallError holds what was
        evaluated before a call failed.
        """
        objects = listed_objects(X)
        calls = UserDistance(self.distance, kinds=("item", "item"))
        check_count("n_checked", self.n_checked, minimum=0)
        check_n_jobs(self.n_jobs)
        if self.tolerance != "auto":
            given: Any = self.tolerance
            check_alpha("tolerance", given)  # which refuses another text
        count = min(check_count("n_landmarks", self.n_landmarks), len(objects))
        rng = np.random.default_rng(self.random_state)
        pairs = rng.integers(0, len(objects), (self.n_checked, 2)) if len(objects) > 1 else np.empty((0, 2), dtype=np.int64)
        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
        with progress_bar(count * len(objects) + len(pairs), "landmarks", verbose=self.verbose, unit="call") as bar:

            def called(rows: Integers) -> Floats:
                def block(part: slice) -> list[float]:
                    values = [calls.one(objects[i], objects[j], int(i), int(j)) for i, j in rows[part]]
                    bar.update(len(values))
                    return values

                parts = map_blocks(block, len(rows), size=_BLOCK, n_jobs=self.n_jobs)
                return np.array([value for values in parts for value in values])

            columns: list[Floats] = []

            def distances_to(k: int) -> Floats:
                columns.append(called(np.column_stack([np.arange(len(objects)), np.full(len(objects), k)])))
                return columns[-1]

            landmarks = farthest_first(distances_to, int(rng.integers(len(objects))), count)
            table = np.column_stack(columns)
            checked = called(pairs)
        tolerance = self.tolerance if self.tolerance != "auto" else 0.0 if _whole(table) and _whole(checked) else _ROUNDED
        self._check_landmarks(objects, table, landmarks, float(tolerance))
        self._check_pairs(objects, table, landmarks, (pairs, checked), float(tolerance))
        self.landmarks_, self.distances_, self.tolerance_, self.n_calls_ = landmarks, table, float(tolerance), calls.calls.n
        self._objects = [objects[k] for k in landmarks]
        self.items_ = _coordinates(table)
        return self

    def at(self, query: Any) -> QueryBounds:
        """Return the bounds of one query to all items of the fit, which takes a call for each landmark."""
        placed = self._placed([query], "query")
        known = dict(zip(self.landmarks_.tolist(), placed.values[0].tolist(), strict=True))
        return QueryBounds(self, placed, known, len(known))

    def at_item(self, row: int) -> QueryBounds:
        """Return the bounds of one item of the fit to all of them, which takes no call."""
        placed = self.items_.take(slice(row, row + 1))
        return QueryBounds(self, placed, dict(zip(self.landmarks_.tolist(), placed.values[0].tolist(), strict=True)))

    @property
    def n_query_calls(self) -> int:
        """The number of calls of the distance that the bounds of one query take."""
        return len(self.landmarks_)

    def _placed(self, objects: list[Any], name: str) -> Coordinates:
        calls = UserDistance(self.distance, kinds=(f"object of {name}", "item"))
        landmarks = list(zip(self.landmarks_.tolist(), self._objects, strict=True))
        rows = [[calls.one(x, y, i, j) for j, y in landmarks] for i, x in enumerate(objects)]
        return _coordinates(np.array(rows))

    def lower_at(self, query: Coordinates, items: Coordinates) -> Floats:
        tolerance = self._tolerance_of(query, items)
        if not tolerance:
            return chebyshev(query, items)
        gaps = np.abs(items.values - query.values) - tolerance * (items.values + query.values)
        return np.maximum(gaps.max(axis=1), 0.0)

    def upper_at(self, query: Coordinates, items: Coordinates) -> Floats:
        return (items.values + query.values).min(axis=1) * (1.0 + self._tolerance_of(query, items))

    def _tolerance_of(self, query: Coordinates, items: Coordinates) -> float:
        """Return the tolerance of the fit, or of "auto" for distances that are no integers, though those of the fit were."""
        known = self.tolerance != "auto" or self.tolerance_ > 0.0
        return self.tolerance_ if known or (_whole(query.values) and _whole(items.values)) else _ROUNDED

    def _check_landmarks(self, objects: list[Any], table: Floats, landmarks: Integers, tolerance: float) -> None:
        among = table[landmarks]
        uneven = np.abs(among - among.T) > tolerance * (among + among.T)
        if uneven.any():
            a, b = np.argwhere(uneven)[0].tolist()
            i, j = int(landmarks[a]), int(landmarks[b])
            raise InputError(
                f"distance= is not symmetric: it is {among[a, b]:g} of items {i} and {j}, and {among[b, a]:g} of {j} and {i} "
                f"({_shown(objects[i])}; {_shown(objects[j])}); a metric is required for bounds by landmarks: use other bounds"
            )
        if np.diagonal(among).any():
            i = int(landmarks[np.flatnonzero(np.diagonal(among))[0]])
            raise InputError(
                f"distance= of item {i} to itself is not 0 ({_shown(objects[i])}); a metric is required for bounds by landmarks"
            )
        for b, j in enumerate(landmarks.tolist()):
            way = table[:, b, None] + among[b]  # from every item over landmark b to every landmark
            longer = table - way > tolerance * (table + way)
            if longer.any():
                i, a = np.argwhere(longer)[0].tolist()
                raise _broken(objects, (i, j, int(landmarks[a])), (table[i, b], among[b, a], table[i, a]))

    def _check_pairs(
        self, objects: list[Any], table: Floats, landmarks: Integers, checked: tuple[Integers, Floats], tolerance: float
    ) -> None:
        for (i, j), value in zip(checked[0].tolist(), checked[1].tolist(), strict=True):
            x, y = table[i], table[j]
            direct = np.full(len(landmarks), value)
            for order, sides in (("ikj", (x, y, direct)), ("kij", (x, direct, y)), ("kji", (y, direct, x))):
                longer = sides[2] - (sides[0] + sides[1]) > tolerance * (sides[0] + sides[1] + sides[2])
                if longer.any():
                    a = int(np.argmax(longer))
                    rows = {"i": i, "j": j, "k": int(landmarks[a])}
                    raise _broken(objects, tuple(rows[name] for name in order), tuple(float(side[a]) for side in sides))


def _coordinates(distances: Floats) -> Coordinates:
    return Coordinates(distances, np.empty((len(distances), 0)), np.ones(len(distances)))


def _whole(values: Floats) -> bool:
    return bool(((values == np.round(values)) & (values <= _EXACT)).all())


def _broken(objects: list[Any], rows: tuple[int, ...], values: tuple[float, ...]) -> InputError:
    i, k, j = rows
    return InputError(
        f"distance= breaks the triangle inequality: items {i}, {k} and {j} have d({i}, {k}) = {values[0]:g}, d({k}, {j}) = "
        f"{values[1]:g} and d({i}, {j}) = {values[2]:g}, which is more than their sum ({_shown(objects[i])}; "
        f"{_shown(objects[k])}; {_shown(objects[j])}); a metric is required for bounds by landmarks: use other bounds"
    )


def _shown(item: Any) -> str:
    text = " ".join(repr(item).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
