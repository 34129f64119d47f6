"""A graph of neighbours that approximate search walks along, from layer to layer of ever more items.

The lowest layer holds all items, each higher one every 16th of those below, drawn at random; the highest few hundred. Values
of a query are read from tables of 128 levels of each feature; the nearest items found are then refined by exact distances.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..._foundation.errors import InputError
from ..._foundation.threads import short_blocks
from ..._foundation.types import Floats, Integers
from ..._kernels.graph_search import GraphArrays, LevelPlaces, WalkedItems, place_levels, walk_of_each
from ..._kernels.search import SearchedItems
from .query_tables import QueryBlock, QueryView

GRAPH_FROM = 8_192  # Fewer items are scanned.
DEGREE = 32  # The largest number of edges of an item.
LEVELS = 128
_SHARE, _TOP = 16, 512  # A layer has this part of the items below it, until it has so few.
_UPPER = 8  # So many of the nearest in each higher layer are where the walk below starts.
_SEEN = 1 << 15  # So many nearest are looked for in one compiled call, in about 0.1 s.
_CHECKED = 1 << 18  # Edges of so many nodes are checked together.


def layer_starts(n: int) -> Integers:
    """Return the number of the first node of each layer for n items, and of all nodes in the end."""
    sizes = [n]
    while sizes[-1] > _TOP or len(sizes) == 1:
        sizes.append(-(-sizes[-1] // _SHARE))
    return np.cumsum([0, *sizes])


@dataclass(frozen=True, eq=False)
class NeighborGraph:
    """The edges between n items, and their codes; M nodes are the items and those of all higher layers."""

    levels: Floats  # (E, 128), the positions of the levels of each feature, increasing
    codes: NDArray[np.uint8]  # (M, E), the level of each node that is nearest to its position
    edges: NDArray[np.int32]  # (M, R), nodes of the same layer, -1 at the end of a row
    below: NDArray[np.int32]  # (M - n,), the node of the layer below that stands for the same item, of each higher node

    @property
    def n(self) -> int:
        """The number of items."""
        return len(self.edges) - len(self.below)

    @cached_property
    def arrays(self) -> GraphArrays:
        """The graph as kernels take it."""
        return GraphArrays(self.edges, self.codes, self.below, layer_starts(self.n))

    def check(self, n: int, n_features: int) -> None:
        """Refuse a graph that is not one of n items, or that leads out of itself: kernels read where it leads."""
        first = layer_starts(n)
        m = int(first[-1])
        shapes = [array.shape for array in (self.levels, self.codes, self.below)]
        if shapes != [(n_features, LEVELS), (m, n_features), (m - n,)] or self.edges.shape != (m, DEGREE):
            raise InputError(f"the graph has edges of shape {self.edges.shape}; ({m}, {DEGREE}) are required for {n} items")
        if not np.isfinite(self.levels).all() or (np.diff(self.levels, axis=1) < 0).any():
            raise InputError("the levels of the graph are not finite, or decrease; increasing positions are required")
        for layer, (start, stop) in enumerate(zip(first[:-1], first[1:], strict=True)):
            for part in short_blocks(stop - start, _CHECKED):
                rows = slice(start + part.start, start + part.stop)
                edges = self.edges[rows]
                if (self.codes[rows] >= LEVELS).any() or not ((edges < 0) | ((edges >= start) & (edges < stop))).all():
                    raise InputError(f"a code or an edge of layer {layer} of the graph leads nowhere; build the graph again")
            below = self.below[max(start - n, 0) : stop - n]
            if layer and not ((below >= first[layer - 1]) & (below < start)).all():
                raise InputError(f"nodes of layer {layer} of the graph stand for none below; build the graph again")


class GraphWalk:
    """A graph under a distance: the walks of queries."""

    def __init__(self, view: QueryView, graph: NeighborGraph) -> None:
        self.view, self.graph = view, graph
        shape = graph.levels.shape
        self._places = LevelPlaces(np.empty(shape, np.int64), np.empty(shape), np.empty(shape))
        place_levels(view.scales, graph.levels, self._places)

    def nearest(self, queries: QueryBlock, width: int, *, layer: int = 0, targets: Integers | None = None) -> Integers:
        """Walk to the ``width`` nearest nodes of a layer by codes for each query, nearest first, -1 at the end.

        ``targets`` (B,) are nodes at which walks end, with those that they have found by then.
        """
        nodes = np.empty((len(queries), width), np.int64)
        targets = np.full(len(queries), -1) if targets is None else targets
        for part in short_blocks(len(queries), max(_SEEN // width, 1)):
            profiles = type(queries.profiles)(*(array[part] for array in queries.profiles))
            walk_of_each(self.view.scales, profiles, self._places, self.graph.arrays, _UPPER, layer, targets[part], nodes[part])
        return nodes

    def walked(self, items: SearchedItems, eligible: NDArray[np.bool_] | None, width: int) -> WalkedItems | None:
        """Return what a single query reads that looks for ``width`` nearest nodes, and refines those of the eligible items.

        It is None where features are directions, or no numbers, which kernels do not locate.
        """
        if self.view.number_places is None or self.view.semimetric.directions is not None:
            return None
        eligible = np.empty(0, dtype=bool) if eligible is None else eligible
        (ranges, features), scales = self.view.number_places, self.view.scales
        return WalkedItems(ranges, features, scales, self._places, self.graph.arrays, items, eligible, _UPPER, width)
