"""Single queries along a graph in one compiled call: what does not depend on the query is prepared once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._foundation.types import Floats, Integers
from ..._kernels.graph_search import WalkedItems, nearest_by_walk
from .segment import Mask, SearchRequest, Segment


@dataclass(frozen=True, eq=False)
class SingleQueries:
    """Single queries of a segment by one request that walk along a graph; others are answered as a block of one is."""

    segment: Segment
    search: SearchRequest
    keep: Mask

    @cached_property
    def walked(self) -> WalkedItems | None:
        """All that a walk reads; None where queries are answered in another way."""
        return self.segment.walked(self.search, self.segment.eligible(self.keep))

    def nearest(self, x: NDArray[Any]) -> tuple[Floats, Integers] | None:
        """Return sums and rows of the k nearest of an encoded query (1, n_features); None if a block of one is to answer it."""
        if self.walked is None:
            return None
        sums, rows = np.empty(self.search.k), np.empty(self.search.k, np.int64)
        nearest_by_walk(x, self._plain, (sums, rows, np.empty(1, np.int64)))
        return (sums, rows) if rows[-1] >= 0 else None

    @cached_property
    def _plain(self) -> Any:
        """Return what a walk reads as plain tuples, which numba takes apart in a third of the time that named ones take."""
        return tuple(tuple(part) if isinstance(part, tuple) else part for part in self.walked or ())
