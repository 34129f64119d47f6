"""The part of an index that chooses, by queries of the user, how approximate a search may be."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..._foundation.errors import InputError
from ..._foundation.progress import progress_bar
from ..._foundation.text import html_table, text_table
from ..._foundation.types import ArrayLike
from ..._foundation.validation import check_count
from .items import Neighbors, Recall

_LEAST_QUERIES = 20  # by half of which a search is chosen, and by the other half judged
_REPEATS = 3  # of a measurement, of which the shortest counts
_COLUMNS = ("algorithm", "n_probe", "n_candidates", "recall", "microseconds")


class TunedSearch(NamedTuple):
    """One way to search: its parameters, its recall on the first half of the queries, and its processor time.

    Attributes
    ----------
    algorithm : {"exact", "approximate", "graph"}
    n_probe : int
        Inverted lists that are visited, of ``n_lists``.
    n_candidates : int
        Items that are refined, or that a walk along the graph keeps.
    recall : float
        The mean share of the true neighbours that are found.
    microseconds : float
        Of the processor, for one query of a batch.
    """

    algorithm: str
    n_probe: int
    n_candidates: int
    recall: float
    microseconds: float


class Tuning(NamedTuple):
    """What `NeighborIndex.tune` has tried and taken; printed, a table.

    Attributes
    ----------
    chosen : TunedSearch
    recall : Recall
        That of the chosen search on the second half of the queries, which chose nothing.
    tried : tuple of TunedSearch
    """

    chosen: TunedSearch
    recall: Recall
    tried: tuple[TunedSearch, ...]

    def _rows(self) -> list[list[str]]:
        return [list(_COLUMNS)] + [[*map(str, row[:3]), f"{row.recall:.4f}", f"{row.microseconds:.0f}"] for row in self.tried]

    @property
    def _note(self) -> str:
        return f"taken: row {self.tried.index(self.chosen)}, with {self.recall}, all of which chose nothing"

    def __str__(self) -> str:
        return "\n".join([*text_table(self._rows(), left=1), self._note])

    def _repr_html_(self) -> str:
        return html_table(self._rows(), notes=[self._note])


class TunedIndex:
    """The part of `NeighborIndex` that tunes the approximate search."""

    algorithm: str
    n_probe: int
    n_candidates: int | None
    random_state: int | None
    verbose: bool
    segments_: list[Any]
    _has_graph: Any
    _queries: Any
    _answer: Any

    def tune(self, X: ArrayLike, *, recall: float = 0.95, n_neighbors: int = 10, max_queries: int = 400) -> Tuning:
        """Choose the fastest search that finds a share of the true neighbours of queries like these, and use it from now on.

        Sets ``algorithm``, ``n_probe`` and ``n_candidates``, which are saved with the index. For every power of 2 of inverted
        lists, fewer than all, and for the graph, where there is one, the least number of candidates is looked for that reaches
        the recall on one half of the queries; the other half judges the one that takes the least time. Where none reaches it,
        or exact search takes no longer, search is exact. An interrupted call leaves the index as it was.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), n_queries >= 20
            Queries such as those to come; not the items themselves, whose nearest is at distance 0.
        recall : float, default 0.95
            The mean share of the ``n_neighbors`` nearest to find: above 0 and up to 1.
        n_neighbors : int, default 10
        max_queries : int, default 400
            Of more queries so many are drawn.

        Returns
        -------
        Tuning
            Printed, a table of what was tried; times depend on the machine.

        Raises
        ------
        InputError
            If there are too few queries, or the recall is no such share.
        """
        check_is_fitted(self)
        if isinstance(recall, bool) or not isinstance(recall, (int, float, np.number)) or not 0 < recall <= 1:
            raise InputError(f"recall={recall!r}: a share of the true neighbours above 0 and up to 1 is required")
        queries = self._queries(X)
        if len(queries) < _LEAST_QUERIES:
            raise InputError(f"X has {len(queries)} queries; {_LEAST_QUERIES} or more are required to choose by half of them")
        rng = np.random.default_rng(self.random_state)
        order = rng.permutation(len(queries))[: max(check_count("max_queries", max_queries), _LEAST_QUERIES)]
        choosing, judging = queries[order[::2]], queries[order[1::2]]
        tried = self._tried(choosing, float(recall), check_count("n_neighbors", n_neighbors))
        enough = [search for search in tried if search.recall >= recall]
        chosen = min(enough, key=lambda search: search.microseconds)
        true = self._answer(judging, None, n_neighbors, algorithm="exact")
        judged = Recall.of(true.distances, self._found(judging, n_neighbors, chosen).distances)
        self.algorithm = chosen.algorithm
        if chosen.algorithm != "exact":
            self.n_probe, self.n_candidates = chosen.n_probe, chosen.n_candidates
        return Tuning(chosen, judged, tuple(tried))

    def _tried(self, queries: NDArray[Any], recall: float, k: int) -> list[TunedSearch]:
        """The exact search, and of every number of lists the candidates that reach the recall, or the most."""
        true = self._answer(queries, None, k, algorithm="exact")
        exact = TunedSearch("exact", self.n_probe, k, 1.0, 0.0)
        tried = [exact._replace(microseconds=self._microseconds(queries, k, exact))]
        n_items = sum(segment.n_alive for segment in self.segments_)
        probes = _powers_below(max(1 if s.lists is None else len(s.lists.codes) for s in self.segments_))
        ways = [("approximate", n_probe) for n_probe in probes] + [("graph", self.n_probe)] * self._has_graph()
        with progress_bar(len(ways), "ways to search", verbose=self.verbose) as bar:
            for algorithm, n_probe in ways:
                found = [TunedSearch(algorithm, n_probe, n, np.nan, np.nan) for n in _counts(k, n_items)]
                low, high, reached = 0, len(found) - 1, None
                while low <= high:  # recall grows with the candidates
                    middle = (low + high) // 2
                    got = Recall.of(true.distances, self._found(queries, k, found[middle]).distances).mean
                    search = found[middle]._replace(recall=got)
                    reached = search if got >= recall or reached is None else reached
                    low, high = (low, middle - 1) if got >= recall else (middle + 1, high)
                if reached is not None:
                    tried.append(reached._replace(microseconds=self._microseconds(queries, k, reached)))
                bar.update()
        return tried

    def _found(self, queries: NDArray[Any], k: int, search: TunedSearch) -> Neighbors:
        """The answer of one way to search, whose number of lists is set for as long as it takes."""
        before = self.n_probe
        try:
            self.n_probe = search.n_probe
            found: Neighbors = self._answer(queries, None, k, algorithm=search.algorithm, n_candidates=search.n_candidates)
        finally:
            self.n_probe = before
        return found

    def _microseconds(self, queries: NDArray[Any], k: int, search: TunedSearch) -> float:
        """The least processor time of a query of some repeated batches."""
        times = []
        for _ in range(_REPEATS):
            start = time.process_time()
            self._found(queries, k, search)
            times.append(time.process_time() - start)
        return min(times) / len(queries) * 1e6


def _powers_below(n_lists: int) -> list[int]:
    """1, 2, 4, ... below the number of lists, and this number."""
    return [*(1 << p for p in range(20) if 1 << p < n_lists), n_lists]


def _counts(k: int, n_items: int) -> list[int]:
    """Numbers of candidates that are compared: from k on, each about a quarter more than the one before."""
    counts = np.unique(np.minimum(np.ceil(k * 1.25 ** np.arange(40)).astype(np.int64), max(min(n_items, 200 * k), k)))
    return [int(n) for n in counts]
