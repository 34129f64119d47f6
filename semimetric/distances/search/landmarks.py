"""Bounds of any metric: by the distances of both objects to a few landmarks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..._foundation.errors import InputError, warn
from ..._foundation.progress import progress_bar
from ..._foundation.threads import map_blocks
from ..._foundation.types import Floats, Integers
from ..._foundation.validation import check_alpha, check_choice, check_count, check_n_jobs
from ..._kernels.transport_plans import has_no_detour
from ...data.calls import UserDistance
from ...data.object_lists import listed_objects
from .bounds import Bounds, Coordinates, Proof, QueryBounds, chebyshev
from .pivots import discard_rate, incremental_selection, sample_size
from .simplex_projection import MOST_ERROR, SimplexProjection, unit_of

GEOMETRIES = ("metric", "hilbert")
_BLOCK = 16  # calls in a task of a thread
_MAY_BE_ROUNDING = 1e-5  # share of the largest distance that an item may be from itself by rounding
_ROUNDED = 1e-9  # share of their sizes by which values that are no integers may be off
_FEWEST_SAMPLED = 32  # items: fewer say little of the others
_FIRST_SAMPLED = 75  # items, whose 2,775 pairs are called before more are sampled
_LITTLE = 0.01  # of pairs of the sample discarded
_MOST_CHECKED = 2_048  # items whose triangles are all checked, if all are landmarks
_LONGEST = 60  # characters of an object in a message
_EXACT = 2.0**52  # integers up to here add up without rounding


class LandmarkBounds(Bounds):
    """Bounds of a metric by the distances to a few items, the landmarks or pivots (Micó, Oncina and Vidal 1994).

    ``geometry="metric"`` knows the triangle inequality only:
    ``max_k |d(x, l_k) - d(y, l_k)| <= d(x, y) <= min_k d(x, l_k) + d(l_k, y)``. Landmarks are sampled items that raise the
    lower bounds of sampled pairs most (Bustos, Navarro and Chávez 2003). The sample takes at most ``2 max(n_items,
    n_landmarks²)`` calls, some of which serve for the landmarks too. A `SemimetricWarning` says after these calls where bounds
    discard nothing in the sample.

    ``geometry="hilbert"`` is for distances between points of a Euclidean or Hilbert space. Objects are projected on the simplex
    of the landmarks, and their heights above it give both bounds (Connor, Vadicamo and Rabitti 2017). No bounds by the triangle
    inequality, the four-point property or Ptolemy's inequality at the same landmarks are tighter, but for a margin of rounding.
    Each landmark is the item that is highest above the simplex of those before it. Such distances are

    - the Euclidean, the Mahalanobis and the Hellinger distance, and ``sqrt(k(x, x) + k(y, y) - 2 k(x, y))`` of any positive
      definite kernel k;
    - the roots of distances of negative type (Schoenberg 1938): of the L1, the Hamming and the great-circle distance, of the
      Jensen-Shannon and the symmetric chi-squared divergence. The nearest under a root are the nearest under the distance.

    L1, edit, Earth Mover's and great-circle distances themselves are none.

    The distances of all items to the landmarks are computed once, ``n_landmarks`` calls for each item; a query takes
    ``n_landmarks`` calls. Objects are handed to the distance as they are: vectors, strings, series, graphs, sets.

    ``n_landmarks="all"`` computes the distances between all items once, which takes ``n_items (n_items + 1) / 2`` calls and as
    much memory. A query then begins without a call, and every item that its search calls is a landmark from there on
    (AESA, Vidal 1986). No bounds by the triangle inequality need fewer calls for few items under a costly distance.

    You assert the geometry, and `fit` looks for a violation. It checks symmetry, every triangle of an item and two landmarks,
    and those of ``n_checked`` sampled pairs of items with every landmark. If all items are landmarks, symmetry is that of the
    sampled pairs alone, and of more than 2,048 items triangles are those of these pairs, too. With "hilbert", the Gram matrix
    of the landmarks and any item must be positive semidefinite within rounding too, and sampled pairs must have distances
    within their bounds. A distance that fails is refused.

    Parameters
    ----------
    distance : callable
        Two objects to a number >= 0.
    n_landmarks : int or "all", default 16
        "all" is for ``geometry="metric"`` alone. Fewer are kept where further ones raise no bound, and one, with a warning,
        where they discard nothing among the first 75 of more than 1,400 items.
    geometry : {"metric", "hilbert"}, default "metric"
        The axioms that the distance is known to keep.
    n_checked : int, default 200
        Pairs of items whose distances are called to check the geometry.
    tolerance : float or "auto", default "auto"
        By how much values of the distance may be off, as a share of their sizes; bounds make room for it. "auto" is 0 if all
        values are integers, as those of an edit distance are, and else 1e-9, for a query too that is the first to have others.
        With "hilbert" it is 1e-9. Distances of objects to themselves may be as large a share of the largest distance.
    n_jobs : int or None, default None
        Threads that call the distance in `fit`; None is one, -1 all.
    random_state : int or None, default 0
        Of the sampled items and pairs, and with "hilbert" of the first landmark.
    verbose : bool or None, default None
        True shows progress; None shows it in a terminal or notebook, if it takes long.

    Attributes
    ----------
    landmarks_ : ndarray of shape (n_landmarks,)
        Rows of the items that are landmarks: fewer than asked for where no further one raises the bounds of the sample. With
        "hilbert" fewer where the others are so flat, as those of few dimensions, that the next height is lost in rounding.
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
        n_landmarks: int | str = 16,
        geometry: str = "metric",
        n_checked: int = 200,
        tolerance: float | str = "auto",
        n_jobs: int | None = None,
        random_state: int | None = 0,
        verbose: bool | None = None,
    ) -> None:
        self.distance = distance
        self.n_landmarks = n_landmarks
        self.geometry = geometry
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
        check_choice("geometry", self.geometry, GEOMETRIES)
        check_count("n_checked", self.n_checked, minimum=0)
        check_n_jobs(self.n_jobs)
        if self.tolerance != "auto":
            given: Any = self.tolerance
            check_alpha("tolerance", given)  # which refuses another text
        n = len(objects)
        every = self._asks_for_all()
        count = n if every else min(check_count("n_landmarks", self.n_landmarks), n)
        rng = np.random.default_rng(self.random_state)
        pairs = rng.integers(0, n, (self.n_checked, 2)) if n > 1 else np.empty((0, 2), dtype=np.int64)
        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
        n_sampled = sample_size(n, count) if self.geometry == "metric" and not every else 0
        n_to_landmarks = n * (n + 1) // 2 if every else n_sampled * (n_sampled - 1) // 2 + count * n
        with progress_bar(n_to_landmarks + len(pairs), "landmarks", verbose=self.verbose, unit="call") as bar:

            def called(rows: Integers) -> Floats:
                def block(part: slice) -> list[float]:
                    values = [calls.one(objects[i], objects[j], int(i), int(j)) for i, j in rows[part]]
                    bar.update(len(values))
                    return values

                parts = map_blocks(block, len(rows), size=_BLOCK, n_jobs=self.n_jobs)
                return np.array([value for values in parts for value in values])

            def distances_to(k: int) -> Floats:
                return called(np.column_stack([np.arange(n), np.full(n, k)]))

            simplex = None
            if every:
                landmarks, table = np.arange(n), _between(called, n)
            elif self.geometry == "metric":
                landmarks, table = _raising(called, rng.choice(n, n_sampled, replace=False), n, count, rng)
            else:
                landmarks, table, simplex = _highest(distances_to, int(rng.integers(n)), count, self._rounded_tolerance())
            checked = called(pairs)
        exact = self.geometry == "metric" and _whole(table) and _whole(checked)
        tolerance = 0.0 if self.tolerance == "auto" and exact else self._rounded_tolerance()
        if every:
            self._check_symmetry(objects, (pairs, checked), table[pairs[:, 0], pairs[:, 1]], tolerance)
            self._check_own(objects, table, landmarks, tolerance)
        slack = 2.0 * tolerance / (1.0 - tolerance) if tolerance < 1.0 else np.inf
        if not every or (n <= _MOST_CHECKED and not has_no_detour(table, slack)):
            self._check_landmarks(objects, table, landmarks, tolerance)
        self._check_pairs(objects, table, landmarks, (pairs, checked), tolerance)
        if simplex is not None:
            places = simplex.placed(table)
            _check_places(objects, places, landmarks)
            _check_bounds(objects, simplex, places, (pairs, checked))
        self.landmarks_, self.distances_, self.tolerance_, self.n_calls_ = landmarks, table, tolerance, calls.calls.n
        self._objects, self._simplex, self._every = [objects[k] for k in landmarks], simplex, every
        self.items_ = self._located(table)
        return self

    def at(self, query: Any) -> QueryBounds:
        """Return the bounds of one query to all items of the fit, which takes a call for each landmark, unless all are."""
        if self._every:  # each call of the search will say more
            return QueryBounds(self, self.items_.take(slice(0)))
        distances = self._called([query], "query")
        return QueryBounds(self, self._located(distances), self._known(distances[0]), len(self.landmarks_))

    def at_item(self, row: int) -> QueryBounds:
        """Return the bounds of one item of the fit to all of them, which takes no call."""
        if self._every:
            return QueryBounds(self, self.items_.take(slice(0)), self._known(self.distances_[row]))
        return QueryBounds(self, self.items_.take(slice(row, row + 1)), self._known(self.distances_[row]))

    @property
    def n_query_calls(self) -> int:
        """The number of calls of the distance that the bounds of one query take before its search."""
        return 0 if self._every else len(self.landmarks_)

    def proof_at(self, query: QueryBounds, row: int, value: float, dual: Any) -> Proof | None:
        return partial(self.lower_by_landmark, row, value) if self._every else None

    def lower_by_landmark(self, row: int, value: float, rows: Integers) -> Floats:
        """Return lower bounds of the distances of a query to items, by its distance to the landmark in a row: (n_rows,)."""
        beside = self.distances_[row, rows]  # in this order they lie together in memory
        gaps = np.abs(beside - value) - self._tolerance_of(np.array([value]), beside) * (beside + value)
        return np.maximum(gaps, 0.0)

    def _placed(self, objects: list[Any], name: str) -> Coordinates:
        return self._located(self._called(objects, name))

    def _called(self, objects: list[Any], name: str) -> Floats:
        calls = UserDistance(self.distance, kinds=(f"object of {name}", "item"))
        landmarks = list(zip(self.landmarks_.tolist(), self._objects, strict=True))
        return np.array([[calls.one(x, y, i, j) for j, y in landmarks] for i, x in enumerate(objects)])

    def _known(self, distances: Floats) -> dict[int, float]:
        return dict(zip(self.landmarks_.tolist(), distances.tolist(), strict=True))

    def _located(self, distances: Floats) -> Coordinates:
        """Return what bounds are computed from: distances to landmarks themselves, or places above their simplex."""
        values = distances if self._simplex is None else self._simplex.placed(distances)
        return Coordinates(values, np.empty((len(values), 0)), np.ones(len(values)))

    def lower_at(self, query: Coordinates, items: Coordinates) -> Floats:
        if not len(query):  # nothing is called yet
            return np.zeros(len(items))
        if self._simplex is not None:
            return self._simplex.bounds(query.values, items.values)[0]
        tolerance = self._tolerance_of(query.values, items.values)
        if not tolerance:
            return chebyshev(query, items)
        gaps = np.abs(items.values - query.values) - tolerance * (items.values + query.values)
        return np.maximum(gaps.max(axis=1), 0.0)

    def upper_at(self, query: Coordinates, items: Coordinates) -> Floats:
        if not len(query):
            return np.full(len(items), np.inf)
        if self._simplex is not None:
            return self._simplex.bounds(query.values, items.values)[1]
        return (items.values + query.values).min(axis=1) * (1.0 + self._tolerance_of(query.values, items.values))

    def _asks_for_all(self) -> bool:
        """Return True if all items are to be landmarks."""
        if not isinstance(self.n_landmarks, str):
            return False
        if self.n_landmarks != "all" or self.geometry != "metric":
            raise InputError(
                f"n_landmarks={self.n_landmarks!r} with geometry={self.geometry!r} must be an integer >= 1, or "
                '"all" with geometry="metric"'
            )
        return True

    def _rounded_tolerance(self) -> float:
        return _ROUNDED if self.tolerance == "auto" else float(self.tolerance)

    def _tolerance_of(self, query: Floats, items: Floats) -> float:
        """Return the tolerance of the fit, or of "auto" for distances that are no integers, though those of the fit were."""
        known = self.tolerance != "auto" or self.tolerance_ > 0.0
        return self.tolerance_ if known or (_whole(query) and _whole(items)) else _ROUNDED

    def _check_symmetry(self, objects: list[Any], called: tuple[Integers, Floats], other: Floats, tolerance: float) -> None:
        """Refuse pairs of items (n, 2) whose distances, called in one order and the other, differ."""
        uneven = np.flatnonzero(np.abs(called[1] - other) > tolerance * (called[1] + other))
        if len(uneven):
            (i, j), there, back = called[0][uneven[0]].tolist(), called[1][uneven[0]], other[uneven[0]]
            raise InputError(
                f"distance= is not symmetric: it is {there:g} of items {i} and {j}, and {back:g} of {j} and {i} "
                f"({_shown(objects[i])}; {_shown(objects[j])}); a metric is required for bounds by landmarks: use other bounds"
            )

    def _check_own(self, objects: list[Any], table: Floats, landmarks: Integers, tolerance: float) -> None:
        """Refuse landmarks that are not at 0 of themselves."""
        own = table[landmarks, np.arange(len(landmarks))]
        if (own > tolerance * table.max()).any():
            a = int(np.argmax(own))
            i, share = int(landmarks[a]), float(own[a] / table.max())
            raise InputError(
                f"distance= of item {i} to itself is {own[a]:g} and not 0 ({_shown(objects[i])}); a metric is required for "
                f"bounds by landmarks{_if_rounding(share)}"
            )

    def _check_landmarks(self, objects: list[Any], table: Floats, landmarks: Integers, tolerance: float) -> None:
        among = table[landmarks]
        every = np.stack(np.meshgrid(landmarks, landmarks, indexing="ij"), axis=2).reshape(-1, 2)
        self._check_symmetry(objects, (every, among.ravel()), among.T.ravel(), tolerance)
        self._check_own(objects, table, landmarks, tolerance)
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


def _if_rounding(share: float) -> str:
    """Return advice on a distance of an item to itself that is so small a share of the largest one."""
    if share > _MAY_BE_ROUNDING:
        return ""
    return f". If that is rounding, as of a root or an angle, give tolerance={10.0 ** np.ceil(np.log10(share) + 1):g}"


def _between(called: Callable[[Integers], Floats], n: int) -> Floats:
    """Return the distances between n items, each called once, (n, n)."""
    left, right = np.triu_indices(n)
    table = np.empty((n, n))
    table[left, right] = table[right, left] = called(np.column_stack([left, right]))
    return table


def _raising(
    called: Callable[[Integers], Floats], sample: Integers, n: int, count: int, rng: np.random.Generator
) -> tuple[Integers, Floats]:
    """Return sampled items that raise bounds most, and the distances of all n items to them; no pair is called twice.

    If no pair of the first sampled items is discarded, no more are sampled, and one landmark is kept.
    """
    among = _among(called, sample[:_FIRST_SAMPLED], np.empty((0, 0)))
    useless = len(sample) > len(among) and discard_rate(among, incremental_selection(among, count, rng)) == 0.0
    if useless:
        sample = sample[: len(among)]
    else:
        among = _among(called, sample, among)
    chosen = incremental_selection(among, count, rng)
    _warn_of_weak_landmarks(discard_rate(among, chosen), len(sample), n, len(chosen), useless=useless)
    chosen = chosen[:1] if useless else chosen
    table = np.empty((n, len(chosen)))
    for k, number in enumerate(chosen.tolist()):
        known = sample[:number]
        others = np.setdiff1d(np.arange(n), known)
        table[known, k] = among[:number, number]
        table[others, k] = called(np.column_stack([others, np.full(len(others), sample[number])]))
    return sample[chosen], table


def _among(called: Callable[[Integers], Floats], sample: Integers, known: Floats) -> Floats:
    """Return the distances of sampled items to one another, (n, n), of which those among the first items are known."""
    table = np.zeros((len(sample), len(sample)))
    table[: len(known), : len(known)] = known
    left, right = np.triu_indices(len(sample), 1)
    left, right = left[right >= len(known)], right[right >= len(known)]
    table[left, right] = table[right, left] = called(np.column_stack([sample[left], sample[right]]))
    return table


def _warn_of_weak_landmarks(rate: float, n_sampled: int, n: int, count: int, *, useless: bool) -> None:
    if n_sampled >= _FEWEST_SAMPLED and rate <= min(_LITTLE, count / n):
        kept = " So no more items are sampled, and one landmark is kept." if useless else ""
        warn(
            f"the triangle inequality at landmarks discards {rate:.2%} of the pairs of {n_sampled} sampled items. At "
            f"that rate a query of {n:,} items saves no more than the {count} calls that it makes to landmarks, as where "
            f"distances are much alike.{kept} Call the distance for all items, give bounds that are made for it, or "
            "geometry='hilbert' where the distance is known to be one of a Hilbert space",
            cause="landmarks discard nothing",
        )


def _highest(
    distances_to: Callable[[int], Floats], first: int, count: int, tolerance: float
) -> tuple[Integers, Floats, SimplexProjection]:
    """Return items of which each is the highest above the simplex of those before it, the distances of all to them, and it.

    That is the order of pivots of an incomplete Cholesky factor of the Gram matrix. It ends before a height that is lost in
    rounding.
    """
    landmarks, table = [first], distances_to(first)[:, None]
    unit = unit_of(table)
    simplex = SimplexProjection.of(np.zeros((1, 1)), tolerance, unit)
    heights, places = (table[:, 0] / unit) ** 2, np.empty((len(table), 0))
    while len(landmarks) < count:
        following = int(np.argmax(heights))
        sides = table[[*landmarks, following]]  # whose last column, of the new landmark, is not called yet
        if not heights[following] > 0.0:
            break
        larger = SimplexProjection.of(np.column_stack([sides, np.append(sides[-1], 0.0)]), tolerance, unit)
        if larger.error > MOST_ERROR:
            break
        table = np.column_stack([table, distances_to(following)])
        squares = (table[:, 0] / unit) ** 2, (sides[-1, 0] / unit) ** 2, (table[:, -1] / unit) ** 2
        products = (squares[0] + squares[1] - squares[2]) / 2.0
        place = (products - places @ places[following]) / np.sqrt(heights[following])
        landmarks.append(following)
        places, heights, simplex = np.column_stack([places, place]), heights - place**2, larger
        heights[landmarks] = 0.0
    return np.array(landmarks, dtype=np.int64), table, simplex


def _check_places(objects: list[Any], places: Floats, landmarks: Integers) -> None:
    if (places[:, -2] < 0.0).any():
        i = int(np.argmin(places[:, -2]))
        raise InputError(
            f"distance= is none of a Hilbert space: item {i} ({_shown(objects[i])}) and the landmarks "
            f"{', '.join(map(str, landmarks.tolist()))} have distances whose Gram matrix is not positive semidefinite; {_ROOT}"
        )


def _check_bounds(objects: list[Any], simplex: SimplexProjection, places: Floats, checked: tuple[Integers, Floats]) -> None:
    for (i, j), value in zip(checked[0].tolist(), checked[1].tolist(), strict=True):
        low, high = (float(bound[0]) for bound in simplex.bounds(places[i : i + 1], places[j : j + 1]))
        if not low <= value <= high:
            raise InputError(
                f"distance= is none of a Hilbert space: it is {value:g} of items {i} and {j}, which the landmarks place at "
                f"{low:g} to {high:g} from one another ({_shown(objects[i])}; {_shown(objects[j])}); {_ROOT}"
            )


_ROOT = 'use geometry="metric", or the root of the distance where that is known to embed'


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
