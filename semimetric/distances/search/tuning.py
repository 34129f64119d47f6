"""The choice, by queries of the user, of how approximate a search may be."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ..._foundation.errors import InputError
from ..._foundation.progress import progress_bar
from ..._foundation.text import html_table, text_table
from ..._foundation.validation import check_count
from .items import Neighbors, Queries, Recall

_LEAST_QUERIES = 20  # by half of which a search is chosen, and by the other half measured
_REPEATS = 3  # of a measurement, of which the shortest counts
_COLUMNS = ("algorithm", "n_probe", "n_candidates", "recall", "microseconds")


class TunedSearch(NamedTuple):
    """One way to search: its parameters, its recall on the first half of the queries, and its processor time.

    Attributes
    ----------
    algorithm : str
    n_probe : int
        Inverted lists that are visited.
    n_candidates : int
        Items that are refined, or that a walk along the graph keeps.
    recall : float
        The mean share of the true neighbours that are found.
    microseconds : float
        Processor time of one query of a batch.
    """

    algorithm: str
    n_probe: int
    n_candidates: int
    recall: float
    microseconds: float


class Tuning(NamedTuple):
    """The searches that `NeighborIndex.tune` has tried, and the one that it has taken; printed, a table.

    Attributes
    ----------
    chosen : TunedSearch
    recall : Recall
        Recall of the chosen search on the second half of the queries, which chose nothing.
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


def tune(
    search: Callable[..., Neighbors],
    queries: Queries,
    *,
    recall: float,
    n_neighbors: int,
    max_queries: int,
    n_lists: int,
    has_graph: bool,
    n_items: int,
    n_probe: int,
    seed: int | None,
    verbose: bool,
) -> Tuning:
    """Choose the fastest search that reaches a recall by ``search``, that of an index: see `NeighborIndex.tune`."""
    if isinstance(recall, bool) or not isinstance(recall, (int, float, np.number)) or not 0 < recall <= 1:
        raise InputError(f"recall={recall!r}: a share of the true neighbours above 0 and up to 1 is required")
    if len(queries) < _LEAST_QUERIES:
        raise InputError(f"X has {len(queries)} queries; {_LEAST_QUERIES} or more are required to choose by half of them")
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(queries))[: max(check_count("max_queries", max_queries), _LEAST_QUERIES)]
    choosing, checking = queries.take(order[::2]), queries.take(order[1::2])
    k = check_count("n_neighbors", n_neighbors)
    true = search(choosing, k, algorithm="exact")
    exact = TunedSearch("exact", n_probe, k, 1.0, 0.0)
    tried = [exact._replace(microseconds=_microseconds(search, choosing, k, exact))]
    probes = [*(1 << p for p in range(20) if 1 << p < n_lists), n_lists]
    ways = [("approximate", n) for n in probes] + [("graph", n_probe)] * has_graph
    with progress_bar(len(ways), "ways to search", verbose=verbose) as bar:
        for algorithm, n in ways:
            candidates = [TunedSearch(algorithm, n, count, np.nan, np.nan) for count in _counts(k, n_items)]
            reached = _find_fewest_candidates(float(recall), candidates, search, choosing, true)
            tried.append(reached._replace(microseconds=_microseconds(search, choosing, k, reached)))
            bar.update()
    chosen = min((way for way in tried if way.recall >= recall), key=lambda way: way.microseconds)
    true = search(checking, k, algorithm="exact")
    return Tuning(chosen, Recall.of(true.distances, _found(search, checking, k, chosen).distances), tuple(tried))


def _find_fewest_candidates(
    recall: float, ways: Sequence[TunedSearch], search: Callable[..., Neighbors], queries: Queries, true: Neighbors
) -> TunedSearch:
    """Return the first of ways with ever more candidates that reaches the recall, or one that does not where none does."""
    low, high = 0, len(ways) - 1
    reached = None
    while low <= high:  # recall grows with the candidates
        middle = (low + high) // 2
        found = _found(search, queries, true.ids.shape[1], ways[middle])
        way = ways[middle]._replace(recall=Recall.of(true.distances, found.distances).mean)
        if way.recall >= recall or reached is None:
            reached = way
        low, high = (low, middle - 1) if way.recall >= recall else (middle + 1, high)
    assert reached is not None  # There is at least one way.
    return reached


def _found(search: Callable[..., Neighbors], queries: Queries, k: int, way: TunedSearch) -> Neighbors:
    return search(queries, k, algorithm=way.algorithm, n_candidates=way.n_candidates, n_probe=way.n_probe)


def _microseconds(search: Callable[..., Neighbors], queries: Queries, k: int, way: TunedSearch) -> float:
    times = []
    for _ in range(_REPEATS):
        start = time.process_time()
        _found(search, queries, k, way)
        times.append(time.process_time() - start)
    return min(times) / len(queries) * 1e6


def _counts(k: int, n_items: int) -> list[int]:
    """Return numbers of candidates that are compared: from k on, each about a quarter more than the one before."""
    counts = np.unique(np.minimum(np.ceil(k * 1.25 ** np.arange(40)).astype(np.int64), max(min(n_items, 200 * k), k)))
    return [int(n) for n in counts]
