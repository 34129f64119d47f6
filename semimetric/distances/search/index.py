"""`NeighborIndex`: nearest neighbours under a learned distance, with proof.

The theory is in docs/mathematics.md, section 4 and in paper 2, section 3.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..._foundation.arrays import record_features, validated
from ..._foundation.errors import InputError, NotSupportedError, StorageError
from ..._foundation.estimator import ShortRepr
from ..._foundation.files import is_mapped, read_whole
from ..._foundation.optional_imports import optional
from ..._foundation.progress import progress_bar
from ..._foundation.stored import Members, located, refused_as_stored, storable
from ..._foundation.tables import row_labels
from ..._foundation.threads import map_blocks
from ..._foundation.types import ArrayLike, Floats, distinct
from ..._foundation.validation import check_choice, check_count, check_n_jobs, check_shape
from ...data.object_lists import listed_objects
from ...data.payload import Payload, check_names, check_same_rows
from ...data.rows import single_row
from ...data.schema import MISSING_ADVICE
from ..model.explanations import Explanation
from ..model.semimetric import Semimetric
from .cells import CellLayout
from .files import FILE, read_segments, storage_of, write_segments
from .graph_building import build_graph, check_walkable
from .grouped import GroupedItems, KeyedItems, beside_features, names_of, read_keys
from .groups import Keys
from .items import (
    ItemColumns,
    ItemRows,
    Neighbors,
    Queries,
    Recall,
    SegmentedItems,
    as_graph,
    as_objects,
    check_ids,
    eligible_masks,
    ids_to_remove,
    known_ids,
    new_ids,
    no_neighbors,
    payload_frame,
    without_own,
)
from .neighbor_graph import GRAPH_FROM
from .query_tables import QueryView
from .refinement import STORAGES, stays_in_place
from .searcher import Searcher
from .segment import ALGORITHMS, SearchRequest, Segment, candidate_count, check_neighbors, check_radius
from .tuning import Tuning, tune

_MADE = {"gower": Semimetric.gower, "l1": Semimetric.l1}
_L1 = ("cityblock", "manhattan")
_L2 = ("l2", "euclidean", "sqeuclidean")
_SAVED = ("side", "algorithm", "n_lists", "n_probe", "n_candidates", "storage", "n_jobs", "random_state", "verbose")
_USES = ("items", "positions", "joint", "codes", "faiss", "ids", "alive", "lists", "graph", "payload", "groups", "mapped")
_BLOCK = 8_192  # edges whose parts are computed at once
_TAIL = 8_192  # A segment holds at least so many items before another is begun.
_REMOVED = 0.25  # From this fraction of removed items on, a segment is built anew.


class SearchesUnderLearned(BaseEstimator):
    """An estimator with a parameter ``semimetric``, which may be a fitted learner: clones keep what it has learned.

    `sklearn.base.clone` makes parameters that are estimators unfitted, and nobody would fit the learner again.
    """

    def __sklearn_clone__(self) -> Self:
        other: Self = super().__sklearn_clone__()
        given: Any = vars(self).get("semimetric")
        cloned: Any = vars(other).get("semimetric")
        if isinstance(getattr(given, "semimetric_", None), Semimetric) and cloned is not given:
            parameters = given.get_params(deep=False)
            vars(cloned).update({name: value for name, value in vars(given).items() if name not in parameters})
        return other


@storable
class NeighborIndex(ShortRepr, SearchesUnderLearned):
    """Nearest neighbours under a `Semimetric`: exact with a certificate, approximate, or one by one.

    No axiom is needed, not even symmetry; items and queries that lie so far outside the range of the fit that distances would
    overflow are refused. Every item is reduced to codes of cells. For a query, the least values of the cells of an item add up
    to a lower bound of its distance. Over single features near items lie in lists, which are dropped by bounds of their spans;
    the first exact query makes them, or `save`. Otherwise items are refined in the order of their bounds, until the next bound
    proves that no other item is among the nearest. Distances are exact whatever the algorithm; ties go to the smallest id.

    Parameters
    ----------
    semimetric : Semimetric, fitted learner, "gower" or "l1"
        Under a `DistanceApproximator` with ``features=`` the index takes the objects themselves, as items and as queries.
        A name makes the distance of the items of `fit` by `Semimetric.gower` or `Semimetric.l1`; give
        ``Semimetric.gower(X, ...)`` itself to say more of the columns. Euclidean is no sum over features, so it is refused.
        A learner stays fitted where the index is cloned, as in a grid search: the index does not fit it.
    side : {"query-first", "query-last"}, default "query-first"
        For distances that are not symmetric: d(query, item), or d(item, query).
    algorithm : {"exact", "approximate", "graph", "brute", "merge"}, default "exact"
        What queries use unless they say otherwise. "approximate" refines the ``n_candidates`` items whose cells are
        typically nearest; "graph" walks along the edges of `build_graph`, which `fit` then builds; "brute" computes every
        distance, and reads the rows of joint tables among which the query lies. "merge" computes every distance as Pele &
        Ben-Aliz (2016, section 3) do: it merges the order of the fractions of every item, which `fit` computes, with that of
        the query. It has the answers of "brute", is slower, and a distance without joint groups is refused
        (NotSupportedError). Groups whose rows for a query exceed 65,536 numbers are merged whatever ``algorithm`` says.
        Segments of at most 2,048 eligible items, or 2 n_neighbors, are scanned by brute force unless it says "merge". Exact
        queries go through lists of near items after some 64 of them, if more than 512 items, 8 n_neighbors and a fourth of the
        segment are eligible, and have more than 131,072 values on features with scales.
    n_lists : int or "auto", default "auto"
        Inverted lists that the approximate search chooses from: about sqrt(n) from 200,000 items on. Exact search over single
        features does not use them.
    n_probe : int, default 16
        Lists that the approximate search visits.
    n_candidates : int or None
        Candidates that the approximate search or a walk along the graph refines, and that ``rerank`` sorts; None is the
        larger of 100 and 10 n_neighbors.
    storage : {"float64", "uint16"}, default "float64"
        Type in which the positions of the items between knots are stored. "uint16" takes a quarter of the bytes of "float64":
        an error bound says for which items alone the values themselves are read, and answers are the same to the bit. Items
        that nobody can write to, as an array of ``np.load(..., mmap_mode="r")``, are then not copied, and stay in their file.
    rerank : callable or None
        An expensive distance, of two vectors or of two batches, that ``semimetric`` approximates: the ``n_candidates``
        nearest are sorted by it, and its values are returned. Of objects it takes two, and the index must be given the model
        that encodes them. `FilterRefineIndex` calls it until they are proved.
    n_jobs : int or None
        Threads; None is one, -1 all.
    random_state : int or None, default 0
        Of the sample that places the cells.
    verbose : bool or None, default None
        Progress bars of batches and of graphs: None shows them at terminals and in notebooks for work of more than some two
        seconds, True always, False never.

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
    >>> distances, ids = sm.NeighborIndex(sm.Semimetric.l1(X)).fit(X).kneighbors(X[:2], n_neighbors=1)
    >>> ids.ravel()
    array([0, 1])
    """

    layout_: CellLayout
    segments_: list[Segment]
    n_features_in_: int
    _view: QueryView
    _encode: Callable[[Any], Floats] | None = None  # what makes the items, and queries, of objects

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
        verbose: bool | None = None,
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

    def stored_parameters(self) -> dict[str, Any]:
        """Return the parameters of an index that is itself a parameter of a saved model, with a learner as its distance."""
        return self.get_params(deep=False) | {"semimetric": getattr(self.semimetric, "semimetric_", self.semimetric)}

    def fit(self, X: ArrayLike, y: Any = None, *, ids: ArrayLike | None = None, payload: Any = None) -> Self:
        """Index the rows of X; what fails or is interrupted leaves the index as it was, here and in `add` and `remove`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features), n >= 1, or frame
            Items as the distance takes them; float32 is kept as it is, and what is sparse becomes dense, up to 2 GB: `add`
            takes more, part by part. Under a model with ``features=``: a sequence of n objects, which are kept and not copied.
        y : ignored
        ids : array-like of shape (n,) or None
            Distinct 64-bit integers or strings (else an InputError is raised); row numbers by default.
        payload : frame or dict of columns, with n rows, or None
            Columns that the distance does not read, for conditions ``where=``: numbers, text, truth values, dates and times,
            with gaps. Their names are not those of columns of the distance. Whole numbers are below 2^53, and times are kept
            to the microsecond. They are saved and mapped with the index, and `get_payload` returns them.
        """
        self._check_parameters()
        other = copy(self)
        other._encode = encoder_of(self.semimetric)
        view = QueryView(searched_distance(self.semimetric, X), self.side)
        if other._encode is None:
            refuse_encoded(view.semimetric, self.rerank)
        items = other._read(X, view.semimetric, reset=True)
        n = len(items)
        given = np.arange(n) if ids is None else check_ids(ids, n)
        if hasattr(X, "iloc"):
            check_same_rows(payload, row_labels(X, n), "payload", "X")
        if ids is not None:
            check_same_rows(payload, given, "payload", "ids")
        beside = None if payload is None else Payload.read(payload, n, other._column_names(view.semimetric))
        other.fit_encoded(view, items.rows, given, objects=items.objects, payload=beside)
        self.__dict__ = other.__dict__  # in one step, so that no signal comes between
        return self

    def fit_encoded(self, view: QueryView, items: NDArray[Any], ids: NDArray[Any], **beside: Any) -> Self:
        """Index items (n, n_features) that are encoded already, with their checked ids (n,), and what is beside them."""
        if self.algorithm == "merge":
            view.check_merging()
        layout = CellLayout.fit(view, items, self.random_state)
        self._set(view, layout, [self._build(view, layout, ids, items, **beside)])
        return self.build_graph() if self.algorithm == "graph" else self

    def _build(self, view: QueryView, layout: CellLayout, ids: NDArray[Any], items: NDArray[Any], **beside: Any) -> Segment:
        options: dict[str, Any] = {"n_lists": self.n_lists, "seed": self.random_state, "storage": self.storage}
        return Segment.build(view, layout, ids, items, n_jobs=self.n_jobs, **options, **beside)

    def _set(self, view: QueryView, layout: CellLayout, segments: list[Segment]) -> Self:
        self._view = view
        self.layout_ = layout
        self.segments_ = segments
        return self

    def _check_parameters(self) -> None:
        check_choice("algorithm", self.algorithm, ALGORITHMS)
        check_choice("storage", self.storage, STORAGES)
        if self.n_lists != "auto":
            check_count("n_lists", self.n_lists)
        check_count("n_probe", self.n_probe)
        if self.n_candidates is not None:
            check_count("n_candidates", self.n_candidates)
        check_n_jobs(self.n_jobs)

    def with_semimetric(self, semimetric: Semimetric | BaseEstimator) -> Self:
        """Put the same items and codes under a distance learned again on the same grid, groups and directions (or an error)."""
        check_is_fitted(self)
        semimetric = searched_distance(semimetric)
        other = type(self)(**(self.get_params(deep=False) | {"semimetric": semimetric}))
        view = QueryView(semimetric, self.side)
        if not view.same_cells(self._view):
            raise InputError("the distance has another grid, other groups or directions; fit a new NeighborIndex with it")
        other.n_features_in_, other._encode = self.n_features_in_, self._encode
        if hasattr(self, "feature_names_in_"):
            other.feature_names_in_ = self.feature_names_in_
        if (payload := self.segments_[0].payload) is not None:
            check_names(payload.names, other._column_names(semimetric))
        return other._set(view, self.layout_, [s.under(view) for s in self.segments_])

    def kneighbors(
        self,
        X: ArrayLike | None = None,
        n_neighbors: int = 5,
        return_distance: bool = True,
        *,
        algorithm: str | None = None,
        n_candidates: int | None = None,
        where: ArrayLike | Iterable | None = None,
        by: str | Sequence[str] | Mapping[str, ArrayLike] | None = None,
    ) -> Any:
        """Find the nearest items of every query.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), sequence of objects where `fit` was given such, or None
            None: every item, which is then not its own neighbour.
        n_neighbors : int
            1 to the number of items.
        return_distance : bool
        algorithm, n_candidates : as in the class, for this call
        where : str, boolean mask over `ids_`, or list of ids; None
            The eligible items, which answers are chosen from. Either a condition on features and columns of the payload holds
            for them, such as ``'alcohol > 13 and (hue < 1 or origin in ("France", "Italy"))'``, or they have these ids. Ids
            that are not in the index are ignored. Columns of times are compared with ``2024-01-31`` or ``2024-01-31T08:30``, in
            UTC if they have a time zone, and then also with ``2024-01-31T08:30+01:00``; an hour of the day, or a day of the
            week or year, is a number. Columns of truth values may stand alone: ``vip & stock > 0``. A missing text is ``""``,
            and nothing but ``price.isna()`` holds of a missing number, truth value or time.
        by : str, list of str, dict of columns with n_queries values, or None
            Only items that equal the query in all of these columns answer it. They are columns of the payload or features, by
            name. The values of the queries are in columns of the frame X, where payload stands beside the features, or in
            the dict: ``by={"shop": shops}``. Items as queries, without X, have their own. As in SQL, what is missing equals
            nothing: NaN, None, "", or a category that the distance does not know. An InputError refuses columns that are not
            there, or of another kind than those of the items.

        Returns
        -------
        distances : ndarray of shape (n_queries, k), increasing
            Only if ``return_distance``. With ``by`` they are infinite after the last item of the group of a query.
        ids : ndarray of shape (n_queries, k)
            k is the smaller of n_neighbors and the number of eligible items, less one without X. At infinite distances ids
            are -1, or "" if they are strings.

        Examples
        --------
        >>> import numpy as np, semimetric as sm
        >>> X, shops = np.array([[0.0], [1.0], [2.0], [9.0]]), {"shop": ["a", "b", "a", "b"]}
        >>> distances, ids = sm.NeighborIndex("l1").fit(X, payload=shops).kneighbors([[3.0]], 3, by={"shop": ["b"]})
        >>> ids, distances
        (array([[ 1,  3, -1]]), array([[ 2.,  6., inf]]))
        """
        found = self.search(X, n_neighbors, algorithm=algorithm, n_candidates=n_candidates, where=where, by=by)
        return (found.distances, found.ids) if return_distance else found.ids

    def search(self, X: ArrayLike | None = None, n_neighbors: int = 5, *, by: Any = None, **options: Any) -> Neighbors:
        """Answer as `kneighbors`, with a report: items refined, and queries whose first items were the nearest."""
        queries, keys = self.queries_with_keys(X, by)
        return self._search(queries, n_neighbors, exclude=self.ids_ if X is None else None, by=keys, **options)

    def search_encoded(self, queries: NDArray[Any], n_neighbors: int, **options: Any) -> Neighbors:
        """Answer queries (n_queries, n_features) that are encoded already, as `search` does, with its options.

        ``exclude`` (n_queries,) names an item for each query that is not answered, as the query itself; ``n_probe`` is
        that of the class, for this call; ``by`` are keys of `queries_with_keys`.
        """
        return self._search(Queries(queries), n_neighbors, **options)

    def within_encoded(
        self, queries: NDArray[Any], radius: float, *, where: ArrayLike | Iterable | None = None, by: Keys | None = None,
        exclude: NDArray[Any] | None = None, verbose: bool | None = None,
    ) -> list[tuple[Floats, NDArray[Any]]]:  # fmt: skip
        """Return distances and ids of the items within ``radius`` of encoded queries, see `radius_neighbors`, nearest first.

        ``by`` and ``exclude`` are as in `search_encoded`.
        """
        check_radius(radius, self._view.least)
        found = self._grouped(self._items(where), by).within(queries, radius, n_jobs=self.n_jobs, verbose=verbose)
        if exclude is None:
            return found
        return [(d[ids != own], ids[ids != own]) for (d, ids), own in zip(found, exclude, strict=True)]

    def queries_with_keys(self, X: Any, by: Any = None) -> tuple[Queries, Keys | None]:
        """Return encoded queries, and their keys, which ``by`` of `kneighbors` says; None without it."""
        check_is_fitted(self)
        if by is None:
            return self._queries(X), None
        columns = self._columns
        names = names_of(by, columns)
        queries = self._queries(X if X is None or self._encode is not None else beside_features(X, names, columns))
        return queries, read_keys(by, X, queries.rows, columns)

    def _search(
        self,
        queries: Queries,
        n_neighbors: int,
        *,
        exclude: NDArray[Any] | None = None,
        algorithm: str | None = None,
        n_candidates: int | None = None,
        n_probe: int | None = None,
        where: ArrayLike | Iterable | None = None,
        by: Keys | None = None,
        verbose: bool | None = None,
    ) -> Neighbors:
        if queries.objects is None:
            refuse_encoded(self.semimetric_, self.rerank)
        items, n_own = self._items(where), int(exclude is not None)
        verbose = self.verbose if verbose is None else verbose
        algorithm = self.algorithm if algorithm is None else algorithm
        k = check_neighbors(algorithm, n_neighbors, self.n_samples_fit_ - n_own)
        candidates = candidate_count(self.n_candidates if n_candidates is None else n_candidates, k)
        wanted = min((candidates if self.rerank is not None else k) + n_own, items.n_eligible)
        if not wanted:
            return no_neighbors(len(queries), self.segments_[0].ids.dtype)
        n_probe = check_count("n_probe", self.n_probe if n_probe is None else n_probe)
        request = SearchRequest(wanted, algorithm, candidates + n_own, n_probe)
        found = self._grouped(items, by).nearest(queries.rows, request, n_jobs=self.n_jobs, verbose=verbose)
        if exclude is not None:
            found = without_own(found, exclude)
        if self.rerank is None:
            return found
        return items.reranked(queries, found, self.rerank, k, n_jobs=self.n_jobs, verbose=verbose)

    def radius_neighbors(
        self,
        X: ArrayLike | None = None,
        radius: float = 1.0,
        return_distance: bool = True,
        *,
        where: ArrayLike | Iterable | None = None,
        by: str | Sequence[str] | Mapping[str, ArrayLike] | None = None,
    ) -> Any:
        """Find all items within ``radius`` of every query, nearest first; exact.

        Distances and ids are object arrays of shape (n_queries,), one array a query; ids alone if not ``return_distance``.
        ``where`` and ``by`` are as in `kneighbors`.
        """
        queries, keys = self.queries_with_keys(X, by)
        own = self.ids_ if X is None else None
        found = self.within_encoded(queries.rows, radius, where=where, by=keys, exclude=own, verbose=self.verbose)
        ids = as_objects([ids for _, ids in found])
        return (as_objects([distances for distances, _ in found]), ids) if return_distance else ids

    def kneighbors_graph(
        self, X: ArrayLike | None = None, n_neighbors: int = 5, mode: str = "connectivity", **options: Any
    ) -> sparse.csr_matrix:
        """Return `kneighbors` as a sparse matrix (n_queries, n_samples_fit_) of ones, or of distances.

        ``mode`` is "connectivity" or "distance", and options are those of `kneighbors`; columns are in the order of `ids_`.
        """
        check_choice("mode", mode, ("connectivity", "distance"))
        distances, ids, *_ = self.search(X, n_neighbors, **options)
        values = distances if mode == "distance" else np.ones(ids.shape)
        return as_graph(values, ids, self.ids_, np.isfinite(distances))

    def estimate_recall(
        self, X: ArrayLike, n_neighbors: int = 10, *, max_queries: int = 200, n_candidates: int | None = None, where: Any = None
    ) -> Recall:
        """Measure the fraction of the exact answer that the approximate search, or that by a graph, finds.

        At most ``max_queries`` rows of X are asked, drawn at random. A neighbour counts if its distance is at most that of the
        true k-th, so ties count. Without queries, or without eligible items, an InputError is raised.
        """
        queries = self._queries(X)
        if len(queries) > check_count("max_queries", max_queries):
            rng = np.random.default_rng(self.random_state)
            queries = queries.take(np.sort(rng.choice(len(queries), max_queries, replace=False)))
        true = self._search(queries, n_neighbors, algorithm="exact", where=where)
        if not true.distances.size:
            raise InputError(f"there are {len(queries)} queries and no neighbours to find; give items that where= may answer")
        algorithm = "graph" if self.algorithm == "graph" else "approximate"
        got = self._search(queries, n_neighbors, algorithm=algorithm, n_candidates=n_candidates, where=where)
        return Recall.of(true.distances, got.distances)

    def searcher(
        self, k: int = 5, *, algorithm: str | None = None, n_candidates: int | None = None, where: Any = None,
        by: str | Sequence[str] | None = None, n_jobs: int | None = None,
    ) -> Searcher:  # fmt: skip
        """Make a function of queries that answers their ``k`` nearest, for services that ask one query after another.

        Parameters
        ----------
        k : int, default 5
        algorithm, n_candidates, where : as in `kneighbors`
            The items that ``where`` names are looked up once; without any, or fewer than k items, an InputError is raised.
        by : str, list of str, or None
            Columns in which answers equal their query, as in `kneighbors`. Items are grouped once. The values of a query stand
            beside its features, or are given with it: ``nearest(x, by={"shop": ["b"]})``.
        n_jobs : int or None
            Threads of batches; None is ``n_jobs`` of the index.

        Returns
        -------
        Searcher
            Called with one query, of shape (n_features,), or several, (n_queries, n_features), it gives distances and ids;
            of objects it takes a sequence.
            An index with ``rerank``, which is asked item by item, has none (NotSupportedError).

        Examples
        --------
        >>> import numpy as np, semimetric as sm
        >>> X = np.random.default_rng(0).random((100, 2))
        >>> nearest = sm.NeighborIndex("l1").fit(X).searcher(k=2)
        >>> distances, ids = nearest(X[7])
        >>> int(ids[0]), float(distances[0])
        (7, 0.0)
        """
        check_is_fitted(self)
        if self.rerank is not None:
            raise NotSupportedError("a searcher does not call rerank=; use kneighbors, or an index without it")
        algorithm = self.algorithm if algorithm is None else algorithm
        wanted = check_neighbors(algorithm, k, self.n_samples_fit_)
        check_n_jobs(n_jobs)
        items = self._items(where)
        if not items.n_eligible:
            raise InputError(f"where={where!r} leaves no item that may be answered; give a condition that some items fulfil")
        candidates = candidate_count(self.n_candidates if n_candidates is None else n_candidates, wanted)
        request = SearchRequest(min(wanted, items.n_eligible), algorithm, candidates, self.n_probe)
        jobs, columns = self.n_jobs if n_jobs is None else n_jobs, getattr(self, "feature_names_in_", None)
        groups = None if by is None else KeyedItems.of(items, names_of(by, self._columns), self._columns)
        return Searcher(self.encode, items, request, jobs, self._encode is not None, columns, groups)

    def tune(self, X: ArrayLike, *, recall: float = 0.95, n_neighbors: int = 10, max_queries: int = 1000) -> Tuning:
        """Choose the fastest search that is sure to find a share of the true neighbours of such queries; use it from now on.

        Sets ``algorithm``, ``n_probe`` and ``n_candidates``, which are saved with the index. It tries every power of 2 of
        inverted lists up to all of them, and the graph, where there is one. One third of the queries chooses among them. The
        others test numbers of candidates of the chosen one, from many to few, until a lower bound of the mean recall falls
        below what was asked. The bound is one-sided and holds with 95 % confidence for any distribution of recalls
        (Waudby-Smith & Ramdas 2024); the order of the tests is fixed before, so that their number costs no confidence.

        Where no search passes, search is exact, and a `SemimetricWarning` says what that costs and how many queries could
        show more. It is exact too where that takes no longer. An interrupted call leaves the index as it was. The result is
        printed as a table of what was tried, with the bound; times depend on the machine.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), n_queries >= 20
            Queries such as those to come; not the items themselves, whose nearest is at distance 0. To promise .95 takes
            about 150 of them, to promise .99 about 700, and more let faster searches pass.
        recall : float, default 0.95
            The mean share of the ``n_neighbors`` nearest to find: above 0 and up to 1.
        n_neighbors : int, default 10
        max_queries : int, default 1000
            If there are more queries, so many are drawn.
        """
        check_is_fitted(self)
        n_lists = max(1 if s.lists is None else len(s.lists.codes) for s in self.segments_)
        tuning = tune(
            self._search, self._queries(X), recall=recall, n_neighbors=n_neighbors, max_queries=max_queries,
            n_lists=n_lists, has_graph=self._has_graph(), n_items=self.n_samples_fit_, n_probe=self.n_probe,
            seed=self.random_state, verbose=self.verbose,
        )  # fmt: skip
        self.algorithm = tuning.chosen.algorithm
        if self.algorithm != "exact":
            self.n_probe = tuning.chosen.n_probe
            self.n_candidates = tuning.chosen.n_candidates
        return tuning

    def explain(
        self, x: ArrayLike, ids: ArrayLike | None = None, n_neighbors: int = 5, *, by: str = "features", where: Any = None
    ) -> Explanation:
        """Explain why items are near a query: what every feature adds to their distances, beside the values of both.

        Parameters
        ----------
        x : array-like of shape (n_features,), series of pandas, table of one row, or an object where `fit` was given such
        ids : an id, array-like of ids, or None
            The items to explain; None is for the nearest.
        n_neighbors : int, default 5
            The number of nearest items.
        by : {"features", "terms"}, default "features"
            See `Semimetric.contributions`.
        where : str, boolean mask over `ids_`, or ids; None
            The items among which the nearest are looked for, as in `kneighbors`; not beside ``ids`` (InputError).
        """
        check_is_fitted(self)
        if ids is not None and where is not None:
            raise InputError("ids= names the items to explain, and where= chooses among the nearest; give one of the two")
        d = self.semimetric_
        if self._encode is not None:
            query, label = self._queries([x]), None
        elif isinstance(x, str):
            raise InputError(f"x={x!r} is no item; for that of an id of the index give index.get_items([{x!r}])")
        else:
            row, label = single_row(x, d.schema)
            query = Queries(row)
        if ids is None:
            known = self._search(query, n_neighbors, where=where).ids[0]
        else:
            known = known_ids(ids, self.ids_)
        if not len(known):
            raise InputError("there is no item to explain; give ids of items, or a condition where= that some items fulfil")
        items = self._items().vectors(known).astype(np.float64)
        return d.explanation(query.rows, items, by=by, flip=self._view.side == "query-last", indices=known, label=label)

    def explain_graph(self, graph: Any, X: ArrayLike | None = None, *, by: str = "features") -> Any:
        """Explain every edge of a graph between items, such as one of neighbours: what each feature adds to its distance.

        Graphs are what pictures and groups are made from (UMAP, t-SNE, HDBSCAN, DBSCAN). The mean of a column over the edges of
        a group is how much that feature holds it together.

        Parameters
        ----------
        graph : sparse matrix of shape (n_rows, n_items)
            Every stored entry is an edge, whatever its value: `kneighbors_graph`, ``umap.UMAP().fit(...).graph_``, a minimum
            spanning tree. Columns are the items in the order of `ids_`.
        X : array-like of shape (n_rows, n_features), frame, or None
            The rows of the graph, where they are not the items themselves, whose edges to themselves are left out.
        by : {"features", "terms"}, default "features"
            See `Semimetric.contributions`.

        Returns
        -------
        DataFrame with a row for each edge, in the order in which the graph stores them
            "from" (an id, or the label or number of a row of X), "to" (an id), "distance", and what each feature adds to the
            sum before the link, in a column of its name. A graph of another kind or shape raises an InputError.

        Examples
        --------
        >>> import semimetric as sm
        >>> index = sm.NeighborIndex("l1").fit([[0.0, 0.0], [1.0, 0.0], [1.0, 3.0]])
        >>> index.explain_graph(index.kneighbors_graph(n_neighbors=1))
           from  to  distance   x0   x1
        0     0   1       1.0  1.0  0.0
        1     1   0       1.0  1.0  0.0
        2     2   1       3.0  0.0  3.0
        """
        check_is_fitted(self)
        X = X if X is None or self._encode is None else self.encode(X)
        return explain_edges(self._items(), self.ids_, graph, X, by=by, n_jobs=self.n_jobs)

    def explain_encoded(
        self, queries: NDArray[Any], rows: NDArray[Any], ids: NDArray[Any], *, by: str = "features"
    ) -> tuple[Floats, Floats]:
        """Return distances (n,), and what each part adds (n, n_parts), between encoded queries and items.

        Pair by pair they are of the queries ``rows`` (n,), and of the items ``ids`` (n,); ``by`` is as in `explain`.
        """
        return explained_pairs(self._items(), queries.astype(np.float64), rows, ids, by=by, n_jobs=self.n_jobs)

    @property
    def semimetric_(self) -> Semimetric:
        """The distance that is searched under."""
        return self._view.semimetric

    def __len__(self) -> int:
        return self.n_samples_fit_ if hasattr(self, "segments_") else 0

    def __bool__(self) -> bool:
        return True  # an estimator is one, even without items

    def __contains__(self, id: object) -> bool:
        check_is_fitted(self)
        kind = str if self.segments_[0].ids.dtype.kind == "U" else (int, np.integer)
        if not isinstance(id, kind) or isinstance(id, bool):
            return False
        return any(bool((s.alive & (s.ids == id)).any()) for s in self.segments_)

    @property
    def n_samples_fit_(self) -> int:
        """Number of items that have not been removed."""
        return sum(s.n_alive for s in self.segments_)

    @property
    def ids_(self) -> NDArray[Any]:
        """Ids of the items that have not been removed, shape (n_samples_fit_,)."""
        return np.concatenate([s.ids[s.alive] for s in self.segments_])

    def get_items(self, ids: ArrayLike, *, as_frame: bool = False) -> Any:
        """Return the items of these ids (n, n_features), or (n_features,) of one id, exactly as they were given.

        With ``as_frame`` they are a frame of pandas, which has the ids as its index, and columns of numbers, truth values,
        times and categories. Columns that the distance leaves out are not stored.

        Objects are a list, or the object of one id; a loaded index has none, and returns their features. Categories are words,
        angles lie within their period, and times on a scale are `datetime` objects; with categories, periods or missing values
        the array holds objects. A category that the distance does not know is "(other)", which it takes for one again. An
        unknown id raises an InputError.
        """
        check_is_fitted(self)
        schema, items, known = self.semimetric_.schema, self._items(), known_ids(ids, self.ids_)
        if items.holds_objects and not as_frame:
            found = items.objects(known).tolist()
        else:
            found = schema.display(items.vectors(known))
        if as_frame:
            return schema.frame(found, known)
        return found[0] if np.ndim(ids) == 0 and not isinstance(ids, (set, frozenset)) else found

    def encode(self, X: ArrayLike) -> NDArray[Any]:
        """Encode rows, or objects, as the distance reads them, for `search_encoded`: shape (n_rows, n_features)."""
        check_is_fitted(self)
        return self._read(X, self.semimetric_).rows

    def get_payload(self, ids: ArrayLike) -> Any:
        """Return the payload of these ids, or of one, as a frame of pandas with the ids as its index.

        An unknown id raises an InputError, as does an index without payload.
        """
        check_is_fitted(self)
        return payload_frame(ids, self._parts)

    @property
    def payload_(self) -> Payload | None:
        """The payload of the items, in the order of `ids_`; None if `fit` was given none."""
        return self._items().payload

    @property
    def encoded_items_(self) -> NDArray[Any]:
        """Items as `encode` gives them, in the order of `ids_`, shape (n_samples_fit_, n_features_in_)."""
        return np.concatenate([s.points.raw[s.alive] for s in self.segments_])

    def _read(self, X: Any, d: Semimetric, *, reset: bool = False) -> Queries:
        if self._encode is None:
            try:
                return Queries(self._encoded(X, d, reset=reset))
            except ValueError as error:
                if not d.schema.encoded:
                    raise
                raise InputError(
                    f"{error}. The features are those that a model makes of objects: give the fitted model in place of its "
                    "semimetric_, and the index takes the objects; or give model.encode(objects), as to a loaded index, which "
                    "holds features alone"
                ) from error
        objects = objects_to_encode(X, d)
        if reset:
            self.n_features_in_ = d.n_features
            self.__dict__.pop("feature_names_in_", None)  # of an earlier fit
        return Queries(d.schema.encode(self._encode(objects)), as_objects(objects))

    def _encoded(self, X: ArrayLike, d: Semimetric, *, reset: bool = False) -> NDArray[Any]:
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

    def _queries(self, X: Any) -> Queries:
        check_is_fitted(self)
        if X is not None:
            return self._read(X, self.semimetric_)
        items = self._items()
        return Queries(self.encoded_items_, items.objects(self.ids_) if items.holds_objects else None)

    def _items(self, where: ArrayLike | Iterable | None = None) -> SegmentedItems:
        return SegmentedItems(self._view, self.segments_, eligible_masks(where, self._columns, self.segments_))

    def grouped(self, by: Keys | None) -> SegmentedItems | GroupedItems:
        """Return all items for queries with these keys, see `queries_with_keys`; without keys they are in no groups."""
        return self._grouped(SegmentedItems.all_of(self.segments_), by)

    def _grouped(self, items: SegmentedItems, by: Keys | None) -> SegmentedItems | GroupedItems:
        return items if by is None else KeyedItems.of(items, by.names, self._columns).asked(by)

    @property
    def _columns(self) -> ItemColumns:
        d = self._view.semimetric
        return ItemColumns(self._column_names(d), d.schema, self._parts)

    @property
    def _parts(self) -> list[ItemRows]:
        return [ItemRows(s.points.raw, s.ids, s.alive, s.payload) for s in self.segments_]

    def _column_names(self, d: Semimetric) -> tuple[str, ...]:
        return tuple(getattr(self, "feature_names_in_", d.feature_names))

    def add(self, X: ArrayLike, ids: ArrayLike | None = None, *, payload: Any = None) -> Self:
        """Add the rows of X, (n, n_features).

        New ids are of the kind of those that are there, else an InputError is raised; None numbers on from the largest integer.
        ``payload`` has the columns and kinds of that of `fit`, and is required if `fit` had one.
        """
        new, segments = self._queries(X), list(self.segments_)
        items, objects, given = new.rows, new.objects, new_ids(ids, len(new), self.ids_)
        if hasattr(X, "iloc"):
            check_same_rows(payload, row_labels(X, len(new)), "payload", "X")
        if ids is not None:
            check_same_rows(payload, given, "payload", "ids")
        beside = Payload.added(payload, len(new), segments[0].payload)
        # Segments at the end join the new items if they are small, or not twice as large as these.
        while segments and len(segments[-1]) < max(2 * len(given), _TAIL):
            last = segments.pop()
            given = np.concatenate([last.ids[last.alive], given])
            items = np.concatenate([last.points.raw[last.alive], items])
            if last.objects is not None and objects is not None:
                objects = np.concatenate([last.objects[last.alive], objects])
            if last.payload is not None and beside is not None:
                beside = Payload.joined([last.payload.take(last.alive), beside])
        first = self.segments_[0]
        segments.append(self._build(first.view, first.cells.layout, given, items, objects=objects, payload=beside))
        self.segments_ = self._with_graphs(segments) if self._has_graph() else segments
        return self

    def remove(self, ids: ArrayLike) -> Self:
        """Remove items by id; if one is not in the index, it is an error and nothing is removed."""
        check_is_fitted(self)
        removed = ids_to_remove(ids, self.ids_)
        rest = [self._without(segment, removed) for segment in self.segments_]
        segments = [segment for segment in rest if segment.n_alive] or rest[:1]
        self.segments_ = self._with_graphs(segments) if self._has_graph() else segments
        return self

    def _without(self, segment: Segment, removed: NDArray[Any]) -> Segment:
        alive = segment.alive & ~np.isin(segment.ids, removed)
        n = int(alive.sum())
        if n == segment.n_alive:
            return segment
        if 0 < n < (1 - _REMOVED) * len(segment):
            objects = None if segment.objects is None else segment.objects[alive]
            payload = None if segment.payload is None else Payload.joined([segment.payload.take(alive)])
            parts = segment.ids[alive], segment.points.raw[alive]
            return self._build(segment.view, segment.cells.layout, *parts, objects=objects, payload=payload)
        return segment.with_alive(alive)

    def build_graph(self) -> Self:
        """Build the graph that ``algorithm="graph"`` walks along; `fit` does so where that is the algorithm of the index.

        Every item gets edges to at most 32 others, and edges back. They lead to those of its 32 nearest that no nearer one
        occludes (Malkov & Yashunin 2020; Subramanya et al. 2019, with a factor 1.1). The nearest are those of the smallest
        bounds in the 24 lists that are nearest to the item. Then the items that a walk does not find get edges from where it
        ended. A walk reads values from tables of 128 levels of each feature, and the ``n_candidates`` nearest items, which it
        keeps, are refined by exact distances. Up to 8,192 items are scanned instead, and so are more of them where ``where=``
        leaves less than half.

        Items that are added later are scanned until there are more than 8,192 of them, which then get a graph of their own.
        With `with_semimetric` the edges stay those of the earlier distance: build the graph again if the recall is too low. It
        takes 137 bytes an item, and 1.07 for each feature. The graph is saved with the index. A call that is interrupted
        leaves the index as it was. A distance with joint groups or base distances, or without tables, is not supported.

        Examples
        --------
        >>> import numpy as np, semimetric as sm
        >>> X = np.random.default_rng(0).random((10_000, 2))
        >>> index = sm.NeighborIndex("l1").fit(X).build_graph()
        >>> index.kneighbors(X[:2], n_neighbors=1, algorithm="graph", return_distance=False).ravel()
        array([0, 1])
        """
        check_is_fitted(self)
        check_walkable(self._view)
        self.segments_ = self._with_graphs([segment.with_graph(None) for segment in self.segments_])
        return self

    def _has_graph(self) -> bool:
        return any(segment.graph is not None for segment in self.segments_)

    def _with_graphs(self, segments: Sequence[Segment]) -> list[Segment]:
        """Add a graph to each large segment that has none."""
        without = [s.graph is None and len(s) > GRAPH_FROM for s in segments]
        total = 2 * sum(len(s) for s, lacks in zip(segments, without, strict=True) if lacks)
        out = list(segments)
        with progress_bar(total, "graph", verbose=self.verbose) as bar:
            for k, segment in enumerate(segments):
                if without[k]:
                    graph = build_graph(segment, n_jobs=self.n_jobs, seed=self.random_state, done=bar.update)
                    out[k] = segment.with_graph(graph)
        return out

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the index holds for its items: what `memory_usage` says, without what is mapped from files."""
        return sum(n for name, n in self.memory_usage().items() if name != "mapped")

    def memory_usage(self) -> dict[str, int]:
        """Count the bytes that the index holds for its items, by what they are for; tables of the distance do not count.

        "items" are the encoded items, "positions" their positions on the knots, "joint" those of features in joint groups;
        "codes" are the cells of the items, and the boxes of joint groups, once a query has made them. The first query that
        scans makes cells into "faiss": codes in FAISS's layout, with row numbers; the first exact one over single features, or
        `save`, makes lists of near items, whose bins and row numbers are among the "codes". "ids" are the ids and their order,
        "alive" says which items are not removed, "lists" the list of every item, "graph" edges and levels, and "payload" its
        columns.
        "groups" are the orders of the items by columns that searches have named in ``by=``, of the last four choices.
        "mapped" are all arrays that lie in files mapped into memory: they are in no other number, and the system may drop their
        pages at any time.

        Examples
        --------
        >>> import numpy as np, semimetric as sm
        >>> usage = sm.NeighborIndex("l1").fit(np.random.default_rng(0).random((100, 2))).memory_usage()
        >>> usage["items"], usage["ids"], usage["mapped"]
        (1600, 800, 0)
        """
        check_is_fitted(self)
        usage = dict.fromkeys(_USES, 0)
        for name, array in (found for segment in self.segments_ for found in segment.arrays()):
            usage["mapped" if is_mapped(array) else name] += array.nbytes
        usage["faiss"] = sum(scan.nbytes for segment in self.segments_ for scan in segment.scans)
        return usage

    def save(self, path: str | os.PathLike[str], *, key: bytes | None = None) -> None:
        """Write the index to a folder; `semimetric.load` reads it. With ``key`` it is signed, see ``docs/files.md``.

        Saved again after `add` or `remove`, only what is new is written, and the old index stays whole until then. Lists of
        near items, and boxes of joint groups, are saved too, so that a loaded index answers at once; those of more than 2,048
        items are made now if no query has made them. The callable ``rerank`` is not saved: give it again by ``set_params``.
        Objects and the model that encodes them are not saved either: a loaded index takes ``model.encode(objects)``, and no
        ``rerank``.
        """
        check_is_fitted(self)
        names, values = getattr(self, "feature_names_in_", None), self.parameter_values
        values["n_features_in"] = self.n_features_in_
        values["feature_names_in"] = None if names is None else list(names)
        write_segments(path, self._view.semimetric, self.segments_, values, key=key)

    @property
    def parameter_values(self) -> dict[str, Any]:
        """The parameters that a file keeps, as values that JSON can hold: all but the distance and ``rerank``."""
        given = {name: getattr(self, name) for name in _SAVED} | {"side": self._view.side}
        return {name: v.item() if isinstance(v, np.generic) else v for name, v in given.items()}

    @classmethod
    def of_values(cls, semimetric: Semimetric, side: str, values: Members) -> Self:
        """Make an index without items, of the `parameter_values` of another, which are checked."""
        whole = (int, type(None))
        other = cls(
            semimetric, side=side, algorithm=values.text("algorithm"), n_lists=values.typed("n_lists", (int, str)),
            n_probe=values.whole("n_probe"), n_candidates=values.typed("n_candidates", whole),
            storage=storage_of(values),
            n_jobs=values.typed("n_jobs", whole), random_state=values.seed("random_state"),
            verbose=values.typed("verbose", (bool, int, type(None))),
        )  # fmt: skip
        other._check_parameters()
        return other

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, mmap: bool, base_distances: Sequence[object], key: bytes | None = None
    ) -> Self:
        """Read the index that `save` wrote; `semimetric.load` calls this."""
        semimetric, segments, values = read_whole(
            Path(path) / FILE, lambda: read_segments(path, mmap=mmap, base_distances=base_distances, key=key)
        )
        view = segments[0].view
        with located(path), refused_as_stored("the index"):
            other = cls.of_values(semimetric, view.side, values)
            n, names = values.whole("n_features_in"), values.any("feature_names_in")
            if names is not None:
                other.feature_names_in_ = np.array(Members({"names": names}).list_of("names", str), dtype=object)
            if n != semimetric.n_features or (names is not None and len(names) != n):
                raise StorageError(
                    f"there are {n} features, or names of others; {semimetric.n_features} are required: restore it"
                )
            values.done()
        other.n_features_in_ = n
        if (payload := segments[0].payload) is not None:
            with located(path), refused_as_stored("the index"):
                check_names(payload.names, other._column_names(semimetric))
        return other._set(view, segments[0].cells.layout, segments)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def explain_edges(
    items: SegmentedItems, ids: NDArray[Any], graph: Any, X: ArrayLike | None, *, by: str, n_jobs: int | None
) -> Any:
    """Explain edges between X, or the items themselves, and items of these ids: see `NeighborIndex.explain_graph`."""
    d = items.view.semimetric
    queries = None if X is None else d.schema.encode(d.schema.rows(X, "X"), name="X")
    rows, columns = _edges(graph, (len(ids) if queries is None else len(queries), len(ids)), itself=queries is not None)
    if queries is None:
        starts, rows_of = np.unique(rows, return_inverse=True)
        queries = items.vectors(ids[starts]).astype(np.float64)
        labels = ids[rows]
    else:
        rows_of, labels = rows, row_labels(X, len(queries))[rows]
    names = distinct(("from", "to", "distance", *d.contribution_names(by)))
    distances, parts = explained_pairs(items, queries, rows_of, ids[columns], by=by, n_jobs=n_jobs)
    values = {"from": labels, "to": ids[columns], "distance": distances}
    return optional("pandas").DataFrame(values | dict(zip(names[3:], parts.T, strict=True)))


def explained_pairs(
    items: SegmentedItems, queries: Floats, rows: NDArray[Any], ids: NDArray[Any], *, by: str, n_jobs: int | None
) -> tuple[Floats, Floats]:
    """Return distances (n,), and their contributions (n, n_parts), of rows of encoded queries (n,) and items of ids (n,)."""
    d, flip = items.view.semimetric, items.view.side == "query-last"
    used, column = np.unique(ids, return_inverse=True)
    ends = items.vectors(used).astype(np.float64)

    def explained(block: slice) -> tuple[Any, Any]:
        return d.explanation_parts(queries[rows[block]], ends[column[block]], by=by, flip=flip)

    nothing = np.empty(0), np.empty((0, len(d.contribution_names(by))))
    found = [nothing, *map_blocks(explained, len(rows), size=_BLOCK, n_jobs=n_jobs)]
    distances, parts = (np.concatenate(blocks) for blocks in zip(*found, strict=True))
    return distances, parts


def _edges(graph: Any, shape: tuple[int, int], *, itself: bool) -> tuple[Any, Any]:
    """Return the rows and the columns of the edges of a graph, as it stores them; without loops unless ``itself``."""
    if not sparse.issparse(graph):
        raise InputError(
            f"graph is a {type(graph).__name__}; a sparse matrix with an entry for each edge is required: give "
            "index.kneighbors_graph(n_neighbors=15), or scipy.sparse.coo_array((values, (rows, columns)), shape) of edges"
        )
    if graph.shape != shape:
        raise InputError(
            f"graph has shape {graph.shape}; {shape} is required, a row for each item (or each row of X) and a column for each "
            "item of the index: give X= if its rows are others, and the index that the graph was made with"
        )
    edges = sparse.coo_array(graph)
    rows, columns = edges.row.astype(np.int64), edges.col.astype(np.int64)
    kept = slice(None) if itself else rows != columns
    return rows[kept], columns[kept]


def searched_distance(given: Any, X: Any = None) -> Semimetric:
    """Return the distance that ``given`` stands for: a distance, a fitted model that has learned one, or a name.

    A named distance is made of the items X. Messages do not print ``given``.
    """
    if isinstance(given, Semimetric):
        return given
    if isinstance(given, str):
        return _made(given, X)
    learned = getattr(given, "semimetric_", None)
    if isinstance(learned, Semimetric):
        return learned
    kind = type(given).__name__
    if hasattr(given, "fit"):
        raise InputError(
            f"semimetric= is a {kind} that has learned no distance yet, as after sklearn.base.clone; fit it first, then "
            "give it or its semimetric_"
        )
    raise InputError(
        f"semimetric= is a {kind}, which is no distance; give a Semimetric, a fitted learner, or "
        f"{' or '.join(map(repr, _MADE))}, which are made of the items"
    )


def refuse_encoded(d: Semimetric, function: Callable[..., Any] | None) -> None:
    """Refuse a function of objects where only their features are at hand."""
    if function is not None and d.schema.encoded:
        raise InputError(
            f"rerank= takes the objects, but here are only the {d.n_features} features that a model made of each, on which it "
            "would return other distances; give the fitted model in place of its semimetric_, and objects in place of "
            "model.encode(objects): NeighborIndex(model, rerank=f) or FilterRefineIndex(model, f), then .fit(objects). "
            "A loaded index holds features alone: fit it again, or search without rerank="
        )


def objects_to_encode(X: Any, d: Semimetric) -> list[Any]:
    """Return the objects that a model is to encode, and refuse an array that may be encoded already."""
    if isinstance(X, np.ndarray) and d.schema.encoded and X.ndim == 2 and X.shape[1] == d.n_features:
        raise InputError(
            f"X is an array of {d.n_features} columns, as many as the features that the model makes of an object; the objects "
            "themselves are required: give them in place of model.encode(objects), and list(X) if these rows are the objects"
        )
    return listed_objects(X)


def encoder_of(given: Any) -> Callable[[Any], Floats] | None:
    """Return the function that makes features of objects for a learned distance, or None; later fits do not change it."""
    if getattr(given, "features", None) is None or not hasattr(given, "encode"):
        return None
    encode: Callable[[Any], Floats] = copy(given).encode
    return encode


def _made(name: str, X: Any) -> Semimetric:
    if name in _L2:
        raise InputError(
            f"semimetric={name!r}: the Euclidean distance is no sum over features, only its square is, so it has no tables to "
            'explain or to search here; use faiss.IndexFlatL2 or sklearn.neighbors.NearestNeighbors, or semimetric="l1"'
        )
    if name not in _MADE:
        hint = "; that is called 'l1' here" if name in _L1 else ""
        raise InputError(
            f"semimetric={name!r} is not known{hint}; use {' or '.join(map(repr, _MADE))}, which are made of the items, a "
            "Semimetric, or a fitted learner"
        )
    if X is None:
        raise InputError(
            f"semimetric={name!r} is made of the items, which are not at hand here; give Semimetric.{name}(X) of items that "
            "show the range of every column"
        )
    try:
        return _MADE[name](X)
    except InputError as error:
        raise type(error)(
            f"{error} (semimetric={name!r} makes Semimetric.{name}(X); to say more of the columns, give that distance itself)"
        ) from error
