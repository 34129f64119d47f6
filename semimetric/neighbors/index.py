"""`NeighborIndex`: nearest neighbours under a learned distance, with proof.

The theory is in docs/mathematics.md, section 4 and in paper 2, section 3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._foundation.errors import InputError
from .._foundation.input_arrays import record_features, validated
from .._foundation.short_reprs import ShortRepr
from .._foundation.types import ArrayLike
from .._foundation.validation import check_choice, check_count, check_n_jobs, check_shape
from ..data.schema import MISSING_ADVICE
from ..distances.semimetric import Semimetric
from .cells import CellLayout
from .explained_index import ExplainedIndex
from .graph_index import GraphIndex
from .ids import check_ids, masks_of
from .indexed_items import IndexedItems
from .item_columns import ItemColumns
from .memory_usage import MeasuredIndex
from .places import STORAGES, stays_in_place
from .query_tables import QueryView
from .results import Collection, Neighbors, Recall, as_graph, as_objects, no_neighbors, without_own
from .search_arguments import ALGORITHMS, SearchRequest, candidate_count, check_neighbors, check_radius
from .searched_distance import SearchesUnderLearned, searched_distance
from .searcher import SearchedRepeatedly
from .segment import Segment
from .storage import StoredIndex
from .tuned_index import TunedIndex

__all__ = ["NeighborIndex"]


class NeighborIndex(
    ShortRepr, ExplainedIndex, GraphIndex, IndexedItems, MeasuredIndex, SearchedRepeatedly, StoredIndex, TunedIndex,
    SearchesUnderLearned,
):  # fmt: skip
    """Nearest neighbours under a `Semimetric`: exact with a certificate, approximate, or one by one.

    No axiom is needed, not even symmetry; items and queries that lie so far outside the range of the fit that distances would
    overflow are refused. Every item is reduced to 4-bit codes of cells; for a query, the least value of each cell adds up to a
    lower bound of the distance, which FAISS sums over all items in SIMD. Items are refined by their exact distance in the order
    of their bounds, until the next bound proves that no other item is among the nearest. Distances are exact whatever the
    algorithm; ties go to the smallest id.

    Parameters
    ----------
    semimetric : Semimetric, fitted learner, "gower" or "l1"
        A name makes the distance of the items of `fit` by `Semimetric.gower` or `Semimetric.l1`; give
        ``Semimetric.gower(X, ...)`` itself to say more of the columns. Euclidean is no sum over features, so it is refused.
        A learner stays fitted where the index is cloned, as in a grid search: the index does not fit it.
    side : {"query-first", "query-last"}, default "query-first"
        For distances that are not symmetric: d(query, item), or d(item, query).
    algorithm : {"exact", "approximate", "graph", "brute"}, default "exact"
        What queries use unless they say otherwise. "approximate" refines the ``n_candidates`` items whose cells are
        typically nearest; "graph" walks along the edges of `build_graph`, which `fit` then builds; "brute" computes every
        distance (with joint groups, by merging the precomputed order of the fractions with the query's: Pele & Ben-Aliz 2016,
        section 3).
    n_lists : int or "auto", default "auto"
        Inverted lists that the approximate search chooses from: about sqrt(n) from 200,000 items on. Exact search visits all,
        and answers a single query faster with 1: in .7 of the time at a million items.
    n_probe : int, default 16
        Lists that the approximate search visits.
    n_candidates : int or None
        Of the approximate search, what a walk keeps, and of ``rerank``; None is the larger of 100 and 10 n_neighbors.
    storage : {"float64", "uint16"}, default "float64"
        How the places of the items on the knots are held. "uint16" takes a quarter of the bytes of "float64": an error bound
        tells for which items alone the values themselves are read, and answers are the same to the bit. Items that nobody can
        write to, as an array of ``np.load(..., mmap_mode="r")``, are then not copied, and stay in their file.
    rerank : callable or None
        An expensive distance, of two vectors or of two batches, that ``semimetric`` approximates: the ``n_candidates``
        nearest are sorted by it, and its values are returned. `FilterRefineIndex` calls it until they are proved.
    n_jobs : int or None
        Threads; None is one, -1 all.
    random_state : int or None, default 0
        Of the sample that places the cells.
    verbose : bool
        Show progress of batches.

    Attributes
    ----------
    semimetric_ : Semimetric
        The distance that is searched under.
    ids_ : ndarray of shape (n_samples_fit_,)
        Ids of the items, in the order of the columns of `kneighbors_graph`.
    n_samples_fit_, n_features_in_ : int
    segments_ : list of Segment
        The items; what was added later has segments of its own.

    Examples
    --------
    >>> import numpy as np, semimetric as sm
    >>> X = np.random.default_rng(0).random((100, 2))
    >>> model = sm.DistanceRegressor(n_knots=3, alpha=1e-3, preprocessor=X)
    >>> index = np.random.default_rng(1).integers(0, 100, (500, 2))
    >>> d = model.fit(index, np.abs(X[index[:, 0]] - X[index[:, 1]]).sum(axis=1)).semimetric_
    >>> distances, ids = sm.NeighborIndex(d).fit(X).kneighbors(X[:2], n_neighbors=1)
    >>> ids.ravel()
    array([0, 1])
    >>> sm.NeighborIndex("gower").fit(X).kneighbors(X[:2], n_neighbors=1, return_distance=False).ravel()
    array([0, 1])
    """

    def __init__(
        self,
        semimetric: Semimetric | BaseEstimator | str,
        *,
        side: str = "query-first",
        algorithm: str = "exact",
        n_lists: int | str = "auto",
        n_probe: int = 16,
        n_candidates: int | None = None,
        storage: str = "float64",
        rerank: Callable[..., Any] | None = None,
        n_jobs: int | None = None,
        random_state: int | None = 0,
        verbose: bool = False,
    ) -> None:
        self.semimetric: Any = semimetric
        self.side = side
        self.algorithm = algorithm
        self.n_lists = n_lists
        self.n_probe = n_probe
        self.n_candidates = n_candidates
        self.storage = storage
        self.rerank = rerank
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: ArrayLike, y: Any = None, *, ids: ArrayLike | None = None) -> NeighborIndex:
        """Index the rows of X; what fails or is interrupted leaves the index as it was, here and in `add` and `remove`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features), n >= 1, or frame
            What the distance takes; float32 is kept as it is, and what is sparse becomes dense, up to 2 GB: `add` takes more,
            part by part.
        y : ignored
        ids : array-like of shape (n,) or None
            Distinct 64-bit integers or strings; row numbers by default.

        Raises
        ------
        InputError
            If ids repeat, or X has another number of features than the distance.
        """
        self._check_parameters()
        fitted = copy(self)
        fitted._view = QueryView(searched_distance(self.semimetric, X), self.side)
        items = fitted._items(X, reset=True)
        given = np.arange(len(items)) if ids is None else check_ids(ids, len(items))
        fitted.fit_encoded(items, given)
        self.__dict__ = fitted.__dict__  # in one step, so that no signal comes between
        return self

    def fit_encoded(self, items: NDArray[Any], ids: NDArray[Any]) -> NeighborIndex:
        """Index items (n, n_features) that are encoded already, with their checked ids (n,), under ``_view``."""
        self.layout_ = CellLayout.fit(self._view, items, self.random_state)
        self.segments_ = [Segment.build(self._view, self.layout_, ids, items, **self._build_options)]
        return self.build_graph() if self.algorithm == "graph" else self

    def _check_parameters(self) -> None:
        """Refuse parameters with which queries could not be answered; an index that is loaded has to pass it too."""
        check_choice("algorithm", self.algorithm, ALGORITHMS)
        check_choice("storage", self.storage, STORAGES)
        if self.n_lists != "auto":
            check_count("n_lists", self.n_lists)
        check_count("n_probe", self.n_probe)
        if self.n_candidates is not None:
            check_count("n_candidates", self.n_candidates)
        check_n_jobs(self.n_jobs)

    def with_semimetric(self, semimetric: Semimetric | BaseEstimator) -> NeighborIndex:
        """The same items and codes under a distance learned again on the same grid, groups and directions (or an error)."""
        check_is_fitted(self)
        semimetric = searched_distance(semimetric)
        other = type(self)(**(self.get_params(deep=False) | {"semimetric": semimetric}))
        view = QueryView(semimetric, self.side)
        if not view.same_cells(self._view):
            raise InputError("the distance has another grid, other groups or directions; fit a new NeighborIndex with it")
        other._view, other.layout_, other.n_features_in_ = view, self.layout_, self.n_features_in_
        if hasattr(self, "feature_names_in_"):
            other.feature_names_in_ = self.feature_names_in_
        other.segments_ = [s.under(view) for s in self.segments_]
        return other

    def kneighbors(
        self,
        X: ArrayLike | None = None,
        n_neighbors: int = 5,
        return_distance: bool = True,
        *,
        algorithm: str | None = None,
        n_candidates: int | None = None,
        where: ArrayLike | Iterable | None = None,
    ) -> Any:
        """The nearest items of every query.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features) or None
            None: every item, which is then not its own neighbour.
        n_neighbors : int
            1 to the number of items.
        return_distance : bool
        algorithm, n_candidates : as in the class, for this call
        where : str, boolean mask over `ids_`, or list of ids; None
            The items that may be answered: those of which a condition on features holds, such as ``'alcohol > 13 and (hue < 1
            or origin in ("France", "Italy"))'``, or those of these ids; ids that are not in the index are nobody. Columns of
            times are compared with ``2024-01-31`` or ``2024-01-31T08:30``, in UTC if they have a time zone, and then also with
            ``2024-01-31T08:30+01:00``; an hour of the day, or a day of the week or year, is a number.

        Returns
        -------
        distances : ndarray of shape (n_queries, k), increasing
            Only if ``return_distance``.
        ids : ndarray of shape (n_queries, k)
            k is the smaller of n_neighbors and the number of items that may be answered, less one without X.
        """
        found = self.search(X, n_neighbors, algorithm=algorithm, n_candidates=n_candidates, where=where)
        return (found.distances, found.ids) if return_distance else found.ids

    def search(self, X: ArrayLike | None = None, n_neighbors: int = 5, **options: Any) -> Neighbors:
        """`kneighbors`, its options too, with a report: items refined, and queries whose first items were the nearest."""
        return self._answer(self._queries(X), self.ids_ if X is None else None, n_neighbors, **options)

    def radius_neighbors(
        self,
        X: ArrayLike | None = None,
        radius: float = 1.0,
        return_distance: bool = True,
        *,
        where: ArrayLike | Iterable | None = None,
    ) -> Any:
        """All items within ``radius`` of every query, nearest first; exact.

        Returns
        -------
        distances, ids : object arrays of shape (n_queries,)
            One array a query; ids alone if not ``return_distance``.
        """
        queries = self._queries(X)
        check_radius(radius, self._view.least)
        found = self._collection(where).within(queries, radius, n_jobs=self.n_jobs, verbose=self.verbose)
        if X is None:
            found = [(d[ids != own], ids[ids != own]) for (d, ids), own in zip(found, self.ids_, strict=True)]
        ids = as_objects([ids for _, ids in found])
        return (as_objects([distances for distances, _ in found]), ids) if return_distance else ids

    def kneighbors_graph(
        self, X: ArrayLike | None = None, n_neighbors: int = 5, mode: str = "connectivity", **options: Any
    ) -> sparse.csr_matrix:
        """`kneighbors`, its options too, as a sparse matrix (n_queries, n_samples_fit_): ones, or distances.

        ``mode`` is "connectivity" or "distance"; columns are in the order of `ids_`.
        """
        check_choice("mode", mode, ("connectivity", "distance"))
        distances, ids, *_ = self.search(X, n_neighbors, **options)
        return as_graph(distances if mode == "distance" else np.ones(ids.shape), ids, self.ids_)

    def estimate_recall(
        self, X: ArrayLike, n_neighbors: int = 10, *, max_queries: int = 200, n_candidates: int | None = None, where: Any = None
    ) -> Recall:
        """How much the approximate search, or that by a graph, finds of the exact answer, on at most ``max_queries`` rows of X.

        A neighbour counts if its distance is at most that of the true k-th, so ties count.

        Raises
        ------
        InputError
            If there are no queries, or no item may be answered.
        """
        queries = self._queries(X)
        if len(queries) > check_count("max_queries", max_queries):
            rng = np.random.default_rng(self.random_state)
            queries = queries[np.sort(rng.choice(len(queries), max_queries, replace=False))]
        true = self._answer(queries, None, n_neighbors, algorithm="exact", where=where)
        if not true.distances.size:
            raise InputError(f"there are {len(queries)} queries and no neighbours to find; give items that where= may answer")
        algorithm = "graph" if self.algorithm == "graph" else "approximate"
        got = self._answer(queries, None, n_neighbors, algorithm=algorithm, n_candidates=n_candidates, where=where)
        return Recall.of(true.distances, got.distances)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _items(self, X: ArrayLike, *, reset: bool = False) -> NDArray[Any]:
        d = self.semimetric_
        if (table := d.schema.table(X)) is not X and not reset:
            return d.schema.encode(table)  # which was read by its names
        X = table
        if not d.schema.plain:
            record_features(self, X, reset=reset)
            return d.schema.encode(X)
        copied = not stays_in_place(X, self.storage)
        items = validated(self, X, dtype=[np.float64, np.float32], order="C", copy=copied, reset=reset, advice=MISSING_ADVICE)
        check_shape(items, X, n_features=d.n_features, names=d.feature_names)
        return items

    def _queries(self, X: ArrayLike | None) -> NDArray[Any]:
        check_is_fitted(self)
        if X is None:
            return np.concatenate([s.points.raw[s.alive] for s in self.segments_])
        return self._items(X)

    def _collection(self, where: ArrayLike | Iterable | None) -> Collection:
        d = self._view.semimetric
        columns = ItemColumns(tuple(getattr(self, "feature_names_in_", d.feature_names)), d.schema, self.segments_)
        return Collection(self._view, self.segments_, masks_of(where, columns))

    def _answer(
        self,
        queries: NDArray[Any],
        own: NDArray[Any] | None,
        n_neighbors: int,
        *,
        algorithm: str | None = None,
        n_candidates: int | None = None,
        where: Any = None,
    ) -> Neighbors:
        """The nearest items of the encoded queries; ``own`` are their ids where the queries are items themselves."""
        items, n_own = self._collection(where), int(own is not None)
        algorithm = self.algorithm if algorithm is None else algorithm
        k = check_neighbors(algorithm, n_neighbors, self.n_samples_fit_ - n_own)
        candidates = candidate_count(self.n_candidates if n_candidates is None else n_candidates, k)
        wanted = min((candidates if self.rerank is not None else k) + n_own, items.n_eligible)
        if not wanted:
            return no_neighbors(len(queries), self.segments_[0].ids.dtype)
        search = SearchRequest(wanted, algorithm, candidates + n_own, check_count("n_probe", self.n_probe))
        found = items.nearest(queries, search, n_jobs=self.n_jobs, verbose=self.verbose)
        if own is not None:
            found = without_own(found, own)
        if self.rerank is None:
            return found
        return items.reranked(queries, found, self.rerank, k, n_jobs=self.n_jobs, verbose=self.verbose)
