"""Single queries along a graph in one compiled call: what does not depend on the query is prepared once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._foundation.types import Floats, Integers
from ..._kernels.graph_search import WalkedItems, nearest_by_walk
from ..._kernels.search import BestItems
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
        best = BestItems(np.empty(self.search.k), np.empty(self.search.k, np.int64), np.zeros(1, np.int64))
        nearest_by_walk(x, self.walked, best)
        return (best.sums, best.rows) if best.rows[-1] >= 0 else None
