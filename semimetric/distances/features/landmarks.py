"""Objects as their distances to a few of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ..._foundation.errors import InputError
from ..._foundation.farthest_first import farthest_first
from ..._foundation.progress import progress_bar
from ..._foundation.stored import Stored, storable
from ..._foundation.types import Floats, Integers, Pairs
from ..._foundation.validation import check_choice, check_count, check_n_jobs
from ...data.calls import BACKENDS, Distance, Memo, UserDistance
from ...data.object_lists import Objects, as_objects
from .objects import ObjectFeatures

_MOST_SWAPS = 1000


def medoids(distances: Floats, n: int) -> Integers:
    """Return positions of ``n`` medoids under distances (m, m) by PAM: added one by one, then exchanged while the sum falls."""
    chosen: list[int] = []
    nearest = np.full(len(distances), np.inf)
    for _ in range(n):
        cost = np.minimum(nearest[:, None], distances).sum(axis=0)
        cost[chosen] = np.inf
        chosen.append(int(np.argmin(cost)))
        nearest = np.minimum(nearest, distances[:, chosen[-1]])
    total = nearest.sum()
    for _ in range(_MOST_SWAPS):
        best, swap = total * (1 - 1e-12), None
        for k in range(n):
            others = chosen[:k] + chosen[k + 1 :]
            without = distances[:, others].min(axis=1, initial=np.inf)
            cost = np.minimum(without[:, None], distances).sum(axis=0)
            cost[others] = np.inf
            if cost.min() < best:
                best, swap = float(cost.min()), (k, int(np.argmin(cost)))
        if swap is None:
            break
        chosen[swap[0]], total = swap[1], best
    return np.array(chosen, dtype=np.int64)


_STRATEGIES = ("maxmin", "random", "medoids")
_DRAWN = 4  # objects for each medoid, among which medoids are chosen


@storable
class LandmarkFeatures(ObjectFeatures):
    """Distances to landmarks, ``x -> (d(x, l_1), ..., d(x, l_k))``, of objects of any kind: strings, graphs, series, sets.

    If d is a metric, features of two objects differ by at most d(x, y) each. So the largest difference is a lower bound of d
    (Lipschitz embedding: Linial, London & Rabinovich 1995; pivots: Chávez et al. 2001). Objects are handed to the callable as
    they are: no array is made of them, and threads copy none (processes are sent copies). An object is at distance 0 from
    itself, and of two landmarks one distance is called and taken for both directions.

    An error of the distance or Ctrl-C may end `fit`, `fit_transform` or `transform` early. Then ``cache``, if there is one,
    holds every distance that was answered, so that the next call goes on from there; calls under way in other threads or
    processes are lost. After `fit` and `fit_transform`, ``n_calls_``, ``landmark_indices_`` and ``distances_`` hold what there
    was.

    Parameters
    ----------
    distance : callable or None, default None
        A function of two objects with values >= 0. None is for use within `DistanceApproximator`, which gives its own.
    n_landmarks : int, default 32
        As many as there are objects, if these are fewer.
    strategy : {"maxmin", "random", "medoids"}, default "maxmin"
        "maxmin" takes the object farthest from the landmarks so far, the first at random (Gonzalez 1985), and ends where all
        others are at distance 0 from one; it calls the distance once for every object and landmark, which `fit_transform`
        needs anyway. "random" draws them without a call. "medoids" draws 4 objects a landmark, calls all distances between
        these, and takes those to which the rest are near on the whole (PAM: Kaufman & Rousseeuw 1990).
    n_jobs : int or None, default None
        Threads or processes that call the distance: None is one, -1 all.
    backend : {"threads", "processes"}, default "threads"
        Threads for a function that releases the interpreter's lock, as compiled code may; processes for pure Python, to which
        the function and the objects are sent.
    cache : mutable mapping or None, default None
        The store of distances by pairs of objects, such as a dict that several fits share; a clone shares it too. It
        is of one distance. Objects are hashable, or of a kind that can be pickled.
    random_state : int or None, default 0
    verbose : bool or None, default None
        True shows a progress bar; None shows it in a terminal or notebook, if the work takes long.

    Attributes
    ----------
    landmark_indices_ : ndarray of shape (n_landmarks,), int64
        Positions of the landmarks among the objects of the fit.
    landmarks_ : list
        The landmarks themselves.
    distances_ : ndarray of shape (n_objects, n_landmarks)
        From the objects of the fit to the landmarks; NaN where the distance was not called.
    n_calls_ : int
        Calls of the distance by `fit` or `fit_transform`.

    Examples
    --------
    >>> from semimetric import LandmarkFeatures
    >>> def different(x, y):
    ...     return len(set(x) ^ set(y))
    >>> words = ["stone", "tones", "bone", "ice", "nice", "iced"]
    >>> model = LandmarkFeatures(different, n_landmarks=2)
    >>> model.fit_transform(words).shape, model.n_calls_
    ((6, 2), 9)
    >>> model.landmarks_
    ['iced', 'stone']
    """

    landmark_indices_: Stored[Integers]
    landmarks_: Stored[list[Any]]
    n_calls_: Stored[int]

    def __init__(
        self,
        distance: Distance | None = None,
        *,
        n_landmarks: int = 32,
        strategy: str = "maxmin",
        n_jobs: int | None = None,
        backend: str = "threads",
        cache: Memo | None = None,
        random_state: int | None = 0,
        verbose: bool | None = None,
    ) -> None:
        self.distance = distance
        self.n_landmarks = n_landmarks
        self.strategy = strategy
        self.n_jobs = n_jobs
        self.backend = backend
        self.cache = cache
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Objects, y: object = None) -> LandmarkFeatures:
        """Choose the landmarks among the objects of a list, a Series of text, or the rows of an array; y is ignored.

        A `DistanceCallError` names the positions of the two objects on which the distance fails.
        """
        self._check_parameters()
        objects = as_objects(X)
        self.__dict__.pop("landmarks_", None)
        self.n_calls_ = 0
        self.landmark_indices_, self.distances_ = np.empty(0, np.int64), np.empty((len(objects), 0))
        n = min(self.n_landmarks, len(objects))
        rng = np.random.default_rng(self.random_state)
        if self.strategy == "maxmin":
            self._choose_farthest(objects, n, rng)
        elif self.strategy == "random":
            self._take(rng.permutation(len(objects))[:n])
        else:
            self._choose_medoids(objects, n, rng)
        self.landmarks_ = [objects[i] for i in self.landmark_indices_.tolist()]
        return self

    def fit_transform(self, X: Objects, y: object = None, **fit_params: object) -> Floats:
        """Choose the landmarks as `fit`, and return the distances of all objects to them, of which none is called twice."""
        objects = as_objects(X)
        self.fit(objects)
        missing = np.argwhere(np.isnan(self.distances_))
        self._evaluate(objects, missing)
        return self.distances_.copy()

    def transform(self, X: Objects) -> Floats:
        """Return the distances d(x, l_k), shape (n_objects, n_landmarks): one call each.

        A `DistanceCallError` names the positions of the object in X and of the landmark in the fit.
        """
        check_is_fitted(self, "landmarks_")
        self._check_parameters()
        objects = as_objects(X)
        n = len(self.landmarks_)
        calls = self._calls(objects, self.landmarks_, ("object", "landmark"))
        index = np.column_stack([np.repeat(np.arange(len(objects)), n), np.tile(np.arange(n), len(objects))])
        found = calls.evaluate(Pairs(np.empty((0, 0)), index), n_jobs=self.n_jobs, verbose=self.verbose)
        return found.reshape(len(objects), n)

    def known_distances(self, index: Integers) -> Floats:
        """Return the distances of pairs of positions (n, 2) of the fit that were called already, (n,); NaN of others."""
        column = np.full(len(self.distances_), -1)
        column[self.landmark_indices_] = np.arange(len(self.landmark_indices_))
        values = np.full(len(index), np.nan)
        for one, other in (index.T, index.T[::-1]):
            rows = np.flatnonzero(np.isnan(values) & (column[other] >= 0))
            values[rows] = self.distances_[one[rows], column[other[rows]]]
        return values

    def __sklearn_clone__(self) -> LandmarkFeatures:
        """Return a clone that calls the same function, and remembers in the same cache."""
        parameters = self.get_params(deep=False)
        return type(self)(**{k: v if k in ("cache", "distance") else clone(v, safe=False) for k, v in parameters.items()})

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "landmarks_")

    @property
    def _names_out(self) -> list[str]:
        return [f"distance to {i}" for i in self.landmark_indices_]

    def stored_parameters(self) -> dict[str, Any]:
        """Return all but the distance, which is code, and the cache; `set_params` gives them to a loaded transformer."""
        return {k: v for k, v in super().stored_parameters().items() if k not in ("distance", "cache")}

    def check_restored(self) -> None:
        self._check_parameters(called=False)
        self.stored_array("landmark_indices_", len(self.landmarks_), least=0)
        if not self.landmarks_:
            raise InputError("there are no landmarks; restore the file")

    def _check_parameters(self, *, called: bool = True) -> None:
        if called and not callable(self.distance):
            raise InputError(
                f"distance={self.distance!r} must be callable: a function of two objects; set_params(distance=...) gives "
                "one, or give these features to DistanceApproximator(distance, features=...)"
            )
        check_count("n_landmarks", self.n_landmarks)
        check_choice("strategy", self.strategy, _STRATEGIES)
        check_choice("backend", self.backend, BACKENDS)
        check_n_jobs(self.n_jobs)

    def _calls(
        self, objects: Objects, others: Objects | None = None, kinds: tuple[str, str] = ("object", "object")
    ) -> UserDistance:
        distance: Any = self.distance  # which was checked to be callable
        return UserDistance(distance, objects=objects, others=others, kinds=kinds, backend=self.backend, cache=self.cache)

    def _take(self, chosen: Integers) -> None:
        self.landmark_indices_ = np.append(self.landmark_indices_, chosen)
        here = self.landmark_indices_
        columns = np.full((len(self.distances_), len(chosen)), np.nan)
        self.distances_ = np.hstack([self.distances_, columns])
        among = self.distances_[here]
        self.distances_[here] = np.where(np.isnan(among), among.T, among)
        self.distances_[here, np.arange(len(here))] = 0.0

    def _evaluate(self, objects: Objects, missing: Integers, bar: Any = None) -> None:
        """Call the distances of objects to landmarks, given by row and column of ``distances_``, and write them there."""
        here = self.landmark_indices_
        place = np.full(len(self.distances_), -1)
        place[here] = np.arange(len(here))
        missing = missing[~((place[missing[:, 0]] >= 0) & (place[missing[:, 0]] > missing[:, 1]))]
        if not len(missing):
            return
        calls = self._calls(objects)
        pairs = Pairs(np.empty((0, 0)), np.column_stack([missing[:, 0], here[missing[:, 1]]]))
        done = 0
        try:
            for block in calls.stream(pairs, n_jobs=self.n_jobs, verbose=self.verbose, bar=bar):
                rows, columns = missing[done : done + len(block)].T
                self.distances_[rows, columns] = block
                mirrored = place[rows] >= 0
                self.distances_[here[columns[mirrored]], place[rows[mirrored]]] = block[mirrored]
                done += len(block)
        finally:
            self.n_calls_ += calls.calls.n

    def _choose_farthest(self, objects: Objects, n: int, rng: np.random.Generator) -> None:
        with progress_bar(n * len(objects), "distances to landmarks", verbose=self.verbose, unit="pair") as bar:

            def distances_to(i: int) -> Floats:
                self._take(np.array([i]))
                k = len(self.landmark_indices_) - 1
                rows = np.flatnonzero(np.isnan(self.distances_[:, k]))
                self._evaluate(objects, np.column_stack([rows, np.full(len(rows), k)]), bar)
                return self.distances_[:, k]

            farthest_first(distances_to, int(rng.integers(len(objects))), n)

    def _choose_medoids(self, objects: Objects, n: int, rng: np.random.Generator) -> None:
        drawn = rng.permutation(len(objects))[: _DRAWN * n]
        left, right = np.triu_indices(len(drawn), 1)
        calls, among = self._calls(objects), np.zeros((len(drawn), len(drawn)))
        try:
            pairs = Pairs(np.empty((0, 0)), np.column_stack([drawn[left], drawn[right]]))
            among[left, right] = calls.evaluate(pairs, n_jobs=self.n_jobs, verbose=self.verbose)
        finally:
            self.n_calls_ += calls.calls.n
        among += among.T
        chosen = medoids(among, n)
        self._take(drawn[chosen])
        self.distances_[drawn] = among[:, chosen]
