"""Adding and removing items: small segments are gathered, and those that many items have left are built anew."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .segment import Segment

__all__ = ["with_items", "without_items"]

Build: TypeAlias = dict[str, Any]  # how segments are built: n_lists, n_jobs, seed

_TAIL = 8_192  # items that a segment holds at least before another is begun
_DEAD = 0.25  # share of removed items from which a segment is built anew


def with_items(segments: Sequence[Segment], ids: NDArray, items: NDArray, how: Build) -> list[Segment]:
    """The segments and new items: with those at the end that are small, or less than twice what is gathered."""
    kept = list(segments)
    while kept and len(kept[-1]) < max(2 * len(ids), _TAIL):
        last = kept.pop()
        ids = np.concatenate([last.ids[last.alive], ids])
        items = np.concatenate([last.points.raw[last.alive], items])
    return [*kept, _like(segments[0], ids, items, how)]


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
    return Segment.build(segment.view, segment.cells.layout, ids, items, **how)
