"""Exact search in several segments, the most promising first: those that can hold no answer are not searched.

For each segment the least values of the features between a query and the range of the segment's items add up to a lower bound
of all its distances. A query first asks the segment of the least bound; the k-th distance so far is then the limit of the
others, which are passed over where their bound exceeds it.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._foundation.types import Floats, Integers
from .query_tables import QueryBlock, QueryView
from .search_arguments import SearchRequest
from .segment import Segment

__all__ = ["SegmentAnswers", "nearest_in_order", "pays"]


class SegmentAnswers(NamedTuple):
    """The k nearest by sum and id, (B, k), how many items were refined, and whether the first were the nearest."""

    sums: Floats
    ids: NDArray
    refined: Integers
    at_once: NDArray[np.bool_]


def pays(view: QueryView, segments: Sequence[Segment], search: SearchRequest) -> bool:
    """Whether segments have bounds that may leave some of them out."""
    return search.algorithm == "exact" and len(segments) > 1 and view.simple and all(s.searchable for s in segments)


def nearest_in_order(
    view: QueryView,
    segments: Sequence[Segment],
    masks: Sequence[NDArray[np.bool_] | None],
    queries: QueryBlock,
    search: SearchRequest,
) -> SegmentAnswers:
    """The k nearest items of all segments to each query of a block."""
    n, kind = len(queries), np.result_type(*(s.ids.dtype for s in segments))
    answers = SegmentAnswers(
        np.full((n, search.k), np.inf), np.zeros((n, search.k), kind), np.zeros(n, np.int64), np.ones(n, dtype=bool)
    )
    least = np.column_stack([s.least(queries) for s in segments])
    promising = least.argmin(axis=1)
    order = np.argsort(least.mean(axis=0), kind="stable")
    for k in order:
        _ask(segments[k], masks[k], view, queries, np.flatnonzero(promising == k), search, answers)
    for k in order:
        near = (promising != k) & (least[:, k] <= answers.sums[:, -1])
        _ask(segments[k], masks[k], view, queries, np.flatnonzero(near), search, answers)
    return answers


def _ask(
    segment: Segment,
    mask: NDArray[np.bool_] | None,
    view: QueryView,
    queries: QueryBlock,
    rows: Integers,
    search: SearchRequest,
    answers: SegmentAnswers,
) -> None:
    """Merge what a segment answers to the queries ``rows`` into the answers so far, whose k-th sums are the limits."""
    if not len(rows):
        return
    asked = queries if len(rows) == len(queries) else view.block(queries.items.take(rows))
    found = segment.nearest(asked, search, mask, answers.sums[rows, -1])
    sums = np.hstack([answers.sums[rows], found.sums])
    ids = np.hstack([answers.ids[rows], segment.ids[found.rows].astype(answers.ids.dtype)])
    order = np.lexsort((ids, sums), axis=-1)[:, : search.k]
    answers.sums[rows] = np.take_along_axis(sums, order, axis=1)
    answers.ids[rows] = np.take_along_axis(ids, order, axis=1)
    answers.refined[rows] += found.refined
    answers.at_once[rows] &= found.at_once
