"""The part of an index that asks an expensive distance: what is known of each query, and calls that are never lost."""

from __future__ import annotations

from collections.abc import Callable
from inspect import ismethod
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from .._foundation.errors import DistanceCallError, InputError
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

T = TypeVar("T")


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

    def _budget(self, max_calls: int | None, k: int) -> float:
        """The calls that a query may take, of which bounds take some and k are the least."""
        given = self.max_calls if max_calls is None else max_calls
        if given is None:
            return np.inf
        least = k + sum(bounds.n_query_calls for bounds in self.bounds_)
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
        if self.semimetric_ is not None and features is None and self._beside:
            raise InputError("the items have features beside them, which the learned distance reads; give features= of X too")
        if features is not None and not self._beside:
            raise InputError("features= are given, and fit had none: the learned distance reads the queries; drop them")
        return RefinedItems.read(X, features, self.semimetric_), False

    def _answered(self, queries: RefinedItems, own: bool, mask: NDArray[np.bool_], answer: Callable[..., T]) -> list[T]:
        """What ``answer`` makes of the candidates of every query; the calls are kept whatever happens."""
        calls = ExpensiveCalls(self.rerank, "rerank")

        def answered(part: slice) -> T:
            q = part.start
            found = answer(*self._asked(queries, q, own, mask, calls))
            bar.update()
            return found

        try:
            with progress_bar(len(queries), "queries", verbose=self.verbose) as bar:
                return map_blocks(answered, len(queries), size=1, n_jobs=self.n_jobs)
        finally:
            self.pairs_, self.distances_ = calls.pairs, calls.distances

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
