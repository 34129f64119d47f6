"""The part of an index that asks an expensive distance: what is known of each query, and calls that are never lost."""

from __future__ import annotations

from collections.abc import Callable
from inspect import ismethod
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from .._foundation.errors import DistanceCallError, InputError, warn
from .._foundation.progress import progress_bar
from .._foundation.threads import map_blocks
from .._foundation.types import Floats, Integers
from .._foundation.validation import check_count
from ..bounds.base import Bounds
from ..bounds.expensive_calls import ExpensiveCalls
from ..distances.semimetric import Semimetric
from .multi_step_search import CandidateItems
from .refined_items import RefinedItems

__all__ = ["RefinedQueries"]

T = TypeVar("T", bound=tuple)

_FEWEST_ITEMS = 32  # a query, on average: among fewer it is no matter how many are called


class Searched(NamedTuple):
    """One query: its items, those that bounds discarded, those left open and answered, and the calls that bounds took."""

    n_items: int
    n_discarded: int
    n_open: int
    n_answers: int
    n_bound_calls: int


class RefinedQueries:
    """The part of `FilterRefineIndex` that answers queries one by one, in threads."""

    rerank: Callable[..., Any] | None
    max_calls: int | None
    n_jobs: int | None
    verbose: bool | None
    items_: RefinedItems
    bounds_: list[Bounds]
    semimetric_: Semimetric | None
    pairs_: Integers
    distances_: Floats
    _beside: bool
    _ranks: Integers
    _encode: Callable[[Any], Floats] | None
    _told: bool

    def _budget(self, max_calls: int | None, k: int, queries: RefinedItems, own: bool) -> float:
        """The calls that a query may take, of which bounds and features take some and k are the least."""
        given = self.max_calls if max_calls is None else max_calls
        if given is None:
            return np.inf
        features = 0 if own or queries.n_calls is None else int(queries.n_calls.max(initial=0))
        least = k + features + sum(bounds.n_query_calls for bounds in self.bounds_)
        if check_count("max_calls", given) < least:
            raise InputError(
                f"max_calls={given}, but a query takes at least {least}: {k} for the neighbours that are answered, and "
                f"{least - k} to landmarks; allow more"
            )
        return float(given)

    def _queries(self, X: Any, features: Any) -> tuple[RefinedItems, bool]:
        """The queries, and whether they are the items themselves."""
        check_is_fitted(self, "items_")
        if X is None:
            return self.items_, True
        if self._encode is not None and self.semimetric_ is not None and features is None:
            return RefinedItems.encoded(X, self._encode, self.semimetric_), False
        if self.semimetric_ is not None and features is None and self._beside:
            raise InputError("the items have features beside them, which the learned distance reads; give features= of X too")
        if features is not None and not self._beside:
            raise InputError("features= are given, and fit had none: the learned distance reads the queries; drop them")
        return RefinedItems.read(X, features, self.semimetric_), False

    def _answered(self, queries: RefinedItems, own: bool, mask: NDArray[np.bool_], answer: Callable[..., T]) -> list[T]:
        """What ``answer`` makes of the candidates of every query; the calls are kept whatever happens."""
        calls = ExpensiveCalls(self.rerank, "rerank")

        def answered(part: slice) -> tuple[T, Searched]:
            q = part.start
            candidates, call, known, n_calls = self._asked(queries, q, own, mask, calls)
            features = 0 if own or queries.n_calls is None else int(queries.n_calls[q])
            found = answer(candidates, call, known, n_calls + features)
            bar.update()
            return found, Searched(candidates.n_all, candidates.n_discarded, len(candidates), len(found[0]), n_calls)

        try:
            with progress_bar(len(queries), "queries", verbose=self.verbose) as bar:
                found = map_blocks(answered, len(queries), size=1, n_jobs=self.n_jobs)
        finally:
            self.pairs_, self.distances_ = calls.pairs, calls.distances
        self._tell_of_bounds([searched for _, searched in found])
        return [answers for answers, _ in found]

    def _tell_of_bounds(self, queries: list[Searched]) -> None:
        """Warn once of bounds that have discarded no more items than they have taken calls."""
        total = Searched(*np.sum(np.array(queries, dtype=np.int64).reshape(-1, len(Searched._fields)), axis=0).tolist())
        few = total.n_items < _FEWEST_ITEMS * len(queries) or 2 * total.n_answers > total.n_items
        if self._told or not self.bounds_ or few or total.n_open or total.n_discarded > total.n_bound_calls:
            return
        self._told = True
        warn(
            f"bounds= discarded {total.n_discarded:,} of {total.n_items:,} items for {len(queries):,} queries, and took "
            f"{total.n_bound_calls:,} calls themselves: the expensive distance is called no less than without bounds, as where "
            "distances are much alike. Give tighter ones (more landmarks, TransportBounds or EditBounds of such distances), "
            "or leave bounds= out; max_calls=, and NeighborIndex with rerank=, answer by a number of calls that you choose, "
            "without a proof",
            cause="bounds discard nothing",
        )

    def _asked(
        self, queries: RefinedItems, q: int, own: bool, mask: NDArray[np.bool_], calls: ExpensiveCalls
    ) -> tuple[CandidateItems, Callable[[int, float], tuple[float, Any]], dict[int, float], int]:
        """The candidates of a query, the call of the distance to one of them, known distances, and calls made for these."""
        rows = np.flatnonzero(mask)
        query = queries.objects[q]
        if own:
            rows = rows[rows != q]
        try:
            bounds = [b.at_item(q) if own else b.at(query) for b in self.bounds_]
        except DistanceCallError as error:
            for (_, row), value in zip(error.pairs.tolist(), error.distances.tolist(), strict=True):
                calls.keep(q, row, value)
            raise calls.refuse(f"its bounds could not be computed ({error.__cause__ or error})", q, error.pair[1]) from error
        of_rerank = [b for b, of in zip(bounds, self.bounds_, strict=True) if _is(getattr(of, "distance", None), self.rerank)]
        known = {row: value for b in of_rerank for row, value in b.known.items()}
        if not own:  # of items they were called by `fit`
            for row, value in known.items():
                calls.keep(q, row, value)
        candidates = CandidateItems(rows, self._ranks, bounds, self.items_.estimates(queries, q, rows))

        def call(row: int, lower: float) -> tuple[float, Any]:
            value, dual = calls.value_and_dual(query, self.items_.objects[row], q, row)
            upper = min((float(b.upper(np.array([row]))[0]) for b in bounds), default=np.inf)
            if not lower <= value <= upper:
                raise calls.refuse(
                    f"it is {value:g}, but its bounds are {lower:g} and {upper:g}, so they are not of this distance; give "
                    "bounds of it, or a larger tolerance= if it is computed to a few digits only",
                    q, row,
                )  # fmt: skip
            return value, dual

        return candidates, call, known, sum(b.n_calls for b in bounds)


def _is(distance: Any, rerank: Any) -> bool:
    """Whether what bounds call is the very distance that is searched under, so that what they know is an answer, unchecked."""
    return distance is rerank or (ismethod(distance) and distance == rerank)
