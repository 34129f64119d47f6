"""Adding and removing items: small segments are joined, and those from which many items were removed are built anew."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .segment import Segment

__all__ = ["with_items", "without_items"]

BuildOptions: TypeAlias = dict[str, Any]  # The keyword arguments of `Segment.build`: n_lists, n_jobs, seed and storage.

_TAIL = 8_192  # A segment holds at least so many items before another is begun.
_DEAD = 0.25  # From this share of removed items on, a segment is built anew.


def with_items(segments: Sequence[Segment], ids: NDArray[Any], items: NDArray[Any], options: BuildOptions) -> list[Segment]:
    """The segments with new items, which join those segments at the end that are small or not twice as large as they are."""
    kept = list(segments)
    while kept and len(kept[-1]) < max(2 * len(ids), _TAIL):
        last = kept.pop()
        ids = np.concatenate([last.ids[last.alive], ids])
        items = np.concatenate([last.points.raw[last.alive], items])
    return [*kept, _built_like(segments[0], ids, items, options)]


def without_items(segments: Sequence[Segment], removed: NDArray[Any], options: BuildOptions) -> list[Segment]:
    """The segments without the ids ``removed``; at least one segment is left, which may be empty."""
    kept = [_without(s, removed, options) for s in segments]
    return [s for s in kept if s.n_alive] or kept[:1]


def _without(segment: Segment, removed: NDArray[Any], options: BuildOptions) -> Segment:
    alive = segment.alive & ~np.isin(segment.ids, removed)
    n = int(alive.sum())
    if n == segment.n_alive:
        return segment
    if 0 < n < (1 - _DEAD) * len(segment):
        return _built_like(segment, segment.ids[alive], segment.points.raw[alive], options)
    return segment.with_alive(alive)


def _built_like(segment: Segment, ids: NDArray[Any], items: NDArray[Any], options: BuildOptions) -> Segment:
    return Segment.build(segment.view, segment.cells.layout, ids, items, **options)
