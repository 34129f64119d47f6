"""The choice, by queries of the user, of how approximate a search may be.

One third of the queries choose a way to search. The others test its numbers of candidates, from a number that the first third
expects to pass downwards. Each test asks whether a lower confidence bound of the recall reaches what was asked, and the first
failure ends them. The order is fixed before the tests, so a number that passes too easily does so with the probability of a
single test, however many there are.

The bound is the hedged capital of Waudby-Smith & Ramdas 2024, which holds for numbers in [0, 1] of any distribution, however
many there are. Recalls are skewed: a bound by Student's t was above the mean of such samples in 6 to 36 % of 4,000 draws,
where 5 % were promised.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from ..._foundation.errors import InputError, warn
from ..._foundation.pictures import Axes, picture
from ..._foundation.progress import progress_bar
from ..._foundation.real_numbers import real_number, shown
from ..._foundation.text import html_table, text_table
from ..._foundation.types import Floats
from ..._foundation.validation import check_count
from ...data.identical_items import identities
from .items import Neighbors, Queries, Recall

CONFIDENCE = 0.95  # of the lower bound
_LEAST_QUERIES = 20  # of which a third chooses a search, and the others test it
_CHOOSING = 3
_REPEATS = 3  # of a measurement, of which the shortest counts
_LIKELY, _SURE = 2.0, 4.0  # standard errors above what is asked, from which a search will pass
_LARGEST_BET = 0.75  # of what a bet may be, at which no single query can take all
_HALVINGS = 30  # of the interval of the bound
_MOST_QUERIES = 1 << 14  # that a message asks for
_COLUMNS = ("algorithm", "n_probe", "n_candidates", "recall", "microseconds")


def lower_confidence_bound(shares: Floats, confidence: float = CONFIDENCE) -> float:
    """Return a number that the mean of a distribution on [0, 1] exceeds with this confidence, given a sample (n,) of it.

    A gambler bets on every number in turn that the mean is above m; the stake depends on the numbers before. If the mean is m
    or less, the fortune is multiplied by 1 / (1 - confidence) at any time with probability 1 - confidence at most. The bound is
    the largest m at which that happens.
    """
    n, most = len(shares), np.log(1.0 / (1.0 - confidence))
    steps = np.arange(1, n + 1)
    mean = (0.5 + np.cumsum(shares)) / (steps + 1)
    variance = (0.25 + np.cumsum((shares - mean) ** 2)) / (steps + 1)
    stakes = np.sqrt(2.0 * most / (n * np.concatenate([[0.25], variance[:-1]])))
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        fortune = np.cumsum(np.log1p(np.minimum(stakes, _LARGEST_BET / middle) * (shares - middle)))
        low, high = (middle, high) if fortune.max() >= most else (low, middle)
    return low


class TunedSearch(NamedTuple):
    """One way to search: its parameters, its recall on the third of the queries that chose, and its processor time.

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
        Recall of the chosen search on the two thirds of the queries that chose nothing.
    tried : tuple of TunedSearch
    asked : float
        The recall that was asked for.
    lower_bound : float
        With a confidence of 95 % the mean recall of the chosen search on such queries is above it; 1 of exact search.
    reason : str
        Why this search was taken, as it is printed.
    """

    chosen: TunedSearch
    recall: Recall
    tried: tuple[TunedSearch, ...]
    asked: float
    lower_bound: float
    reason: str

    def _rows(self) -> list[list[str]]:
        return [list(_COLUMNS)] + [[*map(str, row[:3]), f"{row.recall:.4f}", f"{row.microseconds:.0f}"] for row in self.tried]

    @property
    def _note(self) -> str:
        return f"taken: row {self.tried.index(self.chosen)}, {self.reason}"

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw recall against time for each search that was tried; see `semimetric.plotting.plot_tuning`."""
        return picture("plot_tuning")(self, ax)

    def __str__(self) -> str:
        return "\n".join([*text_table(self._rows(), left=1), self._note])

    def _repr_html_(self) -> str:
        return html_table(self._rows(), notes=[self._note])


class _Trial:
    """Queries, and the recall that searches reach on them."""

    def __init__(self, search: Callable[..., Neighbors], queries: Queries, k: int) -> None:
        self._search = search
        self.queries = queries
        self.k = k
        self.true = search(queries, k, algorithm="exact").distances

    def found(self, way: TunedSearch) -> Floats:
        """Return the distances that are found, (n_queries, k)."""
        return _found(self._search, self.queries, self.k, way).distances

    def timed(self, way: TunedSearch) -> TunedSearch:
        """Return the search with its recall on these queries and its time."""
        recall = Recall.of(self.true, self.found(way)).mean
        return way._replace(recall=recall, microseconds=_microseconds(self._search, self.queries, self.k, way))


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
    verbose: bool | None,
) -> Tuning:
    """Choose the fastest search that keeps a recall by ``search``, that of an index: see `NeighborIndex.tune`."""
    share = real_number(recall)
    if share is None or not 0 < share <= 1:
        raise InputError(f"recall={shown(recall)}: a share of the true neighbours above 0 and up to 1 is required")
    queries = queries.take(identities(queries.rows).first)
    if len(queries) < _LEAST_QUERIES:
        raise InputError(
            f"X has {len(queries)} different queries; {_LEAST_QUERIES} or more are required, a third to choose a search and "
            "the others to test it: give more"
        )
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(queries))[: max(check_count("max_queries", max_queries), _LEAST_QUERIES)]
    k = check_count("n_neighbors", n_neighbors)
    n_choosing = len(order) // _CHOOSING
    choosing = _Trial(search, queries.take(order[:n_choosing]), k)
    exact = choosing.timed(TunedSearch("exact", n_probe, k, np.nan, np.nan))
    tried, promising = [exact], []
    probes = [*(1 << p for p in range(20) if 1 << p < n_lists), n_lists]
    ways = [("approximate", n) for n in probes] + [("graph", n_probe)] * has_graph
    with progress_bar(len(ways), "ways to search", verbose=verbose) as bar:
        for algorithm, n in ways:
            searches = [TunedSearch(algorithm, n, count, np.nan, np.nan) for count in _counts(k, n_items)]
            fast, begin = _find_searches(float(recall), searches, choosing, len(order) - n_choosing)
            tried.append(choosing.timed(searches[fast]))
            if begin is not None:
                promising.append((tried[-1], searches[: begin + 1][::-1]))
            bar.update()
    chosen, bound, rest = exact, 1.0, _Trial(search, queries.take(order[n_choosing:]), k)
    exactly = f"exact search, {exact.microseconds:.0f} microseconds a query"
    fastest, tests = min(promising, key=lambda way: way[0].microseconds, default=(exact, []))
    reason = f"{exactly}: no approximate one that promises a recall of {recall} takes less"
    if fastest.microseconds < exact.microseconds or not promising:
        passed = _last_that_passes(float(recall), tests, rest)
        if passed is None:
            reason = f"{exactly}: {_none(float(recall), len(rest.queries))}"
            warn(f"tune has taken {reason}", cause="no search keeps its recall")
        else:
            confirmed = next((way for way in tried if way[:3] == passed[0][:3]), None) or choosing.timed(passed[0])
            tried += [confirmed] if confirmed not in tried else []
            if confirmed.microseconds < exact.microseconds:
                chosen, bound = confirmed, passed[1]
    of_others = Recall.of(rest.true, rest.found(chosen))
    if chosen is not exact:
        reason = (
            f"with {of_others}, all of which chose nothing; the mean recall of such queries is above {bound:.4f} with "
            f"{CONFIDENCE:.0%} confidence, and {recall} was asked"
        )
    return Tuning(chosen, of_others, tuple(tried), float(recall), bound, reason)


def _find_searches(recall: float, searches: Sequence[TunedSearch], choosing: _Trial, n_tests: int) -> tuple[int, int | None]:
    """Return the first of searches with ever more candidates that n_tests queries may pass, and where tests should begin.

    That is one that is sure to pass, or the last; None if even this is in doubt.
    """

    @cache
    def margin(at: int) -> tuple[float, float]:
        """Return by how much the bound of the tests is expected to exceed the recall, and a standard error."""
        shares = Recall.shares(choosing.true, choosing.found(searches[at]))
        expected = lower_confidence_bound(np.resize(shares, n_tests))
        return expected - recall, float(shares.std() * np.sqrt(1.0 / len(shares) + 1.0 / n_tests))

    def first(n_errors: float) -> int:
        low, high = 0, len(searches) - 1
        while low < high:  # recall grows with the candidates
            middle = (low + high) // 2
            excess, error = margin(middle)
            low, high = (low, middle) if excess >= n_errors * error else (middle + 1, high)
        return low

    excess, error = margin(len(searches) - 1)
    return first(0.0), first(_SURE) if excess >= _LIKELY * error else None


def _last_that_passes(recall: float, tests: Sequence[TunedSearch], queries: _Trial) -> tuple[TunedSearch, float] | None:
    """Return the last search before the first that fails, with its lower bound of the recall; None if the first one fails."""
    passed = None
    for way in tests:
        bound = lower_confidence_bound(Recall.shares(queries.true, queries.found(way)))
        if bound < recall:
            break
        passed = way, bound
    return passed


def _none(recall: float, n_tests: int) -> str:
    """Return why no approximate search was taken, and what to do."""
    why = (
        f"no approximate one has a lower bound of its mean recall of {recall} ({CONFIDENCE:.0%} confidence, {n_tests} queries)"
    )
    if lower_confidence_bound(np.ones(n_tests)) >= recall:
        return f"{why}; ask for less recall, or give more queries"
    enough = next((n for n in range(n_tests, _MOST_QUERIES, 10) if lower_confidence_bound(np.ones(n)) >= recall), None)
    if enough is None:
        return f"{why}, which only exact search can promise; ask for less"
    least = -(-enough * _CHOOSING // (_CHOOSING - 1))
    return (
        f"{why}, nor can one have it by so few; give {least} queries at least, and max_queries= as many, or ask for less recall"
    )


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
