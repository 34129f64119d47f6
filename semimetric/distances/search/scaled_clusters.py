"""Clusters of near items under sums over single features, and the ranges of values of their items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._foundation.threads import short_blocks
from ..._foundation.types import Floats, Integers
from ..._kernels.search import cell_minima
from .cells import Warp
from .faiss_scan import kmeans
from .query_tables import QueryBlock, QueryView
from .segment import Segment, rounding_of

_ROWS = 1 << 14  # The number of items that are assigned together.
_SAMPLE = 20_000  # The number of items that the clusters of a segment are found from.
_CELLS = 32  # The number of cells that the ranges of a feature are rounded to.


class ScaledClusters(NamedTuple):
    """Clusters of k-means on scales that the tables of single features rise evenly on."""

    warps: list[Warp]  # of each feature, without their samples
    centres: NDArray[np.float32]  # (n_clusters, n_tables), on the scales

    @classmethod
    def fit(cls, view: QueryView, positions: Floats, n: int, rng: np.random.Generator) -> ScaledClusters:
        """Find at most n clusters of a sample of positions (n_sample, n_tables)."""
        warps = [Warp.of(view, positions[:, e], e, rng)._replace(sample=np.empty(0)) for e in range(view.n_tables)]
        scaled = cls(warps, np.empty((0, 0), np.float32)).scaled(positions)
        return cls(warps, kmeans(scaled, np.arange(len(scaled)), n, n_jobs=1, seed=int(rng.integers(2**31)))[0])

    def scaled(self, positions: Floats) -> NDArray[np.float32]:
        """Return positions (n, n_tables) on the scales."""
        unit = max(warp.scale[-1] for warp in self.warps)
        columns = [np.interp(own, w.knots, w.scale / unit) for w, own in zip(self.warps, positions.T, strict=True)]
        return np.column_stack(columns).astype(np.float32)

    def member(self, positions: Floats) -> NDArray[np.intp]:
        """Return the cluster of every row of positions (n, n_tables)."""
        length = (self.centres**2).sum(axis=1)
        return (length - 2.0 * self.scaled(positions) @ self.centres.T).argmin(axis=1)


def ranges_of(segment: Segment, n: int) -> tuple[Floats, Floats]:
    """Return the ranges of positions, (n_tables, at most n) each, of clusters of the items of a segment."""
    view, count = segment.view, len(segment)
    if n < 2:
        return segment.cells.low.min(axis=1)[:, None], segment.cells.high.max(axis=1)[:, None]
    sample = np.unique(np.linspace(0, count - 1, min(count, _SAMPLE)).astype(np.int64))
    rng = np.random.default_rng(0)
    clusters = ScaledClusters.fit(view, segment.points.positions[sample][:, : view.n_tables], n, rng)
    low = np.full((view.n_tables, len(clusters.centres)), np.inf)
    high = -low
    for rows in short_blocks(count, _ROWS):
        positions = segment.points.positions[rows][:, : view.n_tables]
        member = clusters.member(positions)
        order = np.argsort(member, kind="stable")
        used, first = np.unique(member[order], return_index=True)
        low[:, used] = np.minimum(low[:, used], np.minimum.reduceat(positions[order], first).T)
        high[:, used] = np.maximum(high[:, used], np.maximum.reduceat(positions[order], first).T)
    filled = low[0] <= high[0]
    return low[:, filled], high[:, filled]


class RangeBounds(NamedTuple):
    """Bounds of sums over single features between queries and the items of groups, each of which has one range or several.

    The ranges of a feature are rounded outwards to the same cells, so that a query has few values to look up for all of them.
    """

    edges: Floats  # (n_tables, n_cells + 1)
    spans: Integers  # (n_tables, n_ranges), first cell * n_cells + last cell
    starts: Integers  # (n_groups,), the first range of each group

    @classmethod
    def of(cls, low: Sequence[Floats], high: Sequence[Floats]) -> RangeBounds:
        """Take the ranges of each group, (n_tables, n_ranges) each."""
        ends, starts = (np.hstack(low), np.hstack(high)), np.cumsum([0, *(part.shape[1] for part in low[:-1])])
        edges = np.quantile(np.hstack(ends), np.arange(_CELLS + 1) / _CELLS, axis=1, method="lower").T
        spans = np.empty(ends[0].shape, np.int64)
        for e, (a, b, own) in enumerate(zip(*ends, edges, strict=True)):
            first = np.minimum(np.searchsorted(own, a, side="right") - 1, _CELLS - 1)
            spans[e] = first * _CELLS + np.maximum(np.searchsorted(own, b) - 1, first)
        return cls(np.ascontiguousarray(edges), spans, starts)

    def least(self, view: QueryView, queries: QueryBlock) -> Floats:
        """Bound all sums between queries and the items of each group from below, shape (B, n_groups)."""
        low, high = np.ascontiguousarray(self.edges[:, :-1]), np.ascontiguousarray(self.edges[:, 1:])
        cells = np.empty((len(queries), *low.shape))
        cell_minima(view.scales, queries.profiles, np.arange(len(low)), low, high, cells)
        sums, of_spans = np.zeros((len(queries), self.spans.shape[1])), np.empty((len(queries), *2 * (low.shape[1],)))
        for e, spans in enumerate(self.spans):
            for first in range(low.shape[1]):
                np.minimum.accumulate(cells[:, e, first:], axis=1, out=of_spans[:, first, first:])
            sums += of_spans.reshape(len(queries), -1).take(spans, axis=1)
        sums -= rounding_of(view, np.abs(cells).max(axis=2).sum(axis=1))[:, None]
        return np.minimum.reduceat(sums, self.starts, axis=1)
