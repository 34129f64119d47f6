"""`FilterRefineIndex`: exact nearest neighbours under an expensive distance, called as seldom as bounds allow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from .._foundation.errors import InputError
from .._foundation.short_reprs import ShortRepr
from .._foundation.types import ArrayLike
from .._foundation.validation import check_choice, check_count, check_n_jobs
from ..bounds.base import Bounds
from ..bounds.expensive_calls import ExpensiveCalls
from ..distances.semimetric import Semimetric
from .certified_answers import CertifiedNeighbors, CertifiedWithin, proved
from .ids import check_ids
from .multi_step_search import CandidateItems, nearest, within
from .refined_items import RefinedItems
from .refined_queries import RefinedQueries
from .results import as_graph, as_objects
from .search_arguments import check_neighbors, check_radius
from .searched_distance import SearchesUnderLearned, encoder_of, searched_distance

__all__ = ["FilterRefineIndex"]


class FilterRefineIndex(ShortRepr, RefinedQueries, SearchesUnderLearned):
    """Exact nearest neighbours under an expensive distance, in place of which a learned one and bounds do most of the work.

    Candidates are taken in the order of the learned distance; lower bounds discard, upper bounds and the exact distances found
    so far set the threshold, and the expensive distance is called only for what lies between, until the nearest
    are proved (Seidl and Kriegel 1998). The answer is that of calling it for every item, ties by id; nothing is assumed of the
    learned distance, which only decides how soon the threshold is tight. `NeighborIndex` with ``rerank=`` calls it for a fixed
    number of candidates instead, without a proof.

    Parameters
    ----------
    semimetric : Semimetric, fitted learner, "gower", "l1", or None
        The learned distance, in any unit; None takes the lower bounds alone. A name makes the distance of the items of `fit`.
        A `DistanceApproximator` with ``features=`` makes the features of the objects itself, of items and of queries.
    rerank : callable
        The expensive distance: ``rerank(query, item)`` of two objects is a number >= 0. If it has a method ``with_dual(query,
        item)`` that returns the number and a dual variable for every bin of the query, as `EarthMoversDistance` has,
        `TransportBounds` tighten the bounds of all other items by it.
    bounds : Bounds, sequence of Bounds, or None, default None
        `LandmarkBounds`, `TransportBounds`, `EditBounds`, or several, whose best is taken; fitted to the items by `fit`.
        Without any, every item is called. What `LandmarkBounds` have called is not called again, if it is the same callable.
        A `SemimetricWarning` says once where they discard no more items than they take calls.
    max_calls : int or None, default None
        Calls for a query after which the search stops, with what is proved by then.
    n_jobs : int or None, default None
        Threads, which take a query each: None is one, -1 all.
    verbose : bool or None, default None
        Whether progress is shown; None shows it to those who look, if it takes long.

    Attributes
    ----------
    semimetric_ : Semimetric or None
    bounds_ : list of Bounds
        Fitted to the items.
    ids_ : ndarray of shape (n_samples_fit_,)
    n_samples_fit_ : int
    n_features_in_ : int
        Of the vectors, or features, that the learned distance reads.
    n_calls_ : int
        How often `fit` called the expensive distance: for bounds, and for features of the items that a model with landmarks
        makes.
    pairs_, distances_ : ndarray of shape (n_calls, 2), (n_calls,)
        What the last search has called, whatever ended it: rows of queries and items, and their distances.

    Examples
    --------
    >>> import numpy as np, semimetric as sm
    >>> def hamming(x, y):
    ...     return sum(a != b for a, b in zip(x, y))
    >>> words = ["".join(w) for w in np.random.default_rng(0).choice(list("abcd"), (500, 8))]
    >>> index = sm.FilterRefineIndex(None, hamming, bounds=sm.LandmarkBounds(hamming)).fit(words)
    >>> found = index.search(["abcdabcd"], n_neighbors=2)
    >>> found.distances, found.certified
    (array([[2., 3.]]), array([[ True,  True]]))
    >>> bool(found.n_calls[0] < 500)
    True
    """

    def __init__(
        self,
        semimetric: Semimetric | BaseEstimator | str | None,
        rerank: Callable[..., Any] | None = None,
        *,
        bounds: Bounds | Sequence[Bounds] | None = None,
        max_calls: int | None = None,
        n_jobs: int | None = None,
        verbose: bool | None = None,
    ) -> None:
        self.semimetric: Any = semimetric
        self.rerank = rerank
        self.bounds = bounds
        self.max_calls = max_calls
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(
        self, X: Any, y: Any = None, *, features: ArrayLike | None = None, ids: ArrayLike | None = None
    ) -> FilterRefineIndex:
        """Index the items X, and fit the bounds to them; what fails or is interrupted leaves the index as it was.

        Parameters
        ----------
        X : array-like of shape (n, n_features), frame, or list of n objects
            What the expensive distance takes, row by row; objects are kept as they are.
        y : ignored
        features : array-like of shape (n, n_features) or None
            What the learned distance reads, where it does not read X; a model with ``features=`` makes it, if None is given.
        ids : array-like of shape (n,) or None
            Distinct 64-bit integers or strings; row numbers by default.

        Raises
        ------
        InputError
            If ids repeat, features do not fit, or bounds refuse the items.
        """
        ExpensiveCalls(self.rerank, "rerank")
        self._check_parameters()
        fitted = copy(self)
        learned = None
        if self.semimetric is not None:
            learned = searched_distance(self.semimetric, X if features is None else features)
            fitted.n_features_in_ = learned.n_features
        fitted.semimetric_, fitted._beside, fitted._told = learned, features is not None, False
        fitted._encode = encoder_of(self.semimetric) if features is None else None
        if fitted._encode is None or learned is None:
            fitted.items_ = RefinedItems.read(X, features, learned)
        else:
            fitted.items_ = RefinedItems.encoded(X, fitted._encode, learned)
        n = len(fitted.items_)
        fitted.ids_ = np.arange(n) if ids is None else check_ids(ids, n)
        fitted.bounds_ = [copy(bounds).fit(fitted.items_.objects) for bounds in self._given_bounds()]
        n_calls = 0 if fitted.items_.n_calls is None else int(fitted.items_.n_calls.sum())
        fitted.n_calls_ = n_calls + sum(getattr(bounds, "n_calls_", 0) for bounds in fitted.bounds_)
        fitted._ranks = np.empty(n, dtype=np.int64)
        fitted._ranks[np.argsort(fitted.ids_, kind="stable")] = np.arange(n)
        self.__dict__ = fitted.__dict__  # in one step, so that no signal comes between
        return self

    @property
    def n_samples_fit_(self) -> int:
        """Number of items."""
        return len(self.items_)

    def kneighbors(self, X: Any = None, n_neighbors: int = 5, return_distance: bool = True, **options: Any) -> Any:  # fmt: skip
        """The nearest items of every query; the options are those of `search`.

        Parameters
        ----------
        X : array-like, frame, list of objects, or None
            Queries, of the form of the items; None is every item, which is then not its own neighbour.
        n_neighbors : int
            1 to the number of items.
        return_distance : bool
        **options
            ``features``, ``where`` and ``max_calls`` of `search`.

        Returns
        -------
        distances : ndarray of shape (n_queries, k), increasing
            Only if ``return_distance``.
        ids : ndarray of shape (n_queries, k)
            k is the smaller of n_neighbors and the number of items that may be answered, less one without X.
        """
        found = self.search(X, n_neighbors, **options)
        return (found.distances, found.ids) if return_distance else found.ids

    def search(
        self,
        X: Any = None,
        n_neighbors: int = 5,
        *,
        features: ArrayLike | None = None,
        where: ArrayLike | Iterable | None = None,
        max_calls: int | None = None,
    ) -> CertifiedNeighbors:
        """`kneighbors` with what is proved of each neighbour, and how many calls each query took, those for its features too.

        Parameters
        ----------
        X, n_neighbors : as in `kneighbors`
        features : array-like of shape (n_queries, n_features) or None
            Of the queries, where `fit` was given those of the items.
        where : str, boolean mask over `ids_`, or list of ids; None
            The items that may be answered, see `NeighborIndex.kneighbors`.
        max_calls : int or None
            In place of that of the class.

        Raises
        ------
        DistanceCallError
            If the distance fails on a pair, or is not within its bounds there, with what was evaluated so far.
        InputError
            If the queries are no items, or ``max_calls`` is less than n_neighbors and the calls to landmarks.
        """
        queries, own = self._queries(X, features)
        mask = self.items_.mask(where, self.ids_)
        k = check_neighbors("exact", n_neighbors, len(self.items_) - own)
        budget = self._budget(max_calls, k, queries, own)

        def answered(candidates: CandidateItems, call: Any, known: dict[int, float], calls: int) -> tuple:
            few = min(k, len(candidates))
            found = nearest(candidates, call, few, known=known, budget=budget - calls, ranks=self._ranks)
            if len(found.called) < few:
                raise InputError("the bounds of a query contradict one another: a lower bound is above an upper one")
            return found.called[:few], proved(found, few, self._ranks), found.n_calls + calls

        answers = self._answered(queries, own, mask, answered)
        k = min([k, *(len(called) for called, *_ in answers)])
        places = [called for called, _, _ in answers]
        rows = np.array([[row for _, _, row in called[:k]] for called in places], dtype=np.int64).reshape(len(answers), k)
        return CertifiedNeighbors(
            np.array([[value for value, _, _ in called[:k]] for called in places]).reshape(len(answers), k),
            self.ids_[rows],
            np.array([certain[:k] for _, certain, _ in answers], dtype=bool).reshape(len(answers), k),
            np.array([calls for *_, calls in answers], dtype=np.int64),
        )

    def radius_neighbors(
        self, X: Any = None, radius: float = 1.0, return_distance: bool = True, **options: Any
    ) -> Any:  # fmt: skip
        """All items within ``radius`` of every query, nearest first; the options are those of `search`.

        Returns
        -------
        distances, ids : object arrays of shape (n_queries,)
            One array a query; ids alone if not ``return_distance``.
        """
        found = self.search_radius(X, radius, **options)
        return (found.distances, found.ids) if return_distance else found.ids

    def search_radius(
        self,
        X: Any = None,
        radius: float = 1.0,
        *,
        features: ArrayLike | None = None,
        where: ArrayLike | Iterable | None = None,
        max_calls: int | None = None,
    ) -> CertifiedWithin:
        """`radius_neighbors` with the items of which it is not known, and how many calls each query took."""
        queries, own = self._queries(X, features)
        check_radius(radius, 0.0)
        mask = self.items_.mask(where, self.ids_)
        budget = self._budget(max_calls, 0, queries, own)

        def answered(candidates: CandidateItems, call: Any, known: dict[int, float], calls: int) -> tuple:
            found = within(candidates, call, radius, known=known, budget=budget - calls, ranks=self._ranks)
            near = [(value, row) for value, _, row in found.called if value <= radius]
            values, rows = np.array([v for v, _ in near]), np.array([row for _, row in near], dtype=np.int64)
            return values, self.ids_[rows], np.sort(self.ids_[found.open_rows]), found.n_calls + calls

        answers = self._answered(queries, own, mask, answered)
        columns = [as_objects([answer[k] for answer in answers]) for k in range(3)]
        return CertifiedWithin(*columns, np.array([calls for *_, calls in answers], dtype=np.int64))  # type: ignore[call-arg]

    def kneighbors_graph(
        self, X: Any = None, n_neighbors: int = 5, mode: str = "connectivity", **options: Any
    ) -> sparse.csr_matrix:
        """`kneighbors`, its options too, as a sparse matrix (n_queries, n_samples_fit_): ones, or distances.

        ``mode`` is "connectivity" or "distance"; columns are in the order of `ids_`.
        """
        check_choice("mode", mode, ("connectivity", "distance"))
        found = self.search(X, n_neighbors, **options)
        return as_graph(found.distances if mode == "distance" else np.ones(found.ids.shape), found.ids, self.ids_)

    def _given_bounds(self) -> list[Bounds]:
        several = isinstance(self.bounds, (list, tuple))
        given: list[Any] = [] if self.bounds is None else list(self.bounds) if several else [self.bounds]  # type: ignore[arg-type]
        for bounds in given:
            if not isinstance(bounds, Bounds):
                raise InputError(f"bounds={bounds!r} must be LandmarkBounds, TransportBounds, EditBounds or a list of such")
        return given

    def _check_parameters(self) -> None:
        self._given_bounds()
        if self.max_calls is not None:
            check_count("max_calls", self.max_calls)
        check_n_jobs(self.n_jobs)
