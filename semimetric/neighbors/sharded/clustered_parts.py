"""Items divided among shards by where they lie: clusters of k-means on scales on which the tables rise evenly."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._foundation.errors import NotSupportedError
from ..._foundation.types import Floats, Integers
from ...data.parts.row_parts import LazyRows
from ...distances.semimetric import Semimetric
from ..cells import Warp
from ..faiss_scan import kmeans
from ..ids import check_ids
from ..query_tables import QueryView
from .shard_building import ItemPart

__all__ = ["clustered_parts"]

_SAMPLE = 50_000  # The number of items that the clusters are found from.
_ROWS = 1 << 14  # The number of items that are assigned together.


@dataclass(frozen=True, eq=False)
class ChosenRows(LazyRows):
    """Rows of several parts, picked by their numbers, increasing, when they are read."""

    name: str
    parts: Sequence[LazyRows]
    rows: Integers

    def __len__(self) -> int:
        return len(self.rows)

    def read(self) -> NDArray[Any]:
        """The rows, of which each part gives its own."""
        return picked(self.parts, self.rows)


def picked(parts: Sequence[LazyRows], rows: Integers) -> NDArray[Any]:
    """The rows of these numbers, increasing, counted from the first part on."""
    starts = np.cumsum([0, *map(len, parts)])
    ends = np.searchsorted(rows, starts)
    own = [rows[a:b] - start for a, b, start in zip(ends[:-1], ends[1:], starts[:-1], strict=True)]
    return np.concatenate([part.view()[of_part] for part, of_part in zip(parts, own, strict=True) if len(of_part)])


def clustered_parts(semimetric: Semimetric, parts: Sequence[LazyRows], ids: Any, *, seed: int = 0) -> list[ItemPart]:
    """At most as many parts of near items as ``parts``, and their ids.

    Raises
    ------
    NotSupportedError
        If the distance has no features with tables of their own, or the rows are those of a table.
    """
    view, n = QueryView(semimetric), sum(map(len, parts))
    if not view.simple or not view.n_tables or isinstance(ids, str) or not isinstance(parts[0].view(), np.ndarray):
        raise NotSupportedError(
            "partition='kmeans' divides the rows of an array or a .npy file under a sum over single features; use "
            "partition='rows' for tables, and for distances with joint groups or base distances"
        )
    given = np.arange(n) if ids is None else check_ids(ids, n, unique=False)
    rng = np.random.default_rng(seed)
    sample = _positions(view, picked(parts, np.sort(rng.choice(n, min(n, _SAMPLE), replace=False))))
    warps = [Warp.of(view, sample[:, e], e, rng) for e in range(view.n_tables)]
    centres, _ = kmeans(_scaled(warps, sample), np.arange(len(sample)), len(parts), n_jobs=1, seed=seed)
    member = np.concatenate([_nearest_centre(view, warps, centres, part) for part in parts])
    clusters = [np.flatnonzero(member == c) for c in range(len(centres))]
    return [
        ItemPart(f"cluster {c}", (ChosenRows(f"cluster {c}", parts, rows),), (given[rows],))
        for c, rows in enumerate(clusters)
        if len(rows)
    ]


def _positions(view: QueryView, X: NDArray[Any]) -> Floats:
    """The positions of the rows of X on the features that have tables."""
    raw = np.asarray(view.semimetric.schema.encode(X), dtype=np.float64)
    return view.positions(raw)[:, : view.n_tables]


def _scaled(warps: Sequence[Warp], positions: Floats) -> NDArray[np.float32]:
    """Positions on the scales, (n, n_tables)."""
    unit = max(warp.scale[-1] for warp in warps)
    columns = [np.interp(of_feature, w.knots, w.scale / unit) for w, of_feature in zip(warps, positions.T, strict=True)]
    return np.column_stack(columns).astype(np.float32)


def _nearest_centre(view: QueryView, warps: Sequence[Warp], centres: NDArray[np.float32], part: LazyRows) -> Integers:
    """The number of the nearest centre of each row of a part."""
    rows, out = part.view(), np.empty(len(part), np.int64)
    length = (centres**2).sum(axis=1)
    for start in range(0, len(part), _ROWS):
        scaled = _scaled(warps, _positions(view, np.asarray(rows[start : start + _ROWS])))
        out[start : start + len(scaled)] = (length - 2.0 * scaled @ centres.T).argmin(axis=1)
    return out
