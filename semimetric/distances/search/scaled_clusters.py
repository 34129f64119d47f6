"""Clusters of near items under sums over single features, and the ranges of values of their items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._foundation.threads import short_blocks
from ..._foundation.types import Floats, Integers
from ..._kernels.jit import read_only
from ..._kernels.list_scan import BINS, fill_spans, least_in_ranges
from .cells import Warp
from .faiss_scan import kmeans
from .item_lists import bins_between, limits_of
from .query_tables import QueryBlock, QueryView
from .segment import Segment

_ROWS = 1 << 14  # The number of items that are assigned together.
_SAMPLE = 20_000  # The number of items that the clusters of a segment are found from.


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

    The ranges of a feature are rounded outwards to the same bins, so that a query has few values to look up for all of them.
    """

    edges: Floats  # (n_tables, 65), of the bins
    spans: NDArray[np.uint16]  # (n_ranges, n_tables, 2), see `ListArrays`
    starts: Integers  # (n_groups + 1,), the first range of each group, and their end

    @classmethod
    def of(cls, low: Sequence[Floats], high: Sequence[Floats]) -> RangeBounds:
        """Take the ranges of each group, (n_tables, n_ranges) each."""
        ends, starts = (np.hstack(low), np.hstack(high)), np.cumsum([0, *(part.shape[1] for part in low)])
        edges = np.quantile(np.hstack(ends), np.arange(BINS + 1) / BINS, axis=1, method="lower").T.copy()
        first, last = np.empty((2, *ends[0].T.shape), np.int64)
        for e, (a, b, own) in enumerate(zip(*ends, edges, strict=True)):
            first[:, e] = np.minimum(np.searchsorted(own, a, side="right") - 1, BINS - 1)
            last[:, e] = np.maximum(np.searchsorted(own, b) - 1, first[:, e])
        spans = np.empty((*first.shape, 2), np.uint16)
        fill_spans(first, last, spans)
        return cls(edges, spans, starts)

    def least(self, view: QueryView, queries: QueryBlock, limits: Floats | None = None) -> Floats:
        """Bound all sums between queries and the items of each group from below, shape (B, n_groups).

        Finite ``limits`` (B,) save time: a bound that is above that of its query need not be the largest one.
        """
        bins = bins_between(view, self.edges[:, :-1].copy(), self.edges[:, 1:].copy())
        out, n = np.empty((len(queries), len(self.starts) - 1)), len(queries)
        of_queries = limits_of(view, np.full(n, np.inf) if limits is None else limits, np.zeros(n))
        least_in_ranges(view.scales, queries.profiles, bins, read_only((self.spans, self.starts)), of_queries, out)
        return out
