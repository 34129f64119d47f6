"""Single queries in few compiled calls: what does not depend on the query is prepared once, for a service that asks many."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._foundation.types import Floats, Integers
from ..._kernels.graph_search import WalkedItems, nearest_by_walk
from ..._kernels.search import BestItems, Profiles
from ..._kernels.single_search import OneQuery, ScannedItems, limiting_table, nearest_of_scanned, typical_table
from .cells import CODES
from .faiss_scan import ROUNDING, IntegerTables, Scan
from .refinement import Refinement
from .segment import FIRST, FIRST_LEAST, LEAST, LIMIT, SLACK, TINY, Eligible, Mask, SearchRequest, Segment

_TINY = np.array([LEAST, TINY])


class Found(NamedTuple):
    """Sums, increasing, and rows of the k nearest items of one query."""

    sums: Floats
    rows: Integers


@dataclass(frozen=True, eq=False)
class SingleQueries:
    """Single queries of a segment by one request: answered here in a few compiled calls, or else as a block of one is."""

    segment: Segment
    search: SearchRequest
    keep: Mask

    def nearest(self, x: NDArray[Any]) -> Found | None:
        """Return the k nearest of a query (1, n_features), encoded; None if it is to be answered as a block is."""
        if self._walked is not None:
            best = self._best()
            nearest_by_walk(x, self._walked, best)
            return Found(best.sums, best.rows) if best.rows[-1] >= 0 else None
        return None if self._scanned is None else self._exact(x, self._scanned)

    @property
    def walks(self) -> bool:
        """True if queries walk along a graph, in one call of microseconds."""
        return self._walked is not None

    def _best(self) -> BestItems:
        return BestItems(np.empty(self.search.k), np.empty(self.search.k, np.int64), np.zeros(1, np.int64))

    @cached_property
    def _eligible(self) -> Eligible:
        return self.segment.eligible(self.keep)

    @cached_property
    def _walked(self) -> WalkedItems | None:
        return self.segment.walked(self.search, self._eligible)

    @cached_property
    def _scanned(self) -> ScannedItems | None:
        """All that exact queries read; None where they are answered in another way than by scans over single features."""
        segment, view, cells = self.segment, self.segment.view, self.segment.cells
        layout = cells.layout
        if (
            not segment.scans_exactly(self.search, self._eligible.n)
            or not isinstance(segment.refinement, Refinement)
            or view.number_places is None
            or view.semimetric.directions is not None
            or len(layout.edges) != layout.n_columns  # Some columns hold several features.
        ):
            return None
        entry, (ranges, features) = np.argsort(layout.column), view.number_places
        low, high, typical = (np.ascontiguousarray(array[entry]) for array in (cells.low, cells.high, cells.typical))
        return ScannedItems(
            ranges, features, view.scales, entry, low, high, typical, segment.refinement.items, view.size, SLACK, ROUNDING,
            float(LIMIT),
        )  # fmt: skip

    def _exact(self, x: NDArray[Any], scanned: ScannedItems) -> Found | None:
        n, best = len(scanned.low), self._best()
        shape = (1, len(scanned.scales.size))
        profiles = Profiles(np.empty((1, self.segment.view.n_pieces, 2)), np.empty(shape), np.empty(shape), np.empty(shape))
        query = OneQuery(profiles, np.empty((1, n, CODES), np.float32), *(np.empty(1) for _ in range(4)))
        typical_table(x, scanned, query)
        if np.isnan(query.limit[0]):
            return None
        rows = self._first(IntegerTables(query.table, query.step, query.base))
        limiting_table(scanned, rows, _TINY, query, best)
        if np.isnan(query.limit[0]):
            return None
        whole = IntegerTables(query.table, query.step, query.base)
        owner, _, below, rows = self.segment.codes.scan.named(whole, query.limit[0], self._eligible.mask)
        nearest_of_scanned(scanned, query, rows, below, best)
        del owner  # and what it owns
        return Found(best.sums, best.rows)

    def _first(self, tables: IntegerTables) -> Integers:
        """Return rows of items that are typically near, -1 for none."""
        segment, count = self.segment, max(FIRST * self.search.k, FIRST_LEAST)
        scan, sampled, eligible = self._near
        lists = None if segment.coarse is None else segment.coarse.nearest(tables, self.search.n_probe)[1]
        rows = scan.nearest(tables, min(count, scan.n), lists=lists, keep=eligible)[1][0]
        return rows if sampled is None else np.where(rows >= 0, sampled[rows], -1)

    @cached_property
    def _near(self) -> tuple[Scan, Integers | None, Mask]:
        """The scan that finds items near a query, the rows of a sample that it holds (None: all), and the eligible ones."""
        sample, mask = self.segment.sample, self._eligible.mask
        if sample is None:
            return self.segment.codes.scan, None, mask
        scan, rows = sample
        return scan, rows, None if mask is None else mask[rows]
