"""Clustering by k-medoids under a learned distance, with links between items: pairs that share a cluster, or do not."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse.csgraph import connected_components
from sklearn.base import ClusterMixin, TransformerMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..._foundation.errors import ConvergenceWarning, InputError, NotSupportedError, warn
from ..._foundation.optional_imports import optional
from ..._foundation.progress import progress_bar
from ..._foundation.stored import Stored, StoredIfSet, storable
from ..._foundation.tables import numbered_rows, take_rows
from ..._foundation.threads import blocks
from ..._foundation.types import ArrayLike, Floats, Integers
from ..._foundation.validation import check_count
from ...data.identical_items import identities
from ..learning.settings import Program
from ..model.explanations import Explanation
from ..model.semimetric import Semimetric
from ..search.index import NeighborIndex, searched_distance
from .indexed import IndexEstimator
from .pair_learner import PairLearner

_BLOCK = 4_096  # items whose distances to all medoids are evaluated at a time
_CANDIDATES = 256  # members, those nearest to its medoid, among which the medoid of a larger cluster is searched
_LEAST_GAIN = 1e-9  # of the summed distance: less is rounding, and ends the iterations


@storable
class SemimetricClusterer(ClusterMixin, TransformerMixin, IndexEstimator):
    """k-medoids: clusters of items around items, ``min_M sum_i min_{m in M} d(x_i, x_m)`` over n_clusters medoids M.

    Medoids are found by FasterPAM (Schubert & Rousseeuw 2021, Information Systems 101; package kmedoids). Of more than
    ``sample`` items a sample is searched, as in CLARA, and medoids and labels are then improved in turn on all items. Links
    between items hold exactly: labels are the cheapest that satisfy them, by integer programs where cannot-links bind
    (COP-k-means, Wagstaff et al. 2001, is greedy there). Medoids and labels are improved in turn, up to a local optimum.

    Parameters
    ----------
    semimetric : Semimetric, fitted estimator with ``semimetric_``, or {"gower", "l1"}, default "gower"
        The distance, which must be symmetric; names are made of the items.
    learner : PairLearner or None, default None
        It learns the distance from the links: a must-link pair is similar, a cannot-link pair is not. Without a prior of its
        own it starts from ``semimetric``.
    n_clusters : int, default 8
    n_init : int, default 3
        Starts, of which that with the least inertia is taken.
    sample : int, default 2000
        Items of a start between which all distances are evaluated.
    n_jobs : int or None, default None
        Threads: None is one, -1 all.
    random_state : int, RandomState or None, default 0
        Seed of samples and starts.

    Attributes
    ----------
    labels_ : ndarray of shape (n_items,), int64
    medoid_indices_ : ndarray of shape (n_clusters,), int64
        The rows of X that are medoids.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The medoids; objects where X has categories.
    inertia_ : float
        The sum of the distances of the items to the medoid of their cluster.
    n_iter_ : int
        The number of times that medoids and labels were improved in turn.
    semimetric_ : Semimetric
    learner_ : PairLearner
        The fitted learner, where there is one.
    index_ : NeighborIndex
        The medoids.
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from semimetric import SemimetricClusterer
    >>> X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [15.0]])
    >>> model = SemimetricClusterer(n_clusters=2).fit(X)
    >>> model.labels_, model.medoid_indices_
    (array([0, 0, 0, 1, 1, 1]), array([1, 4]))
    >>> model.fit(X, must_link=[(2, 3)]).labels_
    array([0, 0, 1, 1, 1, 1])
    """

    learner_: StoredIfSet[PairLearner]
    labels_: Stored[Integers]
    medoid_indices_: Stored[Integers]
    inertia_: Stored[float]
    n_iter_: Stored[int]

    def __init__(
        self,
        semimetric: Semimetric | str = "gower",
        *,
        learner: PairLearner | None = None,
        n_clusters: int = 8,
        n_init: int = 3,
        sample: int = 2_000,
        n_jobs: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.semimetric = semimetric
        self.learner = learner
        self.n_clusters = n_clusters
        self.n_init = n_init
        self.sample = sample
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(
        self, X: ArrayLike, y: Any = None, *, must_link: ArrayLike | None = None, cannot_link: ArrayLike | None = None
    ) -> SemimetricClusterer:
        """Learn the distance from the links, if there is a learner, and find the clusters.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_items, n_features)
        y : ignored
        must_link : array-like of shape (n_pairs, 2), int, or None
            Pairs of row numbers of items that share a cluster.
        cannot_link : array-like of shape (n_pairs, 2), int, or None
            Pairs of row numbers of items that do not.

        Raises
        ------
        InputError
            If the data cannot be used, there are fewer different items than clusters, the links contradict one another or
            need more clusters, or a learner has no link of one of the two kinds.
        NotSupportedError
            If the distance is not symmetric.
        """
        self._check()
        d = searched_distance(self.semimetric, X)
        items = d.schema.encode(X)
        different = len(identities(items).first)
        if different < self.n_clusters:
            raise InputError(
                f"{len(items)} items, {different} of them different, cannot be {self.n_clusters} clusters; give more items, or "
                "a smaller n_clusters="
            )
        links = Links.of(must_link, cannot_link, len(items))
        self.__dict__.pop("learner_", None)  # An earlier fit may have left it.
        if self.learner is not None:
            self.learner_ = self._learn(self.learner, d, X, must_link, cannot_link)
            d = self.learner_.semimetric_
        if not d.axioms.symmetric:
            raise NotSupportedError("the distance is not symmetric, so that a medoid has two distances; give a symmetric one")
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        found = best_medoids(d, X, len(items), self.n_clusters, links, self.n_init, self.sample, seed, self.n_jobs)
        medoids = take_rows(X, found.medoids)
        self._set_index(NeighborIndex(d, n_jobs=self.n_jobs).fit(medoids, ids=np.arange(self.n_clusters)))
        self.labels_, self.medoid_indices_ = found.labels, found.medoids
        self.inertia_, self.n_iter_ = found.inertia, found.n_iter
        return self

    def _check(self) -> None:
        for name in ("n_clusters", "n_init", "sample"):
            check_count(name, getattr(self, name))
        if self.sample < self.n_clusters:
            raise InputError(f"sample={self.sample} items cannot hold {self.n_clusters} medoids; give a larger sample=")
        if self.learner is not None and not isinstance(self.learner, PairLearner):
            raise InputError(
                f"learner= is a {type(self.learner).__name__}, which does not learn from pairs; give a PairLearner, or fit it "
                "first and give it as semimetric="
            )

    @staticmethod
    def _learn(learner: PairLearner, d: Semimetric, X: Any, must_link: Any, cannot_link: Any) -> PairLearner:
        """Fit a copy of the learner to the links as pairs of the items."""
        if must_link is None or cannot_link is None or not len(must_link) or not len(cannot_link):
            raise InputError("learner= learns from links of both kinds; give must_link= and cannot_link=, or no learner")
        own = clone(learner).set_params(preprocessor=numbered_rows(X))
        if Program.of(own.program).prior is None:
            own.set_params(program__prior=d)
        pairs = np.concatenate([np.asarray(must_link), np.asarray(cannot_link)])
        return own.fit(pairs, np.repeat([1, -1], [len(must_link), len(cannot_link)]))

    def predict(self, X: ArrayLike) -> Integers:
        """Return the number of the nearest medoid of every row of X, shape (n_queries,); links play no part."""
        check_is_fitted(self, "index_")
        return self.index_.kneighbors(X, 1)[1][:, 0]

    def transform(self, X: ArrayLike) -> Floats:
        """Return the distances of the rows of X to all medoids, shape (n_queries, n_clusters)."""
        check_is_fitted(self, "index_")
        distances, ids = self.index_.kneighbors(X, len(self.medoid_indices_))
        out = np.empty_like(distances)
        np.put_along_axis(out, ids, distances, axis=1)
        return out

    def explain(self, x: ArrayLike, n_clusters: int | None = None, *, by: str = "features") -> Explanation:
        """Explain the nearest medoids of x: the part of every feature in their distances, beside the values of both.

        Parameters
        ----------
        x : array-like of shape (n_features,), dict, series of pandas, or a table of one row
        n_clusters : int or None
            The number of nearest medoids; None is 2.
        by : {"features", "terms"}, default "features"
            See `Semimetric.contributions`.
        """
        check_is_fitted(self, "index_")
        n = min(2, len(self.medoid_indices_)) if n_clusters is None else check_count("n_clusters", n_clusters)
        return self.index_.explain(x, n_neighbors=min(n, len(self.medoid_indices_)), by=by)

    @property
    def cluster_centers_(self) -> NDArray[Any]:
        """The medoids, shape (n_clusters, n_features)."""
        check_is_fitted(self, "index_")
        return self.index_.get_items(np.arange(len(self.medoid_indices_)))

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the names of the columns of `transform`, shape (n_clusters,)."""
        check_is_fitted(self, "index_")
        return np.array([f"semimetricclusterer{k}" for k in range(len(self.medoid_indices_))], dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = isinstance(self.semimetric, str) and self.semimetric == "gower"
        return tags

    @property
    def _n_indexed(self) -> int:
        return len(self.medoid_indices_)

    def as_stored(self) -> dict[str, Any]:
        """Return the attributes that a file holds, with a learner without the items that `fit` gave it."""
        stored = super().as_stored()
        if "learner_" in stored:
            stored["learner_"] = copy(self.learner_).set_params(preprocessor=None)
        return stored

    def check_restored(self) -> None:
        super().check_restored()
        if not self.semimetric_.axioms.symmetric:
            raise InputError("there is no symmetric distance; restore the file")
        n = self.index_.n_samples_fit_
        labels = self.stored_array("labels_", None, least=0, most=n - 1)
        medoids = self.stored_array("medoid_indices_", n, least=0, most=len(labels) - 1)
        if len(np.unique(medoids)) < n or n != self.n_clusters:
            raise InputError(f"there are {n} medoids, or one twice, for {self.n_clusters} clusters; restore the file")


@dataclass(frozen=True, eq=False)
class Clusters:
    """Items around medoids."""

    medoids: Integers  # (n_clusters,): row numbers of the medoids
    labels: Integers  # (n_items,): the cluster of each item
    inertia: float  # the sum of the distances of the items to the medoid of their cluster
    n_iter: int  # how often medoids and labels were improved in turn


def best_medoids(
    d: Semimetric, X: Any, n_items: int, n_clusters: int, links: Links, n_init: int, sample: int, seed: int, n_jobs: int | None
) -> Clusters:
    """Return the clusters of least inertia of several starts.

    A start takes the medoids of a sample of the items, found by FasterPAM (Schubert & Rousseeuw 2021), which swaps medoids with
    other items until no swap helps. If the sample is not all items, or there are links, labels and medoids are then
    improved in turn: labels by `Links.assigned`, and the medoid of each cluster is the member whose distances to the others
    have the least sum.
    """
    rng = np.random.default_rng(seed)
    found = []
    with progress_bar(n_init, "starts", verbose=None, unit="start") as bar:
        for _ in range(n_init):
            found.append(_start(d, X, n_items, n_clusters, links, sample, rng, n_jobs))
            bar.update()
    return min(found, key=lambda clusters: clusters.inertia)


def _start(
    d: Semimetric,
    X: Any,
    n_items: int,
    n_clusters: int,
    links: Links,
    sample: int,
    rng: np.random.Generator,
    n_jobs: int | None,
) -> Clusters:
    rows = np.arange(n_items) if n_items <= sample else np.sort(rng.choice(n_items, sample, replace=False))
    medoids = rows[_swapped(d.pairwise(take_rows(X, rows), n_jobs=n_jobs), n_clusters, rng)]
    costs = _to_medoids(d, X, n_items, medoids, n_jobs)
    labels, n_iter = links.assigned(costs), 0
    while links or n_items > sample:
        inertia = _inertia(costs, labels)
        moved = _centered(d, X, medoids, labels, costs, n_jobs)
        others = _to_medoids(d, X, n_items, moved, n_jobs)
        relabelled, n_iter = links.assigned(others), n_iter + 1
        if _inertia(others, relabelled) >= inertia * (1 - _LEAST_GAIN):
            break
        medoids, costs, labels = moved, others, relabelled
    return Clusters(medoids, labels, _inertia(costs, labels), n_iter)


def _swapped(distances: Floats, n_clusters: int, rng: np.random.Generator) -> Integers:
    """Return the medoids of FasterPAM, row numbers (n_clusters,) in ascending order, from all distances (n, n)."""
    start = rng.choice(len(distances), n_clusters, replace=False)
    found = optional("kmedoids").fasterpam(distances, start.astype(np.uint64), n_cpu=1)
    return np.sort(found.medoids).astype(np.int64)


def _to_medoids(d: Semimetric, X: Any, n_items: int, medoids: Integers, n_jobs: int | None) -> Floats:
    """Return the distances of all items to the medoids, shape (n_items, n_clusters)."""
    centers = take_rows(X, medoids)
    parts = [d.pairwise(take_rows(X, np.arange(n_items)[b]), centers, n_jobs=n_jobs) for b in blocks(n_items, _BLOCK)]
    return np.concatenate(parts)


def _centered(d: Semimetric, X: Any, medoids: Integers, labels: Integers, costs: Floats, n_jobs: int | None) -> Integers:
    """Return for each cluster the member with the least sum of distances; its medoid if none is better.

    In large clusters only the members nearest to the medoid are candidates.
    """
    moved = medoids.copy()
    for k in range(len(medoids)):
        members = np.flatnonzero(labels == k)
        if not len(members):
            continue
        near = members[np.argsort(costs[members, k], kind="stable")[:_CANDIDATES]]
        table = take_rows(X, near)
        sums = np.zeros(len(near))
        for b in blocks(len(members), _BLOCK):
            sums += d.pairwise(take_rows(X, members[b]), table, n_jobs=n_jobs).sum(axis=0)
        best = int(sums.argmin())
        if sums[best] < costs[members, k].sum() * (1 - _LEAST_GAIN):
            moved[k] = near[best]
    return moved


def _inertia(costs: Floats, labels: Integers) -> float:
    return float(costs[np.arange(len(labels)), labels].sum())


@dataclass(frozen=True, eq=False)
class Links:
    """Must-link and cannot-link pairs of items, by the parts of items that must-links connect."""

    part: Integers  # (n_items,): the number of the part of each item
    apart: Integers  # (n_pairs, 2): pairs of parts that cannot-links separate, each once
    example: Integers  # (n_parts,): the first item of each part, for messages

    @classmethod
    def of(cls, must_link: Any, cannot_link: Any, n_items: int) -> Links:
        """Return links of pairs of row numbers, each array-like of shape (n_pairs, 2), or None.

        Links that contradict one another are refused.
        """
        must, cannot = _pairs("must_link", must_link, n_items), _pairs("cannot_link", cannot_link, n_items)
        graph = sparse.coo_array((np.ones(len(must)), tuple(must.T)), shape=(n_items, n_items))
        part = connected_components(graph, directed=False)[1].astype(np.int64)
        apart = part[cannot]
        same = np.flatnonzero(apart[:, 0] == apart[:, 1])
        if len(same):
            i, j = cannot[same[0]]
            if i == j:
                raise InputError(f"cannot_link has a pair of the item {i} and itself; drop it")
            raise InputError(
                f"cannot_link has the items {i} and {j}, which must_link puts into one cluster; drop one of the links"
            )
        apart = np.unique(np.sort(apart, axis=1), axis=0)
        return cls(part, apart, np.unique(part, return_index=True)[1])

    def __bool__(self) -> bool:
        return len(self.example) < len(self.part) or len(self.apart) > 0

    def assigned(self, costs: Floats) -> Integers:
        """Return the clusters (n_items,) of least summed cost that satisfy all links; costs are (n_items, n_clusters).

        Parts that no cannot-link touches take their cheapest cluster. The others are assigned by integer programs, one for
        all parts that cannot-links connect.
        """
        of_parts = np.zeros((len(self.example), costs.shape[1]))
        np.add.at(of_parts, self.part, costs)
        labels = of_parts.argmin(axis=1)
        graph = sparse.coo_array((np.ones(len(self.apart)), tuple(self.apart.T)), shape=(len(labels), len(labels)))
        tied = connected_components(graph, directed=False)[1]
        for number in np.unique(tied[self.apart[labels[self.apart[:, 0]] == labels[self.apart[:, 1]], 0]]):
            parts = np.flatnonzero(tied == number)
            labels[parts] = self._separated(parts, of_parts[parts])
        return labels[self.part]

    def _separated(self, parts: Integers, costs: Floats) -> Integers:
        """Return the clusters (n,) of these parts, by an integer program with a 0 or 1 for every part and cluster."""
        n, k = costs.shape
        pairs = np.searchsorted(parts, self.apart[np.isin(self.apart[:, 0], parts)])
        once = sparse.kron(sparse.eye_array(n), np.ones((1, k)))
        ends = sparse.coo_array(
            (np.ones(2 * len(pairs)), (np.repeat(np.arange(len(pairs)), 2), pairs.ravel())), shape=(len(pairs), n)
        )
        rules = [LinearConstraint(once, 1, 1), LinearConstraint(sparse.kron(ends, sparse.eye_array(k)), -np.inf, 1)]
        more = costs - costs.min(axis=1, keepdims=True)  # each part pays its least cost anyway, beside which others may be tiny
        options = {"time_limit": 60, "mip_rel_gap": 0.0}
        unit = more.max() or 1.0
        found = milp(more.ravel() / unit, integrality=1, bounds=Bounds(0, 1), constraints=rules, options=options)
        if found.x is None:
            items = ", ".join(map(str, self.example[parts][:5]))
            raise InputError(
                f"no assignment to {k} clusters that keeps all links of the items {items} ... was found ({found.message}); "
                "more clusters or fewer links are required"
            )
        if found.status != 0:
            warn(f"clusters of {n} linked items are not proved to be the best: {found.message}", ConvergenceWarning)
        return found.x.reshape(n, k).argmax(axis=1).astype(np.int64)


def _pairs(name: str, given: Any, n_items: int) -> Integers:
    """Return checked pairs of row numbers, shape (n_pairs, 2)."""
    if given is None:
        return np.empty((0, 2), dtype=np.int64)
    pairs: NDArray[Any] = np.asarray(given)
    if pairs.size == 0:
        return np.empty((0, 2), dtype=np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise InputError(
            f"{name}= is {pairs.dtype} of shape {pairs.shape}; pairs of row numbers, integers (n_pairs, 2), are required"
        )
    if pairs.min() < 0 or pairs.max() >= n_items:
        wrong = pairs.min() if pairs.min() < 0 else pairs.max()
        raise InputError(f"{name}= has the row number {wrong}, but there are {n_items} items; give 0 to {n_items - 1}")
    return pairs.astype(np.int64)
