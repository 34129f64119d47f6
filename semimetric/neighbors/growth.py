"""Adding and removing items: small segments are gathered, and those that many items have left are built anew."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .segment import Segment

__all__ = ["with_items", "without_items"]

Build: TypeAlias = dict[str, Any]  # how segments are built: n_lists, n_jobs, seed

_TAIL = 8_192  # added items share a segment until they are this many, or a quarter of the first
_DEAD = 0.25  # share of removed items from which a segment is built anew


def with_items(segments: Sequence[Segment], ids: NDArray, items: NDArray, how: Build) -> list[Segment]:
    """The segments and new items, in the last segment or in one more."""
    tail = segments[-1]
    if len(segments) > 1 and len(tail) + len(ids) < max(_TAIL, len(segments[0]) // 4):
        ids = np.concatenate([tail.ids[tail.alive], ids])
        return [*segments[:-1], _like(tail, ids, np.concatenate([tail.points.raw[tail.alive], items]), how)]
    return [*segments, _like(tail, ids, items, how)]


def without_items(segments: Sequence[Segment], gone: NDArray, how: Build) -> list[Segment]:
    """The segments without the ids ``gone``; at least one segment is left, maybe an empty one."""
    kept = [_without(s, gone, how) for s in segments]
    return [s for s in kept if s.n_alive] or kept[:1]


def _without(segment: Segment, gone: NDArray, how: Build) -> Segment:
    alive = segment.alive & ~np.isin(segment.ids, gone)
    n = int(alive.sum())
    if n == segment.n_alive:
        return segment
    if 0 < n < (1 - _DEAD) * len(segment):
        return _like(segment, segment.ids[alive], segment.points.raw[alive], how)
    return segment.with_alive(alive)


def _like(segment: Segment, ids: NDArray, items: NDArray, how: Build) -> Segment:
    return Segment.build(segment.oriented, segment.cells.layout, ids, items, **how)
